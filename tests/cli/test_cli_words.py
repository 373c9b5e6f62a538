"""Every command: help, JSON, exit codes, and nothing that a stored text could do to a terminal."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer.main

from recorder.cli.frame import app
from tests.cli.terminal import CONTROLS, HOSTILE, ROOT, Terminal, environ
from tests.hooks.running import needs_namespaces, unshared

SILENT = {
    ("up",),
    ("down",),
    ("pause",),
    ("resume",),
    ("token",),
    ("projects", "alias"),
    ("projects", "merge"),
    ("projects", "split"),
    ("projects", "forget"),
    ("projects", "brief"),
}
"""Commands that do something and have no result to print."""


def commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name), command


ALL = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_command_has_help_and_says_what_it_is_for(terminal: Terminal, words: tuple[str, ...]) -> None:
    said = terminal.run(*words, "--help")
    assert said.code == 0
    assert "Usage: recorder" in said.out.replace("\n", " ") and ALL[words].help


@pytest.mark.parametrize("words", sorted(set(ALL) - SILENT), ids=" ".join)
def test_every_command_that_prints_results_prints_them_as_json_too(words: tuple[str, ...]) -> None:
    assert "--json" in {option for parameter in ALL[words].params for option in parameter.opts}


@pytest.mark.parametrize(
    "words",
    [
        ["no-such-command"],
        ["search", "--no-such-option", "x"],
        ["search"],
        ["search", "x", "--limit", "0"],
        ["search", "x", "--kind", "nonsense"],
        ["list", "--trust", "nonsense"],
        ["list", "--kind", "nonsense"],
        ["events", "--kind", "nonsense"],
        ["get", "project"],
        ["remember", "project", "k"],
        ["remember", "project", "k", "v", "--kind", "nonsense"],
        ["remember", "project", "k", "v", "--valid-from", "yesterday"],
        ["pause", "5x"],
        ["pause", "99999999999999d"],
        ["install", "--scope", "galaxy"],
        ["up", "--port", "70000"],
        ["models", "use"],
    ],
    ids=" ".join,
)
def test_wrong_use_is_told_and_ends_with_2(terminal: Terminal, words: list[str]) -> None:
    said = terminal.run(*words)
    assert said.code == 2 and said.out == "" and "Usage" in said.err


@pytest.mark.parametrize(
    "words",
    [
        ["get", "project", "no.such.key"],
        ["history", "project", "no.such.key"],
        ["why", "project", "no.such.key"],
        ["delete", "project", "no.such.key"],
        ["restore", "project", "no.such.key"],
        ["approve", "project", "no.such.key"],
        ["pin", "project", "no.such.key"],
        ["get", "project.somebody-else", "command.test"],
        ["remember", "no address!", "k", "v"],
        ["remember", "project", "", "v"],
        ["search", "--batch", "/nowhere/questions.jsonl"],
        ["events", "--export", "/nowhere/out.jsonl"],
        ["projects", "merge", "nobody", "nothing"],
        ["projects", "alias", "/nowhere", "nobody"],
        ["projects", "forget", "nobody"],
        ["projects", "brief", "nobody"],
        ["models", "use", "nothing"],
        ["pause", "--project", "/"],
        ["resume", "--project", "/"],
        ["list", "--project", "/nonexistent"],
        ["search", "x", "--project", "/nonexistent"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_done_is_one_line_and_ends_with_1(terminal: Terminal, words: list[str]) -> None:
    said = terminal.run(*words)
    assert said.code == 1
    assert len((said.out + said.err).strip().splitlines()) == 1


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[]",
        b"5",
        b'{"id": 1}',
        b'{"question": "x"}',
        b'{"id":1,"question":"x","project":5}',
        b'{"id":1,"question":null}',
        b'{"id":1,"question":["a"]}',
        b'{"id":null,"question":"x"}',
        b'{"id":true,"question":"x"}',
        b'{"id":"\\ud800","question":"x"}',
        b'{"id":1,"question":"caf\xe9"}',
        b"[" * 100_000,
        b'{"id":' + b"9" * 5_000 + b',"question":"x"}',
    ],
    ids=lambda line: line[:40].decode("ascii", "replace"),
)
def test_a_batch_line_of_another_shape_is_named_by_its_number(terminal: Terminal, line: bytes, tmp_path: Path) -> None:
    batch = tmp_path / "questions.jsonl"
    batch.write_bytes(b'{"id": "a", "question": "tests"}\n\n' + line + b"\n")
    said = terminal.run("search", "--batch", str(batch))
    assert said.code == 1 and f"{batch}:3" in said.err


OPENING = (
    ["status"],
    ["search", "x"],
    ["drain"],
    ["events"],
    ["remember", "user", "k", "v"],
    ["token"],
    ["down"],
    ["up", "--no-open", "--port", "0"],
    ["up", "--detach", "--port", "0"],
    ["install"],
    ["uninstall"],
    ["pause"],
    ["resume"],
)


@pytest.mark.parametrize("words", OPENING, ids=" ".join)
def test_a_home_that_is_a_file_is_one_line_with_its_path(terminal: Terminal, words: list[str], tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("not a folder")
    terminal.set("RECORDER_HOME", str(blocked))
    said = terminal.run(*words)
    assert said.code == 1 and str(blocked) in said.err and len(said.err.strip().splitlines()) == 1
    assert blocked.read_text() == "not a folder"


@pytest.mark.parametrize("words", [["status"], ["search", "x"], ["drain"]], ids=" ".join)
def test_a_file_that_is_no_database_is_one_line_and_stays_as_it_is(terminal: Terminal, words: list[str]) -> None:
    (terminal.home / "recorder.db").write_bytes(b"my thesis, chapter one" * 100)
    for more in ("-wal", "-shm"):
        (terminal.home / f"recorder.db{more}").unlink(missing_ok=True)
    said = terminal.run(*words)
    assert said.code == 1 and "recorder.db" in said.err and "Move it away" in said.err
    assert (terminal.home / "recorder.db").read_bytes().startswith(b"my thesis")


def broken(terminal: Terminal, how: str, tmp_path: Path) -> None:
    if how == "no database":
        (terminal.home / "recorder.db").write_bytes(b"my thesis, chapter one" * 100)
    elif how == "damaged pages":
        file = terminal.home / "recorder.db"
        whole = file.read_bytes()
        file.write_bytes(whole[: 8192 * 2] + b"\xa5" * (len(whole) - 8192 * 2))
    else:
        blocked = tmp_path / "blocked"
        blocked.write_text("not a folder")
        terminal.set("RECORDER_HOME", str(blocked))
    for more in ("-wal", "-shm"):
        (terminal.home / f"recorder.db{more}").unlink(missing_ok=True)


@pytest.mark.parametrize("how", ["no database", "damaged pages", "the home is a file"])
def test_the_doctor_looks_at_the_rest_where_the_store_is_broken(terminal: Terminal, how: str, tmp_path: Path) -> None:
    broken(terminal, how, tmp_path)
    terminal.set("RECORDER_OFF", "1")
    said = terminal.run("doctor", "--json")
    assert said.code == 1 and said.err == ""
    bad = {check["name"] for check in said.json if check["state"] == "bad"}
    assert {"store", "claude code", "off"} <= bad
    assert {"worker"} <= {check["name"] for check in said.json if check["state"] == "note"}


def test_a_drain_of_a_damaged_store_is_one_line_and_fails(terminal: Terminal, tmp_path: Path) -> None:
    db = terminal.db()
    db.execute("update jobs set state = 'queued', due_ms = 0")
    root = next(iter(db.execute("select rootpage from sqlite_schema where name = 'memory_versions'")))[0]
    db.close()
    file = terminal.home / "recorder.db"
    whole = bytearray(file.read_bytes())
    whole[(root - 1) * 8192 : root * 8192] = b"\xa5" * 8192
    file.write_bytes(whole)
    run = subprocess.run(
        [sys.executable, "-m", "recorder", "drain"],
        cwd=ROOT,
        env=environ(terminal.home),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 1 and len(run.stderr.strip().splitlines()) == 1, run.stderr
    assert "malformed" in run.stderr


@needs_namespaces
def test_from_a_read_only_home_everything_but_the_home_is_taken_out(terminal: Terminal) -> None:
    user = terminal.home.parent
    (user / ".claude").mkdir()
    recorder = f"{sys.executable} -m recorder"
    script = f"""
        {recorder} install >/dev/null || exit 98
        mount --bind {terminal.home} {terminal.home} && mount -o remount,ro,bind {terminal.home} || exit 99
        {recorder} doctor --json
        {recorder} uninstall
    """
    run = subprocess.run(
        [*unshared(), "sh", "-c", script],
        cwd=ROOT,
        env=environ(terminal.home),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    checks = json.loads(run.stdout.splitlines()[0])
    assert "cannot be written" in " ".join(check["text"] for check in checks if check["name"] == "home")
    assert "warning: " in run.stderr and "install.json" in run.stderr and "Traceback" not in run.stderr
    assert not (user / ".claude" / "settings.json").exists() and not (user / ".claude.json").exists()


@needs_namespaces
def test_a_read_only_disk_is_one_line(terminal: Terminal) -> None:
    recorder = f"{sys.executable} -m recorder"
    tries = ["remember user k v", "up --no-open --port 0", "install"]
    script = f"mount --bind {terminal.home} {terminal.home} && mount -o remount,ro,bind {terminal.home} || exit 99\n"
    script += "\n".join(f"{recorder} {words} >/dev/null; echo $?" for words in tries)
    run = subprocess.run(
        [*unshared(), "sh", "-c", script],
        cwd=ROOT,
        env=environ(terminal.home),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.stdout.split() == ["1"] * len(tries), run.stderr
    assert "Traceback" not in run.stderr and len(run.stderr.strip().splitlines()) == len(tries), run.stderr


PRINTING = (
    ["search", "notes"],
    ["events"],
    ["sessions"],
    ["list"],
    ["get", "user", "hostile"],
    ["history", "user", "hostile"],
    ["why", "user", "hostile"],
    ["delete", "user", "hostile", "--reason", HOSTILE.replace("\x00", "")],
    ["findings"],
    ["doctor"],
    ["status"],
    ["projects", "list"],
    ["injections"],
    ["stats"],
)


@pytest.mark.parametrize("words", PRINTING, ids=lambda words: words[0])
def test_stored_text_does_nothing_to_the_terminal(terminal: Terminal, words: list[str]) -> None:
    hostile = HOSTILE.replace("\x00", "")
    assert terminal.run("remember", "user", "hostile", f"said {hostile} and so on").code == 0
    terminal.set("CLAUDECODE", "1")
    terminal.run("remember", "user", "hostile", f"other {hostile} words")  # a finding
    terminal.monkeypatch.delenv("CLAUDECODE")
    said = terminal.run(*words)
    assert said.out
    assert [sign for sign in CONTROLS if sign in said.out + said.err] == []


def test_hostile_words_of_the_caller_do_nothing_either(terminal: Terminal) -> None:
    said = terminal.run("get", "project", HOSTILE.replace("\x00", ""))
    assert said.code == 1 and [sign for sign in CONTROLS if sign in said.err] == []


def test_json_keeps_the_text_and_escapes_what_could_act(terminal: Terminal) -> None:
    said = terminal.run("events", "--json")
    assert "\x1b" not in said.out and "\\u001b" in said.out


def piped(words: Sequence[str], terminal: Terminal) -> tuple[int, str]:
    """Exit code and complaint of a command whose reader leaves at once."""
    run = subprocess.Popen(
        [sys.executable, "-m", "recorder", *words],
        cwd=ROOT,
        env=environ(terminal.home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None and run.stderr is not None
    run.stdout.close()
    told = run.stderr.read()
    run.stderr.close()
    return run.wait(timeout=60), told


@pytest.mark.parametrize("words", [["events"], ["events", "--json"]], ids=" ".join)
def test_a_reader_that_has_seen_enough_is_no_error(terminal: Terminal, words: list[str]) -> None:
    assert piped(words, terminal) == (0, "")


def test_status_shows_a_person_times_and_no_raw_milliseconds(terminal: Terminal) -> None:
    terminal.run("pause", "1h")
    said = terminal.run("status").out
    (last,) = [line for line in said.splitlines() if line.startswith("last event")]
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d", last)
    assert "_ms" not in said
    assert [word for word in said.replace(",", " ").split() if word.isdigit() and len(word) > 11] == []
    terminal.run("resume")
    terminal.run("pause")
    assert "paused until" in terminal.run("status").out and "`recorder resume`" in terminal.run("status").out


def test_every_answer_is_one_json_document(terminal: Terminal) -> None:
    shapes = {
        ("status",): {"home", "worker", "spool", "events", "sessions", "memories", "jobs", "vectors", "store", "stuck"},
        ("stats",): {"memories", "events"},
        ("search", "tests"): {"arms", "scope", "hits"},
        ("audit", "verify"): {"state", "rows", "broken_id", "missing"},
        ("drain",): {"taken", "new_events", "by"},
    }
    for words, names in shapes.items():
        assert names <= set(terminal.ok(*words)), words
    for words in (
        ["events"],
        ["sessions"],
        ["list"],
        ["findings"],
        ["injections"],
        ["projects", "list"],
        ["models", "list"],
    ):
        assert isinstance(terminal.ok(*words), list), words
    said = terminal.run("doctor", "--json")
    assert {line["state"] for line in json.loads(said.out)} <= {"ok", "note", "bad"}
