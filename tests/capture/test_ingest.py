from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from recorder import gate
from recorder.capture import reading
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.models import (
    Channel,
    Event,
    EventKind,
    MemoryKind,
    Origin,
    PromptClass,
    Proposal,
    Scope,
    Source,
)
from recorder.store import events, jobs, sessions
from recorder.store.db import Connection, transaction
from tests.capture.transcript_lines import SESSION, lines, typed
from tests.makers import T0, bash, event_of, hook_input, project_folder, prompt, stop, take


def from_transcript(event: Event, *, uuid: str, ref: str, **more: object) -> Event:
    return replace(event, source=Source.TRANSCRIPT, uuid=uuid, ref=ref, **more)


@pytest.fixture
def folder(own_home: Path) -> str:
    return str(project_folder(own_home))


def queued(db: Connection) -> dict[str, int]:
    return {f"{row['kind']} {row['subject']}": row["due_ms"] for row in jobs.listing(db, state="queued")}


def test_the_same_spool_file_taken_in_twice_is_one_event(db: Connection, config: Config, folder: str) -> None:
    event = event_of(bash("pytest", "3 passed", cwd=folder), name="a.json")
    assert take(db, config, [event]).new == 1
    assert take(db, config, [event]).new == 0
    assert events.count(db) == 1


def test_ten_copies_of_one_call_in_ten_spool_files_are_one_event(db: Connection, config: Config, folder: str) -> None:
    copies = [event_of(bash("pytest", cwd=folder), name=f"{n}.json") for n in range(10)]
    assert take(db, config, copies).new == 1
    assert events.count(db) == 1


def test_a_call_seen_by_hook_and_transcript_is_one_event_with_two_sightings(
    db: Connection, config: Config, folder: str
) -> None:
    hook = event_of(bash("pytest", "3 passed", cwd=folder))
    take(db, config, [hook])
    seen = take(db, config, [from_transcript(hook, uuid="u1", ref="t:1", branch="main")])
    assert (seen.new, seen.seen) == (0, 1)
    (stored,) = events.of_session(db, "s1")
    assert (stored.uuid, stored.branch, stored.healed) == ("u1", "main", False)
    assert [row[0] for row in db.execute("select source from sightings order by id")] == ["hook", "transcript"]


def test_what_the_transcript_alone_knows_of_a_prompt_fills_its_class(
    db: Connection, config: Config, folder: str
) -> None:
    hook = event_of(prompt("Always use uv", cwd=folder))
    take(db, config, [hook])
    take(db, config, [from_transcript(hook, uuid="u1", ref="t:1", klass=PromptClass.TYPED)])
    (stored,) = events.of_session(db, "s1")
    assert (stored.klass, stored.text) == (PromptClass.TYPED, "Always use uv")


def test_a_fork_that_repeats_records_under_another_session_adds_no_event(
    db: Connection, config: Config, folder: str
) -> None:
    said = event_of(prompt("Fix the parser", cwd=folder))
    call = event_of(bash("pytest", "3 passed", cwd=folder))
    take(db, config, [said, call])
    take(db, config, [from_transcript(said, uuid="u1", ref="t:1"), from_transcript(call, uuid="u2", ref="t:2")])
    forked = [
        from_transcript(said, uuid="u1", ref="f:1", session_id="s2", key="p:s2:p1:prompt"),
        from_transcript(call, uuid="u2", ref="f:2", session_id="s2", key="t:s2:toolu_1"),
    ]
    assert take(db, config, forked).new == 0
    assert events.count(db) == 2


def test_a_fork_read_before_the_parents_transcript_adds_no_event_either(
    db: Connection, config: Config, folder: str
) -> None:
    said = event_of(prompt("Fix the parser", cwd=folder))
    call = event_of(bash("pytest", "3 passed", cwd=folder))
    take(db, config, [said, call])
    forked = [
        from_transcript(said, uuid="u1", ref="f:1", session_id="s2", key="p:s2:p1:prompt"),
        from_transcript(call, uuid="u2", ref="f:2", session_id="s2", key="t:s2:toolu_1"),
    ]
    assert take(db, config, forked).new == 0


def test_the_same_prompt_id_with_other_words_is_another_prompt(db: Connection, config: Config, folder: str) -> None:
    take(db, config, [event_of(prompt("one", cwd=folder))])
    other = event_of(prompt("two", cwd=folder, session="s2"))
    assert take(db, config, [other]).new == 1


def test_two_folders_in_one_session_are_two_projects(db: Connection, config: Config, own_home: Path) -> None:
    first, second = project_folder(own_home, "teams/alpha/app"), project_folder(own_home, "teams/beta/app")
    take(db, config, [event_of(bash("ls", cwd=str(first))), event_of(bash("ls", use="toolu_2", cwd=str(second)))])
    ids = {event.project_id for event in events.of_session(db, "s1")}
    assert len(ids) == 2 and None not in ids


def test_the_same_session_start_twice_is_one_session(db: Connection, config: Config, folder: str) -> None:
    start = hook_input("SessionStart", source="resume", cwd=folder)
    take(db, config, [event_of(start), event_of(start)])
    assert [session.id for session in sessions.listing(db)] == ["s1"]


def test_a_turn_is_due_at_once_when_stop_closes_it(db: Connection, config: Config, folder: str) -> None:
    take(db, config, [event_of(prompt("hi", cwd=folder)), event_of(stop(cwd=folder))], now_ms=T0 + 5)
    assert queued(db)["distil s1\np1"] == T0 + 5


def test_a_turn_with_a_background_task_waits_for_silence(db: Connection, config: Config, folder: str) -> None:
    waiting = stop(cwd=folder, background_tasks=[{"id": "b1"}])
    take(db, config, [event_of(prompt("hi", cwd=folder)), event_of(waiting)], now_ms=T0)
    assert queued(db)["distil s1\np1"] == T0 + 10 * 60_000


def test_the_next_prompt_closes_a_turn_that_never_stopped(db: Connection, config: Config, folder: str) -> None:
    take(db, config, [event_of(prompt("one", cwd=folder)), event_of(bash("ls", cwd=folder))])
    take(db, config, [event_of(prompt("two", prompt_id="p2", cwd=folder), at_ms=T0 + 9)], now_ms=T0 + 9)
    due = queued(db)
    assert due["distil s1\np1"] == T0 + 9
    assert due["distil s1\np2"] > T0 + 9


def test_a_session_end_closes_the_session_and_loses_no_pending_turn(
    db: Connection, config: Config, folder: str
) -> None:
    turns = [event_of(prompt(f"turn {n}", prompt_id=f"p{n}", cwd=folder)) for n in range(10)]
    take(db, config, [*turns, event_of(hook_input("SessionEnd", reason="clear", cwd=folder))])
    assert {f"distil s1\np{n}" for n in range(10)} <= set(queued(db))
    session = sessions.get(db, "s1")
    assert session is not None and (session.closed_ms, session.end_reason) == (T0, "clear")


def test_a_later_event_opens_a_closed_session_again(db: Connection, config: Config, folder: str) -> None:
    take(db, config, [event_of(hook_input("SessionEnd", reason="other", cwd=folder))])
    take(db, config, [event_of(prompt("again", cwd=folder), at_ms=T0 + 60_000)])
    session = sessions.get(db, "s1")
    assert session is not None and session.closed_ms is None


def test_nothing_of_a_session_that_was_off_is_taken_in_later(db: Connection, config: Config, folder: str) -> None:
    with transaction(db):
        sessions.switch_off(db, "s1", T0)
    taken = take(db, config, [event_of(prompt("private matters", cwd=folder))])
    assert (taken.new, dict(taken.left_out)) == (0, {"off": 1})
    assert events.count(db) == 0


def test_what_happened_during_a_pause_is_left_out_whoever_brings_it(
    db: Connection, config: Config, folder: str
) -> None:
    with transaction(db):
        sessions.pause(db, None, T0 - 10, T0 + 10)
    taken = take(db, config, [event_of(prompt("in it", cwd=folder)), event_of(bash("ls", cwd=folder), at_ms=T0 + 10)])
    assert (taken.new, dict(taken.left_out)) == (1, {"paused": 1})


def test_a_prompt_that_no_hook_carried_is_marked_healed(db: Connection, config: Config, folder: str) -> None:
    take(db, config, [event_of(bash("ls", cwd=folder))])
    missed = from_transcript(event_of(bash("pwd", use="toolu_9", cwd=folder)), uuid="u9", ref="t:9")
    take(db, config, [missed])
    assert {event.tool_use_id: event.healed for event in events.of_session(db, "s1")} == {
        "toolu_1": False,
        "toolu_9": True,
    }


def test_an_event_without_a_project_is_kept_and_stands_in_no_scope(
    db: Connection, config: Config, own_home: Path
) -> None:
    take(db, config, [event_of(prompt("at home", cwd=str(own_home)))])
    assert list(db.execute("select project_id, scope_id from events")) == [(None, None)]


def test_files_a_call_named_are_found_by_path(db: Connection, config: Config, folder: str) -> None:
    read = hook_input(
        "PostToolUse",
        tool_name="Read",
        tool_input={"file_path": f"{folder}/app.py"},
        tool_response={"type": "text", "file": {"filePath": f"{folder}/app.py", "content": "x = 1\n"}},
        tool_use_id="toolu_r",
        prompt_id="p1",
        cwd=folder,
    )
    take(db, config, [event_of(read)])
    assert list(db.execute("select path, action from files")) == [(f"{folder}/app.py", "read")]


def test_a_secret_reaches_no_byte_of_the_database(db: Connection, config: Config, folder: str) -> None:
    secret = "gh" + "p_" + "Zq3" * 12
    take(db, config, [event_of(bash(f"curl -H 'Authorization: Bearer {secret}' host", f"token {secret}", cwd=folder))])
    db.execute("pragma wal_checkpoint(truncate)").get
    assert secret.encode() not in config.db_path.read_bytes()
    assert EventKind.TOOL_CALL == events.of_session(db, "s1")[0].kind


def test_another_file_at_the_same_place_is_taken_in_whole(db: Connection, config: Config, folder: str) -> None:
    first = from_transcript(event_of(prompt("one", cwd=folder)), uuid="u1", ref="t:0")
    other = from_transcript(event_of(prompt("two", prompt_id="p2", cwd=folder)), uuid="u2", ref="t:0")
    take(db, config, [first])
    assert take(db, config, [other]).new == 1
    assert [event.uuid for event in events.of_session(db, "s1")] == ["u1", "u2"]


def test_what_the_transcript_adds_to_a_closed_turn_does_not_put_it_off(
    db: Connection, config: Config, folder: str
) -> None:
    hooks = [event_of(prompt("hi", cwd=folder)), event_of(stop(cwd=folder), at_ms=T0 + 5)]
    take(db, config, hooks, now_ms=T0 + 5)
    said = replace(hooks[0], kind=EventKind.ASSISTANT, key="a:s1:m:1", body={"text": "Hello."})
    take(db, config, [from_transcript(said, uuid="u7", ref="t:7")], now_ms=T0 + 6)
    assert queued(db)["distil s1\np1"] == T0 + 5


def test_what_is_read_after_the_session_ended_is_due_at_once(db: Connection, config: Config, folder: str) -> None:
    take(db, config, [event_of(hook_input("SessionEnd", reason="other", cwd=folder))])
    healed = from_transcript(event_of(prompt("hi", cwd=folder)), uuid="u1", ref="t:1")
    take(db, config, [healed], now_ms=T0 + 7)
    due = queued(db)
    assert (due["distil s1\np1"], due["close s1"]) == (T0 + 7, T0 + 7)


@pytest.mark.parametrize("transcript_first", [False, True])
def test_the_last_words_of_a_turn_are_found_once_whoever_brought_them_first(
    db: Connection, config: Config, folder: str, transcript_first: bool
) -> None:
    words = "The parser returns an empty list now. " * 40
    ended = event_of(stop(cwd=folder, last_assistant_message=words))
    said = replace(ended, kind=EventKind.ASSISTANT, key="a:s1:m:1", body={"text": words}, ref="t:7", uuid="u7")
    said = replace(said, source=Source.TRANSCRIPT)
    take(db, config, [said] if transcript_first else [ended])
    assert len(list(db.execute("select rowid from event_words where event_words match 'parser'"))) == 1
    take(db, config, [ended] if transcript_first else [said])
    (found,) = db.execute("select rowid from event_words where event_words match 'parser'")
    assert events.get(db, [found[0]])[0].kind is EventKind.ASSISTANT
    assert [event.text for event in events.of_session(db, "s1")] == [words, words]


def test_what_a_turn_looks_back_at_is_the_latest_before_it_in_order(
    db: Connection, config: Config, folder: str
) -> None:
    take(db, config, [event_of(bash("ls", use=f"toolu_{n}", cwd=folder), at_ms=T0 + n) for n in range(6)])
    found = events.before(db, "s1", T0 + 4, limit=2)
    assert [event.tool_use_id for event in found] == ["toolu_2", "toolu_3"]


def test_a_transcript_that_begins_with_a_title_gives_it_the_project_of_its_session(
    db: Connection, config: Config, tmp_path: Path
) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    title = {"type": "ai-title", "aiTitle": "Sorting", "sessionId": SESSION}
    reader = reading.Reader(db, T0, Redactor(config.capture).event, config)
    for first, then in ((title, typed("go")), (title | {"aiTitle": "Sorting a list"}, typed("on", 2))):
        with path.open("ab") as file:
            file.write(lines(first))
            file.write(lines(then))
        reading.catch_up(reader, path)
    session = sessions.get(db, SESSION)
    assert session is not None and session.project_id is not None
    found = events.of_session(db, SESSION)
    assert [event.kind for event in found].count(EventKind.TITLE) == 2
    assert {event.project_id for event in found} == {session.project_id}


def test_what_the_gate_keeps_for_every_project_is_of_none_when_its_sessions_folder_is_known(
    db: Connection, config: Config
) -> None:
    proposal = Proposal("user", "editor", "The editor is vim", MemoryKind.SEMANTIC, Origin.USER_SAID, "task:s1")
    gate.tell(db, proposal, gate.Writer(Channel.PERSON, "terminal", Scope(None), T0), session_id="s1")
    take(db, config, [event_of(prompt("go"))])
    assert [(e.kind, e.project_id is None) for e in events.of_session(db, "s1")] == [
        (EventKind.STATEMENT, True),
        (EventKind.PROMPT, False),
    ]
