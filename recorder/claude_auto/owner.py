"""Whose memory a folder is."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from recorder.capture import git, project
from recorder.claude_auto.folders import Folder, shown
from recorder.store import projects, sessions
from recorder.store.db import Connection

LONGEST_SLUG = 200
TRANSCRIPTS_READ = 10
LINES_READ = 20
LONGEST_LINE = 64 * 1024


def slug(path: str) -> str:
    """The name the client gives the folder of a project at this real path.

    Source: what 2.1.197 does: each UTF-16 unit outside [a-zA-Z0-9] becomes `-`; past 200 of them, the first 200 and
    the base 36 of the path's 32-bit hash as Java counts it.
    """
    raw = path.encode("utf-16-le", "surrogatepass")
    units = [int.from_bytes(raw[at : at + 2], "little") for at in range(0, len(raw), 2)]
    plain = "".join(chr(unit) if unit < 128 and chr(unit).isalnum() else "-" for unit in units)
    if len(plain) <= LONGEST_SLUG:
        return plain
    hashed = 0
    for unit in units:
        hashed = (hashed * 31 + unit) & 0xFFFFFFFF
    return f"{plain[:LONGEST_SLUG]}-{_base36(min(hashed, 2**32 - hashed))}"


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest] + digits
    return digits or "0"


@dataclass(slots=True)
class Owners:
    """Answers for one sync; remembers the folders it has looked at."""

    db: Connection
    worktrees: str
    now_ms: int
    by_slug: dict[str, set[str]] | None = None
    known: dict[str, set[str]] = field(default_factory=dict)

    def of(self, folder: Folder, session_id: str | None) -> str | None:
        """The id of the project that what stands in the folder belongs to; None where nobody can tell.

        The project whose root gives the folder its name, else the one whose sessions lie beside it; where there are
        several, or all projects share the folder, the session that wrote the file decides.
        """
        candidates = self._candidates(folder)
        if len(candidates) == 1:
            return next(iter(candidates))
        session = sessions.get(self.db, session_id) if session_id else None
        if session is None or session.project_id is None:
            return None
        return session.project_id if not candidates or session.project_id in candidates else None

    def _candidates(self, folder: Folder) -> set[str]:
        if folder.transcripts is None:
            return set()
        if folder.path not in self.known:
            self.known[folder.path] = self._roots().get(folder.slug, set()) or self._beside(folder.transcripts)
        return self.known[folder.path]

    def _roots(self) -> dict[str, set[str]]:
        if self.by_slug is None:
            self.by_slug = {}
            for root, project_id in projects.roots(self.db):
                repository = git.at(root)
                # The client keeps one memory for all worktrees, under the main one.
                for path in {root, repository.main_root if repository else root}:
                    self.by_slug.setdefault(slug(path), set()).add(project_id)
        return self.by_slug

    def _beside(self, transcripts: str) -> set[str]:
        found = sessions.projects_in(self.db, shown(transcripts))
        return found or {
            resolved.id
            for cwd in _first_cwds(transcripts)
            if (resolved := project.resolve(self.db, cwd, now_ms=self.now_ms, worktrees=self.worktrees))
        }


def _first_cwds(transcripts: str) -> Iterator[str]:
    """Where the sessions of the folder began, as far as their transcripts are easily read."""
    try:
        names = sorted(name for name in os.listdir(transcripts) if name.endswith(".jsonl"))
    except OSError:
        return
    for name in names[-TRANSCRIPTS_READ:]:
        path = os.path.join(transcripts, name)
        if not os.path.isfile(path):
            continue
        try:
            with open(path, "rb") as file:
                first = [file.readline(LONGEST_LINE) for _ in range(LINES_READ)]
        except OSError:
            continue
        yield from islice(filter(None, map(_cwd, first)), 1)


def _cwd(line: bytes) -> str | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    cwd = record.get("cwd") if isinstance(record, dict) else None
    return cwd if isinstance(cwd, str) and re.match(r"[/A-Za-z]", cwd) else None
