"""Numbers over time, as plots show them. Each reads an index or a bounded part, so that a large store is as quick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recorder.models import Scope
from recorder.store import events, health, policy
from recorder.store.db import Connection

DAY_MS = 86_400_000
REFS = 20_000
"""Of who was shown what, this many of the latest rows are looked at."""
LAGS = 200
"""Of a day's events in a scope, so many of the latest are looked at."""
HEAD_EVENTS = 200
"""A brief is shown at the start of a session, or when it goes on: it is looked for among this many first events."""


def captured(db: Connection, scope: Scope | None, from_ms: int, days: int) -> list[int]:
    """How many events were captured on each of the days from a moment on: not what was said to us, nor our own test."""
    counts = [0] * days
    for scope_id in _scopes(db, scope):
        last = next(iter(db.execute("select max(at_ms) from events where scope_id is ?", (scope_id,))), (None,))[0]
        if last is None or last < from_ms:
            continue
        for day in range(days):
            start = from_ms + day * DAY_MS
            rows = db.execute(
                "select count(*) from events where scope_id is ? and at_ms >= ? and at_ms < ?",
                (scope_id, start, start + DAY_MS),
            )
            counts[day] += int(next(iter(rows))[0])
            own = db.execute(
                "select count(*) from events where session_id in ('gate', ?) and at_ms >= ? and at_ms < ?"
                " and scope_id is ?",
                (health.CANARY_SESSION, start, start + DAY_MS, scope_id),
            )
            counts[day] -= int(next(iter(own))[0])
    return counts


def _scopes(db: Connection, scope: Scope | None) -> list[int | None]:
    """The scope rows that what is looked at lies in."""
    if scope is None:
        return [None, *(row[0] for row in db.execute("select id from scopes"))]
    return [row[0] for row in db.execute("select id from scopes where name = ?", (scope.project_id or "user",))]


def grown(db: Connection, scope: Scope | None, by: str) -> list[tuple[int, str, int]]:
    """(day since 1970, `kind` or `trust`, how many) of the memories that stand, by the day they were first made."""
    column = {"kind": "v.kind", "trust": "v.trust"}[by]
    return list(
        db.execute(
            f"select m.created_ms / {DAY_MS}, {column}, count(*) from memories m join memory_versions v"
            " on v.id = m.version_id where m.state = 'active'"
            f" and (:every or m.scope_id in {policy.scope_ids(':project')}) group by 1, 2 order by 1, 2",
            {"every": scope is None, "project": scope.project_id if scope else None},
        )
    )


@dataclass(frozen=True, slots=True)
class Changed:
    """One line of a memory's history."""

    at_ms: int
    action: str
    memory_id: int
    namespace: str
    key: str


def changes(db: Connection, scope: Scope | None, from_ms: int, until_ms: int, limit: int) -> list[Changed]:
    """What became of memories between two moments, the latest first; among the latest lines of the history."""
    rows = db.execute(
        "select h.at_ms, h.action, m.id, m.namespace, m.key"
        " from (select memory_id, action, at_ms from memory_history order by id desc limit :lines) h"
        " join memories m on m.id = h.memory_id where h.at_ms >= :from_ms and h.at_ms < :until_ms"
        f" and m.state <> 'forgotten' and (:every or m.scope_id in {policy.scope_ids(':project')})"
        " order by h.at_ms desc limit :limit",
        {
            "lines": REFS,
            "from_ms": from_ms,
            "until_ms": until_ms,
            "every": scope is None,
            "project": scope.project_id if scope else None,
            "limit": limit,
        },
    )
    return [Changed(*row) for row in rows]


def lags(db: Connection, scope: Scope | None, from_ms: int, days: int) -> list[list[int]]:
    """Day by day, for how many milliseconds what a hook brought lay in the spool until it was stored; of a busy day a
    part, and of every project those that came last."""
    found: list[list[int]] = [[] for _ in range(days)]
    if scope is None:  # a question for every day of every project would be thousands
        rows = db.execute(
            "select at_ms, max(received_ms - at_ms, 0) from (select id, at_ms, received_ms, healed from events"
            " order by id desc limit ?) e where at_ms >= ? and at_ms < ? and healed = 0"
            " and exists (select 1 from sightings s where s.event_id = e.id and s.source = 'hook')",
            (REFS // 2, from_ms, from_ms + days * DAY_MS),
        )
        for at_ms, lag_ms in rows:
            found[(at_ms - from_ms) // DAY_MS].append(lag_ms)
        return found
    for scope_id in _scopes(db, scope):
        for day in range(days):
            start = from_ms + day * DAY_MS
            rows = db.execute(
                "select max(received_ms - at_ms, 0) from (select id, at_ms, received_ms from events"
                " where scope_id is ? and at_ms >= ? and at_ms < ? and healed = 0 order by at_ms desc limit ?) e"
                " where exists (select 1 from sightings s where s.event_id = e.id and s.source = 'hook')",
                (scope_id, start, start + DAY_MS, LAGS),
            )
            found[day] += [row[0] for row in rows]
    return found


def waits(db: Connection, from_ms: int, days: int) -> list[list[int]]:
    """Day by day, for how many milliseconds jobs waited, once they were asked for and due, until they were done; of
    the latest ones. A turn of the past is due when it happened, and nobody asked until it was read."""
    found: list[list[int]] = [[] for _ in range(days)]
    rows = db.execute(
        "select finished_ms, max(finished_ms - max(due_ms, created_ms), 0)"
        " from (select finished_ms, due_ms, created_ms, state from jobs"
        " order by id desc limit ?) where state = 'done' and finished_ms >= ? and finished_ms < ?",
        (REFS, from_ms, from_ms + days * DAY_MS),
    )
    for at_ms, waited_ms in rows:
        found[(at_ms - from_ms) // DAY_MS].append(waited_ms)
    return found


def recalled(db: Connection) -> list[tuple[int, str, int]]:
    """(day since 1970, shown, read or used, how often) among the latest rows."""
    return list(
        db.execute(
            f"select at_ms / {DAY_MS}, how, count(*) from (select at_ms, how from memory_refs order by id desc limit ?)"
            " group by 1, 2 order by 1, 2",
            (REFS,),
        )
    )


def briefed(db: Connection, session_ids: Sequence[str]) -> dict[str, int]:
    """Session → characters of the briefs that were shown in it."""
    found: dict[str, int] = {}
    for session_id in session_ids:
        rows = db.execute(
            "select id from (select id, kind from events where session_id = ? order by at_ms limit ?)"
            " where kind = 'injection'",
            (session_id, HEAD_EVENTS),
        )
        for event in events.get(db, [row[0] for row in rows]):
            found[session_id] = found.get(session_id, 0) + len(str(event.body.get("text") or ""))
    return found


def queue(db: Connection) -> list[dict[str, Any]]:
    """What waits to be done, by kind and state: how many, and since when the oldest is asked for and due."""
    rows = db.execute(
        "select kind, case when state = 'queued' and behind then 'behind' else state end as stands, count(*),"
        " min(max(due_ms, created_ms)) from jobs where state in ('queued', 'running', 'dead') group by kind, stands"
        " order by kind, stands"
    )
    return [dict(zip(("kind", "state", "count", "due_ms"), row, strict=True)) for row in rows]
