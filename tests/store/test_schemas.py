"""Old databases in new code, and old code on new databases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recorder import gate
from recorder.models import Channel, MemoryKind, Origin, Proposal, Scope, State
from recorder.recall import rank
from recorder.store import audit, copies, events, jobs, memories, sessions, vectors
from recorder.store.db import Connection, connect, has_vec, migrations, version
from tests.store.schemas import NUMBERS, T0, filled

PROJECT = "old-00000001"
STATEMENTS = sorted(Path(__file__).parent.glob("statements_*.jsonl"))


def tables(db: Connection) -> list[str]:
    """Those that hold rows of their own."""
    return [
        name
        for name, sql in db.execute("select name, sql from sqlite_schema where type = 'table' order by name")
        if "virtual table" not in sql.lower()
        and not name.startswith(("sqlite_", "event_words", "event_trigrams"))
        and not name.startswith(("memory_words", "memory_trigrams", "vec_items"))
    ]


def counts(db: Connection, names: list[str]) -> dict[str, int]:
    return {name: next(iter(db.execute(f"select count(*) from {name}")))[0] for name in names}


def shape(db: Connection) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for (name,) in list(db.execute("select name from sqlite_schema where type = 'table' order by name")):
        indexes = sorted(db.execute(f"pragma index_list({name})"), key=lambda row: row[1])
        found[name] = [
            *db.execute(f"pragma table_info({name})"),
            *(row[1:] for row in indexes),
            *(row for index in indexes for row in db.execute(f"pragma index_info({index[1]})")),
        ]
    found["triggers"] = sorted(db.execute("select name, sql from sqlite_schema where type = 'trigger'"))
    return found


@pytest.mark.parametrize("schema", NUMBERS)
def test_a_database_of_an_earlier_schema_opens_with_its_rows_orphans_included(tmp_path: Path, schema: int) -> None:
    old = filled(tmp_path / "recorder.db", schema)
    names = tables(old)
    before = counts(old, names)
    assert min(before[name] for name in names if name not in NOT_FILLED) > 0
    old.close()
    db = connect(tmp_path / "recorder.db")
    assert version(db) == migrations()[-1][0]
    assert counts(db, names) == before
    assert copies.damage(db) is None
    kept, deleted = memories.find(db, "user", "preference.old"), memories.find(db, f"project.{PROJECT}", "command.test")
    assert kept is not None and (kept.value, kept.state) == ("I prefer uv to pip", State.ACTIVE)
    assert deleted is not None and deleted.state is State.DELETED
    assert [quote for _, quote in memories.evidence(db, kept.version_id)] == ["Always use uv in this project"]


NOT_FILLED = {
    *("audit", "runs", "tombstones", "deny_rules", "forgets", "copies"),
    *("claude_files", "claude_entries", "claude_syncs", "tokens", "hook_times", "taken_back"),
}
"""Empty in a database that old code left: filled by what came later, or by the gate alone."""


@pytest.mark.parametrize("schema", NUMBERS)
def test_the_new_code_works_in_a_database_of_an_earlier_schema(tmp_path: Path, schema: int) -> None:
    filled(tmp_path / "recorder.db", schema).close()
    db = connect(tmp_path / "recorder.db")
    now_ms = T0 + 1000
    scope = Scope(PROJECT)
    writer = gate.Writer(Channel.PERSON, "terminal", scope, now_ms)
    made = Proposal("user", "preference.old", "I prefer pip", MemoryKind.PREFERENCE, Origin.USER_SAID, "test")
    assert gate.tell(db, made, writer).action == "superseded"
    assert gate.restore(db, f"project.{PROJECT}", "command.test", writer).action == "restored"
    assert gate.reject(db, f"project.{PROJECT}", "command.test", writer, reason="no").action == "rejected"
    found = rank.recall(db, "prefer uv pip", scope, k=10, vector=None, vector_status="off", now_ms=now_ms + 1)
    assert {"I prefer pip", "Always use uv in this project"} <= {hit.text for hit in found.hits}
    assert jobs.claim(db, now_ms) is not None and sessions.still_open(db)
    assert events.count(db) > 2 and vectors.requeue_missing(db) > 0
    assert audit.verify(db).state == "pass"


@pytest.mark.parametrize("schema", NUMBERS)
def test_a_fresh_database_has_the_shape_of_one_that_came_from_any_schema(tmp_path: Path, schema: int) -> None:
    filled(tmp_path / "old.db", schema).close()
    assert shape(connect(tmp_path / "old.db")) == shape(connect(tmp_path / "fresh.db"))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("path", STATEMENTS, ids=lambda path: path.stem)
def test_what_the_code_of_an_earlier_schema_ran_still_runs_on_the_newest_file(tmp_path: Path, path: Path) -> None:
    filled(tmp_path / "recorder.db", 1).close()
    db = connect(tmp_path / "recorder.db")
    if has_vec(db):
        vectors.adopt(db, "m")
    # The rows it names are not there; whether it may name them is not what changed.
    db.execute("pragma foreign_keys = off")
    failed = []
    for one in lines(path):
        if "vec_" in one["sql"] and not has_vec(db):
            continue
        db.execute("savepoint one")
        try:
            db.execute(one["sql"], bound(one["bindings"])).get
        except Exception as error:
            failed.append(f"{one['in']}: {error}: {one['sql'][:200]}")
        db.execute("rollback to one; release one")
    assert "\n".join(failed) == ""


def bound(bindings: Any) -> Any:
    """Values of the kinds that were bound; a blob is kept by its length."""
    if isinstance(bindings, dict):
        return {name: _value(value) for name, value in bindings.items()}
    return None if bindings is None else tuple(_value(value) for value in bindings)


def _value(value: Any) -> Any:
    return bytes(value["blob"]) if isinstance(value, dict) else value


def test_the_list_of_statements_reaches_every_table_that_code_wrote(tmp_path: Path) -> None:
    first = lines(Path(__file__).with_name("statements_0001.jsonl"))
    text = "\n".join(one["sql"].lower() for one in first)
    db = filled(tmp_path / "old.db", 1)
    written = [name for name in tables(db) if name not in ("scopes", "pauses")]
    assert [name for name in written if f"insert into {name}" not in text and f"into {name}" not in text] == []
