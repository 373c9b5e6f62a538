"""Where Claude Code runs the command it sees its own project, and what is a person's stays a person's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from recorder.capture import spool
from recorder.config import Config
from recorder.store import sessions
from recorder.store.db import transaction
from recorder.web import access, serve
from tests.cli.terminal import ROOT, RULE, Terminal, environ
from tests.makers import bash, prompt, stop
from worker import held

SECRET = "the launch is on Thursday"


@pytest.fixture
def elsewhere(terminal: Terminal, tmp_path: Path) -> Path:
    """Another project, with a session, memories and findings; Claude then runs in the recorded one."""
    folder = tmp_path / "elsewhere"
    (folder / ".git").mkdir(parents=True)
    config = Config(home=terminal.home)
    spool.prepare(config.spool)
    given = [
        prompt(f"Always remember: {SECRET}.", cwd=str(folder), session="session-b"),
        bash("cat plan", SECRET, use="toolu_9", cwd=str(folder), session="session-b"),
        {"hook_event_name": "RecorderInjection", "session_id": "session-b", "cwd": str(folder), "text": SECRET},
        stop(cwd=str(folder), session="session-b"),
    ]
    for number, fields in enumerate(given):
        (config.spool / "new" / f"other-{number}.json").write_text(json.dumps(fields))
    held.drain_once(config)
    terminal.ok("remember", "project", "plan.launch", SECRET, "--project", str(folder))
    terminal.ok("remember", "user", "preference.day", "Fridays")
    claude(terminal, folder)
    terminal.ok("remember", "project", "plan.launch", f"No: {SECRET}, says nobody")
    terminal.ok("remember", "user", "preference.day", f"No: {SECRET}, says nobody")
    terminal.ok("remember", "user", "preference.noon", f"Noon: {SECRET}")
    claude(terminal, terminal.project)
    return folder


def claude(terminal: Terminal, folder: Path) -> None:
    """From here on Claude Code runs the commands, in this folder."""
    terminal.set("CLAUDECODE", "1")
    terminal.monkeypatch.chdir(folder)


def person(terminal: Terminal) -> None:
    terminal.monkeypatch.delenv("CLAUDECODE")


LISTS = (
    ["search", "launch Thursday"],
    ["search", "launch Thursday", "--json"],
    ["list"],
    ["list", "--json"],
    ["events"],
    ["events", "--json", "--limit", "500"],
    ["events", "--session", "session-b", "--json"],
    ["sessions", "--json"],
    ["injections", "--json"],
    ["findings", "--json"],
    ["stats", "--json"],
    ["status", "--json"],
    ["status"],
    ["projects", "list", "--json"],
    ["doctor", "--json"],
)


@pytest.mark.parametrize("words", LISTS, ids=" ".join)
def test_nothing_of_another_project_is_shown_to_claude(terminal: Terminal, elsewhere: Path, words: list[str]) -> None:
    said = terminal.run(*words)
    assert "launch is on" not in said.out and "elsewhere" not in said.out and '"session-b"' not in said.out


@pytest.mark.parametrize("words", LISTS, ids=" ".join)
def test_outside_of_a_project_claude_sees_none(
    terminal: Terminal, elsewhere: Path, tmp_path: Path, words: list[str]
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    claude(terminal, plain)
    said = terminal.run(*words)
    assert "launch is on" not in said.out and RULE not in said.out and '"s1"' not in said.out


def test_of_its_own_project_claude_sees_what_there_is(terminal: Terminal, elsewhere: Path) -> None:
    claude(terminal, elsewhere)
    assert {event["session_id"] for event in terminal.ok("events")} >= {"session-b"}
    assert [session["id"] for session in terminal.ok("sessions")] == ["session-b"]
    assert [shown["session_id"] for shown in terminal.ok("injections")] == ["session-b"]
    assert [finding["key"] for finding in terminal.ok("findings")] == ["plan.launch"]
    assert terminal.ok("stats")["events"]["tool_call"] == 1
    assert len(terminal.ok("projects", "list")) == 1
    assert terminal.ok("get", "project", "plan.launch")["value"] == SECRET


def test_claudes_project_is_the_one_its_session_runs_in_whatever_the_folder(
    terminal: Terminal, elsewhere: Path
) -> None:
    terminal.set("CLAUDE_PROJECT_DIR", str(terminal.project))
    terminal.monkeypatch.chdir(elsewhere)
    assert terminal.run("get", "project", "plan.launch").code == 1
    assert "s1" in {session["id"] for session in terminal.ok("sessions")}


NAMING = (
    ["search", "launch"],
    ["list"],
    ["sessions"],
    ["stats"],
    ["findings"],
    ["get", "project", "plan.launch"],
    ["why", "project", "plan.launch"],
    ["history", "project", "plan.launch"],
    ["remember", "project", "plan.launch", "moved"],
    ["delete", "project", "plan.launch"],
    ["restore", "project", "plan.launch"],
)


@pytest.mark.parametrize("words", NAMING, ids=lambda words: words[0])
def test_naming_another_project_is_refused_to_claude_in_one_sentence(
    terminal: Terminal, elsewhere: Path, words: list[str], tmp_path: Path
) -> None:
    for other in (elsewhere, tmp_path):
        said = terminal.run(*words, "--project", str(other))
        assert said.code == 1 and said.out == "" and "outside Claude Code" in said.err
        assert len(said.err.strip().splitlines()) == 1
    person(terminal)
    assert terminal.ok("get", "project", "plan.launch", "--project", str(elsewhere))["value"] == SECRET


def test_a_refused_question_leaves_no_project_behind(terminal: Terminal, tmp_path: Path) -> None:
    unseen = tmp_path / "unseen"
    (unseen / ".git").mkdir(parents=True)
    claude(terminal, terminal.project)
    assert terminal.run("list", "--project", str(unseen)).code == 1
    person(terminal)
    assert "unseen" not in json.dumps(terminal.ok("projects", "list"))


def test_naming_its_own_project_is_no_matter(terminal: Terminal) -> None:
    claude(terminal, terminal.project)
    (known,) = terminal.ok("projects", "list")
    assert terminal.ok("search", "tests", "--project", str(terminal.project))["scope"] == ["user", known["id"]]


def test_a_batch_for_another_project_is_refused_to_claude(terminal: Terminal, elsewhere: Path, tmp_path: Path) -> None:
    batch = tmp_path / "questions.jsonl"
    batch.write_text(json.dumps({"id": 1, "question": "launch", "project": str(elsewhere)}) + "\n")
    said = terminal.run("search", "--batch", str(batch))
    assert (said.code, said.out) == (1, "")


A_PERSONS = (
    ["pause"],
    ["resume"],
    ["token"],
    ["token", "--rotate"],
    ["projects", "alias", "/x", "y"],
    ["projects", "merge", "x", "y"],
    ["projects", "split", "/x"],
    ["projects", "forget", "x"],
    ["projects", "brief", "x", "--off"],
    ["install"],
    ["install", "--dry-run"],
    ["uninstall"],
    ["uninstall", "--purge"],
    ["models", "use", "x"],
    ["models", "build"],
    ["approve", "project", "command.test"],
    ["pin", "project", "command.test"],
    ["events", "--export", "out.jsonl"],
    ["drain", "--retry-dead"],
    ["findings", "--all"],
)


@pytest.mark.parametrize("words", A_PERSONS, ids=" ".join)
def test_what_is_a_persons_is_refused_to_claude_in_one_sentence(
    terminal: Terminal, words: list[str], own_home: Path
) -> None:
    claude(terminal, terminal.project)
    before = {path: path.stat().st_mtime_ns for path in own_home.rglob("*") if not path.name.startswith("recorder.db")}
    said = terminal.run(*words)
    assert (said.code, said.out) == (1, "") and "only a person" in said.err
    assert len(said.err.strip().splitlines()) == 1
    after = {path: path.stat().st_mtime_ns for path in own_home.rglob("*") if not path.name.startswith("recorder.db")}
    assert before == after and not (terminal.project / "out.jsonl").exists()


@pytest.mark.parametrize("words", [["drain"], ["search", "tests"], ["status"], ["down"], ["models", "list"]])
def test_the_daily_commands_stay_claudes(terminal: Terminal, words: list[str]) -> None:
    claude(terminal, terminal.project)
    assert terminal.run(*words).code == 0


def test_the_page_that_is_up_is_named_to_claude_without_its_key(terminal: Terminal, elsewhere: Path) -> None:
    def up(*words: str, **more: str) -> str:
        run = subprocess.run(
            [sys.executable, "-m", "recorder", "up", *words],
            cwd=ROOT,
            env=environ(terminal.home, **more),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    by_claude = {"CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": str(terminal.project)}
    try:
        first = up("--detach", "--port", "0", **by_claude)
        for said in (first, up("--no-open", **by_claude)):
            assert "http://127.0.0.1:" in said and "once=" not in said and SECRET not in said
        told = up("--no-open")
        assert "/login?once=" in told and access.token(terminal.home) not in told
    finally:
        serve.down(terminal.home)


def test_the_reason_of_a_dead_job_is_a_persons_to_read(terminal: Terminal, elsewhere: Path) -> None:
    db = terminal.db()
    db.execute("update jobs set state = 'dead', error = ? where kind = 'distil'", (f"ValueError('{SECRET}')",))
    db.close()
    told = terminal.run("doctor", "--json").out
    assert "ValueError" in told and SECRET not in told
    person(terminal)
    assert SECRET in terminal.run("doctor", "--json").out


def test_a_quote_from_another_project_comes_without_its_event(terminal: Terminal, elsewhere: Path) -> None:
    person(terminal)
    terminal.ok("remember", "user", "preference.tea", "Tea at four", "--project", str(elsewhere))
    claude(terminal, terminal.project)
    (cited,) = terminal.ok("why", "user", "preference.tea")["evidence"]
    assert cited["quote"] == "Tea at four"
    assert {cited[name] for name in ("event_id", "session_id", "uuid", "tool_use_id")} == {None}


def test_what_another_project_proposed_for_the_person_is_not_told(terminal: Terminal, elsewhere: Path) -> None:
    db = terminal.db()
    db.execute("update memory_versions set channel = 'user_said'")
    db.close()
    answer = terminal.ok("remember", "user", "preference.noon", "At noon after all")
    assert (answer["action"], answer["memory"]["key"]) == ("created", "preference.noon.2"), "kept beside"


def test_a_person_sees_the_findings_of_every_project_on_request(terminal: Terminal, elsewhere: Path) -> None:
    person(terminal)
    here = {finding["key"] for finding in terminal.ok("findings")}
    everywhere = {finding["key"] for finding in terminal.ok("findings", "--all")}
    # What was proposed there about the person's own memories is told there too.
    assert here == set() and everywhere == {"preference.day", "plan.launch"}
    assert "2 more" in terminal.run("findings").out
    listed = terminal.ok("projects", "list")
    (other,) = [p["id"] for p in listed if os.path.realpath(elsewhere) in p["roots"]]
    assert f"{other} 1" in terminal.run("status").out and "user 1" in terminal.run("status").out


def test_a_resume_of_no_project_ends_no_pause(terminal: Terminal, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    terminal.run("pause")
    assert terminal.run("resume", "--project", str(plain)).code == 1
    db = terminal.db()
    with transaction(db):
        assert [until for _, _, until in sessions.paused(db)] == [None]
    db.close()


def test_a_folder_that_is_gone_still_names_its_project(terminal: Terminal, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    given = prompt("hello", cwd=str(gone), session="s9") | {"hook_event_name": "SessionStart", "source": "startup"}
    (terminal.home / "spool" / "new" / "gone.json").write_text(json.dumps(given))
    terminal.ok("drain")
    gone.rmdir()
    assert [session["id"] for session in terminal.ok("sessions", "--project", str(gone))] == ["s9"]
    said = terminal.run("sessions", "--project", str(tmp_path / "typo"))
    assert said.code == 1 and "there is no folder" in said.err


def test_claude_sees_no_session_of_another_project_and_makes_no_index_anew(terminal: Terminal, elsewhere: Path) -> None:
    said = terminal.run("session", "session-b")
    assert said.code == 1 and SECRET not in said.out + said.err
    assert "only a person" in terminal.run("reindex").err
