"""Claude's memory files become memories, and what a person did to those stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from recorder.config import Config
from recorder.models import MemoryKind, Trust
from recorder.store.db import Connection
from tests.claude_auto.claude_home import FEEDBACK, known_project, memory_folder, run, seen


def test_a_file_becomes_a_candidate_of_its_project(db: Connection, config: Config, own_home: Path) -> None:
    folder, project_id = known_project(db, config, own_home)
    path = memory_folder(config, folder) / "feedback_release.md"
    path.write_text(FEEDBACK)
    report = run(db, config)
    assert (report.files, report.created, report.problems) == (1, 1, [])
    memory = seen(db, project_id)["feedback_release"]
    assert memory.namespace == f"claude.{path.parent.parent.name}"
    assert memory.kind is MemoryKind.PREFERENCE and memory.trust is Trust.CANDIDATE
    assert memory.value.startswith("A release is announced a day before\n\nNothing goes out on a Friday.")
    assert memory.tags == ("auto-imported", "claude-memory") and memory.importance == 0.6
    assert memory.source == f"claude-auto:{path}"
    assert seen(db, None) == {}
