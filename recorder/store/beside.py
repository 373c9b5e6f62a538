"""What stands before and after an event in its session."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from recorder.models import Scope
from recorder.store.db import Connection
from recorder.store.only import EVENT_IN_SCOPE, Only, bound

LOOKED_AT = 16
"""Rows passed over at most on each side: between two events of one thread stand those of others."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Ids of the events of the same thread that say something, nearest first."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


def beside(
    db: Connection, scope: Scope, ids: Iterable[int], *, before: int, after: int, now_ms: int, only: Only
) -> dict[int, Beside]:
    """At most so many events on each side of each of these, as far as the caller may see them, of any kind."""
    values = {**bound(scope, now_ms, only), "kinds": None, "ids": json.dumps(list(ids)), "looked_at": LOOKED_AT}
    found: dict[int, tuple[list[int], list[int]]] = {}
    for side, (order, sign, limit) in enumerate((("desc", "<", before), ("asc", ">", after))):
        sql = (
            "select h.id, e.id from json_each(:ids) j cross join events h on h.id = j.value"
            " cross join events e on e.id in (select e.id from (select * from events n where"
            f" n.session_id = h.session_id and (n.at_ms, n.id) {sign} (h.at_ms, h.id)"
            f" order by n.at_ms {order}, n.id {order} limit :looked_at) e"
            f" where e.agent_id is h.agent_id and e.excerpt <> '' and {EVENT_IN_SCOPE}"
            f" order by e.at_ms {order}, e.id {order} limit :limit)"
            f" order by h.id, e.at_ms {order}, e.id {order}"
        )
        for here, other in db.execute(sql, {**values, "limit": limit}):
            found.setdefault(here, ([], []))[side].append(other)
    return {here: Beside(tuple(earlier), tuple(later)) for here, (earlier, later) in found.items()}


def texts(db: Connection, ids: Iterable[int]) -> dict[int, str]:
    """What search looks at, of events that `beside` gave."""
    sql = "select id, excerpt from events where id in (select value from json_each(?))"
    return dict(db.execute(sql, (json.dumps(list(ids)),)))
