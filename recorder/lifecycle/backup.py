"""Backups: the database as it was at one moment, and a manifest that says whether it still is."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import recorder
from recorder.errors import FileRefused, StoreError
from recorder.store import copies
from recorder.store.db import DAMAGE, Connection, connect_copy, migrations, transaction, version

FORMAT = 1
SPARE_BYTES = 200 * 1024 * 1024
"""What stays free on the disk beside a backup."""
NAME = re.compile(r"recorder-\d{8}T\d{9}Z\.json")
TORN = re.compile(r"\.recorder-\d{8}T\d{9}Z(\.json)?\.part(-wal|-shm|-journal)?")
MANIFEST_LIMIT_BYTES = 64 * 1024
DAY_MS = 86_400_000


class Manifest(BaseModel):
    """What stands beside a backup."""

    model_config = ConfigDict(frozen=True, strict=True)

    recorder_backup: int
    file: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    size_bytes: int
    schema_version: int
    counts: dict[str, int]
    created_ms: int = Field(ge=0, le=2**53)
    version: str
    made_by: str
    """`person`, `schedule`, or `restore`: the state before one."""


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that lies somewhere, with its manifest."""

    path: Path
    manifest: Manifest


def make(db: Connection, folder: Path, *, made_by: str, now_ms: int) -> Backup:
    """A backup in the folder, whole and looked through, while others read and write.

    Raises: FileRefused when the disk has no room for it, StoreError when the copy is damaged.
    """
    make_folder(folder)
    check_room(folder, copies.size_bytes(db))
    name = next(name for name in map(_name, range(now_ms, now_ms + 1000)) if not (folder / f"{name}.json").exists())
    path, part = folder / f"{name}.db", folder / f".{name}.part"
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        found = _copy(db, part)
        manifest = Manifest(
            recorder_backup=FORMAT,
            file=path.name,
            sha256=digest_of(part),
            size_bytes=part.stat().st_size,
            schema_version=found[0],
            counts=found[1],
            created_ms=now_ms,
            version=recorder.__version__,
            made_by=made_by,
        )
        # The manifest first: a backup is there when both are.
        _write(path.with_suffix(".json"), manifest.model_dump_json(indent=1).encode())
        os.replace(part, path)
        _sync(folder)
    finally:
        part.unlink(missing_ok=True)
    with transaction(db):
        copies.note(db, path, "backup", now_ms)
    return Backup(path, manifest)


def _name(at_ms: int) -> str:
    return f"recorder-{datetime.fromtimestamp(at_ms / 1000, UTC):%Y%m%dT%H%M%S}{at_ms % 1000:03}Z"


def _copy(db: Connection, part: Path) -> tuple[int, dict[str, int]]:
    """(schema, counts) of what was copied."""
    target = connect_copy(part)
    try:
        copies.copy(db, target)
        copies.as_one_file(target)
        damage = copies.damage(target)
        if damage:
            raise StoreError(f"the copy is damaged, and so may be the database: {damage}. See `recorder doctor`")
        return version(target), copies.counts(target)
    finally:
        target.close()


def look(path: Path) -> Backup:
    """The backup at a path, when it is exactly what was made.

    Raises: FileRefused with what is wrong: no manifest, changed, damaged, of a newer schema.
    """
    beside = path.with_suffix(".json")
    manifest = read_manifest(beside)
    if manifest is None:
        raise FileRefused(f"{path} has no manifest: {beside} is not there or is none. `recorder backup` writes both")
    if manifest.recorder_backup > FORMAT or manifest.schema_version > migrations()[-1][0]:
        raise FileRefused(
            f"{path} was made by recorder {manifest.version}, which is newer than this one: update, then restore"
        )
    try:
        size = path.stat().st_size
        same = size == manifest.size_bytes and digest_of(path) == manifest.sha256
    except OSError as error:
        raise FileRefused(f"{path} cannot be read: {error.strerror}") from error
    if not same:
        raise FileRefused(f"{path} is not what {beside.name} says it is: it was changed or cut short. Use another one")
    return Backup(path, manifest)


def read_manifest(path: Path) -> Manifest | None:
    """The manifest at a path; None for what is none."""
    try:
        with path.open("rb") as file:
            return Manifest.model_validate_json(file.read(MANIFEST_LIMIT_BYTES))
    except (OSError, ValidationError):
        return None


def listing(folder: Path) -> list[Backup]:
    """The backups of a folder, the oldest first, as their manifests say; nothing is looked through."""
    found = []
    for beside in folder.glob("recorder-*.json") if folder.is_dir() else ():
        manifest = read_manifest(beside) if NAME.fullmatch(beside.name) else None
        path = beside.with_suffix(".db")
        if manifest is not None and manifest.file == path.name and path.is_file():
            found.append(Backup(path, manifest))
    return sorted(found, key=lambda backup: (backup.manifest.created_ms, backup.path.name))


def kept(created_ms: Iterable[int], keep_daily: int, keep_weekly: int) -> set[int]:
    """Those of the times whose backups stay: the last of each of the latest days, and of each of the latest weeks."""
    newest_first = sorted(created_ms, reverse=True)
    stay: set[int] = set()
    # The first of 1970 was a Thursday: three days later a week began.
    for span_ms, shift_ms, keep in ((DAY_MS, 0, keep_daily), (7 * DAY_MS, 3 * DAY_MS, keep_weekly)):
        spans: dict[int, int] = {}
        for at_ms in newest_first:
            spans.setdefault((at_ms + shift_ms) // span_ms, at_ms)
        stay |= set(list(spans.values())[:keep])
    return stay


def prune(db: Connection, folder: Path, keep_daily: int, keep_weekly: int) -> int:
    """Remove what the schedule made and keeps no longer; how many. Nothing else in the folder is touched."""
    made = [backup for backup in listing(folder) if backup.manifest.made_by == "schedule"]
    stay = kept((backup.manifest.created_ms for backup in made), keep_daily, keep_weekly)
    gone = [backup for backup in made if backup.manifest.created_ms not in stay]
    for backup in gone:
        # The manifest last: what is left of a removal that was cut short is still known for ours.
        backup.path.unlink(missing_ok=True)
        backup.path.with_suffix(".json").unlink(missing_ok=True)
    if gone:
        with transaction(db):
            copies.unnote(db, [backup.path for backup in gone])
    return len(gone)


def sweep(folder: Path, now_ms: int) -> None:
    """Remove what a backup that was killed left behind a day ago."""
    for path in folder.glob(".recorder-*.part*") if folder.is_dir() else ():
        if TORN.fullmatch(path.name) and now_ms - path.stat().st_mtime * 1000 > DAY_MS:
            path.unlink(missing_ok=True)


def check_room(folder: Path, size_bytes: int) -> None:
    """Nothing, when the disk holds a copy of this size and something to spare.

    Raises: FileRefused.
    """
    free = shutil.disk_usage(folder).free
    if free < size_bytes + SPARE_BYTES:
        mb = 1024 * 1024
        raise FileRefused(
            f"{folder} has {free // mb} MB left, a copy needs {(size_bytes + SPARE_BYTES) // mb}: make room"
        )


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_damage(error: StoreError) -> bool:
    """Whether the database cannot be opened because it is none any more."""
    return isinstance(error.__cause__, DAMAGE)


def shape(backup: Backup) -> dict[str, object]:
    """The backup as JSON for who asks."""
    return {"path": str(backup.path), **backup.manifest.model_dump()}


def make_folder(folder: Path) -> None:
    """Have the folder there, for its owner alone.

    Raises: FileRefused when something else is.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError as error:
        raise FileRefused(f"{folder} is no folder: name one to put the backup into") from error


def _write(path: Path, content: bytes) -> None:
    part = path.with_name(f".{path.name}.part")
    with open(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
