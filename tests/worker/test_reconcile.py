"""Sessions of which no hook told: found by their transcripts, read, healed and closed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recorder.capture import reading
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.models import EventKind, Scope, Source, Trust
from recorder.store import events, health, jobs, memories, sessions
from recorder.store.db import Connection, transaction
from tests.makers import T0, bash, event_of, hook_input, project_folder, prompt, stop, take
from tests.worker.written import record, turn, write
from worker import held, reconcile
from worker.loop import Loop

MINUTE_MS = 60_000
IDLE_MS = 20 * MINUTE_MS
SAID = "Always run the linter with ruff check before committing"


@pytest.fixture
def cwd(own_home: Path) -> str:
    return str(project_folder(own_home))


@pytest.fixture
def loop(config: Config) -> Loop:
    return held.make_loop(config)


def registered(db: Connection, at_ms: int = T0, folder: str = health.EVERYWHERE) -> None:
    with transaction(db):
        health.record_since(db, at_ms, folder)


def transcript(config: Config, session: str = "s1") -> Path:
    return config.claude_dirs[0] / "projects" / "-project" / f"{session}.jsonl"


def work(loop: Loop, db: Connection, at_ms: int) -> None:
    """Everything that the worker does by itself when it is that time."""
    loop.clock_ms = lambda: at_ms
    loop.look.once(db, at_ms)
    while loop.one_pass(db):
        pass


def stored(db: Connection, session: str = "s1") -> dict[EventKind, list[bool]]:
    """Kind → whether each event is healed, of prompts and calls."""
    found: dict[EventKind, list[bool]] = {}
    for event in events.of_session(db, session):
        if event.kind in (EventKind.PROMPT, EventKind.TOOL_CALL):
            found.setdefault(event.kind, []).append(event.healed)
    return found


def asked(db: Connection) -> list[dict[str, Any]]:
    return [job for job in jobs.listing(db) if job["kind"] == reconcile.RECONCILE]


def test_a_session_without_any_hook_is_read_healed_closed_and_distilled_once_it_is_quiet(
    db: Connection, config: Config, loop: Loop, cwd: str
) -> None:
    registered(db)
    write(transcript(config), turn(1, SAID, "make test", at_ms=T0 + 1000, cwd=cwd), changed_ms=T0 + 2000)
    work(loop, db, T0 + MINUTE_MS)
    assert events.count(db) == 0
    work(loop, db, T0 + 2000 + IDLE_MS)
    assert stored(db) == {EventKind.PROMPT: [True], EventKind.TOOL_CALL: [True]}
    session = sessions.get(db, "s1")
    assert session is not None and session.closed_ms is not None
    assert {row["state"] for row in jobs.listing(db)} == {"done"}
    assert SAID in {memory.value for memory in memories.listing(db, Scope(session.project_id))}


def test_the_worker_stays_while_such_a_session_could_still_be_closed(
    db: Connection, config: Config, loop: Loop, cwd: str
) -> None:
    registered(db)
    write(transcript(config), turn(1, SAID, "ls", at_ms=T0, cwd=cwd), changed_ms=T0)
    work(loop, db, T0 + MINUTE_MS)
    loop.busy_ms = T0 - 60 * MINUTE_MS
    assert loop.reason_to_leave(db) is None
    work(loop, db, T0 + MINUTE_MS + IDLE_MS)
    loop.busy_ms = T0 - 60 * MINUTE_MS
    assert "nothing to do" in str(loop.reason_to_leave(db))


def test_a_session_that_goes_on_is_read_when_it_falls_silent_and_not_before(
    db: Connection, config: Config, loop: Loop, cwd: str
) -> None:
    registered(db)
    write(transcript(config), turn(1, SAID, "ls", at_ms=T0, cwd=cwd), changed_ms=T0)
    work(loop, db, T0 + MINUTE_MS)
    later = T0 + IDLE_MS - MINUTE_MS
    write(transcript(config), turn(2, "And now?", "ls", at_ms=later, cwd=cwd), changed_ms=later)
    work(loop, db, T0 + IDLE_MS)
    assert events.count(db) == 0
    work(loop, db, later + IDLE_MS)
    assert stored(db)[EventKind.PROMPT] == [True, True]


def test_of_an_old_session_resumed_after_the_installation_only_the_new_part_is_healed(
    db: Connection, config: Config, loop: Loop, cwd: str
) -> None:
    registered(db)
    old = turn(1, "Long ago.", "ls", at_ms=T0 - 1000, cwd=cwd)
    write(transcript(config), [*old, *turn(2, "Now.", "ls", at_ms=T0, cwd=cwd)], changed_ms=T0 + 50)
    work(loop, db, T0 + 50 + IDLE_MS)
    assert stored(db) == {EventKind.PROMPT: [False, True], EventKind.TOOL_CALL: [False, True]}


@pytest.mark.parametrize("installed_ms", [None, T0 + 1])
def test_nothing_is_read_of_sessions_before_the_installation_or_without_one(
    db: Connection, config: Config, loop: Loop, cwd: str, installed_ms: int | None
) -> None:
    if installed_ms:
        registered(db, installed_ms)
    write(transcript(config), turn(1, SAID, "ls", at_ms=T0 - 1000, cwd=cwd), changed_ms=T0)
    work(loop, db, T0 + 10 * IDLE_MS)
    assert (events.count(db), asked(db)) == (0, [])


def test_after_an_uninstall_nothing_is_read_any_more(db: Connection, config: Config, loop: Loop, cwd: str) -> None:
    registered(db)
    with transaction(db):
        health.record_no_more(db)
    write(transcript(config), turn(1, SAID, "ls", at_ms=T0, cwd=cwd), changed_ms=T0)
    work(loop, db, T0 + IDLE_MS)
    assert (events.count(db), asked(db)) == (0, [])


def test_what_a_closed_session_gained_without_hooks_is_read_soon(
    db: Connection, config: Config, loop: Loop, cwd: str
) -> None:
    registered(db)
    path = write(transcript(config), turn(1, SAID, "ls", at_ms=T0, cwd=cwd), changed_ms=T0 + 30)
    named = {"cwd": cwd, "transcript_path": str(path)}
    by_hook = [
        event_of(prompt(SAID) | named),
        event_of(bash("ls", "3 passed") | named, at_ms=T0 + 20),
        event_of(hook_input("SessionEnd", reason="other") | named, at_ms=T0 + 40),
    ]
    take(db, config, by_hook)
    work(loop, db, T0 + MINUTE_MS)
    later = T0 + 2 * MINUTE_MS
    write(path, turn(2, "Resumed.", "ls", at_ms=later, cwd=cwd), changed_ms=later + 30)
    work(loop, db, later + MINUTE_MS // 4)
    assert stored(db)[EventKind.PROMPT] == [False]
    work(loop, db, later + MINUTE_MS)
    assert stored(db) == {EventKind.PROMPT: [False, True], EventKind.TOOL_CALL: [False, True]}
    work(loop, db, later + MINUTE_MS + IDLE_MS)
    session = sessions.get(db, "s1")
    assert session is not None and session.closed_ms is not None


def test_a_live_session_with_hooks_is_left_to_its_own_jobs(
    db: Connection, config: Config, loop: Loop, cwd: str
) -> None:
    registered(db)
    path = write(transcript(config), turn(1, SAID, "ls", at_ms=T0, cwd=cwd), changed_ms=T0 + 30)
    take(db, config, [event_of(prompt(SAID, cwd=cwd) | {"transcript_path": str(path)})])
    work(loop, db, T0 + 30 + IDLE_MS)
    assert asked(db) == []


def test_a_transcript_that_was_read_to_its_end_is_not_asked_for(
    db: Connection, config: Config, loop: Loop, cwd: str
) -> None:
    registered(db)
    path = write(transcript(config), turn(1, SAID, "ls", at_ms=T0, cwd=cwd), changed_ms=T0)
    reader = reading.Reader(db, T0, Redactor(config.capture).event, config, source=Source.BACKFILL)
    reading.catch_up(reader, path)
    work(loop, db, T0 + IDLE_MS)
    assert asked(db) == []


def test_a_line_that_never_ends_is_not_read_for_again_and_again(
    db: Connection, config: Config, loop: Loop, cwd: str
) -> None:
    registered(db)
    write(transcript(config), turn(1, SAID, "ls", at_ms=T0, cwd=cwd), changed_ms=T0, torn='{"type": "us')
    work(loop, db, T0 + IDLE_MS)
    assert stored(db)[EventKind.PROMPT] == [True]
    assert loop.look.once(db, T0 + 2 * IDLE_MS) == 0
    write(transcript(config), [], changed_ms=T0 + 2 * IDLE_MS, torn='er"')
    assert loop.look.once(db, T0 + 2 * IDLE_MS) == 1


def test_a_session_that_is_off_stays_out_and_so_does_what_happened_in_a_pause(
    db: Connection, config: Config, loop: Loop, cwd: str
) -> None:
    registered(db)
    with transaction(db):
        sessions.switch_off(db, "off", T0)
        sessions.pause(db, None, T0 + 100, T0 + 200)
    write(transcript(config, "off"), turn(1, SAID, "ls", at_ms=T0, cwd=cwd, sessionId="off"), changed_ms=T0)
    both = [*turn(2, "Before.", "ls", at_ms=T0, cwd=cwd), *turn(3, "In the pause.", "ls", at_ms=T0 + 100, cwd=cwd)]
    write(transcript(config), both, changed_ms=T0)
    work(loop, db, T0 + IDLE_MS)
    assert [job["subject"] for job in asked(db)] == [str(transcript(config))]
    assert stored(db, "off") == {}
    assert [e.text for e in events.of_session(db, "s1") if e.kind is EventKind.PROMPT] == ["Before."]


def test_no_link_leads_out_of_claudes_folders(
    db: Connection, config: Config, loop: Loop, own_home: Path, cwd: str
) -> None:
    registered(db)
    outside = write(own_home / "elsewhere" / "s1.jsonl", turn(1, SAID, "ls", at_ms=T0, cwd=cwd), changed_ms=T0)
    projects = config.claude_dirs[0] / "projects"
    (projects / "-project").mkdir(parents=True)
    (projects / "-project" / "s1.jsonl").symlink_to(outside)
    (projects / "-linked").symlink_to(outside.parent)
    work(loop, db, T0 + IDLE_MS)
    assert (events.count(db), asked(db)) == (0, [])


def test_what_subagents_did_comes_with_their_session(db: Connection, config: Config, loop: Loop, cwd: str) -> None:
    registered(db)
    path = write(transcript(config), turn(1, SAID, "ls", at_ms=T0, cwd=cwd), changed_ms=T0)
    agent = {"agentId": "a1", "isSidechain": True}
    words = [{"type": "text", "text": "Counted: two."}]
    said = record("assistant", "x1", words, at_ms=T0 + 5, cwd=cwd, **agent)
    write(path.with_suffix("") / "subagents" / "agent-a1.jsonl", [said], changed_ms=T0)
    work(loop, db, T0 + IDLE_MS)
    assert "Counted: two." in [event.text for event in events.of_session(db, "s1") if event.agent_id == "a1"]


def test_hooks_of_one_project_alone_make_nobody_read_the_others(
    db: Connection, config: Config, loop: Loop, own_home: Path, cwd: str
) -> None:
    registered(db, folder=cwd)
    other = str(project_folder(own_home, "project-other"))
    write(transcript(config), turn(1, SAID, "ls", at_ms=T0, cwd=cwd), changed_ms=T0)
    theirs = turn(2, "Not for you.", "ls", at_ms=T0, cwd=other, sessionId="s2")
    write(transcript(config, "s2"), theirs, changed_ms=T0)
    work(loop, db, T0 + IDLE_MS)
    assert stored(db) == {EventKind.PROMPT: [True], EventKind.TOOL_CALL: [True]}
    assert stored(db, "s2") == {}


def test_a_long_transcript_is_read_in_parts_and_what_is_live_comes_in_between(
    db: Connection, config: Config, loop: Loop, cwd: str
) -> None:
    registered(db)
    long = [record("assistant", f"x{n}", "word " * 40_000, at_ms=T0 + n, cwd=cwd) for n in range(70)]
    write(transcript(config), [*long, *turn(1, "The end.", "ls", at_ms=T0 + 100, cwd=cwd)], changed_ms=T0 + 200)
    loop.look.once(db, T0 + 200)
    ticks = iter(range(T0 + 200 + IDLE_MS, T0 + 10 * IDLE_MS, 100))
    loop.clock_ms = lambda: next(ticks)
    loop.one_pass(db)
    assert 0 < events.count(db) < 70
    take(db, config, [event_of(hook_input("SessionEnd", session="live", reason="other", cwd=cwd))])
    loop.one_pass(db)
    assert [(job["state"]) for job in jobs.listing(db) if job["subject"].startswith("live\n")] == ["done"]
    assert EventKind.PROMPT not in stored(db)
    while loop.one_pass(db):
        pass
    assert stored(db)[EventKind.PROMPT] == [True]


def test_one_drain_reads_what_no_hook_told_of_without_waiting(config: Config, db: Connection, cwd: str) -> None:
    now_ms = held.make_loop(config).clock_ms()
    registered(db, now_ms - 1000)
    write(transcript(config), turn(1, SAID, "make test", at_ms=now_ms - 500, cwd=cwd), changed_ms=now_ms)
    held.drain_once(config)
    held.drain_once(config)
    assert stored(db) == {EventKind.PROMPT: [True], EventKind.TOOL_CALL: [True]}


def test_a_rule_is_distilled_when_the_transcript_has_said_who_typed_it(
    db: Connection, config: Config, loop: Loop, cwd: str
) -> None:
    path = write(transcript(config), [], changed_ms=T0)
    where = {"cwd": cwd, "transcript_path": str(path), "prompt_id": "p1"}
    take(db, config, [event_of(prompt(SAID) | where), event_of(stop() | where, at_ms=T0 + 10)], now_ms=T0 + 10)
    scope = Scope(next(iter(db.execute("select project_id from sessions where id = 's1'")))[0])
    work(loop, db, T0 + 100)
    assert memories.listing(db, scope) == [], "the client has not written the prompt down yet"
    write(path, turn(1, SAID, "ls", at_ms=T0, cwd=cwd), changed_ms=T0 + 200)
    work(loop, db, T0 + 1_000)
    (rule,) = [one for one in memories.listing(db, scope) if one.value.startswith("Always")]
    assert (rule.trust, rule.version) == (Trust.VERIFIED, 1)


def test_a_rule_is_distilled_all_the_same_when_no_transcript_tells_of_it(
    db: Connection, config: Config, loop: Loop, cwd: str
) -> None:
    path = write(transcript(config), [], changed_ms=T0)
    where = {"cwd": cwd, "transcript_path": str(path), "prompt_id": "p1"}
    take(db, config, [event_of(prompt(SAID) | where), event_of(stop() | where, at_ms=T0 + 10)], now_ms=T0 + 10)
    scope = Scope(next(iter(db.execute("select project_id from sessions where id = 's1'")))[0])
    work(loop, db, T0 + 11_000)
    (rule,) = memories.listing(db, scope)
    assert rule.trust is Trust.CANDIDATE


def test_a_turn_that_is_dated_ahead_is_distilled_without_waiting_for_its_time(
    db: Connection, config: Config, loop: Loop, cwd: str
) -> None:
    path = write(transcript(config), [], changed_ms=T0)
    where = {"cwd": cwd, "transcript_path": str(path), "prompt_id": "p1"}
    ahead = T0 + 240_000
    take(db, config, [event_of(prompt(SAID) | where, at_ms=ahead), event_of(stop() | where, at_ms=ahead)], now_ms=T0)
    scope = Scope(next(iter(db.execute("select project_id from sessions where id = 's1'")))[0])
    work(loop, db, T0 + 11_000)
    (rule,) = memories.listing(db, scope)
    assert rule.value.startswith("Always")
