"""`recorder backfill --commit`: the past comes in once, whoever else saw it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from recorder.capture import project, reading, spool
from recorder.capture.redact import Redactor
from recorder.capture.transcript import Chunk, Cursor
from recorder.config import Config, load
from recorder.models import Event, EventKind, Source
from recorder.store import events, jobs, sessions
from scripts.backfill import logs, sources
from scripts.backfill.logs import Found, Log
from scripts.backfill.taking import take
from tests.backfill.past import DAY_MS, NOW_MS, Past, session_id
from tests.cli.terminal import RULE
from tests.makers import bash, hook_input, project_folder, prompt, stop
from tests.worker.written import record, write
from worker.held import locked


def test_twice_is_once(past: Past) -> None:
    for n in (1, 2, 3):
        past.session(n, turns=2)
    first = past.commit()
    assert (first["events"]["new"], first["sessions"], first["files"], first["projects"]) == (18, 3, 3, 1)
    assert first["lines"] == first["records"] == first["taken"] + sum(first["left_out"].values())
    keys = past.keys()
    second = past.commit()
    assert (second["events"]["new"], second["files"], past.keys()) == (0, 0, keys)
    assert len(keys) == len(set(keys)) == 18
    (run,) = past.terminal.ok("backfill", "--runs")
    assert (run["name"], run["state"], run["events"], run["files"]) == (first["run"], "done", 18, 3)


def test_what_it_read_is_said_in_two_lines(past: Past) -> None:
    past.session(1, turns=2)
    told = past.terminal.run("backfill", "--commit").out.splitlines()
    assert len(told) == 2
    assert told[0].startswith("read 1 session of 1 project since 20") and "6 new events, 0 known before" in told[0]
    assert told[1].startswith("2 turns to be distilled by the worker") and "recorder drain" in told[1]


def test_live_capture_and_then_the_past_of_the_same_session_adds_nothing(past: Past) -> None:
    path = past.session(1, turns=2)
    where: dict[str, Any] = {"session": session_id(1), "cwd": past.project, "transcript_path": str(path)}
    inputs = [hook_input("SessionStart", source="startup", **where)]
    for t in (10_000, 10_001):
        inputs += [
            prompt(f"question {t - 10_000} of session 1", prompt_id=f"p{t}", **where),
            bash(f"make part1x{t - 10_000}", "3 passed", use=f"toolu_{t}", prompt_id=f"p{t}", **where),
            stop(prompt_id=f"p{t}", last_assistant_message="All is well.", **where),
        ]
    inputs.append(hook_input("SessionEnd", reason="other", **where))
    config = Config(home=past.terminal.home)
    spool.prepare(config.spool)
    for n, fields in enumerate(inputs):
        (config.spool / "new" / f"{n}.json").write_text(json.dumps(fields))
    past.terminal.ok("drain", "--no-distil")
    live = past.keys()
    assert len(live) == len(inputs)
    taken = past.commit()["events"]
    # Hooks carry no assistant text; all else is known.
    assert (taken["new"], taken["seen"]) == (2, 4)
    past.terminal.ok("drain")
    assert len(past.keys()) == len(live) + 2


def test_what_the_worker_read_while_the_session_ran_adds_nothing(past: Past) -> None:
    path = past.session(1, turns=2)
    where: dict[str, Any] = {"session": session_id(1), "cwd": past.project, "transcript_path": str(path)}
    config = Config(home=past.terminal.home)
    spool.prepare(config.spool)
    typed = prompt("question 0 of session 1", prompt_id="p10000", **where)
    for n, fields in enumerate((typed, hook_input("SessionEnd", reason="other", **where))):
        (config.spool / "new" / f"{n}.json").write_text(json.dumps(fields))
    past.terminal.ok("drain")
    live = past.keys()
    assert len(live) == 7
    assert past.commit()["events"] == {"new": 0, "seen": 0, "left_out": {}}
    copied = path.rename(path.with_name("elsewhere.jsonl"))
    assert past.commit(str(copied))["events"] == {"new": 0, "seen": 6, "left_out": {}}
    assert past.keys() == live


@pytest.mark.parametrize("renamed", [True, False])
def test_records_that_a_resume_copied_into_another_file_are_stored_once(past: Past, renamed: bool) -> None:
    lines = past.records(1, turns=10, days_old=2.0)
    path = past.claude / "projects" / "-x" / f"{session_id(1)}.jsonl"
    write(path, lines, changed_ms=NOW_MS - 2 * DAY_MS)
    copies = [line | {"sessionId": session_id(2)} for line in lines] if renamed else lines
    more = past.records(2, turns=1)
    write(path.with_name(f"{session_id(2)}.jsonl"), [*copies, *more], changed_ms=NOW_MS - DAY_MS)
    taken = past.commit()["events"]
    assert (taken["new"], taken["seen"]) == (33, 30)
    db = past.terminal.db()
    assert len(events.of_session(db, session_id(1))) == 30
    assert len(events.of_session(db, session_id(2))) == 3
    db.close()


def test_one_file_may_hold_two_sessions(past: Past) -> None:
    path = past.claude / "projects" / "-x" / "log.jsonl"
    write(path, [*past.records(1), *past.records(2)], changed_ms=NOW_MS - DAY_MS)
    taken = past.commit()
    assert (taken["events"]["new"], taken["projects"]) == (6, 1)
    db = past.terminal.db()
    assert [len(events.of_session(db, session_id(n))) for n in (1, 2)] == [3, 3]
    db.close()


def test_agents_come_after_their_session_and_belong_to_it(past: Past) -> None:
    main = past.session(1)
    folder = main.with_suffix("")
    agents = [main.parent / "agent-0a1b2c3d.jsonl", folder / "subagents" / "agent-a0000000000000001.jsonl"]
    agents.append(folder / "subagents" / "workflows" / "wf_1" / "agent-ag1.jsonl")
    for n, path in enumerate(agents, 2):
        lines = past.records(n, sessionId=session_id(1), isSidechain=True, agentId=path.stem.removeprefix("agent-"))
        write(path, lines, changed_ms=NOW_MS - 3 * DAY_MS)
    found = past.terminal.ok("backfill")
    assert (found["sessions"], found["files"], found["prompts"]) == (1, 4, 1)
    assert past.commit()["sessions"] == 1
    db = past.terminal.db()
    stored = events.of_session(db, session_id(1))
    assert {event.agent_id for event in stored} == {None, "0a1b2c3d", "a0000000000000001", "ag1"}
    assert min(event.id for event in stored) == min(event.id for event in stored if event.agent_id is None)
    db.close()


def test_a_link_that_leads_nowhere_is_named_and_is_no_failure(past: Past) -> None:
    past.session(1)
    dangling = past.claude / "projects" / "-home-user-project" / "gone.jsonl"
    dangling.symlink_to("nowhere")
    for words in ([], ["--commit"]):
        said = past.terminal.run("backfill", *words)
        assert said.code == 0 and "is a link that leads nowhere" in said.out + said.err
    assert len(past.keys()) == 3


def test_a_name_that_is_no_text_ends_nothing(past: Past) -> None:
    past.session(1)
    odd = os.fsencode(past.claude / "projects") + b"/\xff"
    try:
        os.mkdir(odd)
    except OSError:
        pytest.skip("the file system takes only names that are UTF-8")
    with open(odd + b"/log.jsonl", "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in past.records(2))
    for words in ([], ["--commit"]):
        said = past.terminal.run("backfill", *words, "--json")
        assert said.code == 0 and said.json["failed"] == []
        assert [one["why"] for one in said.json["not_read"]] == ["has a name that is not UTF-8"]
    assert "\\udcff/log.jsonl has a name" in past.terminal.run("backfill").err


def test_a_file_that_vanishes_while_others_are_read_is_named(past: Past) -> None:
    gone, there = past.session(1, days_old=2.0), past.session(2)
    config = load(os.environ)
    db = past.terminal.db()
    sought = sources.find(config, [])
    gone.unlink()
    every = [log for session in logs.sessions(sought.logs.logs, NOW_MS) for log in session.logs]
    reader = reading.Reader(db, NOW_MS, Redactor(config.capture).event, config, source=Source.BACKFILL)
    tally = take(reader, sought, every, lambda size: None, lambda: False)
    db.close()
    assert [(one.path, one.why) for one in tally.failed] == [(gone, "is gone")]
    assert tally.files == {there} and tally.new == 3


def test_another_tools_logs_join_by_one_entry(past: Past, tmp_path: Path) -> None:
    past.session(1)
    notes = tmp_path / "toy.log"
    notes.write_text("first\nsecond\n")

    def find(config: Config, paths: Sequence[Path]) -> Found:
        return Found([Log(notes, "toy-1", True, past.project, notes.stat().st_size, NOW_MS - DAY_MS)])

    def read(path: Path, cursor: Cursor, *, source: Source, **how: Any) -> Chunk:
        words = path.read_bytes()[cursor.offset :].decode().splitlines()
        found = [
            Event(
                f"toy:{n}",
                EventKind.PROMPT,
                "toy-1",
                NOW_MS + n,
                source,
                {"text": word},
                cwd=past.project,
                ref=f"{path}:{n}",
            )
            for n, word in enumerate(words)
        ]
        state = {"session_id": "toy-1"}
        return Chunk(
            found,
            {},
            Cursor(path.stat().st_size, state),
            at_end=True,
            lines=len(words),
            seen=len(words),
            taken=len(words),
        )

    config = load(os.environ)
    db = past.terminal.db()
    sought = sources.find(config, [], (*sources.SOURCES, sources.LogSource("Toy", find, read)))
    reader = reading.Reader(db, NOW_MS, Redactor(config.capture).event, config, source=Source.BACKFILL)
    every = [log for session in logs.sessions(sought.logs.logs, NOW_MS) for log in session.logs]
    tally = take(reader, sought, every, lambda size: None, lambda: False)
    again = take(reader, sought, every, lambda size: None, lambda: False)
    assert (tally.new, tally.sessions) == (5, {session_id(1), "toy-1"})
    assert again.new == again.seen == 0
    assert [event.text for event in events.of_session(db, "toy-1")] == ["first", "second"]
    db.close()


def test_each_record_belongs_to_the_project_of_its_folder(past: Past, own_home: Path) -> None:
    other = project_folder(own_home, "other")
    lines = past.records(1)
    lines += past.records(2, cwd=f"{past.project}/.claude/worktrees/gone", sessionId=session_id(1))
    lines += past.records(3, cwd=str(other), sessionId=session_id(1))
    write(past.claude / "projects" / "-x" / f"{session_id(1)}.jsonl", lines, changed_ms=NOW_MS - DAY_MS)
    past.session(4, cwd=str(own_home / "deleted" / "repo"))
    said = past.terminal.ok("backfill")["projects"]
    past.commit()
    db = past.terminal.db()
    of = {event.cwd: event.project_id for event in events.of_session(db, session_id(1))}
    own = project.resolve(db, past.project, now_ms=NOW_MS)
    assert own is not None
    assert of[past.project] == of[f"{past.project}/.claude/worktrees/gone"] == own.id != of[str(other)]
    (deleted,) = {event.project_id for event in events.of_session(db, session_id(4))}
    db.close()
    assert deleted not in (None, own.id)
    # The dry run had the same answers.
    counted = {part["project"]: part["events"] for part in said}
    assert counted == {own.id: 6, of[str(other)]: 3, deleted: 3}


def test_worktrees_share_the_project_of_their_repository(past: Past, own_home: Path) -> None:
    tree = own_home / "tree"
    tree.mkdir()
    git = Path(past.project) / ".git"
    (git / "worktrees" / "tree").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "worktrees" / "tree" / "commondir").write_text("../..\n")
    (git / "worktrees" / "tree" / "gitdir").write_text(f"{tree}/.git\n")
    (tree / ".git").write_text(f"gitdir: {git}/worktrees/tree\n")
    past.session(1, cwd=str(tree))
    past.session(2)
    assert past.commit()["projects"] == 1


@pytest.mark.parametrize("days_old, new", [(1.0, 6), (0.0, 5)])
def test_a_last_line_without_its_end_is_taken_when_nobody_writes_any_more(
    past: Past, days_old: float, new: int
) -> None:
    path = past.session(1)
    more = past.records(2, sessionId=session_id(1))
    text = "".join(json.dumps(line) + "\n" for line in more[:-1]) + json.dumps(more[-1])
    write(path, [], changed_ms=time.time_ns() // 1_000_000 - int(days_old * DAY_MS), torn=text)
    assert past.commit()["events"]["new"] == new
    assert past.commit()["events"]["new"] == 0
    write(path, [], changed_ms=NOW_MS - DAY_MS, torn="\n")
    past.commit()
    assert len(past.keys()) == 6


def test_what_a_person_said_then_is_learnt_by_the_worker_behind_what_is_live(past: Past) -> None:
    past.session(1, said=f"{RULE}.")
    past.commit()
    db = past.terminal.db()
    counted = jobs.counts(db)
    db.close()
    assert counted["distil"] == {"behind": 1}
    past.terminal.ok("drain")
    found = past.terminal.ok("list")
    assert [
        (memory["trust"], "pytest -q" in memory["value"]) for memory in found if memory["kind"] == "preference"
    ] == [("verified", True)]


def test_a_run_that_another_one_holds_up_says_so(past: Past) -> None:
    past.session(1)
    with locked(past.terminal.home, "backfill"):
        said = past.terminal.run("backfill", "--commit")
        assert said.code == 1 and "another backfill runs" in said.err
        assert past.terminal.ok("backfill")["events"] == 3
    assert past.commit()["events"]["new"] == 3


def test_a_session_that_goes_on_later_is_read_on(past: Past) -> None:
    path = past.session(1)
    first = past.commit()["run"]
    write(path, past.records(2, sessionId=session_id(1)), changed_ms=NOW_MS - DAY_MS)
    second = past.commit()
    assert (second["events"]["new"], second["events"]["seen"]) == (3, 0)
    assert second["run"] != first and len(past.terminal.ok("backfill", "--runs")) == 2


def test_order_is_that_of_the_file_where_clocks_went_back(past: Past) -> None:
    lines = [
        record(
            "user",
            f"u{n}",
            f"line {n}",
            at_ms=NOW_MS - DAY_MS - n * 1000,
            cwd=past.project,
            sessionId=session_id(1),
            promptId=f"p{n}",
        )
        for n in range(5)
    ]
    write(past.claude / "projects" / "-x" / f"{session_id(1)}.jsonl", lines, changed_ms=NOW_MS - DAY_MS)
    past.commit()
    db = past.terminal.db()
    stored = sorted(events.of_session(db, session_id(1)), key=lambda event: event.id)
    db.close()
    assert [event.text for event in stored] == [f"line {n}" for n in range(5)]


def test_the_oldest_session_comes_first_so_that_a_later_word_counts(past: Past) -> None:
    past.session(2, days_old=2.0, said="Always run the tests with tox")
    past.session(1, days_old=9.0, said=f"{RULE}.")
    past.commit()
    past.terminal.ok("drain")
    db = past.terminal.db()
    assert [s.id for s in sessions.listing(db)] == [session_id(2), session_id(1)]
    db.close()
    values = [memory["value"] for memory in past.terminal.ok("list") if memory["kind"] == "preference"]
    assert any("tox" in value for value in values) and past.terminal.ok("findings") == []
