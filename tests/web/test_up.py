"""The service as a process: found, adopted, replaced and stopped."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recorder import worker_socket
from recorder.config import Config
from recorder.errors import WorkerUnavailable
from recorder.store import events
from recorder.store.db import connect
from recorder.web import serve
from tests.hooks.running import HOOKS, environ, run
from tests.makers import T0, bash, event_of, project_folder, prompt, take

ROOT = Path(__file__).resolve().parents[2]


def recorder(config: Config, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "recorder", *words],
        cwd=ROOT,
        env=own(config, **more),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def own(config: Config, **more: str) -> dict[str, str]:
    return environ(config.home, KF_RULE_CACHE_DIR=os.environ["KF_RULE_CACHE_DIR"], **more)


def until(true: Callable[[], object], within_s: float = 60.0) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def worker(config: Config) -> dict[str, Any] | None:
    try:
        return worker_socket.request(config.home, "status", timeout_s=2)
    except WorkerUnavailable:
        return None


def health(port: int) -> int:
    link = http.client.HTTPConnection(serve.HOST, port, timeout=10)
    link.request("GET", "/api/health")
    answer = link.getresponse()
    answer.read()
    link.close()
    return answer.status


@pytest.fixture(autouse=True)
def nothing_stays(config: Config) -> Iterator[None]:
    yield
    serve.down(config.home)


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody else listens."""
    with socket.socket() as other:
        other.bind((serve.HOST, 0))
        other.listen()
        yield other.getsockname()[1]


def next_free(port: int) -> int:
    """The port that a service gets which wants a taken one."""
    with serve.bind(port) as probe:
        return int(probe.getsockname()[1])


def test_a_taken_port_stops_neither_capture_nor_the_service_and_the_other_port_is_told(
    config: Config, own_home: Path, taken: int
) -> None:
    expected = next_free(taken)
    up = recorder(config, "up", "--detach", "--port", str(taken))
    assert up.returncode == 0, up.stderr
    at = serve.running(config.home)
    assert at is not None and at.port == expected
    assert up.stderr.strip() == f"port {taken} is taken: serving on {at.port}"
    assert f"http://127.0.0.1:{at.port}/login?once=" in up.stdout
    assert health(at.port) == 200
    given = json.dumps(prompt("hello", cwd=str(project_folder(own_home)))).encode()
    assert run(["/bin/sh", str(HOOKS / "capture.sh")], given, environ(config.home)).silent
    until(lambda: stored(config) == 1)

    again = recorder(config, "up", "--detach", "--port", str(taken))
    assert again.returncode == 0 and serve.running(config.home) == at and again.stderr == ""
    told = recorder(config, "up", "--no-open")
    assert told.returncode == 0 and f"it is up already: http://127.0.0.1:{at.port}/" in told.stdout

    first = worker(config)
    assert first is not None
    os.kill(first["pid"], signal.SIGKILL)
    until(lambda: (found := worker(config)) is not None and found["pid"] != first["pid"])

    down = recorder(config, "down")
    assert down.stdout == "stopped: service, worker\n"
    assert serve.running(config.home) is None and worker(config) is None and not serve.worker_lives(config.home)
    with pytest.raises(OSError):
        health(at.port)
    assert recorder(config, "down").stdout == "nothing was running\n"
    for path in (config.home, config.home / "logs", config.home / "token", config.home / "up.lock"):
        assert path.stat().st_mode & 0o077 == 0, path


def stored(config: Config) -> int:
    db = connect(config.db_path)
    try:
        return events.count(db)
    finally:
        db.close()


def test_in_the_foreground_it_says_which_port_it_took_and_ends_on_a_signal(config: Config, taken: int) -> None:
    up = subprocess.Popen(
        [sys.executable, "-m", "recorder", "up", "--no-open"],
        cwd=ROOT,
        env=own(config, RECORDER_WEB_PORT=str(taken)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: serve.running(config.home) is not None)
    at = serve.running(config.home)
    assert at is not None and at.pid == up.pid
    until(lambda: reachable(at.port))
    up.send_signal(signal.SIGTERM)
    said, complained = up.communicate(timeout=30)
    assert f"http://127.0.0.1:{at.port}/login" in said
    assert f"port {taken} is taken: serving on {at.port}" in complained and "Traceback" not in complained


def reachable(port: int) -> bool:
    try:
        return health(port) == 200
    except OSError:
        return False


def test_the_service_is_reached_from_this_machine_alone() -> None:
    listener = serve.bind(0)
    assert listener.getsockname()[0] == "127.0.0.1"
    second = serve.bind(listener.getsockname()[1])
    assert second.getsockname()[1] != listener.getsockname()[1]
    listener.close()
    second.close()


def test_the_ports_after_a_taken_one_are_tried_in_order_and_then_any() -> None:
    first = serve.bind(0)
    port = first.getsockname()[1]
    row = [serve.bind(port) for _ in range(serve.NEAR_PORTS + 1)]
    ports = [listener.getsockname()[1] for listener in row]
    for listener in (first, *row):
        listener.close()
    near = [one for one in ports if port < one <= port + serve.NEAR_PORTS]
    assert near == sorted(near) and len(set(ports)) == len(ports)
    assert not port < ports[-1] <= port + serve.NEAR_PORTS
    again = serve.bind(65535)
    last = serve.bind(65535)
    assert last.getsockname()[1] != again.getsockname()[1]
    again.close()
    last.close()


OLD_WORKER = """
import fcntl, os, signal, sys, time
held = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR, 0o600)
fcntl.flock(held, fcntl.LOCK_EX)
os.write(held, f"{os.getpid()}\\n".encode())
print("held", flush=True)
time.sleep(60)
"""


def test_a_worker_of_another_version_that_understands_nothing_is_ended_too(config: Config) -> None:
    config.home.mkdir(mode=0o700)
    old = subprocess.Popen(
        [sys.executable, "-c", OLD_WORKER, str(config.home / "worker.lock")], stdout=subprocess.PIPE, text=True
    )
    assert old.stdout is not None and old.stdout.readline() == "held\n"
    assert serve.down(config.home) == (False, True)
    assert old.wait(timeout=10) == -signal.SIGTERM
    old.stdout.close()


def test_the_number_a_dead_service_left_is_nobodys(config: Config) -> None:
    config.home.mkdir(mode=0o700)
    lock = config.home / "up.lock"
    lock.write_text(json.dumps({"pid": os.getpid(), "port": 1}))
    assert serve.running(config.home) is None
    assert serve.down(config.home) == (False, False)
    with lock.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        lock.write_text("")
        assert serve.running(config.home) is None


def test_what_is_said_to_be_recalled_is_there_or_is_said_not_to_be(config: Config, own_home: Path) -> None:
    folder = str(project_folder(own_home))
    db = connect(config.db_path)
    take(db, config, [event_of(prompt("...", cwd=folder), at_ms=T0 + 1000)])
    try:
        assert "nothing answers the latest prompt" in recorder(config, "up", "--detach", "--port", "0").stdout
        # Taken in later, and asked before.
        asked = prompt("Where does the frog live?", cwd=folder, session="s2")
        ran = bash("ls pond", "the frog lives in the pond", cwd=folder, session="s2")
        take(db, config, [event_of(asked, at_ms=T0), event_of(ran, at_ms=T0 + 1)])
        recorder(config, "down")
        said = recorder(config, "up", "--detach", "--port", "0").stdout
        assert "the frog lives in the pond" in said.partition("recalled: ")[2]
    finally:
        recorder(config, "down")
        db.close()


def test_a_service_that_cannot_start_is_told_with_the_end_of_its_log(config: Config) -> None:
    config.home.mkdir(mode=0o700)
    (config.home / "up.lock").mkdir()
    said = recorder(config, "up", "--detach", "--port", "0")
    (config.home / "up.lock").rmdir()
    assert said.returncode == 1 and "up.lock" in said.stderr and "Traceback" not in said.stderr
