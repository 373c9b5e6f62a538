"""Counts and ages that say whether recording works."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from recorder.counted import many
from recorder.store import events
from recorder.store.db import Connection
from recorder.store.upkeep import MB, size_bytes

CANARY_SESSION = "recorder-canary"
STUCK_AFTER_MS = 15 * 60 * 1000
EVERYWHERE = ""


def event_counts(db: Connection, project_id: str | None = None) -> dict[str, int]:
    """Kind → how many, of a project or of all."""
    return dict(
        db.execute(
            "select kind, count(*) from events where (?1 is null or project_id = ?1) group by kind order by kind",
            (project_id,),
        )
    )


def in_no_project(db: Connection) -> dict[str, int]:
    """How many events of how many sessions belong to no project, so that a person alone sees them."""
    of = f"from events where {events.UNPLACED} and session_id <> ?"
    ((found, held),) = db.execute(f"select count(*), count(distinct session_id) {of}", (CANARY_SESSION,))
    return {"events": found, "sessions": held}


def session_count(db: Connection) -> int:
    """How many sessions of Claude Code are known."""
    return _number(db, f"select count(*) from sessions where id not in ('gate', '{CANARY_SESSION}')")


def memory_counts(db: Connection) -> dict[str, int]:
    """Trust → how many, and `deleted`."""
    return dict(
        db.execute(
            "select case when m.deleted_ms is not null then 'deleted' else v.trust end, count(*)"
            " from memories m join memory_versions v on v.id = m.version_id group by 1 order by 1"
        )
    )


def waiting_vectors(db: Connection) -> int:
    """How many texts wait for a vector."""
    return _number(db, "select count(*) from embed_queue")


def size_mb(db: Connection) -> float:
    """Megabytes in use."""
    return size_bytes(db) / MB


def last_event_ms(db: Connection) -> int | None:
    """When the newest event happened."""
    for (at,) in db.execute("select max(at_ms) from events where session_id <> ?", (CANARY_SESSION,)):
        return None if at is None else int(at)
    return None


def stuck(db: Connection, now_ms: int) -> str | None:
    """Why the queue counts as stuck: jobs that fail for longer than a quarter of an hour, or dead ones."""
    dead = _number(db, "select count(*) from jobs where state = 'dead'")
    if dead:
        return f"dead: {many(dead, 'job')}"
    failing = _number(
        db,
        "select count(*) from jobs where state = 'queued' and error is not null and created_ms < ?"
        # What waited behind all else is old when it is first tried.
        " and attempts > iif(behind, 2, 0)",
        now_ms - STUCK_AFTER_MS,
    )
    overdue = _number(
        db,
        "select count(*) from jobs where state = 'queued' and behind = 0 and attempts = 0 and due_ms < ?1"
        # What happened long ago is due since then, and waits since it was asked for.
        " and created_ms < ?1",
        now_ms - STUCK_AFTER_MS,
    )
    if failing:
        return f"failing for more than 15 minutes: {many(failing, 'job')}"
    return f"waiting for more than 15 minutes: {many(overdue, 'job')}" if overdue else None


def integrity(db: Connection) -> str | None:
    """What SQLite finds wrong with the file, or None."""
    for (found,) in db.execute("pragma quick_check(1)"):
        return None if found == "ok" else f"the database is damaged: {found}. Restore a backup"
    return None


def canary(db: Connection) -> int | None:
    """The latest self-test event."""
    for (found,) in db.execute("select max(id) from events where session_id = ?", (CANARY_SESSION,)):
        return None if found is None else int(found)
    return None


def recording_since(db: Connection) -> dict[str, int]:
    """Folder → from when on hooks were to carry what happens there; EVERYWHERE is one of them for a whole person.
    Empty where hooks were never registered."""
    rows = db.execute("select note, at_ms from counters where name glob 'recording_since:*'")
    return {folder: at_ms for folder, at_ms in rows if at_ms is not None}


def since_ms(since: Mapping[str, int], folder: str | None) -> int | None:
    """From when on hooks were to carry what happens in the folder; None where they never were."""
    from_ms = [
        at_ms
        for root, at_ms in since.items()
        if root == EVERYWHERE or (folder is not None and PurePath(folder).is_relative_to(root))
    ]
    return min(from_ms, default=None)


def record_since(db: Connection, now_ms: int, folder: str = EVERYWHERE) -> None:
    """Hooks are registered from now on, unless they were before."""
    db.execute(
        "insert into counters (name, at_ms, note) values (?, ?, ?) on conflict do nothing",
        (f"recording_since:{folder}", now_ms, folder),
    )


def record_no_more(db: Connection) -> None:
    """Hooks are taken out."""
    db.execute("delete from counters where name glob 'recording_since:*'")


def injections(db: Connection, limit: int, project_id: str | None = None) -> list[tuple[int, int, str, str | None]]:
    """(event, when, session, project) of every brief that was shown, of a project or of all, the latest first."""
    return list(
        db.execute(
            "select id, at_ms, session_id, project_id from events where kind = 'injection'"
            " and (?1 is null or project_id = ?1) order by id desc limit ?2",
            (project_id, limit),
        )
    )


def _number(db: Connection, sql: str, *values: Any) -> int:
    return int(next(iter(db.execute(sql, values)))[0])
