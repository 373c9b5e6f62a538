"""What the MCP server costs to start and to keep, beside a bare server of the SDK.

    python benchmarks/mcp_start.py [--rounds 15] [--idle 5] [--models ~/.recorder/models]

Prints a markdown table. Every round starts each of the two once, in turn, and ends it when `initialize` is answered.
With `--models` a worker runs beside the idle servers and has answered a question, so that the model is loaded once.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recorder import embed, worker_socket

ROOT = Path(__file__).resolve().parent.parent

BARE = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("bare")


@server.tool()
def echo(text: str) -> str:
    return text


server.run("stdio")
"""

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}


def start(command: Sequence[str], environ: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], float]:
    """A running server and how many milliseconds it took to answer `initialize`."""
    begun = time.perf_counter()
    running = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(environ)
    )
    assert running.stdin and running.stdout
    running.stdin.write(json.dumps(HELLO).encode() + b"\n")
    running.stdin.flush()
    answer = json.loads(running.stdout.readline())
    took_ms = (time.perf_counter() - begun) * 1000
    assert answer["result"]["serverInfo"]["name"]
    return running, took_ms


def end(running: subprocess.Popen[bytes]) -> float:
    """How many milliseconds of processor time it had taken."""
    running.kill()
    for pipe in (running.stdin, running.stdout):
        assert pipe is not None
        pipe.close()
    _, status, used = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    return (used.ru_utime + used.ru_stime) * 1000


@dataclass(frozen=True, slots=True)
class Memory:
    """Of one process, in MB. `pss` shares what several processes hold alike among them; 0 where there is no /proc."""

    rss: float
    pss: float
    has_model: bool
    """Whether it holds the library that runs the model."""


def memory(pid: int) -> Memory:
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return Memory(int(told.stdout) / 1024, 0, False)
    pss = next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return Memory(int(told.stdout) / 1024, pss / 1024, "onnxruntime" in maps)


def of_worker(home: Path, models: Path, environ: Mapping[str, str]) -> dict[str, Memory]:
    """Memory of the worker and of the model's child, once a question was embedded."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "models").symlink_to(models.resolve())
    worker = subprocess.Popen([sys.executable, "-m", "worker"], env=dict(environ), cwd=ROOT)
    try:
        deadline = time.monotonic() + 60
        while embed.ask(home, "which store?", 2000)[0] is None:
            assert time.monotonic() < deadline, "the worker gives no vector"
            time.sleep(0.1)
        child = worker_socket.request(home, "status", timeout_s=5)["model_pid"]
        return {"worker": memory(worker.pid), "its model child": memory(child)}
    finally:
        worker.terminate()
        worker.wait()


def spread(times_ms: Sequence[float]) -> str:
    low, median, high = statistics.quantiles(times_ms, n=4)
    return f"{median:.0f} ({low:.0f}–{high:.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--idle", type=int, default=5)
    parser.add_argument("--models", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE)
        environ = {**os.environ, "RECORDER_HOME": str(Path(folder) / "home"), "CLAUDE_PROJECT_DIR": folder}
        sides = {
            "bare MCP SDK server": [sys.executable, str(bare)],
            "recorder": [sys.executable, str(ROOT / "mcp_server.py")],
        }
        times: dict[str, list[float]] = {name: [] for name in sides}
        spent: dict[str, list[float]] = {name: [] for name in sides}
        for command in sides.values():  # compiled files exist and the disk is warm for both
            end(start(command, environ)[0])
        for _ in range(asked.rounds):
            for name, command in sides.items():
                running, took_ms = start(command, environ)
                times[name].append(took_ms)
                spent[name].append(end(running))
        idle = {name: [start(command, environ)[0] for _ in range(asked.idle)] for name, command in sides.items()}
        parts: dict[str, Memory] = {}
        if asked.models:
            parts = of_worker(Path(folder) / "home", asked.models, environ)
        held = {name: [memory(running.pid) for running in servers] for name, servers in idle.items()}
        for servers in idle.values():
            for running in servers:
                end(running)
    load = os.getloadavg()[0]
    print(f"{platform.machine()}, Python {platform.python_version()}, n = {asked.rounds}, load {load:.1f}\n")
    print("| server | `initialize` answered, ms: median (middle half) | processor time, ms |\n|---|---|---|")
    for name in sides:
        print(f"| {name} | {spread(times[name])} | {spread(spent[name])} |")
    for what, values in (("", times), ("in processor time ", spent)):
        ours, bare_ones = values["recorder"], values["bare MCP SDK server"]
        pairs = statistics.median(one / other for one, other in zip(ours, bare_ones, strict=True))
        ratio = statistics.median(ours) / statistics.median(bare_ones)
        print(f"\nratio of medians {what}{ratio:.2f}, median of pairs {pairs:.2f} (budget 1.3)")
    print(
        f"\n| {asked.idle} idle servers of each kind at once | RSS, MB: largest | PSS, MB: largest | holds the model |"
    )
    print("|---|---|---|---|")
    for name, all_of in {**held, **{name: [one] for name, one in parts.items()}}.items():
        rss, pss = max(one.rss for one in all_of), max(one.pss for one in all_of)
        print(f"| {name} | {rss:.0f} | {pss:.0f} | {sum(one.has_model for one in all_of)} of {len(all_of)} |")
    all_pss = sum(one.pss for one in (*held["recorder"], *parts.values()))
    print(f"\n{asked.idle} recorder servers and what stands beside them, PSS in all: {all_pss:.0f} MB")


if __name__ == "__main__":
    main()
