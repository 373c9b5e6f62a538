"""The commands about memories: who may do what, and what comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from recorder.gate import queue
from recorder.store.db import DatabaseError
from tests.cli.terminal import CONTROLS, ROOT, RULE, Terminal, environ


def agent(terminal: Terminal) -> None:
    """From here on Claude Code runs the commands."""
    terminal.set("CLAUDECODE", "1")
    terminal.set("CLAUDE_CODE_SESSION_ID", "session-of-the-agent")


def test_a_memory_written_at_the_terminal_is_verified_and_leads_its_life(terminal: Terminal) -> None:
    made = terminal.ok(
        "remember", "project", "decision.queue", "We queue in SQLite", "--kind", "semantic", "--tags", "db, q"
    )
    assert made["action"] == "created" and made["memory"]["trust"] == "verified"
    got = terminal.ok("get", "project", "decision.queue")
    assert (got["value"], got["tags"], got["source"]) == ("We queue in SQLite", ["db", "q"], "terminal")
    assert terminal.ok("remember", "project", "decision.queue", "We queue in Redis")["action"] == "superseded"
    assert [line["value"] for line in terminal.ok("history", "project", "decision.queue")][:2] == [
        "We queue in SQLite",
        "We queue in Redis",
    ]
    (cited,) = terminal.ok("why", "project", "decision.queue")["evidence"]
    assert (cited["kind"], cited["quote"]) == ("statement", "We queue in Redis")
    assert terminal.ok("pin", "project", "decision.queue")["action"] == "pinned"
    assert terminal.ok("delete", "project", "decision.queue", "--reason", "moved")["memory"]["deleted"] is True
    assert "decision.queue" not in [memory["key"] for memory in terminal.ok("list")]
    assert "decision.queue" in [memory["key"] for memory in terminal.ok("list", "--deleted")]
    assert all(hit["key"] != "decision.queue" for hit in terminal.ok("search", "Redis queue")["hits"])
    assert terminal.ok("restore", "project", "decision.queue")["memory"]["deleted"] is False
    assert terminal.ok("history", "project", "decision.queue")[-1]["action"] == "restored"


def test_labels_are_changed_at_the_terminal_and_the_words_stay(terminal: Terminal) -> None:
    terminal.ok("remember", "project", "decision.queue", "We queue in SQLite", "--tags", "db")
    more = ("--tags", "db,jobs", "--kind", "procedural", "--valid-to", "2031", "--expected-version", "1")
    made = terminal.ok("label", "project", "decision.queue", *more)
    assert (made["action"], made["memory"]["value"], made["memory"]["tags"]) == (
        "labelled",
        "We queue in SQLite",
        ["db", "jobs"],
    )
    opened = terminal.ok("label", "project", "decision.queue", "--valid-to", "open")["memory"]
    assert (opened["valid_to_ms"], opened["kind"], opened["version"]) == (None, "procedural", 3)
    assert "tags: db → db, jobs" in terminal.run("history", "project", "decision.queue", "--diff").out
    assert terminal.run("label", "project", "decision.queue", *more).code == 1
    assert terminal.run("label", "project", "decision.queue").code == 2
    agent(terminal)
    assert terminal.ok("label", "project", "decision.queue", "--tags", "mine")["action"] == "finding"


def test_what_claude_writes_through_the_terminal_is_a_candidate_with_its_session(terminal: Terminal) -> None:
    agent(terminal)
    made = terminal.ok("remember", "project", "decision.cache", "We cache in memory")
    assert (made["memory"]["trust"], made["memory"]["source"]) == ("candidate", "task:session-of-the-agent")


@pytest.mark.parametrize("verb", ["approve", "pin"])
def test_what_only_a_person_may_do_is_refused_to_claude(terminal: Terminal, verb: str) -> None:
    agent(terminal)
    terminal.ok("remember", "project", "decision.cache", "We cache in memory")
    said = terminal.run(verb, "project", "decision.cache")
    assert said.code == 1 and "only a person" in said.err
    assert terminal.ok("get", "project", "decision.cache")["trust"] == "candidate"
    terminal.monkeypatch.delenv("CLAUDECODE")
    said = terminal.run("approve", "project", "decision.cache")
    assert said.code == 2 and "--expected-version" in said.err, "nobody can be asked"
    digest = queue.digest("We cache in memory")
    assert terminal.run("approve", "project", "decision.cache", "--expected-digest", "0" * 16).code == 1
    assert terminal.ok("get", "project", "decision.cache")["trust"] == "candidate"
    told = terminal.ok("approve", "project", "decision.cache", "--expected-digest", digest)
    assert told["memory"]["value"] == "We cache in memory"
    assert terminal.ok("get", "project", "decision.cache")["trust"] == "verified"


def test_claude_cannot_change_or_hide_what_a_person_verified_and_the_wish_is_listed(terminal: Terminal) -> None:
    terminal.ok("remember", "user", "preference.editor", "I use vim")
    agent(terminal)
    assert terminal.run("remember", "user", "preference.editor", "I use emacs").code in (0, 1)
    terminal.run("delete", "user", "preference.editor", "--reason", "no longer")
    stands = terminal.ok("get", "user", "preference.editor")
    assert (stands["value"], stands["deleted"]) == ("I use vim", False)
    terminal.monkeypatch.delenv("CLAUDECODE")
    waiting = terminal.ok("findings")
    assert {finding["key"] for finding in waiting} == {"preference.editor"} and len(waiting) == 2


def test_a_memory_written_again_keeps_what_is_not_said_anew(terminal: Terminal) -> None:
    terminal.ok("remember", "project", "how.deploy", "make ship", "--kind", "procedural", "--tags", "ops")
    for value, more, kind, tags in (
        ("make release", [], "procedural", ["ops"]),
        ("make release now", ["--tags", ""], "procedural", []),
        ("make release later", ["--kind", "semantic"], "semantic", []),
    ):
        memory = terminal.ok("remember", "project", "how.deploy", value, *more)["memory"]
        assert (memory["value"], memory["kind"], memory["tags"]) == (value, kind, tags)
    agent(terminal)
    terminal.ok("remember", "project", "how.build", "make", "--tags", "ops")
    terminal.monkeypatch.delenv("CLAUDECODE")
    again = terminal.ok("remember", "project", "how.build", "make all")["memory"]
    assert (again["importance"], again["tags"], again["trust"]) == (0.5, ["ops"], "verified")


def test_a_search_answers_with_arms_scope_and_hits_that_name_their_event(terminal: Terminal) -> None:
    found = terminal.ok("search", "how are the tests run")
    assert set(found["arms"]) == {"words", "trigram", "vector"} and found["arms"]["words"] == "ok"
    assert found["arms"]["vector"].startswith("unavailable: ")
    assert found["scope"][0] == "user" and len(found["scope"]) == 2
    first = found["hits"][0]
    assert set(first) >= {
        *("type", "id", "score", "text", "kind", "trust", "occurred_ms", "session_id", "namespace", "key", "stale"),
        *("event", "evidence"),
    }
    assert first["type"] == "memory" and "pytest -q" in first["text"]
    assert {"event_id", "uuid", "tool_use_id", "quote"} <= set(first["evidence"][0])
    events = [hit for hit in terminal.ok("search", "notes", "--kind", "tool_call")["hits"] if hit["type"] == "event"]
    assert events and set(events[0]["event"]) == {"uuid", "tool_use_id", "prompt_id"}
    assert {hit["kind"] for hit in events} == {"tool_call"}


def test_a_batch_gives_each_question_one_line_in_the_scope_of_its_project(terminal: Terminal, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    asked = [
        {"id": "a", "question": "how are the tests run", "project": str(terminal.project)},
        {"id": 2, "question": "how are the tests run", "project": str(elsewhere)},
        {"id": "c", "question": "zzqx wvut", "project": None},
    ]
    batch = tmp_path / "questions.jsonl"
    batch.write_text("".join(json.dumps(line) + "\n" for line in asked))
    said = terminal.run("search", "--batch", str(batch), "--json")
    answers = [json.loads(line) for line in said.out.splitlines()]
    assert [answer["id"] for answer in answers] == ["a", 2, "c"]
    assert all({"hits", "arms", "abstained", "tokens"} <= set(answer) for answer in answers)
    assert [answer["abstained"] for answer in answers] == [False, True, True]
    assert answers[0]["hits"] and 0 < answers[0]["tokens"] <= 1500


def test_a_batch_that_abstains_keeps_its_ranking_and_counts_the_nearest_alone(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.ok("remember", "project", "how.deploy", "make ship after the tests")
    question = "which certificate authority signs the firmware of routers in Lisbon after the tests"
    batch = tmp_path / "questions.jsonl"
    batch.write_text(json.dumps({"id": 1, "question": question, "project": str(terminal.project)}) + "\n")
    answer = json.loads(terminal.run("search", "--batch", str(batch)).out)
    assert answer["abstained"] and answer["misses"]
    assert answer["hits"][: len(answer["misses"])] == answer["misses"]
    assert 0 < answer["tokens"] < 300
    assert terminal.ok("search", question)["hits"] == []


def test_an_export_holds_every_event_oldest_first(terminal: Terminal, tmp_path: Path) -> None:
    out = tmp_path / "events.jsonl"
    assert terminal.run("events", "--export", str(out)).code == 0
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == sorted(event["id"] for event in terminal.ok("events", "--limit", "500"))
    assert RULE in json.dumps(rows)
    assert terminal.run("events", "--session", "nobody", "--export", str(out)).code == 0
    assert out.read_text() == ""


def test_lists_hold_what_was_recorded(terminal: Terminal) -> None:
    (session,) = terminal.ok("sessions")
    assert session["id"] == "s1" and session["closed_ms"] is not None and session["hook_events"] == 7
    (shown,) = terminal.ok("injections")
    assert shown["session_id"] == "s1"
    counted = terminal.ok("stats")
    assert counted["events"]["tool_call"] == 2 and counted["memories"]
    status = terminal.ok("status")
    assert status["spool"]["malformed"] == 2 and status["events"]["prompt"] == 1 and status["stuck"] is None


def test_the_audit_passes_and_a_change_from_outside_makes_it_fail(terminal: Terminal) -> None:
    assert terminal.ok("audit", "verify")["state"] == "pass"
    db = terminal.db()
    with pytest.raises(DatabaseError):
        db.execute("update audit set actor = 'somebody else' where id = 1")
    db.execute("drop trigger audit_no_update")
    db.execute("update audit set actor = 'somebody else' where id = 1")
    db.close()
    said = terminal.run("audit", "verify", "--json")
    assert (said.code, said.json["state"], said.json["broken_id"]) == (1, "fail", 1)


def captured(terminal: Terminal, name: str, **more: str) -> int:
    """How many files the real hook left for one input."""
    before = len(list((terminal.home / "spool" / "new").iterdir()))
    given = {"session_id": "s2", "hook_event_name": "UserPromptSubmit", "cwd": str(terminal.project), "prompt": name}
    subprocess.run(
        ["/bin/sh", str(ROOT / "hooks" / "capture.sh")],
        input=json.dumps(given).encode(),
        env=environ(terminal.home, **more),
        check=True,
        timeout=30,
    )
    return len(list((terminal.home / "spool" / "new").iterdir())) - before


def test_a_pause_stops_the_real_hook_at_once_and_resume_starts_it(terminal: Terminal) -> None:
    assert captured(terminal, "before") == 1
    assert terminal.run("pause", "1h").code == 0
    assert captured(terminal, "during") == 0
    assert terminal.ok("status")["paused_until_ms"] is not None
    assert terminal.run("resume").code == 0
    assert captured(terminal, "after") == 1
    terminal.ok("drain")
    said = [event["body"]["text"] for event in terminal.ok("events", "--session", "s2")]
    assert sorted(said) == ["after", "before"]


def test_a_pause_of_one_project_leaves_the_others_alone(terminal: Terminal, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    assert terminal.run("pause", "--project", str(terminal.project)).code == 0
    for name, folder in (("kept out", terminal.project), ("taken in", other)):
        given = {"session_id": "s3", "hook_event_name": "UserPromptSubmit", "cwd": str(folder), "prompt": name}
        (terminal.home / "spool" / "new" / f"{folder.name}.json").write_text(json.dumps(given))
    assert terminal.ok("drain")["taken"] == 2
    assert [event["body"]["text"] for event in terminal.ok("events", "--session", "s3")] == ["taken in"]
    assert terminal.ok("status")["left_out"] == {"paused": 1}


def test_with_recorder_off_nothing_is_captured_and_the_session_stays_out(terminal: Terminal) -> None:
    assert captured(terminal, "off", RECORDER_OFF="1", CLAUDE_CODE_SESSION_ID="s2") == 0
    given = {"session_id": "s2", "hook_event_name": "UserPromptSubmit", "cwd": str(terminal.project), "prompt": "late"}
    (terminal.home / "spool" / "new" / "late.json").write_text(json.dumps(given))
    terminal.ok("drain")
    assert terminal.ok("events", "--session", "s2") == []


def test_projects_are_listed_and_mended(terminal: Terminal, tmp_path: Path) -> None:
    (known,) = terminal.ok("projects", "list")
    assert os.path.realpath(terminal.project) in known["roots"]
    other = tmp_path / "other"
    other.mkdir()
    assert terminal.run("projects", "alias", str(other), known["id"]).code == 0
    assert terminal.ok("search", "tests", "--project", str(other))["scope"][1] == known["id"]
    assert terminal.run("projects", "split", str(other)).code == 0
    assert terminal.ok("search", "tests", "--project", str(other))["scope"] != ["user", known["id"]]
    assert terminal.run("projects", "brief", known["id"], "--off").code == 0
    assert [p["brief"] for p in terminal.ok("projects", "list") if p["id"] == known["id"]] in ([False], [0])


def test_the_token_is_private_and_rotating_makes_another(terminal: Terminal) -> None:
    first = terminal.run("token").out.strip()
    assert terminal.run("token").out.strip() == first and len(first) >= 32
    assert (terminal.home / "token").stat().st_mode & 0o777 == 0o600
    assert terminal.run("token", "--rotate").out.strip() != first


def test_dead_jobs_are_queued_again_on_request(terminal: Terminal) -> None:
    db = terminal.db()
    db.execute("update jobs set state = 'dead', error = 'why' where kind = 'distil'")
    db.close()
    assert terminal.ok("status")["stuck"] is not None
    terminal.ok("drain", "--retry-dead")
    assert terminal.ok("status")["stuck"] is None


def test_the_command_runs_as_a_process_of_its_own(terminal: Terminal) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "recorder", "list", "--json", "--project", str(terminal.project)],
        cwd=ROOT,
        env=environ(terminal.home),
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert "pytest -q" in run.stdout.decode() and run.stderr == b""


def test_a_session_is_shown_in_short(terminal: Terminal) -> None:
    (session, *_) = terminal.ok("sessions")
    found = terminal.ok("session", session["id"])
    assert [asked.rstrip(".") for asked in found["prompts"]] == [RULE]
    assert "pytest -q" in found["commands"]
    said = terminal.run("session", session["id"])
    assert RULE in said.out and not set(said.out) & set(CONTROLS)


def test_a_session_that_is_not_here_is_an_error_of_one_line(terminal: Terminal) -> None:
    said = terminal.run("session", "nobody")
    assert (said.code, said.out) == (1, "") and "nobody" in said.err


def test_a_broken_index_finds_again_after_reindex(terminal: Terminal) -> None:
    before = [hit["id"] for hit in terminal.ok("search", "pytest")["hits"]]
    db = terminal.db()
    db.execute("insert into event_words (event_words) values ('delete-all')")
    db.execute("delete from memory_words")
    db.close()
    assert terminal.ok("reindex")["waiting"] >= len(before) > 0
    assert [hit["id"] for hit in terminal.ok("search", "pytest")["hits"]] == before
