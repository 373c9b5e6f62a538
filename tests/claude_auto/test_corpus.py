"""Memory files of strangers, as they lie in public repositories."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from recorder.config import Config
from recorder.models import MemoryKind, Scope
from recorder.recall import rank
from recorder.store.db import Connection
from tests.claude_auto.claude_home import counts, known_project, memory_folder, run, seen, state_of
from tests.makers import T0

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus" / "memory"

pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared")


@pytest.fixture
def places(db: Connection, config: Config, own_home: Path) -> dict[str, tuple[Path, str]]:
    """Name → (memory folder, project id), a project for each folder of the corpus."""
    found = {}
    for source in sorted(path for path in CORPUS.iterdir() if path.is_dir()):
        folder, project_id = known_project(db, config, own_home, source.name)
        memory = memory_folder(config, folder)
        shutil.copytree(source, memory, dirs_exist_ok=True)
        found[source.name] = (memory, project_id)
    return found


def test_every_file_comes_in_once_and_nothing_is_left_out(
    db: Connection, config: Config, places: dict[str, tuple[Path, str]]
) -> None:
    before = state_of(config.claude_dirs[0])
    report = run(db, config)
    files = [path for memory, _ in places.values() for path in memory.glob("*.md")]
    assert report.problems == [] and report.files == len(files)
    assert counts(report) == {"created": report.created}
    for memory, project_id in places.values():
        there = seen(db, project_id)
        assert {path.stem for path in memory.glob("*.md") if path.stem != "MEMORY"} <= set(there)
        assert all(found.value.strip() and found.project_id == project_id for found in there.values())
    assert counts(run(db, config)) == {"unchanged": report.created}
    assert state_of(config.claude_dirs[0]) == before


def test_every_word_of_every_file_is_in_a_memory_but_titles_and_the_index(
    db: Connection, config: Config, places: dict[str, tuple[Path, str]]
) -> None:
    run(db, config)
    for memory, project_id in places.values():
        held = " ".join(found.value for found in seen(db, project_id).values())
        names = [path.name for path in memory.glob("*.md")]
        for path in memory.glob("*.md"):
            body = path.read_text(encoding="utf-8")
            if body.startswith("---\n"):
                body = body.split("\n---\n", 1)[1]
            for line in body.splitlines():
                pointer = line.startswith("- [") and any(f"({name})" in line for name in names)
                if pointer or line.startswith("#"):
                    continue
                # Redaction may take a word of a line, not the line.
                words = [word for word in line.split() if word.isalpha()]
                assert all(word in held for word in words), f"{path.name}: {len(line)} characters are lost"


def test_malformed_front_matter_keeps_kind_and_description(
    db: Connection, config: Config, places: dict[str, tuple[Path, str]]
) -> None:
    run(db, config)
    memory = seen(db, places["idx-58099935885"][1])["upload_large_folder"]
    assert memory.kind is MemoryKind.PREFERENCE and memory.value.startswith("CRITICAL: ")


def test_what_a_file_says_is_recalled_in_its_project(
    db: Connection, config: Config, places: dict[str, tuple[Path, str]]
) -> None:
    run(db, config)
    (_, project_id), question = places["gonogo"], "act warnings in tests"
    found = rank.recall(db, question, Scope(project_id), k=3, vector=None, vector_status="unavailable: test", now_ms=T0)
    assert found.hits[0].key == "feedback_act_warnings"


def test_an_index_whose_links_dangle_keeps_them_and_a_template_is_empty(
    db: Connection, config: Config, places: dict[str, tuple[Path, str]]
) -> None:
    run(db, config)
    assert len([key for key in seen(db, places["agwinterm"][1]) if key.startswith("MEMORY#")]) == 4
    assert seen(db, places["claude-code-pr"][1]) == {}
