"""How the database is opened."""

from __future__ import annotations

import importlib.util
import logging
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import apsw

from recorder.errors import StoreError
from recorder.store import indexes, paths

logger = logging.getLogger(__name__)

Connection = apsw.Connection
DatabaseError = apsw.Error

STORE_TROUBLE = (
    *(apsw.FullError, apsw.IOError, apsw.ReadOnlyError, apsw.CantOpenError, apsw.BusyError, apsw.LockedError),
    *(apsw.ProtocolError, apsw.NoMemError, apsw.CorruptError, apsw.NotADBError),
)
"""Whatever is written: a full or broken disk, the lock of another program, a damaged file."""

DISK_FULL = (apsw.FullError,)
"""There is no room for more."""

DAMAGE = (apsw.CorruptError, apsw.NotADBError)
"""The file is no database, or none any more."""

BUSY_TIMEOUT_MS = 10_000
WAL_LIMIT_BYTES = 32 * 1024 * 1024

# https://sqlite.org/pragma.html: these take hold before the first table alone. Afterwards `auto_vacuum` would still
# take the write lock and write a page. An event is 1 to 3 KB: pages of 4 KB would hold one, and air.
FRESH_PRAGMAS = """
pragma page_size = 8192;
pragma auto_vacuum = incremental;
"""
# secure_delete overwrites what is deleted.
PRAGMAS = f"""
pragma journal_mode = wal;
pragma synchronous = full;
pragma foreign_keys = on;
pragma secure_delete = on;
pragma journal_size_limit = {WAL_LIMIT_BYTES};
pragma temp_store = memory;
"""


def connect(path: Path) -> Connection:
    """An open database, migrated and with its search tables as this code expects them.

    One connection a unit of work; never shared between threads (apsw raises ThreadingViolationError).

    Raises: StoreError when the file is not a database or its folder cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        db = apsw.Connection(str(path))
        _wait_when_busy(db)
        _plan_once(db)
        _add_functions(db)
        if not db.pragma("page_count"):
            db.execute(FRESH_PRAGMAS).get
        db.execute(PRAGMAS).get  # fetched to the end: execute alone stops at the first row, which journal_mode gives
        _load_vec(db)
        _migrate(db)
    except (apsw.Error, OSError) as error:
        raise StoreError(f"{path} cannot be used: {error}. {_remedy(path, error)}") from error
    return db


def _wait_when_busy(db: Connection) -> None:
    """Wait for a lock that somebody else holds, asking often and at odd times.

    SQLite's own wait asks ten times a second in the end, and between two transactions of a busy writer the lock is free
    for microseconds: one of eight writers, 200 transactions each, did not get it within ten seconds.
    """
    began_s = 0.0

    def busy(asked_before: int) -> bool:
        nonlocal began_s
        now_s = time.monotonic()
        if asked_before == 0:
            began_s = now_s
        if now_s - began_s > BUSY_TIMEOUT_MS / 1000:
            return False
        time.sleep(random.uniform(0.0002, 0.004))
        return True

    db.set_busy_handler(busy)


def _plan_once(db: Connection) -> None:
    """Keep the plan of a statement whatever it is bound to: planned anew for each value, a look at one memory took
    60 µs in place of 4. https://sqlite.org/queryplanner-ng.html, "query planner stability guarantee"."""
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


def _add_functions(db: Connection) -> None:
    def names_file(*given: Any) -> bool:
        return paths.names(*given)

    db.create_scalar_function("names_file", names_file, 3, deterministic=True)


def _remedy(path: Path, error: Exception) -> str:
    if isinstance(error, DAMAGE):
        return "Move it away to begin anew, or restore a backup"
    if isinstance(error, apsw.BusyError):
        return "Another program holds it: try again"
    return f"See that {path.parent} is a folder you may write to and that its disk has room"


def connect_readonly(path: Path) -> Connection:
    """The database as it is, for reading.

    Raises: StoreError when there is none or it is not a database.
    """
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        _wait_when_busy(db)
        _plan_once(db)
        _add_functions(db)
        db.execute("pragma query_only = on")
        _load_vec(db)
        db.execute("select count(*) from sqlite_schema").get
    except apsw.Error as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    return db


def connect_copy(path: Path) -> Connection:
    """A copy of the database, as it lies there: nothing is migrated, its settings are its own.

    Raises: StoreError when it cannot be opened.
    """
    try:
        db = apsw.Connection(str(path))
        _wait_when_busy(db)
        _load_vec(db)
    except apsw.Error as error:
        raise StoreError(f"{path} cannot be opened: {error}") from error
    return db


def blank() -> Connection:
    """A database in memory, with all its tables and nothing in them: what is written there stays nowhere."""
    db = apsw.Connection(":memory:")
    _migrate(db)
    return db


@contextmanager
def transaction(db: Connection) -> Iterator[None]:
    """Everything inside or nothing. The write lock is taken at once: a read that turns into a write fails at once
    in spite of the busy timeout (https://sqlite.org/lang_transaction.html, "deferred")."""
    db.execute("begin immediate")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("rollback")
        raise
    db.execute("commit")


@contextmanager
def rehearsal(db: Connection) -> Iterator[None]:
    """Everything inside as it would be done, and then none of it: what a change would make is not worked out twice."""
    db.execute("begin immediate")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("rollback")


@contextmanager
def snapshot(db: Connection) -> Iterator[None]:
    """Everything inside reads the database as it is at one moment. Each statement alone would take its lock and give it
    back: a search has thirty."""
    if db.in_transaction:
        yield
        return
    db.execute("begin")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("rollback")


@contextmanager
def together(db: Connection) -> Iterator[None]:
    """One transaction, the caller's where there is one."""
    if db.in_transaction:
        yield
        return
    with transaction(db):
        yield


@contextmanager
def attempt(db: Connection) -> Iterator[None]:
    """A part of a transaction that is taken back when it raises, while the rest goes on."""
    with db:  # a savepoint: https://rogerbinns.github.io/apsw/connection.html#apsw.Connection.__enter__
        yield


def has_vec(db: Connection) -> bool:
    """Whether sqlite-vec is there to be used on this connection."""
    try:
        db.execute("select vec_version()").get
    except apsw.SQLError:
        return False
    return True


def checkpoint(db: Connection) -> bool:
    """Whether the whole write-ahead log reached the file and was cut to nothing; an open reader prevents it, and is
    not waited for."""
    db.set_busy_timeout(0)
    try:
        busy, _, _ = next(iter(db.execute("pragma wal_checkpoint(truncate)")))
    finally:
        _wait_when_busy(db)
    return bool(busy == 0)


def rewrite(db: Connection) -> bool:
    """Write the whole file anew, with nothing in it but what is there. False where another program holds it for longer
    than the busy timeout, or the disk has no room for a second copy.

    `secure_delete` overwrites a row where it stands; of rows that moved when a page was split or filled up, SQLite may
    leave the old bytes in the page's unused middle (btree.c, rebuildPage; seen in 3.54.1).
    """
    db.execute("pragma temp_store = file").get  # the copy is as large as the database
    try:
        db.execute("vacuum").get
    except (apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.IOError) as error:
        logger.warning("the database was not written anew: %s", error)
        return False
    finally:
        db.execute("pragma temp_store = memory").get
    return True


@cache
def _vec_library() -> str | None:
    """The path of the extension without its package, whose import pulls numpy."""
    spec = importlib.util.find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        return None
    return str(Path(spec.origin).with_name("vec0"))


def _load_vec(db: Connection) -> None:
    library = _vec_library()
    if library is None:
        return
    try:
        db.enable_load_extension(True)
        db.load_extension(library)
        db.enable_load_extension(False)
    except (apsw.Error, AttributeError) as error:
        logger.warning("sqlite-vec cannot be loaded, vectors stay off: %s", error)


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """(number, SQL) of every migration, in order."""
    folder = files("recorder.store") / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple((int(name.split("_")[0]), (folder / name).read_text(encoding="utf-8")) for name in names)


def version(db: Connection) -> int:
    """The number of the last migration the file has seen."""
    return int(db.pragma("user_version") or 0)


def _migrate(db: Connection) -> None:
    newest = migrations()[-1][0]
    seen = version(db)
    for number, sql in migrations():
        if seen >= number:
            continue
        with transaction(db):
            if version(db) < number:
                db.execute(sql)
                db.pragma("user_version", number)
    # Code older than the file leaves the newer shapes alone.
    if version(db) <= newest and not indexes.as_expected(db):
        with transaction(db):
            indexes.assert_shapes(db)
