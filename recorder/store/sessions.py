"""Rows of sessions, and how far each transcript was read."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from recorder.models import Scope
from recorder.store.db import Connection


@dataclass(frozen=True, slots=True)
class Session:
    """One run of Claude Code."""

    id: str
    project_id: str | None
    first_cwd: str | None
    transcript_path: str | None
    started_ms: int
    last_ms: int
    closed_ms: int | None
    end_reason: str | None
    title: str | None
    branch: str | None
    off: bool
    hook_events: int


@dataclass(frozen=True, slots=True)
class Reading:
    """How far a transcript was read: a byte offset, and what its reader must remember."""

    path: str
    session_id: str
    inode: int | None
    offset: int
    prefix_hash: str
    state: Mapping[str, Any]
    tail_hash: str | None = None
    """Of the last bytes before the offset; None where an earlier version kept none."""
    run_id: int | None = None
    """The backfill that read it first."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a transcript that lies there: how far it was read, and of its session."""

    offset: int | None
    closed: bool
    off: bool
    live: bool
    """Hooks speak of the session, and it has not ended."""


COLUMNS = (
    "id, project_id, first_cwd, transcript_path, started_ms, last_ms, closed_ms, end_reason, title, branch, off,"
    " hook_events"
)


def get(db: Connection, session_id: str) -> Session | None:
    """The session, when it is known."""
    for row in db.execute(f"select {COLUMNS} from sessions where id = ?", (session_id,)):
        return _session(row)
    return None


def see(
    db: Connection,
    session_id: str,
    *,
    first_ms: int,
    last_ms: int,
    cwd: str | None,
    project_id: str | None,
    transcript_path: str | None,
    branch: str | None,
    hook_events: int,
    found_in: str | None = None,
) -> None:
    """Open the session, or note that it went on: its first folder and project stay, a closed one is open again.

    `found_in`: a file that holds some of it, which may be a copy. It is the transcript where no better one is known.
    """
    db.execute(
        "insert into sessions (id, project_id, first_cwd, transcript_path, started_ms, last_ms, branch, hook_events)"
        " values (?1, ?2, ?3, coalesce(?4, ?9), ?5, ?6, ?7, ?8) on conflict (id) do update set"
        " project_id = coalesce(project_id, ?2), first_cwd = coalesce(first_cwd, ?3),"
        " transcript_path = coalesce(?4, transcript_path, ?9), started_ms = min(started_ms, ?5),"
        " closed_ms = case when ?6 > last_ms then null else closed_ms end, last_ms = max(last_ms, ?6),"
        " branch = coalesce(?7, branch), hook_events = hook_events + ?8",
        (session_id, project_id, cwd, transcript_path, first_ms, last_ms, branch, hook_events, found_in),
    )


def close(db: Connection, session_id: str, now_ms: int, reason: str | None = None) -> None:
    """Mark the session closed."""
    db.execute(
        "update sessions set closed_ms = coalesce(closed_ms, ?), end_reason = coalesce(?, end_reason) where id = ?",
        (now_ms, reason, session_id),
    )


def entitle(db: Connection, session_id: str, title: str) -> None:
    """Give the session its title; the last one wins."""
    db.execute("update sessions set title = ? where id = ?", (title, session_id))


def switch_off(db: Connection, session_id: str, now_ms: int) -> None:
    """Never take this session in: it ran with RECORDER_OFF."""
    db.execute(
        "insert into sessions (id, started_ms, last_ms, closed_ms, off) values (?1, ?2, ?2, ?2, 1)"
        " on conflict (id) do update set off = 1",
        (session_id, now_ms),
    )


def with_hooks(db: Connection, session_ids: Collection[str]) -> set[str]:
    """Those of the sessions that a hook has spoken of."""
    rows = db.execute(
        "select s.id from json_each(?) j join sessions s on s.id = j.value where s.hook_events > 0",
        (json.dumps(list(session_ids)),),
    )
    return {row[0] for row in rows}


def closed(db: Connection, session_ids: Collection[str]) -> set[str]:
    """Those of the sessions that have ended."""
    rows = db.execute(
        "select s.id from json_each(?) j join sessions s on s.id = j.value where s.closed_ms is not null",
        (json.dumps(list(session_ids)),),
    )
    return {row[0] for row in rows}


def elsewhere(db: Connection, session_ids: Collection[str], scope: Scope) -> set[str]:
    """Those of the sessions that are of another project than the scope's."""
    rows = db.execute(
        "select s.id from json_each(?1) j join sessions s on s.id = j.value"
        " where s.project_id is not null and s.project_id is not ?2",
        (json.dumps(list(session_ids)), scope.project_id),
    )
    return {row[0] for row in rows}


def events_elsewhere(db: Connection, event_ids: Collection[int], scope: Scope) -> set[int]:
    """Those of the events that are of another project than the scope's."""
    rows = db.execute(
        "select e.id from json_each(?1) j join events e on e.id = j.value"
        " where e.project_id is not null and e.project_id is not ?2",
        (json.dumps(list(event_ids)), scope.project_id),
    )
    return {row[0] for row in rows}


def still_open(db: Connection) -> list[Session]:
    """Sessions nobody closed yet, the quietest first."""
    rows = db.execute(
        f"select {COLUMNS} from sessions where closed_ms is null and off = 0 and id <> 'gate' order by last_ms"
    )
    return [_session(row) for row in rows]


def listing(db: Connection, *, project_id: str | None = None, limit: int = 50, offset: int = 0) -> list[Session]:
    """Sessions, the latest first."""
    rows = db.execute(
        f"select {COLUMNS} from sessions where (?1 is null or project_id = ?1) and id <> 'gate'"
        " order by last_ms desc limit ?2 offset ?3",
        (project_id, limit, offset),
    )
    return [_session(row) for row in rows]


def projects_in(db: Connection, folder: str) -> set[str]:
    """The projects of the sessions whose transcript lies directly in the folder."""
    rows = db.execute(
        "select distinct project_id from sessions where project_id is not null"
        " and substr(transcript_path, 1, length(?1) + 1) = ?1 || '/'"
        " and instr(substr(transcript_path, length(?1) + 2), '/') = 0",
        (folder,),
    )
    return {row[0] for row in rows}


def reading(db: Connection, path: str) -> Reading | None:
    """How far the transcript at the path was read."""
    rows = db.execute(
        "select path, session_id, inode, offset, prefix_hash, state, tail_hash, run_id from cursors where path = ?",
        (path,),
    )
    for row in rows:
        return Reading(row[0], row[1], row[2], row[3], row[4], json.loads(row[5]), row[6], row[7])
    return None


def standing(db: Connection, transcripts: Mapping[str, str]) -> dict[str, Standing]:
    """Path → what is known of it, for every path given with its session."""
    rows = db.execute(
        "select j.value ->> 0, coalesce(c.offset, t.offset), s.closed_ms is not null, coalesce(s.off, 0),"
        " coalesce(s.hook_events > 0 and s.closed_ms is null, 0) from json_each(?) j"
        " left join cursors c on c.path = j.value ->> 0 left join taken_back t on t.path = j.value ->> 0"
        " left join sessions s on s.id = j.value ->> 1",
        (json.dumps(list(transcripts.items())),),
    )
    return {path: Standing(offset, bool(closed), bool(off), bool(live)) for path, offset, closed, off, live in rows}


def taken_back(db: Connection, path: str) -> int:
    """How much of the transcript a person took back, in bytes from its start: only they bring it in again."""
    for (offset,) in db.execute("select offset from taken_back where path = ?", (path,)):
        return int(offset)
    return 0


def brought_again(db: Connection, path: str) -> None:
    """Note that a person brings in again what they took back."""
    db.execute("delete from taken_back where path = ?", (path,))


def read_paths(db: Connection, session_id: str) -> list[str]:
    """The transcripts of a session that were read so far, subagents' included."""
    rows = db.execute("select path from cursors where session_id = ? order by path", (session_id,))
    return [path for (path,) in rows]


def keep_reading(db: Connection, reading: Reading, now_ms: int) -> None:
    """Note how far the transcript was read."""
    db.execute(
        "insert into cursors (path, session_id, inode, offset, prefix_hash, state, read_ms, tail_hash, run_id)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " on conflict (path) do update set session_id = excluded.session_id, inode = excluded.inode,"
        " offset = excluded.offset, prefix_hash = excluded.prefix_hash, state = excluded.state,"
        " read_ms = excluded.read_ms, tail_hash = excluded.tail_hash",
        (
            reading.path,
            reading.session_id,
            reading.inode,
            reading.offset,
            reading.prefix_hash,
            json.dumps(dict(reading.state), ensure_ascii=True),
            now_ms,
            reading.tail_hash,
            reading.run_id,
        ),
    )


def paused(db: Connection) -> list[tuple[str | None, int, int | None]]:
    """(project or None for everywhere, from, until or None) of every span in which nothing is taken in."""
    return list(db.execute("select project_id, from_ms, until_ms from pauses order by from_ms"))


def paused_at(db: Connection, now_ms: int) -> set[str | None]:
    """The projects of which nothing is taken in now; None among them: of none at all."""
    return {project_id for project_id, _, until_ms in paused(db) if until_ms is None or until_ms > now_ms}


def pause(db: Connection, project_id: str | None, from_ms: int, until_ms: int | None) -> None:
    """Take nothing in for a while."""
    db.execute("insert into pauses (project_id, from_ms, until_ms) values (?, ?, ?)", (project_id, from_ms, until_ms))


def resume(db: Connection, project_id: str | None, now_ms: int) -> None:
    """End every pause of the project, or of everywhere, that still runs."""
    db.execute(
        "update pauses set until_ms = ?2 where project_id is ?1 and (until_ms is null or until_ms > ?2)",
        (project_id, now_ms),
    )


def _session(row: tuple[Any, ...]) -> Session:
    names = COLUMNS.replace("\n", " ").split(", ")
    return Session(**(dict(zip(names, row, strict=True)) | {"off": bool(row[10])}))


def places(db: Connection, events: Mapping[int, tuple[str | None, int]]) -> dict[int, float]:
    """Event → where it stands in its session, 0 its beginning and 1 its end, of (session, time) each."""
    ids = json.dumps(sorted({session_id for session_id, _ in events.values() if session_id is not None}))
    sql = "select id, started_ms, last_ms from sessions where id in (select value from json_each(?))"
    spans = {session_id: (from_ms, to_ms) for session_id, from_ms, to_ms in db.execute(sql, (ids,))}
    found = {}
    for event_id, (session_id, at_ms) in events.items():
        from_ms, to_ms = spans.get(session_id or "", (at_ms, at_ms))
        found[event_id] = min(max((at_ms - from_ms) / (to_ms - from_ms), 0.0), 1.0) if to_ms > from_ms else 0.5
    return found
