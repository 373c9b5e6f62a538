"""The search tables: derived, asserted at every open, rebuilt from their rows when they differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol


class Database(Protocol):
    """What an open database can do, for the one module that `db` itself builds upon."""

    def execute(self, statements: str, bindings: Sequence[Any] | None = None, /) -> Iterable[Any]:
        """The rows of the statements."""


EVENT_TABLES = {
    "event_words": (
        "create virtual table event_words using fts5"
        " (excerpt, scope, content='event_texts', content_rowid='id', tokenize='porter unicode61')"
    ),
    "event_trigrams": (
        "create virtual table event_trigrams using fts5"
        " (narrow, content='events', content_rowid='id', tokenize='trigram')"
    ),
}

IN_SCOPE = "inscope"
"""With the scope's id it is the word that stands in the column `scope` of `event_words`: see the view `event_texts`."""

MEMORY_TABLES = {
    "memory_words": "create virtual table memory_words using fts5 (key, value, tags, tokenize='porter unicode61')",
    "memory_trigrams": "create virtual table memory_trigrams using fts5 (text, tokenize='trigram')",
}


def as_expected(db: Database) -> bool:
    """Whether every search table has the shape this code writes."""
    found = dict(db.execute("select name, sql from sqlite_schema where type = 'table' and sql like '%using fts5%'"))
    return all(found.get(name, "").lower() == sql for name, sql in (EVENT_TABLES | MEMORY_TABLES).items())


def assert_shapes(db: Database) -> None:
    """Make every search table anew whose shape differs, and fill it from its rows."""
    found = dict(db.execute("select name, sql from sqlite_schema where type = 'table' and sql like '%using fts5%'"))
    for name, sql in (EVENT_TABLES | MEMORY_TABLES).items():
        if found.get(name, "").lower() != sql:
            _make(db, name, sql)


def rebuild(db: Database) -> None:
    """Make every search table anew from its rows. Runs inside the caller's transaction."""
    for name, sql in (EVENT_TABLES | MEMORY_TABLES).items():
        _make(db, name, sql)


def _make(db: Database, name: str, sql: str) -> None:
    db.execute(f"drop table if exists {name}")
    db.execute(sql)
    # https://sqlite.org/fts5.html#the_secure_delete_configuration_option: a deleted term leaves the index at once.
    db.execute(f"insert into {name} ({name}, rank) values ('secure-delete', 1)")
    if name in EVENT_TABLES:
        db.execute(f"insert into {name} ({name}) values ('rebuild')")
    else:
        fill_memories(db, name)


def fill_memories(db: Database, name: str) -> None:
    """Index every version of every memory in the table `name`; recall filters what is current."""
    columns = "(rowid, key, value, tags)" if name == "memory_words" else "(rowid, text)"
    values = "v.id, m.key, v.value, v.tags" if name == "memory_words" else "v.id, m.key || ' ' || v.value"
    db.execute(
        f"insert into {name} {columns} select {values} from memory_versions v join memories m on m.id = v.memory_id"
    )


def index_version(db: Database, version_id: int, key: str, value: str, tags: str) -> None:
    """Index one version of a memory. Runs inside the caller's transaction."""
    db.execute("insert into memory_words (rowid, key, value, tags) values (?, ?, ?, ?)", (version_id, key, value, tags))
    db.execute("insert into memory_trigrams (rowid, text) values (?, ?)", (version_id, f"{key} {value}"))


def unindex_version(db: Database, version_id: int) -> None:
    """Take one version of a memory out of search. Runs inside the caller's transaction."""
    db.execute("delete from memory_words where rowid = ?", (version_id,))
    db.execute("delete from memory_trigrams where rowid = ?", (version_id,))
