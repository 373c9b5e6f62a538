"""Memories linked with one, and with those."""

from __future__ import annotations

from recorder.models import Hit, Scope
from recorder.store import hits, relations
from recorder.store.db import Connection

AT_MOST = 50
"""Links followed at each step."""


def reach(
    db: Connection, scope: Scope, start: int, depth: int, now_ms: int
) -> tuple[list[relations.Relation], list[Hit]]:
    """The links within `depth` steps whose ends the caller may see, and the memories at them; each once, cycles or
    not."""
    seen = hits.of_memories(db, scope, [start], now_ms=now_ms)
    links: dict[int, relations.Relation] = {}
    edge = [start]
    for _ in range(depth):
        near = [one for memory_id in edge for one in relations.touching(db, memory_id)][:AT_MOST]
        ends = {end for one in near for end in (one.from_id, one.to_id)}
        fresh = hits.of_memories(db, scope, ends - seen.keys(), now_ms=now_ms)
        seen = {**seen, **fresh}
        links |= {one.id: one for one in near if {one.from_id, one.to_id} <= {start, *seen}}
        edge = list(fresh)
    return list(links.values()), [hit for memory_id, hit in seen.items() if memory_id != start]
