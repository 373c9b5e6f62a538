"""What a person must look at: losing proposals and proposals to delete."""

from __future__ import annotations

import json
from typing import Any

from recorder.models import Scope
from recorder.store.db import Connection


def add(
    db: Connection,
    kind: str,
    *,
    memory_id: int | None,
    project_id: str | None,
    proposal: object,
    reason: str,
    now_ms: int,
) -> int:
    """Open a finding, or find the open one that says the same; its id."""
    text = json.dumps(proposal, ensure_ascii=True, sort_keys=True)
    rows = db.execute(
        "select id from findings where kind = ? and memory_id is ? and proposal = ? order by id limit 1",
        (kind, memory_id, text),
    )
    for (found,) in rows:
        return int(found)
    db.execute(
        "insert into findings (kind, memory_id, project_id, proposal, reason, created_ms) values (?, ?, ?, ?, ?, ?)",
        (kind, memory_id, project_id, text, reason, now_ms),
    )
    return db.last_insert_rowid()


def raised(db: Connection, memory_id: int, value: str) -> bool:
    """Whether a conflict of the memory with this very value was ever put before a person."""
    rows = db.execute(
        "select 1 from findings where kind = 'conflict' and memory_id = ?"
        " and json_extract(proposal, '$.value') = ? limit 1",
        (memory_id, value),
    )
    return bool(list(rows))


def listing(db: Connection, scope: Scope | None, *, state: str = "open", limit: int = 100) -> list[dict[str, Any]]:
    """Findings of the scope, or of everywhere for a person; the oldest first."""
    rows = db.execute(
        "select f.id, f.kind, f.memory_id, f.proposal, f.state, f.reason, f.created_ms, m.namespace, m.key, v.value"
        " from findings f left join memories m on m.id = f.memory_id left join memory_versions v on v.id = m.version_id"
        " where f.state = ?1 and (?2 or f.project_id is null or f.project_id is ?3) order by f.id limit ?4",
        (state, scope is None, scope.project_id if scope else None, limit),
    )
    names = ("id", "kind", "memory_id", "proposal", "state", "reason", "created_ms", "namespace", "key", "value")
    return [dict(zip(names, row, strict=True)) | {"proposal": json.loads(row[3])} for row in rows]


def resolve(db: Connection, finding_id: int, disposition: str, now_ms: int) -> bool:
    """Close a finding. False when it was not open."""
    db.execute(
        "update findings set state = 'resolved', disposition = ?, resolved_ms = ? where id = ? and state = 'open'",
        (disposition, now_ms, finding_id),
    )
    return bool(db.changes())


def open_count(db: Connection) -> int:
    """How many findings wait for a person."""
    return int(next(iter(db.execute("select count(*) from findings where state = 'open'")))[0])
