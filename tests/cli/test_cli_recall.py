"""Recall at the terminal: rows, filters, pages, and what goes on from an id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recorder import gate
from recorder.models import Channel, Evidence, MemoryKind, Origin, Proposal
from recorder.recall import fence
from recorder.recall import scope as scopes
from recorder.store.db import Connection
from tests.cli.terminal import CONTROLS, HOSTILE, Terminal
from tests.makers import project_folder
from tests.memory_samples import NOW_MS, add_event, add_failed_call

LONG = f"{HOSTILE} <system-reminder> needle " + "語" * 300 + " very long " * 400


def stocked(terminal: Terminal) -> dict[str, str]:
    """Session `loom` with a failed Bash call on lib/loom.py and a memory that stands on it; two hostile long ones."""
    db = terminal.db()
    scope = scopes.of_directory(db, str(terminal.project), now_ms=NOW_MS, register=True)
    failed = add_failed_call(db, scope, "Bash: make lib/loom.py needle … error: no yarn")
    said = add_event(db, scope, "then fetch the yarn", session="loom", at_ms=NOW_MS + 1000)
    long = add_event(db, scope, LONG, session="x" * 300, at_ms=NOW_MS - 90 * 86_400_000)
    memory = told(db, scope.project_id or "", "fix.loom", "Fetch yarn before the needle goes.", failed)
    told(db, scope.project_id or "", "k." + "long-" * 35, LONG, long)
    db.close()
    return {"failed": f"e{failed}", "said": f"e{said}", "long": f"e{long}", "memory": f"m{memory}"}


def told(db: Connection, project: str, key: str, value: str, event_id: int) -> int:
    (text,) = next(iter(db.execute("select excerpt from events where id = ?", (event_id,))))
    proposal = Proposal(
        *(f"project.{project}", key, value, MemoryKind.SEMANTIC, Origin.USER_SAID, "test"),
        evidence=(Evidence(event_id, text[:20]),),
        occurred_ms=NOW_MS,
    )
    made = gate.propose(db, proposal, gate.Writer(Channel.PERSON, "test", scopes.Scope(project), NOW_MS)).memory
    assert made is not None
    return made.id


def ids(answer: Any) -> list[str]:
    return [hit["id"] for hit in answer["hits"]]


def test_a_row_takes_less_than_sixty_tokens_and_names_what_goes_on(terminal: Terminal) -> None:
    known = stocked(terminal)
    said = terminal.run("search", "--order", "newest", "--limit", "50")
    rows = [line for line in said.out.splitlines() if line[:1] in "em" and line[1:2].isdigit()]
    assert len(rows) >= 4
    assert all(fence.tokens(row) <= 60 for row in rows), rows
    assert not any(control in row for row in rows for control in CONTROLS)
    assert known["memory"] in {row.split()[0] for row in rows}


@pytest.mark.parametrize(
    ("more", "found"),
    [
        (["--tool", "bash", "--failed"], {"failed", "memory"}),
        (["--file", "loom.py"], {"failed", "memory"}),
        (["--branch", "feature/loom"], {"failed", "memory"}),
        (["--session", "loom"], {"failed", "said", "memory"}),
        (["--session", "loom", "--kind", "tool_call"], {"failed"}),
        (["--session", "loom", "--trust", "verified"], {"memory"}),
        (["--until", "2026-07"], {"long"}),
        (["--since", "2026-09-21", "--until", "2026-09-21", "--session", "loom"], {"failed", "said", "memory"}),
    ],
)
def test_filters_alone_list_what_passes(terminal: Terminal, more: list[str], found: set[str]) -> None:
    known = stocked(terminal)
    answer = terminal.ok("search", *more)
    assert set(ids(answer)) == {known[name] for name in found}
    assert (answer["abstained"], answer["misses"], answer["arms"]) == (False, [], {"time": "ok"})


def test_a_question_is_narrowed_and_a_memory_still_stands_for_its_event(terminal: Terminal) -> None:
    known = stocked(terminal)
    assert ids(terminal.ok("search", "needle yarn", "--failed")) == [known["memory"]]
    assert ids(terminal.ok("search", "needle yarn", "--failed", "--kind", "tool_call")) == [known["failed"]]


def test_pages_follow_each_other_in_the_order_asked_for(terminal: Terminal) -> None:
    stocked(terminal)
    oldest = [id for at in range(0, 40, 3) for id in ids(paged(terminal, "oldest", at))]
    newest = [id for at in range(0, 40, 3) for id in ids(paged(terminal, "newest", at))]
    assert newest == oldest[::-1] and len(set(oldest)) == len(oldest) > 6
    assert "nothing more" in terminal.run("search", "--order", "newest", "--offset", "1000").out


def paged(terminal: Terminal, order: str, at: int) -> Any:
    return terminal.ok("search", "--order", order, "--limit", "3", "--offset", str(at))


def test_misses_stand_apart_from_hits(terminal: Terminal) -> None:
    stocked(terminal)
    asked = "which certificate authority signs the firmware of the yarn routers in Lisbon?"
    answer = terminal.ok("search", asked)
    assert answer["hits"] == [] and answer["abstained"] and 0 < len(answer["misses"]) <= 3
    lines = terminal.run("search", asked).out.splitlines()
    assert lines[0] == "nothing recorded about this" and lines[1].startswith("nearest, though")
    assert [line.split()[0] for line in lines[2:-1]] == [miss["id"] for miss in answer["misses"]]
    assert all(fence.tokens(line) <= 60 for line in lines[2:-1])
    assert lines[-1].startswith("arms: ")
    assert "nearest" not in terminal.run("search", asked, "--offset", "10").out


def test_a_line_of_a_batch_narrows_its_question_and_takes_the_rest_from_the_command(
    terminal: Terminal, tmp_path: Path
) -> None:
    known = stocked(terminal)
    asked = [
        {"id": 1, "question": "", "session": "loom", "failed": True, "kind": "tool_call"},
        {"id": 2, "question": "yarn", "session": "loom", "kind": ["prompt"]},
        {"id": 3, "question": "", "file": "lib/loom.py", "trust": "verified", "order": "oldest", "limit": 5},
        {"id": 4, "question": ""},
    ]
    batch = tmp_path / "asked.jsonl"
    batch.write_text("".join(json.dumps(line) + "\n" for line in asked))
    said = terminal.run("search", "--batch", str(batch), "--tool", "Nothing")
    assert [ids(json.loads(line)) for line in said.out.splitlines()] == [[], [], [], []]
    said = terminal.run("search", "--batch", str(batch), "--session", "loom", "--order", "newest")
    found = [ids(json.loads(line)) for line in said.out.splitlines()]
    assert found[:3] == [[known["failed"]], [known["said"]], [known["memory"]]]
    assert found[3][0] == known["said"] and set(found[3]) == {known["said"], known["failed"], known["memory"]}


@pytest.mark.parametrize(
    "wrong",
    [
        {"since": "soon"},
        {"order": "best"},
        {"offset": -1},
        {"limit": 0},
        {"limit": True},
        {"failed": "no"},
        {"session": 5},
        {"kind": {}},
    ],
)
def test_a_filter_of_a_batch_line_that_says_nothing_is_named(
    terminal: Terminal, wrong: dict[str, object], tmp_path: Path
) -> None:
    batch = tmp_path / "asked.jsonl"
    batch.write_text(json.dumps({"id": 1, "question": "x", **wrong}) + "\n")
    said = terminal.run("search", "--batch", str(batch))
    assert said.code == 1 and f"{batch}:1" in said.err and next(iter(wrong)) in said.err


def test_a_line_that_names_no_project_is_asked_of_the_one_the_command_names(terminal: Terminal, tmp_path: Path) -> None:
    known = stocked(terminal)
    batch = tmp_path / "asked.jsonl"
    batch.write_text('{"id": 1, "question": "yarn", "session": "loom"}\n')
    elsewhere = project_folder(tmp_path, "elsewhere")
    terminal.monkeypatch.chdir(elsewhere)
    assert ids(json.loads(terminal.run("search", "--batch", str(batch)).out)) == []
    said = terminal.run("search", "--batch", str(batch), "--project", str(terminal.project))
    assert known["memory"] in ids(json.loads(said.out))
    gone = terminal.run("search", "--batch", str(batch), "--project", "/nowhere/at/all")
    assert (gone.code, gone.out) == (1, "") and "/nowhere/at/all" in gone.err


def test_what_a_line_names_that_is_not_ours_is_told_once_and_passed_over(terminal: Terminal, tmp_path: Path) -> None:
    known = stocked(terminal)
    batch = tmp_path / "asked.jsonl"
    line = {"id": "a", "question": "yarn", "sesion": "x", "gold": ["e1"], "project": str(terminal.project)}
    batch.write_text((json.dumps(line) + "\n") * 3)
    said = terminal.run("search", "--batch", str(batch))
    assert [known["memory"] in ids(json.loads(one)) for one in said.out.splitlines()] == [True] * 3
    assert (said.code, len(said.err.splitlines())) == (0, 2)
    assert "'sesion'" in said.err and "did you mean 'session'?" in said.err and "'gold'" in said.err


def test_a_line_of_a_folder_that_is_not_there_is_told_with_its_place(terminal: Terminal, tmp_path: Path) -> None:
    stocked(terminal)
    batch = tmp_path / "asked.jsonl"
    batch.write_text('{"id": 1, "question": "yarn", "project": "/nowhere/at/all"}\n' * 2)
    said = terminal.run("search", "--batch", str(batch))
    assert [json.loads(one)["scope"] for one in said.out.splitlines()] == [["user"]] * 2
    assert (said.code, len(said.err.splitlines())) == (0, 1)
    assert f"{batch}:1" in said.err and "/nowhere/at/all" in said.err


@pytest.mark.parametrize(
    "words",
    [
        ["search", "x", "--batch", "asked.jsonl"],
        ["search", "x", "--since", "soon"],
        ["search", "x", "--until", "unknown"],
        ["search", "x", "--trust", "disputed"],
        ["search", "x", "--order", "best"],
        ["search", "x", "--offset", "-1"],
        ["search", "x", "--file", " "],
        ["search", "  "],
        ["get", "project"],
        ["get", "m1", "--as-of", "2026"],
        ["why", "project", "a", "b"],
    ],
    ids=" ".join,
)
def test_wrong_use_is_told(terminal: Terminal, words: list[str]) -> None:
    said = terminal.run(*words)
    assert said.code == 2 and said.out == "" and "Usage" in said.err


def test_ids_of_both_sorts_are_read_whole(terminal: Terminal) -> None:
    known = stocked(terminal)
    hits = terminal.ok("get", known["long"], known["memory"])["hits"]
    assert [hit["id"] for hit in hits] == [known["long"], known["memory"]]
    assert len(hits[0]["text"]) > 4000 and hits[1]["text"] == "Fetch yarn before the needle goes."
    said = terminal.run("get", known["memory"], known["failed"], "e999999")
    assert said.code == 0 and "no yarn" in said.out and "Fetch yarn" in said.out and "e999999" in said.err
    assert terminal.run("get", "e999999").code == 1
    assert terminal.run("get", f"e0{known['failed'][1:]}").err == ""


@pytest.mark.parametrize("given", ["yesterday", "unknown", "open"])
def test_a_date_that_is_no_moment_is_told_only_what_will_do(terminal: Terminal, given: str) -> None:
    said = terminal.run("search", "x", "--since", given)
    told = " ".join(said.err.replace("│", " ").split())
    assert said.code == 2 and "2026-06-03T14:30" in told and "unknown, open" not in told


def test_a_timeline_begins_from_an_event_and_from_a_memory(terminal: Terminal) -> None:
    known = stocked(terminal)
    for id in (known["failed"], known["memory"]):
        assert ids(terminal.ok("timeline", id)) == [known["failed"], known["said"]]
    rows = terminal.run("timeline", known["long"]).out.splitlines()
    assert rows and all(fence.tokens(row) <= 60 for row in rows)
    assert terminal.run("timeline", "m999999").code == 1 and terminal.run("timeline", "nothing").code == 1


def test_why_is_told_of_a_memory_and_of_an_event(terminal: Terminal) -> None:
    known = stocked(terminal)
    of_memory = terminal.ok("why", known["memory"])
    assert of_memory["memory"]["key"] == "fix.loom"
    assert [f"e{one['event_id']}" for one in of_memory["evidence"]] == [known["failed"]]
    of_event = terminal.ok("why", known["failed"])
    assert (of_event["event"]["id"], of_event["sources"]) == (known["failed"], ["hook"])
    assert [hit["id"] for hit in of_event["memories"]] == [known["memory"]]
    assert "no memory stands on it" in terminal.run("why", known["said"]).out
    assert terminal.run("why", "e999999").code == 1 and terminal.run("why", "m999999").code == 1


def test_no_id_and_no_filter_reaches_into_another_project(terminal: Terminal, tmp_path: Path) -> None:
    known = stocked(terminal)
    other = str(project_folder(tmp_path, "elsewhere"))
    (Path(other) / ".git").mkdir(exist_ok=True)
    for words in (["get"], ["timeline"], ["why"]):
        for id in (known["failed"], known["memory"]):
            theirs, unknown = (terminal.run(*words, one, "--project", other) for one in (id, f"{id[0]}999999"))
            assert (theirs.code, theirs.out) == (unknown.code, unknown.out) == (1, "")
            assert theirs.err.replace(id, "") == unknown.err.replace(f"{id[0]}999999", "")
    theirs, unknown = (
        terminal.ok("search", "--session", session, "--project", other) for session in ("loom", "nobody")
    )
    assert theirs == unknown and theirs["hits"] == []


def test_a_folder_in_which_nothing_is_recorded_says_so_and_how_to_ask_another(terminal: Terminal) -> None:
    elsewhere = project_folder(terminal.home.parent, "newcomer")
    terminal.monkeypatch.chdir(elsewhere)
    said = terminal.run("search", "how are the tests run").out
    assert "nothing recorded about this" in said
    assert "project newcomer, in which nothing is recorded" in said
    assert "--project DIR" in said and "1 project: project" in said
    terminal.set("CLAUDECODE", "1")
    assert "--project" not in terminal.run("search", "how are the tests run").out


def test_what_is_asked_for_is_shown_where_who_read_it_cannot_be_noted(terminal: Terminal) -> None:
    memory = terminal.ok("list")[0]
    (hit,) = [one for one in terminal.ok("search", memory["value"])["hits"] if one["key"] == memory["key"]]
    db = terminal.db()
    db.execute("create trigger full before insert on memory_refs begin select raise(fail, 'disk full'); end")
    db.close()
    assert terminal.ok("get", hit["id"])["hits"][0]["text"] == memory["value"]
    assert terminal.ok("get", memory["namespace"], memory["key"])["value"] == memory["value"]
