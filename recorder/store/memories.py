"""Rows of memories, their versions, evidence, history and refs. Only the gate calls what writes."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from typing import Any

from recorder.models import (
    Channel,
    Memory,
    MemoryKind,
    Origin,
    Precision,
    Proposal,
    Scope,
    State,
    StoredEvent,
    Trust,
)
from recorder.store import events, indexes, policy
from recorder.store.db import Connection, DatabaseError, transaction

logger = logging.getLogger(__name__)

COLUMNS = (
    "m.id, v.id, v.version, m.namespace, m.key, v.value, v.kind, v.trust, v.origin, v.source, v.tags, v.importance,"
    " v.confidence, m.project_id, m.home_project_id, v.recorded_ms, v.valid_from_ms, v.valid_to_ms,"
    " m.deleted_ms is not null,"
    " (select count(distinct e.session_id) from memory_evidence e where e.version_id = v.id), m.access_count,"
    " m.state, v.valid_from_precision, v.valid_to_precision, v.expires_ms, m.pinned"
)
CURRENT = "from memories m join memory_versions v on v.id = m.version_id"

VISIBLE = policy.visible("?1")

# `m` is of Claude's files, and nobody knows of which project.
UNDECIDED = "m.scope_id is null and m.namespace like 'claude.%'"


def find(db: Connection, namespace: str, key: str, *, now_ms: int | None = None) -> Memory | None:
    """The memory at this address as it stands, deleted ones included; with `now_ms` what of it holds then, where any
    does."""
    rows = db.execute(
        f"select {COLUMNS} {_at(now_ms)} where m.namespace = :namespace and m.key = :key",
        {"namespace": namespace, "key": key, "now_ms": now_ms},
    )
    for row in rows:
        return of_row(row)
    return None


def _at(now_ms: int | None) -> str:
    if now_ms is None:
        return CURRENT
    return f"from memories m join memory_versions v on v.id = coalesce({policy.holding(':now_ms')}, m.version_id)"


def version(db: Connection, memory_id: int, number: int) -> Memory | None:
    """The memory as one of its versions had it."""
    rows = db.execute(
        f"select {COLUMNS} from memories m join memory_versions v on v.memory_id = m.id"
        " where m.id = ? and v.version = ?",
        (memory_id, number),
    )
    for row in rows:
        return of_row(row)
    return None


def believed(db: Connection, memory_id: int, *, as_of_ms: int, valid_at_ms: int | None = None) -> Memory | None:
    """The memory as it was believed at a time, whatever its trust; `valid_at_ms` asks for what held then."""
    rows = db.execute(
        f"select {COLUMNS} from memories m join memory_versions v on v.memory_id = m.id where m.id = :id"
        " and m.state <> 'forgotten' and v.recorded_ms <= :as_of and (v.retired_ms is null or v.retired_ms > :as_of)"
        f" and (:valid_at is null or {policy.in_force(':valid_at', ':as_of')})"
        f" order by {policy.in_force(':as_of', ':as_of')} desc, v.version > 0 desc, v.recorded_ms desc, v.id desc"
        " limit 1",
        {"id": memory_id, "as_of": as_of_ms, "valid_at": valid_at_ms},
    )
    for row in rows:
        return of_row(row)
    return None


def note_read(db: Connection, ids: Sequence[int], who: str, session_id: str | None, now_ms: int) -> bool:
    """Note who read these; False where the store cannot be written, for an answer is worth more than the note of it."""
    try:
        with transaction(db):
            for memory_id in ids:
                note_ref(db, memory_id, "read", who, session_id, now_ms)
    except DatabaseError as error:
        logger.warning("who read %s was not noted: %s", ids, type(error).__name__)
        return False
    return True


def refs(db: Connection, memory_id: int, *, limit: int = 100) -> list[dict[str, Any]]:
    """Who was shown, read or used the memory, the latest first."""
    rows = db.execute(
        "select at_ms, how, who, session_id from memory_refs where memory_id = ? order by id desc limit ?",
        (memory_id, limit),
    )
    return [dict(zip(("at_ms", "how", "who", "session_id"), row, strict=True)) for row in rows]


def get(db: Connection, ids: Sequence[int], *, now_ms: int | None = None) -> list[Memory]:
    """The memories with these ids as they stand, in the order asked for; unknown ids are left out. `now_ms`: see
    `find`."""
    rows = db.execute(
        f"select {COLUMNS} {_at(now_ms)} where m.id in (select value from json_each(:ids))",
        {"ids": json.dumps(list(ids)), "now_ms": now_ms},
    )
    found = {row[0]: of_row(row) for row in rows}
    return [found[i] for i in ids if i in found]


def visible(db: Connection, memory: Memory, scope: Scope) -> bool:
    """Whether the caller may see the memory whose address it names."""
    rows = db.execute(
        f"select 1 {CURRENT} where m.id = ?2 and ({VISIBLE} or (?3 and ({UNDECIDED} or m.home_project_id = '')))",
        (scope.project_id, memory.id, scope.undecided),
    )
    return bool(list(rows))


def listing(
    db: Connection,
    scope: Scope,
    *,
    namespace: str | None = None,
    kind: str | None = None,
    trust: str | None = None,
    tag: str | None = None,
    deleted: bool = False,
    undecided: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> list[Memory]:
    """Memories visible in the scope, the latest first; or `undecided` ones, which belong to none. `namespace` matches
    itself and what lies below it. Rejected ones only where they are asked for by their trust."""
    read = "hidden" if deleted else "rejected" if trust == Trust.REJECTED else "list"
    rows = db.execute(
        f"select {COLUMNS} {CURRENT} where {UNDECIDED if undecided else VISIBLE}"
        " and (?2 is null or m.namespace = ?2 or substr(m.namespace, 1, length(?2) + 1) = ?2 || '.')"
        " and (?3 is null or v.kind = ?3) and (?4 is null or v.trust = ?4)"
        " and (?5 is null or exists (select 1 from json_each(v.tags) t where t.value = ?5))"
        f" and {policy.condition(read)} order by v.recorded_ms desc, m.id desc limit ?6 offset ?7",
        (scope.project_id, namespace, kind, trust, tag, limit, offset),
    )
    return [of_row(row) for row in rows]


def of_project(db: Connection, project_id: str) -> list[Memory]:
    """Every memory of a project, hidden ones included, the oldest first."""
    rows = db.execute(
        f"select {COLUMNS} {CURRENT} where m.project_id = ? and {policy.condition('address')} order by m.id",
        (project_id,),
    )
    return [of_row(row) for row in rows]


def standing(db: Connection, scope: str | None) -> list[tuple[int, str]]:
    """(id, value) of every memory of a scope row, or of all of them, that is listed: neither hidden nor rejected."""
    return list(
        db.execute(
            f"select m.id, v.value {CURRENT} where {policy.condition('list')}"
            " and (?1 is null or m.scope_id = (select id from scopes where name = ?1)) order by m.id",
            (scope,),
        )
    )


def counts(db: Connection, scope: Scope) -> list[tuple[str, str, str, int]]:
    """(namespace, kind, trust, how many) of what is visible and not deleted."""
    return list(
        db.execute(
            f"select m.namespace, v.kind, v.trust, count(*) {CURRENT} where {VISIBLE} and m.deleted_ms is null"
            " group by 1, 2, 3 order by 1, 2, 3",
            (scope.project_id,),
        )
    )


def evidence(db: Connection, version_id: int) -> list[tuple[StoredEvent, str]]:
    """(event, verbatim quote) of everything a version stands on, oldest first."""
    rows = list(
        db.execute("select event_id, quote from memory_evidence where version_id = ? order by event_id", (version_id,))
    )
    by_id = {event.id: event for event in events.get(db, [row[0] for row in rows])}
    return [(by_id[event_id], quote) for event_id, quote in rows if event_id in by_id]


def history(db: Connection, memory_id: int) -> list[dict[str, Any]]:
    """Every revision, oldest first: version, value, trust, who, why, when; and when what it says holds."""
    rows = db.execute(
        "select h.at_ms, h.action, h.channel, h.actor, h.reason, v.version, v.value, v.trust, v.valid_from_ms,"
        " v.valid_from_precision, v.valid_to_ms, v.valid_to_precision, h.content"
        " from memory_history h left join memory_versions v on v.id = h.version_id where h.memory_id = ? order by h.id",
        (memory_id,),
    )
    names = (
        *("at_ms", "action", "channel", "actor", "reason", "version", "value", "trust"),
        *("valid_from_ms", "valid_from_precision", "valid_to_ms", "valid_to_precision"),
    )
    return [dict(zip(names, row[:-1], strict=True)) | json.loads(row[-1] or "{}") for row in rows]


def versions(db: Connection, memory_id: int) -> list[int]:
    """Ids of every version there is, closed ones included."""
    rows = db.execute("select id from memory_versions where memory_id = ? order by id", (memory_id,))
    return [row[0] for row in rows]


def last_version(db: Connection) -> int:
    """The id of the newest version of any memory, or 0."""
    return int(next(iter(db.execute("select coalesce(max(id), 0) from memory_versions")))[0])


def ever_said(db: Connection, memory_id: int) -> tuple[list[str], list[tuple[int, str]]]:
    """(values, (event, quote) of the evidence) of all versions, each once."""
    values = db.execute("select distinct value from memory_versions where memory_id = ? order by id", (memory_id,))
    quotes = db.execute(
        "select distinct x.event_id, x.quote from memory_versions v join memory_evidence x on x.version_id = v.id"
        " where v.memory_id = ?",
        (memory_id,),
    )
    return [value for (value,) in values], list(quotes)


def stands_above(db: Connection, text: str, *, but: int) -> bool:
    """Whether the value of another memory begins with this paragraph."""
    rows = db.execute(
        "select 1 from memory_versions where memory_id <> ?2 and substr(value, 1, length(?1) + 2) = ?1 || char(10, 10)"
        " limit 1",
        (text, but),
    )
    return bool(list(rows))


def channel_of(db: Connection, version_id: int) -> Channel:
    """The door a version came through."""
    for (name,) in db.execute("select channel from memory_versions where id = ?", (version_id,)):
        return Channel(name)
    raise LookupError(version_id)


def written_by(db: Connection, version_id: int) -> str:
    """Who wrote a version; "person" where the history does not tell."""
    for (actor,) in db.execute(
        "select actor from memory_history where version_id = ? order by id limit 1", (version_id,)
    ):
        return str(actor)
    return "person"


def occurred_ms(db: Connection, version_id: int) -> int:
    """When what a version says was said or seen."""
    for (at,) in db.execute("select occurred_ms from memory_versions where id = ?", (version_id,)):
        return int(at)
    raise LookupError(version_id)


def create(
    db: Connection,
    proposal: Proposal,
    *,
    scope_id: int | None,
    project_id: str | None,
    home_project_id: str | None,
    now_ms: int,
) -> int:
    """A new address with no version yet; its id."""
    db.execute(
        "insert into memories (namespace, key, scope_id, project_id, home_project_id, created_ms)"
        " values (?, ?, ?, ?, ?, ?)",
        (proposal.namespace, proposal.key, scope_id, project_id, home_project_id, now_ms),
    )
    return db.last_insert_rowid()


def add_version(
    db: Connection, memory_id: int, proposal: Proposal, *, trust: Trust, channel: Channel, now_ms: int
) -> int:
    """Make the proposal the memory's current version and retire the one before; its id."""
    old, state = next(iter(db.execute("select version_id, state from memories where id = ?", (memory_id,))))
    number = next(
        iter(db.execute("select coalesce(max(version), 0) from memory_versions where memory_id = ?", (memory_id,)))
    )[0]
    version_id = _insert_version(db, memory_id, number + 1, proposal, trust=trust, channel=channel, now_ms=now_ms)
    if old is not None:
        db.execute("update memory_versions set retired_ms = ? where id = ?", (now_ms, old))
    db.execute("update memories set version_id = ? where id = ?", (version_id, memory_id))
    if state != State.ACTIVE:
        set_state(db, memory_id, State.ACTIVE, None, None)
    return version_id


def retire_all(db: Connection, memory_id: int, value: str, now_ms: int) -> None:
    """No longer believe any version with this value, closed ones included."""
    db.execute(
        "update memory_versions set retired_ms = ? where memory_id = ? and value = ? and retired_ms is null",
        (now_ms, memory_id, value),
    )


def _insert_version(
    db: Connection, memory_id: int, number: int, proposal: Proposal, *, trust: Trust, channel: Channel, now_ms: int
) -> int:
    tags = json.dumps(list(proposal.tags), ensure_ascii=False)
    db.execute(
        "insert into memory_versions (memory_id, version, value, kind, trust, origin, channel, source, tags,"
        " importance, confidence, occurred_ms, valid_from_ms, valid_to_ms, recorded_ms, valid_from_precision,"
        " valid_to_precision, expires_ms) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            memory_id,
            number,
            proposal.value,
            proposal.kind.value,
            trust.value,
            proposal.origin.value,
            channel.value,
            proposal.source,
            tags,
            proposal.importance,
            proposal.confidence,
            proposal.occurred_ms if proposal.occurred_ms is not None else now_ms,
            proposal.valid_from_ms,
            proposal.valid_to_ms,
            now_ms,
            proposal.valid_from_precision,
            proposal.valid_to_precision,
            proposal.expires_ms,
        ),
    )
    version_id = db.last_insert_rowid()
    indexes.index_version(db, version_id, proposal.key, proposal.value, tags)
    events.queue_vector(db, "memory", version_id, now_ms)
    return version_id


def add_evidence(db: Connection, version_id: int, found: Iterable[tuple[int, str, str]]) -> int:
    """Note (event, quote, session) under a version; how many were new."""
    before = db.total_changes()
    db.executemany(
        "insert or ignore into memory_evidence (version_id, event_id, quote, session_id) values (?, ?, ?, ?)",
        [(version_id, *row) for row in found],
    )
    return db.total_changes() - before


def sessions_of(db: Connection, version_id: int) -> int:
    """In how many distinct sessions a version was seen to hold: what somebody merely said does not count."""
    rows = db.execute(
        "select count(distinct x.session_id) from memory_evidence x join events e on e.id = x.event_id"
        " where x.version_id = ? and e.kind = 'tool_call'",
        (version_id,),
    )
    return int(next(iter(rows))[0])


def set_state(db: Connection, memory_id: int, state: State, now_ms: int | None, by: str | None) -> None:
    """Hide the memory with the reason, since when and by whom; or show it again."""
    hidden_ms = None if state is State.ACTIVE else now_ms
    db.execute(
        "update memories set state = ?, deleted_ms = ?, deleted_by = ? where id = ?",
        (state.value, hidden_ms, None if state is State.ACTIVE else by, memory_id),
    )


def hidden_by(db: Connection, by: str) -> list[int]:
    """The memories that somebody, or something, hid."""
    return [row[0] for row in db.execute("select id from memories where deleted_by = ? order by id", (by,))]


def had(db: Connection, memory_id: int, value: str, event_ids: Sequence[int]) -> bool:
    """Whether an earlier version had this very value from these very events: a turn is distilled again at times."""
    rows = db.execute(
        "select v.id from memory_versions v where v.memory_id = ? and v.value = ? and v.retired_ms is not null"
        " and not exists (select 1 from json_each(?) j where not exists"
        " (select 1 from memory_evidence x where x.version_id = v.id and x.event_id = j.value)) limit 1",
        (memory_id, value, json.dumps(list(event_ids))),
    )
    return bool(list(rows))


def deleted_ms(db: Connection, memory_id: int) -> int:
    """When the memory was hidden; 0 when it is not."""
    for (at,) in db.execute("select deleted_ms from memories where id = ?", (memory_id,)):
        return int(at or 0)
    return 0


def deleted_by(db: Connection, memory_id: int) -> str | None:
    """The channel that hid the memory."""
    for (by,) in db.execute("select deleted_by from memories where id = ?", (memory_id,)):
        return None if by is None else str(by)
    return None


def pinned(db: Connection, memory_id: int) -> bool:
    """Whether a person lets the memory go first."""
    return bool(list(db.execute("select 1 from memories where id = ? and pinned = 1", (memory_id,))))


def touched(db: Connection, memory_id: int) -> bool:
    """Whether a person ever did something to the memory: wrote, approved, pinned, deleted or restored it."""
    rows = db.execute("select 1 from memory_history where memory_id = ? and channel = 'person' limit 1", (memory_id,))
    return bool(list(rows))


def give(db: Connection, memory_id: int, project_id: str, scope_id: int) -> None:
    """Let a memory without a scope, what was said for it and what waits about it, be the project's."""
    given = {"id": memory_id, "project": project_id, "scope": scope_id}
    db.execute("update memories set project_id = :project, scope_id = :scope where id = :id", given)
    db.execute(
        "update findings set project_id = :project where memory_id = :id and coalesce(project_id, '') = ''", given
    )
    db.execute(
        "update events set project_id = :project, scope_id = :scope where kind = 'statement' and scope_id is null"
        " and id in (select x.event_id from memory_evidence x join memory_versions v on v.id = x.version_id"
        " where v.memory_id = :id)",
        given,
    )


def set_pinned(db: Connection, memory_id: int, pinned: bool) -> None:
    """Let the memory go first in the brief."""
    db.execute("update memories set pinned = ? where id = ?", (int(pinned), memory_id))


def add_history(
    db: Connection,
    memory_id: int,
    version_id: int | None,
    *,
    action: str,
    channel: Channel,
    actor: str,
    reason: str | None,
    now_ms: int,
    content: object = None,
) -> None:
    """One more line of the memory's history."""
    db.execute(
        "insert into memory_history (memory_id, version_id, action, channel, actor, reason, at_ms, content)"
        " values (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            memory_id,
            version_id,
            action,
            channel.value,
            actor,
            reason,
            now_ms,
            None if content is None else json.dumps(content, ensure_ascii=True),
        ),
    )


def note_ref(db: Connection, memory_id: int, how: str, who: str, session_id: str | None, now_ms: int) -> None:
    """Note that somebody was shown, read or used the memory."""
    db.execute(
        "insert into memory_refs (memory_id, how, who, session_id, at_ms) values (?, ?, ?, ?, ?)",
        (memory_id, how, who, session_id, now_ms),
    )
    if how == "read":
        db.execute("update memories set access_count = access_count + 1 where id = ?", (memory_id,))


def note_used(db: Connection, ids: Iterable[int], session_id: str, turn: str, now_ms: int) -> int:
    """Note that a turn used those of these memories that its session was shown or read; once each, and how many.

    Runs inside the caller's transaction.
    """
    db.execute(
        "insert into memory_refs (memory_id, how, who, session_id, at_ms)"
        " select m.id, 'used', ?2, ?3, ?4 from json_each(?1) j join memories m on m.id = j.value where exists"
        " (select 1 from memory_refs r where r.memory_id = m.id and r.session_id = ?3 and r.how in ('shown', 'read'))"
        " and not exists (select 1 from memory_refs r"
        " where r.memory_id = m.id and r.session_id = ?3 and r.how = 'used' and r.who = ?2)",
        (json.dumps(sorted(ids)), f"turn:{turn}", session_id, now_ms),
    )
    return db.changes()


def for_brief(db: Connection, project_id: str | None, now_ms: int) -> list[Memory]:
    """What a brief may say, most weighty first, in an order that does not change by itself."""
    rows = db.execute(
        f"select {COLUMNS} from memories m join memory_versions v on v.memory_id = m.id"
        f" where {VISIBLE} and {policy.MAY_STAND} and {policy.condition('brief', '?2')}"
        " order by m.pinned desc, v.importance desc, case v.kind when 'preference' then 0 when 'procedural' then 1"
        " when 'semantic' then 2 else 3 end, m.namespace, m.key",
        (project_id, now_ms),
    )
    return [of_row(row) for row in rows]


def of_row(row: tuple[Any, ...]) -> Memory:
    """The memory in a row of `COLUMNS`."""
    return Memory(
        id=row[0],
        version_id=row[1],
        version=row[2],
        namespace=row[3],
        key=row[4],
        value=row[5],
        kind=MemoryKind(row[6]),
        trust=Trust(row[7]),
        origin=Origin(row[8]),
        source=row[9],
        tags=tuple(json.loads(row[10])),
        importance=row[11],
        confidence=row[12],
        project_id=row[13],
        home_project_id=row[14],
        recorded_ms=row[15],
        valid_from_ms=row[16],
        valid_to_ms=row[17],
        deleted=bool(row[18]),
        sessions=row[19],
        access_count=row[20],
        state=State(row[21]),
        valid_from_precision=Precision(row[22]) if row[22] else None,
        valid_to_precision=Precision(row[23]) if row[23] else None,
        expires_ms=row[24],
        pinned=bool(row[25]),
    )
