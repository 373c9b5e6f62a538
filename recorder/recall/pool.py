"""The rows one question is answered from: what the arms found, and what stands beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from recorder.errors import StoreError
from recorder.models import Hit, Scope
from recorder.recall import arms, features
from recorder.recall.features import Candidate
from recorder.recall.question import Question, read
from recorder.store import beside, search, sessions
from recorder.store import db as store
from recorder.store import hits as rows
from recorder.store.db import Connection
from recorder.store.only import Only
from recorder.store.search import Found

WITH_NEIGHBOURS = 40
"""So many of the events found bring the two before and the two after them along: an answer need not repeat a word of
its question."""
REACH = 2

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates with their features, and what became of each arm."""

    question: Question
    candidates: Sequence[Candidate]
    features: Sequence[Mapping[str, float]]
    arms: Mapping[str, str]
    by_name: bool = False
    """The question is nothing but a name (a path, an identifier, one word), and something holds it."""
    unheld: bool = False
    """The question is nothing but a name, and nothing holds it."""
    known: float = 1.0
    """Share of the names in the question that something holds."""

    @property
    def by_meaning(self) -> bool:
        """Whether the vector arm had a say."""
        return self.arms.get("vector") == "ok"


def gather(
    db: Connection, question: str, scope: Scope, *, vector: bytes | None, vector_status: str, now_ms: int, only: Only
) -> Pool:
    """What may answer the question.

    Raises: StoreError when not one arm could look.
    """
    found, status = arms.ask(db, question, scope, vector, now_ms, only)
    status.setdefault("vector", vector_status if vector_status != "ok" else "unavailable: no vector of the question")
    if not {"ok", arms.PARTIAL} & set(status.values()):
        raise StoreError(f"no arm of recall can look: {status}. Run `recorder doctor`")
    asked = read(question)
    best = _best_first(found)
    with store.snapshot(db):
        context, beside_them = _context(db, scope, [row_id for type, row_id in best if type == "event"], now_ms, only)
        events = rows.of_events(db, scope, beside_them, now_ms=now_ms, only=only)
        memory_ids = [row_id for type, row_id in best if type == "memory"]
        memories = rows.of_memories(db, scope, memory_ids, now_ms=now_ms, only=only)
        known: dict[Key, Hit] = {("event", n): hit for n, hit in sorted(events.items())}
        known |= {("memory", n): hit for n, hit in sorted(memories.items())}
        places = sessions.places(db, {n: (hit.session_id, hit.occurred_ms) for n, hit in events.items()})
        words, alike = _over_best(found.get("words", ())), _alike(db, known, vector, status)
        holding = _holding(question, asked, known, {(row.type, row.id) for row in found.get("trigram", ())})
        if holding.alone:
            known = {key: hit for key, hit in known.items() if key in holding.keys}
        candidates = [
            Candidate(hit, words.get(key, 0.0), alike.get(key), *context.get(key, ((), ())), places.get(key[1], 0.5))
            for key, hit in known.items()
        ]
        texts = _texts(db, events, candidates)
    told, share = features.of(asked, candidates, texts), features.known(asked, candidates, texts)
    as_word = len(asked.terms) == 1 and any("own" in row for row in told)
    unheld = search.is_name(question) and not holding.keys and share == 0.0 and not as_word
    return Pool(asked, candidates, told, status, bool(holding.keys), unheld, share)


@dataclass(frozen=True, slots=True)
class _Holding:
    """What holds the name that a question is, and whether nothing else may answer."""

    keys: frozenset[Key] = frozenset()
    alone: bool = False


def _holding(question: str, asked: Question, known: Mapping[Key, Hit], inside: Collection[Key]) -> _Holding:
    """What holds it, in a name of its own (`inside`) or in its prose.

    An ordinary word is no name: what stands beside it and what means the same answer too, as to any other question,
    unless it stands nowhere but in the middle of other words. Neither is unspaced script, of which nobody knows where
    its words end, so that what holds three of its letters may speak of something else.
    """
    if not search.is_name(question):
        return _Holding()
    names = [name.lower() for name in search.names(question)]
    texts = {key: features.lower(hit) for key, hit in known.items()}
    spaced = all(search.pieces(name) == (name,) for name in names)
    spelled = {key for key, text in texts.items() if (spaced and key in inside) or any(name in text for name in names)}
    if not search.is_word(question):
        return _Holding(frozenset(spelled), alone=bool(spelled))
    words, every = features.Held(asked, {}), (1 << len(asked.terms)) - 1
    begun = {key for key, text in texts.items() if words.text(text)[0] == every}
    return _Holding(frozenset(spelled | begun), alone=spaced and bool(spelled) and not begun)


def _best_first(found: Mapping[str, Sequence[Found]]) -> list[Key]:
    """What the arms found, that which most of them value most first."""
    points: dict[Key, float] = {}
    for arm in found.values():
        for key, value in _over_best(arm).items():
            points[key] = points.get(key, 0.0) + value
    return sorted(points, key=lambda key: (-points[key], key))


def _over_best(found: Iterable[Found]) -> dict[Key, float]:
    """Scores over the best one of their type; what scores nothing counts a little."""
    listed = list(found)
    best = {type: max((row.score for row in listed if row.type == type), default=0.0) for type in ("event", "memory")}
    return {(row.type, row.id): max(row.score / best[row.type], 0.01) if best[row.type] > 0 else 0.01 for row in listed}


def _context(
    db: Connection, scope: Scope, ids: Sequence[int], now_ms: int, only: Only
) -> tuple[dict[Key, tuple[tuple[int, ...], tuple[int, ...]]], set[int]]:
    """(before, after) of the events found and of their neighbours, and the ids of all that may be the answer."""
    around = beside.beside(db, scope, ids, before=2 * REACH, after=REACH + 1, now_ms=now_ms, only=only)
    context: dict[Key, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    pool = set(ids)
    for number, event_id in enumerate(ids):
        here = around.get(event_id, beside.Beside())
        line = [*here.before[::-1], event_id, *here.after]
        at = len(here.before)
        context["event", event_id] = (here.before[:REACH], here.after[:1])
        for n in range(max(at - REACH, 0), min(at + REACH + 1, len(line))) if number < WITH_NEIGHBOURS else ():
            pool.add(line[n])
            if line[n] not in around:
                context.setdefault(
                    ("event", line[n]), (tuple(line[max(n - REACH, 0) : n][::-1]), tuple(line[n + 1 : n + 2]))
                )
    return context, pool


def _alike(db: Connection, known: Iterable[Key], vector: bytes | None, status: dict[str, str]) -> dict[Key, float]:
    """How near the meaning of each is, where the vector arm could look."""
    return search.likeness(db, known, vector) if vector is not None and status["vector"] == "ok" else {}


def _texts(db: Connection, events: Mapping[int, Hit], candidates: Iterable[Candidate]) -> dict[int, str]:
    """The texts of the events and of their neighbours, lower case."""
    named = {n for one in candidates for n in (*one.before, *one.after)}
    missing = beside.texts(db, named - events.keys())
    return {n: text.lower() for n, text in missing.items()} | {n: hit.text.lower() for n, hit in events.items()}
