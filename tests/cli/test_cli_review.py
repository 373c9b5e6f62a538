"""A person goes through what waits, at a terminal and from a script."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from recorder import gate
from recorder.models import Channel, MemoryKind, Origin, Proposal, Scope
from tests.cli.terminal import CONTROLS, HOSTILE, ROOT, Terminal, environ

OURS, THEIRS = "We queue jobs in SQLite", "We queue jobs in Redis"


def by_claude(terminal: Terminal, *words: str) -> Any:
    """What Claude runs in this terminal."""
    terminal.set("CLAUDECODE", "1")
    said = terminal.ok(*words)
    terminal.monkeypatch.delenv("CLAUDECODE")
    return said


def waiting(terminal: Terminal, kind: str) -> list[dict[str, Any]]:
    return [item for item in terminal.ok("review", "--list") if item["kind"] == kind]


def conflict(terminal: Terminal) -> dict[str, Any]:
    terminal.ok("remember", "project", "decision.queue", OURS)
    by_claude(terminal, "remember", "project", "decision.queue", THEIRS)
    (item,) = waiting(terminal, "conflict")
    return item


def test_the_list_shows_candidates_with_their_quotes_and_conflicts_with_both_sides(terminal: Terminal) -> None:
    by_claude(terminal, "remember", "project", "decision.cache", "We cache in memory")
    item = conflict(terminal)
    assert (item["old"]["value"], item["new"]["value"]) == (OURS, THEIRS)
    (cached,) = [one for one in waiting(terminal, "candidate") if one["old"]["value"] == "We cache in memory"]
    assert cached["old"]["evidence"][0]["quote"] == "We cache in memory"
    assert cached["old"]["version"] == 1 and cached["old"]["digest"]


def test_an_approval_is_bound_to_the_version_and_the_words_that_were_looked_at(terminal: Terminal) -> None:
    by_claude(terminal, "remember", "project", "decision.cache", "We cache in memory")
    (item,) = [one for one in waiting(terminal, "candidate") if one["old"]["address"].endswith("decision.cache")]
    by_claude(terminal, "remember", "project", "decision.cache", "We cache on disk")
    digest, version = item["old"]["digest"], str(item["old"]["version"])
    for stale in (("--expected-digest", digest), ("--expected-version", version)):
        said = terminal.run("review", "--approve", item["id"], "--reason", "so it is", *stale)
        assert said.code == 1 and "read it again" in said.err
    assert terminal.ok("get", "project", "decision.cache")["trust"] == "candidate"
    done = terminal.ok("review", "--approve", item["id"], "--reason", "so it is", "--expected-version", "2")
    assert done["action"] == "approved" and done["recall"]["said"] == ["We cache on disk"]
    assert terminal.ok("history", "project", "decision.cache")[-1]["reason"] == "so it is"


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (("--as", "keep_old"), {OURS}),
        (("--as", "keep_new"), {THEIRS}),
        (("--as", "keep_both"), {OURS, THEIRS}),
        (("--as", "remove_both"), set()),
        (("--as", "manual", "--value", "We queue jobs in files"), {"We queue jobs in files"}),
    ],
)
def test_a_finding_is_settled_from_a_script_and_recall_says_so(
    terminal: Terminal, decision: tuple[str, ...], said: set[str]
) -> None:
    item = conflict(terminal)
    done = terminal.ok("review", "--settle", item["id"], *decision, "--reason", "so it is")
    assert set(done["recall"]["said"]) == said
    hits = terminal.ok("search", "queue jobs in")["hits"]
    assert {hit["text"] for hit in hits if (hit["key"] or "").startswith("decision.queue")} == said
    assert waiting(terminal, "conflict") == []


def test_a_script_rejects_edits_deletes_and_lifts(terminal: Terminal) -> None:
    ids = {}
    for key, value in (("one", "The moon is made of cheese"), ("two", "Trains run late"), ("three", "Planes are slow")):
        ids[key] = f"m{by_claude(terminal, 'remember', 'project', key, value)['memory']['id']}"
    why = ("--reason", "I know")
    assert terminal.ok("review", "--reject", ids["one"], *why)["action"] == "rejected"
    assert terminal.ok("review", "--edit", ids["two"], "--value", "Trains run on time", *why)["action"] == "superseded"
    assert terminal.ok("review", "--delete", ids["three"], *why)["action"] == "deleted"
    assert terminal.ok("get", "project", "two")["trust"] == "verified"
    refused = by_claude_refused(terminal, "remember", "project", "four", "The MOON is made of cheese")
    assert "tombstone" in refused
    (item, *_) = waiting(terminal, "refusal")
    assert "tombstone" in item["reason"] and "cheese" not in str(item).lower()
    assert terminal.ok("review", "--lift", ids["one"], *why)["action"] == "lifted"
    assert terminal.ok("get", "project", "one")["trust"] == "candidate"


def by_claude_refused(terminal: Terminal, *words: str) -> str:
    terminal.set("CLAUDECODE", "1")
    said = terminal.run(*words)
    terminal.monkeypatch.delenv("CLAUDECODE")
    assert said.code == 1
    return said.out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--approve", "m1"), 2, "say why"),
        (("--settle", "f1", "--reason", "x"), 2, "--as"),
        (("--approve", "m1", "--reject", "m1", "--reason", "x"), 2, "one decision at a time"),
        (("--approve", "m999", "--reason", "x"), 1, "nothing m999 here"),
        (("--settle", "m1", "--as", "keep_old", "--reason", "x"), 1, "for findings"),
        (("--edit", "m1", "--reason", "x"), 1, "--value"),
    ],
)
def test_half_a_decision_does_nothing_and_says_what_is_missing(
    terminal: Terminal, words: tuple[str, ...], code: int, told: str
) -> None:
    before = terminal.ok("audit", "verify")["rows"]
    said = terminal.run("review", *words)
    assert said.code == code and told in said.err.replace("│\n│", " ")
    assert terminal.ok("audit", "verify")["rows"] == before


def test_claude_does_not_review(terminal: Terminal) -> None:
    item = conflict(terminal)
    terminal.set("CLAUDECODE", "1")
    for words in (("--list",), ("--settle", item["id"], "--as", "keep_new", "--reason", "mine")):
        said = terminal.run("review", *words)
        assert said.code == 1 and "only a person" in said.err
    assert terminal.ok("get", "project", "decision.queue")["value"] == OURS


def test_what_waits_in_another_project_waits_there(terminal: Terminal, tmp_path: Any) -> None:
    item = conflict(terminal)
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".git").mkdir(parents=True)
    terminal.monkeypatch.chdir(elsewhere)
    assert waiting(terminal, "conflict") == []
    settle = ("review", "--settle", item["id"], "--as", "keep_new", "--reason", "so it is")
    assert terminal.run(*settle).code == 1
    assert [one["id"] for one in terminal.ok("review", "--list", "--all") if one["kind"] == "conflict"] == [item["id"]]
    assert terminal.run(*settle, "--all").code == 0


# --- at a terminal ----------------------------------------------------------------------------------------------------


@dataclass
class Screen:
    """A command in a terminal of its own."""

    master: int
    process: subprocess.Popen[bytes]
    shown: str = ""

    def see(self, text: str, seconds: float = 30) -> str:
        """What was shown until the text came, which is gone from what is waited for next."""
        until = time.monotonic() + seconds
        while text not in self.shown:
            assert time.monotonic() < until, f"{text!r} did not come; shown: {self.shown}"
            if select.select([self.master], [], [], 0.5)[0]:
                try:
                    self.shown += os.read(self.master, 65536).decode(errors="replace")
                except OSError:
                    assert text in self.shown, f"{text!r} did not come; shown: {self.shown}"
        before, _, self.shown = self.shown.partition(text)
        return before

    def type(self, text: str) -> None:
        os.write(self.master, f"{text}\n".encode())

    def left(self) -> int:
        return self.process.wait(30)


@contextmanager
def reviewing(terminal: Terminal) -> Iterator[Screen]:
    master, slave = pty.openpty()
    environment = environ(terminal.home, PYTHONPATH=str(ROOT), TERM="dumb", COLUMNS="200")
    process = subprocess.Popen(
        [sys.executable, "-m", "recorder", "review"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=terminal.project,
        env=environment,
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Screen(master, process)
    finally:
        process.kill()
        process.wait()
        os.close(master)


def quiet(terminal: Terminal) -> None:
    """Nothing of the recorded session waits any more."""
    for item in terminal.ok("review", "--list"):
        if item["old"] and item["id"].startswith("m"):
            terminal.ok("review", "--approve", item["id"], "--reason", "known")


def test_a_person_decides_item_by_item_and_is_told_what_recall_says_now(terminal: Terminal) -> None:
    quiet(terminal)
    conflict(terminal)
    by_claude(terminal, "remember", "project", "decision.cache", "We cache in memory")
    by_claude(terminal, "remember", "project", "note.trains", "Trains run late")
    with reviewing(terminal) as screen:
        assert OURS in screen.see(" > ")
        screen.type("1")
        screen.see("why: ")
        screen.type("")
        screen.see("a reason is needed")
        screen.see(" > ")
        screen.type("1")
        screen.see("why: ")
        screen.type("we measured it")
        screen.see(f"recall now says: “{OURS}”")
        assert "We cache in memory" in screen.see(" > ")
        screen.type("e")
        screen.see("what is right: ")
        screen.type("We cache on disk")
        screen.see("why: ")
        screen.type("it grew")
        screen.see("recall now says: “We cache on disk”")
        screen.see(" > ")
        screen.type("s")
        screen.see("2 decided")
        assert screen.left() == 0
    assert terminal.ok("get", "project", "decision.cache")["value"] == "We cache on disk"
    assert terminal.ok("get", "project", "note.trains")["trust"] == "candidate"


def test_what_changed_while_it_was_looked_at_is_shown_anew_and_not_approved(terminal: Terminal) -> None:
    quiet(terminal)
    by_claude(terminal, "remember", "project", "decision.cache", "We cache in memory")
    with reviewing(terminal) as screen:
        screen.see(" > ")
        by_claude(terminal, "remember", "project", "decision.cache", "We cache on disk")
        screen.type("a")
        screen.see("why: ")
        screen.type("it is right")
        screen.see("read it again")
        assert "We cache on disk" in screen.see(" > ")
        screen.type("q")
        screen.see("0 decided")
        assert screen.left() == 0
    assert terminal.ok("get", "project", "decision.cache")["trust"] == "candidate"


def test_hostile_text_reaches_the_terminal_harmless(terminal: Terminal) -> None:
    db = terminal.db()
    (project_id,) = next(iter(db.execute("select project_id from events where project_id is not null limit 1")))
    made = Proposal(
        f"project.{project_id}", "note.odd", f"odd {HOSTILE}", MemoryKind.SEMANTIC, Origin.ASSISTANT_SAID, "x"
    )
    gate.tell(db, made, gate.Writer(Channel.AGENT, f"task:{HOSTILE}", Scope(project_id), 1))
    db.close()
    said = terminal.run("review", "--list")
    assert "odd" in said.out and not any(sign in said.out for sign in CONTROLS)


def test_a_flood_of_proposals_about_one_memory_is_one_item_and_hides_nothing(terminal: Terminal) -> None:
    terminal.ok("remember", "project", "decision.queue", OURS)
    terminal.set("CLAUDECODE", "1")
    for n in range(30):
        terminal.ok("remember", "project", "decision.queue", f"We queue jobs in bucket {n * 7}")
    terminal.ok("remember", "project", "decision.cache", "We cache in memory")
    terminal.monkeypatch.delenv("CLAUDECODE")
    (item,) = waiting(terminal, "conflict")
    assert (item["new"]["value"], item["more"]) == ("We queue jobs in bucket 203", 29)
    assert any(one["old"]["value"] == "We cache in memory" for one in waiting(terminal, "candidate"))
    assert len([one for one in terminal.ok("findings") if one["kind"] == "conflict"]) == 5
    said = terminal.run("review", "--list").out
    assert "and 29 more" in said


def test_no_line_of_a_stored_text_looks_like_an_item(terminal: Terminal) -> None:
    fake = "fine\nm99  candidate  2026-01-01 10:00\nproject.x/rule  verified, version 1  person\n  Trust me\n1 wait"
    by_claude(terminal, "remember", "project", "decision.cache", fake)
    lines = terminal.run("review", "--list").out.splitlines()
    for line in fake.splitlines():
        assert line not in lines and f"  | {line}" in lines


def test_a_value_that_was_rejected_before_is_marked_and_taking_it_over_says_so(terminal: Terminal) -> None:
    by_claude(terminal, "remember", "project", "decision.queue", THEIRS)
    item = conflict_again(terminal)
    assert item["new"]["rejected_ms"] is not None
    done = terminal.ok("review", "--settle", item["id"], "--as", "keep_both", "--reason", "so it is")
    assert "is lifted" in done["action"]


def conflict_again(terminal: Terminal) -> dict[str, Any]:
    """A conflict that waits while its value is rejected elsewhere in the project."""
    terminal.ok("remember", "project", "decision.other", OURS)
    by_claude(terminal, "remember", "project", "decision.other", THEIRS)
    terminal.ok("reject", "project", "decision.queue", "--reason", "no")
    (item,) = waiting(terminal, "conflict")
    return item


def test_the_links_of_a_memory_that_recall_does_not_show_are_told(terminal: Terminal) -> None:
    for key in ("one", "two"):
        terminal.ok("remember", "project", key, f"number {key}")
    terminal.ok("link", "project", "one", "explains", "project", "two")
    terminal.ok("delete", "project", "one")
    said = terminal.run("neighbors", "project", "one")
    assert said.code == 1 or ("explains" in said.out and "nothing is linked" not in said.out)
    terminal.ok("restore", "project", "one")
    terminal.ok("reject", "project", "one", "--reason", "no")
    said = terminal.run("neighbors", "project", "one")
    assert "explains" in said.out and "nothing is linked" not in said.out
