"""Somebody wrote into the spool: there is something to do."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

logger = logging.getLogger(__name__)


class _Woken(FileSystemEventHandler):
    def __init__(self, wake: Callable[[], None]) -> None:
        self.wake = wake

    def on_moved(self, event: FileSystemEvent) -> None:
        self.wake()

    def on_created(self, event: FileSystemEvent) -> None:
        # What watchdog calls a file that was moved here from a folder nobody watches, as hooks do.
        self.wake()

    def on_closed(self, event: FileSystemEvent) -> None:
        self.wake()


class Watch:
    """Calls `wake` when a file appears in the folder. A slow poll of the caller's backs it up."""

    def __init__(self, folder: Path, wake: Callable[[], None]) -> None:
        self.observer = Observer()
        self.observer.schedule(_Woken(wake), str(folder))
        self.observer.daemon = True

    def start(self) -> bool:
        """False when the system gives no more watches; the poll goes on alone then."""
        try:
            self.observer.start()
        except OSError as error:
            logger.warning("the spool cannot be watched (%s): polling alone", error)
            return False
        return True

    def stop(self) -> None:
        """Let go of the folder."""
        if self.observer.is_alive():
            self.observer.stop()
            self.observer.join(timeout=2)
