"""Where Claude Code keeps its transcripts.

Layout seen in clients 1.0 to 2.1.220: `projects/<slug>/<session>.jsonl`, agents beside it (`agent-*.jsonl`) or in
`<session>/subagents/**`.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recorder.capture import transcript
from recorder.config import Config
from recorder.errors import NotFound
from scripts.backfill.logs import Found, Left, Log, as_text

CLEANUP_DAYS = 30
"""`cleanupPeriodDays` where no settings say otherwise (https://code.claude.com/docs/en/settings)."""

HEAD_BYTES = 4 * 1024 * 1024
"""So far into a file its first record and its first folder are looked for."""
FOREIGN_LINES = 400
"""So many lines that are no record of Claude Code's speak against a file, where none is."""

DAY_MS = 86_400_000

# A link that leads to itself does so tomorrow too, and a file in a folder's place is none: nothing is missed.
_FOR_EVER = frozenset({errno.ELOOP, errno.ENOTDIR})

_OTHER_FOLDERS = frozenset({"tool-results", "memory"})
_JOURNAL = "journal.jsonl"
_MARKS = frozenset({"uuid", "sessionId", "leafUuid", "messageId"})
# Without any of the marks they are Claude Code's too, where nothing else stands in the file (clients 2.0 to 2.1.220).
_UNMARKED = frozenset(
    "mode permission-mode summary ai-title custom-title agent-name pr-link last-prompt queue-operation"
    " file-history-snapshot file-history-delta".split()
)
_SESSION_NAME = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}")


def find(config: Config, paths: Sequence[Path]) -> Found:
    """Every transcript under the config folders; or under the paths, where a folder with `projects` in it is one.

    Raises: NotFound for a given path that is not there.
    """
    found = Found()
    seen: set[str] = set()
    tops = [(folder, folder / "projects") for folder in config.claude_dirs]
    for path, left in _files(tops, paths):
        real = os.path.realpath(path)
        if left is not None:
            found.left.append(left)
        elif real not in seen:
            seen.add(real)
            log = _log(path, [folder for folder, _ in tops])
            if isinstance(log, Log):
                found.logs.append(log)
            else:
                found.left.append(log)
    return found


def _files(tops: list[tuple[Path, Path]], paths: Sequence[Path]) -> Iterator[tuple[Path, Left | None]]:
    """Every file that may be a transcript, or a place that cannot be looked into. Given config folders join `tops`."""
    if not paths:
        for _, projects in tops:
            if _is_there(projects):
                yield from _below(projects)
        return
    for given in paths:
        path = Path(os.path.abspath(given))
        if not path.exists():
            raise NotFound(f"there is no file or folder {given}")
        if not path.is_dir():
            yield path, None
            continue
        inner = path / "projects"
        if inner.is_dir():
            tops.append((path, inner))
        yield from _below(inner if inner.is_dir() else path)


def _below(top: Path) -> Iterator[tuple[Path, Left | None]]:
    seen: set[tuple[int, int]] = set()
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        try:
            status = folder.stat()
            if (status.st_dev, status.st_ino) in seen:
                yield folder, Left(folder, "leads to a folder that is read already")
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                entered = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            failed = error.errno not in _FOR_EVER and not (error.errno == errno.ENOENT and folder.is_symlink())
            yield folder, Left(folder, f"cannot be opened: {error.strerror}", failed)
            continue
        below = []
        for entry in entered:
            path = folder / entry.name
            try:
                is_folder = entry.is_dir()
            except OSError:  # a link: what is wrong with it is said of a transcript alone
                is_folder = False
            if is_folder:
                below += [path] if entry.name not in _OTHER_FOLDERS else []
            elif entry.name.endswith(".jsonl") and entry.name != _JOURNAL:
                yield path, None
        waiting += reversed(below)


def _is_there(path: Path) -> bool:
    """Whether there is something, or nobody can say."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _log(path: Path, folders: Sequence[Path]) -> Log | Left:
    """What the first records of a file say of it."""
    if as_text(path) != str(path):
        return Left(path, "has a name that is not UTF-8")
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return Left(path, "is not a file")
        if status.st_size == 0:
            return Left(path, "is empty")
        head = _head(path)
    except FileNotFoundError:
        # A link that leads nowhere leads nowhere tomorrow too: nothing is missed.
        return Left(path, "is a link that leads nowhere") if path.is_symlink() else Left(path, "is gone", failed=True)
    except OSError as error:
        return Left(path, f"cannot be read: {error.strerror}", failed=error.errno not in _FOR_EVER)
    if not head.known:
        return Left(path, "holds no record of Claude Code")
    changed_ms = status.st_mtime_ns // 1_000_000
    days = next((_cleanup_days(folder) for folder in folders if path.is_relative_to(folder / "projects")), None)
    return Log(
        path=path,
        session_id=_session_of(path, head.session_id),
        main=not path.stem.startswith("agent-"),
        cwd=head.cwd,
        size_bytes=status.st_size,
        changed_ms=changed_ms,
        deleted_ms=None if days is None else changed_ms + int(days * DAY_MS),
    )


@dataclass(slots=True)
class _Head:
    known: bool = False
    session_id: str | None = None
    cwd: str | None = None
    unmarked: int = 0
    foreign: int = 0

    def see(self, record: dict[str, Any] | None) -> None:
        """A record, or None for a line that holds none."""
        if record is None:
            self.foreign += 1
            return
        ours = _is_ours(record)
        unmarked = not ours and record.get("type") in _UNMARKED
        self.known = self.known or ours
        self.unmarked += unmarked
        self.foreign += not (ours or unmarked)
        self.session_id = self.session_id or _text(record, "sessionId")
        self.cwd = self.cwd or _text(record, "cwd")

    @property
    def whole(self) -> bool:
        return self.known and self.cwd is not None and self.session_id is not None

    @property
    def strange(self) -> bool:
        return not self.known and self.foreign >= FOREIGN_LINES


def _head(path: Path) -> _Head:
    head = _Head()
    read = 0
    with path.open("rb") as file:
        while read < HEAD_BYTES and not (head.whole or head.strange) and (line := file.readline(HEAD_BYTES)):
            read += len(line)
            if read >= HEAD_BYTES and not line.endswith(b"\n"):
                break
            if line.strip(b" \t\r\n\x00"):
                head.see(transcript.first_record(line))
    # One record of more than that is no sign of another tool, and neither are records that only Claude Code writes.
    head.known = head.known or (not head.foreign and (head.unmarked > 0 or read >= HEAD_BYTES))
    return head


def _is_ours(record: dict[str, Any]) -> bool:
    """Other tools write `role` and `content` beside each other, or a `type` with none of our marks."""
    kind = record.get("type")
    if kind in ("user", "assistant"):
        message = record.get("message")
        return isinstance(message, dict) and "content" in message
    return isinstance(kind, str) and bool(_MARKS & record.keys())


def _session_of(path: Path, named: str | None) -> str:
    """The session a file belongs to. One that is named after a session may begin with records of another: a resume
    copied them."""
    if _SESSION_NAME.fullmatch(path.stem):
        return path.stem
    above = next((part.name for part in path.parents if _SESSION_NAME.fullmatch(part.name)), None)
    return named or above or path.stem or "unknown"


def _cleanup_days(folder: Path) -> float:
    days: float = CLEANUP_DAYS
    for name in ("settings.json", "settings.local.json"):
        try:
            written = json.loads((folder / name).read_bytes())
        except (OSError, ValueError):  # none, or not ours to mend
            continue
        asked = written.get("cleanupPeriodDays") if isinstance(written, dict) else None
        if isinstance(asked, int | float) and not isinstance(asked, bool) and 0 <= asked < 36_500:
            days = asked
    return days


def _text(record: dict[str, Any], name: str) -> str | None:
    found = record.get(name)
    return found if isinstance(found, str) and found else None
