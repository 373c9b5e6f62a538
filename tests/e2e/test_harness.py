"""The harness itself, with collector hooks of a line of shell: what the client does, before anything of ours is there.

Every fact here was seen in 2.1.197; a test that fails after an update of the client says which one moved.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import Machine, records, wait_for
from tests.e2e.model import Model, Request, Story, call, say, talk
from tests.e2e.terminal import terminal

EVENTS = (
    "SessionStart UserPromptSubmit PostToolUse PostToolUseFailure SubagentStop Stop StopFailure SessionEnd CwdChanged"
).split()
BYPASS = ("--permission-mode", "bypassPermissions")


@pytest.fixture
def seen(machine: Machine) -> Path:
    """A folder that gets every hook input, oldest first by name."""
    folder = machine.root / "seen"
    folder.mkdir()
    script = machine.root / "collect.sh"
    script.write_text('cat > "$1/$(date +%s%N)-$$.json"\n')
    entry = {"type": "command", "command": "/bin/sh", "args": [str(script), str(folder)], "timeout": 10}
    brief = {"type": "command", "command": "/bin/echo", "args": ["Mind the till."], "timeout": 10}
    hooks: dict[str, Any] = {event: [{"hooks": [entry]}] for event in EVENTS}
    hooks["SessionStart"].append({"hooks": [brief]})
    machine.settings.write_text(json.dumps({"hooks": hooks}))
    return folder


def inputs(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(folder.iterdir())]


def names(folder: Path) -> list[str]:
    return [each["hook_event_name"] for each in inputs(folder)]


def results(machine: Machine) -> dict[str, dict[str, Any]]:
    """Every tool result in every transcript, by the id of its call."""
    found = {}
    for path in machine.transcripts():
        for record in records(path):
            content = (record.get("message") or {}).get("content")
            for block in content if isinstance(content, list) else ():
                if block.get("type") == "tool_result":
                    found[block["tool_use_id"]] = block
    return found


def with_tiny(machine: Machine) -> Path:
    """Register the tiny MCP server; the path of its log."""
    log = machine.root / "tiny.log"
    known = json.loads((machine.home / ".claude.json").read_text())
    server = Path(__file__).with_name("tiny_mcp.py")
    known["mcpServers"] = {"tiny": {"type": "stdio", "command": sys.executable, "args": [str(server), str(log)]}}
    (machine.home / ".claude.json").write_text(json.dumps(known))
    return log


def test_hooks_see_what_ran_and_the_transcript_sees_what_was_refused_too(machine: Machine, seen: Path) -> None:
    log = with_tiny(machine)
    till = str(machine.project / "till.py")

    def story(_: Request) -> Story:
        yield call("Read", file_path=till)
        yield call("Bash", command="echo fine", description="Say fine")
        yield call("Bash", command="echo broken; exit 3", description="Fail")
        yield call("Write", file_path=str(machine.project / "new.py"), content="x = 1\n")
        yield call("Edit", file_path=till, old_string="sum(prices) + 1", new_string="sum(prices)")
        yield call("mcp__tiny__echo", text="hello")
        yield call("mcp__tiny__echo", text="fail")
        yield call("Agent", description="Look", prompt="Errand: look", subagent_type="general-purpose")
        yield call("Bash", command="rm -r /", description="Refused by a rule")
        yield call("Read", wrong="parameter")
        yield say("Finished.")

    def errand(_: Request) -> Story:
        yield call("Bash", command="echo from the errand", description="Say")
        yield say("Looked.")

    model = Model(story, {"Errand:": errand})
    session = machine.ask("Work.", model, *BYPASS, "--disallowedTools", "Bash(rm *)")

    assert session.code == 0, session.stderr
    ran = [(i["hook_event_name"], i.get("tool_name")) for i in inputs(seen) if "tool_name" in i]
    assert ran == [
        ("PostToolUse", "Read"),
        ("PostToolUse", "Bash"),
        ("PostToolUseFailure", "Bash"),
        ("PostToolUse", "Write"),
        ("PostToolUse", "Edit"),
        ("PostToolUse", "mcp__tiny__echo"),
        ("PostToolUseFailure", "mcp__tiny__echo"),
        ("PostToolUse", "Bash"),
        ("PostToolUse", "Agent"),
    ]
    assert names(seen)[:2] == ["SessionStart", "UserPromptSubmit"]
    assert names(seen)[-2:] == ["Stop", "SessionEnd"]
    assert len(results(machine)) == len(ran) + 2
    assert sum(bool(block.get("is_error")) for block in results(machine).values()) == 4
    assert json.loads(log.read_text().splitlines()[0])["env"]["CLAUDE_PROJECT_DIR"] == str(machine.project)


def test_the_client_has_no_network_but_loopback(machine: Machine) -> None:
    heard: list[str] = []

    def story(_: Request) -> Story:
        request = yield call("Bash", command="cut -d: -f1 /proc/net/dev | tail -n +3", description="Interfaces")
        heard.extend(request.results[0].split())
        yield say("Seen.")

    machine.ask("Look around.", Model(story), *BYPASS)

    assert heard == ["lo"]


def test_what_the_model_does_next_can_depend_on_what_came_back(machine: Machine) -> None:
    def story(_: Request) -> Story:
        request = yield call("Read", file_path=str(machine.project / "README.md"))
        word = request.results[0].split()[2]
        request = yield call("Bash", command=f"echo {word} | tr a-z A-Z", description="Shout")
        yield say(f"It says {request.results[0]}.")

    session = machine.ask("Read it.", Model(story), *BYPASS)

    assert session.output[-1]["result"] == "It says TILL."


def test_a_brief_is_read_by_the_model_and_leaves_one_record(machine: Machine, seen: Path) -> None:
    session = machine.ask("Hello.", model := Model(talk("Hi.")))

    attached = [r["attachment"] for r in machine.transcript(session.id) if r["type"] == "attachment"]
    hook_records = [a for a in attached if a["type"].startswith("hook_")]
    assert [(a["type"], a["hookEvent"], a["content"]) for a in hook_records] == [
        ("hook_success", "SessionStart", "Mind the till.")
    ]
    assert model.requests[0].all_words.count("Mind the till.") == 1


def test_a_typed_prompt_says_so_and_a_refused_call_has_no_hook(machine: Machine, seen: Path) -> None:
    def story(_: Request) -> Story:
        yield say("Understood.")
        yield call("Bash", command="touch unwanted", description="Make a file")
        yield say("As you wish.")

    with terminal(machine, Model(story)) as person:
        person.type("Never make files.")
        person.see("Understood")
        person.type("Go on.")
        person.see("Do you want to proceed")
        person.press("Escape")
        person.see("Interrupted")
        person.type("Do not do that.")
        person.see("As you wish")
        person.leave()

    (transcript,) = machine.transcripts()
    prompts = {r["message"]["content"]: r for r in records(transcript) if "promptSource" in r}
    assert {text: r["promptSource"] for text, r in prompts.items()} == {
        "Never make files.": "typed",
        "Go on.": "typed",
        "Do not do that.": "typed",
    }
    submitted = {i["prompt"]: i["prompt_id"] for i in inputs(seen) if "prompt" in i}
    assert submitted == {text: r["promptId"] for text, r in prompts.items()}
    assert [block["is_error"] for block in results(machine).values()] == [True]
    assert "PostToolUseFailure" not in names(seen) and names(seen)[-1] == "SessionEnd"
    assert inputs(seen)[-1]["prompt_id"] not in submitted.values()  # `/exit` makes one of its own
    assert not (machine.project / "unwanted").exists()


def test_a_prompt_typed_during_a_tool_call_is_only_an_attachment(machine: Machine, seen: Path) -> None:
    gate = machine.root / "gate"

    def story(_: Request) -> Story:
        yield call("Bash", command=f"until [ -e {gate} ]; do sleep 0.05; done", description="Wait")
        yield say("Both done.")

    with terminal(machine, model := Model(story), "--allowedTools", "Bash") as person:
        person.type("Start waiting.")
        person.see("Running")
        person.type("Meanwhile: use pnpm here.")
        wait_for(lambda: "Meanwhile" in machine.transcripts()[0].read_text(), "queued prompt")
        gate.touch()
        person.see("Both done")
        person.leave()

    assert [i["prompt"] for i in inputs(seen) if "prompt" in i] == ["Start waiting."]
    queued = [
        r for r in records(machine.transcripts()[0]) if (r.get("attachment") or {}).get("type") == "queued_command"
    ]
    assert [(r["attachment"]["prompt"], r["attachment"]["commandMode"], "promptId" in r) for r in queued] == [
        ("Meanwhile: use pnpm here.", "prompt", False)
    ]
    assert "Meanwhile: use pnpm here." in model.requests[-1].all_words


def test_a_fork_repeats_its_records_and_changes_nothing_but_the_session(machine: Machine, seen: Path) -> None:
    first = machine.ask("Start.", Model(talk("Started.")))
    resumed = machine.ask("More.", Model(talk("Yes.")), "--resume", first.id)
    fork = machine.ask("Else.", Model(talk("Well.")), "--resume", first.id, "--fork-session")
    again = machine.ask("On.", Model(talk("And on.")), "--continue")

    assert resumed.id == first.id and fork.id != first.id and again.id == fork.id
    told = {r["uuid"]: r for r in machine.transcript(first.id) if "uuid" in r}
    copies = [r for r in machine.transcript(fork.id) if r.get("uuid") in told]
    assert len(copies) == len(told)
    assert {key for r in copies for key in r if r[key] != told[r["uuid"]][key]} == {"sessionId"}
    starts = [i["session_id"] for i in inputs(seen) if i["hook_event_name"] == "SessionStart"]
    assert starts == [first.id, first.id, first.id, fork.id]  # a fork starts under its parent's name


def test_a_deferred_mcp_tool_is_found_by_tool_search_and_called(machine: Machine) -> None:
    with_tiny(machine)

    def story(request: Request) -> Story:
        assert "mcp__tiny__echo" not in request.tools
        request = yield call("ToolSearch", query="select:mcp__tiny__echo", max_results=1)
        assert "mcp__tiny__echo" in request.tools
        request = yield call("mcp__tiny__echo", text="found")
        yield say(request.results[0])

    session = machine.ask("Echo.", Model(story), *BYPASS, ENABLE_TOOL_SEARCH="true")

    assert session.output[-1]["result"] == "echo: found"
