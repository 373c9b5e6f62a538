from __future__ import annotations

import stat
from pathlib import Path

import pytest

from recorder.errors import StoreError
from recorder.store import indexes
from recorder.store.db import Connection, connect, migrations, snapshot, transaction, version


def shape(db: Connection) -> dict[str, list[tuple[object, ...]]]:
    tables = [row[0] for row in db.execute("select name from sqlite_schema where type = 'table' order by name")]
    found: dict[str, list[tuple[object, ...]]] = {}
    for table in tables:
        found[table] = [*db.execute(f"pragma table_info({table})"), *db.execute(f"pragma index_list({table})")]
    return found


def test_migrations_are_numbered_without_gap_or_twin() -> None:
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))


def test_a_fresh_database_has_the_shape_of_a_migrated_one(tmp_path: Path) -> None:
    fresh = connect(tmp_path / "fresh.db")
    old = connect(tmp_path / "old.db")
    old.execute("drop table event_words; drop table memory_trigrams")
    old.close()
    migrated = connect(tmp_path / "old.db")
    assert shape(fresh) == shape(migrated)
    assert version(fresh) == version(migrated) == migrations()[-1][0]


def test_a_search_table_of_another_shape_is_made_anew_from_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "recorder.db"
    db = connect(path)
    db.execute("insert into sessions (id, started_ms, last_ms) values ('s', 1, 1)")
    db.execute(
        "insert into events (key, kind, session_id, at_ms, received_ms, excerpt, body, codec, body_hash)"
        " values ('k', 'prompt', 's', 1, 1, 'migrating databases', '{}', 'json', '')"
    )
    db.execute("drop table event_words")
    db.execute("create virtual table event_words using fts5 (excerpt, content='events', content_rowid='id')")
    assert not indexes.as_expected(db)
    db.close()
    again = connect(path)
    assert indexes.as_expected(again)
    assert list(again.execute("select rowid from event_words where event_words match 'migrate'")) == [(1,)]


def test_opening_waits_for_no_writer_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "recorder.db"
    writer = connect(path)
    log = path.with_name("recorder.db-wal")
    writer.execute("begin immediate")
    before = log.stat().st_size
    with_the_lock_held = connect(path)  # it would give up after the busy timeout, with StoreError
    assert list(with_the_lock_held.execute("select count(*) from events")) == [(0,)]
    writer.execute("rollback")
    connect(path).close()
    assert log.stat().st_size == before
    assert writer.pragma("auto_vacuum") == 2 and writer.pragma("page_size") == 8192


def test_what_reads_together_sees_one_moment_and_holds_nobody_up(tmp_path: Path) -> None:
    reader, writer = connect(tmp_path / "recorder.db"), connect(tmp_path / "recorder.db")
    count = "select count(*) from sessions"
    with snapshot(reader):
        assert list(reader.execute(count)) == [(0,)]
        writer.execute("insert into sessions (id, started_ms, last_ms) values ('s', 1, 1)")
        assert list(reader.execute(count)) == [(0,)]
    assert list(reader.execute(count)) == [(1,)]


def test_what_raises_inside_a_transaction_leaves_nothing(db: Connection) -> None:
    with pytest.raises(RuntimeError, match="on purpose"):
        with transaction(db):
            db.execute("insert into sessions (id, started_ms, last_ms) values ('s', 1, 1)")
            raise RuntimeError("on purpose")
    assert list(db.execute("select id from sessions")) == []


def test_the_database_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "recorder.db"
    connect(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_is_no_database_is_refused_with_its_path_and_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "recorder.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError, match="recorder.db.*Move it away"):
        connect(path)


def test_older_code_leaves_a_newer_file_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "recorder.db"
    db = connect(path)
    db.execute("alter table events add column of_the_future text; pragma user_version = 999")
    db.execute("drop table memory_words; create virtual table memory_words using fts5 (key, value, tags, more)")
    db.close()
    again = connect(path)
    assert version(again) == 999
    assert "more" in [row[1] for row in again.execute("pragma table_info(memory_words)")]


def test_history_and_audit_refuse_to_be_changed(db: Connection) -> None:
    db.execute(
        "insert into audit (at_ms, actor, channel, action, subject, detail_digest, previous, digest)"
        " values (1, 'a', 'person', 'x', 's', 'd', 'p', 'g')"
    )
    for sql in ("update audit set actor = 'b'", "delete from audit"):
        with pytest.raises(Exception, match="insert-only"):
            db.execute(sql)


def test_every_setting_of_a_connection_is_in_force(db: Connection) -> None:
    names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "temp_store", "auto_vacuum")
    assert {name: db.pragma(name) for name in names} == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "secure_delete": 1,
        "temp_store": 2,
        "auto_vacuum": 2,
    }
