"""What goes wrong around the worker: it is gone, killed, too large, or its queue never ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from recorder import doctor, gate, worker_socket
from recorder.capture import spool
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.errors import WorkerUnavailable
from recorder.models import Channel, Job, MemoryKind, Origin, Proposal
from recorder.recall import scope as scopes
from recorder.store import events, jobs, sessions
from recorder.store.db import Connection, connect, transaction
from tests.hooks.running import HOOKS, PYTHON, environ, needs_network_namespace, offline, run
from tests.makers import T0, bash, event_of, hook_input, project_folder, prompt, stop, take
from worker import brief, held
from worker.drain import Drain
from worker.handlers import HANDLERS, Context
from worker.loop import run_once

ROOT = Path(__file__).resolve().parents[2]
CAPTURE = ["/bin/sh", str(HOOKS / "capture.sh")]
BRIEF = [*PYTHON, str(HOOKS / "brief.py")]
MINUTE_MS = 60_000


def hook(config: Config, fields: Mapping[str, Any], **more: str) -> float:
    """Give one input to the real hook, which must be silent; the seconds it took."""
    began = time.monotonic()
    assert run(CAPTURE, json.dumps(dict(fields)).encode(), environ(config.home, **more)).silent
    return time.monotonic() - began


def drop(config: Config, fields: Mapping[str, Any], name: str) -> None:
    """What the hook would leave, without the hook."""
    spool.prepare(config.spool)
    (config.spool / "new" / name).write_text(json.dumps(dict(fields)))


def until(true: Callable[[], object], *, within_s: float = 60.0, every_s: float = 0.02) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(every_s)


def rows(config: Config, sql: str) -> list[tuple[Any, ...]]:
    db = connect(config.db_path)
    try:
        return list(db.execute(sql))
    finally:
        db.close()


def answers(config: Config) -> bool:
    try:
        worker_socket.request(config.home, "status", timeout_s=1)
    except WorkerUnavailable:
        return False
    return True


Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(config: Config) -> Iterator[Start]:
    """Starts workers of this home; none outlives the test."""
    started: list[subprocess.Popen[bytes]] = []

    def one(**more: str) -> subprocess.Popen[bytes]:
        own = environ(config.home, KF_RULE_CACHE_DIR=os.environ["KF_RULE_CACHE_DIR"], **more)
        started.append(subprocess.Popen([sys.executable, "-m", "worker"], env=own, cwd=ROOT))
        return started[-1]

    yield one
    for worker in started:
        if worker.poll() is None:
            worker.kill()
        worker.wait(timeout=10)


@pytest.fixture
def folder(own_home: Path) -> str:
    return str(project_folder(own_home))


# --- gone or killed -------------------------------------------------------------------------------


def test_what_the_hook_took_while_no_worker_lived_is_one_event_once_one_starts(
    config: Config, folder: str, start: Start
) -> None:
    hook(config, bash("make", "x" * 3000, cwd=folder))
    (waiting,) = spool.pending(config.spool)
    start()
    until(lambda: not waiting.path.exists())
    assert rows(config, "select kind, tool_use_id from events") == [("tool_call", "toolu_1")]


def test_a_worker_killed_in_the_middle_of_distilling_has_each_turn_distilled_once_in_effect(
    config: Config, folder: str, start: Start
) -> None:
    turns = 80
    for n in range(turns):
        words = f"Always run the {n}. check with check-{n} --all"
        drop(config, prompt(words, prompt_id=f"p{n}", cwd=folder), f"{n:03}a.json")
        drop(config, stop(prompt_id=f"p{n}", cwd=folder), f"{n:03}b.json")
    cut_off: list[int] = []
    while len(cut_off) < 3 and distilled(config) < turns:
        worker = start()
        until(lambda: distilled(config) > max(cut_off, default=0), every_s=0.0)
        worker.send_signal(signal.SIGKILL)
        worker.wait(timeout=10)
        cut_off.append(distilled(config))
        # What the dead one had claimed is free again when its lease ends: here, now.
        rows(config, "update jobs set lease_until_ms = 1 where state = 'running'")
    assert 0 < cut_off[0] < turns and held.drain_once(config) == 0
    assert rows(config, "select count(*) from events where session_id = 's1'") == [(2 * turns,)]
    assert distilled(config) == turns
    proof = rows(config, "select version_id, event_id, quote from memory_evidence")
    assert len(proof) == len(set(proof)) >= turns
    versions = Counter(memory for (memory,) in rows(config, "select memory_id from memory_versions"))
    assert set(versions.values()) == {1}
    assert rows(config, "select key, count(*) from memories group by key having count(*) > 1") == []


def distilled(config: Config) -> int:
    if not config.db_path.exists():
        return 0
    found = rows(config, "select count(*) from jobs where kind = 'distil' and state = 'done'")
    return int(found[0][0])


def test_a_session_end_that_is_killed_or_never_comes_leaves_a_session_that_closes_by_itself(
    config: Config, folder: str
) -> None:
    hook(config, hook_input("SessionStart", source="startup", cwd=folder))
    hook(config, prompt("hello", cwd=folder))
    with subprocess.Popen(CAPTURE, stdin=subprocess.PIPE, env=environ(config.home)) as dying:
        assert dying.stdin is not None
        dying.stdin.write(b'{"session_id": "s1", "hook_event')
        dying.stdin.flush()
        time.sleep(0.02)
        dying.kill()
    db = connect(config.db_path)
    Drain(config, Redactor(config.capture)).once(db, now_ms())
    session = sessions.get(db, "s1")
    assert session is not None and session.closed_ms is None
    work(db, config, now_ms() + 21 * MINUTE_MS)
    session = sessions.get(db, "s1")
    assert session is not None and session.closed_ms is not None
    assert {job["kind"]: job["state"] for job in jobs.listing(db)} == {"distil": "done", "close": "done"}
    db.close()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def work(db: Connection, config: Config, at_ms: int) -> None:
    while run_once(Context(db, config, Redactor(config.capture), at_ms), HANDLERS):
        pass


def test_a_session_of_one_prompt_is_recorded(config: Config, folder: str, db: Connection) -> None:
    hook(config, prompt("what is this?", cwd=folder))
    held.drain_once(config)
    assert [event.text for event in events.listing(db)] == ["what is this?"]


def test_the_next_prompt_ends_a_turn_that_never_stopped(config: Config, folder: str, db: Connection) -> None:
    given = [prompt("first", prompt_id="p1", cwd=folder), bash("ls", prompt_id="p1", cwd=folder)]
    take(db, config, [event_of(fields) for fields in given])
    assert not run_once(Context(db, config, Redactor(config.capture), T0), {"distil": lambda _, job: job.subject})
    take(db, config, [event_of(prompt("second", prompt_id="p2", cwd=folder), at_ms=T0 + 1)])
    work(db, config, T0 + 1)
    assert {job["subject"]: job["state"] for job in jobs.listing(db) if job["kind"] == "distil"} == {
        "s1\np1": "done",
        "s1\np2": "queued",
    }


def test_no_event_of_a_session_throws_waiting_work_away(config: Config, folder: str, db: Connection) -> None:
    for n in range(10):
        drop(config, prompt(f"prompt {n}", prompt_id=f"p{n}", cwd=folder), f"{n}.json")
    drop(config, hook_input("SessionEnd", reason="clear", cwd=folder), "99.json")
    drained = Drain(config, Redactor(config.capture)).once(db, now_ms())
    work(db, config, now_ms())
    states = Counter(job["state"] for job in jobs.listing(db) if job["kind"] == "distil")
    # The ten turns, and the end itself, which reads the transcript.
    assert (drained, states) == (11, Counter({"done": 11}))


def test_a_read_that_dies_before_its_commit_is_read_again(config: Config, folder: str, db: Connection) -> None:
    drop(config, prompt("once", cwd=folder), "a.json")
    db.execute("create temp trigger dying before insert on main.events begin select raise(rollback, 'dying'); end")
    drain = Drain(config, Redactor(config.capture))
    assert drain.once(db, T0) == 0 and len(spool.pending(config.spool)) == 1
    db.execute("drop trigger dying")
    assert drain.once(db, T0 + MINUTE_MS) == 1
    assert events.count(db) == 1 and spool.pending(config.spool) == []


# --- session start --------------------------------------------------------------------------------


def verified(config: Config, folder: str) -> None:
    """A verified memory and its brief, made without any server or worker."""
    db = connect(config.db_path)
    scope = scopes.of_directory(db, folder, now_ms=T0, register=True)
    made = Proposal(
        namespace=f"project.{scope.project_id}",
        key="preference.package-manager",
        value="Use uv and never pip",
        kind=MemoryKind.PREFERENCE,
        origin=Origin.USER_SAID,
        source="terminal",
        explicit=True,
    )
    gate.tell(db, made, gate.Writer(Channel.PERSON, "terminal", scope, T0))
    brief.write_all(db, config, T0)
    db.close()


def shown(config: Config, folder: str, source: str = "startup", argv: list[str] | None = None) -> str:
    given = json.dumps(hook_input("SessionStart", source=source, cwd=folder)).encode()
    ran = run([*(argv or []), *BRIEF], given, environ(config.home))
    assert (ran.code, ran.err) == (0, b"")
    return ran.out.decode()


def test_a_session_starts_at_once_with_its_brief_while_nothing_of_ours_runs(config: Config, folder: str) -> None:
    verified(config, folder)
    quickest = min(timed(lambda: shown(config, folder)) for _ in range(3))
    assert "Use uv and never pip" in shown(config, folder)
    assert quickest < 0.3
    assert min(hook(config, hook_input("SessionStart", source="startup", cwd=folder)) for _ in range(3)) < 0.3


def timed(call: Callable[[], object]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began


@needs_network_namespace
def test_a_session_starts_with_its_brief_where_there_is_no_network_at_all(config: Config, folder: str) -> None:
    verified(config, folder)
    assert "Use uv and never pip" in shown(config, folder, argv=offline())


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact", "fork"])
def test_every_way_to_start_a_session_shows_the_brief_or_records_why_not(
    config: Config, folder: str, db: Connection, source: str
) -> None:
    verified(config, folder)
    text = shown(config, folder, source)
    held.drain_once(config, distil=False)
    (injected,) = events.listing(db, kind="injection")
    assert bool(text) is not bool(injected.body.get("skipped"))
    assert ("Use uv" in text) is (source not in ("resume", "fork"))


def test_a_queue_that_is_stuck_says_so_in_the_brief_until_it_is_mended(
    config: Config, folder: str, db: Connection
) -> None:
    verified(config, folder)

    def broken(_: Context, job: Job) -> str:
        raise ValueError("the distiller is broken")

    take(db, config, [event_of(prompt("hello", cwd=folder)), event_of(stop(cwd=folder))])
    at_ms = T0
    for _ in range(jobs.TRIES):
        assert "recorder:" not in shown(config, folder)
        run_once(Context(db, config, Redactor(config.capture), at_ms), {"distil": broken})
        at_ms += jobs.backoff_ms(jobs.TRIES)
    loop = held.make_loop(config)
    loop.clock_ms = lambda: at_ms
    loop.one_pass(db, distil=False)
    assert doctor.status(db, config, at_ms)["stuck"] is not None
    first, _, rest = shown(config, folder).partition("\n")
    assert first.startswith("recorder: ") and "recorder doctor" in first and "Use uv" in rest
    with transaction(db):
        jobs.revive(db, at_ms)
    loop.one_pass(db)
    assert "recorder:" not in shown(config, folder) and "Use uv" in shown(config, folder)


def test_a_brief_comes_back_when_the_pause_of_its_project_has_run_out(
    config: Config, folder: str, db: Connection
) -> None:
    verified(config, folder)
    project = next(iter(db.execute("select project_id from project_roots")))[0]
    with transaction(db):
        sessions.pause(db, project, T0, T0 + MINUTE_MS)
    loop = held.make_loop(config)
    loop.clock_ms = lambda: T0 + 1
    loop.one_pass(db)
    assert shown(config, folder) == ""
    loop.clock_ms = lambda: T0 + MINUTE_MS + 1
    loop.one_pass(db)
    assert "Use uv" in shown(config, folder)


# --- its own life ---------------------------------------------------------------------------------


def test_a_worker_above_its_memory_takes_in_what_waits_and_leaves(config: Config, folder: str, start: Start) -> None:
    drop(config, prompt("hello", cwd=folder), "a.json")
    assert start(RECORDER_WORKER_MAX_RSS_MB="1").wait(timeout=60) == 0
    assert rows(config, "select count(*) from events") == [(1,)]


def test_a_worker_leaves_although_somebody_told_us_something_without_a_session(config: Config, folder: str) -> None:
    verified(config, folder)
    loop = held.make_loop(config)
    loop.clock_ms = lambda: T0
    db = connect(config.db_path)
    while loop.one_pass(db):
        pass
    loop.busy_ms = T0 - 31 * MINUTE_MS
    assert loop.reason_to_leave(db) == "nothing to do for 31 minutes"
    db.close()


def test_nothing_is_written_where_the_person_works(config: Config, own_home: Path, start: Start) -> None:
    work_tree = own_home / "repository"
    quiet: dict[str, Any] = {"check": True, "capture_output": True, "timeout": 30, "cwd": own_home}
    subprocess.run(["git", "init", str(work_tree)], **quiet)
    cwd = str(work_tree)
    for fields in (
        hook_input("SessionStart", source="startup", cwd=cwd),
        prompt("Always run the tests with pytest -q", cwd=cwd),
        bash("pytest -q", "3 passed", cwd=cwd),
        stop(cwd=cwd),
        hook_input("SessionEnd", reason="other", cwd=cwd),
    ):
        ran = run(CAPTURE, json.dumps(fields).encode(), environ(config.home), cwd=work_tree)
        assert ran.silent
    worker = start()
    until(lambda: distilled(config) and answers(config))
    worker_socket.request(config.home, "stop", timeout_s=5)
    worker.wait(timeout=20)
    run(
        BRIEF, json.dumps(hook_input("SessionStart", source="clear", cwd=cwd)).encode(), environ(config.home), work_tree
    )
    told = subprocess.run(["git", "-C", cwd, "status", "--porcelain", "--ignored"], **quiet)
    assert told.stdout == b""


# --- one resolver, every door ---------------------------------------------------------------------


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
MCP = (
    {"method": "initialize", "id": 1, "params": HELLO},
    {"method": "notifications/initialized"},
    {
        "method": "tools/call",
        "id": 2,
        "params": {"name": "memory_remember", "arguments": {"key": "k", "value": "we say so"}},
    },
)
"""What a client says to our server to have one memory written."""


def told_by_servers(config: Config, folders: list[Path]) -> list[tuple[str, int]]:
    """(answer to remember, megabytes in memory while idle) of one MCP server a folder, all running at once."""
    own = environ(config.home, KF_RULE_CACHE_DIR=os.environ["KF_RULE_CACHE_DIR"], CLAUDECODE="1")
    servers = [
        subprocess.Popen(
            [sys.executable, str(ROOT / "mcp_server.py")],
            cwd=folder,
            env=own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for folder in folders
    ]
    found = []
    for server in servers:
        assert server.stdin is not None and server.stdout is not None
        megabytes = 0
        for said in MCP:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **said}).encode() + b"\n")
            server.stdin.flush()
            if "id" in said:
                answer = json.loads(server.stdout.readline())
                megabytes = megabytes or memory_mb(server.pid)
        found.append((answer["result"]["content"][0]["text"], megabytes))
    for server in servers:
        server.communicate(timeout=30)
    return found


def memory_mb(pid: int) -> int:
    """Resident memory now; 0 where there is no /proc."""
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS")), 0)


def test_hook_command_line_and_server_file_the_same_folders_under_the_same_project(
    config: Config, own_home: Path, db: Connection
) -> None:
    quiet: dict[str, Any] = {"check": True, "capture_output": True, "timeout": 30}
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@localhost"]
    alpha, beta = own_home / "alpha" / "app", own_home / "beta" / "app"
    for repository in (alpha, beta):
        subprocess.run([*git, "init", str(repository)], **quiet)
    subprocess.run([*git, "-C", str(alpha), "commit", "--allow-empty", "-m", "first"], **quiet)
    subprocess.run([*git, "-C", str(alpha), "worktree", "add", str(own_home / "tree")], **quiet)
    (alpha / "src").mkdir()
    (own_home / "plain").mkdir()
    (own_home / "link").symlink_to(beta)
    folders = [alpha, alpha / "src", own_home / "tree", beta, own_home / "link", own_home / "plain"]
    for n, folder in enumerate(folders):
        hook(config, hook_input("SessionStart", source="startup", session=f"s{n}", cwd=str(folder)))
    held.drain_once(config)
    by_hook = [events.of_session(db, f"s{n}")[0].project_id for n in range(len(folders))]
    by_scope = [scopes.of_directory(db, str(folder), now_ms=T0).project_id for folder in folders]
    own = environ(config.home, KF_RULE_CACHE_DIR=os.environ["KF_RULE_CACHE_DIR"])
    batch = own_home / "questions.jsonl"
    batch.write_text("".join(json.dumps({"id": 1, "question": "x", "project": str(f)}) + "\n" for f in folders))
    told = subprocess.run(
        [sys.executable, "-m", "recorder", "search", "--batch", str(batch)],
        cwd=ROOT,
        env=own,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    by_command = [json.loads(line)["scope"][-1] for line in told.stdout.splitlines()]
    by_server = told_by_servers(config, [own_home / "tree", own_home / "link", own_home / "plain"])
    index = json.loads((config.brief_dir / "index.json").read_text())["roots"]
    assert by_hook == by_scope == by_command
    assert by_hook[0] == by_hook[1] == by_hook[2] and by_hook[3] == by_hook[4]
    assert len(set(by_hook)) == 3 and None not in by_hook
    for (answer, mb), project in zip(by_server, [by_hook[2], by_hook[4], by_hook[5]], strict=True):
        assert f"project.{project}/k" in answer and mb <= 90
    assert {entry["project"] for entry in index.values()} == set(by_hook)


def test_the_home_folder_is_no_project_through_any_door(config: Config, own_home: Path, db: Connection) -> None:
    hook(config, prompt("hello", cwd=str(own_home)))
    held.drain_once(config)
    assert [event.project_id for event in events.listing(db)] == [None]
