"""From a prompt to the next session's recall, through the real client."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from recorder.models import EventKind, PromptClass, StoredEvent, Trust
from tests.e2e.client import Machine, Session, git, wait_for
from tests.e2e.model import Call, Model, Reply, Request, Story, call, say, talk
from tests.e2e.recorded import Recorder, hook_records, said, tool_results
from tests.e2e.terminal import terminal

BYPASS = ("--permission-mode", "bypassPermissions")
TESTS = "python3 -m unittest -q"
SDK_RULE = "Always use pnpm instead of npm in this repository."
TYPED_RULE = "Never edit the generated files by hand."
QUEUED_RULE = "Always write amounts in cents."

# As a person's file may look: tabs, a hook of theirs, no newline at the end.
SETTINGS = """{
\t"permissions": {"deny": ["Bash(rm *)"]},
\t"hooks": {
\t\t"Stop": [{"hooks": [{"type": "command", "command": "true", "timeout": 5}]}]
\t}
}"""


@dataclass(frozen=True)
class Work:
    """What happened on the machine before the tests look."""

    recorder: Recorder
    headless: Session
    settings: bytes
    """The person's settings before we came."""
    taken_without_asking: int
    """Events that stood in the store before anybody ran `recorder drain`."""
    results: list[dict[str, Any]]
    """Every tool result in the transcripts of these sessions."""
    events: list[StoredEvent]
    """What was stored of these sessions."""

    @property
    def machine(self) -> Machine:
        return self.recorder.machine


def fix_the_till(machine: Machine) -> Model:
    """A session with every kind of call: read, written, run, failed, refused, malformed, delegated, over MCP."""
    till = str(machine.project / "till.py")

    def story(_: Request) -> Story:
        yield call("Read", file_path=till)
        request = yield call("Bash", command=TESTS, description="Run the tests")
        yield call("Edit", file_path=till, old_string="sum(prices) + 1", new_string="sum(prices)")
        yield call("Bash", command=TESTS, description="Run the tests again")
        yield call("Write", file_path=str(machine.project / "NOTES.md"), content="# Notes\n")
        yield from ask_recorder(request, "memory_stats")
        yield call("Bash", command="rm till.py", description="Refused by the person's rule")
        yield call("Read", wrong="parameter")
        yield call("Agent", description="Count", prompt="Errand: count lines", subagent_type="general-purpose")
        both = (Call("Read", {"file_path": till}), Call("Bash", {"command": "ls", "description": "List"}))
        yield Reply(text="Two at once.", calls=both)
        yield say("The total was off by one; it is fixed and the tests pass.")

    def errand(_: Request) -> Story:
        yield call("Bash", command="wc -l till.py", description="Count lines")
        yield say("Two lines.")

    return Model(story, {"Errand:": errand})


def ask_recorder(request: Request, tool: str, **arguments: str) -> Generator[Reply, Request, Request]:
    """Calls a tool of ours once its server has connected; what comes back."""
    while f"mcp__recorder__{tool}" not in request.tools:
        request = yield call("WaitForMcpServers")
    return (yield call(f"mcp__recorder__{tool}", **arguments))


def at_the_terminal(machine: Machine) -> None:
    """A typed rule, one typed while Claude works, and a call the person refuses in the dialog."""
    gate = machine.root / "gate"

    def story(_: Request) -> Story:
        yield say("Understood, by hand never.")
        yield call("Bash", command=f"until [ -e {gate} ]; do sleep 0.05; done", description="Wait")
        yield say("Waited, and cents it is.")
        yield call("Write", file_path=str(machine.root / "elsewhere.txt"), content="x")
        yield say("Then not.")

    with terminal(machine, model := Model(story), "--allowedTools", "Bash") as person:
        person.type(TYPED_RULE)
        person.see("by hand never")
        person.type("Wait a moment.")
        wait_for(lambda: len(model.requests) == 2, "tool call")
        person.see("Running")
        person.type(QUEUED_RULE)
        wait_for(lambda: any(QUEUED_RULE in path.read_text() for path in machine.transcripts()), "queued prompt")
        gate.touch()
        person.see("cents it is")
        person.type("Write the file.")
        person.see("Do you want to")
        person.press("Escape")
        person.see("rejected")
        person.type("Not that one.")
        person.see("Then not")
        person.leave()


@pytest.fixture(scope="module")
def work(new_machine: Callable[..., Machine]) -> Iterator[Work]:
    machine = new_machine(PYTHONDONTWRITEBYTECODE="1")
    machine.settings.write_text(SETTINGS)
    recorder = Recorder(machine)
    recorder.run("install")
    try:
        headless = machine.ask(f"{SDK_RULE} Then mend the till.", fix_the_till(machine), *BYPASS)
        assert headless.code == 0, headless.stderr
        at_the_terminal(machine)
        taken = recorder.woken()
        recorder.settle()
        yield Work(recorder, headless, SETTINGS.encode(), taken, tool_results(machine), recorder.events())
    finally:
        recorder.run("uninstall")


def test_every_tool_result_of_the_transcripts_is_one_event(work: Work) -> None:
    seen = {block["tool_use_id"]: not block.get("is_error", False) for block in work.results}
    calls = [event for event in work.events if event.kind is EventKind.TOOL_CALL]

    assert len(seen) >= 14
    assert sorted(str(event.tool_use_id) for event in calls) == sorted(seen)
    assert {event.tool_use_id: event.ok for event in calls} == seen


def test_what_a_subagent_did_is_known_as_its_own(work: Work) -> None:
    counted = [event for event in work.events if event.body.get("input", {}).get("command") == "wc -l till.py"]

    assert [(event.session_id, event.agent_id is not None) for event in counted] == [(work.headless.id, True)]


def test_a_refused_call_keeps_what_it_wanted_and_why_it_did_not_run(work: Work) -> None:
    refused = {
        event.tool: (event.body["input"], event.body["error"])
        for event in work.events
        if event.kind is EventKind.TOOL_CALL and event.ok is False and "Exit code" not in event.body["error"]
    }

    assert refused["Bash"][0]["command"] == "rm till.py" and "denied" in refused["Bash"][1]
    assert refused["Read"][0] == {"wrong": "parameter"} and "InputValidationError" in refused["Read"][1]
    assert refused["Write"][0]["content"] == "x" and "doesn't want to proceed" in refused["Write"][1]


def test_every_prompt_is_one_event_and_says_how_it_came(work: Work) -> None:
    prompts = [e for e in work.events if e.kind is EventKind.PROMPT and e.agent_id is None]

    # The client does not always get to write `/exit` down before it leaves.
    prompts = [event for event in prompts if event.text != "/exit"]
    assert Counter((event.text, event.klass) for event in prompts) == Counter(
        {
            (f"{SDK_RULE} Then mend the till.", PromptClass.SDK): 1,
            (TYPED_RULE, PromptClass.TYPED): 1,
            ("Wait a moment.", PromptClass.TYPED): 1,
            (QUEUED_RULE, PromptClass.QUEUED): 1,
            ("Write the file.", PromptClass.TYPED): 1,
            ("Not that one.", PromptClass.TYPED): 1,
        }
    )


def test_what_claude_said_is_stored_once(work: Work) -> None:
    texts = [event.text for event in work.events if event.kind is EventKind.ASSISTANT]

    assert texts.count("The total was off by one; it is fixed and the tests pass.") == 1
    assert texts.count("Two at once.") == 1
    assert texts.count("Then not.") == 1


def test_the_hooks_wake_a_worker_that_takes_everything_in_by_itself(work: Work) -> None:
    assert work.taken_without_asking > 0


def test_a_rule_in_a_headless_prompt_is_a_candidate_with_its_words(work: Work) -> None:
    (rule,) = work.recorder.about("pnpm")

    assert rule.trust is Trust.CANDIDATE
    assert [(event.kind, quote in said(event), "pnpm" in quote) for event, quote in work.recorder.quotes(rule)] == [
        (EventKind.PROMPT, True, True)
    ]


def test_a_rule_typed_in_the_terminal_is_verified_with_its_words(work: Work) -> None:
    (rule,) = work.recorder.about("generated files")

    assert rule.trust is Trust.VERIFIED
    assert [(event.text, quote) for event, quote in work.recorder.quotes(rule)] == [(TYPED_RULE, TYPED_RULE)]


def test_the_test_command_that_worked_is_a_memory_with_its_words(work: Work) -> None:
    (command,) = [memory for memory in work.recorder.about(TESTS) if memory.key == "command.test"]
    evidence = work.recorder.quotes(command)

    assert command.trust is Trust.CANDIDATE
    assert evidence and all(event.ok and quote in said(event) for event, quote in evidence)
    assert any(TESTS in quote for _, quote in evidence)


def test_the_next_session_is_briefed_and_finds_the_rest_by_searching(work: Work) -> None:
    found: list[str] = []

    def story(request: Request) -> Story:
        request = yield from ask_recorder(request, "memory_search", query="which package manager do we use")
        found.extend(request.results)
        request = yield from ask_recorder(request, "memory_search", query="how are the tests run")
        found.extend(request.results)
        yield say("I know.")

    session = work.machine.ask("What do you know?", model := Model(story), *BYPASS)

    briefed = model.requests[0].all_words
    assert TYPED_RULE.rstrip(".") in briefed
    assert "pnpm" not in briefed, "a candidate is not shown unasked"
    assert "pnpm" in found[0] and "candidate" in found[0]
    assert TESTS in found[1]
    work.recorder.run("drain")
    mine = [event for event in work.recorder.events() if event.session_id == session.id]
    searched = [event for event in mine if event.tool == "mcp__recorder__memory_search"]
    assert [event.excerpt for event in searched] == ["", ""], "what we said ourselves is in no index"
    assert [event.kind for event in mine].count(EventKind.INJECTION) == 1


def test_memory_is_found_where_the_client_defers_its_tools(work: Work) -> None:
    def story(request: Request) -> Story:
        assert "mcp__recorder__memory_search" not in request.tools
        while "mcp__recorder__memory_search" not in request.tools:  # the search waits a while for a server that starts
            request = yield call("ToolSearch", query="select:mcp__recorder__memory_search", max_results=1)
        request = yield call("mcp__recorder__memory_search", query="which package manager do we use")
        yield say(f"Found: {request.results[0]}")

    session = work.machine.ask("What do you know?", Model(story), *BYPASS, ENABLE_TOOL_SEARCH="true")

    assert "pnpm" in session.output[-1]["result"]


def test_resumed_and_forked_sessions_add_only_what_is_new_in_them(work: Work) -> None:
    work.recorder.run("drain")
    before = {event.key for event in work.recorder.events()}

    resumed = work.machine.ask("Resumed.", Model(talk("Resumed, yes.")), "--resume", work.headless.id)
    fork = work.machine.ask("Forked.", Model(talk("Forked, yes.")), "--resume", work.headless.id, "--fork-session")
    again = work.machine.ask("Forked again.", Model(talk("Again, yes.")), "--resume", fork.id)
    assert (resumed.id, again.id) == (work.headless.id, fork.id)
    work.recorder.run("drain")

    new = [event for event in work.recorder.events() if event.key not in before]
    spoken = (EventKind.PROMPT, EventKind.ASSISTANT, EventKind.TOOL_CALL)
    assert Counter((event.session_id, event.text) for event in new if event.kind in spoken) == Counter(
        {
            (work.headless.id, "Resumed."): 1,
            (work.headless.id, "Resumed, yes."): 1,
            (fork.id, "Forked."): 1,
            (fork.id, "Forked, yes."): 1,
            (fork.id, "Forked again."): 1,
            (fork.id, "Again, yes."): 1,
        }
    )


def test_the_transcripts_hold_no_record_of_ours_but_the_brief(work: Work) -> None:
    left = hook_records(work.machine)

    assert {(a["type"], a["hookEvent"]) for a in left} <= {("hook_success", "SessionStart")}
    assert all(a["exitCode"] == 0 and a["stderr"] == "" and a["stdout"] for a in left)
    assert "hook error" not in "".join(path.read_text() for path in work.machine.transcripts())


def test_nothing_is_written_into_the_project(work: Work) -> None:
    changed = git(work.machine.project, "status", "--porcelain", "--ignored", "--untracked-files=all").splitlines()

    assert changed == [" M till.py", "?? NOTES.md"], "only what the session itself did"


def test_uninstall_leaves_the_settings_byte_for_byte(work: Work) -> None:
    assert work.machine.settings.read_bytes() != work.settings
    assert "recorder" in json.loads((work.machine.home / ".claude.json").read_text())["mcpServers"]

    work.recorder.run("uninstall")

    assert work.machine.settings.read_bytes() == work.settings
    assert "recorder" not in json.loads((work.machine.home / ".claude.json").read_text()).get("mcpServers", {})
    work.recorder.run("install")
