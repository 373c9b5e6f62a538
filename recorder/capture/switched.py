"""Sessions that ran with RECORDER_OFF, as hooks note them in the home until somebody writes them into the store."""

from __future__ import annotations

import os
from pathlib import Path

from recorder.store import sessions
from recorder.store.db import Connection, transaction

FOLDER = "off"


def waiting(home: Path) -> list[str]:
    """The sessions that are noted and stand in no store yet."""
    try:
        with os.scandir(home / FOLDER) as entries:
            return sorted(entry.name for entry in entries if entry.is_file() and entry.name.isprintable())
    except OSError:  # no hook ever noted one
        return []


def settle(db: Connection, home: Path, now_ms: int) -> int:
    """Write the notes into the store; how many. Whoever takes something in does so first, whether a worker runs or
    not."""
    names = waiting(home)
    for name in names:
        with transaction(db):
            sessions.switch_off(db, name, now_ms)
        (home / FOLDER / name).unlink(missing_ok=True)
    return len(names)
