"""Rows and indexes without what is forgotten: `secure_delete` and FTS5's own make each delete leave no byte."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recorder.models import State
from recorder.store import claude_files, digests, events, memories, vectors
from recorder.store.db import Connection, checkpoint, rewrite, transaction
from recorder.store.denials import PURPOSE
from recorder.store.holding import Words, in_file
from recorder.store.texts import Sought
from recorder.store.upkeep import MB, size_bytes

EVENTS_A_STEP = 50
REWRITTEN_MB = 512
"""Up to this size the file is written anew in seconds; beyond it, only where that is needed."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """One wish to forget. `pending`: hidden, but not every byte has left the files yet."""

    id: int
    state: str
    reached: dict[str, int]
    unreached: tuple[str, ...]


def begin(
    db: Connection,
    subject: str,
    *,
    event_ids: Sequence[int],
    reached: dict[str, int],
    unreached: Sequence[str],
    actor: str,
    reason: str | None,
    now_ms: int,
) -> int:
    """Note what is left to do, by ids; of what it is about a keyed digest. The wish's id."""
    db.execute(
        "insert into forgets (asked_ms, actor, reason, reached, unreached, subject, events_left)"
        " values (?, ?, ?, ?, ?, ?, ?)",
        (
            now_ms,
            actor,
            reason,
            json.dumps(reached),
            json.dumps(list(unreached)),
            digests.of(db, PURPOSE, f"forget:{subject}", now_ms),
            json.dumps(list(event_ids)),
        ),
    )
    return db.last_insert_rowid()


def asked(db: Connection, subject: str) -> Forgotten | None:
    """The latest wish about this very thing."""
    known = json.dumps(list(digests.under_every_key(db, PURPOSE, [f"forget:{subject}"])))
    return _one(db, "subject in (select value from json_each(?)) order by id desc limit 1", known)


def get(db: Connection, forget_id: int) -> Forgotten | None:
    """One wish."""
    return _one(db, "id = ?", forget_id)


def pending(db: Connection) -> list[int]:
    """The wishes that are not done, the oldest first."""
    return [row[0] for row in db.execute("select id from forgets where state = 'pending' order by id")]


def finish(db: Connection, now_ms: int, sought: Words | None = None) -> int:
    """Erase what pending wishes left, in short transactions, and see that no byte of it stays in the file or its
    write-ahead log; how many are done now.

    Whoever has the database open for reading keeps the log from being cut: then they stay pending. The file is written
    anew, except where it is large and whoever still knows the words sees that none is left.
    """
    waiting = pending(db)
    for forget_id in waiting:
        while _step(db, forget_id):
            pass
    if not waiting or not checkpoint(db):
        return 0
    seen_clean = sought is not None and size_bytes(db) > REWRITTEN_MB * MB and not in_file(db.filename, sought)
    if not seen_clean and not (rewrite(db) and checkpoint(db)):
        return 0
    with transaction(db):
        db.execute(
            "update forgets set state = 'done', done_ms = ? where state = 'pending' and events_left = '[]'"
            " and id in (select value from json_each(?))",
            (now_ms, json.dumps(waiting)),
        )
        return db.changes()


def _step(db: Connection, forget_id: int) -> bool:
    with transaction(db):
        rows = db.execute("select events_left from forgets where id = ?", (forget_id,))
        left = json.loads(next(iter(rows))[0])
        if not left:
            return False
        _erase_events(db, left[:EVENTS_A_STEP])
        db.execute("update forgets set events_left = ? where id = ?", (json.dumps(left[EVENTS_A_STEP:]), forget_id))
    return True


def blank_events(db: Connection, event_ids: Sequence[int]) -> None:
    """Let nobody find, read or cite these events any more; the rows themselves go a few at a time."""
    ids = json.dumps(list(event_ids))
    db.execute(
        "update sessions set title = null where id in (select e.session_id from json_each(?) j"
        " join events e on e.id = j.value where e.kind = 'title')",
        (ids,),
    )
    db.execute("delete from memory_evidence where event_id in (select value from json_each(?))", (ids,))
    db.execute("delete from embed_queue where owner = 'event' and owner_id in (select value from json_each(?))", (ids,))
    db.execute(
        "update events set scope_id = null, body = x'', codec = 'gone' where id in (select value from json_each(?))",
        (ids,),
    )


def _erase_events(db: Connection, event_ids: Sequence[int]) -> None:
    ids = json.dumps(list(event_ids))
    vectors.drop_owner(db, "event", event_ids)
    for table in ("memory_evidence", "files", "sightings"):
        db.execute(f"delete from {table} where event_id in (select value from json_each(?))", (ids,))
    events.keep_ids(db)
    db.execute("delete from events where id in (select value from json_each(?))", (ids,))


def erase_versions(db: Connection, version_ids: Sequence[int]) -> None:
    """Take versions of memories away, with their quotes, words and vectors; their history stays without content."""
    ids = json.dumps(list(version_ids))
    within = "(select value from json_each(?))"
    vectors.drop_owner(db, "memory", version_ids)
    db.execute(f"delete from memory_evidence where version_id in {within}", (ids,))
    db.execute(f"delete from memory_words where rowid in {within}", (ids,))
    db.execute(f"delete from memory_trigrams where rowid in {within}", (ids,))
    # Its number may be given to another version one day.
    db.execute(f"update memory_history set version_id = null, content = null where version_id in {within}", (ids,))
    db.execute(f"delete from memory_versions where id in {within}", (ids,))


def erase_memory(db: Connection, memory_id: int, by: str, now_ms: int) -> None:
    """Leave of a memory that it was there and who did what when: no key, no version, no link, no finding."""
    of_memory = "select id from memory_versions where memory_id = ?"
    erase_versions(db, [row[0] for row in db.execute(of_memory, (memory_id,))])
    memories.set_state(db, memory_id, State.FORGOTTEN, now_ms, by)
    claude_files.forget(db, memory_id)
    db.execute(
        "update memories set key = 'forgotten-' || id || (select case when exists (select 1 from memories o"
        " where o.namespace = memories.namespace and o.key = 'forgotten-' || memories.id and o.id <> memories.id)"
        " then '-' || ?2 else '' end), version_id = null, pinned = 0 where id = ?1",
        (memory_id, now_ms),
    )
    db.execute("update memory_history set content = null, version_id = null where memory_id = ?", (memory_id,))
    db.execute("delete from relations where from_id = ?1 or to_id = ?1", (memory_id,))
    db.execute("delete from memory_refs where memory_id = ?", (memory_id,))
    db.execute("delete from findings where memory_id = ?1 or other_id = ?1", (memory_id,))


def erase_findings(db: Connection, event_ids: Sequence[int], sought: Sought) -> int:
    """Take away the proposals that cite these events or hold one of the texts; how many."""
    cited = set(event_ids)
    gone = [
        finding_id
        for finding_id, proposal, reason in db.execute("select id, proposal, coalesce(reason, '') from findings")
        if sought.in_bytes(proposal.encode()) or sought.in_text(reason) or cited & _cited(json.loads(proposal))
    ]
    db.execute("delete from findings where id in (select value from json_each(?))", (json.dumps(gone),))
    return len(gone)


def places(db: Connection, event_ids: Sequence[int]) -> list[str]:
    """The transcripts these events stand in, as far as is known."""
    rows = db.execute(
        "select s.source, s.ref, t.transcript_path from json_each(?) j join sightings s on s.event_id = j.value"
        " left join sessions t on t.id = s.session_id",
        (json.dumps(list(event_ids)),),
    )
    found: set[str] = set()
    for source, ref, transcript in rows:
        if source in ("transcript", "backfill"):
            found.add(ref.rpartition(":")[0])
        elif source == "hook" and transcript:
            found.add(transcript)
    return sorted(found)


def kinds(db: Connection, event_ids: Sequence[int]) -> dict[str, int]:
    """Kind → how many of these events."""
    rows = db.execute(
        "select e.kind, count(*) from json_each(?) j join events e on e.id = j.value group by 1 order by 1",
        (json.dumps(list(event_ids)),),
    )
    return dict(rows)


def marks(db: Connection, event_ids: Sequence[int]) -> list[str]:
    """The uuids of the records these events were seen in."""
    rows = db.execute(
        "select distinct s.uuid from json_each(?) j join sightings s on s.event_id = j.value where s.uuid is not null",
        (json.dumps(list(event_ids)),),
    )
    return [row[0] for row in rows]


def _one(db: Connection, condition: str, value: object) -> Forgotten | None:
    for row in db.execute(f"select id, state, reached, unreached from forgets where {condition}", (value,)):
        return Forgotten(row[0], row[1], json.loads(row[2]), tuple(json.loads(row[3])))
    return None


def _cited(proposal: Any) -> set[int]:
    evidence = proposal.get("evidence", ()) if isinstance(proposal, dict) else ()
    return {one["event_id"] for one in evidence if isinstance(one, dict) and "event_id" in one}
