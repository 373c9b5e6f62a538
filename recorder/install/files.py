"""A file of Claude Code's: read, and replaced whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from recorder.errors import SettingsError

TRIES = 20
# The client's own lock around `.claude.json`: a folder `<file>.lock`, stale after ten seconds (read in 2.1.197).
LOCK_STALE_S = 10.0
LOCK_WAIT_S = 15.0

Change = Callable[[bytes | None], bytes | None]


def read(path: Path) -> bytes | None:
    """The bytes there, or None when there is no file.

    Raises: SettingsError when it is no file, or cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror}): nothing was changed; mend it first") from error


def check_writable(path: Path) -> None:
    """Nothing, when the file may be replaced.

    Raises: SettingsError when its owner made it read-only: a rename would get around that.
    """
    if path.exists() and not path.stat().st_mode & stat.S_IWUSR:
        raise SettingsError(f"{path} is read-only: nothing was changed; make it writable (chmod u+w) and try again")


def edit(path: Path, change: Change, *, lock: bool = False) -> bytes | None:
    """What stands there after `change(old bytes)`; None removes the file.

    Another program may write at the same time: when the file is no longer what `change` saw, it is asked again.
    Raises: SettingsError when that never ends, or the disk refuses; the old file then stands untouched.
    """
    with client_lock(path) if lock else nullcontext():
        for _ in range(TRIES):
            old = read(path)
            new = change(old)
            if new == old or _swap(path, old, new):
                return new
    raise SettingsError(f"{path} keeps changing while it is written: close other sessions and try again")


def put(path: Path, raw: bytes, mode: int) -> bool:
    """The file holds `raw` under `mode`. False when it did already."""
    if read(path) == raw and stat.S_IMODE(path.stat().st_mode) == mode:
        return False
    _swap(path, None, raw, mode=mode, compare=False)
    return True


@contextmanager
def client_lock(path: Path) -> Iterator[None]:
    """Holds off the client, which takes the same lock before it rewrites the file.

    Raises: SettingsError when somebody holds it for too long.
    """
    lock = path.with_name(path.name + ".lock")
    end = time.monotonic() + LOCK_WAIT_S
    while path.parent.is_dir():
        try:
            lock.mkdir()
        except FileExistsError:
            _drop_stale(lock)
            if time.monotonic() > end:
                raise SettingsError(f"{lock} is held by another program: close it, or remove the folder") from None
            time.sleep(0.02)
            continue
        except OSError as error:
            raise SettingsError(f"{lock} cannot be made ({error.strerror}): {path} is left as it was") from error
        try:
            yield
        finally:
            lock.rmdir()
        return
    yield


def _drop_stale(lock: Path) -> None:
    try:
        if time.time() - lock.stat().st_mtime > LOCK_STALE_S:
            lock.rmdir()
    except FileNotFoundError:
        pass  # its holder was done in between


def _swap(path: Path, old: bytes | None, new: bytes | None, *, mode: int | None = None, compare: bool = True) -> bool:
    """False when the file is no longer `old`. A symlink stays, what it points at is replaced."""
    target = Path(os.path.realpath(path))
    if new is None:
        if read(path) != old:
            return False
        target.unlink()
        return True
    draft = target.with_name(f".{target.name}.recorder-{os.getpid()}.tmp")
    try:
        _write(draft, new, mode if mode is not None else _mode(target))
        if compare and read(path) != old:
            draft.unlink()
            return False
        os.replace(draft, target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        why = error.strerror or errno.errorcode.get(error.errno or 0, "?")
        raise SettingsError(f"{path} cannot be written ({why}): it stands as it was; mend that, try again") from error
    return True


def _mode(target: Path) -> int:
    return stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600


def _write(draft: Path, raw: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(draft, flags, 0o600), "wb") as out:
        out.write(raw)
        out.flush()
        os.fchmod(out.fileno(), mode)
        os.fsync(out.fileno())
