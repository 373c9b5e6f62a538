"""What keeps the database small and its derived files fresh."""

from __future__ import annotations

import json

from recorder.store import vectors
from recorder.store.db import Connection, checkpoint, transaction

BODIES_A_STEP = 500
STEPS = 20
MB = 1024 * 1024


def change_mark(db: Connection, now_ms: int) -> int:
    """A number that changes when a memory, a project or a pause changed through any door, or a pause ran out."""
    rows = db.execute(
        "select coalesce((select max(id) from audit), 0) * 1000003"
        " + (select count(*) + coalesce(sum(bound_ms), 0) from project_roots) * 1009"
        " + (select count(*) + coalesce(sum(coalesce(until_ms, 1)), 0) from pauses) * 31"
        " + (select coalesce(sum(brief), 0) from projects)"
        " + (select count(*) from pauses where until_ms > ?) * 13",
        (now_ms,),
    )
    return int(next(iter(rows))[0])


def size_bytes(db: Connection) -> int:
    """How much of the file holds something."""
    pages, free, size = (int(db.pragma(name) or 0) for name in ("page_count", "freelist_count", "page_size"))
    return (pages - free) * size


def bound_size(db: Connection, max_mb: int) -> int:
    """Let go of bodies, then of the vectors of what has none, until the database fits; how many bodies went.

    Uncited tool output goes first, oldest first; the row, its excerpt and its hash stay. Prompts, evidence and
    memories are never touched here.
    """
    gone = 0
    waiting: list[int] = []
    for _ in range(STEPS):
        if size_bytes(db) <= max_mb * MB:
            return gone
        # One look at all events serves every step.
        waiting = waiting or _let_go_first(db, BODIES_A_STEP * STEPS)
        step, waiting = waiting[:BODIES_A_STEP], waiting[BODIES_A_STEP:]
        if not step:
            break
        with transaction(db):
            db.execute(
                "update events set body = x'', codec = 'gone' where id in (select value from json_each(?)) and"
                " not exists (select 1 from memory_evidence m where m.event_id = events.id)",
                (json.dumps(step),),
            )
            gone += db.changes()
    if not _let_go_first(db, 1):
        _let_go_of_vectors(db, max_mb)
    return gone


def _let_go_of_vectors(db: Connection, max_mb: int) -> None:
    for _ in range(STEPS):
        if size_bytes(db) <= max_mb * MB:
            return
        rows = db.execute(
            "select distinct e.id from events e join embeddings b on b.owner = 'event' and b.owner_id = e.id"
            " where e.codec = 'gone' order by e.at_ms limit ?",
            (BODIES_A_STEP,),
        )
        step = [event_id for (event_id,) in rows]
        if not step:
            return
        with transaction(db):
            vectors.drop_owner(db, "event", step)


def _let_go_first(db: Connection, limit: int) -> list[int]:
    rows = db.execute(
        "select e.id from events e where e.kind in ('tool_call', 'other') and e.codec <> 'gone'"
        " and not exists (select 1 from memory_evidence m where m.event_id = e.id) order by e.at_ms limit ?",
        (limit,),
    )
    return [event_id for (event_id,) in rows]


def shrink(db: Connection, pages: int = 2000) -> None:
    """Give free pages back to the file system, a few at a time, and cut the write-ahead log."""
    if int(db.pragma("freelist_count") or 0) > pages:
        db.execute(f"pragma incremental_vacuum({pages})").get
    checkpoint(db)
