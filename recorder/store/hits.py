"""Found rows, read back as Hits."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from recorder.models import Hit, Scope
from recorder.store.db import Connection
from recorder.store.only import EVENT_IN_SCOPE, EVERYTHING, Only, bound, events_in, memories_in, versions

UUID_OF_EVENT = "(select s.uuid from sightings s where s.event_id = e.id and s.uuid is not null order by s.id limit 1)"


def of_events(
    db: Connection, scope: Scope, ids: Iterable[int], *, now_ms: int, only: Only = EVERYTHING
) -> dict[int, Hit]:
    """The events of these ids that the caller may see, by id, without a score."""
    sql = (
        f"select e.id, e.kind, e.excerpt, e.at_ms, e.session_id, {UUID_OF_EVENT}, e.tool_use_id, e.prompt_id"
        f" from events e where e.id in (select value from json_each(:ids)) and {events_in(only)}"
    )
    return {
        row[0]: Hit(
            type="event",
            id=f"e{row[0]}",
            score=0.0,
            text=row[2],
            kind=row[1],
            occurred_ms=row[3],
            session_id=row[4],
            event={"uuid": row[5], "tool_use_id": row[6], "prompt_id": row[7]},
        )
        for row in db.execute(sql, {**bound(scope, now_ms, only), "ids": json.dumps(list(ids))})
    }


def of_memories(
    db: Connection, scope: Scope, ids: Iterable[int], *, now_ms: int, only: Only = EVERYTHING
) -> dict[int, Hit]:
    """The memories of these ids that recall may show, by id, without a score, each with its evidence."""
    join, believed = versions(only)
    sql = (
        "select m.id, m.namespace, m.key, v.value, v.kind, v.trust, v.occurred_ms, v.id"
        f" from memory_versions v {join} where m.id in (select value from json_each(:ids))"
        f" and {memories_in(only)} and {believed} order by v.recorded_ms, v.id"
    )
    rows = list(db.execute(sql, {**bound(scope, now_ms, only), "ids": json.dumps(list(ids))}))
    evidence = _evidence(db, scope, [row[7] for row in rows], now_ms=now_ms)
    return {
        row[0]: Hit(
            type="memory",
            id=f"m{row[0]}",
            score=0.0,
            text=row[3],
            kind=row[4],
            occurred_ms=row[6],
            trust=row[5],
            session_id=next((session for session, _ in evidence.get(row[7], ())), None),
            namespace=row[1],
            key=row[2],
            evidence=tuple(quoted for _, quoted in evidence.get(row[7], ())),
        )
        for row in rows
    }


def citing(db: Connection, event_id: int) -> list[int]:
    """Ids of the memories whose current version stands on an event, whoever may see them."""
    rows = db.execute(
        "select distinct m.id from memory_evidence x join memory_versions v on v.id = x.version_id"
        " join memories m on m.id = v.memory_id and m.version_id = v.id where x.event_id = ? order by 1",
        (event_id,),
    )
    return [row[0] for row in rows]


def sources(db: Connection, event_id: int) -> tuple[str, ...]:
    """Who saw an event: `hook`, `transcript`, `backfill`, `gate`, in the order they did."""
    rows = db.execute("select source from sightings where event_id = ? group by source order by min(id)", (event_id,))
    return tuple(row[0] for row in rows)


def _evidence(
    db: Connection, scope: Scope, version_ids: list[int], *, now_ms: int
) -> dict[int, list[tuple[str | None, dict[str, Any]]]]:
    """(session, evidence) of each version. An event outside the scope lends quote and date alone."""
    sql = (
        f"select x.version_id, e.session_id, e.id, {UUID_OF_EVENT}, e.tool_use_id, x.quote,"
        " (select at_ms from events where id = x.event_id)"
        f" from memory_evidence x left join events e on e.id = x.event_id and {EVENT_IN_SCOPE}"
        " where x.version_id in (select value from json_each(:ids)) order by x.version_id, x.event_id"
    )
    found: dict[int, list[tuple[str | None, dict[str, Any]]]] = {}
    for version_id, session_id, event_id, uuid, tool_use_id, quote, at_ms in db.execute(
        sql, {**bound(scope, now_ms), "ids": json.dumps(version_ids)}
    ):
        cited = {"event_id": event_id, "uuid": uuid, "tool_use_id": tool_use_id, "quote": quote, "at_ms": at_ms}
        found.setdefault(version_id, []).append((session_id, cited))
    return found
