"""Out of Claude Code's settings."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from recorder import worker_socket
from recorder.errors import SettingsError, WorkerUnavailable
from recorder.install import command, content, files, places, record, wake
from recorder.install import home as home_folder
from recorder.install.places import Target
from recorder.install.record import Mark
from recorder.install.report import Change, Report

STOP_TIMEOUT_S = 10.0


def uninstall(
    environ: Mapping[str, str],
    *,
    project_dir: Path | None = None,
    config_dirs: Sequence[Path] = (),
    purge: bool = False,
) -> Report:
    """What was done: ours is out of every place that `install` knows of, and the worker was told to end.

    Raises: SettingsError when a file with ours in it cannot be read, before anything is changed; when the home to be
    purged is not one of ours, or its worker does not end.
    """
    home = content.absolute_home(environ)
    marks = {mark.target: mark for mark in record.load(home)}
    users = places.targets(environ, "user", None, config_dirs)
    local = places.targets(environ, "project", project_dir) if project_dir else ()
    targets = sorted({*marks, *users, *local}, key=lambda target: (bool(target.keys), target.path, target.keys))
    problems = {target: why for target in targets if (why := _problem(home, target, marks.get(target)))}
    if purge and home.exists():
        home_folder.check_purge(home, environ)
    changes = [
        change
        for target in targets
        if target not in problems and (change := _take_out(home, target, marks.get(target)))
    ]
    for mark in marks.values():
        _remove_folders(mark.made)
    unlinked, stuck = _leave(home)
    stopped = _stop(home)
    purged = purge and _purge(home)
    return Report(home, (*changes, *unlinked), (*problems.values(), *stuck), worker_stopped=stopped, purged=purged)


def _problem(home: Path, target: Target, mark: Mark | None) -> str | None:
    """Why this file is passed by: it cannot be read, and does not look as if ours were in it.

    Raises: SettingsError when it does look so, or cannot be written.
    """
    try:
        raw = files.read(target.path)
        if content.without(home, target, mark, raw) != raw:
            files.check_writable(target.path)
    except SettingsError as error:
        if _mentioned(target):
            raise
        return f"{error} (it does not mention the recorder)"
    return None


def _mentioned(target: Target) -> bool:
    """Whether the file may hold something of ours, told without reading it as JSON."""
    try:
        raw = target.path.read_bytes()
    except OSError:
        return False  # what cannot be opened cannot be cleaned either; the report names it
    needles = (b"mcp_server", b"recorder-mcp") if target.keys else (b"hooks/capture.sh", b"hooks/brief.py")
    return any(needle in raw for needle in needles)


def _take_out(home: Path, target: Target, mark: Mark | None) -> Change | None:
    old = files.read(target.path)
    if content.without(home, target, mark, old) == old:
        return None
    whole = content.original(home, mark, old) is not None
    new = files.edit(target.path, lambda raw: content.without(home, target, mark, raw), lock=bool(target.keys))
    return Change(target.path, target.keys, "removed" if new is None else "restored" if whole else "taken out")


def _remove_folders(made: Sequence[str]) -> None:
    """Those that we made are gone, unless something came to stand in them."""
    for path in reversed(made):
        if os.path.isdir(path) and not os.listdir(path):
            os.rmdir(path)


def _leave(home: Path) -> tuple[list[Change], list[str]]:
    """(what was done, what could not be): nothing calls us any more, and no worker is started. Where the home cannot
    be written, it is left as it is: without entries in the settings nothing looks at it."""
    done: list[Change] = []
    left: list[str] = []
    steps: tuple[Callable[[], Change | None], ...] = (partial(command.unlink, home), partial(_disarm, home))
    for step in steps:
        try:
            change = step()
        except (SettingsError, OSError) as error:
            left.append(f"{error}: this is left behind, and does no harm")
        else:
            done += [change] if change else []
    return done, left


def _disarm(home: Path) -> None:
    """No worker is started any more."""
    for name in (record.NAME, command.NAME):
        if (home / name).exists():
            (home / name).unlink()
    if (home / "wake").exists():
        # Not executable, but there: by it the hooks of sessions that still run know the home they stand in.
        files.put(home / "wake", b"", 0o600)


def _stop(home: Path) -> bool:
    try:
        worker_socket.request(home, "stop", timeout_s=STOP_TIMEOUT_S)
    except WorkerUnavailable:
        return False
    return True


def _purge(home: Path) -> bool:
    end = time.monotonic() + STOP_TIMEOUT_S
    while wake.lives(home):
        if time.monotonic() > end:
            raise SettingsError(f"a worker still holds {home / wake.LOCK}: end it (recorder down), then purge again")
        time.sleep(0.05)
    return home_folder.purge(home)
