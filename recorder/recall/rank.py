"""One question answered: the best of what was found, or that nothing found is an answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from recorder.models import Hit, Recall, Scope
from recorder.recall import pool, weights
from recorder.store.db import Connection
from recorder.store.search import Only

SAME_SESSION = 3
"""After this many hits of one session the best of another goes first …"""
FLOOR = 0.3
"""… if it has this share of the best score."""
ROOM = 4
"""So many times the hits wanted are looked at: enough that folding and diversity have a choice."""
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
    found = pool.gather(db, question, scope, vector=vector, vector_status=vector_status, now_ms=now_ms, only=only)
    hits = diversify(fold(scored(found, weights.of(found.by_meaning), ROOM * k)), k)
    if not is_answer(found, *weights.answers(found.by_meaning)):
        return Recall(hits=(), arms=found.arms, scope=scope.names, misses=hits[:MISSES])
    return Recall(hits=hits, arms=found.arms, scope=scope.names)


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
    if not found.candidates or found.by_name:
        return bool(found.candidates)
    return bias + sum(weight[name] * value for name, value in evidence(found).items()) >= 0.0


def evidence(found: pool.Pool) -> Mapping[str, float]:
    """What tells an answer from a chance likeness: how much of the question the best rows cover, and how near their
    meaning is."""
    own = sorted((row.get("own", 0.0) for row in found.features), reverse=True)
    alike = [max(one.cosine or 0.0, 0.0) for one in found.candidates]
    nearest = sorted(alike, reverse=True)
    both = (row.get("own", 0.0) * cosine for row, cosine in zip(found.features, alike, strict=True))
    told = {
        "own": own[0],
        "own_five": sum(own[:5]) / len(own[:5]),
        "dense": max(row.get("dense", 0.0) for row in found.features),
    }
    if found.by_meaning:
        told |= {"near": nearest[0], "near_five": sum(nearest[:5]) / len(nearest[:5]), "both": max(both)}
    return told


def fold(hits: Sequence[Hit]) -> list[Hit]:
    """The hits without the events that a memory among them cites, and without repeats of the same words;
    a memory has at least the score of the events folded under it."""
    score_of = {hit.id: hit.score for hit in hits}
    cited = {hit.id: [f"e{one['event_id']}" for one in hit.evidence if one["event_id"]] for hit in hits}
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
