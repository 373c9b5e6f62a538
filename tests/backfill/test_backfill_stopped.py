"""A backfill that ends before its end: killed, interrupted, asked to stop."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from recorder.store import events
from recorder.store.db import transaction
from tests.backfill.past import DAY_MS, NOW_MS, Past, session_id
from tests.cli.terminal import environ
from tests.worker.written import write

ROOT = Path(__file__).resolve().parents[2]
TURNS = 40


@pytest.fixture
def long(past: Past) -> Past:
    """A past of 12 MB, which no single commit brings."""
    for n in range(1, 11):
        lines = past.records(n, turns=TURNS, said="all the long words of somebody who tells a story " * 600)
        path = past.claude / "projects" / "-x" / f"{session_id(n)}.jsonl"
        write(path, lines, changed_ms=NOW_MS - n * DAY_MS)
    return past


@contextmanager
def caught_in_the_middle(past: Past) -> Iterator[subprocess.Popen[bytes]]:
    """A backfill of its own process that has made its first commit and cannot make the next one meanwhile; at its end
    afterwards. What it says is in `said`."""
    asked = [sys.executable, "-m", "scripts.backfill", "--commit"]
    env = environ(past.terminal.home) | {"PYTHONPATH": str(ROOT)}
    db = past.terminal.db()
    deadline = time.monotonic() + 60
    with said(past).open("wb") as out, subprocess.Popen(asked, env=env, stdout=out, stderr=out) as run:
        try:
            while events.count(db) == 0:
                assert run.poll() is None and time.monotonic() < deadline, said(past).read_text()
                time.sleep(0.002)
            with transaction(db):
                yield run
            run.wait(timeout=60)
        finally:
            db.close()
            run.kill()


def said(past: Past) -> Path:
    return past.claude.parent / "said"


def test_kill_9_in_the_middle_loses_and_doubles_nothing(long: Past) -> None:
    with caught_in_the_middle(long) as run:
        assert os.getpriority(os.PRIO_PROCESS, run.pid) >= 10
        run.kill()
        run.wait(timeout=30)
    some = long.keys()
    assert 0 < len(some) < 10 * TURNS * 3
    (stopped,) = long.terminal.ok("backfill", "--runs")
    assert stopped["state"] == "running"
    assert long.terminal.ok("backfill")["goes_on_with"] == stopped["name"]
    rest = long.commit()
    assert rest["run"] == stopped["name"]
    assert rest["events"] == {"new": 10 * TURNS * 3 - len(some), "seen": 0, "left_out": {}}
    keys = long.keys()
    assert len(keys) == len(set(keys)) == 10 * TURNS * 3
    (through,) = long.terminal.ok("backfill", "--runs")
    assert (through["state"], through["events"], through["files"]) == ("done", len(keys), 10)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_after_the_commit_it_is_in(long: Past, sign: signal.Signals) -> None:
    with caught_in_the_middle(long) as run:
        some = len(long.keys())
        run.send_signal(sign)
    assert run.returncode == 1
    assert "run the same command again to go on from here" in said(long).read_text()
    assert some < len(long.keys()) < 10 * TURNS * 3
    (stopped,) = long.terminal.ok("backfill", "--runs")
    assert stopped["state"] == "running" and long.commit()["run"] == stopped["name"]
    keys = long.keys()
    assert len(keys) == len(set(keys)) == 10 * TURNS * 3


def test_a_terminal_shows_a_bar_and_the_answer_stays_clean(past: Past) -> None:
    past.session(1)
    ours, theirs = pty.openpty()
    asked = [sys.executable, "-m", "scripts.backfill", "--json"]
    env = environ(past.terminal.home, PYTHONPATH=str(ROOT), TERM="xterm")
    with subprocess.Popen(asked, env=env, stdout=subprocess.PIPE, stderr=theirs) as run:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # Linux says the other end is gone by an error
            while more := os.read(ours, 65536):
                shown += more
        assert run.stdout is not None
        assert json.loads(run.stdout.read())["events"] == 3
    os.close(ours)
    assert run.returncode == 0 and b"reading" in shown
