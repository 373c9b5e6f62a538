"""What of ours stands in Claude Code's settings now."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recorder.errors import SettingsError
from recorder.install import content, files, mcp_entry, notices, places, record, settings, wake
from recorder.install import home as home_folder
from recorder.install import text as json_text
from recorder.install.places import Target


@dataclass(frozen=True, slots=True)
class Place:
    """One place `install` writes to."""

    path: Path
    keys: tuple[str, ...]
    """Where in the file the MCP server stands; empty for hook entries."""
    events: tuple[str, ...] = ()
    """Events with an entry of ours."""
    missing: tuple[str, ...] = ()
    """Events without the entry of this version, or `mcp`."""
    problem: str | None = None

    @property
    def present(self) -> bool:
        return bool(self.events) or (bool(self.keys) and not self.missing and self.problem is None)


@dataclass(frozen=True, slots=True)
class Status:
    """Where ours is, and what keeps it from working."""

    home: Path
    places: tuple[Place, ...]
    stale_hooks: tuple[str, ...]
    wake: bool
    """Whether `home/wake` is the one of this version and interpreter."""
    worker_lives: bool
    paused_until_ms: int | None
    warnings: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Hooks and server stand somewhere, whole, and the home is of this version."""
        whole = [place for place in self.places if place.present and not place.missing]
        hooks, server = any(not place.keys for place in whole), any(place.keys for place in whole)
        return hooks and server and self.wake and not self.stale_hooks


def installed(
    environ: Mapping[str, str],
    *,
    interpreter: str,
    source_root: Path,
    project_dir: Path | None = None,
    config_dirs: Sequence[Path] = (),
    managed: Path = places.MANAGED,
) -> Status:
    """The state of every place that this environment or the record of earlier installs names.

    Raises: SettingsError when the record or the source cannot be read.
    """
    goal = content.aim(environ, interpreter=interpreter, source_root=source_root)
    recorded = [mark.target for mark in record.load(goal.home)]
    targets = tuple(dict.fromkeys((*places.targets(environ, "user", None, config_dirs), *recorded)))
    expected = wake.script(goal.home, os.path.abspath(interpreter)).encode()
    return Status(
        home=goal.home,
        places=tuple(_place(goal, target) for target in targets),
        stale_hooks=home_folder.stale_hooks(goal.home, source_root / "hooks"),
        wake=files.read(goal.home / "wake") == expected and os.access(goal.home / "wake", os.X_OK),
        worker_lives=wake.lives(goal.home),
        paused_until_ms=home_folder.paused_until(goal.home),
        warnings=notices.of(places.deciding(environ, targets, project_dir, managed)),
    )


def _place(goal: content.Aim, target: Target) -> Place:
    where = str(target.path)
    try:
        text = json_text.decode(files.read(target.path) or b"", where)[1]
        if target.keys:
            server = mcp_entry.standing(text, target.keys, where)
            return Place(target.path, target.keys, missing=() if server == goal.server else ("mcp",))
        have = settings.events(text, settings.recognise(goal.home), where)
    except SettingsError as error:
        return Place(target.path, target.keys, problem=str(error))
    names = {entry.name for entry in have}
    missing = dict.fromkeys(entry.event for entry in goal.entries if entry.name not in names)
    return Place(target.path, target.keys, tuple(dict.fromkeys(entry.event for entry in have)), tuple(missing))
