"""Pieces of many logs, made ready by other cores where that is worth it."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from multiprocessing.process import BaseProcess

from recorder.capture import literals, reading
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.models import Event, Source
from scripts.backfill.logs import Left, Log, failure

logger = logging.getLogger(__name__)

SPAN_BYTES = 4 * 1024 * 1024
PIECE_BYTES = 1024 * 1024
"""A commit is of whole pieces, and a megabyte of small records is a thousand events."""
WORTH_BYTES = 20_000_000
"""Less is read here: another process needs half a second to load the rules."""
MOST = 3
"""What three processes read keeps the one that stores busy."""
NICER = 5
"""Than the one that stores, which must not wait for a processor while it holds the lock."""

Redact = Callable[[Event], Event]


@dataclass(frozen=True, slots=True)
class Due:
    """A log that is not read to its end yet, and where to go on."""

    log: Log
    read: reading.Read
    place: reading.Place
    believed: bool
    final: bool


@dataclass(frozen=True, slots=True)
class Got:
    """A piece of a log and how many bytes it is on; or why there is no more of it."""

    log: Log
    piece: reading.Piece | None = None
    size_bytes: int = 0
    failed: Left | None = None


@dataclass(frozen=True, slots=True)
class _Span:
    """Some MB of logs, and what of the logs is still due."""

    got: list[Got]
    due: list[Due]


def pieces(reader: reading.Reader, due: Iterable[Due]) -> Generator[Got, None, None]:
    """All that the logs hold from where they were left, log after log. Close it to end the reading at once."""
    portions = _portions(due)
    waiting: list[list[Due]] = []
    size = 0
    children = min(_cores(), MOST)
    while children > 1 and size < WORTH_BYTES and (portion := next(portions, None)):
        waiting.append(portion)
        size += sum(map(_size, portion))
    if size < WORTH_BYTES:
        spans = _spans_here(reader, chain(waiting, portions))
    else:
        spans = _spans_ahead(reader, chain(waiting, portions), children)
    for span in spans:
        yield from span.got


def _portions(due: Iterable[Due]) -> Iterator[list[Due]]:
    """The logs in order, small ones together."""
    portion: list[Due] = []
    size = 0
    for one in due:
        portion.append(one)
        size += _size(one)
        if size >= SPAN_BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _size(due: Due) -> int:
    return max(0, due.log.size_bytes - due.place.cursor.offset)


def _span(redact: Redact, source: Source, due: Sequence[Due]) -> _Span:
    """The next MB of the logs."""
    got: list[Got] = []
    left = list(due)
    size = 0
    while left and size < SPAN_BYTES:
        now = left[0]
        try:
            now.log.path.stat()
            read = partial(now.read, limit_bytes=PIECE_BYTES)
            piece = reading.prepare(
                now.log.path, now.place, redact, source, believed=now.believed, final=now.final, read=read
            )
        except Exception as error:  # one file must not end a run of thousands
            got.append(Got(now.log, failed=failure(now.log, error)))
            del left[0]
            continue
        moved = piece.place.cursor.offset - now.place.cursor.offset
        if piece.moved:
            got.append(Got(now.log, piece, moved))
        size += moved
        left[:1] = [] if piece.at_end else [replace(now, place=piece.place)]
    return _Span(got, left)


def _spans_here(reader: reading.Reader, portions: Iterable[list[Due]]) -> Iterator[_Span]:
    for due in portions:
        while due:
            span = _span(reader.redact, reader.source, due)
            due = span.due
            yield span


def _spans_ahead(reader: reading.Reader, portions: Iterator[list[Due]], children: int) -> Iterator[_Span]:
    """The spans in order, the next few made ready by children while the caller stores."""
    ahead: deque[tuple[list[Due], Future[_Span]]] = deque()
    # Not forked: a child would share the open database (https://sqlite.org/howtocorrupt.html, 2.6).
    others = ProcessPoolExecutor(children, multiprocessing.get_context("spawn"), _begin, (reader.config, reader.source))
    try:
        while True:
            while len(ahead) <= children and (due := next(portions, None)):
                ahead.append((due, _asked(others, due)))
            if not ahead:
                return
            span = ahead[0][1].result()
            ahead.popleft()
            if span.due:
                ahead.appendleft((span.due, _asked(others, span.due)))
            yield span
    except BrokenProcessPool as error:
        logger.warning("a process that reads ahead died: reading on without (%s)", error)
        yield from _spans_here(reader, [due for due, _ in ahead])
        yield from _spans_here(reader, portions)
    finally:
        others.shutdown(cancel_futures=True)


def _asked(others: ProcessPoolExecutor, due: list[Due]) -> Future[_Span]:
    """The next span of what is due; where the children are gone the answer says so, when it is waited for."""
    try:
        return others.submit(_span_there, due)
    except BrokenProcessPool as error:
        gone: Future[_Span] = Future()
        gone.set_exception(error)
        return gone


_child: list[tuple[Redact, Source]] = []
"""What a process that reads ahead redacts with, and reads as."""


def _begin(config: Config, source: Source) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, and the parent ends us
    os.nice(NICER)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _child.append((Redactor(config.capture, literals.of_home(config.home)).event, source))


def _end_with(parent: BaseProcess) -> None:
    """A parent that was killed tells its children nothing, and they would wait for it for ever."""
    parent.join()
    os._exit(1)


def _span_there(due: Sequence[Due]) -> _Span:
    return _span(*_child[0], due)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
