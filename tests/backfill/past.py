"""A person's past with Claude Code, and their terminal."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recorder.store import events
from recorder.store.db import connect_readonly
from tests.cli.terminal import Terminal
from tests.worker.written import turn, write

DAY_MS = 86_400_000
NOW_MS = time.time_ns() // 1_000_000


def session_id(n: int) -> str:
    return f"{n:08x}-0000-4000-8000-000000000000"


@dataclass(frozen=True, slots=True)
class Past:
    """`~/.claude` with sessions in it. A session has 3 events a turn: a prompt, a command, an answer."""

    claude: Path
    project: str
    terminal: Terminal

    def records(
        self, n: int, *, turns: int = 1, days_old: float = 1.0, cwd: str = "", said: str = "", **more: Any
    ) -> Any:
        """The lines of a session; nothing in them is like those of another session."""
        at_ms = NOW_MS - int(days_old * DAY_MS) - turns * 1000
        return [
            line
            for t in range(turns)
            for line in turn(
                n * 10_000 + t,
                said or f"question {t} of session {n}",
                f"make part{n}x{t}",
                at_ms=at_ms + t * 1000,
                cwd=cwd or self.project,
                **{"sessionId": session_id(n), **more},
            )
        ]

    def session(self, n: int, *, days_old: float = 1.0, slug: str = "-home-user-project", **more: Any) -> Path:
        path = self.claude / "projects" / slug / f"{session_id(n)}.jsonl"
        return write(path, self.records(n, days_old=days_old, **more), changed_ms=NOW_MS - int(days_old * DAY_MS))

    def commit(self, *words: str) -> Any:
        return self.terminal.ok("backfill", "--commit", *words)

    def keys(self) -> list[str]:
        """Of every event in the store, each as often as it is there."""
        db = connect_readonly(self.terminal.home / "recorder.db")
        try:
            return sorted(event.key for event in events.listing(db, limit=1_000_000))
        finally:
            db.close()
