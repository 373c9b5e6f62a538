"""The recorder's own folder: made, filled with copies of the hooks, paused, and taken away."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from recorder.errors import SettingsError
from recorder.install import files, places

FOLDERS = (
    "spool",
    "spool/tmp",
    "spool/new",
    "spool/bad",
    "hooks",
    "brief",
    "models",
    "logs",
    "backups",
    "backups/settings",
    "off",
)
HOOKS = ("capture.sh", "capture.py", "brief.py", "lessons.py")

# The last second that a 32-bit time holds: what every file system and every `test -nt` understands.
OPEN_END_S = 2**31 - 1


def check(home: Path, environ: Mapping[str, str]) -> None:
    """Nothing, when the path can be a home of ours.

    Raises: SettingsError when it is a folder that holds other things: it is made private and may be purged.
    """
    real, user = Path(os.path.realpath(home)), Path(os.path.realpath(places.user_dir(environ)))
    if real == user or real in user.parents:
        raise SettingsError(f"RECORDER_HOME={home} holds your own files: name a folder of its own")


def prepare(home: Path) -> None:
    """The folders are there, and for their owner only."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    home.chmod(0o700)
    for name in FOLDERS:
        (home / name).mkdir(mode=0o700, exist_ok=True)


def copy_hooks(home: Path, source: Path) -> tuple[str, ...]:
    """The names of the hooks that were new or other than those in the source; each replaced in one step."""
    shipped = [name for name in HOOKS if (source / name).is_file()]
    return tuple(name for name in shipped if files.put(home / "hooks" / name, (source / name).read_bytes(), 0o700))


def stale_hooks(home: Path, source: Path) -> tuple[str, ...]:
    """The names of the hooks whose copy is missing or of another version."""
    shipped = [name for name in HOOKS if (source / name).is_file()]
    return tuple(name for name in shipped if files.read(home / "hooks" / name) != (source / name).read_bytes())


def pause(home: Path, until_ms: int | None) -> None:
    """No capture and no brief until then; None: until `resume`."""
    path = home / "paused"
    path.touch(mode=0o600)
    end_s = OPEN_END_S if until_ms is None else min(until_ms / 1000, OPEN_END_S)
    os.utime(path, (end_s, end_s))


def resume(home: Path) -> bool:
    """False when nothing was paused."""
    path = home / "paused"
    if not path.exists():
        return False
    path.unlink()
    return True


def paused_until(home: Path) -> int | None:
    """The end of the pause in milliseconds, which may have gone by; None without one."""
    try:
        return int((home / "paused").stat().st_mtime * 1000)
    except FileNotFoundError:
        return None


def open_ended(until_ms: int) -> bool:
    """Whether this end of a pause means: until `resume`."""
    return until_ms >= OPEN_END_S * 1000


def check_purge(home: Path, environ: Mapping[str, str]) -> None:
    """Nothing, when the folder looks like a home of ours.

    Raises: SettingsError when it does not.
    """
    check(home, environ)
    if not (home / "recorder.db").is_file() and not (home / "spool").is_dir():
        raise SettingsError(f"{home} has neither recorder.db nor spool: it is not a recorder home, nothing was removed")


def purge(home: Path) -> bool:
    """All of it is gone, the folder behind a symlink too. False when there was none."""
    if not home.exists():
        return False
    shutil.rmtree(os.path.realpath(home))
    if home.is_symlink():
        home.unlink()
    return True
