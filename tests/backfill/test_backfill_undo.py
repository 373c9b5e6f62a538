"""`recorder backfill --undo`: a run goes, with what was learnt from it alone.

What somebody else saw too stays, and so does what a person stands by.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recorder.capture import spool
from recorder.config import Config
from recorder.store import health, jobs, memories, runs, sessions
from recorder.store.db import transaction
from scripts.backfill.undoing import BATCH, take_back
from tests.backfill.past import DAY_MS, NOW_MS, Past, session_id
from tests.cli.terminal import RULE
from tests.makers import bash, hook_input, prompt, stop
from tests.worker.written import turn, write

PREFERENCE = "Always use uv for packages"


def count(past: Past, table: str) -> int:
    db = past.terminal.db()
    try:
        return int(next(iter(db.execute(f"select count(*) from {table}")))[0])
    finally:
        db.close()


def undo(past: Past, run: str) -> Any:
    """What a dry run says and what a commit does are the same."""
    said = past.terminal.ok("backfill", "--undo", run)
    done = past.terminal.ok("backfill", "--undo", run, "--commit")
    assert (said.pop("dry_run"), done.pop("dry_run")) == (True, False)
    assert said == done
    return done


def preferences(past: Past, *words: str) -> list[str]:
    return [memory["value"] for memory in past.terminal.ok("list", *words) if memory["kind"] == "preference"]


def test_a_run_goes_without_a_trace_and_comes_back_whole(past: Past) -> None:
    for n in (1, 2):
        past.session(n, turns=3)
    main = past.session(3)
    agent = main.with_suffix("") / "subagents" / "agent-a1.jsonl"
    write(agent, past.records(4, sessionId=session_id(3), isSidechain=True, agentId="a1"), changed_ms=NOW_MS - DAY_MS)
    run = past.commit()["run"]
    keys = past.keys()
    done = undo(past, run)
    assert done == {
        "run": run,
        "events": len(keys),
        "seen": 0,
        "kept": 0,
        "sessions": 3,
        "files": 4,
        "memories": [],
        "returned": [],
        "recounted": [],
        "stopped": False,
    }
    tables = ("events", "sightings", "sessions", "files", "cursors", "open_calls", "jobs", "embed_queue", "embeddings")
    assert {table: count(past, table) for table in tables} == dict.fromkeys(tables, 0)
    assert past.terminal.ok("search", "question 1 of session 2")["hits"] == []
    db = past.terminal.db()
    for table in ("event_words", "event_trigrams"):
        db.execute(f"insert into {table} ({table}, rank) values ('integrity-check', 1)").get
    db.close()
    again = past.commit()
    assert again["run"] != run and past.keys() == keys
    assert past.terminal.ok("search", "question 1 of session 2")["hits"]
    assert [one["state"] for one in past.terminal.ok("backfill", "--runs")] == ["done", "undone"]


def test_what_a_hook_saw_too_stays_and_only_loses_the_sighting(past: Past) -> None:
    path = past.session(1, turns=2)
    where: dict[str, Any] = {"session": session_id(1), "cwd": past.project, "transcript_path": str(path)}
    config = Config(home=past.terminal.home)
    spool.prepare(config.spool)
    given = (
        prompt("question 0 of session 1", prompt_id="p10000", **where),
        bash("make part1x0", "3 passed", use="toolu_10000", prompt_id="p10000", **where),
    )
    for n, fields in enumerate(given):
        (config.spool / "new" / f"{n}.json").write_text(json.dumps(fields))
    past.terminal.ok("drain", "--no-distil")
    live, sightings = past.keys(), count(past, "sightings")
    done = undo(past, past.commit()["run"])
    assert (done["events"], done["seen"], done["sessions"]) == (4, 2, 0)
    assert (past.keys(), count(past, "sightings")) == (live, sightings)
    db = past.terminal.db()
    session = sessions.get(db, session_id(1))
    assert session is not None and jobs.counts(db)["distil"]
    db.close()


def test_what_another_run_saw_too_stays(past: Past, tmp_path: Path) -> None:
    path = past.session(1)
    first = past.commit()["run"]
    lines = [*past.records(1), *past.records(2, sessionId=session_id(1))]
    copied = write(tmp_path / "copy.jsonl", lines, changed_ms=NOW_MS - DAY_MS)
    second = past.commit(str(copied))["run"]
    assert undo(past, first)["seen"] == 3
    assert len(past.keys()) == 6
    assert undo(past, second)["events"] == 6
    assert past.keys() == [] and path.exists()


def test_a_session_that_a_second_run_read_on_comes_back_whole(past: Past) -> None:
    path = past.session(1)
    past.commit()
    write(path, past.records(2, sessionId=session_id(1)), changed_ms=NOW_MS - DAY_MS)
    second = past.commit()["run"]
    keys = past.keys()
    done = undo(past, second)
    assert (done["events"], done["sessions"], len(past.keys())) == (3, 0, 3)
    past.commit()
    assert past.keys() == keys


def test_what_was_learnt_from_it_alone_is_hidden_with_the_reason(past: Past) -> None:
    past.session(1, said=f"{RULE}.")
    run = past.commit()["run"]
    past.terminal.ok("drain")
    (memory,) = [m for m in past.terminal.ok("list") if m["kind"] == "preference"]
    done = undo(past, run)
    assert f"{memory['namespace']}/{memory['key']}" in done["memories"]
    assert past.terminal.ok("list") == [] and count(past, "memory_evidence") == 0
    assert memory["value"] in preferences(past, "--deleted")
    history = past.terminal.ok("history", memory["namespace"], memory["key"])
    assert (history[-1]["action"], history[-1]["reason"]) == ("deleted", f"backfill {run} was taken back")
    assert past.terminal.ok("audit", "verify")["state"] == "pass"
    assert past.commit()["events"]["new"] > 0


@pytest.mark.parametrize("verb", ["approve", "pin"])
def test_what_a_person_stands_by_stays_with_its_evidence(past: Past, tmp_path: Path, verb: str) -> None:
    past.session(1, said=PREFERENCE)
    lines = past.records(2, said=f"{RULE}.")
    # What a file elsewhere says of who typed is not believed: a candidate.
    folder = tmp_path if verb == "approve" else past.claude / "projects"
    write(folder / "p" / f"{session_id(2)}.jsonl", lines, changed_ms=NOW_MS - DAY_MS)
    run = past.commit(str(past.claude), str(tmp_path / "p") if verb == "approve" else str(past.claude))["run"]
    past.terminal.ok("drain")
    (memory,) = [m for m in past.terminal.ok("list") if "pytest" in m["value"]]
    assert memory["trust"] == ("candidate" if verb == "approve" else "verified")
    address = (memory["namespace"], memory["key"])
    past.terminal.ok(verb, *address, *(["--yes"] if verb == "approve" else []))
    before = past.terminal.ok("why", *address)
    done = undo(past, run)
    assert (done["kept"], done["events"]) == (1, 5)
    assert past.terminal.ok("why", *address) == before
    assert preferences(past) == [memory["value"]]
    assert undo(past, run)["kept"] == 0
    assert past.commit(str(tmp_path), str(past.claude))["events"] == {"new": 5, "seen": 1, "left_out": {}}


def test_what_lives_on_other_evidence_too_stays(past: Past) -> None:
    past.session(1, said=f"{RULE}.")
    run = past.commit()["run"]
    write(
        past.claude / "projects" / "-x" / f"{session_id(2)}.jsonl",
        past.records(2, said=f"{RULE}."),
        changed_ms=NOW_MS - DAY_MS,
    )
    past.commit()
    past.terminal.ok("drain")
    (value,) = preferences(past)
    assert not [name for name in undo(past, run)["memories"] if "preference" in name or "rule" in name]
    assert preferences(past) == [value]
    (memory,) = [m for m in past.terminal.ok("list") if m["kind"] == "preference"]
    db = past.terminal.db()
    found = memories.find(db, memory["namespace"], memory["key"])
    assert found is not None
    assert {event.session_id for event, _ in memories.evidence(db, found.version_id)} == {session_id(2)}
    db.close()


def test_a_conflict_that_it_raised_waits_for_nobody_any_more(past: Past) -> None:
    past.session(1, days_old=2.0, said="Always run the tests with tox")
    past.commit()
    past.terminal.ok("drain")
    past.session(2, days_old=9.0, said=f"{RULE}.")
    run = past.commit()["run"]
    past.terminal.ok("drain")
    assert [finding["kind"] for finding in past.terminal.ok("findings")] == ["conflict"]
    undo(past, run)
    assert past.terminal.ok("findings") == []
    past.commit()
    past.terminal.ok("drain")
    assert [finding["kind"] for finding in past.terminal.ok("findings")] == ["conflict"]


def test_an_undo_that_was_stopped_goes_on_from_there(past: Past) -> None:
    past.session(1, turns=BATCH // 2)
    name = past.commit()["run"]
    every = len(past.keys())
    db = past.terminal.db()
    run = runs.find(db, name)
    assert run is not None and every > BATCH
    told: list[int] = []
    stopped = take_back(db, run, NOW_MS, told.append, lambda: bool(told))
    db.close()
    assert stopped.stopped and stopped.events == BATCH == every - len(past.keys())
    # No backfill goes on with a run that is being taken back.
    assert past.terminal.ok("backfill")["goes_on_with"] is None
    assert undo(past, name)["events"] == every - BATCH
    assert past.keys() == []
    assert undo(past, name)["events"] == 0


def test_a_run_that_is_none_is_said_to_be_none(past: Past) -> None:
    for _ in range(2):
        said = past.terminal.run("backfill", "--undo", "past-1")
        assert said.code == 1 and "there is no run past-1" in said.err
        past.session(1)
        past.commit()


def test_an_undo_says_what_went_and_what_stayed(past: Past) -> None:
    past.session(1, said=f"{RULE}.")
    run = past.commit()["run"]
    past.terminal.ok("drain")
    said = past.terminal.run("backfill", "--undo", run).out
    assert f"{run}: 3 events of 1 file would be taken back, with 1 session" in said
    assert "would be hidden" in said and "nothing was written" in said
    assert f"{run}: 3 events of 1 file taken back" in past.terminal.run("backfill", "--undo", run, "--commit").out


def shown(past: Past) -> list[tuple[str, ...]]:
    """What memories say, under which key and with which trust."""
    names = ("namespace", "key", "kind", "value", "trust")
    return sorted(tuple(memory[name] for name in names) for memory in past.terminal.ok("list", "--limit", "500"))


def test_what_an_undo_hid_is_there_again_when_it_is_brought_in_again(past: Past) -> None:
    past.session(1, days_old=9.0, said="Always run the tests with tox")
    past.session(2, days_old=5.0, said=f"{RULE}.")
    past.session(3, days_old=3.0, said=PREFERENCE)
    for n, command in ((4, "make test"), (5, "make test"), (6, "make lint")):  # what two sessions saw is verified
        lines = past.records(n, days_old=2.0)
        for line in lines:
            for block in line["message"]["content"] if isinstance(line["message"]["content"], list) else ():
                block.get("input", {}).update(command=command)
        path = past.claude / "projects" / "-x" / f"{session_id(n)}.jsonl"
        write(path, lines, changed_ms=NOW_MS - 2 * DAY_MS)
    run = past.commit()["run"]
    past.terminal.ok("drain")
    (gone,) = [m for m in past.terminal.ok("list") if "uv" in m["value"]]
    past.terminal.ok("delete", gone["namespace"], gone["key"])
    before = shown(past)
    assert {trust for *_, trust in before} == {"verified", "candidate"} and len(before) >= 3
    for _ in range(2):
        undo(past, run)
        assert shown(past) == []
        run = past.commit()["run"]
        past.terminal.ok("drain")
        assert shown(past) == before
    assert gone["value"] in preferences(past, "--deleted")
    assert past.terminal.ok("audit", "verify")["state"] == "pass"


def event_ids(past: Past) -> set[int]:
    db = past.terminal.db()
    try:
        return {event_id for (event_id,) in db.execute("select id from events")}
    finally:
        db.close()


@pytest.mark.parametrize("how", ["undo", "forget"])
def test_the_name_of_an_event_that_is_gone_never_names_another(past: Past, how: str) -> None:
    past.session(1, said=f"{RULE}.")
    run = past.commit()["run"]
    past.terminal.ok("drain")
    first = event_ids(past)
    if how == "undo":
        undo(past, run)
    else:
        for event_id in sorted(first):
            past.terminal.ok("forget", "--event", f"e{event_id}", "--yes")
    assert event_ids(past) == set()
    past.session(2)
    past.commit()
    past.terminal.ok("remember", "project", "port", "The port is 8080")
    second = event_ids(past)
    assert second and min(second) > max(first)


def test_an_undo_that_was_stopped_is_listed_as_half_done(past: Past) -> None:
    past.session(1, turns=BATCH // 2)
    name = past.commit()["run"]
    db = past.terminal.db()
    run = runs.find(db, name)
    assert run is not None
    told: list[int] = []
    take_back(db, run, NOW_MS, told.append, lambda: bool(told))
    db.close()
    assert [one["state"] for one in past.terminal.ok("backfill", "--runs")] == ["half undone"]
    assert f"recorder backfill --undo {name} --commit goes on" in past.terminal.run("backfill", "--runs").out
    undo(past, name)
    assert [one["state"] for one in past.terminal.ok("backfill", "--runs")] == ["undone"]
    assert "goes on" not in past.terminal.run("backfill", "--runs").out


def live(past: Past, n: int, said: str, command: str, *, days_old: float = 1.0) -> None:
    """A session that hooks told of, distilled."""
    path = past.claude / "projects" / "-live" / f"{session_id(n)}.jsonl"
    write(path, commanded(past, n, said, command, days_old), changed_ms=NOW_MS - int(days_old * DAY_MS))
    where: dict[str, Any] = {"session": session_id(n), "cwd": past.project, "transcript_path": str(path)}
    ids: dict[str, Any] = {"prompt_id": f"p{n}", **where}
    config = Config(home=past.terminal.home)
    spool.prepare(config.spool)
    for name, fields in enumerate(
        (
            prompt(said, **ids),
            bash(command, "3 passed", use=f"toolu_{n}", **ids),
            stop(**ids),
            hook_input("SessionEnd", reason="other", **where),
        )
    ):
        (config.spool / "new" / f"{n}-{name}.json").write_text(json.dumps(fields))
    past.terminal.ok("drain")


def commanded(past: Past, n: int, said: str, command: str, days_old: float) -> Any:
    at_ms = NOW_MS - int(days_old * DAY_MS)
    return turn(n, said, command, at_ms=at_ms, cwd=past.project, sessionId=session_id(n))


def unhooked(past: Past, n: int, said: str, command: str, *, days_old: float = 1.0) -> Path:
    """A session of which only its transcript tells."""
    path = past.claude / "projects" / "-past" / f"{session_id(n)}.jsonl"
    return write(path, commanded(past, n, said, command, days_old), changed_ms=NOW_MS - int(days_old * DAY_MS))


def test_what_the_run_superseded_stands_again_on_its_own_evidence(past: Past) -> None:
    live(past, 1, "Always deploy with `make ship`", "pytest -q", days_old=3)
    live(past, 2, "go on", "pytest -q", days_old=3)
    before = shown(past)
    assert {trust for *_, trust in before} == {"verified"} and len(before) == 2
    # Hooks were silent, later than what they told of.
    ahead = -0.5
    unhooked(
        past, 3, "From now on always deploy with `make launch`, not `make ship`", "uv run pytest -q", days_old=ahead
    )
    unhooked(past, 4, "go on", "uv run pytest -q", days_old=ahead)
    run = past.commit()["run"]
    past.terminal.ok("drain")
    assert {value for *_, value, _ in shown(past)}.isdisjoint({value for *_, value, _ in before})
    done = undo(past, run)
    assert (len(done["returned"]), done["memories"]) == (2, [])
    assert shown(past) == before
    for namespace, key, *_ in before:
        assert past.terminal.ok("why", namespace, key)["evidence"]
    past.terminal.ok("drain")
    assert shown(past) == before
    assert past.terminal.ok("audit", "verify")["state"] == "pass"


def test_what_two_sessions_verified_is_a_candidate_when_one_is_taken_back(past: Past) -> None:
    live(past, 1, "go on", "pytest -q", days_old=3)
    before = shown(past)
    assert [trust for *_, trust in before] == ["candidate"]
    unhooked(past, 2, "go on", "pytest -q")
    run = past.commit()["run"]
    past.terminal.ok("drain")
    assert [trust for *_, trust in shown(past)] == ["verified"]
    assert len(undo(past, run)["recounted"]) == 1
    assert shown(past) == before
    said = past.terminal.run("history", before[0][0], before[0][1]).out
    assert "recounted" in said


def test_what_a_person_took_back_comes_in_again_by_a_person_alone(past: Past) -> None:
    db = past.terminal.db()
    with transaction(db):
        health.record_since(db, NOW_MS - 30 * DAY_MS, health.EVERYWHERE)
    db.close()
    unhooked(past, 1, "go on", "ls")
    past.terminal.ok("drain")
    keys = past.keys()
    assert len(keys) == 3  # found by itself, and of no run
    path = unhooked(past, 2, "go on", "ls -l")
    run = past.commit()["run"]
    undo(past, run)
    past.terminal.ok("drain")
    assert past.keys() == keys
    # What is said there later is new.
    later = [line | {"sessionId": session_id(2)} for line in commanded(past, 3, "go on", "make", 0.9)]
    write(path, later, changed_ms=NOW_MS - DAY_MS // 2)
    past.terminal.ok("drain")
    assert len(past.keys()) == 6
    assert past.commit()["events"] == {"new": 3, "seen": 3, "left_out": {}}
    assert len(past.keys()) == 9


def test_what_is_restored_after_an_undo_stands_on_the_word_of_who_restores_it(past: Past) -> None:
    past.session(1, said=f"{RULE}.")
    run = past.commit()["run"]
    past.terminal.ok("drain")
    (memory,) = [m for m in past.terminal.ok("list") if m["kind"] == "preference"]
    undo(past, run)
    address = (memory["namespace"], memory["key"])
    past.terminal.ok("restore", *address)
    (cited,) = past.terminal.ok("why", *address)["evidence"]
    assert cited["quote"] == memory["value"]
    past.terminal.ok("restore", *address)
    assert [one["trust"] for one in past.terminal.ok("list")] == ["verified"]


def test_what_was_taken_back_stays_so_when_its_transcript_lost_its_last_line(past: Past) -> None:
    db = past.terminal.db()
    with transaction(db):
        health.record_since(db, NOW_MS - 30 * DAY_MS, health.EVERYWHERE)
    db.close()
    path = unhooked(past, 2, "go on", "ls -l")
    undo(past, past.commit()["run"])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    past.terminal.ok("drain")
    assert past.keys() == []
    past.commit()
    assert past.keys()
