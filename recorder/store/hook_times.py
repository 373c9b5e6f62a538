"""How long our hooks took, by the client's own clock."""

from __future__ import annotations

from collections.abc import Iterable

from recorder.models import HookTime
from recorder.store.db import Connection


def keep(db: Connection, found: Iterable[HookTime]) -> None:
    """Note them. Twice is once."""
    db.executemany(
        "insert or ignore into hook_times (id, at_ms, hook, took_ms) values (?, ?, ?, ?)",
        [(one.id, one.at_ms, one.hook, one.took_ms) for one in found],
    )


def between(db: Connection, from_ms: int, until_ms: int, limit: int) -> list[tuple[int, int]]:
    """(when, milliseconds) of the hooks between two moments, the latest first."""
    rows = db.execute(
        "select at_ms, took_ms from hook_times where at_ms >= ? and at_ms < ? order by at_ms desc limit ?",
        (from_ms, until_ms, limit),
    )
    return list(rows)
