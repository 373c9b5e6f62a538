"""What goes with age: events nobody cites, and the words of histories of what was deleted."""

from __future__ import annotations

import json
from collections.abc import Sequence

from recorder.store import events, vectors
from recorder.store.db import Connection, checkpoint

_PAGES_A_STEP = 2000

# An open finding cites events that a memory may stand on one day.
_UNCITED = (
    "e.at_ms < ?1 and not exists (select 1 from memory_evidence x where x.event_id = e.id)"
    " and e.id not in (select c.value ->> 'event_id' from findings f, json_each(f.proposal, '$.evidence') c"
    " where f.state = 'open' and c.value ->> 'event_id' is not null)"
)
_LONG_HIDDEN = (
    "h.content is not null and exists (select 1 from memories m where m.id = h.memory_id and m.state = 'deleted'"
    " and m.deleted_ms < ?1)"
)


def old_events(db: Connection, before_ms: int, limit: int) -> list[int]:
    """Events from before a time that nothing stands on, by their ids."""
    return [row[0] for row in db.execute(f"select e.id from events e where {_UNCITED} limit ?2", (before_ms, limit))]


def weigh(db: Connection, before_ms: int) -> tuple[int, int]:
    """(how many such events there are, about how many bytes they take with what is derived from them)."""
    rows = db.execute(
        # The words stand in the row and, about once more, in the indexes.
        "select count(*), coalesce(sum(length(e.body) + 2 * length(e.excerpt) + 3 * length(e.narrow) + 400"
        " + coalesce((select sum(length(b.vector) + 400) from embeddings b where b.owner = 'event'"
        f" and b.owner_id = e.id), 0)), 0) from events e where {_UNCITED}",
        (before_ms,),
    )
    count, size = next(iter(rows))
    return int(count), int(size)


def remove_events(db: Connection, ids: Sequence[int]) -> int:
    """Take events away with all that is derived from them; how many. Search lets go of them by a trigger. Runs inside
    the caller's transaction, in which nothing may cite them."""
    chosen = json.dumps(list(ids))
    vectors.drop_owner(db, "event", ids)
    for table in ("sightings", "files"):
        db.execute(f"delete from {table} where event_id in (select value from json_each(?))", (chosen,))
    events.keep_ids(db)
    db.execute("delete from events where id in (select value from json_each(?))", (chosen,))
    return db.changes()


def remove_traces(db: Connection, before_ms: int) -> None:
    """Let go of what is left of sessions without events: their titles, and jobs that are over. Runs inside the
    caller's transaction."""
    db.execute(
        "update sessions set title = null where title is not null and last_ms < ?"
        " and not exists (select 1 from events e where e.session_id = sessions.id)",
        (before_ms,),
    )
    db.execute("delete from jobs where state = 'done' and finished_ms < ?", (before_ms,))


def emptied_lines(db: Connection, before_ms: int) -> int:
    """How many lines of history would be emptied."""
    return int(next(iter(db.execute(f"select count(*) from memory_history h where {_LONG_HIDDEN}", (before_ms,))))[0])


def empty_history(db: Connection, before_ms: int) -> int:
    """Empty the history of memories deleted before a time; how many lines. The lines stay."""
    db.execute(
        "update memory_history set content = null where id in"
        f" (select h.id from memory_history h where {_LONG_HIDDEN})",
        (before_ms,),
    )
    return db.changes()


def give_back(db: Connection) -> int:
    """Give every free page back to the file system, a few at a time, and cut the log; bytes the file is shorter by."""
    before = int(db.pragma("page_count") or 0)
    while (free := int(db.pragma("freelist_count") or 0)) > 0:
        db.execute(f"pragma incremental_vacuum({_PAGES_A_STEP})").get
        if int(db.pragma("freelist_count") or 0) >= free:
            break
    checkpoint(db)
    return (before - int(db.pragma("page_count") or 0)) * int(db.pragma("page_size") or 0)


def last_ms(db: Connection) -> int | None:
    """When the last purge by age was done."""
    for (at,) in db.execute("select at_ms from counters where name = 'purged'"):
        return None if at is None else int(at)
    return None
