"""The service as a process: bound to loopback, beside a worker it adopts or starts."""

from __future__ import annotations

import fcntl
import http.client
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from recorder import worker_socket
from recorder.config import Config
from recorder.errors import RecorderError, WorkerUnavailable
from recorder.web import access

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"
NEAR_PORTS = 20
GRACE_S = 1
WATCH_EVERY_S = 5.0
END_WITHIN_S = 15.0


@dataclass(frozen=True, slots=True)
class Running:
    """A service that lives."""

    pid: int
    port: int

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"


def running(home: Path) -> Running | None:
    """The service of this home, when one lives: it holds the lock, and the kernel lets go when it dies."""
    try:
        with (home / "up.lock").open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                found = json.loads(file.read() or b"null")
                return Running(found["pid"], found["port"]) if found else None
    except FileNotFoundError:
        pass
    return None


def login_url(home: Path, at: Running) -> str:
    """The address that lets the person's browser in, once."""
    until_ms = time.time_ns() // 1_000_000 + access.LINK_MS
    return f"{at.url}/login?once={access.link(home, at.pid, until_ms)}"


def bind(port: int) -> socket.socket:
    """A listening socket on loopback: on the wanted port, else on the first free one of the twenty after it, so that
    an address stays the same from start to start, else on any. 0: any."""
    after = [near for near in range(port + 1, port + 1 + NEAR_PORTS) if near <= 65535] if port else []
    for wanted in (port, *after, 0):
        # The protocol is named, for asyncio sets TCP_NODELAY on no other: each answer took 40 ms longer without.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, wanted))
            listener.listen()  # at once: Linux lets two bind a port that nobody listens on
        except OSError:
            listener.close()
            continue
        return listener
    raise RecorderError(f"no port of {HOST} can be had")


def up(config: Config, port: int, clock_ms: Callable[[], int], ready: Callable[[Running], None]) -> None:
    """Serve until told to stop. `ready` is told where, once the port is bound.

    Raises: RecorderError when another service of this home lives.
    """
    config.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(os.open(config.home / "up.lock", os.O_CREAT | os.O_RDWR, 0o600), "r+", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RecorderError("it is up already: `recorder down` stops it") from None
        lock.truncate(0)  # a dead one's process id must not be taken for ours
        listener = bind(port)
        here = Running(os.getpid(), listener.getsockname()[1])
        lock.write(json.dumps({"pid": here.pid, "port": here.port}))
        lock.flush()
        stop = threading.Event()
        keeper = threading.Thread(target=_keep_worker, args=(config, stop), daemon=True)
        keeper.start()
        # Here and not above: what the service imports takes half a second, which no other command should wait for.
        from recorder.web.running import server_of

        server = server_of(config, clock_ms, GRACE_S)
        ready(here)
        try:
            server.run(sockets=[listener])
        finally:
            stop.set()
            keeper.join(timeout=WATCH_EVERY_S)


def detach(home: Path, port: int) -> Running:
    """The service in the background, once it answers; one that lives already is that one.

    Raises: RecorderError when it does not answer, with the end of its log.
    """
    there = running(home)
    if there is not None:
        return there
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = home / "logs" / "up.log"
    log.parent.mkdir(mode=0o700, exist_ok=True)
    with open(os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as errors:
        child = subprocess.Popen(
            [sys.executable, "-m", "recorder", "up", "--no-open", "--port", str(port)],
            env=os.environ | {"RECORDER_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
    deadline = time.monotonic() + END_WITHIN_S
    while child.poll() is None and time.monotonic() < deadline:
        at = running(home)
        if at is not None and _answers(at):
            return at
        time.sleep(0.05)
    said = log.read_text(encoding="utf-8", errors="replace")[-500:].strip()
    raise RecorderError(f"the service does not answer: {said or 'it said nothing'} (see {log})")


def _answers(at: Running) -> bool:
    link = http.client.HTTPConnection(HOST, at.port, timeout=2)
    try:
        link.request("GET", "/api/health")
        link.getresponse().read()
    except OSError:
        return False
    finally:
        link.close()
    return True


def down(home: Path) -> tuple[bool, bool]:
    """(whether a service was stopped, whether a worker was). Returns when both have ended.

    Raises: RecorderError when one does not end.
    """
    at = running(home)
    if at is not None:
        with suppress(ProcessLookupError):
            os.kill(at.pid, signal.SIGTERM)
        _await(lambda: running(home) is None, f"the service, process {at.pid}")
    return at is not None, stop_worker(home)


def stop_worker(home: Path) -> bool:
    """Whether a worker was there to stop. Returns when it has ended.

    Raises: RecorderError when it does not end.
    """
    try:
        worker_socket.request(home, "stop", timeout_s=2.0)
    except WorkerUnavailable:
        pid = worker_pid(home)
        if pid is None:
            return False
        # It is just starting, hangs, or speaks another version.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    _await(lambda: not worker_lives(home), "the worker")
    return True


def worker_lives(home: Path) -> bool:
    """Whether a worker holds its lock."""
    return worker_pid(home) is not None


def worker_pid(home: Path) -> int | None:
    """The process that holds the worker's lock; None when nobody does."""
    try:
        with (home / "worker.lock").open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read() or b"0") or None
    except FileNotFoundError:
        pass
    return None


def start_worker(config: Config) -> None:
    """A worker of its own session; it ends at once when one lives. Returns when it holds the lock, or has ended."""
    environ = os.environ | {"RECORDER_HOME": str(config.home)}
    child = subprocess.Popen(
        [sys.executable, "-m", "worker"],
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    _await(lambda: child.poll() is not None or worker_lives(config.home), "the start of the worker")


def _keep_worker(config: Config, stop: threading.Event) -> None:
    while True:
        try:
            if not worker_lives(config.home):
                start_worker(config)
        except (RecorderError, OSError) as error:
            logger.error("no worker can be started: %s", error)
        if stop.wait(WATCH_EVERY_S):
            return


def _await(done: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + END_WITHIN_S
    while not done():
        if time.monotonic() > deadline:
            raise RecorderError(f"{what} does not end within {END_WITHIN_S:.0f} s")
        time.sleep(0.05)
