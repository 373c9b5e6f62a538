"""A value that was put together, of a description and a body or below a heading, is known again by what it says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from recorder import gate
from recorder.config import Config
from recorder.models import Channel, MemoryKind, Origin, Proposal, Trust
from recorder.store import events, memories
from recorder.store.db import Connection
from tests.claude_auto.claude_home import counts, known_project, memory_folder, person, run, seen
from tests.makers import T0, event_of, hook_input, prompt, take

BODY = "The narwhalplan codename launches on friday the thirteenth"
LINE = "The vault code is kept by heronkeeper Anna"


def noted(description: str, body: str) -> str:
    return f"---\nname: n\ndescription: {description}\ntype: project\n---\n\n{body}\n"


@pytest.fixture
def place(db: Connection, config: Config, own_home: Path) -> tuple[Path, str]:
    """(memory folder, project id) of a project that is known."""
    folder, project_id = known_project(db, config, own_home)
    return memory_folder(config, folder), project_id


def namespace(place: tuple[Path, str]) -> str:
    return f"claude.{place[0].parent.name}"


def only_key(db: Connection, place: tuple[Path, str]) -> str:
    (key,) = seen(db, place[1])
    return key


def wrote(db: Connection, config: Config, place: tuple[Path, str], path: Path, text: str, name: str) -> None:
    """The call with which Claude wrote a file of its memory, as a hook tells it."""
    call = hook_input(
        "PostToolUse",
        tool_name="Write",
        tool_input={"file_path": str(path), "content": text},
        tool_response={"type": "create", "filePath": str(path), "content": text},
        tool_use_id=f"toolu_{name}",
        cwd=str(place[0]),
        prompt_id="p1",
    )
    take(db, config, [event_of(call)])


def everything_said(db: Connection) -> str:
    """All that events and memories say, in one text."""
    bodies = [json.dumps(dict(event.body)) for event in events.listing(db, limit=1000)]
    return "\n".join([*bodies, *(value for (value,) in db.execute("select value from memory_versions"))])


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("secret.md", noted("secret plan", BODY), noted("something else", BODY)),
        ("secret.md", noted("secret plan", BODY), f"# Heading\n\nContext first. {BODY}. And more.\n"),
        ("MEMORY.md", f"# Index\n\n- {LINE}\n", f"# Notes\n\n- {LINE}\n"),
        ("MEMORY.md", f"# Index\n\n- {LINE}\n", f"# Index\n\n## Of the house\n\nWhat matters: {LINE}.\n"),
    ],
    ids=["another description", "inside a longer file", "another heading", "another place"],
)
def test_what_was_forgotten_goes_with_the_call_that_wrote_it_and_returns_in_no_other_dress(
    db: Connection, config: Config, place: tuple[Path, str], name: str, before: str, after: str
) -> None:
    path = place[0] / name
    wrote(db, config, place, path, before, "1")
    path.write_text(before)
    run(db, config)
    told = LINE if name == "MEMORY.md" else BODY
    assert told in everything_said(db)
    gate.forget(db, namespace(place), only_key(db, place), person(place[1]))
    assert told not in everything_said(db)
    path.write_text(after)
    assert not counts(run(db, config)).get("created")
    path.rename(place[0] / "elsewhere.md")
    assert not counts(run(db, config)).get("created")
    wrote(db, config, place, path, after, "2")
    typed = event_of(prompt(f"As I said: {told}", cwd=str(place[0])), at_ms=T0 - 1)
    take(db, config, [typed])
    assert told not in everything_said(db)


def test_a_description_that_says_something_of_its_own_is_forgotten_too(
    db: Connection, config: Config, place: tuple[Path, str]
) -> None:
    about = "The merger with Aardvark is announced in spring"
    (place[0] / "plan.md").write_text(noted(about, "Nobody is told before."))
    take(db, config, [event_of(prompt(f"note it: {about}", cwd=str(place[0])))])
    run(db, config)
    gate.forget(db, namespace(place), "plan", person(place[1]))
    assert "Aardvark" not in everything_said(db)


def test_a_description_that_several_files_share_takes_none_of_the_others_with_it(
    db: Connection, config: Config, place: tuple[Path, str], own_home: Path
) -> None:
    about = "User feedback on how to work in this project"
    other, _ = known_project(db, config, own_home, "other")
    elsewhere = memory_folder(config, other)
    said = {
        place[0] / "a.md": BODY,
        place[0] / "b.md": "Run the walrus suite before each push",
        elsewhere / "c.md": "The penguin deploys happen on mondays",
    }
    for path, body in said.items():
        path.write_text(noted(about, body))
    run(db, config)
    planned = gate.plan(db, namespace(place), "a", person(place[1]))
    assert [memory.key for memory in planned.memories] == ["a"]
    gate.forget(db, namespace(place), "a", person(place[1]))
    assert BODY not in everything_said(db)
    assert all(body in everything_said(db) for path, body in said.items() if path.stem != "a")
    (place[0] / "d.md").write_text(noted(about, "The dolphin lab opens at nine"))
    run(db, config)
    assert sorted(seen(db, place[1])) == ["b", "d"]


def test_a_short_description_takes_nothing_with_it(db: Connection, config: Config, place: tuple[Path, str]) -> None:
    (place[0] / "plan.md").write_text(noted("deployment plan", BODY))
    take(db, config, [event_of(prompt("is there a deployment plan", cwd=str(place[0])))])
    run(db, config)
    gate.forget(db, namespace(place), "plan", person(place[1]))
    assert "is there a deployment plan" in everything_said(db)


@pytest.mark.parametrize("dressed", [noted("how to test", LINE), noted("", LINE)], ids=["described", "bare"])
def test_a_rejected_rule_is_not_taken_in_from_a_file_or_below_a_heading(
    db: Connection, config: Config, place: tuple[Path, str], dressed: str
) -> None:
    project = f"project.{place[1]}"
    said = Proposal(project, "rule.vault", LINE, MemoryKind.SEMANTIC, Origin.USER_SAID, "terminal", explicit=True)
    gate.tell(db, said, person(place[1]))
    gate.reject(db, project, "rule.vault", person(place[1]), reason="not so")
    (place[0] / "vault.md").write_text(dressed)
    (place[0] / "MEMORY.md").write_text(f"# Testing\n\n- {LINE}\n")
    assert counts(run(db, config)) == {"refused": 2}
    assert seen(db, place[1]) == {}


def test_rejecting_a_rule_hides_a_file_that_says_it_under_a_description(
    db: Connection, config: Config, place: tuple[Path, str]
) -> None:
    (place[0] / "vault.md").write_text(noted("who keeps the code", LINE))
    run(db, config)
    project = f"project.{place[1]}"
    said = Proposal(project, "rule.vault", LINE, MemoryKind.SEMANTIC, Origin.USER_SAID, "terminal", explicit=True)
    gate.tell(db, said, person(place[1]))
    gate.reject(db, project, "rule.vault", person(place[1]), reason="not so")
    assert seen(db, place[1]) == {}


@pytest.mark.parametrize("verb", ["reject", "delete"])
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("r.md", noted("how to test", LINE), noted("how the tests are run", LINE)),
        ("MEMORY.md", f"# Index\n\n- {LINE}\n", f"# Notes\n\n- {LINE}\n"),
    ],
    ids=["description", "heading"],
)
def test_a_file_whose_body_was_rejected_or_deleted_does_not_return_with_what_stands_above_it(
    db: Connection, config: Config, place: tuple[Path, str], verb: str, name: str, before: str, after: str
) -> None:
    path = place[0] / name
    path.write_text(before)
    run(db, config)
    key = only_key(db, place)
    if verb == "reject":
        gate.reject(db, namespace(place), key, person(place[1]), reason="not so")
    else:
        gate.delete(db, namespace(place), key, person(place[1]))
    for there in (path, place[0] / "moved.md"):
        path.rename(there)
        there.write_text(after)
        os.utime(there, (T0 / 1000, T0 / 1000 + len(str(there))))
        report = counts(run(db, config))
        assert not report.get("created") and not report.get("changed")
        path = there
    memory = memories.find(db, namespace(place), key)
    assert memory is not None and (memory.trust is Trust.REJECTED or memory.deleted)
    assert seen(db, place[1]) == {}


def test_another_body_under_the_description_of_a_rejected_one_is_taken_in(
    db: Connection, config: Config, place: tuple[Path, str]
) -> None:
    about = "How the project is deployed to its servers"
    (place[0] / "d.md").write_text(noted(about, "With helm, by hand, on Fridays."))
    run(db, config)
    gate.reject(db, namespace(place), "d", person(place[1]), reason="not so")
    (place[0] / "d.md").write_text(noted(about, "With make ship, by the pipeline."))
    run(db, config)
    assert [memory.value for memory in seen(db, place[1]).values()] == [f"{about}\n\nWith make ship, by the pipeline."]


def test_a_person_who_says_it_again_lifts_what_stood_against_its_words(
    db: Connection, config: Config, place: tuple[Path, str]
) -> None:
    (place[0] / "r.md").write_text(noted("how to test", LINE))
    run(db, config)
    gate.reject(db, namespace(place), "r", person(place[1]), reason="not so")
    gate.lift(db, namespace(place), "r", person(place[1]))
    agent = gate.Writer(Channel.CLAUDE_AUTO, "claude-auto", person(place[1]).scope, T0 + 2)
    said = Proposal(namespace(place), "other", LINE, MemoryKind.SEMANTIC, Origin.IMPORT, "claude-auto:x")
    assert gate.tell(db, said, agent).action == "created"
