"""Logs into the store, under one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from recorder.capture import ingest, reading
from recorder.config import Config
from recorder.store.db import STORE_TROUBLE
from scripts.backfill import pool
from scripts.backfill.logs import Left, Log, failure
from scripts.backfill.sources import Sought

COMMIT_BYTES = 16 * 1024 * 1024
COMMIT_EVENTS = 400


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
    spoken: set[str] = field(default_factory=set)
    """The sessions that the records name: a file may hold another's."""
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

    def add(self, commit: Commit, now_ms: int) -> None:
        self.size_bytes += commit.size_bytes
        for log, piece in commit.pieces:
            self.files.add(log.path)
            self.sessions.add(log.session_id)
            self.lines += piece.lines
            self.records += piece.records
            self.taken_in += piece.taken_in
            self.left_out += piece.left_out
            self.problems += piece.problems
            for event in ingest.dated([ready.event for ready in piece.ready], now_ms):
                self.spoken.add(event.session_id)
                self._date(event.at_ms)
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
        tally.add(commit, reader.now_ms)
        passed(commit.size_bytes)
        if stop():
            tally.stopped = True
            break
    return tally


def commits(reader: reading.Reader, sought: Sought, logs: Sequence[Log]) -> Iterator[Commit]:
    """One commit after the other; who stops asking stops the reading."""
    batch: list[pool.Got] = []
    lost: set[Path] = set()
    with closing(pool.pieces(reader, _due(reader, sought, logs))) as found:
        for got in found:
            if got.failed is not None:
                yield Commit(failed=got.failed)
            elif got.log.path not in lost:
                batch.append(got)
            if _is_enough(batch):
                yield from _kept(reader, batch, lost)
                batch = []
    yield from _kept(reader, batch, lost)


def is_final(log: Log, config: Config, now_ms: int) -> bool:
    """Whether nobody writes the file any more."""
    return log.changed_ms + int(config.worker.session_idle_minutes * 60_000) <= now_ms


def _due(reader: reading.Reader, sought: Sought, logs: Sequence[Log]) -> Iterator[pool.Due]:
    for log in logs:
        try:
            place = reading.start(reader.db, log.path, reader.source)
        except OSError:  # what is wrong with the file is said where it is read
            place = reading.Place()
        believed = reading.is_claudes(log.path, reader.config)
        final = is_final(log, reader.config, reader.now_ms)
        yield pool.Due(log, sought.reads[log.path], place, believed, final)


def _is_enough(batch: Sequence[pool.Got]) -> bool:
    """Whether to commit. 400 events hold the lock of the store for some 60 ms; file by file they cost twice that."""
    found = sum(len(got.piece.ready) for got in batch if got.piece is not None)
    return found >= COMMIT_EVENTS or sum(got.size_bytes for got in batch) >= COMMIT_BYTES


def _kept(reader: reading.Reader, batch: Sequence[pool.Got], lost: set[Path]) -> Iterator[Commit]:
    """The batch in one commit; where that fails, each file in its own, and what fails alone is `lost`."""
    whole = [(got.log, got.piece) for got in batch if got.piece is not None]
    if not whole:
        return
    try:
        taken = reading.keep(reader, [(log.path, piece) for log, piece in whole])
    except STORE_TROUBLE:  # no file is to blame
        raise
    except Exception as error:
        paths = list(dict.fromkeys(log.path for log, _ in whole))
        if len(paths) == 1:
            lost.add(paths[0])
            yield Commit(failed=failure(batch[0].log, error))
            return
        for path in paths:
            yield from _kept(reader, [got for got in batch if got.log.path == path], lost)
    else:
        yield Commit(whole, taken, sum(got.size_bytes for got in batch))
