"""The commands by which a person says that something is false, or private."""

from __future__ import annotations

from pathlib import Path

import pytest

from recorder.store.db import connect
from tests.cli.terminal import Terminal

VALUE = "The vault word is obelisk-ninetythree"


def traces(terminal: Terminal, part: bytes = b"obelisk") -> list[Path]:
    return [path for path in terminal.home.rglob("*") if path.is_file() and part in path.read_bytes()]


def test_forgetting_is_shown_first_and_done_on_yes_alone(terminal: Terminal) -> None:
    terminal.ok("remember", "project", "fact.vault", VALUE)
    terminal.ok("remember", "user", "fact.copy", VALUE)
    terminal.ok("remember", "project", "fact.own", "Another thing is so")
    shown = terminal.run("forget", "project", "fact.vault", "--json")
    assert shown.code == 2
    assert (shown.json["action"], shown.json["reached"]["memories"], shown.json["also"]) == (
        "preview",
        2,
        ["user/fact.copy"],
    )
    said = terminal.run("forget", "project", "fact.vault")
    assert said.code == 2 and "--yes" in said.out and "not reached" in said.out
    assert terminal.ok("get", "project", "fact.vault")["value"] == VALUE
    done = terminal.ok("forget", "project", "fact.vault", "--yes", "--reason", "private")
    assert (done["action"], done["state"], done["reached"]["events"]) == ("forgotten", "done", 2)
    assert traces(terminal) == []
    assert terminal.run("get", "project", "fact.vault").code == 1
    assert terminal.ok("get", "project", "fact.own")["value"] == "Another thing is so"
    assert terminal.ok("audit", "verify")["state"] == "pass"
    again = terminal.ok("forget", "project", "fact.vault", "--yes")
    assert again["reached"] == done["reached"]


def test_a_pending_forget_says_so_and_status_counts_it(terminal: Terminal) -> None:
    terminal.ok("remember", "project", "fact.vault", VALUE)
    reader = connect(terminal.home / "recorder.db")
    reader.execute("begin")
    assert len(list(reader.execute("select id from events"))) > 1
    said = terminal.run("forget", "project", "fact.vault", "--yes")
    assert said.code == 0 and "pending" in said.out
    assert terminal.ok("status")["forgets_pending"] == 1
    reader.execute("rollback")
    reader.close()
    assert terminal.ok("forget", "project", "fact.vault", "--yes")["state"] == "done"
    assert terminal.ok("status")["forgets_pending"] == 0
    assert traces(terminal) == []


def test_an_event_is_forgotten_by_its_number_with_what_stands_on_it(terminal: Terminal) -> None:
    (prompt,) = terminal.ok("events", "--kind", "prompt")
    assert "pytest -q" in terminal.ok("list")[0]["value"]
    done = terminal.ok("forget", "--event", f"e{prompt['id']}", "--yes")
    assert done["state"] == "done" and done["reached"]["events.prompt"] == 1
    assert terminal.ok("events", "--kind", "prompt") == []
    assert traces(terminal, b"Always run the tests") == []
    assert terminal.run("forget", "--event", "e99999", "--yes").code == 1


@pytest.mark.parametrize("words", [(), ("project",), ("project", "a", "--event", "e1"), ("--event", "x")])
def test_what_is_to_be_forgotten_is_named_in_one_way(terminal: Terminal, words: tuple[str, ...]) -> None:
    assert terminal.run("forget", *words, "--yes").code == 2


def test_a_rejected_memory_is_hidden_refused_and_lifted_by_a_person(terminal: Terminal) -> None:
    terminal.ok("remember", "project", "fact.vault", VALUE)
    assert terminal.run("reject", "project", "fact.vault").code == 2
    assert terminal.ok("reject", "project", "fact.vault", "--reason", "never so")["action"] == "rejected"
    assert all("obelisk" not in hit["text"] for hit in terminal.ok("search", "vault word")["hits"] if hit["key"])
    terminal.set("CLAUDECODE", "1")
    assert terminal.run("remember", "project", "fact.other", VALUE.upper()).code == 1
    terminal.monkeypatch.delenv("CLAUDECODE")
    assert terminal.ok("lift", "project", "fact.vault")["memory"]["trust"] == "candidate"


@pytest.mark.parametrize("words", [("reject", "--reason", "no"), ("lift",), ("forget", "--yes")])
def test_only_a_person_rejects_lifts_and_forgets(terminal: Terminal, words: tuple[str, ...]) -> None:
    terminal.ok("remember", "project", "fact.vault", VALUE)
    terminal.set("CLAUDECODE", "1")
    said = terminal.run(words[0], "project", "fact.vault", *words[1:])
    assert said.code == 1 and "only a person" in said.err
    assert terminal.ok("get", "project", "fact.vault")["value"] == VALUE


def test_what_goes_along_with_what_is_forgotten_is_named_when_it_is_done(terminal: Terminal) -> None:
    for key in ("fact.one", "fact.two"):
        terminal.ok("remember", "project", key, "The vault word is obelisk-ninetythree")
    done = terminal.ok("forget", "project", "fact.one", "--yes")
    assert [one.partition("/")[2] for one in done["also"]] == ["fact.two"] and done["suppressed"] == []
