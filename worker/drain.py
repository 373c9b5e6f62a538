"""Spool files into events."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from recorder.capture import ingest, spool, switched, wire
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.errors import HookInputError
from recorder.models import Event, EventKind
from recorder.store import jobs
from recorder.store.db import STORE_TROUBLE, Connection, transaction

logger = logging.getLogger(__name__)

BATCH_FILES = 500
BATCH_BYTES = 8 * 1024 * 1024
TRIES = 5


@dataclass(slots=True)
class Drain:
    """Empties the spool, batch by batch; knows which files failed and how often.

    A file that fails alone is tried five times behind others and then set aside with the reason.
    """

    config: Config
    redactor: Redactor
    session_began: bool = False
    """Whether a session's start was among what was taken in; who acts on it sets it back."""
    tries: Counter[str] = field(default_factory=Counter)
    not_before_ms: dict[str, int] = field(default_factory=dict)

    def once(self, db: Connection, now_ms: int) -> int:
        """Take in everything that waits; how many files left the spool.

        Raises: one of STORE_TROUBLE; what was not taken in stays in its place.
        """
        switched.settle(db, self.config.home, now_ms)
        return sum(self._take(db, batch, now_ms) for batch in _batches(self._due(now_ms)))

    def _due(self, now_ms: int) -> list[spool.Dropped]:
        waiting = spool.pending(self.config.spool)
        return [dropped for dropped in waiting if self.not_before_ms.get(dropped.name, 0) <= now_ms]

    def _take(self, db: Connection, batch: list[spool.Dropped], now_ms: int) -> int:
        try:
            return self._commit(db, batch, now_ms)
        except STORE_TROUBLE:  # the files are not to blame
            raise
        except Exception:
            if len(batch) == 1:
                return self._failed(db, batch[0], now_ms)
            logger.warning("a batch of %d spool files failed: one by one", len(batch), exc_info=True)
        return sum(self._take(db, [dropped], now_ms) for dropped in batch)

    def _commit(self, db: Connection, batch: list[spool.Dropped], now_ms: int) -> int:
        there = [(dropped, raw) for dropped in batch if (raw := spool.read(dropped)) is not None]
        readable: list[Event] = []
        unreadable: list[tuple[spool.Dropped, bytes, str]] = []
        for dropped, raw in there:
            try:
                event = wire.parse(raw, name=dropped.name, received_ms=dropped.received_ms)
            except HookInputError as error:
                unreadable.append((dropped, raw, str(error)))
            else:
                if event is not None:
                    readable.append(event)
        self.session_began |= any(event.kind is EventKind.SESSION_START for event in readable)
        taken = ingest.take(db, readable, now_ms=now_ms, redact=self.redactor.event, config=self.config)
        for dropped, raw, reason in unreadable:
            spool.set_aside(self.config.spool, dropped, self.redactor.raw(raw), reason)
        for dropped in batch:
            spool.discard(dropped)
            self.tries.pop(dropped.name, None)
            self.not_before_ms.pop(dropped.name, None)
        if unreadable or taken.left_out:
            reasons = [reason for _, _, reason in unreadable]
            _count(db, now_ms, bad=len(reasons), reasons=reasons, rules=taken.left_out)
        return len(there)

    def _failed(self, db: Connection, dropped: spool.Dropped, now_ms: int) -> int:
        name = dropped.name
        self.tries[name] += 1
        logger.exception("spool file %s failed for the %d. time", name, self.tries[name])
        if self.tries[name] < TRIES:
            self.not_before_ms[name] = now_ms + jobs.backoff_ms(self.tries[name])
            return 0
        reason = f"could not be taken in after {TRIES} tries; see the log of the worker"
        spool.set_aside(self.config.spool, dropped, self.redactor.raw(dropped.path.read_bytes()), reason)
        self.tries.pop(name)
        self.not_before_ms.pop(name, None)
        _count(db, now_ms, bad=1, reasons=[reason], rules=Counter())
        return 1


def _batches(waiting: list[spool.Dropped]) -> Iterator[list[spool.Dropped]]:
    batch: list[spool.Dropped] = []
    size = 0
    for dropped in waiting:
        if batch and (len(batch) >= BATCH_FILES or size + dropped.size_bytes > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(dropped)
        size += dropped.size_bytes
    if batch:
        yield batch


def _count(db: Connection, now_ms: int, *, bad: int, reasons: list[str], rules: Counter[str]) -> None:
    with transaction(db):
        if bad:
            jobs.bump(db, "spool_bad", bad, now_ms, reasons[-1])
        for rule, n in rules.items():
            jobs.bump(db, f"left_out_{rule}", n, now_ms)
