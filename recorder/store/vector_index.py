"""The index over `embeddings`: a scope's newest vectors in sqlite-vec, the others as bit codes in blocks.

`vec_items` is searched exactly, and its time grows with what a scope holds: so it holds a tail, and once a tail is as
long as a block, its rows are laid into one. Of the blocks come candidates, many more than are wanted, which the
caller compares exactly. All three tables are derived from `embeddings` and can be dropped.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from recorder.store import codes
from recorder.store.db import Connection, has_vec

BLOCK_ROWS = 4096
TOGETHER = 8
"""Blocks whose signs are added up in one number: 8 take a third less time than one by one, 32 no less."""
DELETED_TOGETHER = 128
LEAST_CANDIDATES = 1024
OVERSAMPLED = 16
"""Candidates out of the blocks for each vector wanted. Of the ten nearest to noisy vectors of real transcripts (2,700)
1,024 candidates hold all, 320 .996; of the 64 nearest .999 and .955."""
MOST_K = 4096
"""vec0 refuses more (https://alexgarcia.xyz/sqlite-vec/features/knn.html)."""

_TABLES = (
    # A chunk belongs to one scope and owner: small ones, for most scopes are.
    "create virtual table vec_items using vec0(scope integer partition key, owner integer partition key,"
    " embedding int8[{dimension}] distance_metric=cosine, chunk_size=64)",
    "create table vec_tail (scope integer, owner integer, id integer, primary key (scope, owner, id)) without rowid",
    "create table vec_blocks (id integer primary key, scope integer not null, owner integer not null,"
    " least integer not null, most integer not null, ids blob not null, codes blob not null)",
    "create index vec_blocks_of on vec_blocks (scope, owner, least)",
)


def dimension(db: Connection) -> int | None:
    """What the index was made for; None when there is none, or one of another shape."""
    found = dict(
        db.execute("select name, sql from sqlite_schema where name in ('vec_items', 'vec_tail', 'vec_blocks')")
    )
    sql = str(found.get("vec_items", ""))
    if len(found) < 3 or "partition key" not in sql:
        return None
    return int(sql.split("int8[")[1].split("]")[0])


def usable(db: Connection) -> bool:
    """Whether there is an index, and sqlite-vec to use it with."""
    return has_vec(db) and dimension(db) is not None


def make(db: Connection, dimension: int, model: str | None) -> None:
    """Make the index anew from the rows of this model (None: of any). Runs inside the caller's transaction."""
    _empty(db)
    for name in ("vec_items", "vec_tail", "vec_blocks"):
        db.execute(f"drop table if exists {name}")
    for sql in _TABLES:
        db.execute(sql.format(dimension=int(dimension)))
    # In the order of the table and a block at a time: ids of a million rows, sorted for each scope, took 400 MB.
    waiting: dict[tuple[int, int], array[int]] = {}
    rows = db.execute(
        "select coalesce(scope_id, 0), owner = 'memory', id from embeddings"
        " where (?1 is null or model = ?1) and length(vector) = ?2 order by id",
        (model, dimension),
    )
    for scope, owner, row_id in rows:
        ids = waiting.setdefault((scope, owner), array("q"))
        ids.append(row_id)
        if len(ids) == BLOCK_ROWS:
            _to_block(db, scope, owner, _vectors(db, ids))
            del ids[:]
    for (scope, owner), ids in sorted(waiting.items()):
        _to_tail(db, scope, owner, _vectors(db, ids))


def _empty(db: Connection) -> None:
    # What a statement deletes is kept in memory until it ends, to be taken back: of a million rows 200 MB.
    for name in ("vec_items_vector_chunks00", "vec_blocks"):
        if list(db.execute("select 1 from sqlite_schema where name = ?", (name,))):
            sql = f"delete from {name} where rowid in (select rowid from {name} limit {DELETED_TOGETHER})"
            while list(db.execute(f"select 1 from {name} limit 1")):
                db.execute(sql)


def add(db: Connection, scope: int, owner: int, row_ids: Sequence[int]) -> None:
    """Index rows of `embeddings`. Scope 0 is nobody's: what no project could be found for is in no scope. Runs inside
    the caller's transaction."""
    in_tail = "from vec_tail where scope = ? and owner = ?"
    ((length,),) = db.execute(f"select count(*) {in_tail}", (scope, owner))
    if length + len(row_ids) < BLOCK_ROWS:
        _to_tail(db, scope, owner, _vectors(db, row_ids))
        return
    waiting = [row[0] for row in db.execute(f"select id {in_tail}", (scope, owner))]
    _off_tail(db, scope, owner, waiting)
    ids = sorted([*waiting, *row_ids])
    whole = len(ids) - len(ids) % BLOCK_ROWS
    for start in range(0, whole, BLOCK_ROWS):
        _to_block(db, scope, owner, _vectors(db, ids[start : start + BLOCK_ROWS]))
    _to_tail(db, scope, owner, _vectors(db, ids[whole:]))


def remove(db: Connection, scope: int, owner: int, row_ids: Iterable[int]) -> int:
    """Take rows out of the index, bit codes and all; how many left an empty place in a block. Runs inside the
    caller's transaction."""
    gone = set(row_ids)
    tail = [
        row_id
        for row_id in gone
        if list(db.execute("select 1 from vec_tail where scope = ? and owner = ? and id = ?", (scope, owner, row_id)))
    ]
    _off_tail(db, scope, owner, tail)
    gone.difference_update(tail)
    return sum(_blank(db, block, gone) for block in _blocks_of(db, scope, owner, gone))


def count(db: Connection) -> int:
    """How many rows it holds."""
    (tail,) = next(iter(db.execute("select count(*) from vec_tail")))
    blocks = db.execute("select ids from vec_blocks")
    return int(tail) + sum(len(ids) - ids.count(0) for ids in (array("q", row[0]) for row in blocks))


def blocks(db: Connection, scopes: Sequence[int]) -> int:
    """How many blocks the scopes have."""
    sql = "select count(*) from vec_blocks where scope in (select value from json_each(?))"
    ((number,),) = db.execute(sql, (json.dumps(list(scopes)),))
    return int(number)


def candidates(db: Connection, scopes: Sequence[int], owner: int, vector: bytes, wanted: int) -> list[int]:
    """Ids of rows in these scopes among which the `wanted` nearest to the vector are, or nearly all of them.

    The scope is a partition: rows of others are not read.
    """
    found: list[int] = []
    for scope in scopes:  # one at a time: `in` over a partition key gives k for each of them, and in no order
        rows = db.execute(
            "select rowid from vec_items where embedding match vec_int8(?) and k = ? and scope = ? and owner = ?",
            (vector, min(MOST_K, wanted), scope, owner),
        )
        found += [row[0] for row in rows]
    blocks: list[list[int]] = []
    counts = []
    for scope in scopes:
        rows = db.execute("select id, codes from vec_blocks where scope = ? and owner = ?", (scope, owner))
        while some := list(islice(rows, TOGETHER)):
            blocks.append([block_id for block_id, _ in some])
            counts.append(codes.distances([slices for _, slices in some], BLOCK_ROWS, vector))
    places = codes.nearest(
        counts, [len(some) * BLOCK_ROWS for some in blocks], max(LEAST_CANDIDATES, OVERSAMPLED * wanted)
    )
    return found + _ids_at(db, ((blocks[which][row // BLOCK_ROWS], row % BLOCK_ROWS) for which, row in places))


def _ids_at(db: Connection, places: Iterable[tuple[int, int]]) -> list[int]:
    found: list[int] = []
    rows_of: dict[int, list[int]] = {}
    for block_id, row in places:
        rows_of.setdefault(block_id, []).append(row)
    for block_id, rows in rows_of.items():
        for (packed,) in db.execute("select ids from vec_blocks where id = ?", (block_id,)):
            ids = array("q", packed)
            found += [ids[row] for row in rows if ids[row]]
    return found


def _vectors(db: Connection, ids: Sequence[int]) -> list[tuple[int, bytes]]:
    return list(
        db.execute(
            "select b.id, b.vector from json_each(?) j cross join embeddings b on b.id = j.value",
            (json.dumps(list(ids)),),
        )
    )


def _to_block(db: Connection, scope: int, owner: int, rows: Sequence[tuple[int, bytes]]) -> None:
    db.execute(
        "insert into vec_blocks (scope, owner, least, most, ids, codes) values (?, ?, ?, ?, ?, ?)",
        (
            scope,
            owner,
            rows[0][0],
            rows[-1][0],
            array("q", [row[0] for row in rows]).tobytes(),
            codes.sliced([row[1] for row in rows]),
        ),
    )


def _to_tail(db: Connection, scope: int, owner: int, rows: Sequence[tuple[int, bytes]]) -> None:
    db.executemany(
        "insert into vec_items (rowid, scope, owner, embedding) values (?, ?, ?, vec_int8(?))",
        [(row_id, scope, owner, vector) for row_id, vector in rows],
    )
    db.executemany(
        "insert into vec_tail (scope, owner, id) values (?, ?, ?)", [(scope, owner, row_id) for row_id, _ in rows]
    )


def _off_tail(db: Connection, scope: int, owner: int, ids: Sequence[int]) -> None:
    db.executemany("delete from vec_items where rowid = ?", [(row_id,) for row_id in ids])
    db.executemany(
        "delete from vec_tail where scope = ? and owner = ? and id = ?", [(scope, owner, row_id) for row_id in ids]
    )


def _blocks_of(db: Connection, scope: int, owner: int, ids: Iterable[int]) -> Iterator[int]:
    found = {
        block_id
        for row_id in ids
        for (block_id,) in db.execute(
            "select id from vec_blocks where scope = ?1 and owner = ?2 and least <= ?3 and most >= ?3",
            (scope, owner, row_id),
        )
    }
    yield from sorted(found)


def _blank(db: Connection, block_id: int, gone: set[int]) -> int:
    ((packed, slices),) = db.execute("select ids, codes from vec_blocks where id = ?", (block_id,))
    ids = array("q", packed)
    places = [place for place, row_id in enumerate(ids) if row_id in gone]
    for place in places:
        ids[place] = 0
    if any(ids):
        db.execute(
            "update vec_blocks set ids = ?, codes = ? where id = ?",
            (ids.tobytes(), codes.blanked(slices, len(ids), places), block_id),
        )
    else:
        db.execute("delete from vec_blocks where id = ?", (block_id,))
    return len(places)
