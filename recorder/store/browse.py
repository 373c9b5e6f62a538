"""Rows as a person pages through them, of one project or of every one.

A scope of None is everywhere, which only a person sees. Pages go on behind the last row that was seen, not by counting
rows off, so that the thousandth is as quick as the first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recorder.models import Memory, Scope, StoredEvent, Trust
from recorder.store import events, health, memories, policy, sessions
from recorder.store.db import Connection
from recorder.store.sessions import Session

COUNT_TO = 1_000
"""Counting stops here: beyond it `1,000+` says enough."""
HEAD_EVENTS = 200
"""How far into a session its first prompt and its briefs are looked for."""

_IN_SCOPE = f"(:every or ({policy.visible(':project')}))"


@dataclass(frozen=True, slots=True)
class Only:
    """What a list of memories is narrowed to."""

    namespace: str | None = None
    kind: str | None = None
    trust: str | None = None
    tag: str | None = None
    hidden: bool = False
    words: tuple[str, ...] = ()
    """Each stands in the value or the key."""


@dataclass(frozen=True, slots=True)
class Row:
    """A session in a list. `events` counts to 1,000."""

    session: Session
    asked: str
    """What it was first asked, where it has no title."""
    events: int
    cited: int


def memory_page(
    db: Connection, scope: Scope | None, only: Only, *, after: tuple[str, int, int] | None, limit: int
) -> list[Memory]:
    """Memories by namespace, the latest of each first, behind (namespace, recorded_ms, id). Forgotten ones never."""
    read = "hidden" if only.hidden else "rejected" if only.trust == Trust.REJECTED else "list"
    rows = db.execute(
        "select m.id from memories m join memory_versions v on v.id = m.version_id"
        f" where {_IN_SCOPE} and {policy.condition(read)}"
        " and (:namespace is null or m.namespace = :namespace"
        " or substr(m.namespace, 1, length(:namespace) + 1) = :namespace || '.')"
        " and (:kind is null or v.kind = :kind) and (:trust is null or v.trust = :trust)"
        " and (:tag is null or exists (select 1 from json_each(v.tags) t where t.value = :tag))"
        " and not exists (select 1 from json_each(:words) w where instr(lower(v.value || ' ' || m.key), w.value) = 0)"
        " and (:after is null or m.namespace > :after or (m.namespace = :after"
        " and (v.recorded_ms, m.id) < (:after_ms, :after_id)))"
        " order by m.namespace, v.recorded_ms desc, m.id desc limit :limit",
        {
            **_bound(scope),
            "namespace": only.namespace,
            "kind": only.kind,
            "trust": only.trust,
            "tag": only.tag,
            "words": json.dumps([word.lower() for word in only.words]),
            "after": after[0] if after else None,
            "after_ms": after[1] if after else None,
            "after_id": after[2] if after else None,
            "limit": limit,
        },
    )
    return memories.get(db, [row[0] for row in rows])


def visible(db: Connection, memory_id: int, scope: Scope | None) -> bool:
    """Whether the memory belongs to what is looked through."""
    rows = db.execute(
        f"select 1 from memories m join memory_versions v on v.id = m.version_id where m.id = :id and {_IN_SCOPE}",
        {**_bound(scope), "id": memory_id},
    )
    return bool(list(rows))


def namespaces(db: Connection, scope: Scope | None) -> list[tuple[str, int]]:
    """(namespace, how many stand there), by name."""
    return list(
        db.execute(
            "select m.namespace, count(*) from memories m join memory_versions v on v.id = m.version_id"
            f" where {_IN_SCOPE} and m.state = 'active' group by 1 order by 1 limit 500",
            _bound(scope),
        )
    )


def undecided(db: Connection, limit: int) -> list[Memory]:
    """Pieces of Claude's own files of which nobody knows the project: no project sees them."""
    rows = db.execute(
        "select id from memories where scope_id is null and state = 'active' order by id limit ?", (limit,)
    )
    return memories.get(db, [row[0] for row in rows])


def waiting(db: Connection, scope: Scope | None = None, *, most: int = 100) -> int:
    """How many things wait for a person's word, of a project or of every one, as the review shows them: what was
    proposed about one memory in one way is one. Counting stops at `most`."""
    rows = db.execute(
        "select count(*) from (select 1 from findings where state = 'open'"
        " and (:every or project_id is null or project_id = coalesce(:project, ''))"
        " group by case when other_id is null and memory_id is not null then kind || ' ' || memory_id else id end"
        " union all"
        " select 1 from memories m join memory_versions v on v.id = m.version_id"
        f" where {policy.condition('review')} and {_IN_SCOPE}"
        # What a finding is open about waits as that finding.
        " and not exists (select 1 from findings f where f.state = 'open' and f.kind in ('duplicate', 'contradiction')"
        " and m.id in (f.memory_id, f.other_id)) limit :most)",
        {**_bound(scope), "most": most},
    )
    return int(next(iter(rows))[0])


def session_page(db: Connection, scope: Scope | None, *, before: tuple[int, str] | None, limit: int) -> list[Row]:
    """Sessions, the latest first, behind (last_ms, id)."""
    rows = db.execute(
        "select id from sessions where (:every or project_id = :project) and id not in ('gate', :canary) and off = 0"
        " and (:before_ms is null or (last_ms, id) < (:before_ms, :before_id))"
        " order by last_ms desc, id desc limit :limit",
        {
            **_bound(scope),
            "canary": health.CANARY_SESSION,
            "before_ms": before[0] if before else None,
            "before_id": before[1] if before else None,
            "limit": limit,
        },
    )
    return [_row(db, row[0]) for row in list(rows)]


@dataclass(frozen=True, slots=True)
class Span:
    """When a session ran, and how it went."""

    session_id: str
    started_ms: int
    last_ms: int
    says: str
    """Its title, else what it was first asked, else its id."""
    failed: int
    """Tool calls that failed, among the first hundred events."""


def sessions_between(db: Connection, scope: Scope | None, from_ms: int, until_ms: int, limit: int) -> list[Span]:
    """The sessions that ran at some time between two moments, the latest first."""
    rows = db.execute(
        "select id, started_ms, last_ms, coalesce(title, ''),"
        " (select count(*) from (select ok from events e where e.session_id = s.id limit :head) where ok = 0)"
        " from sessions s where (:every or project_id = :project) and id not in ('gate', :canary) and off = 0"
        " and last_ms >= :from_ms and started_ms < :until_ms order by last_ms desc, id desc limit :limit",
        {
            **_bound(scope),
            "canary": health.CANARY_SESSION,
            "from_ms": from_ms,
            "until_ms": until_ms,
            "limit": limit,
            "head": HEAD_EVENTS // 2,
        },
    )
    return [Span(row[0], row[1], row[2], row[3] or _asked(db, row[0]) or row[0], row[4]) for row in list(rows)]


def latest_ms(db: Connection, scope: Scope | None) -> int | None:
    """When something happened last."""
    for row in session_page(db, scope, before=None, limit=1):
        return row.session.last_ms
    return None


def _row(db: Connection, session_id: str) -> Row:
    found = sessions.get(db, session_id)
    assert found is not None
    return Row(
        found,
        _asked(db, session_id),
        _count(db, "select 1 from events where session_id = ?", session_id),
        _count(
            db,
            "select 1 from (select id from events where session_id = ? limit 2000) e"
            " join memory_evidence x on x.event_id = e.id",
            session_id,
        ),
    )


def _asked(db: Connection, session_id: str) -> str:
    rows = db.execute(
        "select excerpt from (select kind, excerpt, agent_id from events where session_id = ? order by at_ms limit ?)"
        " where kind = 'prompt' and agent_id is null and excerpt <> '' limit 1",
        (session_id, HEAD_EVENTS),
    )
    return next((row[0] for row in rows), "")


def _count(db: Connection, sql: str, *values: Any) -> int:
    return int(next(iter(db.execute(f"select count(*) from ({sql} limit {COUNT_TO + 1})", values)))[0])


def is_longer(db: Connection, session_id: str, most: int) -> bool:
    """Whether a session has more events than that."""
    rows = db.execute("select 1 from events where session_id = ? limit 1 offset ?", (session_id, most))
    return bool(list(rows))


def event_page(
    db: Connection, session_id: str, *, after: tuple[int, int] | None, limit: int, backwards: bool = False
) -> list[StoredEvent]:
    """Events of a session in the order they happened, behind (at_ms, id); `backwards`: the last ones before it."""
    at_ms, event_id = after or (0, 0)
    side, order = ("<", "desc") if backwards else (">", "asc")
    rows = db.execute(
        f"select id from events where session_id = ? and (at_ms, id) {side} (?, ?)"
        f" order by at_ms {order}, id {order} limit ?",
        (session_id, at_ms, event_id, limit),
    )
    ids = [row[0] for row in rows]
    return events.get(db, ids[::-1] if backwards else ids)


def latest_events(db: Connection, scope: Scope | None, limit: int) -> list[StoredEvent]:
    """The events that were taken in last, the latest first, among the last few thousand."""
    rows = db.execute(
        "select id from (select id, project_id, session_id from events order by id desc limit 2000)"
        " where (:every or project_id = :project) and session_id not in ('gate', :canary) limit :limit",
        {**_bound(scope), "canary": health.CANARY_SESSION, "limit": limit},
    )
    return events.get(db, [row[0] for row in rows])


def cites(db: Connection, event_ids: Sequence[int]) -> dict[int, list[Memory]]:
    """Event → the memories whose current version stands on it."""
    rows = list(
        db.execute(
            "select distinct x.event_id, m.id from json_each(?) j join memory_evidence x on x.event_id = j.value"
            " join memory_versions v on v.id = x.version_id"
            " join memories m on m.id = v.memory_id and m.version_id = v.id where m.state <> 'forgotten' limit 2000",
            (json.dumps(list(event_ids)),),
        )
    )
    by_id = {memory.id: memory for memory in memories.get(db, sorted({row[1] for row in rows})[:900])}
    found: dict[int, list[Memory]] = {}
    for event_id, memory_id in rows:
        if memory_id in by_id:
            found.setdefault(event_id, []).append(by_id[memory_id])
    return found


def files_of(db: Connection, session_id: str, limit: int) -> list[tuple[str, int, int]]:
    """(path, reads, writes) of what a session's tool calls named, the written first."""
    return list(
        db.execute(
            "select f.path, sum(f.action = 'read'), sum(f.action = 'write') from"
            " (select id from events where session_id = ? limit 20000) e cross join files f on f.event_id = e.id"
            " group by f.path order by 3 desc, 2 desc, 1 limit ?",
            (session_id, limit),
        )
    )


def audit_page(db: Connection, *, before: int | None, limit: int) -> list[Mapping[str, Any]]:
    """Rows of the audit, the latest first, before an id."""
    rows = db.execute(
        "select id, at_ms, actor, channel, action, reason, digest from audit where (?1 is null or id < ?1)"
        " order by id desc limit ?2",
        (before, limit),
    )
    names = ("id", "at_ms", "actor", "channel", "action", "reason", "digest")
    return [dict(zip(names, row, strict=True)) for row in rows]


def about_events(db: Connection) -> int:
    """About how many events there are: the highest number given, so never fewer."""
    return events.last_id(db)


def latest_project(db: Connection) -> str | None:
    """The project somebody worked in last."""
    rows = db.execute("select project_id from sessions where project_id is not null order by last_ms desc limit 1")
    return next((row[0] for row in rows), None)


def recent_projects(db: Connection, limit: int) -> list[str]:
    """The projects of the latest sessions, the latest first."""
    rows = db.execute(
        "select project_id from (select project_id, last_ms from sessions where project_id is not null"
        " order by last_ms desc limit 2000) group by project_id order by max(last_ms) desc limit ?",
        (limit,),
    )
    return [row[0] for row in rows]


def _bound(scope: Scope | None) -> dict[str, Any]:
    return {"every": scope is None, "project": scope.project_id if scope else None}
