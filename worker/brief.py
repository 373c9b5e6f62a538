"""Verified memories into the prepared brief files that the SessionStart hook prints."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from recorder.config import Config
from recorder.models import Memory
from recorder.recall import fence
from recorder.store import health, memories, projects, sessions
from recorder.store.db import Connection

NOTE = "What the user verified about this project. The memory_search tool of the recorder server finds more."


def write_all(db: Connection, config: Config, now_ms: int) -> int:
    """Bring every project's brief and the index up to date; how many files changed."""
    folder = config.brief_dir
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    paused = {project for project, from_ms, until_ms in sessions.paused(db) if until_ms is None or until_ms > now_ms}
    changed = 0
    roots: dict[str, dict[str, object]] = {}
    ids: set[str] = set()
    for root, project_id in projects.roots(db):
        ids.add(project_id)
        shown = projects.brief_on(db, project_id) and project_id not in paused
        roots[root] = {"project": project_id, "brief": shown}
    for project_id in sorted(ids):
        text = compose(memories.for_brief(db, project_id, now_ms), config.brief.max_tokens)
        changed += _write(folder / f"{project_id}.txt", text)
    index: dict[str, object] = {
        "enabled": config.brief.enabled and None not in paused,
        "roots": dict(sorted(roots.items())),
    }
    reason = health.stuck(db, now_ms)
    if reason:
        index["line"] = f"recorder: {reason}; `recorder doctor` says more."
    changed += _write(folder / "index.json", json.dumps(index, ensure_ascii=False, indent=1))
    return changed


def compose(found: Sequence[Memory], max_tokens: int) -> str:
    """The brief of these memories, in their order; empty when there are none. It names how many were left out."""
    if not found:
        return ""
    said = [f"- {fence.line(memory.value)} [{memory.kind.value}, {fence.day(memory.recorded_ms)}]" for memory in found]
    return fence.fence_parts(said, max_tokens, NOTE) + "\n"


def _write(path: Path, text: str) -> bool:
    """True when the file changed; a reader sees the old text or the new one, never half."""
    content = text.encode("utf-8", "backslashreplace")
    if path.exists() and path.read_bytes() == content:
        return False
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".brief-")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    os.replace(name, path)
    return True
