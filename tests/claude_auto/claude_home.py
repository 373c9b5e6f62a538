"""A folder of Claude's with memories in it."""

from __future__ import annotations

from pathlib import Path

from recorder import claude_auto
from recorder.claude_auto import Report
from recorder.config import Config
from recorder.models import Memory, Scope
from recorder.store import memories, projects
from recorder.store.db import Connection
from tests.makers import T0, hook_input, event_of, project_folder, take

FEEDBACK = """---
name: Ask before a release
description: A release is announced a day before
metadata: 
  node_type: memory
  type: feedback
  originSessionId: s1
---

Nothing goes out on a Friday.

**Why:** Nobody is there to mend it.
"""


def memory_folder(config: Config, project: Path, claude_dir: int = 0) -> Path:
    """The memory folder the client keeps for a project's real path."""
    folder = config.claude_dirs[claude_dir] / "projects" / claude_auto.slug(str(project.resolve())) / "memory"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def known_project(db: Connection, config: Config, home: Path, name: str = "project") -> tuple[Path, str]:
    """(folder, id) of a project in which a session has begun."""
    folder = project_folder(home, name)
    begun = hook_input("SessionStart", session=f"session-{name}", cwd=str(folder), source="startup")
    take(db, config, [event_of(begun)])
    found = projects.by_root(db, str(folder.resolve()))
    assert found is not None
    return folder, found.id


def run(db: Connection, config: Config, now_ms: int = T0) -> Report:
    report = claude_auto.sync(db, config, now_ms)
    assert report is not None
    return report


def seen(db: Connection, project_id: str | None) -> dict[str, Memory]:
    """Key → memory, of what the project sees and is not deleted."""
    return {memory.key: memory for memory in memories.listing(db, Scope(project_id), limit=10_000)}
