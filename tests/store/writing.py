"""Writes or reads a store until it is told enough: `python -m tests.store.writing write PATH COUNT` or `read PATH`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from recorder.models import Event, EventKind, Scope, Source
from recorder.store import events, projects, search, sessions
from recorder.store.db import connect, transaction

PROJECT = "shared-00000001"


def write(path: Path, count: int) -> None:
    """One event a transaction, as ingest does it."""
    db = connect(path)
    me = str(os.getpid())
    for n in range(count):
        event = Event(f"{me}-{n}", EventKind.PROMPT, me, n, Source.HOOK, {"text": f"word {n}"}, ref=f"{me}-{n}")
        with transaction(db):
            sessions.see(
                db,
                me,
                first_ms=n,
                last_ms=n,
                cwd=None,
                project_id=None,
                transcript_path=None,
                branch=None,
                hook_events=1,
            )
            scope_id = projects.scope_id(db, PROJECT)
            before = events.last_id(db)
            events.insert(
                db,
                event,
                project_id=None,
                scope_id=scope_id,
                received_ms=n,
                excerpt=f"word {n}",
                narrow="",
                healed=False,
            )
            events.index(db, before)
    db.close()


def read(path: Path) -> None:
    """Search until stdin closes; then say how often."""
    os.set_blocking(0, False)
    asked = 0
    while sys.stdin.buffer.read() is None:
        db = connect(path)
        search.words(db, Scope(PROJECT), "word", 20, now_ms=10**12)
        db.close()
        asked += 1
    print(asked)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        read(Path(sys.argv[2]))
