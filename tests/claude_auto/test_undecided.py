"""What nobody knows the project of is a person's alone, and a person sees and handles it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recorder import doctor
from recorder.config import Config
from recorder.models import Scope
from recorder.store import events, memories, projects
from recorder.store.db import Connection
from tests.claude_auto.claude_home import counts, known_project, memory_folder, run
from tests.claude_auto.test_doors import cli, looked
from tests.makers import T0, project_folder

AGENT = {"CLAUDECODE": "1"}


@pytest.fixture
def lone(db: Connection, config: Config, own_home: Path) -> str:
    """The namespace of a folder whose project nobody knows; its memories are `fact` and `other`."""
    known_project(db, config, own_home, "elsewhere")
    folder = memory_folder(config, project_folder(own_home, "later"))
    (folder / "fact.md").write_text("The wildebeest sleeps in the barn.\n")
    (folder / "other.md").write_text("The okapi eats at seven.\n")
    assert run(db, config).undecided == 2
    return f"claude.{folder.parent.name}"


def values(text: str) -> set[str]:
    return {one["value"] for one in json.loads(text)}


def test_a_person_lists_and_reads_what_belongs_to_no_project(config: Config, lone: str) -> None:
    assert values(cli(config, "list", "--undecided", "--json").stdout) == {
        "The wildebeest sleeps in the barn.",
        "The okapi eats at seven.",
    }
    assert "wildebeest" in cli(config, "get", lone, "fact").stdout
    assert "created" in cli(config, "history", lone, "fact").stdout
    assert "wildebeest" in cli(config, "why", lone, "fact").stdout


def test_claude_neither_sees_nor_changes_it(db: Connection, config: Config, lone: str) -> None:
    for words in (
        ("list", "--undecided"),
        *((verb, lone, "fact") for verb in ("get", "history", "why", "delete", "restore", "approve", "pin")),
        ("remember", lone, "fact", "The wildebeest is mine."),
        ("forget", lone, "fact", "--yes"),
        ("reject", lone, "fact", "--reason", "no"),
    ):
        done = cli(config, *words, **AGENT)
        assert done.returncode != 0 and "sleeps" not in done.stdout + done.stderr, words
    memory = memories.find(db, lone, "fact")
    assert memory is not None and memory.version == 1 and not memory.deleted


@pytest.mark.parametrize(
    "asked", [("search", "wildebeest barn"), ("list",), ("brief",), ("stats",)], ids=lambda w: w[0]
)
def test_nothing_that_answers_for_a_project_shows_it(config: Config, own_home: Path, lone: str, asked: str) -> None:
    place = ("--project", str(own_home / "elsewhere"))
    for variables in ({}, AGENT | {"CLAUDE_PROJECT_DIR": str(own_home / "elsewhere")}):
        said = cli(config, *asked, *place, **variables)
        assert "wildebeest sleeps" not in said.stdout and lone not in said.stdout


def test_a_person_deletes_restores_approves_corrects_and_forgets_it(db: Connection, config: Config, lone: str) -> None:
    for verb in ("delete", "restore", "approve", "pin"):
        assert cli(config, verb, lone, "fact", *(["--yes"] if verb == "approve" else [])).returncode == 0, verb
    done = cli(config, "remember", lone, "fact", "The wildebeest sleeps outside.", "--json")
    assert json.loads(done.stdout)["memory"]["value"] == "The wildebeest sleeps outside."
    done = cli(config, "reject", lone, "other", "--reason", "it eats at eight")
    assert done.returncode == 0, done.stderr
    memory = memories.find(db, lone, "fact")
    assert memory is not None and memory.trust == "verified" and memory.project_id is None
    for project_id in (None, *projects.ids(db)):
        assert not memories.visible(db, memory, Scope(project_id))
    said = [event for event in events.get(db, range(1, 100)) if "outside" in str(event.body)]
    assert len(said) == 1 and said[0].project_id is None, "what was said of it belongs to no project either"
    assert cli(config, "forget", lone, "fact", "--yes").returncode == 0
    assert cli(config, "get", lone, "fact").returncode == 1


def test_the_review_of_everything_decides_about_it(db: Connection, config: Config, lone: str) -> None:
    memory = memories.find(db, lone, "fact")
    assert memory is not None
    listed = json.loads(cli(config, "review", "--all", "--json").stdout)
    assert f"m{memory.id}" in [item["id"] for item in listed]
    done = cli(config, "review", "--all", "--approve", f"m{memory.id}", "--reason", "so it is")
    assert done.returncode == 0, done.stderr
    done = cli(config, "review", "--edit", f"m{memory.id}", "--value", "It sleeps in a tent.", "--reason", "moved")
    assert done.returncode == 0, done.stderr
    memory = memories.find(db, lone, "fact")
    assert memory is not None and (memory.value, memory.trust) == ("It sleeps in a tent.", "verified")
    assert not [e for e in events.get(db, range(1, 100)) if "tent" in str(e.body) and e.project_id is not None]


def test_sync_status_and_doctor_say_how_many_there_are_and_what_to_do(
    db: Connection, config: Config, own_home: Path, lone: str
) -> None:
    said = cli(config, "sync").stderr
    assert "2 memory files are undecided" in said and "recorder projects alias" in said
    assert doctor.status(db, config, T0)["claude_memory"]["undecided"] == 2
    (told,) = looked(db, config)
    assert "2 memory files are undecided" in told and "recorder list --undecided" in told
    (project,) = projects.ids(db)
    assert cli(config, "projects", "alias", str(own_home / "later"), project).returncode == 0
    assert "undecided" not in cli(config, "sync").stderr and looked(db, config) == []
    assert {one.value for one in memories.listing(db, Scope(project), namespace=lone)} == {
        "The wildebeest sleeps in the barn.",
        "The okapi eats at seven.",
    }


def test_what_was_removed_is_no_longer_counted(db: Connection, config: Config, lone: str) -> None:
    (config.claude_dirs[0] / "projects" / lone.removeprefix("claude.") / "memory" / "fact.md").unlink()
    report = run(db, config)
    assert counts(report) == {"pruned": 1, "unchanged": 1} and report.undecided == 1
    assert cli(config, "list", "--undecided", "--deleted").stdout.count("wildebeest") == 1


def test_an_export_taken_in_elsewhere_does_not_give_it_to_everybody(
    config: Config, own_home: Path, lone: str, tmp_path: Path
) -> None:
    assert cli(config, "export", str(tmp_path / "all.json")).returncode == 0
    elsewhere = {"RECORDER_HOME": str(tmp_path / "another")}
    assert cli(config, "import", str(tmp_path / "all.json"), **elsewhere).returncode == 0
    assert values(cli(config, "list", "--json", **elsewhere).stdout) == set()
    assert len(values(cli(config, "list", "--undecided", "--json", **elsewhere).stdout)) == 2
    assert "wildebeest" in cli(config, "why", lone, "fact", **elsewhere).stdout
