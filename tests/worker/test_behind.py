"""What a backfill asks for waits behind what is live, and is done all the same."""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from recorder import doctor
from recorder.capture import reading, spool
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.models import Event, EventKind, Job, Source
from recorder.store import events, health, jobs, sessions
from recorder.store.db import Connection, transaction
from tests.built_model import needs_runtime
from tests.makers import T0, bash, event_of, hook_input, project_folder, prompt, stop, take
from tests.test_index import broken_model
from tests.worker.written import turn, write
from worker import held
from worker.handlers import HANDLERS, Context
from worker.loop import Loop, run_once

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
HANGS = "import signal, sys\nif 'worker.child' in sys.orig_argv:\n    signal.pause()\n"
"""Of every interpreter: the model's child never comes to its first line."""


@pytest.fixture
def cwd(own_home: Path) -> str:
    return str(project_folder(own_home))


@pytest.fixture
def loop(config: Config) -> Loop:
    """A worker for which every look at the clock takes 5 ms."""
    made = held.make_loop(config)
    ticks = itertools.count(T0, 5)
    made.clock_ms = lambda: next(ticks)
    spool.prepare(config.spool)
    return made


def past(cwd: str, turns: int) -> list[Event]:
    """What a backfill brings of a session of long ago."""
    return [
        replace(
            event_of(bash(f"make {n}", use=f"toolu_{n}", prompt_id=f"old{n}", session="old", cwd=cwd)),
            source=Source.BACKFILL,
            at_ms=T0 - 30 * 24 * HOUR_MS + n,
        )
        for n in range(turns)
    ]


def drop(config: Config, name: str, **fields: object) -> None:
    (config.spool / "new" / name).write_text(json.dumps(fields))


def standing(db: Connection) -> Counter[str]:
    """State → how many turns of the old session; those that wait are `behind`."""
    found = Counter(jobs.counts(db)["distil"])
    return found


def test_a_pass_does_what_is_live_first_and_of_the_past_a_little(
    db: Connection, config: Config, loop: Loop, cwd: str
) -> None:
    take(db, config, past(cwd, 300))
    take(db, config, [event_of(prompt("hello", cwd=cwd)), event_of(stop(cwd=cwd))])
    assert standing(db) == {"behind": 300, "queued": 1}
    loop.one_pass(db)
    left = standing(db)["behind"]
    assert standing(db)["queued"] == 0 and 200 < left < 300
    drop(config, "a.json", **prompt("and now?", session="new", cwd=cwd))
    drop(config, "b.json", **hook_input("SessionEnd", session="new", reason="other", cwd=cwd))
    loop.one_pass(db)
    assert spool.pending(config.spool) == []
    assert {job["state"] for job in jobs.listing(db) if job["subject"].startswith("new\n")} == {"done"}
    assert 0 < standing(db)["behind"] < left


@needs_runtime
def test_vectors_are_made_while_the_past_still_waits(db: Connection, config: Config, loop: Loop, cwd: str) -> None:
    broken_model(config.models_dir)
    take(db, config, past(cwd, 300))
    assert loop.model.status == "ok"
    loop.one_pass(db)
    assert standing(db)["behind"] > 0
    assert loop.model.status != "ok" or loop.wake.wait(60), "the model was asked"
    assert loop.model.status != "ok", "and found to be broken"
    loop.model.close()


@needs_runtime
def test_what_comes_is_taken_in_while_a_model_never_comes_to_an_end_of_loading(
    db: Connection, config: Config, loop: Loop, cwd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_model(config.models_dir)
    (tmp_path / "sitecustomize.py").write_text(HANGS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    take(db, config, past(cwd, 1))
    loop.one_pass(db)
    drop(config, "a.json", **prompt("and now?", session="new", cwd=cwd))
    loop.one_pass(db)
    assert spool.pending(config.spool) == []
    assert loop.model.status == "ok", "it is loading still"
    loop.model.close()
    assert loop.model.pid is None


def test_a_drain_does_what_a_worker_that_died_had_begun(db: Connection, config: Config, cwd: str) -> None:
    take(db, config, past(cwd, 1))
    with transaction(db):
        assert jobs.claim(db, time.time_ns() // 1_000_000) is not None
    held.drain_once(config)
    assert standing(db) == {"done": 1}


def test_a_drain_does_all_of_the_past(db: Connection, config: Config, cwd: str) -> None:
    take(db, config, past(cwd, 100))
    held.drain_once(config)
    assert standing(db) == {"done": 100}
    session = sessions.get(db, "old")
    assert session is not None and session.closed_ms is not None


def test_the_past_is_no_reason_to_call_the_queue_stuck_unless_it_fails(
    db: Connection, config: Config, cwd: str
) -> None:
    take(db, config, past(cwd, 10))
    later = T0 + HOUR_MS
    assert health.stuck(db, later) is None

    def broken(_: Context, job: Job) -> str:
        raise ValueError("odd")

    def fail(at_ms: int) -> None:
        assert run_once(Context(db, config, Redactor(config.capture), at_ms), dict.fromkeys(HANDLERS, broken))

    for _ in range(10):
        fail(later)
    assert health.stuck(db, later) is None, "it had waited for an hour, and failed once"
    for n in range(1, 6):
        for _ in range(11):
            fail(later + n * MINUTE_MS)
    assert "dead" in str(health.stuck(db, later + HOUR_MS))


def test_a_job_of_the_past_is_tried_again_and_taken_over_when_its_worker_died(
    db: Connection, config: Config, cwd: str
) -> None:
    take(db, config, past(cwd, 1))
    with transaction(db):
        claimed = jobs.claim(db, T0)
        assert claimed is not None and claimed.behind
        assert jobs.claim(db, T0 + jobs.LEASE_MS + 1, behind=False) is None
        again = jobs.claim(db, T0 + jobs.LEASE_MS + 1)
    assert again is not None and again.behind and again.attempts == 2


def test_status_tells_what_waits_behind_from_what_is_queued(db: Connection, config: Config, cwd: str) -> None:
    take(db, config, past(cwd, 12))
    take(db, config, [event_of(prompt("hello", cwd=cwd))])
    assert doctor.status(db, config, T0)["jobs"]["distil"] == {"behind": 12, "queued": 1}


@pytest.mark.parametrize("gone", [True, False])
def test_a_session_of_the_past_is_closed_also_when_its_transcript_is_gone(
    db: Connection, config: Config, own_home: Path, cwd: str, gone: bool
) -> None:
    records = turn(1, "Long ago.", "ls", at_ms=T0 - HOUR_MS, cwd=cwd)
    path = write(own_home / "copies" / "s1.jsonl", records[:2], changed_ms=T0)
    reader = reading.Reader(db, T0, Redactor(config.capture).event, config, source=Source.BACKFILL)
    reading.catch_up(reader, path)
    if gone:
        path.unlink()
    held.drain_once(config)
    session = sessions.get(db, "s1")
    assert session is not None and session.closed_ms is not None
    assert {job["state"] for job in jobs.listing(db)} == {"done"}
    calls = [event.ok for event in events.of_session(db, "s1") if event.kind is EventKind.TOOL_CALL]
    assert calls == [None], "the call without a result entered"


def test_what_a_backfill_has_not_reached_yet_is_left_to_it(
    db: Connection, config: Config, loop: Loop, cwd: str
) -> None:
    records = [
        line for n in range(3) for line in turn(n, f"Ask {n}.", "ls", at_ms=T0 - HOUR_MS + n * MINUTE_MS, cwd=cwd)
    ]
    path = write(config.claude_dirs[0] / "projects" / "-project" / "s1.jsonl", records[:8], changed_ms=T0)
    reader = reading.Reader(db, T0, Redactor(config.capture).event, config, source=Source.BACKFILL)
    reading.catch_up(reader, path)
    write(path, records[8:], changed_ms=T0)
    while loop.one_pass(db):
        pass
    assert [e.text for e in events.of_session(db, "s1") if e.kind is EventKind.PROMPT] == ["Ask 0.", "Ask 1."]
    reading.catch_up(reader, path)
    assert len([e for e in events.of_session(db, "s1") if e.kind is EventKind.PROMPT]) == 3
