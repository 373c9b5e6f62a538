"""Somebody wrote where we look: there is something to do."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import ObservedWatch

logger = logging.getLogger(__name__)

OF_FOLDERS: list[type[FileSystemEvent]] = [DirCreatedEvent, DirMovedEvent, DirDeletedEvent]


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
    """Calls `wake` when a file in one of several folders is written, moved or deleted; of others, in which much is
    written that is not meant, when a folder in them is.

    A slow poll of the caller's backs it up.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self.changed = _Changed(wake)
        self.observer = Observer()
        self.observer.daemon = True
        self.watched: dict[tuple[str, int, bool], ObservedWatch] = {}

    def start(self) -> None:
        """Begin; folders are named by `follow`."""
        self.observer.start()

    def follow(self, folders: Iterable[str], places: Iterable[str]) -> None:
        """Watch these from now on, and no others; of the places only what becomes of folders in them. One that was made
        anew is watched anew."""
        wanted: dict[tuple[str, int, bool], None] = {}
        for folder, whole in [*((one, True) for one in folders), *((one, False) for one in places)]:
            try:
                real = os.path.realpath(folder)
                wanted[real, os.stat(real).st_ino, whole] = None
            except OSError:  # gone already
                continue
        for gone in self.watched.keys() - wanted.keys():
            self.observer.unschedule(self.watched.pop(gone))
        for fresh in wanted.keys() - self.watched.keys():
            try:
                path, _, whole = fresh
                # The kernel is asked for no more than these: a transcript that grows wakes nobody.
                self.watched[fresh] = self.observer.schedule(
                    self.changed, path, event_filter=None if whole else OF_FOLDERS
                )
            except OSError as error:
                logger.warning("%s cannot be watched (%s): polling alone", fresh[0], error)

    def stop(self) -> None:
        """Let go of every folder."""
        self.observer.stop()
        self.observer.join(timeout=2)
