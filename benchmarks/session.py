"""What the recorder adds to a session of the real client, beside the same hooks as bare `true`.

    python -m benchmarks.session [--pairs 15] [--calls 20]

Prints a markdown table. Each pair is one session of either kind, in turn; the model answers at once, which is the worst
case: a real one takes seconds, in which hooks do not count. The worker runs and takes everything in meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recorder import worker_socket
from tests.e2e.client import VERSION, Machine, fetch
from tests.e2e.model import Model, Request, Story, call, say
from tests.e2e.recorded import Recorder

BUDGET = 1.15
ALONE = ("--permission-mode", "bypassPermissions", "--strict-mcp-config")
WITH_MCP = ("--permission-mode", "bypassPermissions")


def working(machine: Machine, calls: int) -> Model:
    """A session that reads and runs in turn."""

    def story(_: Request) -> Story:
        for number in range(calls):
            if number % 2:
                yield call("Bash", command=f"echo {number}", description="Say a number")
            else:
                yield call("Read", file_path=str(machine.project / "till.py"))
        yield say("Done.")

    return Model(story)


def recorded(machine: Machine) -> Recorder:
    """The machine with the recorder on it, a worker awake and a brief to show."""
    recorder = Recorder(machine)
    recorder.run("install")
    machine.ask("Warm up.", working(machine, 2), *ALONE)
    recorder.run("remember", "user", "preference.answers", "I prefer short answers.", "--kind", "preference")
    recorder.run("drain")
    worker_socket.request(recorder.home, "status", timeout_s=10)
    return recorder


BARE_SERVER = """
from mcp.server import MCPServer

server = MCPServer("bare")


@server.tool()
def echo(text: str) -> str:
    return text


server.run()
"""


def with_true(machine: Machine, settings: dict[str, Any]) -> Machine:
    """The machine with the same entries, each of which runs `true`, and an MCP server of the bare SDK."""
    script = machine.root / "bare_server.py"
    script.write_text(BARE_SERVER)
    known = json.loads((machine.home / ".claude.json").read_text())
    known["mcpServers"] = {"bare": {"type": "stdio", "command": sys.executable, "args": ["-I", str(script)]}}
    (machine.home / ".claude.json").write_text(json.dumps(known))
    true = shutil.which("true") or "/bin/true"
    for groups in settings["hooks"].values():
        for number, entry in enumerate(entry for group in groups for entry in group["hooks"]):
            entry.update(command=true, args=[str(number)])  # the client runs equal entries once
    machine.settings.write_text(json.dumps(settings))
    machine.ask("Warm up.", working(machine, 2), *ALONE)
    return machine


def pairs(ours: Machine, bare: Machine, count: int, calls: int, arguments: Sequence[str]) -> list[tuple[float, float]]:
    """(seconds with ours, seconds with `true`), interleaved, the first of a pair by turns."""
    found = []
    for number in range(count):
        spent = {}
        for machine in (ours, bare) if number % 2 else (bare, ours):
            session = machine.ask("Work.", working(machine, calls), *arguments)
            assert session.code == 0, session.stderr
            spent[machine.root] = session.seconds
        found.append((spent[ours.root], spent[bare.root]))
    return found


def row(label: str, times: Sequence[tuple[float, float]]) -> str:
    ratios = [ours / bare for ours, bare in times]
    low, middle, high = statistics.quantiles(ratios, n=4)
    seconds = [statistics.median(column) for column in zip(*times, strict=True)]
    return (
        f"| {label} | {len(times)} | {seconds[1]:.3f} | {seconds[0]:.3f} |"
        f" {statistics.median(ratios):.3f} | {low:.3f} to {high:.3f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--calls", type=int, default=20)
    asked = parser.parse_args()
    client = fetch(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        machines = [Machine(client, Path(folder) / name) for name in ("ours", "bare")]
        for machine in machines:
            machine.root.mkdir()
            machine.prepare()
        recorder = recorded(machines[0])
        try:
            with_true(machines[1], json.loads(machines[0].settings.read_text()))
            hooks = pairs(machines[0], machines[1], asked.pairs, asked.calls, ALONE)
            server = pairs(machines[0], machines[1], asked.pairs, asked.calls, WITH_MCP)
            worker_socket.request(recorder.home, "status", timeout_s=10)  # it lived all along
            stored = len(recorder.events())
        finally:
            recorder.run("uninstall")
    print(f"client {VERSION}, {asked.calls} calls a session, {platform.machine()}, {os.cpu_count()} cores;")
    print(f"budget ≤ {BUDGET} × in the first row; {stored} events were stored meanwhile")
    print()
    print("| session | pairs | `true` hooks, s | ours, s | median of ratios | middle half |")
    print("|---|---|---|---|---|---|")
    print(row("hooks, worker, brief", hooks))
    print(row("the same and our MCP server, over a bare SDK server", server))


if __name__ == "__main__":
    main()
