"""What SessionStart shows, and the record that it leaves."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.hooks.running import HOOKS, PYTHON, SESSION, environ, new_files, run
from tests.hooks_project_cases import CASES, Case

BRIEF = '<recorder-brief date="2026-01-02">\n- Tests run with `pytest -q`.\n</recorder-brief>\n'
ARGV = [*PYTHON, str(HOOKS / "brief.py")]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the brief of one project, `till`, and its root beside it."""
    (tmp_path / "till" / "sub").mkdir(parents=True)
    folder = tmp_path / "recorder" / "brief"
    folder.mkdir(parents=True)
    (folder / "till-1f3c9a2b.txt").write_text(BRIEF)
    index(tmp_path / "recorder", {tmp_path / "till": {"project": "till-1f3c9a2b", "brief": True}})
    return tmp_path / "recorder"


def index(home: Path, roots: Mapping[Path, Mapping[str, object]], **more: object) -> None:
    """Write `brief/index.json` as the worker does."""
    named = {os.path.realpath(root): entry for root, entry in roots.items()}
    (home / "brief" / "index.json").write_text(json.dumps({"roots": named, "enabled": True, **more}))


def start(cwd: Path | str, source: str = "startup") -> bytes:
    return json.dumps(
        {"session_id": SESSION, "cwd": str(cwd), "hook_event_name": "SessionStart", "source": source}
    ).encode()


def shown(home: Path, cwd: Path | str, source: str = "startup", **env: str) -> str:
    """What it printed; it never fails and never complains."""
    ran = run(ARGV, start(cwd, source), environ(home, **env))
    assert (ran.code, ran.err) == (0, b"")
    return ran.out.decode()


def records(home: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_bytes()) for file in new_files(home)]


@pytest.mark.parametrize("source", ["startup", "clear", "compact", "a newer one"])
def test_the_brief_is_printed_once_and_recorded_as_printed(home: Path, source: str) -> None:
    cwd = home.parent / "till"
    assert shown(home, cwd, source) == BRIEF
    (record,) = records(home)
    assert record["hook_event_name"] == "RecorderInjection"
    assert record["session_id"] == SESSION
    assert (record["cwd"], record["project_id"], record["source"]) == (str(cwd), "till-1f3c9a2b", source)
    assert (record["text"], record["skipped"]) == (BRIEF, None)
    assert isinstance(record["received_ms"], int)


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_a_session_that_goes_on_is_not_told_twice_and_the_record_says_why(home: Path, source: str) -> None:
    assert shown(home, home.parent / "till", source) == ""
    (record,) = records(home)
    assert record["text"] == "" and source in record["skipped"]


def test_a_folder_below_the_root_belongs_to_it_and_a_longer_name_does_not(home: Path) -> None:
    beside = home.parent / "till-two"
    beside.mkdir()
    assert shown(home, home.parent / "till" / "sub") == BRIEF
    assert shown(home, home.parent / "till" / "gone") == BRIEF
    assert shown(home, beside) == ""
    assert shown(home, home.parent) == ""


def test_the_longest_root_wins(home: Path) -> None:
    till = home.parent / "till"
    (home / "brief" / "sub-2.txt").write_text("<recorder-brief>\nsub\n</recorder-brief>\n")
    entries = {till: {"project": "till-1f3c9a2b", "brief": True}, till / "sub": {"project": "sub-2", "brief": True}}
    index(home, entries)
    assert "sub" in shown(home, till / "sub")
    assert shown(home, till) == BRIEF


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_brief_is_that_of_the_project_the_resolver_names(home: Path, case: Case) -> None:
    for project in case.roots.values():
        (home / "brief" / f"{project}.txt").write_text(f"<brief>\n{project}\n</brief>\n")
    index(home, {Path(root): {"project": project, "brief": True} for root, project in case.roots.items()})
    text = shown(home, case.cwd)
    assert (text.splitlines()[1] if text else None) == case.expected


def test_a_root_that_is_off_does_not_fall_back_to_the_one_above(home: Path) -> None:
    till = home.parent / "till"
    entries = {till: {"project": "till-1f3c9a2b", "brief": True}, till / "sub": {"project": "sub-2", "brief": False}}
    index(home, entries)
    assert shown(home, till / "sub") == ""


def test_a_link_to_the_project_is_the_project(home: Path) -> None:
    link = home.parent / "link"
    link.symlink_to(home.parent / "till", target_is_directory=True)
    assert shown(home, link / "sub") == BRIEF


def test_off_paused_and_disabled_print_and_record_nothing(home: Path) -> None:
    till = home.parent / "till"
    assert shown(home, till, RECORDER_OFF="1") == ""
    (home / "paused").touch()
    os.utime(home / "paused", (2**31 - 1, 2**31 - 1))
    assert shown(home, till) == ""
    (home / "paused").unlink()
    index(home, {till: {"project": "till-1f3c9a2b", "brief": True}}, enabled=False)
    assert shown(home, till) == ""
    assert records(home) == []


def test_a_pause_that_is_over_is_over(home: Path) -> None:
    (home / "paused").touch()
    os.utime(home / "paused", (1, 1))
    assert shown(home, home.parent / "till") == BRIEF


def test_a_warning_of_the_worker_goes_first_on_one_short_line(home: Path) -> None:
    till = home.parent / "till"
    index(home, {till: {"project": "till-1f3c9a2b", "brief": True}}, line="recorder: the disk\nis full " + "x" * 900)
    first, _, rest = shown(home, till).partition("\n")
    assert first.startswith("recorder: the disk is full") and len(first) <= 300
    assert rest == BRIEF


def test_a_brief_too_long_for_the_client_is_cut_at_a_line_and_stays_fenced(home: Path) -> None:
    lines = ["<recorder-brief>", *(f"- line {n} " + "é" * 60 for n in range(500)), "</recorder-brief>"]
    (home / "brief" / "till-1f3c9a2b.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = shown(home, home.parent / "till")
    assert 8_000 < len(text) <= 9_000
    got = text.splitlines()
    assert got[-1] == "</recorder-brief>"
    assert got[:-1] == lines[: len(got) - 1]


@pytest.mark.parametrize("project", ["../secret", "/etc/passwd", "..", "a/b"])
def test_no_project_id_leads_out_of_the_folder(home: Path, project: str) -> None:
    (home / "secret.txt").write_text("a file of somebody else's")
    index(home, {home.parent / "till": {"project": project, "brief": True}})
    assert shown(home, home.parent / "till") == ""


def test_text_that_the_client_would_take_for_orders_is_not_printed(home: Path) -> None:
    (home / "brief" / "till-1f3c9a2b.txt").write_text(' \n{"continue": false}')
    assert shown(home, home.parent / "till") == ""


@pytest.mark.parametrize("text", ["", "[]", '{"roots": []}', '{"roots": {"/": 1}}', '{"ro', "\ufeff{}"])
def test_an_index_that_cannot_be_read_prints_nothing(home: Path, text: str) -> None:
    (home / "brief" / "index.json").write_text(text)
    assert shown(home, home.parent / "till") == ""


def test_without_a_brief_nothing_is_printed_and_nothing_made(home: Path, tmp_path: Path) -> None:
    (home / "brief" / "till-1f3c9a2b.txt").unlink()
    assert shown(home, tmp_path / "till") == ""
    assert shown(tmp_path / "empty", tmp_path / "till") == ""
    assert not (tmp_path / "empty").exists() and records(home) == []


@pytest.mark.parametrize("given", [b"", b"{", b"[]", b'{"cwd": 3}', b"\xff", b"{}"])
def test_input_that_is_not_a_session_start_prints_nothing(home: Path, given: bytes) -> None:
    assert run(ARGV, given, environ(home)).silent


def test_a_brief_that_cannot_be_recorded_is_not_shown(home: Path) -> None:
    (home / "spool").write_text("not a folder")
    assert shown(home, home.parent / "till") == ""


def test_nothing_is_written_where_the_session_works(home: Path) -> None:
    till = home.parent / "till"
    run(ARGV, start(till), environ(home), cwd=till)
    run(ARGV, start(till), environ(home, RECORDER_HOME="relative"), cwd=till)
    assert [path.name for path in till.rglob("*")] == ["sub"]
