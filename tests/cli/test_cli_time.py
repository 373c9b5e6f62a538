"""Other times, versions and links, asked for at the command line."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.cli.terminal import Terminal

WHERE = ("project", "decision.host")
FIRST, SECOND = "The site is hosted at Hetzner", "The site is hosted at Fly"


def hosted(terminal: Terminal, *more: str) -> set[str]:
    hits = terminal.ok("search", "where is the site hosted", *more)["hits"]
    return {hit["text"] for hit in hits if hit["key"] == WHERE[1]}


def test_what_held_is_asked_by_date_and_an_unknown_end_is_no_open_one(terminal: Terminal) -> None:
    made = terminal.ok("remember", *WHERE, FIRST, "--valid-from", "2019", "--valid-to", "2021-06")["memory"]
    assert (made["valid_from_precision"], made["valid_to_precision"]) == ("year", "month")
    assert hosted(terminal) == set()
    assert hosted(terminal, "--valid-at", "2020-02-03") == {FIRST}
    assert hosted(terminal, "--valid-at", "2021-06") == hosted(terminal, "--valid-at", "2018") == set()
    assert "holds from 2019 until 2021-06" in terminal.run("get", *WHERE).out
    assert (
        terminal.ok("remember", *WHERE, FIRST, "--valid-from", "2019", "--valid-to", "unknown")["action"] != "unchanged"
    )
    assert hosted(terminal) == set()
    assert "until unknown" in terminal.run("get", *WHERE).out
    assert terminal.ok("remember", *WHERE, SECOND)["memory"]["valid_to_ms"] is None
    assert hosted(terminal) == {SECOND}


def test_what_was_believed_is_asked_by_the_time_it_was_recorded(terminal: Terminal) -> None:
    terminal.ok("remember", *WHERE, FIRST)
    between = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(time.time()))}.{int(time.time() * 1000) % 1000:03}Z"
    while int(time.time() * 1000) % 1000 == int(between[-4:-1]):
        pass  # the next version is recorded in another millisecond
    terminal.ok("remember", *WHERE, SECOND)
    assert hosted(terminal) == {SECOND}
    assert hosted(terminal, "--as-of", between) == {FIRST}
    assert terminal.ok("get", *WHERE, "--as-of", between)["value"] == FIRST
    assert terminal.ok("why", *WHERE, "--as-of", between)["evidence"][0]["quote"] == FIRST
    assert [line["value"] for line in terminal.ok("history", *WHERE, "--as-of", between)] == [FIRST]
    assert terminal.run("get", *WHERE, "--as-of", "2001").code == 1


def test_a_memory_with_an_expiry_is_not_recalled_after_it(terminal: Terminal) -> None:
    made = terminal.ok("remember", *WHERE, FIRST, "--expires", "30d")["memory"]
    assert made["expires_ms"] - made["recorded_ms"] == 30 * 86_400_000
    assert hosted(terminal) == {FIRST}
    lasting = terminal.ok("remember", *WHERE, FIRST, "--expires", "never")["memory"]
    assert (lasting["expires_ms"], lasting["version"]) == (None, 2), "the expiry is taken away"
    made = terminal.ok("remember", *WHERE, FIRST, "--expires", "30d")["memory"]
    terminal.monkeypatch.setattr("recorder.cli.frame.now_ms", lambda: made["expires_ms"] + 1)
    assert hosted(terminal) == set()


def test_what_holds_today_is_told_until_what_comes_has_begun(terminal: Terminal) -> None:
    terminal.ok("remember", *WHERE, FIRST, "--valid-from", "2024")
    said = terminal.ok("remember", *WHERE, SECOND, "--valid-from", "2999")
    assert said["memory"]["value"] == SECOND and "goes on" in said["reason"]
    assert hosted(terminal) == {FIRST} and hosted(terminal, "--valid-at", "2999-06") == {SECOND}
    shown = terminal.run("get", *WHERE).out
    assert FIRST in shown and "holds from 2024 until 2999" in shown and f"from 2999: {SECOND}" in shown


@pytest.mark.parametrize(
    "words",
    [
        ("remember", *WHERE, FIRST, "--valid-to", "soon"),
        ("remember", *WHERE, FIRST, "--expires", "forever"),
        ("search", "site", "--valid-at", "unknown"),
        ("get", *WHERE, "--as-of", "2026-13"),
    ],
)
def test_what_is_no_date_is_wrong_use(terminal: Terminal, words: tuple[str, ...]) -> None:
    assert terminal.run(*words).code == 2


def test_a_change_against_another_version_does_nothing(terminal: Terminal) -> None:
    terminal.ok("remember", *WHERE, FIRST, "--expected-version", "0")
    terminal.ok("remember", *WHERE, SECOND, "--expected-version", "1")
    for words in (("remember", *WHERE, "Elsewhere"), ("delete", *WHERE), ("approve", *WHERE)):
        said = terminal.run(*words, "--expected-version", "1")
        assert said.code == 1 and "version 2" in said.err
    assert terminal.ok("get", *WHERE)["value"] == SECOND


def test_a_revert_brings_back_an_earlier_version_and_says_why(terminal: Terminal) -> None:
    terminal.ok("remember", *WHERE, FIRST)
    terminal.ok("remember", *WHERE, SECOND)
    assert terminal.ok("revert", *WHERE, "1", "--reason", "we moved back")["memory"]["value"] == FIRST
    lines = terminal.ok("history", *WHERE, "--diff")
    assert [line["diff"] for line in lines] == [[f"+{FIRST}"], [f"-{FIRST}", f"+{SECOND}"], [f"-{SECOND}", f"+{FIRST}"]]
    assert lines[-1]["reason"] == "we moved back"
    shown = terminal.run("history", *WHERE, "--diff").out
    assert f"-{FIRST}" in shown and "# we moved back" in shown
    assert terminal.run("revert", *WHERE, "9", "--reason", "x").code == 1


def test_links_are_made_walked_in_a_circle_and_taken_away(terminal: Terminal) -> None:
    for key in ("one", "two", "three"):
        terminal.ok("remember", "project", key, f"All about {key}")
    links: list[Any] = [
        terminal.ok("link", "project", a, "explains", "project", b)["link"]
        for a, b in (("one", "two"), ("two", "three"), ("three", "one"))
    ]
    near = terminal.ok("neighbors", "project", "one", "--depth", "5")
    assert {hit["key"] for hit in near["memories"]} == {"two", "three"}
    assert {one["id"] for one in near["links"]} == set(links)
    for link in links:
        terminal.ok("unlink", str(link))
    assert terminal.ok("neighbors", "project", "one") == {"links": [], "memories": []}
    assert terminal.run("unlink", str(links[0])).code == 1


def test_who_wrote_and_who_read_is_a_persons_to_see(terminal: Terminal) -> None:
    terminal.ok("remember", *WHERE, FIRST)
    terminal.set("CLAUDECODE", "1")
    terminal.set("CLAUDE_CODE_SESSION_ID", "session-x")
    terminal.ok("get", *WHERE)
    assert terminal.run("refs", *WHERE).code == 1
    terminal.monkeypatch.delenv("CLAUDECODE")
    found = terminal.ok("refs", *WHERE)
    assert [one["how"] for one in found["wrote"]] == ["created"]
    assert [(one["how"], one["who"]) for one in found["read"]] == [("read", "task:session-x")]


def test_the_history_as_text_says_when_each_version_holds(terminal: Terminal) -> None:
    terminal.ok("remember", *WHERE, FIRST, "--valid-from", "2024")
    terminal.ok("remember", *WHERE, SECOND, "--valid-from", "2030-06")
    assert {"from", "2024", "until", "2030-06"} <= set(terminal.run("history", *WHERE).out.split())
