"""One question answered: the best of what was found, or that nothing found is an answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from recorder.models import Hit, Order, Recall, Scope
from recorder.recall import pool, weights
from recorder.store import hits as rows
from recorder.store import search
from recorder.store.db import Connection
from recorder.store.only import EVERYTHING, Only

SAME_SESSION = 3
"""After this many hits of one session the best of another goes first …"""
FLOOR = 0.5
"""… if it has this share of the best score."""
ROOM = 4
"""So many times the hits wanted are looked at: enough that folding and diversity have a choice."""
HOLDS = 0.5
"""In the order of time, what holds less than this share of the best one's words of the question stays out …"""
MEANS = 0.75
"""… unless its meaning is among the nearest. In front it would only be new."""
MEANING = 2.0
"""What a cosine counts for beside a share of the words, where one row is to speak for there being an answer."""
AROUND = ("own", "previous", "next", "earlier")
MISSES = 3
"""So many of the nearest are shown when nothing found is an answer."""


def recall(
    db: Connection,
    question: str,
    scope: Scope,
    *,
    k: int,
    vector: bytes | None,
    vector_status: str,
    now_ms: int,
    only: Only = EVERYTHING,
    order: Order = Order.RELEVANCE,
    offset: int = 0,
) -> Recall:
    """At most `k` hits behind the first `offset`, in the order asked for, and what became of each arm. No hit is an
    answer; no arm is an error. Who asks nothing gets what `only` leaves, one by one, the newest first.

    Raises: StoreError when not one arm could look.
    """
    if not question.strip():
        return _browsed(db, scope, k, now_ms, only, order, offset)
    found = pool.gather(db, question, scope, vector=vector, vector_status=vector_status, now_ms=now_ms, only=only)
    hits = ranked(found, k, offset)
    if not is_answer(found, *weights.answers(found.by_meaning)):
        nearest = hits[:MISSES] if offset == 0 else ()
        return Recall(hits=(), arms=found.arms, scope=scope.names, misses=nearest, ranked=hits)
    if order is not Order.RELEVANCE:
        hits = by_time(found, order)[offset : offset + k]
    return Recall(hits=hits, arms=found.arms, scope=scope.names, ranked=hits)


def _browsed(db: Connection, scope: Scope, k: int, now_ms: int, only: Only, order: Order, offset: int) -> Recall:
    newest = order is not Order.OLDEST
    listed = search.listed(db, scope, now_ms=now_ms, only=only, newest=newest, limit=k, offset=offset)
    of_type = {type: [row.id for row in listed if row.type == type] for type in ("event", "memory")}
    events = rows.of_events(db, scope, of_type["event"], now_ms=now_ms, only=only)
    memories = rows.of_memories(db, scope, of_type["memory"], now_ms=now_ms, only=only)
    known = {("event", n): hit for n, hit in events.items()} | {("memory", n): hit for n, hit in memories.items()}
    hits = tuple(known[row.type, row.id] for row in listed if (row.type, row.id) in known)
    return Recall(hits=hits, arms={"time": "ok"}, scope=scope.names, ranked=hits)


def ranked(found: pool.Pool, k: int, offset: int = 0) -> tuple[Hit, ...]:
    """A page of the best. What stood on the first page stands on no other, whatever the later ones look at."""
    weight = weights.of(found.by_meaning)
    first = diversify(fold(scored(found, weight, ROOM * k)), k)
    if offset == 0:
        return first
    told = {hit.id for hit in first} | {event for hit in first for event in _cited(hit)}
    rest = [hit for hit in fold(scored(found, weight, len(found.candidates))) if hit.id not in told]
    return (*first, *diversify(rest, len(rest)))[offset : offset + k]


def by_time(found: pool.Pool, order: Order) -> tuple[Hit, ...]:
    """All that answers nearly as well as the best, in the order it happened or the other way round."""
    most = max((row.get("own", 0.0) for row in found.features), default=0.0)
    near = {
        one.hit.id
        for one, row in zip(found.candidates, found.features, strict=True)
        if row.get("own", 0.0) >= HOLDS * most or row.get("near", 0.0) >= MEANS
    }
    hits = scored(found, weights.of(found.by_meaning), len(found.candidates))
    # A memory answers by what it stands on too, which is folded under it.
    near |= {hit.id for hit in hits if not near.isdisjoint(_cited(hit))}
    kept = fold([hit for hit in hits if hit.id in near])
    return tuple(sorted(kept, key=lambda hit: (hit.occurred_ms, hit.id), reverse=order is Order.NEWEST))


def scored(found: pool.Pool, weight: Mapping[str, float], most: int) -> list[Hit]:
    """The best `most` candidates, best first, with scores from 0 to 1, the best one's; equal ones in the order newest,
    then id."""
    points = []
    for one, row in zip(found.candidates, found.features, strict=True):
        value = 0.0
        for name in row:
            value += weight[name] * row[name]
        points.append((round(value, 9), one.hit))
    points.sort(key=lambda pair: (-pair[0], -pair[1].occurred_ms, pair[1].id))
    return [replace(hit, score=round(math.exp(value - points[0][0]), 9)) for value, hit in points[:most]]


def is_answer(found: pool.Pool, bias: float, weight: Mapping[str, float]) -> bool:
    """Whether what was found is likely to hold an answer at all."""
    if not found.candidates or found.by_name or found.unheld:
        return bool(found.candidates) and not found.unheld
    return bias + sum(weight[name] * value for name, value in evidence(found).items()) >= 0.0


def evidence(found: pool.Pool) -> Mapping[str, float]:
    """What tells an answer from a chance likeness: how much of the question the best rows cover, alone and with what
    stands beside them, how near their meaning is, and whether the names in it are known here."""
    own = sorted((row.get("own", 0.0) for row in found.features), reverse=True)
    pairs = zip(found.features, found.candidates, strict=True)
    return {
        "own_five": sum(own[:5]) / len(own[:5]),
        "around": max(sum(row.get(name, 0.0) for name in AROUND) for row in found.features),
        "likeness": max(row.get("dense", 0.0) + MEANING * max(one.cosine or 0.0, 0.0) for row, one in pairs),
        "known": found.known,
    }


def fold(hits: Sequence[Hit]) -> list[Hit]:
    """The hits without the events that a memory among them cites, and without repeats of the same words;
    a memory has at least the score of the events folded under it."""
    score_of = {hit.id: hit.score for hit in hits}
    cited = {hit.id: _cited(hit) for hit in hits}
    lifted = [
        replace(hit, score=max([hit.score, *(score_of.get(e, 0.0) for e in cited[hit.id])])) if cited[hit.id] else hit
        for hit in hits
    ]
    folded = {event for events in cited.values() for event in events}
    kept: dict[str, Hit] = {}
    for hit in sorted(lifted, key=_order):
        if hit.id not in folded:
            kept.setdefault(hit.id if hit.type == "memory" else " ".join(hit.text.lower().split()), hit)
    return list(kept.values())


def _cited(hit: Hit) -> list[str]:
    return [f"e{one['event_id']}" for one in hit.evidence if one["event_id"]]


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


def _order(hit: Hit) -> tuple[float, int, str]:
    return (-hit.score, -hit.occurred_ms, hit.id)
