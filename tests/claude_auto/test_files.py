"""Files as they are found: both generations of front matter, malformed ones, and what is no file to be read."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from recorder import claude_auto
from recorder.config import Config
from recorder.models import MemoryKind
from recorder.store.db import Connection
from tests.claude_auto.claude_home import FRIDAY, counts, known_project, memory_folder, run, seen, session_in
from tests.makers import T0

P, S, R = MemoryKind.PREFERENCE, MemoryKind.SEMANTIC, MemoryKind.PROCEDURAL

FORMS: list[tuple[str, bytes, MemoryKind, str]] = [
    ("flat", b"---\nname: n\ndescription: Short\ntype: user\n---\n\nBody.\n", P, "Short\n\nBody."),
    ("nested", b"---\nname: n\ndescription: Short\nmetadata: \n  type: reference\n---\n\nBody.\n", R, "Short\n\nBody."),
    ("no blank line", b"---\ndescription: Short\ntype: feedback\n---\nBody.", P, "Short\n\nBody."),
    ("project", b"---\ntype: project\n---\nBody.", S, "Body."),
    ("another type", b"---\ntype: report\n---\nBody.", S, "Body."),
    ("no type", b"---\nname: n\n---\nBody.", S, "Body."),
    ("no front matter", b"Body.\n", S, "Body."),
    ("description in the body", b"---\ndescription: the  body\n---\nThis is The body.", S, "This is The body."),
    ("only a description", b"---\ndescription: Short\n---\n", S, "Short"),
    ("colon in it", b"---\ndescription: BAD: it is so; never\ntype: user\n---\nB.", P, "BAD: it is so; never\n\nB."),
    ("one pair of quotes", b"---\ndescription: \"a: 'b'\"\nbad: x: y\n---\nB.", S, "a: 'b'\n\nB."),
    ("malformed and nested", b"---\ndescription: a: b\nmetadata: \n  type: user\n---\nB.", P, "a: b\n\nB."),
    ("folded", b"---\ndescription: >\n  one\n  two\ntype: user\n---\nB.", P, "one two\n\nB."),
    ("a truth", b"---\ndescription: yes\n---\nB.", S, "yes\n\nB."),
    ("a day", b"---\ndescription: 2026-01-02\n---\nB.", S, "2026-01-02\n\nB."),
    ("no such day", b"---\ndescription: 2026-13-45\ntype: user\n---\nB.", P, "2026-13-45\n\nB."),
    ("a star", b"---\ndescription: *all* of it & more\ntype: user\n---\nB.", P, "*all* of it & more\n\nB."),
    ("BOM and CRLF", b"\xef\xbb\xbf---\r\ntype: user\r\n---\r\nOne.\r\nTwo.\r\n", P, "One.\nTwo."),
    ("not UTF-8", b"Caf\xe9 \x00 closes.", S, "Caf\ufffd \ufffd closes."),
    ("CJK", "---\ndescription: 语\n---\n一。[[链接]]".encode(), S, "语\n\n一。[[链接]]"),
    ("never closed", b"---\ndescription: Short\nBody.", S, "---\ndescription: Short\nBody."),
    ("two rules", b"---\nWords without a key\n---\nBody.", S, "---\nWords without a key\n---\nBody."),
    ("a table", b"| a |\n|---|\n| b |\n", S, "| a |\n|---|\n| b |"),
    ("python object", b"---\ntype: user\nx: !!python/object/apply:os.getcwd []\n---\nB.", P, "B."),
]


@pytest.fixture
def place(db: Connection, config: Config, own_home: Path) -> tuple[Path, str]:
    folder, project_id = known_project(db, config, own_home)
    return memory_folder(config, folder), project_id


@pytest.mark.parametrize(("raw", "kind", "value"), [form[1:] for form in FORMS], ids=[form[0] for form in FORMS])
def test_a_file_says_what_it_says_in_every_form(
    db: Connection, config: Config, place: tuple[Path, str], raw: bytes, kind: MemoryKind, value: str
) -> None:
    (place[0] / "fact.md").write_bytes(raw)
    assert run(db, config).problems == []
    memory = seen(db, place[1])["fact"]
    assert (memory.kind, memory.value) == (kind, value)


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(12)
)


@pytest.mark.parametrize(
    "block",
    [BOMB, "x: " + "[" * 100_000, "x: " + "[ " * 5_000, "- " * 5_000, "x: " + "{a: " * 5_000, "a: b\n" * 100_000],
    ids=["aliases", "brackets", "spaced", "dashes", "braces", "long"],
)
def test_front_matter_made_to_hurt_does_not(
    db: Connection, config: Config, place: tuple[Path, str], block: str
) -> None:
    (place[0] / "bomb.md").write_text(f"---\ntype: user\n{block}\n---\nBody.\n")
    began = time.process_time()
    assert run(db, config).problems == []
    assert seen(db, place[1])["bomb"].value == "Body."
    assert time.process_time() - began < 20


def test_only_markdown_that_lies_in_the_folder_itself_is_read(
    db: Connection, config: Config, place: tuple[Path, str], tmp_path: Path
) -> None:
    folder = place[0]
    outside = tmp_path / "outside.md"
    outside.write_text("This is none of Claude's.")
    (folder / "sub").mkdir()
    (folder / "sub" / "below.md").write_text("Below.")
    for name in (".hidden.md", ".consolidate-lock", "a.md.tmp.123", "~a.md", "#a.md#", "notes.txt"):
        (folder / name).write_text("No.")
    (folder / "dir.md").mkdir()
    os.mkfifo(folder / "pipe.md")
    (folder / "leads_out.md").symlink_to(outside)
    (folder / "leads_nowhere.md").symlink_to(folder / "none")
    (folder / "inside.md").symlink_to(folder / "sub" / "below.md")
    (folder / "huge.md").write_bytes(b"x" * (1024 * 1024 + 1))
    (folder / "fact.md").write_text("Fact.")
    report = run(db, config)
    assert {key: memory.value for key, memory in seen(db, place[1]).items()} == {"fact": "Fact.", "inside": "Below."}
    left_out = ("dir", "pipe", "leads_out", "leads_nowhere", "huge")
    assert len(report.problems) == 5
    assert all(any(f"{name}.md is left out" in problem for problem in report.problems) for name in left_out)


def test_a_file_that_cannot_be_read_any_more_keeps_its_memory(
    db: Connection, config: Config, place: tuple[Path, str], tmp_path: Path
) -> None:
    path = place[0] / "fact.md"
    path.write_text(FRIDAY)
    run(db, config)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere.md")
    (tmp_path / "elsewhere.md").write_text("Other.")
    report = run(db, config)
    assert counts(report) == {} and "leads out of its folder" in report.problems[0]
    assert "fact" in seen(db, place[1])


def test_a_file_that_is_empty_for_a_moment_is_not_gone(db: Connection, config: Config, place: tuple[Path, str]) -> None:
    path = place[0] / "fact.md"
    path.write_text(FRIDAY)
    run(db, config)
    path.write_text("")
    report = claude_auto.sync(db, config, path.stat().st_mtime_ns // 1_000_000)
    assert report is not None and counts(report) == {}
    assert "fact" in seen(db, place[1])
    assert counts(run(db, config)) == {"pruned": 1}, "but after a while it is"


def test_a_change_is_seen_also_where_the_time_was_put_back(
    db: Connection, config: Config, place: tuple[Path, str]
) -> None:
    path = place[0] / "fact.md"
    path.write_text(FRIDAY)
    run(db, config)
    was = path.stat()
    path.write_text(FRIDAY.replace("Friday", "Sunday"))
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert counts(run(db, config)) == {"changed": 1}


def test_the_folder_a_person_chose_is_read_too(
    db: Connection, config: Config, own_home: Path, place: tuple[Path, str]
) -> None:
    known_project(db, config, own_home, "other")
    chosen = own_home / "my memory"
    chosen.mkdir()
    (config.claude_dirs[0] / "settings.json").write_text(json.dumps({"autoMemoryDirectory": "~/my memory"}))
    (chosen / "mine.md").write_text(
        f"---\nmetadata: \n  originSessionId: {session_in('project')}\n---\nOf the first project.\n"
    )
    (chosen / "nobodys.md").write_text("Of nobody knows which.\n")
    report = run(db, config)
    assert report.files == 2 and report.problems == []
    assert {k: m.namespace for k, m in seen(db, place[1]).items()} == {"mine": "claude.my-memory"}
    assert run(db, config).unchanged == 2


@pytest.mark.parametrize("said", ["{ // a comment\n}", "nonsense", '{"autoMemoryDirectory": "relative"}', "[" * 99_999])
def test_settings_that_cannot_be_read_are_named_and_the_rest_goes_on(
    db: Connection, config: Config, place: tuple[Path, str], said: str
) -> None:
    path = config.claude_dirs[0] / "settings.json"
    path.write_text(said)
    (place[0] / "fact.md").write_text("Fact.")
    report = run(db, config)
    assert counts(report) == {"created": 1} and len(report.problems) == 1 and str(path) in report.problems[0]


def test_no_folder_of_claudes_at_all_is_no_problem(db: Connection, config: Config) -> None:
    report = run(db, config)
    assert report.files == 0 and report.problems == [] and report.at_ms > T0
