"""What `recorder backfill` says before anybody lets it write."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from recorder.store import sessions
from recorder.store.db import connect_copy, transaction
from tests.backfill.past import DAY_MS, NOW_MS, Past, session_id
from tests.cli.terminal import CONTROLS, HOSTILE
from tests.makers import project_folder
from tests.worker.written import turn, write


def test_a_dry_run_says_what_is_there_and_writes_nothing(past: Past, own_home: Path) -> None:
    other = project_folder(own_home, "other")
    past.session(1, turns=2)
    past.session(2, cwd=str(other))
    before = sorted(own_home.rglob("*"))
    found = past.terminal.ok("backfill")
    assert sorted(own_home.rglob("*")) == before
    assert not past.terminal.home.exists()
    assert {name: found[name] for name in ("sessions", "files", "events", "prompts", "tool_calls")} == {
        "sessions": 2,
        "files": 2,
        "events": 9,
        "prompts": 3,
        "tool_calls": 3,
    }
    by_name = {part["project"].rpartition("-")[0]: part for part in found["projects"]}
    assert (by_name["project"]["events"], by_name["other"]["events"]) == (6, 3)
    assert found["lines"] == found["records"] == found["taken"] + sum(found["left_out"].values()) == 12
    assert found["earliest_ms"] < found["latest_ms"] < NOW_MS


def test_a_project_is_one_line_with_its_numbers(past: Past) -> None:
    past.session(1, turns=2)
    head, row, total, *_ = past.terminal.run("backfill").out.splitlines()
    assert head.split() == "project sessions files prompts calls events unread earliest latest".split()
    assert row.split()[1:6] == total.split()[1:6] == ["1", "1", "2", "2", "6"]


def test_what_was_read_is_no_longer_to_come(past: Past) -> None:
    path = past.session(1)
    past.commit()
    stored = (past.terminal.home / "recorder.db").read_bytes()
    assert past.terminal.ok("backfill")["events"] == 0
    write(path, past.records(2, sessionId=session_id(1)), changed_ms=NOW_MS - DAY_MS)
    found = past.terminal.ok("backfill")
    assert (found["events"], found["files"], found["sessions"]) == (3, 1, 1)
    assert 0 < found["bytes"] < path.stat().st_size
    assert (past.terminal.home / "recorder.db").read_bytes() == stored


def test_a_store_that_no_upgrade_has_reached_is_named_because_nothing_in_it_counts_as_known(past: Past) -> None:
    past.session(1)
    past.commit()
    assert "earlier version" not in past.terminal.run("backfill").err
    old = connect_copy(past.terminal.home / "recorder.db")
    old.pragma("user_version", 1)
    old.close()
    said = past.terminal.run("backfill", "--json")
    assert said.json["events"] == 3 and "the store is of an earlier version" in said.err


def test_it_says_what_a_model_would_cost_and_where_the_price_is_from(past: Past) -> None:
    past.session(1, said="x" * 3_500)
    model = past.terminal.ok("backfill")["cost"]["model"]
    assert 1_000 <= model["tokens"] <= 1_100
    assert model["dollars"] == pytest.approx(model["tokens"] / 1e6, abs=1e-4)
    told = past.terminal.run("backfill").out
    assert "costs nothing with the built-in rules" in told and "Claude Haiku 4.5" in told and "https://" in told


def test_what_is_about_to_be_deleted_by_age_comes_first_and_oldest_first(past: Past, tmp_path: Path) -> None:
    second = tmp_path / "second"
    (second / "projects").mkdir(parents=True)
    (second / "settings.json").write_text(json.dumps({"cleanupPeriodDays": 99}))
    (second / "settings.local.json").write_text(json.dumps({"cleanupPeriodDays": 5}))
    for n, days_old in ((1, 20.0), (2, 40.0), (3, 24.0), (4, 1.0)):
        past.session(n, days_old=days_old)
    lines = past.records(5, days_old=3.0)
    write(second / "projects" / "x" / f"{session_id(5)}.jsonl", lines, changed_ms=NOW_MS - 3 * DAY_MS)
    past.terminal.set("CLAUDE_CONFIG_DIR", str(second))
    found = past.terminal.ok("backfill")
    assert [Path(path).stem for path in found["about_to_be_deleted"]] == [session_id(n) for n in (2, 5, 3)]
    assert "taken first: 3 sessions, 3 files" in past.terminal.run("backfill").out
    order = []
    while past.commit("--limit", "1")["files"]:
        db = past.terminal.db()
        order += [s.id for s in sessions.listing(db) if s.id not in order]
        db.close()
    assert order == [session_id(n) for n in (2, 5, 3, 1, 4)]


def test_logs_of_other_tools_are_named_and_not_taken(past: Past) -> None:
    slug = past.claude / "projects" / "-x"
    slug.mkdir()
    lines: dict[str, list[object]] = {
        "roles.jsonl": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
        "payload.jsonl": [{"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "1"}}],
        "parts.jsonl": [{"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "parts": [{}]}}],
        "numbers.jsonl": [1, 2, [3]],
    }
    for name, written in lines.items():
        (slug / name).write_text("".join(json.dumps(line) + "\n" for line in written))
    (slug / "pretty.jsonl").write_text(json.dumps({"type": "user", "sessionId": "s"}, indent=2))
    (slug / "empty.jsonl").write_text("")
    past.session(1)
    found = past.terminal.ok("backfill")
    assert found["sessions"] == 1 and found["failed"] == []
    named = {Path(one["path"]).name: one["why"] for one in found["not_read"]}
    assert set(named) == {*lines, "pretty.jsonl", "empty.jsonl"}
    assert named["roles.jsonl"] == "holds no record of Claude Code"
    assert "roles.jsonl holds no record" in past.terminal.run("backfill").err


def test_what_lies_beside_transcripts_is_left_alone(past: Past) -> None:
    past.session(1)
    slug = past.claude / "projects" / "-home-user-project"
    for name in ("memory/notes.jsonl", f"{session_id(1)}/tool-results/x.jsonl", "wf_1/journal.jsonl"):
        write(slug / name, past.records(9), changed_ms=NOW_MS)
    (past.claude / "history.jsonl").write_text("{}\n")
    found = past.terminal.ok("backfill")
    assert (found["files"], found["not_read"]) == (1, [])


def test_links_that_lead_round_are_named_and_no_error(past: Past) -> None:
    past.session(1)
    slug = past.claude / "projects" / "-home-user-project"
    (slug / "loop").symlink_to(past.claude / "projects")
    (slug / "self.jsonl").symlink_to("self.jsonl")
    said = past.terminal.run("backfill", "--json")
    assert said.code == 0 and said.json["files"] == 1
    why = {Path(one["path"]).name: one["why"] for one in said.json["not_read"]}
    assert why["loop"] == "leads to a folder that is read already"
    assert why["self.jsonl"].startswith("cannot be read: ")


@pytest.mark.parametrize("words", [[], ["--commit"]])
@pytest.mark.parametrize("which", ["projects", "projects/-closed", "."])
def test_a_folder_that_cannot_be_opened_is_a_failure_that_is_named(past: Past, which: str, words: list[str]) -> None:
    if not os.geteuid():
        pytest.skip("nothing is closed to root")
    closed = past.claude / which
    closed.mkdir(exist_ok=True)
    closed.chmod(0)
    said = past.terminal.run("backfill", *words)
    closed.chmod(0o700)
    assert said.code == 1
    assert "nothing of the past that can be read is unread" in said.out
    assert "cannot be opened" in said.err and str(past.claude / "projects") in said.err.replace("\n", "")


@pytest.mark.parametrize("words", [[], ["--commit"]])
def test_a_folder_that_lies_too_deep_is_a_failure_that_is_named(past: Past, words: list[str], monkeypatch: Any) -> None:
    deep = past.claude / "projects"
    for _ in range(20):
        monkeypatch.chdir(deep)
        os.mkdir("x" * 250)
        deep = Path("x" * 250)
    monkeypatch.chdir(past.project)
    said = past.terminal.run("backfill", *words)
    assert said.code == 1 and "cannot be opened: File name too long" in said.err
    assert "nothing of the past that can be read is unread" in said.out


def test_a_file_named_twice_or_by_a_link_is_one_file(past: Past) -> None:
    path = past.session(1)
    (path.parent / "again.jsonl").symlink_to(path)
    found = past.terminal.ok("backfill", str(past.claude), str(path), str(path.parent))
    assert (found["files"], found["events"]) == (1, 3)


def test_folders_and_files_that_are_named_are_read_instead(past: Past, tmp_path: Path) -> None:
    past.session(1)
    loose = write(tmp_path / "some where" / "deep" / "copy.jsonl", past.records(2), changed_ms=NOW_MS - DAY_MS)
    config = tmp_path / "old"
    write(config / "projects" / "p" / f"{session_id(3)}.jsonl", past.records(3), changed_ms=NOW_MS - DAY_MS)
    write(config / "elsewhere.jsonl", past.records(4), changed_ms=NOW_MS)
    found = past.terminal.ok("backfill", str(tmp_path / "some where"), str(config))
    assert (found["sessions"], found["events"]) == (2, 6)
    assert past.terminal.ok("backfill", str(loose))["sessions"] == 1
    gone = past.terminal.run("backfill", str(tmp_path / "nowhere"))
    assert gone.code == 1 and "there is no file or folder" in gone.err


@pytest.mark.parametrize(
    "words, left", [(["--since", "10d"], 2), (["--since", "2001-01-01"], 3), (["--limit", "1"], 1)]
)
def test_a_part_of_the_past_can_be_chosen(past: Past, words: list[str], left: int) -> None:
    for n, days_old in ((1, 20.0), (2, 5.0), (3, 1.0)):
        past.session(n, days_old=days_old)
    assert past.terminal.ok("backfill", *words)["sessions"] == left


def test_sessions_of_one_project_can_be_chosen_from_inside_it(past: Past, own_home: Path) -> None:
    other = project_folder(own_home, "other")
    past.session(1)
    past.session(2, cwd=str(other / "src"))
    (other / "src").mkdir()
    found = past.terminal.ok("backfill", "--project", str(other))
    assert [part["project"].rpartition("-")[0] for part in found["projects"]] == ["other"]
    assert past.terminal.ok("backfill", "--project", str(other / "src"))["sessions"] == 1


def test_a_time_that_is_none_is_wrong_use(past: Past) -> None:
    said = past.terminal.run("backfill", "--since", "yesterday")
    assert said.code == 2 and "2026-11-01" in said.err


def test_hostile_names_reach_no_terminal(past: Past) -> None:
    name = HOSTILE.replace("/", "").replace("\x00", "").replace("\n", "")[:80]
    bad = past.claude / "projects" / f"{name}.jsonl"
    bad.write_text('{"role": "user"}\n')
    lines = turn(7, HOSTILE, HOSTILE, at_ms=NOW_MS - DAY_MS, cwd=f"{past.project}/{name}", sessionId=HOSTILE)
    write(past.claude / "projects" / "-x" / "odd.jsonl", lines, changed_ms=NOW_MS - DAY_MS)
    for words in (["backfill"], ["backfill", "--commit"], ["backfill", "--runs"]):
        said = past.terminal.run(*words)
        assert said.code == 0
        shown = said.out + said.err
        assert not [sign for sign in CONTROLS if sign in shown.replace("\r\n", "\n")], repr(shown)


def test_what_will_be_left_out_is_said_before(past: Past) -> None:
    past.session(1)
    past.session(2)
    db = past.terminal.db()
    with transaction(db):
        sessions.switch_off(db, session_id(1), NOW_MS)
        sessions.pause(db, None, NOW_MS - 2 * DAY_MS, NOW_MS - DAY_MS + 5)
    db.close()
    found = past.terminal.ok("backfill")
    assert found["events"] == 0 and found["events_left_out"] == {"off": 3, "paused": 3}
    assert past.commit()["events"] == {"new": 0, "seen": 0, "left_out": {"off": 3, "paused": 3}}


def test_a_session_that_ran_with_recording_off_stays_out_where_no_worker_has_run_since(past: Past) -> None:
    past.session(1)
    past.session(2)
    note = past.terminal.home / "off" / session_id(1)
    note.parent.mkdir(parents=True)
    note.touch()
    found = past.terminal.ok("backfill")
    assert (found["events"], found["events_left_out"]) == (3, {"off": 3})
    assert past.commit()["events"] == {"new": 3, "seen": 0, "left_out": {"off": 3}}
    assert len(past.keys()) == 3
    assert not note.exists()  # it stands in the store now
    past.session(1, turns=2)
    assert past.commit()["events"]["new"] == 0


def test_claude_is_not_let_in(past: Past) -> None:
    past.session(1)
    past.terminal.set("CLAUDECODE", "1")
    for words in ([], ["--commit"], ["--runs"], ["--undo", "x"]):
        said = past.terminal.run("backfill", *words)
        assert said.code == 1 and "only a person" in said.err
    assert not past.terminal.home.exists()
