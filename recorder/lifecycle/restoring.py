"""A backup put in place of the database, with what a person decided since on top of it."""

from __future__ import annotations

import logging
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from recorder.errors import FileRefused, RecorderError, StoreError
from recorder.gate import Writer
from recorder.gate.writer import audited
from recorder.lifecycle import backup as backups
from recorder.lifecycle.backup import Backup
from recorder.models import Channel, Scope
from recorder.store import carry, copies, tokens
from recorder.store.db import DAMAGE, Connection, connect, connect_copy, rewrite, transaction

logger = logging.getLogger(__name__)

TRIES = 5


@dataclass(frozen=True, slots=True)
class Restored:
    """What came of it. `before`: where what was there is kept; None where there was nothing. `again`: what was decided
    since the backup, and how often it was done again. `audit`: `whole` where the audit goes on to this day, `gap` where
    rows between the backup and now are lost."""

    file: str
    before: str | None
    again: dict[str, int]
    audit: str


def restore(db_path: Path, chosen: Backup, folder: Path, *, now_ms: int) -> Restored:
    """Put a backup in place. Everything is made ready in a copy beside it; the database itself changes in one step of
    SQLite's own, under which readers see the old content or the new.

    Raises: FileRefused when the backup or the disk will not do, and then nothing has changed.
    """
    backups.make_folder(folder)
    size = chosen.manifest.size_bytes
    backups.check_room(folder, 2 * size + (db_path.stat().st_size if db_path.exists() else 0))
    live = _open(db_path)
    before = None if live is None else _keep(live, db_path, folder, now_ms)
    if live is not None:
        try:
            again, audit = _replace(live, chosen, folder, now_ms)
            return Restored(str(chosen.path), str(before), dict(again), audit)
        except DAMAGE as error:
            logger.error("%s is too damaged to be read: %s", db_path, error)
        finally:
            live.close()
    # Nobody can read what lies there, so nobody is left behind with it.
    aside = _set_aside(db_path, now_ms)
    live = connect(db_path)
    try:
        again, _ = _replace(live, chosen, folder, now_ms)
    finally:
        live.close()
    return Restored(str(chosen.path), str(aside) if aside else None, dict(again), "gap")


def is_foreign(db_path: Path, chosen: Backup) -> bool:
    """Whether the backup is of another home than the database: their audits began with different rows."""
    if not db_path.exists():
        return False
    live = _open(db_path)
    if live is None:
        return False
    try:
        other = connect_copy(chosen.path)
        try:
            firsts = [carry.first(one) for one in (live, other)]
        finally:
            other.close()
    except DAMAGE:
        return False
    finally:
        live.close()
    return None not in firsts and firsts[0] != firsts[1]


def _replace(live: Connection, chosen: Backup, folder: Path, now_ms: int) -> tuple[Counter[str], str]:
    """(what was decided since and is so again, `whole` or `gap`), once the database is the backup."""
    for _ in range(TRIES):
        mark = copies.changed(live)
        with _staged(chosen, folder) as ready:
            found = _decide_again(live, ready, chosen, now_ms)
            if any(what.endswith("_forgotten") and n for what, n in found[0].items()):
                rewrite(ready)  # of rows that moved, old bytes may be left
            if copies.changed(live) != mark:  # somebody wrote meanwhile: that may have been a decision
                continue
            copies.copy(ready, live)
        copies.flush(live)
        return found
    raise RecorderError("the database is written to all the time: end the sessions of Claude Code, then try again")


def _keep(live: Connection, db_path: Path, folder: Path, now_ms: int) -> Path:
    """Where what is there now is kept: a backup; where it is damaged, the file as it is."""
    try:
        return backups.make(live, folder, made_by="restore", now_ms=now_ms).path
    except (StoreError, *DAMAGE):
        kept = Path(f"{db_path}.damaged-{now_ms}")
        for suffix in ("", "-wal"):
            if Path(f"{db_path}{suffix}").exists():
                shutil.copy2(f"{db_path}{suffix}", f"{kept}{suffix}")
        return kept


def _open(db_path: Path) -> Connection | None:
    """The database; None when it is too damaged to be read."""
    try:
        db = connect(db_path)
    except StoreError as error:
        if backups.is_damage(error):
            return None
        raise
    return db


def _set_aside(db_path: Path, now_ms: int) -> Path | None:
    """Where a file that is no database any more was moved to; None where there was none."""
    aside = Path(f"{db_path}.damaged-{now_ms}")
    for suffix in ("", "-wal", "-shm"):
        path = Path(f"{db_path}{suffix}")
        if path.exists():
            os.replace(path, f"{aside}{suffix}")
    return aside if aside.exists() else None


@contextmanager
def _staged(chosen: Backup, folder: Path) -> Iterator[Connection]:
    """A copy of the backup, brought to the schema of this code. It is gone afterwards."""
    path = folder / f".{chosen.path.stem}.part"
    _remove(path)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    source = connect_copy(chosen.path)
    try:
        target = connect_copy(path)
        try:
            copies.copy(source, target)
            damage = copies.damage(target)
        finally:
            target.close()
        if damage:
            raise FileRefused(f"{chosen.path} is damaged: {damage}. Use another one")
        ready = connect(path)
        try:
            yield ready
        finally:
            ready.close()
    finally:
        source.close()
        _remove(path)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def _decide_again(live: Connection, ready: Connection, chosen: Backup, now_ms: int) -> tuple[Counter[str], str]:
    """(what was decided since and is so again, `whole` or `gap`)."""
    again: Counter[str] = Counter()
    with transaction(ready):
        numbers = carry.keys(live, ready)
        again["tombstones"], again["deny_rules"] = carry.refusals(live, ready, numbers)
        again["pauses"] = carry.pauses(live, ready)
        again["sessions_off"] = carry.sessions_off(live, ready)
        whole = carry.is_beginning(live, ready)
        again["findings_resolved"] = carry.findings(live, ready) if whole else 0
        again.update(carry.memories(live, ready, now_ms, same_line=whole))
        again.update(carry.erase_denied(ready, now_ms))
        carry.copies_noted(live, ready)
        tokens.carry(live, ready)
        carry.forgets(live, ready)
        if whole:
            carry.audit(live, ready)
        writer = Writer(Channel.PERSON, "terminal", Scope(None), now_ms)
        # The row that names the backup and, where rows are lost, the last one of them.
        told = f"{chosen.manifest.sha256} over {carry.head(live)}"
        audited(ready, writer, "restored_backup" if whole else "restored_backup_gap", "backup", told, None)
    return again, "whole" if whole else "gap"
