"""Links between memories."""

from __future__ import annotations

from dataclasses import dataclass

from recorder.models import Channel
from recorder.store.db import Connection


@dataclass(frozen=True, slots=True)
class Relation:
    """`from_id` stands in this relation to `to_id`."""

    id: int
    from_id: int
    to_id: int
    relation: str


def add(db: Connection, from_id: int, to_id: int, relation: str, *, channel: Channel, actor: str, now_ms: int) -> int:
    """The id of the link, made now or before."""
    db.execute(
        "insert into relations (from_id, to_id, relation, created_ms, actor, channel) values (?, ?, ?, ?, ?, ?)"
        " on conflict (from_id, to_id, relation) do nothing",
        (from_id, to_id, relation, now_ms, actor, channel.value),
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


def maker(db: Connection, relation_id: int) -> Channel:
    """The door a link came through."""
    for (name,) in db.execute("select channel from relations where id = ?", (relation_id,)):
        return Channel(name)
    raise LookupError(relation_id)


def take_over(db: Connection, relation_id: int, *, channel: Channel, actor: str) -> None:
    """Let the link be somebody else's, who makes it again."""
    db.execute("update relations set channel = ?, actor = ? where id = ?", (channel.value, actor, relation_id))


def touching(db: Connection, memory_id: int) -> list[Relation]:
    """Links from or to the memory."""
    rows = db.execute(
        "select id, from_id, to_id, relation from relations where from_id = ?1 or to_id = ?1 order by id", (memory_id,)
    )
    return [Relation(*row) for row in rows]


def of(db: Connection, memory_id: int, relation: str) -> list[tuple[int, Channel]]:
    """(memory, door of the link) of everything that a memory stands in the relation to."""
    rows = db.execute(
        "select to_id, channel from relations where from_id = ? and relation = ? order by to_id", (memory_id, relation)
    )
    return [(to_id, Channel(name)) for to_id, name in rows]


def onto(db: Connection, memory_id: int, relation: str) -> list[tuple[int, Channel]]:
    """(memory, door of the link) of every memory that stands in the relation to this one."""
    rows = db.execute(
        "select from_id, channel from relations where to_id = ? and relation = ? order by from_id",
        (memory_id, relation),
    )
    return [(from_id, Channel(name)) for from_id, name in rows]
