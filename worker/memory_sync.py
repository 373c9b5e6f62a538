"""Claude's own memory files, taken in as they change."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from recorder import claude_auto, gate
from recorder.config import Config
from recorder.store.db import connect
from worker.watch import FolderWatch

logger = logging.getLogger(__name__)

POLL_S = 60.0
DEBOUNCE_S = 1.0

# A watch is a thread, and before watchdog 7 an inotify instance too, of which a user has 128 in all (inotify(7),
# max_user_instances): those are watched that were worked in last, the poll looks at the others.
MOST_FOLDERS = 16
MOST_PROJECTS = 24


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
        watch.follow(*_watched(self.config.claude_dirs))
        db = connect(self.config.db_path)
        try:
            report = claude_auto.sync(db, self.config, self.clock_ms(), self.redact, wait_s=0)
        finally:
            db.close()
        if report is None:  # somebody else is at it
            self.due.set()
        elif report.created or report.changed or report.restored or report.pruned:
            self.changed()


def _watched(claude_dirs: Sequence[Path]) -> tuple[list[str], list[str]]:
    """(the memory folders worked in last, folders in which the folder of a project, or of its memory, may appear)."""
    found, _ = claude_auto.memory_folders(claude_dirs)
    projects = [root / "projects" for root in claude_dirs]
    places = [str(path if path.is_dir() else path.parent) for path in projects]
    worked_in = sorted((_changed_ns(path), str(path)) for folder in projects for path in _below(folder))
    places += [path for _, path in worked_in[-MOST_PROJECTS:]]
    last = sorted(found, key=_worked_in_ns, reverse=True)[:MOST_FOLDERS]
    return [folder.path for folder in last], places


def _below(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # the sync says so
        return []


def _worked_in_ns(folder: claude_auto.Folder) -> int:
    return max(_changed_ns(path) for path in (folder.path, folder.transcripts or folder.path))


def _changed_ns(path: str | Path) -> int:
    """When something was made or removed in the folder; 0 where it is gone since it was found."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
