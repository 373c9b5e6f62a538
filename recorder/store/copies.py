"""Whole copies of the database, made while others read and write."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from recorder.store.db import Connection, checkpoint

PAGES_A_STEP = 4096
SKIPPED = "backup_skipped"


def copy(source: Connection, target: Connection) -> None:
    """Make the target hold what the source holds at this moment. Readers of the target see the old content or the new.

    Raises: DatabaseError when the target is in use for longer than the busy timeout.
    """
    # A read transaction keeps one moment in view: without it every write of somebody else begins the copy anew
    # (https://sqlite.org/c3ref/backup_finish.html).
    source.execute("begin")
    try:
        source.execute("select count(*) from sqlite_schema").get
        with target.backup("main", source, "main") as steps:
            while not steps.done:
                steps.step(PAGES_A_STEP)
    finally:
        source.execute("rollback")


def as_one_file(db: Connection) -> None:
    """Let the database be a single file, without a log beside it."""
    db.execute("pragma journal_mode = delete").get


def flush(db: Connection) -> bool:
    """Whether the whole log reached the file: an open reader prevents it, and is not waited for."""
    return checkpoint(db)


def damage(db: Connection) -> str | None:
    """What SQLite finds wrong when it looks at all of it, or None."""
    for (found,) in db.execute("pragma integrity_check(1)"):
        return None if found == "ok" else str(found)
    return None


def counts(db: Connection) -> dict[str, int]:
    """How many rows stand in the tables that say what a copy holds."""
    found = {}
    for table in ("events", "sessions", "memories", "tombstones", "audit"):
        if list(db.execute("select 1 from sqlite_schema where type = 'table' and name = ?", (table,))):
            found[table] = int(next(iter(db.execute(f"select count(*) from {table}")))[0])
    return found


def size_bytes(db: Connection) -> int:
    """How large a copy of the database is."""
    return int(db.pragma("page_count") or 0) * int(db.pragma("page_size") or 0)


def changed(db: Connection) -> int:
    """A number that is another one after somebody else wrote."""
    return int(next(iter(db.execute("pragma data_version")))[0])


def note(db: Connection, path: Path, what: str, now_ms: int) -> None:
    """Remember where a copy of what we hold was put. `what`: export or backup."""
    db.execute(
        "insert into copies (path, what, made_ms) values (?, ?, ?)"
        " on conflict (path) do update set what = excluded.what, made_ms = excluded.made_ms",
        (str(path.resolve()), what, now_ms),
    )


def unnote(db: Connection, paths: Iterable[Path]) -> None:
    """These copies are gone."""
    db.executemany("delete from copies where path = ?", [(str(path.resolve()),) for path in paths])


def noted(db: Connection, what: str) -> list[str]:
    """Where copies were put, the oldest first."""
    return [row[0] for row in db.execute("select path from copies where what = ? order by made_ms, path", (what,))]


def skipped(db: Connection) -> tuple[int | None, str | None]:
    """(when, why) a daily backup could not be made the last time."""
    for at_ms, note in db.execute("select at_ms, note from counters where name = ?", (SKIPPED,)):
        return at_ms, note
    return None, None
