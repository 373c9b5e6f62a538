"""Everything that makes up a memory, read whole and written whole, by addresses instead of row numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any

from pydantic import Field

from recorder.models import Channel, Event, EventKind, MemoryKind, Origin, Precision, Source, State, Trust
from recorder.store import events, indexes, policy, projects, sessions, vectors
from recorder.store.db import Connection

Ms = Annotated[int, Field(ge=-(2**53), le=2**53)]
Number = Annotated[int, Field(ge=-(2**31), le=2**31)]
Share = Annotated[float, Field(ge=0, le=1)]
Short = Annotated[str, Field(max_length=4_000)]
Words = Annotated[str, Field(max_length=200_000)]

STAND_IN = "i:"
"""How the key of an event begins that stands for one of another home, of which only the quote came along."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote and the event it stands in: the event's key, its record's uuid, what and when it was."""

    event: Short
    uuid: Short | None
    kind: EventKind
    at_ms: Ms
    session_id: Short
    quote: Words


@dataclass(frozen=True, slots=True)
class Version:
    """A row of `memory_versions`, with its evidence. Negative numbers are closed copies."""

    version: Number
    value: Words
    kind: MemoryKind
    trust: Trust
    origin: Origin
    channel: Channel
    source: Short
    tags: Annotated[list[Short], Field(max_length=100)]
    importance: Share
    confidence: Share
    occurred_ms: Ms
    valid_from_ms: Ms | None
    valid_from_precision: Precision | None
    valid_to_ms: Ms | None
    valid_to_precision: Precision | None
    expires_ms: Ms | None
    recorded_ms: Ms
    retired_ms: Ms | None
    evidence: list[Quote]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the history. In its content events are named by their keys."""

    version: Number | None
    action: Short
    channel: Channel
    actor: Short
    reason: Words | None
    at_ms: Ms
    content: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Address:
    """Where a memory stands."""

    namespace: Short
    key: Short


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory with all its versions and its whole history."""

    namespace: Short
    key: Short
    project: Short | None
    """The project whose scope holds it."""
    home_project: Short | None
    current: Number
    """The number of the version in force."""
    state: State
    hidden_ms: Ms | None
    hidden_by: Short | None
    suppressed_with: Address | None
    """What it was hidden with, in place of `hidden_by`."""
    created_ms: Ms
    pinned: bool
    access_count: Annotated[int, Field(ge=0, le=2**53)]
    versions: Annotated[list[Version], Field(min_length=1)]
    history: list[Line]

    @property
    def in_force(self) -> Version:
        return next(one for one in self.versions if one.version == self.current)


@dataclass(frozen=True, slots=True)
class Link:
    """A relation between two memories."""

    source: Address
    target: Address
    relation: Short
    created_ms: Ms
    actor: Short


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
        " select a.namespace, a.key, b.namespace, b.key, r.relation, r.created_ms, r.actor"
        " from relations r join exported a on a.id = r.from_id join exported b on b.id = r.to_id"
        " order by 1, 2, 3, 4, 5",
        (project_id,),
    )
    return [Link(Address(*row[:2]), Address(*row[2:4]), *row[4:]) for row in rows]


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


def write(db: Connection, entry: Entry) -> int:
    """Store a memory that is not there yet, as it was; its id. Runs inside the caller's transaction."""
    scope = projects.scope_id(db, entry.project or "user")
    db.execute(
        "insert into memories (namespace, key, scope_id, project_id, home_project_id, created_ms, pinned,"
        " access_count) values (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(entry.namespace, entry.key, scope, entry.project, entry.home_project),
            *(entry.created_ms, int(entry.pinned), entry.access_count),
        ),
    )
    memory_id = db.last_insert_rowid()
    bring_up(db, memory_id, entry)
    return memory_id


def bring_up(db: Connection, memory_id: int, entry: Entry) -> None:
    """Make a memory that is there what the entry says: versions and lines of its history are added, what was emptied
    since is empty here too. Runs inside the caller's transaction."""
    there = dict(db.execute("select version, id from memory_versions where memory_id = ?", (memory_id,)))
    for version in entry.versions:
        row = there.get(version.version)
        if row is None:
            row = there[version.version] = _insert_version(db, memory_id, entry.key, version)
        else:
            _amend_version(db, row, entry.key, version)
        _set_evidence(db, row, version, entry.project)
    db.execute(
        "update memories set namespace = ?, key = ?, version_id = ?, deleted_ms = ?, deleted_by = ?, state = ?"
        " where id = ?",
        (
            *(entry.namespace, entry.key, there[entry.current], entry.hidden_ms),
            *(_hidden_by(db, entry), entry.state.value, memory_id),
        ),
    )
    _set_history(db, memory_id, entry, there)


def settle_suppressed(db: Connection, memory_id: int, entry: Entry) -> None:
    """Name what the memory was hidden with, once that is in the store too."""
    if entry.suppressed_with is not None:
        db.execute("update memories set deleted_by = ? where id = ?", (_hidden_by(db, entry), memory_id))


def add_link(db: Connection, from_id: int, to_id: int, link: Link) -> bool:
    """Store a relation as it was. False when it was there."""
    db.execute(
        "insert into relations (from_id, to_id, relation, created_ms, actor) values (?, ?, ?, ?, ?)"
        " on conflict (from_id, to_id, relation) do nothing",
        (from_id, to_id, link.relation, link.created_ms, link.actor),
    )
    return bool(db.changes())


def add_quotes(db: Connection, version_id: int, quotes: Iterable[Quote], project_id: str | None) -> int:
    """Add evidence to a version; how much was new. Runs inside the caller's transaction."""
    added = 0
    for quote in quotes:
        db.execute(
            "insert or ignore into memory_evidence (version_id, event_id, quote, session_id) values (?, ?, ?, ?)",
            (version_id, event_of(db, quote, project_id), quote.quote, quote.session_id),
        )
        added += db.changes()
    return added


def event_of(db: Connection, quote: Quote, project_id: str | None) -> int:
    """The event a quote stands in; where it is not in this store, one that holds the quote alone and says whose it
    is."""
    known = events.id_of_key(db, quote.event)
    if known is not None:
        return known
    told = f"{quote.event}\n{quote.quote}"
    key = STAND_IN + sha256(told.encode("utf-8", "backslashreplace")).hexdigest()[:32]
    known = events.id_of_key(db, key)
    if known is not None:
        return known
    of = {"key": quote.event, "uuid": quote.uuid, "kind": quote.kind.value, "at_ms": quote.at_ms}
    event = Event(
        key=key,
        kind=EventKind.STATEMENT,
        session_id="gate",
        at_ms=quote.at_ms,
        source=Source.GATE,
        body={"text": quote.quote, "of": of},
        ref=key,
    )
    sessions.see(
        db,
        "gate",
        first_ms=quote.at_ms,
        last_ms=quote.at_ms,
        cwd=None,
        project_id=None,
        transcript_path=None,
        branch=None,
        hook_events=0,
    )
    # Words enter search with the memory; the quote would be the same once more.
    event_id = events.insert(
        db,
        event,
        project_id=project_id,
        scope_id=projects.scope_id(db, project_id or "user"),
        received_ms=quote.at_ms,
        excerpt="",
        narrow="",
        healed=False,
    )
    events.index(db, event_id - 1)
    events.sight_all(db, [(event_id, event, None)])
    return event_id


def _suppressed_with(db: Connection, hidden_by: str | None) -> Address | None:
    head, _, number = (hidden_by or "").partition(":")
    if head != "suppressed" or not number.isdecimal():
        return None
    for row in db.execute("select namespace, key from memories where id = ?", (int(number),)):
        return Address(*row)
    return None


def _hidden_by(db: Connection, entry: Entry) -> str | None:
    if entry.suppressed_with is None:
        return entry.hidden_by
    found = id_at(db, entry.suppressed_with.namespace, entry.suppressed_with.key)
    return f"suppressed:{found or ''}"


_VERSION = (
    "version, value, kind, trust, origin, channel, source, tags, importance, confidence, occurred_ms, valid_from_ms,"
    " valid_from_precision, valid_to_ms, valid_to_precision, expires_ms, recorded_ms, retired_ms"
)


def _versions(db: Connection, memory_id: int) -> list[Version]:
    rows = list(db.execute(f"select {_VERSION}, id from memory_versions where memory_id = ? order by id", (memory_id,)))
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
            content=_renamed(content, by_id.get),
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


def _renamed(content: str | dict[str, Any] | None, name: Callable[[object], object]) -> dict[str, Any] | None:
    """The content of a history line with its events under another name; those without one are left out."""
    found = json.loads(content) if isinstance(content, str) else content
    if not isinstance(found, dict):
        return None
    named = found.get("events")
    if not isinstance(named, list):
        return found
    kept = [name(one) for one in named if isinstance(one, int | str)]
    return found | {"events": [one for one in kept if one is not None]}


def _insert_version(db: Connection, memory_id: int, key: str, version: Version) -> int:
    tags = json.dumps(version.tags, ensure_ascii=False)
    marks = ", ".join("?" * 19)
    db.execute(
        f"insert into memory_versions (memory_id, {_VERSION}) values ({marks})",
        (
            *(memory_id, version.version, version.value, version.kind.value, version.trust.value),
            *(version.origin.value, version.channel.value, version.source, tags),
            *(version.importance, version.confidence, version.occurred_ms),
            *(version.valid_from_ms, version.valid_from_precision, version.valid_to_ms, version.valid_to_precision),
            *(version.expires_ms, version.recorded_ms, version.retired_ms),
        ),
    )
    version_id = db.last_insert_rowid()
    indexes.index_version(db, version_id, key, version.value, tags)
    events.queue_vector(db, "memory", version_id, version.recorded_ms)
    return version_id


def _amend_version(db: Connection, version_id: int, key: str, version: Version) -> None:
    tags = json.dumps(version.tags, ensure_ascii=False)
    db.execute(
        "update memory_versions set value = ?, source = ?, tags = ?, retired_ms = ?, expires_ms = ? where id = ?"
        " and (value, source, tags, retired_ms, expires_ms) is not (?1, ?2, ?3, ?4, ?5)",
        (version.value, version.source, tags, version.retired_ms, version.expires_ms, version_id),
    )
    if db.changes():
        indexes.unindex_version(db, version_id)
        indexes.index_version(db, version_id, key, version.value, tags)
        vectors.drop_owner(db, "memory", [version_id])
        events.queue_vector(db, "memory", version_id, version.recorded_ms)


def _set_evidence(db: Connection, version_id: int, version: Version, project_id: str | None) -> None:
    kept = [[event_of(db, quote, project_id), quote.quote] for quote in version.evidence]
    db.execute(
        "delete from memory_evidence where version_id = ? and not exists (select 1 from json_each(?) j"
        " where j.value ->> 0 = memory_evidence.event_id and j.value ->> 1 = memory_evidence.quote)",
        (version_id, json.dumps(kept)),
    )
    add_quotes(db, version_id, version.evidence, project_id)


def _set_history(db: Connection, memory_id: int, entry: Entry, by_number: dict[int, int]) -> None:
    keys: dict[object, object] = {}
    for version in entry.versions:
        for quote in version.evidence:
            keys.setdefault(quote.event, event_of(db, quote, entry.project))
    there = list(
        db.execute("select id, at_ms, action, actor from memory_history where memory_id = ? order by id", (memory_id,))
    )
    for number, line in enumerate(entry.history):
        renamed = _renamed(line.content, keys.get)
        content = None if renamed is None else json.dumps(renamed, ensure_ascii=True)
        if number < len(there) and there[number][1:] == (line.at_ms, line.action, line.actor):
            db.execute(
                "update memory_history set content = ?, reason = ? where id = ?",
                (content, line.reason, there[number][0]),
            )
            continue
        version_id = by_number.get(line.version) if line.version is not None else None
        db.execute(
            "insert into memory_history (memory_id, version_id, action, channel, actor, reason, at_ms, content)"
            " values (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(memory_id, version_id, line.action, line.channel.value),
                *(line.actor, line.reason, line.at_ms, content),
            ),
        )


def tail(longer: Sequence[Line], shorter: Sequence[Line]) -> list[Line]:
    """What one history has beyond what it has in common with the other."""
    common = 0
    for one, other in zip(longer, shorter, strict=False):
        if (one.at_ms, one.action, one.actor) != (other.at_ms, other.action, other.actor):
            break
        common += 1
    return list(longer[common:])
