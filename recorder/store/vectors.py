"""Vectors of events and memories: rows of `embeddings` are the truth, the index over them can be made anew."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recorder.errors import StoreError
from recorder.models import EventKind, PromptClass, Scope
from recorder.store import vector_index
from recorder.store.db import Connection, has_vec, transaction
from recorder.store.events import decode

DIMENSION = 384
WINDOWS = 4
"""So many windows are looked for where one event is wanted: it may have up to eight."""
OWNERS: Mapping[str, int] = {"event": 0, "memory": 1}
TOOL_CHARS = 1000
ROLES: Mapping[str, str] = {EventKind.PROMPT: "user", EventKind.ASSISTANT: "assistant", EventKind.TOOL_CALL: "tool"}
NOT_SAID = (PromptClass.BASH, PromptClass.TASK_NOTIFICATION, PromptClass.TEAMMATE, PromptClass.INJECTED)
"""Prompts nobody typed, or that are commands: they have no vector."""

HOLES_KEPT = 4096
STALE = 2**40
"""Holes of an index that lost rows while sqlite-vec was away: always more than may be kept."""

# Which model the index holds, and how many of its places are empty: no hole that a delete leaves in a block is filled.
_STATE = "vector_index"
_PUT_OFF = "vectors_put_off"


@dataclass(frozen=True, slots=True)
class Due:
    """Something that waits for its vector. An empty text wants none."""

    owner: str
    """`event` or `memory`."""
    owner_id: int
    """`events.id` or `memory_versions.id`."""
    scope_id: int | None
    at_ms: int
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Near:
    """The best window of an event or of a memory's version, by cosine similarity."""

    owner: str
    owner_id: int
    similarity: float


def due(db: Connection, limit: int) -> list[Due]:
    """What waits for a vector, newest first."""
    rows = db.execute(
        "select q.owner, q.owner_id, coalesce(e.scope_id, m.scope_id), coalesce(e.at_ms, v.occurred_ms, q.at_ms),"
        " e.kind, e.class, e.excerpt, e.body, e.codec, m.key, v.value"
        " from embed_queue q"
        " left join events e on q.owner = 'event' and e.id = q.owner_id"
        " left join memory_versions v on q.owner = 'memory' and v.id = q.owner_id"
        " left join memories m on m.id = v.memory_id"
        " order by q.at_ms desc limit ?",
        (limit,),
    )
    return [_due(row) for row in rows]


def waiting(db: Connection) -> int:
    """How many wait for a vector."""
    return int(_first(db, "select count(*) from embed_queue") or 0)


def rows_of_models(db: Connection) -> dict[str, int]:
    """Model → how many events and versions of memories have vectors of it."""
    return dict(db.execute("select model, count(*) from embeddings where window = 0 group by model"))


def model(db: Connection) -> str | None:
    """The model whose vectors are searched; None before there is one."""
    return _state(db)[0]


def dimension(db: Connection) -> int | None:
    """How long the vectors are that are searched; None before there is an index."""
    return vector_index.dimension(db)


def put_off(db: Connection) -> int:
    """How many of the oldest were taken off a queue that had become too long, and wait until it is short again."""
    return int(_first(db, f"select value from counters where name = '{_PUT_OFF}'") or 0)


def bound_queue(db: Connection, most: int) -> None:
    """Let the queue hold at most so many, the newest; and once it is empty, the newest of those that were put off."""
    length = waiting(db)
    if length > most:
        with transaction(db):
            db.execute(
                "delete from embed_queue where (owner, owner_id) in"
                " (select owner, owner_id from embed_queue order by at_ms limit ?)",
                (length - most,),
            )
            _count_put_off(db, put_off(db) + length - most)
    elif not length and put_off(db):
        with transaction(db):
            _queue_missing(db, most)
            _count_put_off(db, 0 if waiting(db) < most else max(put_off(db) - most, 1))


def known(db: Connection, scope_id: int | None, model: str, hashes: Iterable[str]) -> dict[str, bytes]:
    """Content hash → vector, of texts this model has embedded in this very scope before."""
    asked = list(dict.fromkeys(hashes))
    marks = ", ".join("?" * len(asked))
    rows = db.execute(
        f"select content_hash, vector from embeddings where scope_id is ? and content_hash in ({marks}) and model = ?",
        (scope_id, *asked, model),
    )
    return dict(rows)


def store(db: Connection, owner: str, owner_id: int, model: str, windows: Sequence[tuple[str, bytes]]) -> bool:
    """Keep the vectors, (content hash, vector) a window, instead of what was there, and take the owner off the queue.

    False when the owner is gone by now: then nothing of it is kept.
    """
    with transaction(db):
        drop_owner(db, owner, [owner_id])
        alive, scope_id = _scope_of(db, owner, owner_id)
        if not alive:
            return False
        for number, (content_hash, vector) in enumerate(windows):
            db.execute(
                "insert into embeddings (owner, owner_id, window, scope_id, model, content_hash, vector)"
                " values (?, ?, ?, ?, ?, ?, ?)",
                (owner, owner_id, number, scope_id, model, content_hash, vector),
            )
            if vector_index.usable(db) and len(vector) == vector_index.dimension(db):
                vector_index.add(db, scope_id or 0, OWNERS[owner], [db.last_insert_rowid()])
    return True


def postpone(db: Connection, owner: str, owner_id: int) -> None:
    """Put what failed behind all others; what fails there again is let go, and counted."""
    with transaction(db):
        db.execute("delete from embed_queue where owner = ? and owner_id = ? and at_ms < 0", (owner, owner_id))
        if db.changes():
            db.execute(
                "insert into counters (name, value) values ('vectors_given_up', 1)"
                " on conflict (name) do update set value = value + 1"
            )
        db.execute("update embed_queue set at_ms = -1 where owner = ? and owner_id = ?", (owner, owner_id))


def drop_owner(db: Connection, owner: str, ids: Iterable[int]) -> None:
    """Let go of the vectors of these owners, and of their wish for one. Runs inside the caller's transaction."""
    gone: dict[int, list[int]] = {}
    for owner_id in ids:
        db.execute("delete from embed_queue where owner = ? and owner_id = ?", (owner, owner_id))
        for row_id, scope_id in db.execute(
            "delete from embeddings where owner = ? and owner_id = ? returning id, scope_id", (owner, owner_id)
        ):
            gone.setdefault(scope_id or 0, []).append(row_id)
    if gone and (note := _index_to_change(db)):
        model, holes = note
        left = sum(vector_index.remove(db, scope, OWNERS[owner], row_ids) for scope, row_ids in gone.items())
        _note(db, model, holes + left)


def move(db: Connection, rows: Sequence[tuple[int, int | None]]) -> None:
    """Let these (`embeddings.id`, scope it belongs to now) follow. Runs inside the caller's transaction."""
    note = _index_to_change(db) if rows else None
    leaving: dict[tuple[int, int], list[int]] = {}
    coming: dict[tuple[int, int], list[int]] = {}
    for row_id, scope_id in rows:
        ((owner, before, size),) = db.execute(
            "select owner, scope_id, length(vector) from embeddings where id = ?", (row_id,)
        )
        db.execute("update embeddings set scope_id = ? where id = ?", (scope_id, row_id))
        leaving.setdefault((before or 0, OWNERS[owner]), []).append(row_id)
        if note and size == vector_index.dimension(db):
            coming.setdefault((scope_id or 0, OWNERS[owner]), []).append(row_id)
    if note:
        holes = sum(vector_index.remove(db, *of, row_ids) for of, row_ids in leaving.items())
        for of, row_ids in coming.items():
            vector_index.add(db, *of, row_ids)
        _note(db, note[0], note[1] + holes)


def adopt(db: Connection, model: str, dimension: int = DIMENSION, *, most: int = -1) -> bool:
    """Make this model the one the index holds. True when it was another, or the index was not sound.

    Rows of other models stay until theirs are made anew, but are found no more; their owners are queued, the newest
    `most` of them (-1: all), and the rest put off (`bound_queue`).
    """
    held, holes = _state(db)
    sound = not has_vec(db) or vector_index.dimension(db) == dimension
    if held == model and sound and holes <= HOLES_KEPT:
        return False
    if held == model and sound and holes < STALE and holes <= _count(db) // 2:
        return False
    with transaction(db):
        _note(db, model, 0)
        db.execute(
            "insert into embed_queue (owner, owner_id, at_ms)"
            " select distinct b.owner, b.owner_id, coalesce(e.at_ms, v.recorded_ms, 0) as at_ms from embeddings b"
            " left join events e on b.owner = 'event' and e.id = b.owner_id"
            " left join memory_versions v on b.owner = 'memory' and v.id = b.owner_id"
            " where b.model <> ? order by at_ms desc limit ? on conflict do nothing",
            (model, most),
        )
        queued = db.changes()
        if 0 <= most <= queued:
            of_others = "select count(*) from embeddings where window = 0 and model <> ?"
            ((number,),) = db.execute(of_others, (model,))
            _count_put_off(db, put_off(db) + number - queued)
        if has_vec(db):
            vector_index.make(db, dimension, model)
    return True


def rebuild(db: Connection) -> int:
    """Make the index anew from its rows; how many it holds.

    Raises: StoreError when sqlite-vec cannot be loaded.
    """
    _need_vec(db)
    with transaction(db):
        model, _ = _state(db)
        _note(db, model, 0)
        vector_index.make(db, vector_index.dimension(db) or DIMENSION, model)
    return vector_index.count(db)


def requeue_missing(db: Connection) -> int:
    """Ask again for every vector that should be there and is not; how many wait now."""
    with transaction(db):
        _queue_missing(db, -1)
    return waiting(db)


def _queue_missing(db: Connection, limit: int) -> None:
    """Queue the newest that should have a vector of the index's model and have none; all of them with -1."""
    has_none = "not exists (select 1 from embeddings b where b.owner = '{}' and b.owner_id = {} and b.model is ?1)"
    kinds = ", ".join(f"'{kind}'" for kind in ROLES)
    db.execute(
        "insert into embed_queue (owner, owner_id, at_ms)"
        " select * from (select 'event', e.id, e.at_ms as at_ms from events e"
        f" where e.excerpt <> '' and e.kind in ({kinds})"
        " and (e.class is null or e.class not in (select value from json_each(?2)))"
        # The vector of a body that was let go went with it.
        " and e.scope_id is not null and e.codec <> 'gone'"
        f" and {has_none.format('event', 'e.id')}"
        " union all select 'memory', v.id, v.recorded_ms from memory_versions v"
        f" where {has_none.format('memory', 'v.id')}"
        " order by at_ms desc limit ?3) where true on conflict do nothing",
        (model(db), json.dumps(NOT_SAID), limit),
    )


def _count_put_off(db: Connection, number: int) -> None:
    db.execute(
        "insert into counters (name, value) values (?, ?) on conflict (name) do update set value = excluded.value",
        (_PUT_OFF, number),
    )


def search(db: Connection, scope: Scope, vector: bytes, k: int, *, model: str | None = None) -> list[Near]:
    """The nearest `k` events and the nearest `k` memories of the scope, each by its best window, best first.

    The scope is filtered inside the search: a row outside it takes no place. Events and memories are searched apart,
    so that the many do not crowd out the few.

    Raises: StoreError when vectors cannot be searched; that is not the same as nothing found.
    """
    _need_vec(db)
    dimension = vector_index.dimension(db)
    if dimension is None:
        if _first(db, "select 1 from embeddings limit 1"):
            raise StoreError("the vector index is not there: run `recorder reindex`")
        return []
    if len(vector) != dimension:
        raise StoreError(
            f"a vector of {len(vector)} dimensions does not compare with the {dimension} of the index:"
            " a new model is being taken into use, try again later"
        )
    scope_ids = _scope_ids(db, scope)
    found = [near for owner in OWNERS for near in _nearest(db, owner, scope_ids, vector, k, model)]
    return sorted(found, key=lambda near: (-near.similarity, near.owner, near.owner_id))


def blocks(db: Connection, scope: Scope) -> int:
    """How many blocks of vectors the scope has; 0 where there is no index."""
    if vector_index.dimension(db) is None:
        return 0
    return vector_index.blocks(db, _scope_ids(db, scope))


def _scope_ids(db: Connection, scope: Scope) -> list[int]:
    marks = ", ".join("?" * len(scope.names))
    return [row[0] for row in db.execute(f"select id from scopes where name in ({marks})", scope.names)]


def _nearest(
    db: Connection, owner: str, scope_ids: Sequence[int], vector: bytes, k: int, model: str | None
) -> list[Near]:
    candidates = vector_index.candidates(db, scope_ids, OWNERS[owner], vector, WINDOWS * k)
    marks = ", ".join("?" * len(scope_ids))
    # The index is derived: what a row says of itself counts, and is compared anew.
    rows = db.execute(
        "select b.owner_id, max(1.0 - vec_distance_cosine(vec_int8(b.vector), vec_int8(?)))"
        " from json_each(?) c cross join embeddings b on b.id = c.value"
        f" where b.owner = ? and b.scope_id in ({marks}) and (? is null or b.model = ?) and length(b.vector) = ?"
        " group by b.owner_id order by 2 desc, 1 limit ?",
        (vector, json.dumps(candidates), owner, *scope_ids, model, model, len(vector), k),
    )
    return [Near(owner, owner_id, similarity) for owner_id, similarity in rows]


def _due(row: tuple[Any, ...]) -> Due:
    owner, owner_id, scope_id, at_ms, kind, klass, excerpt, body, codec, key, value = row
    if owner == "memory":
        text = f"{key}: {value}" if value else ""
        return Due(owner, owner_id, scope_id, at_ms, "memory", text)
    text = "" if not excerpt or klass in NOT_SAID else _event_text(kind, excerpt, body, codec)
    return Due(owner, owner_id, scope_id, at_ms, ROLES.get(kind, ""), text)


def _event_text(kind: str, excerpt: str, body: bytes, codec: str) -> str:
    if kind not in ROLES:
        return ""
    if kind == EventKind.TOOL_CALL:
        return _ends(excerpt, TOOL_CHARS)
    said = decode(body, codec, excerpt).get("text")
    return said if isinstance(said, str) and said else excerpt


def _ends(text: str, room: int) -> str:
    """Head and tail of a text that is longer than the room."""
    if len(text) <= room:
        return text
    tail = room // 4
    return f"{text[: room - tail - 3]} … {text[-tail:]}"


def _scope_of(db: Connection, owner: str, owner_id: int) -> tuple[bool, int | None]:
    sql = {
        "event": "select scope_id from events where id = ?",
        "memory": "select m.scope_id from memory_versions v join memories m on m.id = v.memory_id where v.id = ?",
    }[owner]
    for row in db.execute(sql, (owner_id,)):
        return True, row[0]
    return False, None


def _need_vec(db: Connection) -> None:
    if not has_vec(db):
        raise StoreError("sqlite-vec cannot be loaded here, so vectors cannot be searched: run `recorder doctor`")


def _index_to_change(db: Connection) -> tuple[str | None, int] | None:
    """The state of an index that can be changed now. One that cannot is marked as behind its rows."""
    model, holes = _state(db)
    if vector_index.usable(db):
        return model, holes
    _note(db, model, STALE)
    return None


def _state(db: Connection) -> tuple[str | None, int]:
    for note, value in db.execute("select note, value from counters where name = ?", (_STATE,)):
        return note, value
    return None, 0


def _note(db: Connection, model: str | None, holes: int) -> None:
    db.execute(
        "insert into counters (name, value, note) values (?, ?, ?)"
        " on conflict (name) do update set value = excluded.value, note = excluded.note",
        (_STATE, holes, model),
    )


def _count(db: Connection) -> int:
    return int(_first(db, "select count(*) from embeddings") or 0)


def _first(db: Connection, sql: str) -> Any:
    for row in db.execute(sql):
        return row[0]
    return None
