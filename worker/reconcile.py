"""Transcripts that grew without a hook saying so."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from stat import S_ISREG

from recorder.config import Config
from recorder.store import health, jobs, sessions
from recorder.store.db import Connection, transaction

RECONCILE = "reconcile"
LOOK_EVERY_MS = 60_000
# After a session's end the client writes no more than its last lines.
ENDED_QUIET_MS = 30_000


@dataclass(frozen=True, slots=True)
class Found:
    """A session's own transcript, as it lies there."""

    path: str
    size_bytes: int
    changed_ms: int

    @property
    def session_id(self) -> str:
        return PurePath(self.path).stem


def transcripts(claude_dirs: Iterable[Path]) -> Iterator[Found]:
    """The transcripts under `projects/*/` of Claude Code's folders, told from names and sizes alone.

    What a link leads to is not Claude's. `agent-*.jsonl` belong to a session beside them (clients before 2.1.2).
    """
    for folder in claude_dirs:
        for project in _entries(folder / "projects"):
            if not project.is_symlink():
                yield from filter(None, map(_found, _entries(project.path)))


def due_ms(found: Found, known: sessions.Standing, *, idle_ms: int) -> int | None:
    """When the transcript is to be read: once its session has been quiet. None where nothing is to be read."""
    if known.off or known.offset == found.size_bytes:
        return None
    return found.changed_ms + (ENDED_QUIET_MS if known.closed else idle_ms)


@dataclass(slots=True)
class Look:
    """Asks for the reading of what no hook told of. Knows which files need no second thought until they change."""

    config: Config
    thought_of: dict[str, tuple[int, int]] = field(default_factory=dict)

    def once(self, db: Connection, now_ms: int) -> int:
        """Look at every transcript; how many are to be read. Nothing where hooks were never registered."""
        since = health.recording_since(db)
        if not since:
            return 0
        first_ms = min(since.values())
        changed = {
            found.path: found
            for found in transcripts(self.config.claude_dirs)
            if found.changed_ms >= first_ms and self.thought_of.get(found.path) != (found.size_bytes, found.changed_ms)
        }
        known = sessions.standing(db, {path: found.session_id for path, found in changed.items()})
        # A session that hooks speak of is read by its own jobs.
        settled = {path: found for path, found in changed.items() if not known[path].live}
        idle_ms = int(self.config.worker.session_idle_minutes * 60_000)
        wanted = {path: due_ms(found, known[path], idle_ms=idle_ms) for path, found in settled.items()}
        asked = {path: due for path, due in wanted.items() if due is not None}
        if asked:
            with transaction(db):
                for path, due in asked.items():
                    jobs.ask(db, RECONCILE, path, due_ms=due, now_ms=now_ms, behind=True)
        self.thought_of |= {path: (found.size_bytes, found.changed_ms) for path, found in settled.items()}
        return len(asked)


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # not there, or closed to us: nothing to look at
        return []


def _found(entry: os.DirEntry[str]) -> Found | None:
    if not entry.name.endswith(".jsonl") or entry.name.startswith("agent-"):
        return None
    try:
        entry.path.encode()
        there = entry.stat(follow_symlinks=False)
    except (UnicodeEncodeError, OSError):  # no text, which SQLite would not hold, or gone since
        return None
    return Found(entry.path, there.st_size, there.st_mtime_ns // 1_000_000) if S_ISREG(there.st_mode) else None
