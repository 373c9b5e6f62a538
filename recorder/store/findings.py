"""What a person must look at: losing proposals, wishes to delete, and memories that do not go together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from recorder.models import Scope
from recorder.store import digests, policy
from recorder.store.db import Connection

PURPOSE = "pair"
PAIRS = ("duplicate", "contradiction")
"""The kinds that are about two memories."""

WISHES = ("delete_proposal", "label_proposal")
"""The kinds that ask for something about a memory as it stands."""

LAPSED = "lapsed"
"""The disposition of a wish that nobody decided about: the words it was about do not stand any more, or it is done."""

OPEN_AT_ONCE = 5
"""Findings of one channel about one memory that wait at a time."""

_COLUMNS = (
    "f.id, f.kind, f.memory_id, f.other_id, f.project_id, f.proposal, f.state, f.disposition, f.reason, f.created_ms,"
    " m.namespace, m.key, v.value, o.namespace, o.key, w.value"
)
_NAMES = (
    *("id", "kind", "memory_id", "other_id", "project_id", "proposal", "state", "disposition", "reason", "created_ms"),
    *("namespace", "key", "value", "other_namespace", "other_key", "other_value"),
)
_JOINED = (
    "from findings f left join memories m on m.id = f.memory_id left join memory_versions v on v.id = m.version_id"
    " left join memories o on o.id = f.other_id left join memory_versions w on w.id = o.version_id"
)


def add(
    db: Connection,
    kind: str,
    *,
    memory_id: int | None,
    project_id: str | None,
    proposal: object,
    reason: str,
    now_ms: int,
    other_id: int | None = None,
    pair: str | None = None,
) -> int:
    """Open a finding, or find the one that says the same, open or resolved; its id."""
    text = json.dumps(proposal, ensure_ascii=True, sort_keys=True)
    for found in same(db, pair) if pair is not None else _like(db, kind, memory_id, text):
        return found
    db.execute(
        "insert into findings (kind, memory_id, project_id, proposal, reason, created_ms, other_id, pair)"
        " values (?, ?, ?, ?, ?, ?, ?, ?)",
        (kind, memory_id, project_id, text, reason, now_ms, other_id, pair),
    )
    made = db.last_insert_rowid()
    if memory_id is not None:
        _supersede(db, made, now_ms)
    return made


def _supersede(db: Connection, finding_id: int, now_ms: int) -> None:
    """Close the oldest open findings that one channel raised about one memory, but for the newest few."""
    db.execute(
        "update findings set state = 'resolved', disposition = 'superseded', resolved_ms = ?2, pair = null"
        " where id in (select f.id from findings n join findings f on f.memory_id = n.memory_id and f.kind = n.kind"
        " and f.proposal ->> '$.channel' is n.proposal ->> '$.channel' and f.state = 'open'"
        " where n.id = ?1 and n.other_id is null order by f.id desc limit -1 offset ?3)",
        (finding_id, now_ms, OPEN_AT_ONCE),
    )


def superseded(db: Connection, memory_id: int, kind: str) -> int:
    """How many findings of a kind about a memory gave way to later ones that nobody has looked at."""
    rows = db.execute(
        "select count(*) from findings where memory_id = ?1 and kind = ?2 and disposition = 'superseded' and"
        " id > coalesce((select max(id) from findings where memory_id = ?1 and kind = ?2 and state = 'resolved'"
        " and disposition <> 'superseded'), 0)",
        (memory_id, kind),
    )
    return int(next(iter(rows))[0])


def _like(db: Connection, kind: str, memory_id: int | None, text: str) -> list[int]:
    rows = db.execute(
        "select id from findings where kind = ? and memory_id is ? and proposal = ? and disposition is not ?"
        " order by id limit 1",
        (kind, memory_id, text, LAPSED),
    )
    return [row[0] for row in rows]


def pair_of(db: Connection, sides: Iterable[tuple[int, str]], now_ms: int) -> str:
    """What two sides (memory, value) that do not go together are known by, in whichever order; of the values a keyed
    digest."""
    return digests.of(db, PURPOSE, json.dumps(sorted(sides)), now_ms)


def same(db: Connection, pair: str) -> list[int]:
    """The findings about this very pair of values, open or resolved."""
    return [row[0] for row in db.execute("select id from findings where pair = ? order by id", (pair,))]


def is_resolved(db: Connection, pair: str) -> bool:
    """Whether a person decided about the pair."""
    return bool(list(db.execute("select 1 from findings where pair = ? and state = 'resolved' limit 1", (pair,))))


def get(db: Connection, finding_id: int) -> dict[str, Any] | None:
    """One finding with both sides as they stand now."""
    for row in db.execute(f"select {_COLUMNS} {_JOINED} where f.id = ?", (finding_id,)):
        return _shaped(row)
    return None


def raised(db: Connection, memory_id: int, value: str) -> bool:
    """Whether a conflict of the memory with this very value was ever put before a person."""
    rows = db.execute(
        "select 1 from findings where kind = 'conflict' and memory_id = ?"
        " and json_extract(proposal, '$.value') = ? limit 1",
        (memory_id, value),
    )
    return bool(list(rows))


def listing(db: Connection, scope: Scope | None, *, state: str = "open", limit: int = 100) -> list[dict[str, Any]]:
    """Findings of the scope, or of everywhere for a person; the oldest first. What was proposed outside
    every project has the project '', and is told there."""
    rows = db.execute(
        f"select {_COLUMNS} {_JOINED} where f.state = ?1 and (?2 or f.project_id is null"
        " or f.project_id = coalesce(?3, '') or (?5 and f.project_id = '')) order by f.id limit ?4",
        (state, scope is None, scope.project_id if scope else None, limit, scope is not None and scope.undecided),
    )
    return [_shaped(row) for row in rows]


def about(db: Connection, memory_id: int, *, kinds: tuple[str, ...] = PAIRS) -> list[dict[str, Any]]:
    """The open findings of these kinds that a memory is a side of, the oldest first."""
    rows = db.execute(
        f"select {_COLUMNS} {_JOINED} where f.state = 'open' and (f.memory_id = ?1 or f.other_id = ?1)"
        " and f.kind in (select value from json_each(?2)) order by f.id",
        (memory_id, json.dumps(kinds)),
    )
    return [_shaped(row) for row in rows]


def _shaped(row: tuple[Any, ...]) -> dict[str, Any]:
    found = dict(zip(_NAMES, row, strict=True))
    return found | {"proposal": json.loads(found["proposal"])}


def near(db: Connection, memory_id: int, words: Sequence[str], key_words: Sequence[str], limit: int) -> list[int]:
    """Ids of standing memories of the same scope row that hold one of the words, or all of the key's in their key, the
    likeliest first."""
    asked = " OR ".join(_quoted(word) for word in words)
    named = " AND ".join(f"key : {_quoted(word)}" for word in key_words)
    together = " OR ".join(part for part in (asked, f"({named})" if named else "") if part)
    if not together:
        return []
    rows = db.execute(
        "select m.id from memory_words f cross join memory_versions v on v.id = f.rowid"
        " join memories m on m.id = v.memory_id and m.version_id = v.id"
        " where memory_words match :match and m.id <> :id"
        f" and m.scope_id = (select scope_id from memories where id = :id) and {policy.condition('list')}"
        " order by bm25(memory_words), m.id limit :limit",
        {"match": together, "id": memory_id, "limit": limit},
    )
    return [row[0] for row in rows]


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def changed_since(db: Connection, history_id: int, limit: int) -> list[tuple[int, int]]:
    """(last line of its history, memory) of memories that changed after a line of the history, in that order."""
    rows = db.execute(
        "select max(id), memory_id from (select id, memory_id from memory_history where id > ? order by id limit ?)"
        " group by memory_id order by 1",
        (history_id, limit),
    )
    return list(rows)


def looked_until(db: Connection) -> int:
    """The last line of the history that conflicts were looked for behind."""
    for (line,) in db.execute("select value from counters where name = 'conflicts_looked_until'"):
        return int(line)
    return 0


def note_looked(db: Connection, history_id: int, now_ms: int) -> None:
    """Remember how far conflicts were looked for."""
    db.execute(
        "insert into counters (name, value, at_ms) values ('conflicts_looked_until', ?1, ?2)"
        " on conflict (name) do update set value = max(value, ?1), at_ms = ?2",
        (history_id, now_ms),
    )


def drop(db: Connection, finding_id: int, now_ms: int) -> None:
    """Close a finding about what no longer stands; the same may be found again."""
    db.execute(
        "update findings set state = 'resolved', disposition = 'moot', resolved_ms = ?, pair = null"
        " where id = ? and state = 'open'",
        (now_ms, finding_id),
    )


def resolve(db: Connection, finding_id: int, disposition: str, now_ms: int) -> bool:
    """Close a finding. False when it was not open."""
    db.execute(
        "update findings set state = 'resolved', disposition = ?, resolved_ms = ? where id = ? and state = 'open'",
        (disposition, now_ms, finding_id),
    )
    return bool(db.changes())


def lapse(db: Connection, memory_id: int, now_ms: int) -> None:
    """Close the wishes about a memory whose words do not stand any more."""
    for one in about(db, memory_id, kinds=WISHES):
        resolve(db, one["id"], LAPSED, now_ms)


def open_count(db: Connection) -> int:
    """How many findings wait for a person."""
    return int(next(iter(db.execute("select count(*) from findings where state = 'open'")))[0])


def pending_forgets(db: Connection) -> list[dict[str, Any]]:
    """What was asked to be forgotten and is not gone to the last byte, the oldest first."""
    rows = db.execute(
        "select id, asked_ms, actor, reason, reached, unreached from forgets where state = 'pending' order by id"
    )
    return [
        {"id": row[0], "asked_ms": row[1], "actor": row[2], "reason": row[3]}
        | {"reached": json.loads(row[4]), "unreached": json.loads(row[5])}
        for row in rows
    ]


def unverified(db: Connection, scope: Scope | None, *, limit: int) -> list[int]:
    """Ids of the candidates and disputed memories of the scope, or of everywhere for a person, the oldest first; what a
    finding is open about waits as that finding."""
    rows = db.execute(
        "select m.id from memories m join memory_versions v on v.id = m.version_id"
        f" where {policy.condition('review')}"
        f" and (?2 or {policy.visible('?1')} or (?4 and m.home_project_id = ''))"
        " and not exists (select 1 from findings f where f.state = 'open' and f.kind in ('duplicate', 'contradiction')"
        " and m.id in (f.memory_id, f.other_id)) order by v.recorded_ms, m.id limit ?3",
        (scope.project_id if scope else None, scope is None, limit, scope is not None and scope.undecided),
    )
    return [row[0] for row in rows]


def refusals(db: Connection, since_ms: int, limit: int) -> list[dict[str, Any]]:
    """What the gate refused, the latest first: when, who, through which door, why. Of what was said nothing is kept."""
    rows = db.execute(
        "select id, at_ms, actor, channel, reason from audit where action = 'refused' and at_ms >= ?"
        " order by id desc limit ?",
        (since_ms, limit),
    )
    return [dict(zip(("id", "at_ms", "actor", "channel", "reason"), row, strict=True)) for row in rows]
