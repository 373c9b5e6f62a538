"""Sessions, events, files, jobs and memories as a program pages through them: each page behind the last row of the one
before, in the part of the store that the caller sees. A scope of None is everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recorder.models import Memory, Scope, StoredEvent, Trust
from recorder.store import events, memories, policy, sessions
from recorder.store.db import Connection
from recorder.store.sessions import Session

Place = tuple[int, str]
"""Where a page ends: the time of its last row, and its id."""


FEW_EVENTS = 100_000
"""Up to so many events of a project are gone through for its files, in 100 ms."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events. None: any."""

    kind: str | None = None
    session_id: str | None = None
    tool: str | None = None
    ok: bool | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """A file that tool calls named: how often it was read and written, and when last."""

    path: str
    reads: int
    writes: int
    last_ms: int


def event_page(
    db: Connection, scope: Scope | None, wanted: Wanted, *, before: Place | None, limit: int
) -> list[StoredEvent]:
    """Events, the latest first: of a project or a session by when they happened, of everywhere by when they were taken
    in. What was said to the gate about the person alone is listed where no project is named."""
    by_time = scope is not None or wanted.session_id is not None
    given = {"kind": wanted.kind, "session_id": wanted.session_id, "tool": wanted.tool, "ok": wanted.ok}
    where = [f"e.{name} = :{name}" for name, value in given.items() if value is not None]
    if scope is None and "e.kind = :kind" in where and (wanted.tool is not None or wanted.ok is not None):
        # From the newest on: the index of kinds would give every call of every project, to be looked up and sorted.
        where[where.index("e.kind = :kind")] = "+e.kind = :kind"
    if scope is not None and wanted.session_id is not None:
        # `+`: a session has an index of its own.
        where.append(f"+e.scope_id in {policy.scope_ids(':project')}")
    elif scope is not None:
        where.append("e.scope_id = (select id from scopes where name = :project)")
    if before is not None:
        where.append("(e.at_ms, e.id) < (:at_ms, :id)" if by_time else "e.id < :id")
    at_ms, event_id = before or (0, "0")
    bound = {"at_ms": at_ms, "id": int(event_id), "limit": limit, "project": _name(scope)}
    rows = db.execute(
        f"select e.id from events e where {' and '.join(where) or 'true'}"
        f" order by {'e.at_ms desc, e.id desc' if by_time else 'e.id desc'} limit :limit",
        given | bound,
    )
    return events.get(db, [row[0] for row in rows])


def newer_events(db: Connection, scope: Scope | None, after_id: int, limit: int) -> list[StoredEvent]:
    """Events that were taken in after one, in that order: the same that are listed."""
    rows = db.execute(
        "select e.id from events e where e.id > :after"
        " and (:every or e.scope_id = (select id from scopes where name = :project))"
        " order by e.id limit :limit",
        {"after": after_id, "every": scope is None, "project": _name(scope), "limit": limit},
    )
    return events.get(db, [row[0] for row in rows])


def session_page(db: Connection, scope: Scope | None, *, before: Place | None, limit: int) -> list[Session]:
    """Sessions of a project or of everywhere, the latest first."""
    rows = db.execute(
        "select id from sessions where (:every or project_id is :project) and id <> 'gate' and off = 0"
        " and (:at_ms is null or (last_ms, id) < (:at_ms, :id)) order by last_ms desc, id desc limit :limit",
        {
            "every": scope is None,
            "project": scope.project_id if scope else None,
            "at_ms": before[0] if before else None,
            "id": before[1] if before else None,
            "limit": limit,
        },
    )
    found = (sessions.get(db, row[0]) for row in list(rows))
    return [one for one in found if one is not None]


def memory_page(
    db: Connection,
    scope: Scope,
    *,
    namespace: str | None,
    kind: str | None,
    trust: str | None,
    tag: str | None,
    deleted: bool,
    before: Place | None,
    limit: int,
) -> list[Memory]:
    """Memories the scope sees, the latest first; rejected ones only where they are asked for by their trust."""
    read = "hidden" if deleted else "rejected" if trust == Trust.REJECTED else "list"
    rows = db.execute(
        f"select m.id {memories.CURRENT} where {memories.VISIBLE}"
        " and (?2 is null or m.namespace = ?2 or substr(m.namespace, 1, length(?2) + 1) = ?2 || '.')"
        " and (?3 is null or v.kind = ?3) and (?4 is null or v.trust = ?4)"
        " and (?5 is null or exists (select 1 from json_each(v.tags) t where t.value = ?5))"
        f" and {policy.condition(read)} and (?6 is null or (v.recorded_ms, m.id) < (?6, ?7))"
        " order by v.recorded_ms desc, m.id desc limit ?8",
        (scope.project_id, namespace, kind, trust, tag, *((before[0], int(before[1])) if before else (None, 0)), limit),
    )
    return memories.get(db, [row[0] for row in rows])


def file_page(db: Connection, scope: Scope | None, *, under: str, after: str, limit: int) -> list[Named]:
    """Files that tool calls named whose path begins with `under`, by path, behind one."""
    project = _name(scope)
    few = "select count(*) from (select 1 from events where scope_id = (select id from scopes where name = ?) limit ?)"
    narrow = scope is not None and next(iter(db.execute(few, (project, FEW_EVENTS + 1))))[0] <= FEW_EVENTS
    # By path a page is read off the index; in a project of few among many that would read the paths of all the others.
    joined = (
        "events e cross join files f on f.event_id = e.id"
        if narrow
        else "files f cross join events e on e.id = f.event_id"
    )
    rows = db.execute(
        f"select f.path, sum(f.action = 'read'), sum(f.action = 'write'), max(e.at_ms) from {joined}"
        " where f.path > :after and f.path >= :under and substr(f.path, 1, length(:under)) = :under"
        f" and {'true' if scope is None else 'e.scope_id = (select id from scopes where name = :project)'}"
        " group by f.path order by f.path limit :limit",
        {"after": after, "under": under, "project": project, "limit": limit},
    )
    return [Named(*row) for row in rows]


def job_page(
    db: Connection, *, state: str | None, kind: str | None, before: int | None, limit: int
) -> list[dict[str, Any]]:
    """Jobs, the newest first."""
    rows = db.execute(
        "select id, kind, subject, state, attempts, due_ms, outcome, error, created_ms, finished_ms from jobs"
        " where (?1 is null or state = ?1) and (?2 is null or kind = ?2) and (?3 is null or id < ?3)"
        " order by id desc limit ?4",
        (state, kind, before, limit),
    )
    names = ("id", "kind", "subject", "state", "attempts", "due_ms", "outcome", "error", "created_ms", "finished_ms")
    return [dict(zip(names, row, strict=True)) for row in rows]


def _name(scope: Scope | None) -> str:
    return "user" if scope is None or scope.project_id is None else scope.project_id
