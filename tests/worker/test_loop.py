"""The worker as a process: what it takes in survives anything, once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recorder import redaction, worker_socket
from recorder.capture import spool
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.errors import RetryLater, WorkerUnavailable
from recorder.models import Job
from recorder.store import events, health, jobs, memories, sessions
from recorder.store.db import Connection, connect, transaction
from tests.built_model import MODELS, needs_model
from tests.makers import T0, bash, hook_input, project_folder, prompt, stop
from worker import held
from worker.drain import Drain
from worker.handlers import Context
from worker.loop import run_once

ROOT = Path(__file__).resolve().parents[2]


def drop(config: Config, fields: object, name: str) -> Path:
    """A whole file in the spool, as the hook leaves it."""
    spool.prepare(config.spool)
    path = config.spool / "new" / name
    path.write_bytes(fields if isinstance(fields, bytes) else json.dumps(fields).encode() + b"\n")
    return path


def until(true: Callable[[], bool], *, within_s: float = 30.0) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def start(config: Config, **environ: str) -> subprocess.Popen[bytes]:
    own = {"PATH": os.environ["PATH"], "HOME": str(config.home.parent), "RECORDER_HOME": str(config.home)}
    rules = {"KF_RULE_CACHE_DIR": os.environ["KF_RULE_CACHE_DIR"]} if "KF_RULE_CACHE_DIR" in os.environ else {}
    return subprocess.Popen([sys.executable, "-m", "worker"], env=own | rules | environ, cwd=ROOT)


def answers(config: Config) -> bool:
    try:
        worker_socket.request(config.home, "status", timeout_s=1)
    except WorkerUnavailable:
        return False
    return True


def count(config: Config) -> int:
    db = connect(config.db_path)
    try:
        return events.count(db)
    finally:
        db.close()


@pytest.fixture
def workers() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for one in started:
        if one.poll() is None:
            one.kill()
        one.wait(timeout=10)


def test_a_file_dropped_while_the_worker_is_awake_is_an_event_and_leaves_the_spool(
    config: Config, own_home: Path, workers: list[subprocess.Popen[bytes]]
) -> None:
    workers.append(start(config))
    until(lambda: answers(config))
    path = drop(config, prompt("hello", cwd=str(project_folder(own_home))), "a.json")
    until(lambda: not path.exists())
    assert count(config) == 1


def test_no_event_is_lost_and_none_doubled_when_the_worker_is_killed_again_and_again(
    config: Config, own_home: Path, workers: list[subprocess.Popen[bytes]]
) -> None:
    folder = str(project_folder(own_home))
    total = 400
    for n in range(total):
        drop(config, bash(f"echo {n}", "x" * 2000, use=f"toolu_{n}", prompt_id=f"p{n % 7}", cwd=folder), f"{n:04}.json")
    for round_ in range(6):
        one = start(config)
        workers.append(one)
        waiting = len(spool.pending(config.spool))
        until(lambda seen=waiting: len(spool.pending(config.spool)) < seen or seen == 0)
        time.sleep(0.005 * round_)
        one.send_signal(signal.SIGKILL)
        one.wait(timeout=10)
    held.drain_once(config, distil=False)
    db = connect(config.db_path)
    found = sorted(int(e.tool_use_id.split("_")[1]) for e in events.of_session(db, "s1") if e.tool_use_id)
    db.close()
    assert found == list(range(total))
    assert spool.pending(config.spool) == []


def test_a_second_worker_leaves_at_once_and_a_stale_lock_file_stops_nobody(
    config: Config, workers: list[subprocess.Popen[bytes]]
) -> None:
    config.home.mkdir(mode=0o700)
    (config.home / "worker.lock").write_text(f"{os.getpid()}\n")
    workers.append(start(config))
    until(lambda: answers(config))
    second = start(config)
    assert second.wait(timeout=20) == 0
    assert workers[0].poll() is None


def test_stop_over_the_socket_ends_the_worker_and_its_socket(
    config: Config, workers: list[subprocess.Popen[bytes]]
) -> None:
    workers.append(start(config))
    until(lambda: answers(config))
    worker_socket.request(config.home, "stop", timeout_s=5)
    assert workers[0].wait(timeout=20) == 0
    assert not worker_socket.socket_path(config.home).exists()


def test_a_worker_with_nothing_left_to_do_leaves_by_itself(
    config: Config, workers: list[subprocess.Popen[bytes]]
) -> None:
    workers.append(start(config, RECORDER_WORKER_IDLE_MINUTES="0.001", RECORDER_WORKER_POLL_S="0.05"))
    assert workers[0].wait(timeout=30) == 0


def test_a_worker_stays_while_a_session_could_still_be_closed(
    config: Config, own_home: Path, workers: list[subprocess.Popen[bytes]]
) -> None:
    drop(config, prompt("hello", cwd=str(project_folder(own_home))), "a.json")
    workers.append(start(config, RECORDER_WORKER_IDLE_MINUTES="0.001", RECORDER_WORKER_POLL_S="0.05"))
    until(lambda: config.db_path.exists() and count(config) == 1)
    until(lambda: answers(config))
    with pytest.raises(subprocess.TimeoutExpired):
        workers[0].wait(timeout=1.0)


def test_a_home_that_cannot_be_written_gives_a_reason_and_an_exit_code(config: Config) -> None:
    config.home.parent.joinpath(".recorder").write_text("a file where the home should be")
    run = subprocess.run(
        [sys.executable, "-m", "worker"],
        env={"PATH": os.environ["PATH"], "HOME": str(config.home.parent)},
        cwd=ROOT,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert run.returncode == 1
    assert b"the worker cannot run" in run.stderr and b".recorder" in run.stderr


def test_the_socket_is_for_its_owner_alone_and_refuses_another_version(
    config: Config, workers: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    workers.append(start(config))
    until(lambda: answers(config))
    assert worker_socket.socket_path(config.home).stat().st_mode & 0o077 == 0
    monkeypatch.setattr(worker_socket, "VERSION", 999)
    with pytest.raises(WorkerUnavailable, match="version"):
        worker_socket.request(config.home, "status", timeout_s=5)


def test_a_home_too_deep_for_a_socket_gets_one_elsewhere(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d" * 40] * 4)
    assert len(os.fsencode(worker_socket.socket_path(deep))) <= 103


# --- jobs ------------------------------------------------------------------


def context(db: Connection, config: Config, now_ms: int) -> Context:
    return Context(db, config, Redactor(config.capture), now_ms)


def ask(db: Connection, kind: str, subject: str, due_ms: int = T0) -> None:
    with transaction(db):
        jobs.ask(db, kind, subject, due_ms=due_ms, now_ms=T0)


def test_a_job_that_fails_twice_and_then_works_is_done_at_the_third_try(db: Connection, config: Config) -> None:
    seen: list[int] = []

    def flaky(_: Context, job: Job) -> str:
        seen.append(job.attempts)
        if job.attempts < 3:
            raise ValueError("not yet")
        return "well"

    ask(db, "flaky", "x")
    now_ms = T0
    while not seen or seen[-1] < 3:
        run_once(context(db, config, now_ms), {"flaky": flaky})
        now_ms += 20_000
    (row,) = jobs.listing(db)
    assert (row["state"], row["attempts"], row["outcome"]) == ("done", 3, "well")


def test_ten_poisoned_jobs_do_not_hold_up_five_good_ones(db: Connection, config: Config) -> None:
    done: list[str] = []

    def handler(_: Context, job: Job) -> str:
        if job.subject.startswith("poison"):
            raise ValueError("poison")
        done.append(job.subject)
        return "well"

    for n in range(10):
        ask(db, "k", f"poison{n}", due_ms=T0 - 100)
    for n in range(5):
        ask(db, "k", f"good{n}")
    for _ in range(15):
        run_once(context(db, config, T0), {"k": handler})
    assert len(done) == 5


def test_a_job_that_never_works_is_dead_in_plain_sight_and_can_be_queued_again(db: Connection, config: Config) -> None:
    def broken(_: Context, job: Job) -> str:
        raise ValueError("broken for good")

    ask(db, "k", "x")
    now_ms = T0
    for _ in range(jobs.TRIES):
        run_once(context(db, config, now_ms), {"k": broken})
        now_ms += 1_000_000
    (row,) = jobs.listing(db, state="dead")
    assert "broken for good" in row["error"]
    assert health.stuck(db, now_ms) == "dead: 1 job"
    with transaction(db):
        assert jobs.revive(db, now_ms) == 1
    assert run_once(context(db, config, now_ms), {"k": lambda _, job: "well"})
    assert jobs.listing(db, state="dead") == []


def test_a_job_whose_worker_died_is_taken_again_when_its_lease_ran_out(db: Connection, config: Config) -> None:
    ask(db, "k", "x")
    with transaction(db):
        assert jobs.claim(db, T0) is not None
    assert not run_once(context(db, config, T0 + 1000), {"k": lambda _, job: "well"})
    assert run_once(context(db, config, T0 + jobs.LEASE_MS + 1), {"k": lambda _, job: "well"})


def test_a_job_asked_for_while_it_runs_runs_once_more(db: Connection, config: Config) -> None:
    runs: list[str] = []

    def handler(given: Context, job: Job) -> str:
        runs.append(job.subject)
        if len(runs) == 1:
            with transaction(given.db):
                jobs.ask(given.db, "k", "x", due_ms=T0, now_ms=T0)
        return "well"

    ask(db, "k", "x")
    while run_once(context(db, config, T0), {"k": handler}):
        pass
    assert runs == ["x", "x"]


def test_retry_later_is_no_failure(db: Connection, config: Config) -> None:
    def later(_: Context, job: Job) -> str:
        raise RetryLater(5000)

    ask(db, "k", "x")
    run_once(context(db, config, T0), {"k": later})
    (row,) = jobs.listing(db)
    assert (row["state"], row["attempts"], row["due_ms"], row["error"]) == ("queued", 0, T0 + 5000, None)


# --- the spool -------------------------------------------------------------

BAD = {
    "empty": b"",
    "torn": b'{"session_id": "s1", "hook',
    "not json": b"hello there",
    "not an object": b"[1, 2, 3]",
    "a number": b"12",
    "two values": b'{"a": 1}{"b": 2}',
}
ODD = {
    "unknown event": json.dumps(hook_input("BrandNewEvent", what=["ever"])).encode(),
    "wrong types": json.dumps({"session_id": 5, "hook_event_name": ["x"], "cwd": {}, "prompt_id": 1}).encode(),
    "lone surrogate": b'{"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "a \\ud83d b"}',
    "nul": b'{"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "a \\u0000 b"}',
    "invalid utf-8": b'{"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "a \xff\xfe b"}',
    "20 MB": json.dumps(
        hook_input("PostToolUse", tool_name="Write", tool_use_id="t", tool_input={"content": "word " * 4_000_000})
    ).encode(),
}


@pytest.mark.parametrize("name", BAD)
def test_an_unreadable_input_is_kept_with_its_reason_and_stops_nothing(
    db: Connection, config: Config, own_home: Path, name: str
) -> None:
    drop(config, BAD[name], "0-bad.json")
    drop(config, prompt("after it", cwd=str(project_folder(own_home))), "1-good.json")
    Drain(config, Redactor(config.capture)).once(db, T0)
    assert events.count(db) == 1
    ((kept, reason),) = spool.bad(config.spool)
    assert kept == "0-bad.json" and reason
    assert (config.spool / "bad" / kept).read_bytes() == BAD[name]
    assert jobs.counters(db)["spool_bad"][0] == 1
    assert spool.pending(config.spool) == []


@pytest.mark.parametrize("name", ODD)
def test_an_odd_input_is_taken_in_and_bounded(db: Connection, config: Config, name: str) -> None:
    drop(config, ODD[name], "a.json")
    Drain(config, Redactor(config.capture)).once(db, T0)
    assert (events.count(db), spool.bad(config.spool)) == (1, [])
    (size,) = next(iter(db.execute("select length(body) + length(excerpt) from events")))
    assert size < 32_000


def test_a_secret_in_an_unreadable_input_does_not_reach_the_folder_of_bad_ones(db: Connection, config: Config) -> None:
    secret = "gh" + "p_" + "Zq3" * 12
    drop(config, b'{"session_id": "s1", "prompt": "use ' + secret.encode(), "a.json")
    Drain(config, Redactor(config.capture)).once(db, T0)
    assert secret.encode() not in b"".join(p.read_bytes() for p in (config.spool / "bad").iterdir())


def test_a_file_that_fails_alone_is_set_aside_after_five_tries_and_the_others_go_on(
    db: Connection, config: Config, own_home: Path
) -> None:
    drop(config, bash("bad luck", use="toolu_bad"), "0.json")
    folder = str(project_folder(own_home))
    drop(config, prompt("good", cwd=folder), "1.json")
    db.execute(
        "create temp trigger unlucky before insert on main.events when new.tool_use_id = 'toolu_bad'"
        " begin select raise(abort, 'unlucky'); end"
    )
    drain = Drain(config, Redactor(config.capture))
    for n in range(5):
        drain.once(db, T0 + n * 1_000_000)
    assert events.count(db) == 1
    assert [name for name, _ in spool.bad(config.spool)] == ["0.json"]


def test_a_whole_file_left_in_tmp_by_a_killed_hook_is_taken_in_after_a_minute(config: Config) -> None:
    spool.prepare(config.spool)
    now_s = time.time()
    for name, content in (("whole.json", b'{"session_id": "s1"}'), ("torn.json", b'{"session_id": ')):
        (config.spool / "tmp" / name).write_bytes(content)
    assert spool.adopt_leftovers(config.spool, now_s + 30) == 0
    assert spool.adopt_leftovers(config.spool, now_s + 61) == 1
    assert [dropped.path.name for dropped in spool.pending(config.spool)] == ["whole.json"]


def test_what_was_set_aside_is_kept_for_fourteen_days(db: Connection, config: Config) -> None:
    drop(config, b"", "a.json")
    Drain(config, Redactor(config.capture)).once(db, T0)
    now_s = time.time()
    assert spool.sweep_bad(config.spool, now_s + 13 * 86_400) == 0
    assert spool.sweep_bad(config.spool, now_s + 15 * 86_400) == 2


def test_a_marker_of_an_off_session_keeps_it_out_for_good(db: Connection, config: Config) -> None:
    (config.home / "off").mkdir(parents=True)
    (config.home / "off" / "s1").touch()
    drop(config, prompt("unseen"), "a.json")
    Drain(config, Redactor(config.capture)).once(db, T0)
    assert events.count(db) == 0
    session = sessions.get(db, "s1")
    assert session is not None and session.off


def test_two_drains_at_once_take_every_file_in_once(config: Config, own_home: Path) -> None:
    folder = str(project_folder(own_home))
    for n in range(120):
        drop(config, bash(f"echo {n}", use=f"toolu_{n}", cwd=folder), f"{n:04}.json")
    redactor = Redactor(config.capture)

    def work() -> None:
        own = connect(config.db_path)
        Drain(config, redactor).once(own, T0)
        own.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(config) == 120


def test_a_turn_and_its_session_are_closed_and_distilled_without_stop_or_session_end(
    config: Config, own_home: Path
) -> None:
    quick = config.model_copy(
        update={"worker": config.worker.model_copy(update={"turn_idle_minutes": 0.0, "session_idle_minutes": 0.0})}
    )
    folder = str(project_folder(own_home))
    drop(quick, hook_input("SessionStart", source="startup", cwd=folder), "0.json")
    drop(quick, prompt("Always run the tests with pytest -q", cwd=folder), "1.json")
    for n in range(3):
        drop(quick, bash("pytest -q", "3 passed", use=f"toolu_{n}", cwd=folder), f"{n + 2}.json")
    held.drain_once(quick)
    db = connect(quick.db_path)
    session = sessions.get(db, "s1")
    assert session is not None and session.closed_ms is not None
    states = {row["kind"]: row["state"] for row in jobs.listing(db)}
    assert states == {"distil": "done", "close": "done", "conflicts": "done"}
    db.close()


def test_a_stop_hook_makes_the_turn_a_memory_with_its_quote(config: Config, own_home: Path) -> None:
    folder = str(project_folder(own_home))
    drop(config, prompt("Always run the tests with pytest -q", cwd=folder), "1.json")
    drop(config, stop(cwd=folder), "2.json")
    held.drain_once(config)
    db = connect(config.db_path)
    rows = list(
        db.execute("select v.value, e.quote from memory_versions v join memory_evidence e on e.version_id = v.id")
    )
    db.close()
    assert rows and all("pytest -q" in value and "pytest -q" in quote for value, quote in rows)


def test_the_worker_takes_secrets_out_for_those_who_ask_and_nobody_needs_it_to(
    config: Config, workers: list[subprocess.Popen[bytes]]
) -> None:
    secret = "gh" + "p_" + "Zq3" * 12
    redact = redaction.by_worker(config.home)
    alone = redact([f"use {secret}", "nothing here"])
    workers.append(start(config))
    until(lambda: answers(config))
    assert redact([f"use {secret}", "nothing here"]) == alone
    assert secret not in alone[0] and alone[1] == "nothing here"


@needs_model
def test_the_start_of_a_session_has_the_model_loaded_before_the_first_question(
    config: Config, workers: list[subprocess.Popen[bytes]]
) -> None:
    config.home.mkdir(parents=True, exist_ok=True)
    (config.home / "models").symlink_to(MODELS)
    workers.append(start(config))
    until(lambda: answers(config))
    assert worker_socket.request(config.home, "status", timeout_s=5)["model_pid"] is None
    drop(config, hook_input("SessionStart", source="startup"), "1.json")
    until(lambda: worker_socket.request(config.home, "status", timeout_s=5)["model_pid"] is not None)


def test_a_memory_that_an_answer_names_counts_as_used_once_a_turn_where_the_session_was_shown_it(
    config: Config, own_home: Path
) -> None:
    folder = str(project_folder(own_home))
    drop(config, prompt("Always run the tests with pytest -q", cwd=folder), "1.json")
    drop(config, prompt("Never use tabs here", prompt_id="p2", cwd=folder), "2.json")
    drop(config, stop(prompt_id="p2", cwd=folder), "3.json")
    held.drain_once(config)
    db = connect(config.db_path)
    shown, hidden = (row[0] for row in db.execute("select id from memories order by id"))
    memories.note_ref(db, shown, "shown", "agent", "s2", T0)
    asked = hook_input("UserPromptSubmit", session="s2", prompt="how are tests run?", prompt_id="p9", cwd=folder)
    answer = f"As m{shown} says, with pytest -q; m{hidden} and x.m{shown} have nothing to do with it."
    drop(config, asked, "4.json")
    drop(config, stop(session="s2", prompt_id="p9", last_assistant_message=answer, cwd=folder), "5.json")
    for _ in range(2):
        held.drain_once(config)
        with transaction(db):
            jobs.ask(db, "distil", "s2\np9", due_ms=0, now_ms=T0, later=False)
    held.drain_once(config)
    used = list(db.execute("select memory_id, session_id from memory_refs where how = 'used'"))
    db.close()
    assert used == [(shown, "s2")]
