"""Counts and ages that say whether recording works."""

from __future__ import annotations

from typing import Any

from recorder.store.db import Connection
from recorder.store.upkeep import MB, size_bytes

CANARY_SESSION = "recorder-canary"
STUCK_AFTER_MS = 15 * 60 * 1000


def event_counts(db: Connection, project_id: str | None = None) -> dict[str, int]:
    """Kind → how many, of a project or of all."""
    return dict(
        db.execute(
            "select kind, count(*) from events where (?1 is null or project_id = ?1) group by kind order by kind",
            (project_id,),
        )
    )


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
        return f"{dead} jobs are dead"
    failing = _number(
        db,
        "select count(*) from jobs where state = 'queued' and attempts > 0 and error is not null and created_ms < ?",
        now_ms - STUCK_AFTER_MS,
    )
    overdue = _number(
        db,
        "select count(*) from jobs where state = 'queued' and not behind and attempts = 0 and due_ms < ?",
        now_ms - STUCK_AFTER_MS,
    )
    if failing:
        return f"{failing} jobs have been failing for more than 15 minutes"
    return f"{overdue} jobs have waited for more than 15 minutes" if overdue else None


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


def recording_since_ms(db: Connection) -> int | None:
    """From when on hooks were to carry what happens; None where they were never registered."""
    for (at,) in db.execute("select at_ms from counters where name = 'recording_since'"):
        return None if at is None else int(at)
    return None


def record_since(db: Connection, now_ms: int) -> None:
    """Hooks are registered from now on, unless they were before."""
    db.execute("insert into counters (name, at_ms) values ('recording_since', ?) on conflict do nothing", (now_ms,))


def record_no_more(db: Connection) -> None:
    """Hooks are taken out."""
    db.execute("delete from counters where name = 'recording_since'")


def healed_by_session(db: Connection) -> list[tuple[str, int]]:
    """(session, events that no hook brought), the latest session first."""
    return list(
        db.execute(
            "select e.session_id, count(*) from events e join sessions s on s.id = e.session_id where e.healed"
            " group by e.session_id order by s.last_ms desc"
        )
    )


def silent_sessions(db: Connection) -> list[str]:
    """Sessions that were read from a transcript while they ran, and of which no hook ever spoke."""
    rows = db.execute(
        "select s.id from sessions s where s.hook_events = 0 and s.off = 0 and exists"
        " (select 1 from sightings x join events e on e.id = x.event_id where e.session_id = s.id"
        " and x.source = 'transcript') order by s.last_ms desc"
    )
    return [row[0] for row in rows]


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
