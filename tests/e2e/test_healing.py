"""What hooks missed, with the real client: it comes from the transcript, and is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from recorder.capture import reading
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.models import EventKind, Source, StoredEvent
from recorder.store import sessions
from recorder.store.db import connect
from tests.e2e.client import Machine
from tests.e2e.model import Model, Request, Story, call, say
from tests.e2e.recorded import Recorder

BYPASS = ("--permission-mode", "bypassPermissions")


@pytest.fixture
def recorder(new_machine: Callable[..., Machine]) -> Iterator[Recorder]:
    installed = Recorder(new_machine())
    installed.run("install")
    try:
        yield installed
    finally:
        installed.run("uninstall")


def one_command(command: str) -> Model:
    """A turn of one command and one answer."""

    def story(_: Request) -> Story:
        yield call("Bash", command=command, description="Work")
        yield say(f"Done: {command}.")

    return Model(story)


def without_hooks(recorder: Recorder, *names: str) -> None:
    """Take the entries of these events out of the settings, as a person or another program may."""
    settings = json.loads(recorder.machine.settings.read_text())
    for name in names or tuple(settings["hooks"]):
        del settings["hooks"][name]
    recorder.machine.settings.write_text(json.dumps(settings))


def of_session(recorder: Recorder, session_id: str, *kinds: EventKind) -> list[StoredEvent]:
    return [event for event in recorder.events() if event.session_id == session_id and event.kind in kinds]


def hook_checks(recorder: Recorder) -> list[tuple[str, str]]:
    """(state, text) of what the doctor says about hooks; it may find other things too."""
    try:
        told = recorder.run("doctor", "--json")
    except AssertionError as failed:
        told = next(line for line in str(failed).splitlines() if line.startswith("[{"))
    return [(check["state"], check["text"]) for check in json.loads(told) if check["name"] == "hooks"]


def completeness(recorder: Recorder, session_id: str) -> dict[str, Any]:
    found = json.loads(recorder.run("session", session_id, "--json"))["completeness"]
    assert isinstance(found, dict)
    return found


def test_what_came_after_hooks_were_removed_is_healed_and_counted(recorder: Recorder) -> None:
    first = recorder.machine.ask("First.", one_command("echo one"), *BYPASS)
    recorder.run("drain")
    without_hooks(recorder, "PostToolUse", "UserPromptSubmit")
    again = recorder.machine.ask("Second.", one_command("echo two"), *BYPASS, "--resume", first.id)
    assert again.id == first.id
    recorder.run("drain")

    happened = of_session(recorder, first.id, EventKind.PROMPT, EventKind.TOOL_CALL)
    assert [(event.kind, event.healed) for event in happened] == [
        (EventKind.PROMPT, False),
        (EventKind.TOOL_CALL, False),
        (EventKind.PROMPT, True),
        (EventKind.TOOL_CALL, True),
    ]
    share = {"in_log": 2, "by_hook": 1, "healed": 1, "uncarried": 0}
    assert completeness(recorder, first.id)["shares"] == {"prompts": share, "tool_calls": share}
    ((state, text),) = hook_checks(recorder)
    assert state == "note" and f"session {first.id}: missed=2 events" in text


def test_a_session_without_any_hook_is_found_healed_and_named(recorder: Recorder) -> None:
    without_hooks(recorder)
    silent = recorder.machine.ask("Unheard.", one_command("echo unheard"), *BYPASS)
    recorder.run("drain")

    happened = of_session(recorder, silent.id, EventKind.PROMPT, EventKind.TOOL_CALL)
    assert [(event.kind, event.healed) for event in happened] == [(EventKind.PROMPT, True), (EventKind.TOOL_CALL, True)]
    ((state, text),) = hook_checks(recorder)
    assert state == "bad" and f"hooks silent in session {silent.id} since" in text and "recorder install" in text

    recorder.run("install")
    recorder.machine.ask("Heard.", one_command("echo heard"), *BYPASS)
    recorder.run("drain")
    ((state, text),) = hook_checks(recorder)
    assert state == "note" and silent.id in text, "a later session there had its hooks"


def test_reading_the_transcript_of_a_captured_session_as_past_adds_nothing(recorder: Recorder) -> None:
    def errand(_: Request) -> Story:
        yield call("Bash", command="wc -l till.py", description="Count lines")
        yield say("Two lines.")

    def story(_: Request) -> Story:
        yield call("Bash", command="echo one", description="Work")
        yield call("Agent", description="Count", prompt="Errand: count lines", subagent_type="general-purpose")
        yield call("Read", wrong="parameter")
        yield say("Done.")

    session = recorder.machine.ask("Work.", Model(story, {"Errand:": errand}), *BYPASS)
    recorder.run("drain")
    before = recorder.events()
    ((state, text),) = hook_checks(recorder)
    assert state == "ok" and "missed nothing" in text
    assert completeness(recorder, session.id)["shares"]["tool_calls"] == {
        "in_log": 3,
        "by_hook": 2,
        "healed": 0,
        "uncarried": 1,
    }

    settings = Config(home=recorder.home, claude_dirs=(recorder.machine.home.resolve() / ".claude",))
    main = next(path for path in recorder.machine.transcripts() if path.stem == session.id)
    db = connect(settings.db_path)
    reader = reading.Reader(db, before[-1].at_ms, Redactor(settings.capture).event, settings, source=Source.BACKFILL)
    db.execute("delete from cursors")
    taken = [reading.catch_up(reader, path, session.id) for path in reading.session_files(main)]
    known = sessions.get(db, session.id)
    db.close()
    assert len(taken) == 2 and sum(one.seen for one in taken) > 5
    assert sum(one.new for one in taken) == 0
    assert known is not None and known.closed_ms is not None
    assert recorder.events() == before
