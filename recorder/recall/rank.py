"""Arms put together: fused, folded, diversified Hits."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from recorder.errors import StoreError
from recorder.models import Hit, Recall, Scope
from recorder.store import hits as rows
from recorder.store import search
from recorder.store.db import Connection
from recorder.store.search import Found, Only

logger = logging.getLogger(__name__)

# Starting points from ranking LoCoMo and coding questions; the tuning that replaces them writes its numbers here.
WEIGHTS: Mapping[str, float] = {"words": 0.6, "trigram": 0.25, "vector": 0.4}
PRIORS: Mapping[str, float] = {
    "memory": 1.3,
    "prompt": 1.0,
    "assistant": 0.95,
    "turn_end": 0.9,
    "subagent_end": 0.9,
    "tool_call": 0.85,
}
OTHER_PRIOR = 0.7
CANDIDATES: Mapping[str, int] = {"words": 40, "trigram": 40, "vector": 16}
"""Rows asked of each arm and type; enough that folding and diversity have a choice. sqlite-vec's time grows with k:
100 k rows, k = 24 takes 31 ms where k = 96 takes 70."""
SAME_SESSION = 3
"""After this many hits of one session the best of another goes first …"""
FLOOR = 0.3
"""… if it has this share of the best score."""

_SUFFIX = re.compile(r"(?:ations?|ings?|ies|ied|ed|es|s|e|y)$")


def recall(
    db: Connection,
    question: str,
    scope: Scope,
    *,
    k: int,
    vector: bytes | None,
    vector_status: str,
    now_ms: int,
    kinds: tuple[str, ...] = (),
    namespace: str | None = None,
    valid_at_ms: int | None = None,
    as_of_ms: int | None = None,
) -> Recall:
    """At most `k` hits, best first, and what became of each arm. No hit is an answer; no arm is an error.

    `valid_at_ms` asks for what held then, `as_of_ms` for what was recorded and believed then.

    Raises: StoreError when not one arm could look.
    """
    only = Only(namespace=namespace, kinds=kinds, valid_at_ms=valid_at_ms, as_of_ms=as_of_ms)
    arms: dict[str, Callable[[], list[Found]]] = {
        "words": lambda: search.words(db, scope, question, CANDIDATES["words"], now_ms=now_ms, only=only),
        "trigram": lambda: search.trigram(db, scope, question, CANDIDATES["trigram"], now_ms=now_ms, only=only),
    }
    if vector is not None:
        asked = vector
        arms["vector"] = lambda: search.vector(db, scope, asked, CANDIDATES["vector"], now_ms=now_ms, only=only)
    found, status = _ask(arms)
    status.setdefault("vector", vector_status if vector_status != "ok" else "unavailable: no vector of the question")
    if "ok" not in status.values():
        raise StoreError(f"no arm of recall can look: {status}. Run `recorder doctor`")
    known = _read(db, scope, found, now_ms, only)
    scored = score(found, known, search.terms(question))
    return Recall(hits=diversify(fold(scored), k), arms=status, scope=scope.names)


def _ask(arms: Mapping[str, Callable[[], list[Found]]]) -> tuple[dict[str, list[Found]], dict[str, str]]:
    found: dict[str, list[Found]] = {}
    status: dict[str, str] = {}
    for name, ask in arms.items():
        try:
            found[name] = ask()
            status[name] = "ok"
        except Exception as error:  # an arm may fail for reasons of its own; the others answer, and the answer says so
            logger.warning("arm %s failed: %s", name, type(error).__name__)
            status[name] = f"unavailable: {type(error).__name__}"
    return found, status


def _read(
    db: Connection, scope: Scope, found: Mapping[str, Iterable[Found]], now_ms: int, only: Only
) -> dict[tuple[str, int], Hit]:
    wanted = {(row.type, row.id) for arm in found.values() for row in arm}
    events = rows.of_events(db, scope, [n for type, n in wanted if type == "event"], now_ms=now_ms)
    memories = rows.of_memories(db, scope, [n for type, n in wanted if type == "memory"], now_ms=now_ms, only=only)
    return {("event", n): hit for n, hit in events.items()} | {("memory", n): hit for n, hit in memories.items()}


def score(
    found: Mapping[str, Sequence[Found]], known: Mapping[tuple[str, int], Hit], terms: Sequence[str]
) -> list[Hit]:
    """The known hits with their fused scores, best first; equal scores in the order newest, then id."""
    points: dict[tuple[str, int], float] = dict.fromkeys(known, 0.0)
    worded = [(row.type, row.id) for row in found.get("words", ()) if (row.type, row.id) in known]
    covered = coverage({key: _searchable(known[key]) for key in worded}, terms)
    for arm, arm_rows in found.items():
        for type in ("event", "memory"):
            scaled = _scale(arm, [row for row in arm_rows if row.type == type and (row.type, row.id) in known])
            for row, value in scaled:
                key = (row.type, row.id)
                # bm25 of a small table says little about how much of the question a row answers, and does not
                # compare with that of a large one: how much of the question it covers does.
                points[key] += WEIGHTS[arm] * (value * covered[key] if arm == "words" else value)
    hits = [replace(hit, score=round(points[key] * _prior(hit), 6)) for key, hit in known.items()]
    return sorted(hits, key=_order)


def _scale(arm: str, found: Sequence[Found]) -> list[tuple[Found, float]]:
    """Scores between 0 and 1: of vectors between the worst and the best seen, of the others from a half up."""
    if not found:
        return []
    best = max(row.score for row in found)
    worst = min(row.score for row in found)
    if arm == "vector":
        # Below this cosine MiniLM's neighbours are neighbours by chance; a lone poor one must not count as perfect.
        low, high = min(worst, 0.25), max(best, 0.45)
        return [(row, max(0.0, row.score - low) / (high - low)) for row in found]
    return [(row, 0.5 + 0.5 * (row.score / best if best > 0 else 0.0)) for row in found]


def coverage(texts: Mapping[tuple[str, int], str], terms: Sequence[str]) -> dict[tuple[str, int], float]:
    """How much of the question each text holds, 0 to 1, terms that few of the texts hold weighing more."""
    stems = list(dict.fromkeys(map(stem, terms)))
    if not stems:
        return dict.fromkeys(texts, 1.0)
    held = {key: _held(text.lower(), stems) for key, text in texts.items()}
    weight = {
        each: math.log(1 + (len(texts) + 1) / (1 + sum(each in found for found in held.values()))) for each in stems
    }
    total = sum(weight.values())
    # The index knows forms that `stem` does not: a row it found holds at least something.
    least = 0.5 / len(stems)
    return {key: max(least, sum(weight[each] for each in found) / total) for key, found in held.items()}


def _held(text: str, stems: Iterable[str]) -> frozenset[str]:
    return frozenset(each for each in stems if _begins_a_word(text, each))


def _begins_a_word(text: str, start: str) -> bool:
    # str.find is many times faster here than a regular expression that looks for a word's beginning.
    at = text.find(start)
    while at > 0 and text[at - 1].isalnum():
        at = text.find(start, at + 1)
    return at >= 0


def stem(term: str) -> str:
    """The start of a word that its forms share; words of up to four letters stay whole."""
    if len(term) <= 4:
        return term
    cut = _SUFFIX.sub("", term, count=1)
    if len(cut) > 3 and cut[-1] == cut[-2] and cut != term:
        cut = cut[:-1]  # running, run
    return cut if len(cut) >= 3 else term


def fold(hits: Sequence[Hit]) -> list[Hit]:
    """The hits without the events that a memory among them cites, and without repeats of the same words;
    a memory has at least the score of the events folded under it."""
    score_of = {hit.id: hit.score for hit in hits}
    cited = {hit.id: [f"e{one['event_id']}" for one in hit.evidence if one["event_id"]] for hit in hits}
    lifted = [replace(hit, score=max([hit.score, *(score_of.get(e, 0.0) for e in cited[hit.id])])) for hit in hits]
    folded = {event for events in cited.values() for event in events}
    kept: dict[str, Hit] = {}
    for hit in sorted(lifted, key=_order):
        if hit.id not in folded:
            kept.setdefault(hit.id if hit.type == "memory" else " ".join(hit.text.lower().split()), hit)
    return list(kept.values())


def diversify(hits: Sequence[Hit], k: int) -> tuple[Hit, ...]:
    """The first `k`, where after three of one session the best of another goes first if it is good enough;
    when there is none the list fills up from the same session."""
    waiting = list(hits)
    taken: list[Hit] = []
    of_session: dict[str | None, int] = {}
    floor = FLOOR * waiting[0].score if waiting else 0.0
    while waiting and len(taken) < k:
        chosen = next(
            (hit for hit in waiting if _fresh(hit, of_session) and hit.score >= floor),
            waiting[0],
        )
        waiting.remove(chosen)
        taken.append(chosen)
        of_session[chosen.session_id] = of_session.get(chosen.session_id, 0) + 1
    return tuple(taken)


def _fresh(hit: Hit, of_session: Mapping[str | None, int]) -> bool:
    return hit.session_id is None or of_session.get(hit.session_id, 0) < SAME_SESSION


def _searchable(hit: Hit) -> str:
    return f"{hit.key} {hit.text}" if hit.type == "memory" else hit.text


def _prior(hit: Hit) -> float:
    return PRIORS["memory"] if hit.type == "memory" else PRIORS.get(hit.kind, OTHER_PRIOR)


def _order(hit: Hit) -> tuple[float, int, str]:
    return (-hit.score, -hit.occurred_ms, hit.id)
