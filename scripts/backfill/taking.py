"""Logs into the store, under one run."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from recorder.capture import ingest, reading
from recorder.config import Config
from recorder.errors import RecorderError
from recorder.store.db import STORE_TROUBLE
from scripts.backfill.logs import Left, Log
from scripts.backfill.sources import Sought

logger = logging.getLogger(__name__)

COMMIT_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit brought: pieces of files in order, and what became of their events. Or a file that failed."""

    pieces: Sequence[tuple[Log, reading.Piece]] = ()
    taken: ingest.Taken = ingest.Taken()
    size_bytes: int = 0
    failed: Left | None = None


@dataclass(slots=True)
class Tally:
    """What came of a run so far."""

    files: set[Path] = field(default_factory=set)
    sessions: set[str] = field(default_factory=set)
    size_bytes: int = 0
    lines: int = 0
    records: int = 0
    taken_in: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    new: int = 0
    seen: int = 0
    closed: Counter[str] = field(default_factory=Counter)
    """Events that were not to be taken in, by rule: `off`, `paused`."""
    earliest_ms: int | None = None
    latest_ms: int | None = None
    problems: list[str] = field(default_factory=list)
    failed: list[Left] = field(default_factory=list)
    stopped: bool = False

    def add(self, commit: Commit) -> None:
        self.size_bytes += commit.size_bytes
        for log, piece in commit.pieces:
            self.files.add(log.path)
            self.sessions.add(log.session_id)
            self.lines += piece.lines
            self.records += piece.records
            self.taken_in += piece.taken_in
            self.left_out += piece.left_out
            self.problems += piece.problems
            for ready in piece.ready:
                self._date(ready.event.at_ms)
        self.new += commit.taken.new
        self.seen += commit.taken.seen
        self.closed += commit.taken.left_out
        self.failed += [commit.failed] if commit.failed else []

    def _date(self, at_ms: int) -> None:
        if at_ms:
            self.earliest_ms = min(at_ms, self.earliest_ms or at_ms)
            self.latest_ms = max(at_ms, self.latest_ms or at_ms)


def take(
    reader: reading.Reader, sought: Sought, logs: Sequence[Log], passed: Callable[[int], None], stop: Callable[[], bool]
) -> Tally:
    """Take in what the logs hold beyond what was read. `passed` is told of bytes; after `stop` comes no further commit.

    Raises: one of STORE_TROUBLE; what was committed stays, and the next run goes on there.
    """
    tally = Tally()
    for commit in commits(reader, sought, logs):
        tally.add(commit)
        passed(commit.size_bytes)
        if stop():
            tally.stopped = True
            break
    return tally


def commits(reader: reading.Reader, sought: Sought, logs: Sequence[Log]) -> Iterator[Commit]:
    """One commit after the other; who stops asking stops the reading."""
    batch: list[_Waiting] = []
    lost: set[Path] = set()
    for log in logs:
        try:
            for piece, size in _pieces(reader, sought.reads[log.path], log):
                batch.append((log, piece, size))
                if sum(size for _, _, size in batch) >= COMMIT_BYTES:
                    yield from _kept(reader, batch, lost)
                    batch = []
                    if log.path in lost:
                        break
        except STORE_TROUBLE:  # no file is to blame
            raise
        except Exception as error:
            yield Commit(failed=failure(log, error))
    yield from _kept(reader, batch, lost)


def is_final(log: Log, config: Config, now_ms: int) -> bool:
    """Whether nobody writes the file any more."""
    return log.changed_ms + int(config.worker.session_idle_minutes * 60_000) <= now_ms


_Waiting = tuple[Log, reading.Piece, int]


def _pieces(reader: reading.Reader, read: reading.Read, log: Log) -> Iterator[tuple[reading.Piece, int]]:
    """The pieces of a file from where it was left, each with how many bytes it is on."""
    log.path.stat()
    place = reading.start(reader.db, log.path)
    believed = reading.is_claudes(log.path, reader.config)
    final = is_final(log, reader.config, reader.now_ms)
    while True:
        piece = reading.prepare(
            log.path, place, reader.redact, reader.source, believed=believed, final=final, read=read
        )
        if piece.moved:
            yield piece, piece.place.cursor.offset - place.cursor.offset
        place = piece.place
        if piece.at_end:
            return


def _kept(reader: reading.Reader, batch: Sequence[_Waiting], lost: set[Path]) -> Iterator[Commit]:
    """The batch in one commit; where that fails, each file in its own, and what fails alone is `lost`."""
    if not batch:
        return
    try:
        taken = reading.keep(reader, [(log.path, piece) for log, piece, _ in batch])
    except STORE_TROUBLE:
        raise
    except Exception as error:
        paths = list(dict.fromkeys(log.path for log, _, _ in batch))
        if len(paths) == 1:
            lost.add(paths[0])
            yield Commit(failed=failure(batch[0][0], error))
            return
        for path in paths:
            yield from _kept(reader, [waiting for waiting in batch if waiting[0].path == path], lost)
    else:
        yield Commit([(log, piece) for log, piece, _ in batch], taken, sum(size for _, _, size in batch))


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
