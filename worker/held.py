"""The file lock that makes one worker a user, and work done once under it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recorder import config
from recorder.capture import literals, spool
from recorder.capture.redact import Redactor
from recorder.store.db import connect
from worker.index import Model
from worker.loop import Loop, system_clock_ms


def lock(home: Path, of: str = "worker") -> int | None:
    """The open lock of this user's worker, or None when another holds it. The kernel lets go when the holder dies."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(home / f"{of}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    os.ftruncate(handle, 0)
    os.write(handle, f"{os.getpid()}\n".encode())
    return handle


@contextmanager
def locked(home: Path, of: str = "worker") -> Iterator[bool]:
    """True inside while the lock is ours; False when a worker lives."""
    handle = lock(home, of)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            os.close(handle)


def make_loop(settings: config.Config) -> Loop:
    """A worker that has not started yet."""
    embed = settings.embed
    model = Model(settings.models_dir, wanted=embed.model, enabled=embed.enabled, idle_minutes=embed.idle_minutes)
    redactor = Redactor(settings.capture, literals.of_home(settings.home))
    return Loop(settings, system_clock_ms, redactor, model)


def drain_once(settings: config.Config, *, distil: bool = True) -> int:
    """Take in, distil and index everything pending, under the caller's lock; how many spool files were taken in."""
    spool.prepare(settings.spool)
    loop = make_loop(settings)
    db = connect(settings.db_path)
    try:
        return loop.everything(db, distil=distil)
    finally:
        loop.model.close()
        db.close()
