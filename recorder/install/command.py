"""The name `recorder` on the person's PATH: a link of ours in `~/.local/bin`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from recorder.install import content, files, places
from recorder.install.report import Change

NAME = "command.json"
LINK = Path(".local") / "bin" / "recorder"


def link(environ: Mapping[str, str], program: Path) -> Change | None:
    """The link to the program, when it is new or leads there only now. None where it cannot be: its folder is not on
    the PATH, or something that is not ours has the name already.

    Raises: SettingsError or OSError when the disk refuses.
    """
    home, path = content.absolute_home(environ), places.user_dir(environ) / LINK
    if not program.is_file() or not _on_path(path.parent, environ):
        return None
    there, ours = _target(path), _recorded(home)
    if os.path.lexists(path) and (there is None or ours != (str(path), there) or there == str(program)):
        return None
    made = [str(folder) for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    record = {"link": str(path), "target": str(program), "made": made or _made(home)}
    # Before the link: a crash in between leaves a record of nothing, never a link that nobody takes away.
    files.put(home / NAME, json.dumps(record).encode() + b"\n", 0o600)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(program)
    return Change(path, (), f"linked to {program}")


def unlink(home: Path) -> Change | None:
    """The link, which is gone now with the folders made for it; None when there is none of ours.

    Raises: SettingsError or OSError when the disk refuses.
    """
    ours = _recorded(home)
    if ours is None or _target(Path(ours[0])) != ours[1]:
        return None
    Path(ours[0]).unlink()
    for folder in _made(home):
        if os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)
    return Change(Path(ours[0]), (), "removed")


def _on_path(folder: Path, environ: Mapping[str, str]) -> bool:
    named = environ.get("PATH", "").split(os.pathsep)
    return os.path.realpath(folder) in {os.path.realpath(entry) for entry in named if os.path.isabs(entry)}


def _target(path: Path) -> str | None:
    """What the link holds; None when it is no link."""
    return os.readlink(path) if path.is_symlink() else None


def _recorded(home: Path) -> tuple[str, str] | None:
    """(link, what it leads to) as we made it."""
    found = _record(home)
    link, target = found.get("link"), found.get("target")
    return (link, target) if isinstance(link, str) and isinstance(target, str) else None


def _made(home: Path) -> list[str]:
    """The folders we made for the link, innermost first."""
    made = _record(home).get("made")
    return [folder for folder in made if isinstance(folder, str)] if isinstance(made, list) else []


def _record(home: Path) -> Mapping[str, object]:
    raw = files.read(home / NAME)
    try:
        found = json.loads(raw or b"{}")
    except ValueError:
        return {}  # nothing is ours then, and nothing of others is touched
    return found if isinstance(found, dict) else {}
