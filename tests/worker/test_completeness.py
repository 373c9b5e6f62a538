"""What is told of a session's hooks: what they brought, what they missed, and when they fell silent."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recorder import doctor
from recorder.cli.frame import app
from recorder.config import Config
from recorder.models import Event, PromptClass, Source
from recorder.store import completeness, health, sessions
from recorder.store.completeness import Share
from recorder.store.db import Connection, transaction
from tests.makers import T0, bash, event_of, project_folder, prompt, take

ROOT = Path(__file__).resolve().parents[2]
MINUTE_MS = 60_000


@pytest.fixture(autouse=True)
def installed(db: Connection) -> None:
    with transaction(db):
        health.record_since(db, T0)


@pytest.fixture
def cwd(own_home: Path) -> str:
    return str(project_folder(own_home))


def from_log(event: Event, **changes: object) -> Event:
    return replace(event, source=Source.TRANSCRIPT, **changes)  # type: ignore[arg-type]


def call(n: int, cwd: str, session: str = "s1", at_ms: int = T0) -> Event:
    return event_of(bash(f"make {n}", use=f"toolu_{session}_{n}", cwd=cwd, session=session), at_ms=at_ms)


def hook_checks(db: Connection, config: Config, **variables: str) -> list[tuple[str, str]]:
    own = {"HOME": os.environ["HOME"], "PATH": os.environ["PATH"], **variables}
    found = doctor.check(db, config, own, interpreter=sys.executable, source_root=ROOT, now_ms=T0 + MINUTE_MS)
    return [(check.state, check.text) for check in found if check.name == "hooks"]


def shares(db: Connection, session: str = "s1") -> tuple[Share, Share]:
    found = completeness.of_session(db, session)
    assert found is not None
    return found.shares["prompts"], found.shares["tool_calls"]


def close(db: Connection, *ids: str) -> None:
    with transaction(db):
        for one in ids:
            sessions.close(db, one, T0)


def test_what_is_in_the_log_by_hook_and_healed_is_counted_of_the_main_thread(
    db: Connection, config: Config, cwd: str
) -> None:
    calls = [call(n, cwd, at_ms=T0 + n) for n in range(5)]
    take(db, config, [calls[0], calls[2], calls[4]])
    inside = [call(9, cwd), event_of(prompt("Errand.", prompt_id="p9", cwd=cwd))]
    take(db, config, [*map(from_log, calls), *(from_log(event, agent_id="a1") for event in inside)])
    assert shares(db) == (Share(0, 0, 0, 0), Share(5, 3, 2, 0))


def test_what_no_hook_carries_is_not_missed(db: Connection, config: Config, cwd: str) -> None:
    take(db, config, [call(0, cwd)])
    classes = (PromptClass.QUEUED, PromptClass.SLASH, PromptClass.BASH, PromptClass.INJECTED)
    quiet: Sequence[Event] = [
        from_log(call(1, cwd), ok=False),
        from_log(call(2, cwd), ok=None),
        *(
            from_log(event_of(prompt(f"p {klass}", prompt_id=klass, cwd=cwd)), klass=klass, key=f"k {klass}")
            for klass in classes
        ),
    ]
    take(db, config, quiet)
    assert shares(db) == (Share(4, 0, 0, 4), Share(2, 1, 0, 2))
    ((state, text),) = hook_checks(db, config)
    assert state == "ok" and "missed nothing" in text


def test_what_happened_before_the_installation_is_no_gap(db: Connection, config: Config, cwd: str) -> None:
    take(db, config, [from_log(call(0, cwd, at_ms=T0 - 1)), call(1, cwd), from_log(call(1, cwd))])
    assert shares(db)[1] == Share(1, 1, 0, 0)


def test_a_gap_of_an_ended_session_is_a_note_with_its_numbers(db: Connection, config: Config, cwd: str) -> None:
    take(db, config, [call(0, cwd), from_log(call(1, cwd, at_ms=T0 + 10 * MINUTE_MS))])
    close(db, "s1")
    ((state, text),) = hook_checks(db, config)
    assert state == "note"
    assert "session s1: missed=1 event," in text and "tool calls: 1 in the log, 1 by hook, 1 healed" in text


def test_hooks_that_fell_silent_in_a_session_that_goes_on_are_bad(db: Connection, config: Config, cwd: str) -> None:
    take(db, config, [call(0, cwd), from_log(call(1, cwd, at_ms=T0 + MINUTE_MS // 2))])
    assert [state for state, _ in hook_checks(db, config)] == ["note"]
    take(db, config, [from_log(call(2, cwd, at_ms=T0 + 2 * MINUTE_MS))])
    ((state, text),) = hook_checks(db, config)
    assert state == "bad" and "hooks went silent in session s1 at" in text and "restart Claude Code" in text


def test_silent_hooks_are_bad_until_a_later_session_of_the_project_has_them(
    db: Connection, config: Config, own_home: Path, cwd: str
) -> None:
    other = str(project_folder(own_home, "other"))
    take(db, config, [from_log(call(0, cwd))])
    take(db, config, [call(0, other, "s2", T0 + 1)])
    ((state, text),) = hook_checks(db, config)
    assert state == "bad" and "hooks silent in session s1 since 20" in text
    take(db, config, [call(0, cwd, "s3", T0 + 2)])
    assert [state for state, _ in hook_checks(db, config)] == ["note"]


def test_the_last_five_sessions_with_gaps_are_named(db: Connection, config: Config, cwd: str) -> None:
    take(db, config, [from_log(call(0, cwd, f"s{n}", T0 + n)) for n in range(9)])
    named = [text.split()[4] for _, text in hook_checks(db, config)]
    assert named == ["s8", "s7", "s6", "s5", "s4"]


def test_claude_is_told_of_its_own_projects_sessions_alone(
    db: Connection, config: Config, own_home: Path, cwd: str
) -> None:
    other = str(project_folder(own_home, "other"))
    take(db, config, [from_log(call(0, cwd, "mine")), from_log(call(0, other, "theirs"))])
    assert len(hook_checks(db, config)) == 2
    told = hook_checks(db, config, CLAUDECODE="1", CLAUDE_PROJECT_DIR=cwd)
    assert [text.split()[4] for _, text in told] == ["mine"]
    assert hook_checks(db, config, CLAUDECODE="1", CLAUDE_PROJECT_DIR=str(own_home)) == []


def test_one_session_is_shown_with_its_completeness(db: Connection, config: Config, cwd: str) -> None:
    take(db, config, [call(0, cwd), from_log(call(0, cwd)), from_log(call(1, cwd))])
    told = CliRunner().invoke(app, ["session", "s1", "--json"])
    assert json.loads(told.stdout)["completeness"]["shares"]["tool_calls"] == {
        "in_log": 2,
        "by_hook": 1,
        "healed": 1,
        "uncarried": 0,
    }
    shown = CliRunner().invoke(app, ["session", "s1"]).stdout
    assert "in the log" in shown and "no hook due" in shown
