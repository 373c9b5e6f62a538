"""A part of the past that was asked for: how far it goes, and what is said of the rest."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest

from tests.backfill.past import DAY_MS, NOW_MS, Past, session_id
from tests.makers import project_folder
from tests.worker.written import write


def test_a_limit_goes_on_with_what_is_unread(past: Past) -> None:
    for n in range(1, 6):
        past.session(n)
    # Half a line at the end is never read on, and is no reason to stay there.
    with (past.claude / "projects" / "-home-user-project" / f"{session_id(1)}.jsonl").open("a") as file:
        file.write('{"type": "us')
    said = [past.commit("--limit", "2")["sessions"] for _ in range(4)]
    assert said == [2, 2, 1, 0] and len(past.keys()) == 15
    told = past.terminal.run("backfill", "--limit", "2")
    assert "nothing of the past is unread" in told.out


@pytest.mark.parametrize("words", [["--since", "9999-12-31"], ["--project", "../other"]])
@pytest.mark.parametrize("commit", [[], ["--commit"]])
def test_what_was_not_asked_for_is_counted_where_nothing_that_was_is_unread(
    past: Past, words: list[str], commit: list[str]
) -> None:
    for n in (1, 2):
        past.session(n)
    project_folder(past.terminal.home.parent, "other")
    said = past.terminal.run("backfill", *words, *commit)
    assert (said.code, said.err) == (0, "")
    assert said.out == "nothing of what was asked for is unread, but 2 sessions beyond it are\n"
    assert past.terminal.ok("backfill", *words, *commit)["unread_beyond"] == 2
    past.commit()
    assert past.terminal.run("backfill", *words, *commit).out == "nothing of what was asked for is unread\n"
    assert past.terminal.run("backfill", *commit).out == "nothing of the past is unread\n"


@pytest.mark.parametrize("day", ["0001-01-01", "1500-06-01", "1970-01-01"])
def test_the_first_of_all_days_is_a_day(past: Past, day: str) -> None:
    past.session(1)
    assert past.terminal.ok("backfill", "--since", day)["events"] == 3


@pytest.mark.parametrize("stored", [True, False])
def test_forks_and_second_folders_are_announced_as_they_come(past: Past, tmp_path: Path, stored: bool) -> None:
    lines = past.records(1, turns=5, days_old=3.0)
    folder = past.claude / "projects" / "-x"
    write(folder / f"{session_id(1)}.jsonl", lines, changed_ms=NOW_MS - 3 * DAY_MS)
    fork = [line | {"sessionId": session_id(2)} for line in lines]
    write(folder / f"{session_id(2)}.jsonl", [*fork, *past.records(2)], changed_ms=NOW_MS - 2 * DAY_MS)
    # Another client wrote the fork's records under new uuids.
    other = [line | {"sessionId": session_id(3), "uuid": f"{line['uuid']}n"} for line in lines]
    write(folder / f"{session_id(3)}.jsonl", [*other, *past.records(3)], changed_ms=NOW_MS - DAY_MS)
    second = tmp_path / "second"
    write(second / "projects" / "-x" / f"{session_id(1)}.jsonl", lines, changed_ms=NOW_MS - 2 * DAY_MS)
    past.session(4)
    if stored:
        past.commit("--limit", "1")
    both = (str(past.claude), str(second))
    said = past.terminal.ok("backfill", *both)
    done = past.commit(*both)["events"]
    assert (said["events"], said["events_known"]) == (done["new"], done["seen"])
    assert said["events_known"] > 30


def test_a_line_break_in_a_name_makes_no_line_of_its_own(past: Past) -> None:
    bad = past.claude / "projects" / "x\nfailed: all is lost\r\u2028y.jsonl"
    bad.write_text('{"role": "user"}\n')
    past.session(1)
    for words in (["backfill"], ["backfill", "--commit"]):
        assert len(past.terminal.run(*words).err.splitlines()) == 1
    gone = past.terminal.run("backfill", "/nowhere/a\nrecorder: b")
    assert gone.code == 1 and len(gone.err.splitlines()) == 1


def test_a_full_disk_is_named_and_the_same_command_goes_on(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(1, 4):
        past.session(n, turns=60)
    past.terminal.db().close()

    def no_room(db: apsw.Connection) -> None:
        db.pragma("max_page_count", int(db.pragma("page_count") or 0) + 30)

    with monkeypatch.context() as patch:
        patch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, no_room])
        said = past.terminal.run("backfill", "--commit")
    assert said.code == 1 and len(said.err.splitlines()) == 1
    assert str(past.terminal.home) in said.err and "run the same command again" in said.err
    past.commit()
    assert len(past.keys()) == len(set(past.keys())) == 540
    assert json.dumps(past.terminal.ok("backfill")["events"]) == "0"


def test_a_folder_that_is_nowhere_is_said_to_be_nowhere(past: Past) -> None:
    past.session(1)
    gone = past.session(2, cwd="/home/user/gone")
    for commit in ([], ["--commit"]):
        said = past.terminal.run("backfill", "--project", "/no/such/folder", *commit)
        assert said.code == 1 and "there is no folder /no/such/folder" in said.err
    assert past.commit("--project", "/home/user/gone")["sessions"] == 1 and gone.exists()


@pytest.mark.parametrize(
    "words",
    [["--runs", "--undo", "x"], ["--runs", "--commit"], ["--undo", "x", "--since", "3d"], ["--runs", "--limit", "3"]],
)
def test_words_that_do_not_go_together_are_wrong_use(past: Past, words: list[str]) -> None:
    said = past.terminal.run("backfill", *words)
    assert said.code == 2 and "stands alone" in said.err


def test_a_file_of_one_line_that_begins_with_half_a_record_is_read(past: Past) -> None:
    first, *rest = past.records(1)
    torn = json.dumps(first)[:60]
    path = past.claude / "projects" / "-x" / f"{session_id(1)}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(torn + json.dumps(rest[-1]) + "\n")
    found = past.commit()
    assert (found["sessions"], found["events"]["new"]) == (1, 1)
    assert found["problems"] == [f"{path}: not whole records: 1 piece, the first at byte 0"]
