"""What goes with age, a few rows at a time."""

from __future__ import annotations

from dataclasses import dataclass

from recorder.gate import Writer
from recorder.gate.writer import audited
from recorder.models import Channel, Scope
from recorder.store import jobs, purging
from recorder.store.db import Connection, transaction

DAY_MS = 86_400_000
EVENTS_A_STEP = 500


@dataclass(frozen=True, slots=True)
class Purged:
    """What went, or would. `bytes`: about what the events took. `given_back`: what the file is shorter by."""

    events: int
    bytes: int
    emptied: int
    given_back: int = 0


def purge(db: Connection, days: int | None, *, actor: str, now_ms: int, dry_run: bool = False) -> Purged:
    """Let go of events older than these days that no memory cites, and of the words in the history of what was deleted
    before that. Without days only free pages are given back.

    Memories, rejections, what is never taken in again and the audit stay.
    """
    if days is None:
        return Purged(0, 0, 0, 0 if dry_run else purging.give_back(db))
    before_ms = now_ms - days * DAY_MS
    count, size = purging.weigh(db, before_ms)
    if dry_run:
        return Purged(count, size, purging.emptied_lines(db, before_ms))
    gone = 0
    while True:
        with transaction(db):
            # Chosen in the same transaction: a memory may have come to cite one meanwhile.
            went = purging.remove_events(db, purging.old_events(db, before_ms, EVENTS_A_STEP))
        if not went:
            break
        gone += went
    with transaction(db):
        emptied = purging.empty_history(db, before_ms)
        purging.remove_traces(db, before_ms)
        jobs.bump(db, "purged", gone, now_ms)
        if gone or emptied:
            writer = Writer(Channel.PERSON if actor == "terminal" else Channel.OBSERVED, actor, Scope(None), now_ms)
            audited(db, writer, "purged", "events", f"{gone} older than {days} days, {emptied} lines emptied", None)
    return Purged(gone, size, emptied, purging.give_back(db))
