"""Log files, the sessions they make up, and which comes first."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from recorder.errors import RecorderError

logger = logging.getLogger(__name__)

SOON_MS = 7 * 86_400_000
"""What its tool deletes within a week is read first."""


@dataclass(frozen=True, slots=True)
class Log:
    """One file of a session: its own, or a subagent's."""

    path: Path
    session_id: str
    main: bool
    cwd: str | None
    size_bytes: int
    changed_ms: int
    deleted_ms: int | None = None
    """From when on its tool deletes it by age."""


@dataclass(frozen=True, slots=True)
class Left:
    """A file or folder that is not read, and why. `failed`: it should have been."""

    path: Path
    why: str
    failed: bool = False


def failure(log: Log, error: Exception) -> Left:
    """The file that failed, and why in words; what nobody foresaw goes to the log whole."""
    if isinstance(error, FileNotFoundError):
        why = "is gone"
    elif isinstance(error, OSError):
        why = f"cannot be read: {error.strerror or error}"
    elif isinstance(error, RecorderError):
        why = str(error)
    else:
        logger.error("%s failed", log.path, exc_info=error)
        why = f"cannot be taken in: {error!r}"
    return Left(log.path, why, failed=True)


@dataclass(frozen=True, slots=True)
class Found:
    """Logs, and what was left."""

    logs: list[Log] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Session:
    """The files of one session, its own before its agents'."""

    id: str
    logs: tuple[Log, ...]

    @property
    def cwd(self) -> str | None:
        """The folder it began in, as far as its files say."""
        return next((log.cwd for log in self.logs if log.cwd), None)

    @property
    def changed_ms(self) -> int:
        """When its own file was last written to; an agent's, where that is all there is."""
        return max(log.changed_ms for log in self.logs if log.main or not self.logs[0].main)

    def deleted_ms(self, now_ms: int) -> int | None:
        """When the first of its files is deleted by age, if that is soon or overdue."""
        dates = [log.deleted_ms for log in self.logs if log.deleted_ms is not None]
        return min(dates) if dates and min(dates) - now_ms <= SOON_MS else None


def as_text(path: Path) -> str:
    """The path as text that can be stored and printed; bytes that are not UTF-8 show as `\\udcff`."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def sessions(logs: Iterable[Log], now_ms: int) -> list[Session]:
    """The sessions in the order of taking: what is deleted soonest, then the oldest first.

    Oldest first, so that what a fork or a resume repeats belongs to the session it happened in, and a later word
    supersedes an earlier one.
    """
    by_id: dict[str, list[Log]] = {}
    for log in logs:
        by_id.setdefault(log.session_id, []).append(log)
    found = [Session(name, tuple(sorted(of, key=_within))) for name, of in by_id.items()]
    return sorted(found, key=lambda session: _rank(session, now_ms))


def _within(log: Log) -> tuple[bool, bool, int, str]:
    return (not log.main, log.path.stem != log.session_id, log.changed_ms, str(log.path))


def _rank(session: Session, now_ms: int) -> tuple[bool, int, str]:
    deleted_ms = session.deleted_ms(now_ms)
    return (deleted_ms is None, session.changed_ms if deleted_ms is None else deleted_ms, session.id)
