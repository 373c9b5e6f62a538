"""The lock under which one sync of a home runs."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(home: Path, wait_s: float) -> Iterator[bool]:
    """True inside while no other sync of this home runs; False when one still did after `wait_s`."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(home / "sync.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + wait_s
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    yield False
                    return
                time.sleep(0.05)
            else:
                yield True
                return
    finally:
        os.close(handle)
