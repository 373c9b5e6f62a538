"""Looking for memories that do not go together, a bounded part at a time."""

from __future__ import annotations

from recorder import gate
from recorder.errors import RetryLater
from recorder.store.db import Connection

BATCHES_A_TURN = 5


def look(db: Connection, now_ms: int) -> str:
    """Look at what changed since the last time; the outcome says what came of it.

    Raises: RetryLater when there is more, so that live work goes between.
    """
    looked = opened = 0
    for _ in range(BATCHES_A_TURN):
        some, found = gate.sweep(db, now_ms)
        if not some:
            return f"looked at {looked}, found {opened}"
        looked, opened = looked + some, opened + found
    raise RetryLater(0)
