"""What one hook call costs, beside a bare `true` and a Node hook that posts to a local server.

    python benchmarks/hooks.py [--rounds 200]

Prints a markdown table. Every round runs each command once at each size, in an order shuffled anew (what comes after
Node finds the caches cold), with stdin as a socket, as the client does it.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HOOKS = Path(__file__).resolve().parent.parent / "hooks"
SIZES = {"2 KB": 2 * 1024, "200 KB": 200 * 1024}

NODE_HOOK = """
const http = require("http");
const parts = [];
process.stdin.on("data", (part) => parts.push(part));
process.stdin.on("end", () => {
  const body = Buffer.concat(parts);
  const sent = http.request(
    { host: "127.0.0.1", port: Number(process.argv[2]), path: "/events", method: "POST",
      headers: { "content-type": "application/json", "content-length": body.length } },
    (answer) => { answer.resume(); });
  sent.end(body);
});
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of one command at one size."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, times_ms: Sequence[float]) -> Cost:
        """The median and the middle half."""
        low, median, high = statistics.quantiles(times_ms, n=4)
        return cls(median, low, high)


class _Sink(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@contextmanager
def serving() -> Iterator[int]:
    """The port of a local server that takes whatever is posted; it runs in a process of its own."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Sink) as server:
        pid = os.fork()
        if pid == 0:
            server.serve_forever()
        try:
            yield server.server_port
        finally:
            os.kill(pid, 15)
            os.waitpid(pid, 0)


def commands(port: int, folder: Path) -> dict[str, list[str]]:
    """Label → argv, of what this machine has; `true` first."""
    capture = str(HOOKS / "capture.sh")
    found = {"`true`": [shutil.which("true") or "/bin/true"]}
    for shell in ("dash", "bash"):
        if path := shutil.which(shell):
            found[f"capture.sh, {shell}"] = [path, *(["--posix"] if shell == "bash" else []), capture]
    found["capture.sh, by its #! line"] = [capture]
    python = os.path.realpath(sys.executable)  # a venv's link or a shim is not what stands in settings
    found["capture.py"] = [python, "-I", "-S", str(HOOKS / "capture.py")]
    if node := shutil.which("node"):
        script = folder / "post.js"
        script.write_text(NODE_HOOK)
        found["node, posting to a local server"] = [node, str(script), str(port)]
    return found


def once_ms(argv: Sequence[str], given: bytes, environ: Mapping[str, str]) -> float:
    """How long one run takes, from before the spawn to the exit."""
    ours, theirs = socket.socketpair()

    def feed() -> None:
        try:
            ours.sendall(given)
        except OSError:  # `true` does not read
            pass
        ours.close()

    started = time.perf_counter()
    quiet = subprocess.DEVNULL
    with subprocess.Popen(argv, stdin=theirs.fileno(), stdout=quiet, stderr=quiet, env=environ) as run:
        theirs.close()
        feeder = threading.Thread(target=feed)
        feeder.start()
        run.wait(timeout=30)
        spent = time.perf_counter() - started
        feeder.join()
    assert run.returncode == 0, f"{argv} exited {run.returncode}"
    return spent * 1000


def measure(rounds: int, folder: Path) -> dict[tuple[str, str], Cost]:
    """(label, size) → cost, all interleaved."""
    environ = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(folder), "RECORDER_HOME": str(folder / "home")}
    given = {size: (b'{"filler":"' + b"x" * length)[: length - 3] + b'"}\n' for size, length in SIZES.items()}
    times: dict[tuple[str, str], list[float]] = {}
    with serving() as port:
        todo = commands(port, folder)
        order = [(label, size) for size in SIZES for label in todo]
        times = {which: [] for which in order}
        shuffler = random.Random(1)
        for turn in range(rounds + 3):
            for label, size in shuffler.sample(order, len(order)):
                spent = once_ms(todo[label], given[size], environ)
                if turn >= 3:  # the first ones warm the caches
                    times[label, size].append(spent)
            shutil.rmtree(folder / "home" / "spool" / "new", ignore_errors=True)
            (folder / "home" / "spool" / "new").mkdir(parents=True, exist_ok=True)
    return {which: Cost.of(spent) for which, spent in times.items()}


def table(costs: Mapping[tuple[str, str], Cost], rounds: int) -> str:
    lines = [
        f"n = {rounds} a row, interleaved; median ms (middle half), {platform.machine()}, {os.cpu_count()} cores",
        "",
        "| hook | stdin | ms | × `true` | × node |",
        "|---|---|---|---|---|",
    ]
    for (label, size), cost in costs.items():
        bare = costs["`true`", size].median
        node = costs.get(("node, posting to a local server", size))
        of_node = f"{cost.median / node.median:.3f}" if node else "-"
        spread = f"{cost.median:.2f} ({cost.low:.2f} to {cost.high:.2f})"
        lines.append(f"| {label} | {size} | {spread} | {cost.median / bare:.2f} | {of_node} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        print(table(measure(rounds, Path(folder)), rounds))


if __name__ == "__main__":
    main()
