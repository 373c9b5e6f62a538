"""Files that tool calls named, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recorder.models import EventKind, Scope
from recorder.store import db as store
from recorder.store import journal
from tests.memory_samples import NOW_MS, A, B, add_event, opened


@pytest.fixture
def db(tmp_path: Path) -> Iterator[store.Connection]:
    connection = opened(tmp_path)
    for n, (scope, path, action) in enumerate(
        (
            (A, "src/b.py", "read"),
            (A, "src/b.py", "write"),
            (A, "docs/a.md", "read"),
            (B, "docs/a.md", "write"),
            (B, "lib/c.py", "read"),
        )
    ):
        event = add_event(connection, scope, f"call {n}", kind=EventKind.TOOL_CALL, at_ms=NOW_MS + n)
        connection.execute("insert into files (event_id, path, action) values (?, ?, ?)", (event, path, action))
    yield connection
    connection.close()


def listed(db: store.Connection, scope: Scope | None, **more: str) -> list[tuple[str, int, int, int]]:
    found = journal.file_page(db, scope, limit=2, **{"under": "", "after": "", **more})
    return [(one.path, one.reads, one.writes, one.last_ms - NOW_MS) for one in found]


def test_a_project_lists_its_own_files_by_path_and_everywhere_lists_all(db: store.Connection) -> None:
    assert listed(db, A) == [("docs/a.md", 1, 0, 2), ("src/b.py", 1, 1, 1)]
    assert listed(db, B) == [("docs/a.md", 0, 1, 3), ("lib/c.py", 1, 0, 4)]
    assert listed(db, None) == [("docs/a.md", 1, 1, 3), ("lib/c.py", 1, 0, 4)]


def test_the_next_page_goes_on_behind_a_path_and_a_beginning_narrows(db: store.Connection) -> None:
    assert listed(db, None, after="lib/c.py") == [("src/b.py", 1, 1, 1)]
    assert listed(db, A, after="docs/a.md") == [("src/b.py", 1, 1, 1)]
    assert listed(db, A, under="src/") == [("src/b.py", 1, 1, 1)]
    assert listed(db, A, under="src_") == []
