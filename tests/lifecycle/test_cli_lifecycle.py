"""The commands, as a person meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from recorder import worker_socket
from recorder.config import Config
from recorder.errors import WorkerUnavailable
from recorder.store import events
from recorder.web import serve
from tests.cli.terminal import ROOT, Terminal, environ
from tests.makers import prompt


def test_a_memory_goes_from_home_to_home(terminal: Terminal, tmp_path: Path) -> None:
    terminal.ok("remember", "project", "decision.queue", "The queue is Redis Streams")
    told = terminal.ok("export", str(tmp_path / "e.json"))
    assert told["memories"] >= 2
    one = terminal.ok("export", str(tmp_path / "p.json"), "--project", str(terminal.project))
    assert one["memories"] == told["memories"]
    terminal.set("RECORDER_HOME", str(tmp_path / "fresh"))
    came = terminal.ok("import", str(tmp_path / "e.json"))
    assert came["own"] and came["counts"] == {"created": told["memories"]}
    assert terminal.ok("get", "project", "decision.queue")["trust"] == "verified"
    assert terminal.ok("import", str(tmp_path / "e.json"), "--mode", "skip")["counts"] == {
        "unchanged": told["memories"]
    }


def test_a_wrong_file_is_one_line_and_exit_1(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "e.json").write_text('{"recorder_export": 7}')
    for words in (
        ("import", str(tmp_path / "e.json")),
        ("import", str(tmp_path)),
        ("import", "/dev/zero"),
        ("import", str(tmp_path / "none")),
        ("export", str(tmp_path)),
        ("export", str(tmp_path / "no" / "such" / "folder")),
        ("restore-backup", str(tmp_path / "none.db")),
        ("backup", str(tmp_path / "e.json")),
    ):
        said = terminal.run(*words)
        assert (said.code, said.out) == (1, "") and len(said.err.splitlines()) == 1, words
    assert terminal.run("import", str(tmp_path / "e.json"), "--mode", "all").code == 2


@pytest.mark.parametrize(
    "words",
    [("export", "x.json"), ("import", "x.json"), ("backup",), ("restore-backup", "x.db"), ("purge", "--dry-run")],
)
def test_claude_does_none_of_it(terminal: Terminal, words: tuple[str, ...]) -> None:
    terminal.set("CLAUDECODE", "1")
    said = terminal.run(*words)
    assert said.code == 1 and "only a person" in said.err


def answers(home: Path) -> bool:
    try:
        return bool(worker_socket.request(home, "status", timeout_s=2))
    except WorkerUnavailable:
        return False


def by_itself(terminal: Terminal, *words: str) -> Any:
    """The JSON answer of a command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "recorder", *words, "--json"],
        cwd=terminal.project,
        env=environ(terminal.home, RECORDER_EMBED_ENABLED="false") | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_a_backup_is_restored_while_a_worker_runs(terminal: Terminal) -> None:
    made = terminal.ok("backup")
    terminal.ok("remember", "project", "learnt.since", "Learnt after the backup")
    terminal.ok("delete", "project", "learnt.since")
    found = Config(home=terminal.home)
    worker = subprocess.Popen(
        [sys.executable, "-m", "worker"], cwd=ROOT, env=environ(terminal.home, RECORDER_EMBED_ENABLED="false")
    )
    try:
        while not answers(terminal.home):
            assert worker.poll() is None
        told = by_itself(terminal, "restore-backup", made["path"])
        assert worker.wait(timeout=10) == 0
        assert serve.stop_worker(terminal.home), "one that ran runs again"
    finally:
        worker.kill()
        worker.wait()
    assert Path(told["before"]).exists() and told["audit"] == "whole"
    assert terminal.run("get", "project", "learnt.since").code == 1
    assert terminal.ok("audit", "verify")["state"] == "pass"
    assert "learnt.since" not in "".join(path.read_text() for path in found.brief_dir.glob("*.txt"))


def test_what_waits_in_the_spool_is_taken_in_after_a_restore(terminal: Terminal) -> None:
    made = terminal.ok("backup")
    waiting = prompt("waited in the spool", prompt_id="p9", cwd=str(terminal.project))
    (terminal.home / "spool" / "new" / "later.json").write_text(json.dumps(waiting))
    terminal.ok("restore-backup", made["path"])
    assert (terminal.home / "spool" / "new" / "later.json").exists()
    terminal.ok("drain")
    assert "waited in the spool" in [event.text for event in events.listing(terminal.db(), kind="prompt")]


def test_another_process_that_reads_sees_what_was_restored(terminal: Terminal) -> None:
    made = terminal.ok("backup")
    terminal.ok("remember", "project", "learnt.since", "Learnt after the backup")
    reader = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from recorder.store.db import connect\n"
            "db = connect(Path(sys.argv[1]))\n"
            "for _ in sys.stdin: print(len(list(db.execute(\"select 1 from memories where key = 'learnt.since'\"))),"
            " flush=True)",
            str(terminal.home / "recorder.db"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environ(terminal.home),
    )
    assert reader.stdin is not None and reader.stdout is not None
    try:
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "1\n"
        terminal.ok("restore-backup", made["path"])
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "0\n"
    finally:
        reader.communicate(timeout=10)


def test_purge_counts_first_and_then_does_it(terminal: Terminal) -> None:
    there = events.count(terminal.db())
    would = terminal.ok("purge", "--older-than-days", "0", "--dry-run")
    assert would["dry_run"] and 0 < would["events"] < there and events.count(terminal.db()) == there
    did = terminal.ok("purge", "--older-than-days", "0")
    assert did["events"] == would["events"] and events.count(terminal.db()) == there - did["events"]
    assert terminal.ok("list")
    assert "no age was given" in terminal.run("purge").err


def test_reindex_brings_recall_back_after_every_index_is_gone(terminal: Terminal) -> None:
    asked = ("pytest", "notes", "run the tests")
    before = [[hit["id"] for hit in terminal.ok("search", question)["hits"]] for question in asked]
    assert all(before)
    db = terminal.db()
    for table in ("event_words", "event_trigrams", "memory_words", "memory_trigrams"):
        db.execute(f"insert into {table} ({table}) values ('delete-all')") if table.startswith("event") else db.execute(
            f"delete from {table}"
        )
    assert not any(terminal.ok("search", question)["hits"] for question in asked)
    terminal.ok("reindex")
    assert [[hit["id"] for hit in terminal.ok("search", question)["hits"]] for question in asked] == before


def test_what_is_forgotten_stays_away_after_an_old_backup_and_an_old_export(terminal: Terminal, tmp_path: Path) -> None:
    secret, twin = "Ada lives at nine Larch Street", "Ada likes her tea without milk"
    terminal.ok("remember", "project", "ada.home", secret)
    terminal.ok("remember", "project", "ada.tea", twin)
    made = terminal.ok("backup", str(tmp_path / "copies"))
    old = tmp_path / "old.json"
    terminal.ok("export", str(old))
    kept = old.read_bytes()
    terminal.ok("forget", "project", "ada.home", "--yes")
    old.write_bytes(kept)  # as if it had lain elsewhere

    told = terminal.ok("restore-backup", made["path"])
    assert told["again"]["memories_forgotten"] == 1 and told["again"]["events_forgotten"] >= 1
    for words in (("import", str(old)), ("import", str(old), "--mode", "skip")):
        assert terminal.ok(*words)["counts"]["refused"] == 1
    hits = [hit["text"] for hit in terminal.ok("search", "Ada Larch Street tea milk")["hits"]]
    assert twin in hits and secret not in hits
    assert terminal.run("get", "project", "ada.home").code == 1
    again = terminal.ok("export", str(tmp_path / "new.json"))
    assert again["memories"] and b"Larch Street" not in (tmp_path / "new.json").read_bytes()
    assert b"Larch Street" not in b"".join(path.read_bytes() for path in terminal.home.glob("recorder.db*"))
    assert terminal.ok("audit", "verify")["state"] == "pass"
    fresh = terminal.ok("remember", "project", "ada.job", "Ada works on the recorder")
    assert fresh


def test_a_backup_of_another_home_is_put_in_place_only_when_that_is_meant(terminal: Terminal, tmp_path: Path) -> None:
    own = terminal.home
    terminal.set("RECORDER_HOME", str(tmp_path / "other"))
    terminal.ok("remember", "user", "fact.other", "Somebody else lives here")
    made = terminal.ok("backup")
    terminal.set("RECORDER_HOME", str(own))
    said = terminal.run("restore-backup", made["path"])
    assert said.code == 1 and "no backup of this home" in said.err and "--yes" in said.err
    assert terminal.run("get", "user", "fact.other").code == 1
    assert terminal.ok("restore-backup", made["path"], "--yes")["audit"] == "gap"
