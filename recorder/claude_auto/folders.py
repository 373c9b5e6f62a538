"""Where Claude keeps its memory, and which files lie there."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LONGEST_BYTES = 1024 * 1024
INDEX = "MEMORY.md"


@dataclass(frozen=True, slots=True)
class Folder:
    """One memory folder."""

    path: str
    """As it is named; what is behind it may lie elsewhere. Paths here are Python's, bytes that are not UTF-8 kept."""
    slug: str
    """The name the client gave the project's folder; of `autoMemoryDirectory`, its own."""
    transcripts: str | None
    """The folder of the project's transcripts; None where all projects share this memory."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file name that is to be looked at, and what the file system says of it."""

    path: str
    stamp: str
    size: int
    mtime_ns: int
    problem: str | None = None
    """Why it is not read."""


def memory_folders(claude_dirs: Sequence[Path]) -> tuple[list[Folder], list[str]]:
    """(every memory folder there is, what was wrong where). The same folder reached twice under one name is one."""
    found: dict[tuple[str, str], Folder] = {}
    problems: list[str] = []
    for folder in [one for root in claude_dirs for one in of_projects(root, problems) if os.path.lexists(one.path)]:
        found.setdefault((folder.slug, os.path.realpath(folder.path)), folder)
    for folder in [one for root in claude_dirs for one in _of_settings(root, problems)]:
        if all(real != os.path.realpath(folder.path) for _, real in found):
            found[folder.slug, os.path.realpath(folder.path)] = folder
    return list(found.values()), problems


def of_projects(root: Path, problems: list[str]) -> list[Folder]:
    """The memory folder of each project below one of Claude's folders, also where there is none yet or no more."""
    projects = root / "projects"
    try:
        names = sorted(os.listdir(projects))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problems.append(f"{shown(projects)} cannot be read: {error.strerror}")
        return []
    return [Folder(str(projects / name / "memory"), name, str(projects / name)) for name in names]


def emptied(path: str, claude_dirs: Sequence[Path]) -> bool | None:
    """Whether the folder is gone from a place that is there; None where the place itself is gone or closed to us: it
    may come back. With a project's folder its memory is gone, where `projects` holds others: that is there then."""
    try:
        os.lstat(path)
        return False
    except FileNotFoundError:
        pass
    except OSError:
        return None
    project = os.path.dirname(path)
    try:
        os.listdir(project)
    except FileNotFoundError:
        projects = os.path.dirname(project)
        ours = any(projects == os.fspath(root / "projects") for root in claude_dirs)
        return (ours and not os.path.lexists(project) and _holds_folders(projects)) or None
    except OSError:
        return None
    return True


def _holds_folders(path: str) -> bool:
    try:
        with os.scandir(path) as entries:
            return any(entry.is_dir() for entry in entries)
    except OSError:
        return False


def _of_settings(root: Path, problems: list[str]) -> list[Folder]:
    """Of `autoMemoryDirectory`, which the client takes absolute or below `~/` (2.1.197)."""
    found = []
    for name in ("settings.json", "settings.local.json"):
        path = root / name
        try:
            settings = json.loads(path.read_bytes().decode("utf-8-sig"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError) as error:
            problems.append(f"{shown(path)} cannot be read for autoMemoryDirectory ({error}): mend it")
            continue
        said = settings.get("autoMemoryDirectory") if isinstance(settings, dict) else None
        if said is None:
            continue
        folder = os.path.normpath(os.path.expanduser(said)) if isinstance(said, str) and said else ""
        if not os.path.isabs(folder) or len(folder) < 3 or "\0" in folder:
            problems.append(f"{shown(path)}: autoMemoryDirectory {said!r} is no absolute path: mend it")
        elif os.path.lexists(folder):
            found.append(Folder(folder, os.path.basename(folder), None))
    return found


def listing(folder: Folder) -> list[Found]:
    """The markdown files directly in the folder, by name.

    Raises: OSError when the folder cannot be listed, which says nothing about its files.
    """
    real = os.path.realpath(folder.path)
    with os.scandir(folder.path) as scan:
        names = sorted(
            entry.name for entry in scan if entry.name.endswith(".md") and not entry.name.startswith((".", "#", "~"))
        )
    found = []
    for name in names:
        path = os.path.join(folder.path, name)
        try:
            found.append(_look(path, real))
        except FileNotFoundError:  # gone since it was listed, or a link that leads nowhere: the next sync sees
            found.append(Found(path, "", 0, 0, "it cannot be found"))
        except OSError as error:  # a link to itself, a name too long to follow: the others are there all the same
            found.append(Found(path, "", 0, 0, f"it cannot be looked at: {error.strerror}"))
    return found


def _look(path: str, real_folder: str) -> Found:
    target = os.path.realpath(path)
    if os.path.islink(path) and not target.startswith(real_folder + os.sep):
        return Found(path, "", 0, 0, "it leads out of its folder")
    about = os.stat(target)
    # The change time too: it betrays an edit that put the modification time back.
    stamp = f"{about.st_mtime_ns}:{about.st_ctime_ns}:{about.st_size}:{about.st_ino}"
    problem = None
    if not stat.S_ISREG(about.st_mode):
        problem = "it is no regular file"
    elif about.st_size > LONGEST_BYTES:
        problem = f"{about.st_size} bytes are too many: at most {LONGEST_BYTES}"
    return Found(path, stamp, about.st_size, about.st_mtime_ns, problem)


def read(found: Found) -> str:
    """The text of the file, with plain line ends; what is not UTF-8 shows as U+FFFD.

    Raises: OSError.
    """
    # Non-blocking, for what may have become a pipe since it was looked at.
    handle = os.open(os.path.realpath(found.path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(0, "it is no regular file")
        raw = file.read(LONGEST_BYTES)
    text = raw.decode("utf-8-sig", "replace").replace("\0", "\ufffd")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def shown(path: str | Path) -> str:
    """The path as a database and a terminal can hold it: bytes that are not UTF-8 show as `\\udcff`."""
    return os.fspath(path).encode("utf-8", "backslashreplace").decode()
