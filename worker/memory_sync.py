"""Claude's own memory files, taken in as they change."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from recorder import claude_auto, gate
from recorder.config import Config
from recorder.store import sessions
from recorder.store.db import Connection, connect
from worker.watch import FolderWatch

logger = logging.getLogger(__name__)

POLL_S = 60.0
DEBOUNCE_S = 1.0

# Every watch is an inotify instance, of which a user has 128 in all (inotify(7), max_user_instances): those folders are
# watched that were worked in last, the poll looks at the others.
MOST_WATCHED = 16


@dataclass(slots=True)
class MemorySync:
    """A thread beside the worker's loop, with a connection of its own: syncs at once, then whenever a memory folder
    changes, and every minute."""

    config: Config
    clock_ms: Callable[[], int]
    redact: gate.Redact
    changed: Callable[[], None]
    """Called when memories changed."""
    stopped: threading.Event = field(default_factory=threading.Event)
    due: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, unless `sync.enabled` is off."""
        if self.config.sync.enabled:
            self.thread = threading.Thread(target=self.run, name="memory-sync", daemon=True)
            self.thread.start()

    def stop(self) -> None:
        """End; a sync that is under way may be left where it is."""
        self.stopped.set()
        self.due.set()
        if self.thread is not None:
            self.thread.join(timeout=2)

    def run(self) -> None:
        watch = FolderWatch(self.due.set)
        watch.start()
        try:
            while not self.stopped.is_set():
                self.due.clear()
                try:
                    self._once(watch)
                except Exception:  # the border of the thread: the next poll tries again
                    logger.exception("Claude's memory files could not be synced")
                if self.due.wait(POLL_S):
                    self.stopped.wait(DEBOUNCE_S)  # a save is several events
        finally:
            watch.stop()

    def _once(self, watch: FolderWatch) -> None:
        watch.follow(self._folders())
        db = connect(self.config.db_path)
        try:
            now_ms = self.clock_ms()
            if _paused(db, now_ms):
                return
            report = claude_auto.sync(db, self.config, now_ms, self.redact, wait_s=0)
        finally:
            db.close()
        if report is None:  # somebody else is at it
            self.due.set()
        elif report.created or report.changed or report.restored or report.pruned:
            self.changed()

    def _folders(self) -> list[str]:
        """The folders of projects, in which new ones appear, and the memory folders worked in last."""
        found, _ = claude_auto.memory_folders(self.config.claude_dirs)
        last = sorted(found, key=_worked_in_ns, reverse=True)[:MOST_WATCHED]
        return [*(str(root / "projects") for root in self.config.claude_dirs), *(folder.path for folder in last)]


def _worked_in_ns(folder: claude_auto.Folder) -> int:
    found = 0
    for path in filter(None, (folder.path, folder.transcripts)):
        try:
            found = max(found, os.stat(path).st_mtime_ns)
        except OSError:  # gone since it was found
            continue
    return found


def _paused(db: Connection, now_ms: int) -> bool:
    return any(
        project_id is None and (until_ms is None or until_ms > now_ms)
        for project_id, _, until_ms in sessions.paused(db)
    )
