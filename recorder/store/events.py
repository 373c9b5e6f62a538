"""Rows of events: what happened, once each."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from recorder.models import Event, EventKind, PromptClass, Source, StoredEvent
from recorder.store.db import Connection

COMPRESS_ABOVE_BYTES = 512
LEVEL = 3

COLUMNS = (
    "e.id, e.key, e.kind, e.session_id, e.at_ms, e.project_id, e.body, e.codec, e.excerpt, e.cwd, e.prompt_id,"
    " (select s.uuid from sightings s where s.event_id = e.id and s.uuid is not null order by s.id limit 1),"
    " e.tool_use_id, e.agent_id, e.class, e.tool, e.ok, e.branch, e.healed, e.truncated, e.omitted_bytes"
)


CLOCKS_DIFFER_MS = 60_000
"""How far ahead of our own clock a time may lie that is believed."""

_IDS = "event_ids"

Packed = tuple[bytes, str, bytes]


def encode(body: object, excerpt: str = "") -> Packed:
    """(bytes, codec, hash) of a body.

    Above 512 bytes it is compressed with the excerpt as the dictionary (RFC 1950, FDICT), so that the words they
    share stand in the row once.
    """
    try:
        plain = to_json(body)  # a fifth of the time of json.dumps
    except PydanticSerializationError:  # a lone surrogate
        plain = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
    digest = sha256(plain).digest()
    if len(plain) <= COMPRESS_ABOVE_BYTES:
        return plain, "json", digest
    packer = zlib.compressobj(level=LEVEL, zdict=_dictionary(excerpt))
    return packer.compress(plain) + packer.flush(), "zdict", digest


def decode(body: bytes, codec: str, excerpt: str = "") -> dict[str, Any]:
    """The body as it was stored; empty when it is gone."""
    if codec == "gone":
        return {}
    value = json.loads(unpacked(body, codec, excerpt))
    return value if isinstance(value, dict) else {}


def unpacked(body: bytes, codec: str, excerpt: str = "") -> bytes:
    """The JSON of a body; nothing of one that is gone."""
    return zlib.decompressobj(zdict=_dictionary(excerpt)).decompress(body) if codec == "zdict" else body


def _dictionary(excerpt: str) -> bytes:
    """The excerpt much as the body's JSON spells it. An empty dictionary is not allowed."""
    spelled = excerpt.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{spelled}"'.encode("utf-8", "backslashreplace")


def insert(
    db: Connection,
    event: Event,
    *,
    project_id: str | None,
    scope_id: int | None,
    received_ms: int,
    excerpt: str,
    narrow: str,
    healed: bool,
    packed: Packed | None = None,
    event_id: int | None = None,
) -> int:
    """Store an event whose key is new; its row's id. Search finds it after `index`, in the same transaction.

    `packed`: its body, where somebody has encoded it with the excerpt already. `event_id`: above `last_id`, where the
    caller has asked for that.
    """
    event_id = last_id(db) + 1 if event_id is None else event_id
    body, codec, digest = packed or encode(event.body, excerpt)
    db.execute(
        "insert into events (id, key, kind, session_id, project_id, scope_id, at_ms, received_ms, prompt_id,"
        " tool_use_id, agent_id, class, tool, ok, cwd, branch, excerpt, narrow, body, codec, body_hash, truncated,"
        " omitted_bytes, healed) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            event_id,
            event.key,
            event.kind.value,
            event.session_id,
            project_id,
            scope_id,
            event.at_ms,
            received_ms,
            event.prompt_id,
            event.tool_use_id,
            event.agent_id,
            event.klass.value if event.klass else None,
            event.tool,
            None if event.ok is None else int(event.ok),
            event.cwd,
            event.branch,
            excerpt,
            narrow,
            body,
            codec,
            digest,
            int(event.truncated),
            event.omitted_bytes,
            int(healed),
        ),
    )
    return event_id


def last_id(db: Connection) -> int:
    """The highest id an event has or had, or 0: in a transaction, new events have higher ones."""
    newest = _one(db, "select max(id) from events", ()) or 0
    return max(newest, _one(db, "select value from counters where name = ?", (_IDS,)) or 0)


def keep_ids(db: Connection) -> None:
    """Note how high ids are, in the transaction that takes events away: what names one must never name another."""
    db.execute(
        "insert into counters (name, value) select ?, max(id) from events where true having max(id) is not null"
        " on conflict (name) do update set value = max(value, excluded.value)",
        (_IDS,),
    )


def index(db: Connection, after_id: int) -> None:
    """Let search find the events above an id, once, in the transaction that stored them.

    No trigger does it: an insert with a trigger opens a savepoint, and at every savepoint FTS5 writes out what it
    holds (ext/fts5/fts5_main.c, fts5SavepointMethod). A segment an event is three times as slow as one a batch.
    """
    db.execute(
        "insert into event_words (rowid, excerpt, scope) select id, excerpt, scope from event_texts where id > ?",
        (after_id,),
    )
    db.execute("insert into event_trigrams (rowid, narrow) select id, narrow from events where id > ?", (after_id,))


def adopt(db: Connection, session_id: str, project_id: str, scope_id: int, embedded: Collection[str]) -> int:
    """Give the events of a session that came before its folder was known its project, and ask for the vectors that
    the `embedded` kinds had none of without; how many. Runs inside the caller's transaction."""
    rows = db.execute(
        "update events set project_id = ?2, scope_id = ?3 where session_id = ?1 and project_id is null"
        # Not what is being forgotten, nor what the gate keeps for every project.
        " and scope_id is null and cwd is null and codec <> 'gone' and kind <> 'statement'"
        " returning id, at_ms, kind, excerpt <> ''",
        (session_id, project_id, scope_id),
    )
    found = list(rows)
    queue_vectors(db, [("event", event_id, at) for event_id, at, kind, said in found if said and kind in embedded])
    return len(found)


def hush_repeats(db: Connection, session_id: str, prompt_id: str | None) -> int:
    """Take the last words that a turn's end carried out of search once the turn's own text is there; how many.

    The body keeps them. It is packed anew, for the excerpt is its dictionary.
    """
    rows = db.execute(
        f"select id, kind, body, codec, excerpt from events e where {_in_turn(prompt_id)}"
        " and kind in ('assistant', 'turn_end', 'subagent_end') and excerpt <> ''",
        (session_id, prompt_id or ""),
    )
    found = [(row[0], row[1], decode(row[2], row[3], row[4])) for row in rows]
    said = {body.get("text") for _, kind, body in found if kind == EventKind.ASSISTANT}
    repeats = [(event_id, body) for event_id, kind, body in found if kind != EventKind.ASSISTANT]
    repeats = [(event_id, body) for event_id, body in repeats if body.get("text") in said]
    for event_id, body in repeats:
        packed, codec, digest = encode(body)
        db.execute(
            "update events set excerpt = '', narrow = '', body = ?, codec = ?, body_hash = ? where id = ?",
            (packed, codec, digest, event_id),
        )
    return len(repeats)


def id_of_key(db: Connection, key: str) -> int | None:
    """The event stored under the key."""
    return _one(db, "select id from events where key = ?", (key,))


class Known:
    """What of a batch is in the store already, by where it was seen, by key and by record."""

    def __init__(self, refs: set[tuple[str, str]], keys: dict[str, int], uuids: dict[str, int]) -> None:
        self.refs, self.keys, self.uuids = refs, keys, uuids

    def first_time(self, event: Event) -> bool:
        """False when this very spool file was taken in before. Of a transcript the place says nothing: the file may be
        another one by now, and what is the same is told by key and record."""
        return event.source is not Source.HOOK or (event.source.value, event.ref) not in self.refs

    def id_of(self, event: Event) -> int | None:
        """The event stored under the same key, or made from the same record under any session."""
        by_key = self.keys.get(event.key)
        return by_key if by_key is not None or event.uuid is None else self.uuids.get(event.uuid)

    def add(self, event: Event, event_id: int) -> None:
        """The event is in the store from now on."""
        self.refs.add((event.source.value, event.ref))
        self.keys[event.key] = event_id
        if event.uuid is not None:
            self.uuids[event.uuid] = event_id


def known(db: Connection, batch: Sequence[Event]) -> Known:
    """What of the batch is in the store already."""
    refs = json.dumps([[event.source.value, event.ref] for event in batch])
    keys = json.dumps([event.key for event in batch])
    uuids = json.dumps([event.uuid for event in batch if event.uuid is not None])
    return Known(
        set(
            db.execute(
                "select s.source, s.ref from json_each(?) j join sightings s"
                " on s.source = j.value ->> 0 and s.ref = j.value ->> 1",
                (refs,),
            )
        ),
        dict(db.execute("select e.key, e.id from json_each(?) j join events e on e.key = j.value", (keys,))),
        dict(
            db.execute("select s.uuid, s.event_id from json_each(?) j join sightings s on s.uuid = j.value", (uuids,))
        ),
    )


def ids_of_tool_use(db: Connection, tool_use_id: str, tool: str | None, session_id: str) -> list[tuple[int, int, int]]:
    """(event, its time, time a transcript gave it or 0) of calls with this id and tool under other sessions."""
    return list(
        db.execute(
            "select e.id, e.at_ms, coalesce((select s.at_ms from sightings s where s.event_id = e.id"
            " and s.source <> 'hook' limit 1), 0) from events e"
            " where e.tool_use_id = ? and e.tool is ? and e.session_id <> ?",
            (tool_use_id, tool, session_id),
        )
    )


def ids_of_prompt(db: Connection, prompt_id: str, session_id: str) -> list[int]:
    """Main-thread prompts with this prompt id under other sessions."""
    rows = db.execute(
        "select id from events where prompt_id = ? and kind = 'prompt' and agent_id is null and session_id <> ?",
        (prompt_id, session_id),
    )
    return [row[0] for row in rows]


def sight_all(db: Connection, seen: Iterable[tuple[int, Event, object]], run_id: int | None = None) -> None:
    """Note where events were seen, what only that source knew of them, and which backfill saw them."""
    db.executemany(
        "insert into sightings (event_id, source, ref, uuid, session_id, at_ms, extra, run_id)"
        " values (?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
        [
            (
                event_id,
                event.source.value,
                event.ref,
                event.uuid,
                event.session_id,
                event.at_ms,
                None if extra is None else json.dumps(extra, ensure_ascii=True),
                run_id,
            )
            for event_id, event, extra in seen
        ],
    )


def learn(db: Connection, event_id: int, event: Event) -> None:
    """Fill columns that the first source could not know; what it knew stays."""
    db.execute(
        "update events set class = coalesce(class, ?), branch = coalesce(branch, ?),"
        " prompt_id = coalesce(prompt_id, ?), healed = case when ? = 'hook' then 0 else healed end where id = ?",
        (
            event.klass.value if event.klass else None,
            event.branch,
            event.prompt_id,
            event.source.value,
            event_id,
        ),
    )


def add_files(db: Connection, found: Iterable[tuple[int, str, str]]) -> None:
    """Note (event, path, action): which paths a tool call named, and whether it read or wrote them."""
    db.executemany("insert or ignore into files (event_id, path, action) values (?, ?, ?)", found)


def queue_vector(db: Connection, owner: str, owner_id: int, at_ms: int) -> None:
    """Ask for a vector of an event or of a memory's version."""
    queue_vectors(db, [(owner, owner_id, at_ms)])


def queue_vectors(db: Connection, wanted: Iterable[tuple[str, int, int]]) -> None:
    """Ask for vectors of many (owner, its id, its time)."""
    db.executemany("insert into embed_queue (owner, owner_id, at_ms) values (?, ?, ?) on conflict do nothing", wanted)


def get(db: Connection, ids: Sequence[int]) -> list[StoredEvent]:
    """The events with these ids, in the order asked for; unknown ids are left out."""
    found: dict[int, StoredEvent] = {}
    for start in range(0, len(ids), 500):
        part = ids[start : start + 500]
        marks = ", ".join("?" * len(part))
        for row in db.execute(f"select {COLUMNS} from events e where e.id in ({marks})", tuple(part)):
            found[row[0]] = _event(row)
    return [found[i] for i in ids if i in found]


def as_seen(db: Connection, found: Sequence[StoredEvent]) -> list[StoredEvent]:
    """The events, none dated later than our own clock first saw it; those that were dated ahead of it are left out: a
    record says of itself when it was made."""
    marks = json.dumps([event.id for event in found])
    rows = db.execute("select id, received_ms from events where id in (select value from json_each(?))", (marks,))
    seen: dict[int, int] = dict(rows)
    return [
        replace(event, at_ms=min(event.at_ms, seen[event.id]))
        for event in found
        if event.id in seen and event.at_ms <= seen[event.id] + CLOCKS_DIFFER_MS
    ]


def of_turn(db: Connection, session_id: str, prompt_id: str | None) -> list[StoredEvent]:
    """The events of a turn in the order they happened. `prompt_id` None or "": those before any prompt id."""
    rows = db.execute(
        f"select {COLUMNS} from events e where {_in_turn(prompt_id)} order by e.at_ms, e.id",
        (session_id, prompt_id or ""),
    )
    return [_event(row) for row in rows]


def _in_turn(prompt_id: str | None) -> str:
    """Which events are of a session's turn: by the prompt where there is one (`+` keeps SQLite from going through the
    whole session instead), else those of the session without any."""
    return (
        "+e.session_id = ?1 and e.prompt_id = ?2"
        if prompt_id
        else ("e.session_id = ?1 and coalesce(e.prompt_id, '') = ?2")
    )


def of_session(db: Connection, session_id: str, *, limit: int = 100_000) -> list[StoredEvent]:
    """The events of a session in the order they happened."""
    rows = db.execute(
        f"select {COLUMNS} from events e where e.session_id = ? order by e.at_ms, e.id limit ?", (session_id, limit)
    )
    return [_event(row) for row in rows]


def before(db: Connection, session_id: str, at_ms: int, *, limit: int) -> list[StoredEvent]:
    """The last events of a session before a time, in the order they happened."""
    rows = db.execute(
        f"select {COLUMNS} from events e where e.session_id = ? and e.at_ms < ?"
        " order by e.at_ms desc, e.id desc limit ?",
        (session_id, at_ms, limit),
    )
    return [_event(row) for row in rows][::-1]


UNPLACED = (
    "scope_id is null and project_id is null and kind <> 'statement' and codec <> 'gone' and session_id <> 'gate'"
)
"""Recorded where the folder was of no project: a person alone sees it."""


def listing(
    db: Connection,
    *,
    session_id: str | None = None,
    kind: str | None = None,
    project_id: str | None = None,
    unplaced: bool = False,
    after_id: int = 0,
    limit: int = 100,
    newest_first: bool = True,
) -> list[StoredEvent]:
    """Events a person asked to see, filtered; `unplaced`: those of no project."""
    order = "desc" if newest_first else "asc"
    rows = db.execute(
        f"select {COLUMNS} from events e where (?1 is null or e.session_id = ?1) and (?2 is null or e.kind = ?2)"
        f" and (?3 is null or e.project_id = ?3) and e.id > ?4 and (not ?6 or {UNPLACED})"
        f" order by e.id {order} limit ?5",
        (session_id, kind, project_id, after_id, limit, unplaced),
    )
    return [_event(row) for row in rows]


def latest_prompts(db: Connection, project_id: str | None, limit: int) -> list[StoredEvent]:
    """What was asked last in a project, or in any, the latest first: by when it was said, not when it was read."""
    scopes = list(db.execute("select id from scopes where ?1 is null or name = ?1", (project_id,)))
    found = [
        _event(row)
        for (scope_id,) in scopes
        for row in db.execute(
            f"select {COLUMNS} from events e where e.scope_id = ? and e.kind = 'prompt' and e.agent_id is null"
            " and e.excerpt <> '' order by e.at_ms desc limit ?",
            (scope_id, limit),
        )
    ]
    return sorted((event for event in found if event.project_id), key=lambda event: -event.at_ms)[:limit]


def around(db: Connection, event_id: int, *, before: int, after: int) -> list[StoredEvent]:
    """The events of the same session around one, itself included, oldest first."""
    middle = get(db, [event_id])
    if not middle:
        return []
    here = middle[0]
    earlier = db.execute(
        f"select {COLUMNS} from events e where e.session_id = ? and (e.at_ms, e.id) < (?, ?)"
        " order by e.at_ms desc, e.id desc limit ?",
        (here.session_id, here.at_ms, here.id, before),
    )
    first = [_event(row) for row in earlier][::-1]
    later = db.execute(
        f"select {COLUMNS} from events e where e.session_id = ? and (e.at_ms, e.id) > (?, ?)"
        " order by e.at_ms, e.id limit ?",
        (here.session_id, here.at_ms, here.id, after),
    )
    return [*first, here, *(_event(row) for row in later)]


def count(db: Connection) -> int:
    """How many events there are."""
    return int(_one(db, "select count(*) from events", ()) or 0)


def _one(db: Connection, sql: str, values: tuple[Any, ...]) -> int | None:
    for row in db.execute(sql, values):
        return None if row[0] is None else int(row[0])
    return None


def _event(row: tuple[Any, ...]) -> StoredEvent:
    return StoredEvent(
        id=row[0],
        key=row[1],
        kind=EventKind(row[2]),
        session_id=row[3],
        at_ms=row[4],
        project_id=row[5],
        body=decode(row[6], row[7], row[8]),
        excerpt=row[8],
        cwd=row[9],
        prompt_id=row[10],
        uuid=row[11],
        tool_use_id=row[12],
        agent_id=row[13],
        klass=PromptClass(row[14]) if row[14] else None,
        tool=row[15],
        ok=None if row[16] is None else bool(row[16]),
        branch=row[17],
        healed=bool(row[18]),
        truncated=bool(row[19]),
        omitted_bytes=row[20],
    )


def as_open_call(event: Event) -> str:
    """A waiting tool use as JSON text."""
    return json.dumps(
        {
            "key": event.key,
            "session_id": event.session_id,
            "at_ms": event.at_ms,
            "source": event.source.value,
            "body": event.body,
            "cwd": event.cwd,
            "prompt_id": event.prompt_id,
            "uuid": event.uuid,
            "tool_use_id": event.tool_use_id,
            "agent_id": event.agent_id,
            "message_id": event.message_id,
            "tool": event.tool,
            "branch": event.branch,
            "ref": event.ref,
        },
        ensure_ascii=True,
    )


def open_calls(db: Connection, path: str) -> dict[str, Event]:
    """The tool uses of a transcript that wait for their result, by tool_use_id."""
    from_rows = db.execute("select tool_use_id, event from open_calls where path = ?", (path,))
    return {tool_use_id: _open_call(json.loads(text)) for tool_use_id, text in from_rows}


def keep_open_calls(db: Connection, path: str, calls: Iterable[Event]) -> None:
    """Replace the waiting tool uses of a transcript. Runs inside the caller's transaction."""
    db.execute("delete from open_calls where path = ?", (path,))
    db.executemany(
        "insert or replace into open_calls (path, tool_use_id, event) values (?, ?, ?)",
        [(path, call.tool_use_id, as_open_call(call)) for call in calls if call.tool_use_id],
    )


def _open_call(fields: dict[str, Any]) -> Event:
    return Event(kind=EventKind.TOOL_CALL, source=Source(fields.pop("source")), **fields)
