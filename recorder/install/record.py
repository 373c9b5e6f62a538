"""`home/install.json`: what we changed in which file, so that it can be undone exactly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recorder.errors import SettingsError
from recorder.install import files
from recorder.install.places import Target

NAME = "install.json"


@dataclass(frozen=True, slots=True)
class Mark:
    """What was done to one target."""

    path: str
    keys: tuple[str, ...]
    existed: bool
    written: str
    """SHA-256 of the file as we left it."""
    original: str | None
    """The backup that holds the file as it was without us; None when there is none."""
    kept: tuple[str, ...]
    """Containers of ours-to-be that stood there before."""
    made: tuple[str, ...] = ()
    """Folders we made for it, outermost first."""

    @property
    def target(self) -> Target:
        return Target(Path(self.path), self.keys)


def load(home: Path) -> tuple[Mark, ...]:
    """The marks of earlier installs.

    Raises: SettingsError when the record cannot be read.
    """
    raw = files.read(home / NAME)
    if raw is None:
        return ()
    try:
        return tuple(_mark(row) for row in json.loads(raw)["files"])
    except (ValueError, TypeError, KeyError) as error:
        remedy = "remove it; entries are then known by their paths alone"
        raise SettingsError(f"{home / NAME} cannot be read ({error}): {remedy}") from error


def _mark(row: Mapping[str, Any]) -> Mark:
    keys, kept, made = (tuple(row[name]) for name in ("keys", "kept", "made"))
    return Mark(row["path"], keys, row["existed"], row["written"], row["original"], kept, made)


def save(home: Path, marks: Sequence[Mark]) -> None:
    """The record holds these marks."""
    rows = [asdict(mark) for mark in sorted(marks, key=lambda mark: (mark.path, mark.keys))]
    files.put(home / NAME, json.dumps({"version": 1, "files": rows}, indent=2).encode() + b"\n", 0o600)


def back_up(home: Path, path: Path, raw: bytes, now_ms: int) -> str:
    """The name, below the home, of a copy that only its owner can read."""
    stamp = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%dT%H%M%S%f")[:-3]
    folder, stem, n = home / "backups" / "settings", path.stem.lstrip("."), 1
    copy = folder / f"{stem}-{stamp}.json"
    while copy.exists() and copy.read_bytes() != raw:
        n += 1
        copy = folder / f"{stem}-{stamp}-{n}.json"
    files.put(copy, raw, 0o600)
    return str(copy.relative_to(home))
