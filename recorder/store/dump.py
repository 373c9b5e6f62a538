"""A memory read whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from recorder.models import Channel, EventKind, MemoryKind, Origin, Precision, State, Trust
from recorder.store import events, policy
from recorder.store.db import Connection
from recorder.store.entries import Address, Entry, Line, Link, Quote, Version

STAND_IN = "i:"
"""How the key of an event begins that stands for one of another home, of which only the quote came along."""
VERSION = (
    "version, value, kind, trust, origin, channel, source, tags, importance, confidence, occurred_ms, valid_from_ms,"
    " valid_from_precision, valid_to_ms, valid_to_precision, expires_ms, recorded_ms, retired_ms"
)
"""Columns of a version, in the order they are read and written."""


def ids(db: Connection, project_id: str | None = None) -> list[int]:
    """The memories an export holds, of one project or of everywhere, by their addresses."""
    rows = db.execute(
        "select m.id from memories m join memory_versions v on v.id = m.version_id"
        f" where {policy.condition('export')} and (?1 is null or m.project_id = ?1) order by m.namespace, m.key",
        (project_id,),
    )
    return [row[0] for row in rows]


def read(db: Connection, memory_id: int) -> Entry:
    """A memory as it stands in the store."""
    row = next(
        iter(
            db.execute(
                "select m.namespace, m.key, m.project_id, m.home_project_id, v.version, m.state, m.deleted_ms,"
                " m.deleted_by, m.created_ms, m.pinned, m.access_count from memories m"
                " join memory_versions v on v.id = m.version_id where m.id = ?",
                (memory_id,),
            )
        )
    )
    with_whom = _suppressed_with(db, row[7])
    return Entry(
        namespace=row[0],
        key=row[1],
        project=row[2],
        home_project=row[3],
        current=row[4],
        state=State(row[5]),
        hidden_ms=row[6],
        hidden_by=None if with_whom else row[7],
        suppressed_with=with_whom,
        created_ms=row[8],
        pinned=bool(row[9]),
        access_count=row[10],
        versions=_versions(db, memory_id),
        history=read_history(db, memory_id),
    )


def links(db: Connection, project_id: str | None = None) -> list[Link]:
    """The relations between what an export holds."""
    exported = (
        "select m.id, m.namespace, m.key from memories m join memory_versions v on v.id = m.version_id"
        f" where {policy.condition('export')} and (?1 is null or m.project_id = ?1)"
    )
    rows = db.execute(
        f"with exported as ({exported})"
        " select a.namespace, a.key, b.namespace, b.key, r.relation, r.created_ms, r.actor, r.channel"
        " from relations r join exported a on a.id = r.from_id join exported b on b.id = r.to_id"
        " order by 1, 2, 3, 4, 5",
        (project_id,),
    )
    return [Link(Address(*row[:2]), Address(*row[2:4]), row[4], row[5], row[6], Channel(row[7])) for row in rows]


def id_at(db: Connection, namespace: str, key: str) -> int | None:
    """The memory at an address, in whatever state."""
    for (found,) in db.execute("select id from memories where namespace = ? and key = ?", (namespace, key)):
        return int(found)
    return None


def hidden_values(db: Connection) -> list[tuple[str, str]]:
    """(key, value) of everything that is hidden or rejected."""
    return list(
        db.execute(
            "select m.key, v.value from memories m join memory_versions v on v.id = m.version_id"
            " where m.state <> 'active' or v.trust = 'rejected'"
        )
    )


def is_fresh(db: Connection) -> bool:
    """Whether nobody has remembered, rejected or forgotten anything here yet."""
    return not any(
        list(db.execute(f"select 1 from {table} limit 1")) for table in ("memories", "tombstones", "deny_rules")
    )


def _suppressed_with(db: Connection, hidden_by: str | None) -> Address | None:
    head, _, number = (hidden_by or "").partition(":")
    if head != "suppressed" or not number.isdecimal():
        return None
    for row in db.execute("select namespace, key from memories where id = ?", (int(number),)):
        return Address(*row)
    return None


def _versions(db: Connection, memory_id: int) -> list[Version]:
    rows = list(db.execute(f"select {VERSION}, id from memory_versions where memory_id = ? order by id", (memory_id,)))
    return [
        Version(
            version=row[0],
            value=row[1],
            kind=MemoryKind(row[2]),
            trust=Trust(row[3]),
            origin=Origin(row[4]),
            channel=Channel(row[5]),
            source=row[6],
            tags=json.loads(row[7]),
            importance=row[8],
            confidence=row[9],
            occurred_ms=row[10],
            valid_from_ms=row[11],
            valid_from_precision=Precision(row[12]) if row[12] else None,
            valid_to_ms=row[13],
            valid_to_precision=Precision(row[14]) if row[14] else None,
            expires_ms=row[15],
            recorded_ms=row[16],
            retired_ms=row[17],
            evidence=_quotes(db, row[18]),
        )
        for row in rows
    ]


def _quotes(db: Connection, version_id: int) -> list[Quote]:
    rows = db.execute(
        "select e.key, (select s.uuid from sightings s where s.event_id = e.id and s.uuid is not null order by s.id"
        " limit 1), e.kind, e.at_ms, x.session_id, x.quote, e.body, e.codec, e.excerpt"
        " from memory_evidence x join events e on e.id = x.event_id where x.version_id = ? order by e.id, x.quote",
        (version_id,),
    )
    found = []
    for key, uuid, kind, at_ms, session_id, quote, body, codec, excerpt in rows:
        of = events.decode(body, codec, excerpt).get("of") if key.startswith(STAND_IN) else None
        if isinstance(of, dict):
            key, uuid, kind, at_ms = of["key"], of["uuid"], of["kind"], of["at_ms"]
        found.append(Quote(key, uuid, EventKind(kind), at_ms, session_id, quote))
    return sorted(found, key=lambda one: (one.at_ms, one.event, one.quote))


def read_history(db: Connection, memory_id: int) -> list[Line]:
    """The history of a memory, the oldest line first."""
    rows = list(
        db.execute(
            "select v.version, h.action, h.channel, h.actor, h.reason, h.at_ms, h.content from memory_history h"
            " left join memory_versions v on v.id = h.version_id where h.memory_id = ? order by h.id",
            (memory_id,),
        )
    )
    by_id = _event_keys(db, memory_id)
    return [
        Line(
            version=version,
            action=action,
            channel=Channel(channel),
            actor=actor,
            reason=reason,
            at_ms=at_ms,
            content=renamed(content, by_id.get),
        )
        for version, action, channel, actor, reason, at_ms, content in rows
    ]


def _event_keys(db: Connection, memory_id: int) -> dict[object, object]:
    """Event → key, of what the memory's versions cite."""
    rows = db.execute(
        "select distinct e.id, e.key, e.body, e.codec, e.excerpt from memory_versions v"
        " join memory_evidence x on x.version_id = v.id join events e on e.id = x.event_id where v.memory_id = ?",
        (memory_id,),
    )
    found: dict[object, object] = {}
    for event_id, key, body, codec, excerpt in rows:
        of = events.decode(body, codec, excerpt).get("of") if key.startswith(STAND_IN) else None
        found[event_id] = of["key"] if isinstance(of, dict) else key
    return found


def renamed(content: str | dict[str, Any] | None, name: Callable[[object], object]) -> dict[str, Any] | None:
    """The content of a history line with its events under another name; those without one are left out."""
    found = json.loads(content) if isinstance(content, str) else content
    if not isinstance(found, dict):
        return None
    named = found.get("events")
    if not isinstance(named, list):
        return found
    kept = [name(one) for one in named if isinstance(one, int | str)]
    return found | {"events": [one for one in kept if one is not None]}
