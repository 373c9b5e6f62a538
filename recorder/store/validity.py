"""Which version of a memory holds when."""

from __future__ import annotations

from recorder.models import Memory, Precision
from recorder.store import events, indexes, memories, policy
from recorder.store.db import Connection

_HOLDING = policy.holding(":now_ms")

_KEPT = (
    "value, kind, trust, origin, channel, source, tags, importance, confidence, occurred_ms, expires_ms, memory_id,"
    " version"
)


def keep_part(
    db: Connection,
    version_id: int,
    begins: tuple[int | None, Precision | None],
    ends: tuple[int | None, Precision | None],
    *,
    now_ms: int,
) -> int:
    """Keep that a version holds from one moment to another: the same words once more, on the same evidence, believed
    from now on; its id.

    The version itself stays as it was recorded. What is past is numbered below zero, by the number of its version where
    that is free; what holds or will hold may be the one that stands, and has the next number.
    """
    *kept, memory_id, number = next(
        iter(db.execute(f"select {_KEPT} from memory_versions where id = ?", (version_id,)))
    )
    past = ends[0] is not None and ends[0] <= now_ms
    db.execute(
        "insert into memory_versions (value, kind, trust, origin, channel, source, tags, importance, confidence,"
        " occurred_ms, expires_ms, memory_id, version, valid_from_ms, valid_from_precision, valid_to_ms,"
        " valid_to_precision, recorded_ms) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*kept, memory_id, _number(db, memory_id, number, past=past), *begins, *ends, now_ms),
    )
    part = db.last_insert_rowid()
    key = next(iter(db.execute("select key from memories where id = ?", (memory_id,))))[0]
    indexes.index_version(db, part, key, kept[0], kept[6])
    events.queue_vector(db, "memory", part, now_ms)
    quotes = list(
        # A quote of an event that is gone, as an old accident may have left it, cannot be written again.
        db.execute(
            "select x.event_id, x.quote, x.session_id from memory_evidence x join events e on e.id = x.event_id"
            " where x.version_id = ?",
            (version_id,),
        )
    )
    memories.add_evidence(db, part, quotes)
    return part


def _number(db: Connection, memory_id: int, number: int, *, past: bool) -> int:
    lowest, highest = next(
        iter(db.execute("select min(version), max(version) from memory_versions where memory_id = ?", (memory_id,)))
    )
    if not past:
        return int(highest) + 1
    taken = db.execute("select 1 from memory_versions where memory_id = ? and version = ?", (memory_id, -abs(number)))
    return min(int(lowest), 0) - 1 if list(taken) else -abs(number)


def retire(db: Connection, version_id: int, now_ms: int) -> None:
    """No longer believe a version, from now on."""
    db.execute("update memory_versions set retired_ms = ? where id = ?", (now_ms, version_id))


def believed(db: Connection, memory_id: int) -> list[Memory]:
    """Every version of a memory that is believed, of whatever time, the oldest first; what was rejected is none."""
    rows = db.execute(
        f"select {memories.COLUMNS} from memories m join memory_versions v on v.memory_id = m.id"
        f" where m.id = ? and {policy.BELIEVED} and v.trust <> 'rejected' order by v.id",
        (memory_id,),
    )
    return [memories.of_row(row) for row in rows]


def coming(db: Connection, memory_id: int, now_ms: int) -> list[Memory]:
    """The versions of a memory that begin later, what nobody may recall left out, the first first."""
    rows = db.execute(
        f"select {memories.COLUMNS} from memories m join memory_versions v on v.memory_id = m.id where m.id = :id and"
        f" {policy.BELIEVED} and {policy.current('recall')} and v.valid_from_ms > :now_ms order by v.valid_from_ms",
        {"id": memory_id, "now_ms": now_ms},
    )
    return [memories.of_row(row) for row in rows]


def all_coming(db: Connection, scope: str | None, now_ms: int) -> list[Memory]:
    """The versions that begin later, of every memory of a scope row, or of all that are listed."""
    rows = db.execute(
        f"select {memories.COLUMNS} from memories m join memory_versions v on v.memory_id = m.id"
        f" where {policy.BELIEVED} and {policy.condition('list')} and v.valid_from_ms > :now_ms"
        " and v.id <> m.version_id"
        " and (:scope is null or m.scope_id = (select id from scopes where name = :scope)) order by v.id",
        {"scope": scope, "now_ms": now_ms},
    )
    return [memories.of_row(row) for row in rows]


def turn(db: Connection, memory_id: int, now_ms: int) -> bool:
    """Let the version that holds now be the one that stands. False when it does already, or none holds."""
    db.execute(
        f"update memories as m set version_id = {_HOLDING} where m.id = :id and m.version_id is not null"
        f" and m.version_id <> coalesce({_HOLDING}, m.version_id)",
        {"id": memory_id, "now_ms": now_ms},
    )
    return bool(db.changes())


def due(db: Connection, now_ms: int) -> list[int]:
    """The memories of which another version holds by now than the one that stands."""
    rows = db.execute(
        "select distinct m.id from memory_versions v join memories m on m.id = v.memory_id and m.version_id <> v.id"
        f" where {policy.MAY_STAND} and v.valid_from_ms > v.recorded_ms and {policy.in_force(':now_ms', ':now_ms')}"
        f" and m.version_id <> coalesce({_HOLDING}, m.version_id) order by m.id",
        {"now_ms": now_ms},
    )
    return [row[0] for row in rows]
