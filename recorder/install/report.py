"""What was done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one place in a file."""

    path: Path
    keys: tuple[str, ...]
    """Where in the file the MCP server stands; empty for hook entries."""
    what: str
    """`created`, `merged`, `unchanged`; on the way out `restored` (its old bytes), `taken out`, `removed`."""
    backup: Path | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What `install` or `uninstall` did, or under `dry_run` would do."""

    home: Path
    changes: tuple[Change, ...]
    warnings: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    """Names of the hooks whose copy in the home is new."""
    worker_stopped: bool = False
    purged: bool = False
    dry_run: bool = False
