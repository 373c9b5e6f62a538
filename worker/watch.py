"""Somebody wrote where we look: there is something to do."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import ObservedWatch

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


class _Changed(_Woken):
    def on_deleted(self, event: FileSystemEvent) -> None:
        self.wake()


class FolderWatch:
    """Calls `wake` when a file in one of several folders is written, moved or deleted.

    A slow poll of the caller's backs it up.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self.changed = _Changed(wake)
        self.observer = Observer()
        self.observer.daemon = True
        self.watched: dict[tuple[str, int], ObservedWatch] = {}

    def start(self) -> None:
        """Begin; folders are named by `follow`."""
        self.observer.start()

    def follow(self, folders: Iterable[str]) -> None:
        """Watch these from now on, and no others. One that was made anew is watched anew."""
        wanted: dict[tuple[str, int], None] = {}
        for folder in folders:
            try:
                real = os.path.realpath(folder)
                wanted[real, os.stat(real).st_ino] = None
            except OSError:  # gone already
                continue
        for gone in self.watched.keys() - wanted.keys():
            self.observer.unschedule(self.watched.pop(gone))
        for fresh in wanted.keys() - self.watched.keys():
            try:
                self.watched[fresh] = self.observer.schedule(self.changed, fresh[0])
            except OSError as error:
                logger.warning("%s cannot be watched (%s): polling alone", fresh[0], error)

    def stop(self) -> None:
        """Let go of every folder."""
        self.observer.stop()
        self.observer.join(timeout=2)
