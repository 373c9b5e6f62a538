"""Events that hold a name somewhere inside, out of an index that does not know the scope."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recorder.store import policy
from recorder.store.db import Connection

MOST_ROWS = 50_000
"""A name that more rows of the store hold is common: to rank a million rows took 370 ms, to look at these takes 20."""
NEWEST = 2_000
"""So many of the scope's own newest rows are read besides, for a common name: of a scope with fewer none is missed."""
ENOUGH = 400
"""Of the rows in the scope that hold a common name so many are weighed."""

Scored = list[tuple[int, float]]


def events(
    db: Connection, parts: Sequence[str], wanted: str, values: Mapping[str, Any], limit: int
) -> tuple[Scored, bool]:
    """(id, score) of the best events that hold one of the parts, of those `wanted` (a condition on `e`), and whether
    all that hold one were looked at."""
    if not parts:
        return [], True
    common = [part for part in parts if _is_common(db, part)]
    if not common:
        return _ranked(db, parts, wanted, values, limit), True
    least = max(MOST_ROWS // len(parts), NEWEST)
    holding = {part: _newest_holding(db, part, wanted, values, least) for part in parts}
    own = _texts(db, newest(db, wanted, values, NEWEST))
    folded = [part.lower() for part in parts]
    texts = {n: text for n, text in own.items() if any(part in text for part in folded)}
    missing = {n for ids in holding.values() for n in ids} - texts.keys()
    texts |= _texts(db, missing)
    # What few of the rows looked at hold says more.
    spread = [sum(part in text for text in texts.values()) for part in folded]
    worth = [math.log(1 + len(texts) / (1 + count)) for count in spread]
    found = [
        (n, sum(value for part, value in zip(folded, worth, strict=True) if part in text)) for n, text in texts.items()
    ]
    found = sorted(((n, score) for n, score in found if score), key=lambda one: (-one[1], -one[0]))[:limit]
    return found, len(own) < NEWEST or len(found) == limit


def newest(db: Connection, wanted: str, values: Mapping[str, Any], most: int) -> list[int]:
    """Ids of the newest events that are wanted, the newest first."""
    # Scope by scope: in the index of each the newest stand first, and the others are not read.
    scopes = list(db.execute(f"select id from scopes where id in {policy.scope_ids(':project')}", values))
    sql = (
        f"select e.at_ms, e.id from events e where e.scope_id = :one and {wanted}"
        " order by e.at_ms desc, e.id desc limit :newest"
    )
    rows = [row for (scope,) in scopes for row in db.execute(sql, {**values, "one": scope, "newest": most})]
    return [row_id for _, row_id in sorted(rows, reverse=True)[:most]]


def any_of(parts: Iterable[str]) -> str:
    """An FTS5 query for rows with any of the parts, each of them a quoted string: no part is ever syntax."""
    return " OR ".join('"' + part.replace('"', '""') + '"' for part in parts)


def _is_common(db: Connection, part: str) -> bool:
    sql = "select count(*) from (select 1 from event_trigrams where event_trigrams match ? limit ?)"
    ((count,),) = db.execute(sql, (any_of([part]), MOST_ROWS + 1))
    return bool(count > MOST_ROWS)


def _ranked(db: Connection, parts: Sequence[str], wanted: str, values: Mapping[str, Any], limit: int) -> Scored:
    # The search table is the outer loop, the scope drops a row before bm25 is worked out for it;
    # `order by bm25(t)` is faster than `order by rank` when joined.
    return list(
        db.execute(
            "select e.id, -bm25(event_trigrams) from event_trigrams f cross join events e on e.id = f.rowid"
            f" where event_trigrams match :match and {wanted}"
            " order by bm25(event_trigrams), e.id desc limit :limit",
            {**values, "match": any_of(parts), "limit": limit},
        )
    )


def _newest_holding(db: Connection, part: str, wanted: str, values: Mapping[str, Any], least: int) -> list[int]:
    rows = db.execute(
        "with held as materialized (select rowid as id from event_trigrams where event_trigrams match :match"
        " order by rowid desc limit :least)"
        f" select e.id from held h cross join events e on e.id = h.id where {wanted} limit :enough",
        {**values, "match": any_of([part]), "least": least, "enough": ENOUGH},
    )
    return [row[0] for row in rows]


def _texts(db: Connection, ids: Iterable[int]) -> dict[int, str]:
    rows = db.execute(
        "select id, narrow from events where id in (select value from json_each(?))", (json.dumps(list(ids)),)
    )
    return {n: text.lower() for n, text in rows}
