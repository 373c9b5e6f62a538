"""Sessions out of the ordinary: as a plugin, switched off, paused, killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recorder.models import EventKind
from tests.e2e.client import Machine, wait_for
from tests.e2e.model import Model, Reply, Request, Story, call, say, talk
from tests.e2e.recorded import Recorder, hook_records, tool_results

ROOT = Path(__file__).resolve().parent.parent.parent
BYPASS = ("--permission-mode", "bypassPermissions")


@pytest.fixture(scope="module")
def recorder(new_machine: Callable[..., Machine]) -> Iterator[Recorder]:
    """Installed, on a machine that the tests of this file share."""
    installed = Recorder(new_machine())
    installed.run("install")
    try:
        yield installed
    finally:
        installed.run("uninstall")


def spoken(recorder: Recorder, session_id: str) -> list[str]:
    """What was stored of a session's prompts and answers, in order."""
    return [
        event.text
        for event in recorder.events()
        if event.session_id == session_id and event.kind in (EventKind.PROMPT, EventKind.ASSISTANT)
    ]


def test_a_session_that_is_switched_off_is_never_taken_in(recorder: Recorder) -> None:
    off = recorder.machine.ask("Between us.", Model(talk("Yes.")), RECORDER_OFF="1")
    on = recorder.machine.ask("Aloud.", Model(talk("Yes.")))
    recorder.run("drain")

    assert spoken(recorder, on.id) == ["Aloud.", "Yes."]
    assert [event for event in recorder.events() if event.session_id == off.id] == []


def test_a_pause_holds_until_it_is_lifted(recorder: Recorder) -> None:
    recorder.run("pause")
    paused = recorder.machine.ask("Not this.", Model(talk("No.")))
    recorder.run("resume")
    recorder.run("drain")

    assert spoken(recorder, paused.id) == []
    after = recorder.machine.ask("But this.", Model(talk("Sure.")))
    recorder.run("drain")
    assert spoken(recorder, after.id) == ["But this.", "Sure."]


def test_a_turn_that_the_api_refuses_is_told_as_such_and_not_as_an_answer(recorder: Recorder) -> None:
    def story(_: Request) -> Story:
        yield Reply(text="no such model", status=400)

    session = recorder.machine.ask("Try.", Model(story))
    recorder.run("drain")

    assert session.code == 1
    kinds = [event.kind for event in recorder.events() if event.session_id == session.id]
    assert kinds.count(EventKind.API_ERROR) == 1
    assert EventKind.ASSISTANT not in kinds


def test_a_client_killed_in_the_middle_of_a_call_loses_nothing_it_had_shown_us(recorder: Recorder) -> None:
    machine = recorder.machine
    begun = machine.root / "begun"

    def story(_: Request) -> Story:
        yield call("Bash", command="echo before", description="Say")
        yield call("Bash", command=f"touch {begun}; sleep 300", description="Hang")

    command = [str(machine.binary), "-p", "Hang.", *BYPASS]
    with machine.staged(command, Model(story)) as client:
        wait_for(begun.exists, "second call")
        os.killpg(client.pid, signal.SIGKILL)
    recorder.run("drain")

    (prompt,) = [event for event in recorder.events() if event.text == "Hang."]
    calls = [e for e in recorder.events() if e.session_id == prompt.session_id and e.kind is EventKind.TOOL_CALL]
    assert [(event.body["input"]["command"], event.ok) for event in calls][:1] == [("echo before", True)]

    machine.ask("Again.", Model(talk("Back.")), "--resume", prompt.session_id)
    recorder.run("drain")
    calls = [e for e in recorder.events() if e.session_id == prompt.session_id and e.kind is EventKind.TOOL_CALL]
    assert len(calls) == len({event.tool_use_id for event in calls})
    assert spoken(recorder, prompt.session_id)[-2:] == ["Again.", "Back."]


def test_the_plugin_form_records_once_and_leaves_no_word(new_machine: Callable[..., Machine]) -> None:
    machine = new_machine()
    recorder = Recorder(machine)

    def story(_: Request) -> Story:
        yield call("Bash", command="echo plugged in", description="Say")
        yield say("Recorded as a plugin.")

    session = machine.ask("Work.", Model(story), *BYPASS, "--plugin-dir", str(ROOT))
    recorder.run("drain")

    assert spoken(recorder, session.id) == ["Work.", "Recorded as a plugin."]
    calls = [event.tool_use_id for event in recorder.events() if event.kind is EventKind.TOOL_CALL]
    assert calls == [block["tool_use_id"] for block in tool_results(machine)]
    assert hook_records(machine) == []
