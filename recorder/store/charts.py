"""Numbers over time, as plots show them. Each reads an index or a bounded part, so that a large store is as quick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recorder.models import Scope
from recorder.store import events, policy
from recorder.store.db import Connection

DAY_MS = 86_400_000
REFS = 20_000
"""Of who was shown what, this many of the latest rows are looked at."""
HEAD_EVENTS = 200
"""A brief is shown at the start of a session, or when it goes on: it is looked for among this many first events."""


def captured(db: Connection, scope: Scope | None, from_ms: int, days: int) -> list[int]:
    """How many events happened on each of the days from a moment on."""
    if scope is None:
        scopes: list[int | None] = [None, *(row[0] for row in db.execute("select id from scopes"))]
    else:
        scopes = [row[0] for row in db.execute("select id from scopes where name = ?", (scope.project_id or "user",))]
    counts = [0] * days
    for scope_id in scopes:
        first = next(iter(db.execute("select max(at_ms) from events where scope_id is ?", (scope_id,))), (None,))[0]
        if first is None or first < from_ms:
            continue
        for day in range(days):
            start = from_ms + day * DAY_MS
            rows = db.execute(
                "select count(*) from events where scope_id is ? and at_ms >= ? and at_ms < ?",
                (scope_id, start, start + DAY_MS),
            )
            counts[day] += int(next(iter(rows))[0])
    return counts


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
    """What waits to be done, by kind and state: how many, and since when the oldest is due."""
    rows = db.execute(
        "select kind, case when state = 'queued' and behind then 'behind' else state end as stands, count(*),"
        " min(due_ms) from jobs where state in ('queued', 'running', 'dead') group by kind, stands"
        " order by kind, stands"
    )
    return [dict(zip(("kind", "state", "count", "due_ms"), row, strict=True)) for row in rows]
