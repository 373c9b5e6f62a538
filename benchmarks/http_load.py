"""Readers and writers on the HTTP API while a session is captured: errors, times, and how long capture takes.

    python benchmarks/http_load.py [--seconds 60] [--readers 50] [--writers 5] [--hooks 10]

The service and the worker run as processes of their own over a home of their own, as `recorder up` starts them. Each
reader and writer is a thread with one connection; hooks run through `hooks/capture.sh`, so many a second, and an event
counts as captured when it can be read from the store. Prints a markdown table.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
READS = (
    "/api/memory?limit=20",
    "/api/search?q=cache+of+the+cluster&limit=10",
    "/api/events?limit=20",
    "/api/prompts?limit=20",
    "/api/sessions",
    "/api/memory/stats",
    "/api/memory/user/k1",
    "/api/health",
)


@dataclass
class Seen:
    """What was measured, in milliseconds."""

    reads: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def asking(
    port: int,
    token: str,
    until: float,
    times: list[float],
    errors: list[str],
    ask: Callable[[int], tuple[str, str, str]],
) -> None:
    """Ask until the time is over, on one connection."""
    link = HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    number = 0
    while time.monotonic() < until:
        method, path, body = ask(number)
        number += 1
        began = time.perf_counter()
        try:
            link.request(method, path, body or None, headers)
            answer = link.getresponse()
            said = answer.read()
        except (OSError, HTTPException) as error:
            errors.append(f"{method} {path}: {error!r}")
            link.close()
            continue
        times.append((time.perf_counter() - began) * 1000)
        if answer.status >= 400:
            errors.append(f"{method} {path}: {answer.status} {said[:120]!r}")
    link.close()


def capturing(home: Path, cwd: Path, until: float, a_second: int, lags: list[float]) -> None:
    """Drop hook inputs as a session does, and see how long each takes to be in the store."""
    from recorder.store.db import connect_readonly

    environ = {"RECORDER_HOME": str(home), "PATH": os.environ["PATH"], "HOME": str(home.parent)}
    db = connect_readonly(home / "recorder.db")
    dropped: dict[str, float] = {}
    number = 0
    while time.monotonic() < until or (dropped and time.monotonic() < until + 30):
        if time.monotonic() < until:
            number += 1
            use = f"toolu_{number}"
            given = {
                "session_id": "11111111-2222-4333-8444-555566667777",
                "transcript_path": "/nowhere",
                "cwd": str(cwd),
                "hook_event_name": "PostToolUse",
                "tool_name": "Bash",
                "tool_use_id": use,
                "tool_input": {"command": f"make target-{number}"},
                "tool_response": {"stdout": "ok\n" * 200, "stderr": ""},
                "prompt_id": "p1",
            }
            hook = ["/bin/sh", str(ROOT / "hooks" / "capture.sh")]
            subprocess.run(hook, input=json.dumps(given).encode(), env=environ, check=True)
            dropped[use] = time.monotonic()
        for (use,) in db.execute(
            "select tool_use_id from events where tool_use_id in (select value from json_each(?))",
            (json.dumps(list(dropped)),),
        ):
            lags.append((time.monotonic() - dropped.pop(use)) * 1000)
        time.sleep(1 / a_second)
    db.close()


def main() -> None:
    """Run it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--writers", type=int, default=5)
    parser.add_argument("--hooks", type=int, default=10, help="hook inputs a second")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home, cwd = Path(folder) / ".recorder", Path(folder) / "project"
        (cwd / ".git").mkdir(parents=True)
        environ = os.environ | {"RECORDER_HOME": str(home)}
        recorder = [sys.executable, "-m", "recorder"]
        subprocess.run([*recorder, "up", "--detach", "--port", "0"], env=environ, cwd=ROOT, check=True, stdout=2)
        try:
            port = json.loads((home / "up.lock").read_text())["port"]
            token = (home / "token").read_text().strip()
            seen = measured(home, cwd, port, token, given)
        finally:
            subprocess.run([*recorder, "down"], env=environ, cwd=ROOT, check=True, stdout=2)
    print(
        f"{given.readers} readers, {given.writers} writers, {given.hooks} hook inputs a second, {given.seconds:.0f} s\n"
    )
    print("| what | how many | median ms | p95 ms | p99 ms |\n|---|---|---|---|---|")
    for name, times in (("read", seen.reads), ("write", seen.writes), ("hook to store", seen.lags)):
        cuts = statistics.quantiles(times, n=100)
        print(f"| {name} | {len(times)} | {cuts[49]:.0f} | {cuts[94]:.0f} | {cuts[98]:.0f} |")
    print(f"\n{len(seen.errors)} errors")
    for error in seen.errors[:10]:
        print(f"  {error}")
    sys.exit(bool(seen.errors))


def measured(home: Path, cwd: Path, port: int, token: str, given: argparse.Namespace) -> Seen:
    """What came of it."""
    seen = Seen()
    first: list[float] = []
    asking(port, token, time.monotonic() + 0.1, first, seen.errors, lambda n: written("k", n))
    until = time.monotonic() + given.seconds
    threads = [threading.Thread(target=capturing, args=(home, cwd, until, given.hooks, seen.lags))]
    for reader in range(given.readers):
        chance = random.Random(reader)
        ask = lambda n, chance=chance: ("GET", chance.choice(READS), "")  # noqa: E731
        threads.append(threading.Thread(target=asking, args=(port, token, until, seen.reads, seen.errors, ask)))
    for writer in range(given.writers):
        ask = lambda n, writer=writer: written(f"w{writer}.", n)  # noqa: E731
        threads.append(threading.Thread(target=asking, args=(port, token, until, seen.writes, seen.errors, ask)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


def written(prefix: str, number: int) -> tuple[str, str, str]:
    """A write of a memory that says something new."""
    said = {"namespace": "user", "key": f"{prefix}{number + 1}", "value": f"The cache of {prefix}{number} is {number}"}
    return "POST", "/api/memory", json.dumps(said)


if __name__ == "__main__":
    main()
