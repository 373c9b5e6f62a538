"""What the client keeps in its own memory folder comes into ours, and the client keeps it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from recorder.models import MemoryKind, Trust
from tests.claude_auto.claude_home import state_of
from tests.e2e.client import Machine
from tests.e2e.model import Model, Request, Story, call, say, talk
from tests.e2e.recorded import Recorder

FACT = """---
name: till-amounts
description: Amounts in the till are in cents
metadata:
  type: project
---

Amounts are whole cents, never floats.

**Why:** Floats lost a cent in March.
"""


def memory_folder(machine: Machine) -> Path:
    (found,) = (machine.home / ".claude" / "projects").glob("*/memory")
    return found


def test_a_fact_the_client_wrote_down_is_one_memory_however_often_we_look(
    new_machine: Callable[..., Machine],
) -> None:
    recorder = Recorder(new_machine())
    machine = recorder.machine
    recorder.run("install")
    machine.ask("Hello.", Model(talk("Hello.")))
    folder = memory_folder(machine)

    def story(_: Request) -> Story:
        yield call("Write", file_path=str(folder / "till-amounts.md"), content=FACT)
        yield call(
            "Write",
            file_path=str(folder / "MEMORY.md"),
            content="- [Till amounts](till-amounts.md) — cents\n- The till closes at six\n",
        )
        yield say("Noted.")

    try:
        session = machine.ask("Remember how amounts are kept.", Model(story))
        recorder.run("drain")
        written = (folder / "till-amounts.md").read_text()
        assert "node_type: memory" in written and session.id in written, "the client rewrote it"
        before = state_of(folder)

        recorder.run("sync")
        found = recorder.memories()
        again = json.loads(recorder.run("sync", "--json"))
        assert (again["created"], again["changed"], again["unchanged"], again["problems"]) == (0, 0, 2, [])
        fact = found["till-amounts"]
        assert fact.namespace == f"claude.{folder.parent.name}"
        assert (fact.kind, fact.trust, fact.version) == (MemoryKind.SEMANTIC, Trust.CANDIDATE, 1)
        assert fact.value.startswith("Amounts in the till are in cents\n\nAmounts are whole cents")
        assert found["MEMORY#the-till-closes-at-six"].value == "- The till closes at six"
        assert [key for key in found if key.startswith("MEMORY#")] == ["MEMORY#the-till-closes-at-six"]
        assert state_of(folder) == before

        recalled = machine.ask("What of the till?", Model(talk("Cents.")))
        assert recalled.code == 0
        assert recorder.memories()["till-amounts"] == fact
    finally:
        recorder.run("uninstall")
