"""What a person decided, carried from the database that is to the older one that takes its place."""

from __future__ import annotations

import json
from collections import Counter

from recorder.models import State
from recorder.store import audit as chain
from recorder.store import decisions, denials, dump, entries, erase, events, load, purging, retold, texts
from recorder.store.db import Connection

HIDING = ("deleted", "suppressed", "rejected")
PAGE = 500


def keys(live: Connection, older: Connection) -> dict[str, int]:
    """Name → number in the older one, of every key digests were made with."""
    return decisions.add_keys(older, decisions.keys(live))


def refusals(live: Connection, older: Connection, numbers: dict[str, int]) -> tuple[int, int]:
    """(tombstones laid or lifted since, deny rules made since)."""
    return (
        decisions.add_rejections(older, decisions.rejections(live), numbers),
        decisions.add_denials(older, decisions.denials_made(live), numbers),
    )


def pauses(live: Connection, older: Connection) -> int:
    """How many times nothing was to be taken in, since."""
    carried = 0
    for row in live.execute("select project_id, from_ms, until_ms from pauses order by id"):
        there = list(older.execute("select id, until_ms from pauses where project_id is ? and from_ms = ?", row[:2]))
        if not there:
            older.execute("insert into pauses (project_id, from_ms, until_ms) values (?, ?, ?)", row)
        elif there[0][1] != row[2]:
            older.execute("update pauses set until_ms = ? where id = ?", (row[2], there[0][0]))
        else:
            continue
        carried += 1
    return carried


def sessions_off(live: Connection, older: Connection) -> int:
    """How many sessions ran with RECORDER_OFF, since."""
    carried = 0
    for session_id, started_ms, last_ms in live.execute("select id, started_ms, last_ms from sessions where off"):
        older.execute(
            "insert into sessions (id, started_ms, last_ms, closed_ms, off) values (?1, ?2, ?3, ?3, 1)"
            " on conflict (id) do update set off = 1 where off = 0",
            (session_id, started_ms, last_ms),
        )
        carried += older.changes()
    return carried


def findings(live: Connection, older: Connection) -> int:
    """How many findings were resolved since."""
    carried = 0
    for row in live.execute(
        "select disposition, resolved_ms, reason, id, kind, created_ms from findings where state = 'resolved'"
    ):
        older.execute(
            "update findings set state = 'resolved', disposition = ?, resolved_ms = ?, reason = ?"
            " where id = ? and kind = ? and created_ms = ? and state = 'open'",
            row,
        )
        carried += older.changes()
    return carried


def memories(live: Connection, older: Connection, now_ms: int, *, same_line: bool) -> Counter[str]:
    """What was done since with memories the older one has too: one about which a person decided, or that was hidden,
    stands as it stands now, with all its versions; one that was forgotten is erased.

    `same_line`: the older one is the beginning of the other, so that a number means the same memory in both.
    """
    done: Counter[str] = Counter()
    for memory_id, created_ms, state, by in list(
        live.execute("select id, created_ms, state, deleted_by from memories order by id")
    ):
        older_id = _same(live, older, memory_id, created_ms if same_line else None)
        if older_id is None:
            continue
        if state == State.FORGOTTEN:
            if next(iter(older.execute("select state from memories where id = ?", (older_id,))))[0] != state:
                erase.erase_memory(older, older_id, by or "person", now_ms)
                done["memories_forgotten"] += 1
            continue
        now = dump.read(live, memory_id)
        since = entries.tail(now.history, dump.read_history(older, older_id))
        if any(line.channel == "person" or line.action in HIDING for line in since):
            load.bring_up(older, older_id, now)
            done["memories"] += 1
    return done


def erase_denied(older: Connection, now_ms: int) -> Counter[str]:
    """Take away what is never to be taken in, and what holds it inside other words: how many events, versions of
    memories and findings went. 100,000 events of 300 words take about 20 s."""
    done: Counter[str] = Counter()
    if not denials.any_at_all(older):
        return done
    sought = retold.standing(older)
    after = 0
    while page := events.listing(older, after_id=after, limit=PAGE, newest_first=False):
        after = page[-1].id
        names = {event.id: set(denials.names(event)) for event in page}
        records = {event.id: _uuids(older, event.id) for event in page}
        known = denials.denied(older, "event", sorted({name for found in names.values() for name in found}))
        seen = denials.denied(older, "record", sorted({uuid for found in records.values() for uuid in found}))
        gone = [
            event.id
            for event in page
            if names[event.id] & known
            or records[event.id] & seen
            or (sought is not None and denials.holds(sought, event))
        ]
        if gone:
            older.execute(
                "delete from memory_evidence where event_id in (select value from json_each(?))", (json.dumps(gone),)
            )
            done["events_forgotten"] += purging.remove_events(older, gone)
    for version_id, memory_id, current, value, about, created_ms in list(
        older.execute(
            "select v.id, m.id, m.version_id is v.id, v.value, m.key || char(10) || v.tags || char(10) || v.source,"
            " v.recorded_ms from memory_versions v join memories m on m.id = v.memory_id order by v.id"
        )
    ):
        # What a person said again later stands.
        times = [*denials.of_value(older, value), *(sought.since(about) if sought is not None else ())]
        if not any(at_ms >= created_ms for at_ms in times):
            continue
        if current:
            erase.erase_memory(older, memory_id, "person", now_ms)
        else:
            erase.erase_versions(older, [version_id])
        done["values_forgotten"] += 1
    if sought is not None:
        done["findings_forgotten"] = erase.erase_findings(older, (), sought)
        texts.erase(older, sought)
    return done


def copies_noted(live: Connection, older: Connection) -> None:
    """Where copies of what we hold were put, since."""
    older.executemany(
        "insert into copies (path, what, made_ms) values (?, ?, ?) on conflict (path) do update set"
        " made_ms = max(made_ms, excluded.made_ms)",
        list(live.execute("select path, what, made_ms from copies")),
    )


def forgets(live: Connection, older: Connection) -> None:
    """What was asked to be forgotten, since. The events it names are told by what is never to be taken in: their
    numbers mean others here."""
    columns = [row[1] for row in live.execute("pragma table_info(forgets)") if row[1] not in ("id", "events_left")]
    names, marks = ", ".join(columns), ", ".join(f":{name}" for name in columns)
    for row in live.execute(f"select {names} from forgets order by id"):
        older.execute(
            f"insert into forgets ({names}) select {marks} where not exists"
            " (select 1 from forgets where asked_ms = :asked_ms and actor = :actor)",
            dict(zip(columns, row, strict=True)),
        )


def is_beginning(live: Connection, older: Connection) -> bool:
    """Whether the older one is what the other was once: its audit is the beginning of the other's, which verifies."""
    last_id, last_digest = _last(older)
    if chain.verify(live).state == "fail":
        return False
    if not last_id:
        return True
    return bool(list(live.execute("select 1 from audit where id = ? and digest = ?", (last_id, last_digest))))


def audit(live: Connection, older: Connection) -> None:
    """Let the older audit, the beginning of the other, go on with the rows written since."""
    columns = "id, at_ms, actor, channel, action, subject, detail_digest, reason, previous, digest"
    older.executemany(
        f"insert into audit ({columns}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        list(live.execute(f"select {columns} from audit where id > ? order by id", (_last(older)[0],))),
    )
    for row in live.execute("select id, purpose, secret, created_ms from keys where purpose in ('audit', 'export')"):
        older.execute(
            "insert into keys (id, purpose, secret, created_ms) values (?, ?, ?, ?) on conflict do nothing", row
        )


def head(db: Connection) -> str:
    """The last row of the audit: `<number>:<digest>`."""
    return "{}:{}".format(*_last(db))


def first(db: Connection) -> str | None:
    """The digest of the first row of the audit; None where there is none."""
    for (digest,) in db.execute("select digest from audit order by id limit 1"):
        return str(digest)
    return None


def _last(db: Connection) -> tuple[int, str]:
    for row in db.execute("select id, digest from audit order by id desc limit 1"):
        return row[0], row[1]
    return 0, ""


def _same(live: Connection, older: Connection, memory_id: int, created_ms: int | None) -> int | None:
    """The memory in the older one that this one is."""
    if list(older.execute("select 1 from memories where id = ? and created_ms = ?", (memory_id, created_ms))):
        return memory_id
    address = next(iter(live.execute("select namespace, key from memories where id = ?", (memory_id,))))
    return dump.id_at(older, *address)


def _uuids(db: Connection, event_id: int) -> set[str]:
    rows = db.execute("select uuid from sightings where event_id = ? and uuid is not null", (event_id,))
    return {row[0] for row in rows}
