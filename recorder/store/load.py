"""A memory written whole, as it was in another database."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256

from recorder.models import Event, EventKind, Source
from recorder.store import dump, events, indexes, projects, statements, vectors
from recorder.store.db import Connection
from recorder.store.dump import STAND_IN, VERSION, id_at
from recorder.store.entries import Entry, Link, Quote, Version


def write(db: Connection, entry: Entry) -> int:
    """Store a memory that is not there yet, as it was; its id. Runs inside the caller's transaction."""
    # Of Claude's files whose project nobody knew there, nobody knows it here.
    undecided = entry.project is None and entry.namespace.startswith("claude.")
    scope = None if undecided else projects.scope_id(db, entry.project or "user")
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
    if undecided:
        db.execute(
            "update events set scope_id = null where kind = 'statement' and project_id is null and id in (select"
            " x.event_id from memory_evidence x join memory_versions v on v.id = x.version_id where v.memory_id = ?)",
            (memory_id,),
        )
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
        "insert into relations (from_id, to_id, relation, created_ms, actor, channel) values (?, ?, ?, ?, ?, ?)"
        " on conflict (from_id, to_id, relation) do nothing",
        (from_id, to_id, link.relation, link.created_ms, link.actor, link.channel.value),
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
    of = {"key": quote.event, "uuid": quote.uuid, "kind": quote.kind.value, "at_ms": quote.at_ms}
    event = Event(
        key=key,
        kind=EventKind.STATEMENT,
        session_id=statements.SESSION,
        at_ms=quote.at_ms,
        source=Source.GATE,
        body={"text": quote.quote, "of": of},
        ref=key,
    )
    scope_id = projects.scope_id(db, project_id or "user")
    return statements.keep(db, event, project_id=project_id, scope_id=scope_id)


def _hidden_by(db: Connection, entry: Entry) -> str | None:
    if entry.suppressed_with is None:
        return entry.hidden_by
    found = id_at(db, entry.suppressed_with.namespace, entry.suppressed_with.key)
    return f"suppressed:{found or ''}"


def _insert_version(db: Connection, memory_id: int, key: str, version: Version) -> int:
    tags = json.dumps(version.tags, ensure_ascii=False)
    marks = ", ".join("?" * 19)
    db.execute(
        f"insert into memory_versions (memory_id, {VERSION}) values ({marks})",
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
        renamed = dump.renamed(line.content, keys.get)
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
