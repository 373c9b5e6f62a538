"""What one sync did."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


def undecided(files: int) -> list[str]:
    """What a person is to know of files whose project nobody knows; nothing where there are none."""
    if not files:
        return []
    said = "1 memory file is" if files == 1 else f"{files} memory files are"
    return [
        f"{said} undecided, as nobody knows the project: `recorder list --undecided` shows them to you alone; begin a"
        " session in the project once, or `recorder projects alias DIR PROJECT`, and the next sync gives them to it"
    ]


@dataclass(slots=True)
class Report:
    """What one sync did. Files are counted as they lie there, all else in memories."""

    files: int = 0
    created: int = 0
    changed: int = 0
    unchanged: int = 0
    pruned: int = 0
    restored: int = 0
    findings: int = 0
    refused: int = 0
    """What the gate keeps out: a person rejected, corrected or forgot it."""
    paused: int = 0
    """Files that wait until recording goes on."""
    undecided: int = 0
    """Files of which nobody knows the project."""
    beyond_limit: int = 0
    """Lines that Claude itself does not load."""
    beyond_files: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    at_ms: int = 0

    def count(self, what: str) -> None:
        """One more of `created`, `changed`, …"""
        setattr(self, what, getattr(self, what) + 1)

    def note_beyond(self, path: str, lines: int) -> None:
        """So many lines of the file are not loaded by Claude."""
        self.beyond_limit += lines
        self.beyond_files[path] = lines

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
