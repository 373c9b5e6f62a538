"""The store under many hands, long readers, a full disk and rows that should not be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recorder.capture import spool
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.models import Scope
from recorder.store import events, indexes, search, upkeep
from recorder.store.db import STORE_TROUBLE, Connection, connect, transaction
from tests.makers import T0, bash, event_of, project_folder, prompt, take
from tests.store.writing import PROJECT
from worker import held
from worker.drain import Drain

ROOT = Path(__file__).resolve().parents[2]
MB = 1024 * 1024


def test_eight_writers_and_four_readers_lose_nothing_and_get_no_error(tmp_path: Path) -> None:
    path = tmp_path / "recorder.db"
    connect(path).close()
    command = [sys.executable, "-m", "tests.store.writing"]
    readers = [
        subprocess.Popen([*command, "read", str(path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    writers = [subprocess.Popen([*command, "write", str(path), "200"], cwd=ROOT) for _ in range(8)]
    assert [writer.wait(timeout=120) for writer in writers] == [0] * 8
    for reader in readers:
        told, _ = reader.communicate(timeout=60)
        assert reader.returncode == 0 and int(told) > 0
    db = connect(path)
    assert events.count(db) == 1600
    assert len(search.words(db, Scope(PROJECT), "word", 2000, now_ms=T0)) == 1600
    assert list(db.execute("pragma integrity_check")) == [("ok",)]
    db.close()


def test_a_log_that_grew_behind_a_long_reader_is_cut_once_the_reader_is_gone(config: Config, db: Connection) -> None:
    log = config.db_path.with_name("recorder.db-wal")
    reader = connect(config.db_path)
    reader.execute("begin")
    list(reader.execute("select count(*) from events"))
    for n in range(70):
        with transaction(db):
            db.execute("insert into sessions (id, started_ms, last_ms, title) values (?, 1, 1, ?)", (str(n), "x" * MB))
    began = time.monotonic()
    upkeep.shrink(db)
    assert time.monotonic() - began < 5  # the worker does not wait for a reader
    assert log.stat().st_size > 64 * MB
    reader.close()
    held.make_loop(config).one_pass(db)
    assert log.stat().st_size < 64 * MB


def test_a_full_disk_sets_no_file_aside_and_everything_is_taken_in_once_there_is_room(
    config: Config, own_home: Path, db: Connection
) -> None:
    folder = str(project_folder(own_home))
    spool.prepare(config.spool)
    for n in range(20):
        (config.spool / "new" / f"{n}.json").write_text(
            json.dumps(bash(f"run {n}", "x" * 9000, use=f"t{n}", cwd=folder))
        )
    drain = Drain(config, Redactor(config.capture))
    db.pragma("max_page_count", db.pragma("page_count"))
    for n in range(7):
        with pytest.raises(STORE_TROUBLE):
            drain.once(db, T0 + n * 1_000_000)
    assert (len(spool.pending(config.spool)), spool.bad(config.spool), events.count(db)) == (20, [], 0)
    db.pragma("max_page_count", 1_000_000)
    assert drain.once(db, T0) == 20
    assert events.count(db) == 20 and spool.pending(config.spool) == []


def test_rows_that_belong_to_nothing_stop_neither_opening_nor_working(config: Config, own_home: Path) -> None:
    db = connect(config.db_path)
    db.execute("pragma foreign_keys = off")
    db.execute(
        "insert into events (key, kind, session_id, at_ms, received_ms, excerpt, body, codec, body_hash)"
        " values ('k', 'prompt', 'gone', 1, 1, 'orphans', '{}', 'json', '')"
    )
    db.execute("insert into memory_evidence (version_id, event_id, session_id, quote) values (77, 88, 'gone', 'q')")
    db.execute("insert into embed_queue (owner, owner_id, at_ms) values ('event', 99, 1), ('memory', 99, 1)")
    db.execute("drop table event_words; drop table memory_trigrams")
    db.close()
    db = connect(config.db_path)
    assert indexes.as_expected(db)
    take(db, config, [event_of(prompt("hello", cwd=str(project_folder(own_home))))])
    held.drain_once(config)
    assert events.count(db) == 2
    db.close()


def test_without_sqlite_vec_words_go_on_and_the_answer_says_what_could_not_look(
    config: Config, own_home: Path, tmp_path: Path
) -> None:
    folder = project_folder(own_home)
    db = connect(config.db_path)
    take(db, config, [event_of(prompt("the teapot is blue", cwd=str(folder)))])
    db.close()
    (tmp_path / "shadow" / "sqlite_vec").mkdir(parents=True)
    (tmp_path / "shadow" / "sqlite_vec" / "__init__.py").touch()
    own = {
        "HOME": str(own_home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(tmp_path / "shadow"),
        "KF_RULE_CACHE_DIR": os.environ["KF_RULE_CACHE_DIR"],
    }

    def asked(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "recorder", *words, "--json"]
        return subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=60, check=False)

    found = json.loads(asked("search", "teapot", "--project", str(folder)).stdout)
    assert "teapot" in found["hits"][0]["text"] and found["arms"]["words"] == "ok"
    assert found["arms"]["vector"].startswith("unavailable: ")
    assert "sqlite-vec cannot be loaded" in asked("doctor").stdout
    assert json.loads(asked("drain").stdout)["new_events"] == 0
