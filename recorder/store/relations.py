"""Links between memories."""

from __future__ import annotations

from dataclasses import dataclass

from recorder.store.db import Connection


@dataclass(frozen=True, slots=True)
class Relation:
    """`from_id` stands in this relation to `to_id`."""

    id: int
    from_id: int
    to_id: int
    relation: str


def add(db: Connection, from_id: int, to_id: int, relation: str, *, actor: str, now_ms: int) -> int:
    """The id of the link, made now or before."""
    db.execute(
        "insert into relations (from_id, to_id, relation, created_ms, actor) values (?, ?, ?, ?, ?)"
        " on conflict (from_id, to_id, relation) do nothing",
        (from_id, to_id, relation, now_ms, actor),
    )
    rows = db.execute(
        "select id from relations where from_id = ? and to_id = ? and relation = ?", (from_id, to_id, relation)
    )
    return int(next(iter(rows))[0])


def get(db: Connection, relation_id: int) -> Relation | None:
    """The link with this id."""
    for row in db.execute("select id, from_id, to_id, relation from relations where id = ?", (relation_id,)):
        return Relation(*row)
    return None


def remove(db: Connection, relation_id: int) -> None:
    """Take the link away."""
    db.execute("delete from relations where id = ?", (relation_id,))


def touching(db: Connection, memory_id: int) -> list[Relation]:
    """Links from or to the memory."""
    rows = db.execute(
        "select id, from_id, to_id, relation from relations where from_id = ?1 or to_id = ?1 order by id", (memory_id,)
    )
    return [Relation(*row) for row in rows]


def drawn_from(db: Connection, memory_id: int, relation: str) -> list[int]:
    """Every memory that stands in the relation to this one, or to one that does, and so on; itself never, cycles or
    not."""
    rows = db.execute(
        "with recursive drawn (id) as (select from_id from relations where to_id = ?1 and relation = ?2"
        " union select r.from_id from relations r join drawn d on r.to_id = d.id where r.relation = ?2)"
        " select id from drawn where id <> ?1 order by id",
        (memory_id, relation),
    )
    return [row[0] for row in rows]
