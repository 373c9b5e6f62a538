"""What one run brought, out of the store again, a batch of its events at a time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from recorder.models import Memory
from recorder.store import events, memories, vectors
from recorder.store.db import Connection
from recorder.store.runs import Run

# Somebody else saw the event `e.id` too: a hook, the worker in the live transcript, another run.
_SEEN = "exists (select 1 from sightings o where o.event_id = e.id and o.run_id is not ?1)"
# A memory that a person wrote, approved or pinned stands on it.
_CITED = (
    "exists (select 1 from memory_evidence x join memory_versions v on v.id = x.version_id"
    " join memories m on m.id = v.memory_id where x.event_id = e.id and (m.pinned or exists"
    " (select 1 from memory_versions p where p.memory_id = m.id and p.channel = 'person')))"
)
_OF_RUN = (
    "(select distinct event_id as id from (select event_id from sightings where run_id = ?1 order by id limit ?2))"
)
_LISTED = "(select value from json_each(?))"
# `<path>:<byte>` or `<path>:<byte>.<n>`
_PATH_OF_REF = "rtrim(rtrim(ref, '0123456789.'), ':')"


@dataclass(frozen=True, slots=True)
class Batch:
    """Events of a run by what becomes of them: they go, lose its sighting, or stay because a person's memory cites
    them."""

    gone: list[int]
    seen: list[int]
    kept: list[int]

    def __bool__(self) -> bool:
        return bool(self.gone or self.seen or self.kept)


def batch(db: Connection, run: Run, limit: int = -1) -> Batch:
    """The events of the run's next sightings, or all."""
    rows = list(db.execute(f"select e.id, {_SEEN}, {_CITED} from {_OF_RUN} e order by e.id", (run.id, limit)))
    return Batch(
        gone=[event_id for event_id, seen, cited in rows if not seen and not cited],
        seen=[event_id for event_id, seen, _ in rows if seen],
        kept=[event_id for event_id, seen, cited in rows if cited and not seen],
    )


def losing(db: Connection, gone: Sequence[int]) -> list[Memory]:
    """The memories that are shown and stand on some of these events."""
    rows = db.execute(
        "select distinct m.id from json_each(?) g join memory_evidence x on x.event_id = g.value"
        " join memories m on m.version_id = x.version_id where m.deleted_ms is null order by m.namespace, m.key",
        (json.dumps(list(gone)),),
    )
    return memories.get(db, [row[0] for row in rows])


def sessions_left_empty(db: Connection, run: Run, gone: Sequence[int]) -> int:
    """How many sessions have no event but these, or only copies of others' that the run saw."""
    rows = db.execute(
        "with gone as materialized (select value as id from json_each(?2))"
        " select count(*) from sessions s where s.id in (select session_id from sightings where run_id = ?1)"
        " and s.off = 0 and s.hook_events = 0 and not exists"
        " (select 1 from events e where e.session_id = s.id and e.id not in (select id from gone))",
        (run.id, json.dumps(list(gone))),
    )
    return int(next(iter(rows))[0])


def files(db: Connection, run: Run) -> int:
    """How many files the run read."""
    rows = db.execute(
        f"select count(*) from (select {_PATH_OF_REF} from sightings where run_id = ?1"
        " union select path from cursors where run_id = ?1)",
        (run.id,),
    )
    return int(next(iter(rows))[0])


def remove(db: Connection, run: Run, found: Batch) -> int:
    """Take the batch out with all that hangs on it; how many sessions went. Runs inside the caller's transaction."""
    every = json.dumps([*found.gone, *found.seen, *found.kept])
    gone = json.dumps(found.gone)
    sighted = f"from sightings where run_id = ? and event_id in {_LISTED}"
    paths = [row[0] for row in db.execute(f"select distinct {_PATH_OF_REF} {sighted}", (run.id, every))]
    touched = {row[0] for row in db.execute(f"select distinct session_id {sighted}", (run.id, every))}
    turns = list(
        db.execute(f"select distinct session_id, coalesce(prompt_id, '') from events where id in {_LISTED}", (gone,))
    )
    db.execute(
        f"update sightings set run_id = null where run_id = ? and event_id in {_LISTED}",
        (run.id, json.dumps(found.kept)),
    )
    db.execute(f"delete {sighted}", (run.id, json.dumps(found.seen)))
    vectors.drop_owner(db, "event", found.gone)
    for table in ("memory_evidence", "files", "sightings"):
        db.execute(f"delete from {table} where event_id in {_LISTED}", (gone,))
    events.keep_ids(db)
    db.execute(f"delete from events where id in {_LISTED}", (gone,))
    db.execute(  # what waits for a person and cites them: no more can come of it
        "delete from findings where state = 'open' and exists (select 1 from json_each(proposal, '$.evidence') c"
        f" where c.value ->> 'event_id' in {_LISTED})",
        (gone,),
    )
    _forget_reading(db, paths)
    for session_id, prompt_id in turns:
        db.execute(
            "delete from jobs where subject = ?1 || char(10) || ?2 and not exists"
            " (select 1 from events where session_id = ?1 and coalesce(prompt_id, '') = ?2)",
            (session_id, prompt_id),
        )
    return sum(_settle_session(db, session_id) for session_id in touched | {session_id for session_id, _ in turns})


def forget_files(db: Connection, run: Run) -> None:
    """Let the files that the run read first be read from their start again."""
    _forget_reading(db, [path for (path,) in db.execute("select path from cursors where run_id = ?", (run.id,))])


def _forget_reading(db: Connection, paths: Sequence[str]) -> None:
    """Let the files be read from their start, by a backfill: what stood there is not taken in again by itself, where no
    hook tells of the session."""
    db.execute(
        "insert or replace into taken_back (path, offset)"
        f" select c.path, c.offset from cursors c where c.path in {_LISTED}"
        " and not exists (select 1 from sessions s where s.id = c.session_id and s.hook_events > 0)",
        (json.dumps(list(paths)),),
    )
    for table in ("cursors", "open_calls"):
        db.execute(f"delete from {table} where path in {_LISTED}", (json.dumps(list(paths)),))


def _settle_session(db: Connection, session_id: str) -> bool:
    """True when the session went, with its jobs: nothing of it is left. Else it spans what is left."""
    for first_ms, last_ms in db.execute(
        "select min(at_ms), max(at_ms) from events where session_id = ?", (session_id,)
    ):
        if first_ms is not None:
            db.execute("update sessions set started_ms = ?, last_ms = ? where id = ?", (first_ms, last_ms, session_id))
            return False
    db.execute(
        "delete from jobs where subject = ?1 or (subject >= ?1 || char(10) and subject < ?1 || char(11))", (session_id,)
    )
    db.execute("delete from sessions where id = ? and off = 0 and hook_events = 0", (session_id,))
    return bool(db.changes())
