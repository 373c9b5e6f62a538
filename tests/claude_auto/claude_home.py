"""A folder of Claude's with memories in it."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from recorder import claude_auto, gate
from recorder.claude_auto import Report
from recorder.config import Config
from recorder.models import Channel, Memory, Scope
from recorder.store import findings, memories, projects
from recorder.store.db import Connection
from tests.makers import T0, event_of, hook_input, project_folder, take

FRIDAY = """---
name: Ask before a release
description: A release is announced a day before
type: feedback
---

Nothing goes out on a Friday.
"""

# What the client makes of such a file (2.1.197).
FRIDAY_REWRITTEN = """---
name: Ask before a release
description: "A release is announced a day before"
metadata: 
  node_type: memory
  type: feedback
  originSessionId: 6f08055e-2202-44f0-806e-79404550dc26
  modified: 2026-08-18T01:58:17.541Z
---

Nothing goes out on a Friday.
"""


_minutes = itertools.count(1)


def memory_folder(config: Config, project: Path, claude_dir: int = 0) -> Path:
    """The memory folder the client keeps for a project's real path."""
    folder = config.claude_dirs[claude_dir] / "projects" / claude_auto.slug(str(project.resolve())) / "memory"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def known_project(db: Connection, config: Config, home: Path, name: str = "project") -> tuple[Path, str]:
    """(folder, id) of a project in which its session has begun."""
    folder = project_folder(home, name)
    return folder, begin(db, config, folder, session_in(name))


def session_in(name: str) -> str:
    """The id of the session that has begun in a project, shaped as the client's."""
    return str(uuid5(NAMESPACE_URL, name))


def begin(db: Connection, config: Config, folder: Path, session: str, transcript: str = "/nowhere/t.jsonl") -> str:
    """The id of the folder's project, after a session began there."""
    begun = hook_input("SessionStart", session=session, cwd=str(folder), source="startup")
    take(db, config, [event_of(begun | {"transcript_path": transcript})])
    found = projects.by_root(db, str(folder.resolve()))
    assert found is not None
    return found.id


def run(db: Connection, config: Config) -> Report:
    """A sync, a minute after the one before."""
    report = claude_auto.sync(db, config, T0 + next(_minutes) * 60_000)
    assert report is not None
    return report


def counts(report: Report) -> dict[str, int]:
    """What a sync did, without what it did not do."""
    names = ("created", "changed", "unchanged", "pruned", "restored", "findings", "refused")
    return {name: getattr(report, name) for name in names if getattr(report, name)}


def seen(db: Connection, project_id: str | None) -> dict[str, Memory]:
    """Key → memory, of what the project sees and is not deleted."""
    return {memory.key: memory for memory in memories.listing(db, Scope(project_id), limit=10_000)}


def asked(db: Connection) -> list[str]:
    """The values, or the kinds, of what waits for a person."""
    return [one["proposal"].get("value", one["kind"]) for one in findings.listing(db, None)]


def person(project_id: str) -> gate.Writer:
    """Who acts: a person at a terminal in the project."""
    return gate.Writer(Channel.PERSON, "terminal", Scope(project_id), T0 + 1)


def state_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and modification time of every file below, and the times of the folders."""
    return {
        str(path): (path.read_bytes() if path.is_file() else b"", os.lstat(path).st_mtime_ns)
        for path in [folder, *folder.rglob("*")]
    }
