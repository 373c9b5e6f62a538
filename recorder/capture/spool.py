"""The folder hooks write into: `tmp/` while they write, `new/` when it is whole, `bad/` for what nobody can read."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LEFTOVER_AFTER_S = 60.0
BAD_KEPT_DAYS = 14
STRAY_KEPT_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Dropped:
    """A file a hook left, and when it did (nanoseconds)."""

    folder: str
    name: str
    received_ns: int
    size_bytes: int

    @property
    def path(self) -> Path:
        return Path(self.folder, self.name)

    @property
    def received_ms(self) -> int:
        return self.received_ns // 1_000_000


def prepare(spool: Path) -> None:
    """Make the three folders, for the owner alone."""
    for name in ("tmp", "new", "bad"):
        (spool / name).mkdir(mode=0o700, parents=True, exist_ok=True)


def pending(spool: Path) -> list[Dropped]:
    """What waits, oldest first by (time, name)."""
    return sorted(_files(spool / "new"), key=lambda dropped: (dropped.received_ns, dropped.name))


def read(dropped: Dropped) -> bytes | None:
    """What the hook left; None when the file is gone."""
    try:
        # Without what pathlib and buffering add: a third of the time of a small file.
        with open(f"{dropped.folder}/{dropped.name}", "rb", buffering=0) as file:
            return file.readall()
    except FileNotFoundError:
        return None


def adopt_leftovers(spool: Path, now_s: float) -> int:
    """Move whole files that a killed hook left in `tmp/` into `new/`; how many.

    A torn one stays for a day, in case a slow hook still writes it, and is then set aside.
    """
    adopted = 0
    for dropped in _files(spool / "tmp"):
        age_s = now_s - dropped.received_ns / 1e9
        if age_s < LEFTOVER_AFTER_S:
            continue
        target = spool / "new" / dropped.name
        if _whole(dropped.path) and not target.exists():
            dropped.path.rename(target)
            adopted += 1
        elif age_s > STRAY_KEPT_S:
            dropped.path.unlink(missing_ok=True)
    return adopted


def drop(spool: Path, contents: Sequence[bytes]) -> None:
    """Put hook inputs where a hook would: each whole, in the order given, or not at all."""
    prepare(spool)
    mark = f"{os.getpid()}-{time.time_ns()}-{secrets.token_hex(4)}"
    for number, content in enumerate(contents):
        name = f"put-{mark}-{number:04}.json"
        _write(spool / "tmp" / name, content)
        os.rename(spool / "tmp" / name, spool / "new" / name)


def set_aside(spool: Path, dropped: Dropped, content: bytes, reason: str) -> None:
    """Keep a file nobody can take in: its redacted content in `bad/`, the reason beside it."""
    target = spool / "bad" / dropped.name
    _write(target, content)
    _write(target.with_name(target.name + ".reason"), reason.encode("utf-8", "backslashreplace") + b"\n")
    discard(dropped)


def discard(dropped: Dropped) -> None:
    """Take the file away: its event is committed."""
    with suppress(FileNotFoundError):
        os.unlink(f"{dropped.folder}/{dropped.name}")


def bad(spool: Path) -> list[tuple[str, str]]:
    """(name, reason) of everything set aside."""
    found = []
    for reason in sorted((spool / "bad").glob("*.reason")):
        found.append((reason.name.removesuffix(".reason"), reason.read_text(encoding="utf-8").strip()))
    return found


def sweep_bad(spool: Path, now_s: float) -> int:
    """Remove what was set aside more than 14 days ago; how many files."""
    old = [dropped for dropped in _files(spool / "bad") if now_s - dropped.received_ns / 1e9 > BAD_KEPT_DAYS * 86_400]
    for dropped in old:
        discard(dropped)
    return len(old)


def lost(spool: Path) -> int:
    """How many hook inputs could not be written, as far as the hooks could say so: each left a dot."""
    try:
        return (spool / "lost").read_bytes().count(b".")
    except OSError:
        return 0


def now_s() -> float:
    """The wall clock, which file times are compared with."""
    return time.time()


def _files(folder: Path) -> Iterator[Dropped]:
    within = str(folder)
    for entry in _entries(folder):
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        yield Dropped(within, entry.name, status.st_mtime_ns, status.st_size)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.is_file(follow_symlinks=False)]
    except FileNotFoundError:
        return []


def _whole(path: Path) -> bool:
    try:
        return isinstance(json.loads(path.read_bytes()), dict)
    except (OSError, ValueError, RecursionError):
        return False


def _write(path: Path, content: bytes) -> None:
    with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
