"""Rows of Claude's own memory files, and of the memory each piece of them became."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from recorder.store.db import Connection


@dataclass(frozen=True, slots=True)
class File:
    """One file as it was read last. Paths are digests where they may not be kept."""

    path: str
    folder: str
    stamp: str
    """What the file system said then; empty where it must be read again."""
    session_id: str | None
    beyond: int
    """Lines the client does not load."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One piece of a file, and the address of its memory."""

    id: int
    path: str
    name: str
    namespace: str
    key: str
    hash: str
    gone: bool


_ENTRY = "e.id, e.path, e.name, e.namespace, e.key, e.hash, e.gone_ms is not null"


def digest(path: str) -> str:
    """What a path is known by that may not be kept: it holds a secret, or names what was forgotten."""
    return f"sha256:{sha256(path.encode('utf-8', 'backslashreplace')).hexdigest()}"


def is_digest(path: str) -> bool:
    """Whether the path is kept as its digest."""
    return path.startswith("sha256:")


def folders(db: Connection) -> set[str]:
    """Every folder a file was read in."""
    return {row[0] for row in db.execute("select distinct folder from claude_files")}


def of_folder(db: Connection, folder: str) -> dict[str, File]:
    """The files of a folder, by path."""
    rows = db.execute("select path, folder, stamp, session_id, beyond from claude_files where folder = ?", (folder,))
    return {row[0]: File(*row) for row in rows}


def entries(db: Connection, folder: str) -> list[Entry]:
    """What was made of a folder's files, gone ones included, oldest first."""
    rows = db.execute(
        f"select {_ENTRY} from claude_entries e join claude_files f on f.path = e.path where f.folder = ?"
        " order by e.id",
        (folder,),
    )
    return [_entry(row) for row in rows]


def at(db: Connection, namespace: str, key: str) -> Entry | None:
    """What holds the address."""
    rows = db.execute(f"select {_ENTRY} from claude_entries e where e.namespace = ? and e.key = ?", (namespace, key))
    for row in rows:
        return _entry(row)
    return None


def undecided(db: Connection, folder: str) -> list[tuple[str, str, str | None]]:
    """(namespace, key, session) of what a person alone sees, because nobody knew the project."""
    return list(
        db.execute(
            "select e.namespace, e.key, f.session_id from claude_entries e join claude_files f on f.path = e.path"
            " join memories m on m.namespace = e.namespace and m.key = e.key"
            " where f.folder = ? and m.project_id is null order by e.id",
            (folder,),
        )
    )


def undecided_files(db: Connection) -> int:
    """How many files there are of which nobody knows the project."""
    rows = db.execute(
        "select count(distinct e.path) from claude_entries e"
        " join memories m on m.namespace = e.namespace and m.key = e.key"
        " where e.gone_ms is null and m.scope_id is null and m.state = 'active'"
    )
    return int(next(iter(rows))[0])


def forget(db: Connection, memory_id: int) -> None:
    """Keep of the memory's piece neither words nor name: that its file was read stays, so that it is not read again
    until it changes."""
    rows = db.execute(
        "select e.id, e.path, e.key from claude_entries e join memories m on m.namespace = e.namespace"
        " and m.key = e.key where m.id = ?",
        (memory_id,),
    )
    for entry_id, path, key in list(rows):
        db.execute("delete from claude_entries where id = ?", (entry_id,))
        if not is_digest(path) and not list(db.execute("select 1 from claude_entries where path = ?", (path,))):
            db.execute("update or replace claude_files set path = ? where path = ?", (digest(path), path))
        last = last_report(db)
        if last is not None:
            keep_report(db, last | {"problems": [one for one in last["problems"] if key not in one]})


def keep_file(db: Connection, file: File, now_ms: int) -> None:
    """Note how the file was found."""
    db.execute(
        "insert or replace into claude_files (path, folder, stamp, session_id, beyond, read_ms)"
        " values (?, ?, ?, ?, ?, ?)",
        (file.path, file.folder, file.stamp, file.session_id, file.beyond, now_ms),
    )


def read_again(db: Connection, folder: str) -> None:
    """Let every file of the folder be read when it is seen next, also where it looks as it did."""
    db.execute("update claude_files set stamp = '' where folder = ?", (folder,))


def keep_entry(db: Connection, path: str, name: str, namespace: str, key: str, digest: str) -> None:
    """Note what a piece of a file became; whatever held the address before was the same piece elsewhere."""
    db.execute(
        "insert into claude_entries (path, name, namespace, key, hash) values (?, ?, ?, ?, ?)"
        " on conflict (namespace, key) do update set path = excluded.path, name = excluded.name,"
        " hash = excluded.hash, gone_ms = null",
        (path, name, namespace, key, digest),
    )


def mark_gone(db: Connection, entry_id: int, now_ms: int) -> None:
    """Note that a piece is no longer there."""
    db.execute("update claude_entries set gone_ms = ? where id = ?", (now_ms, entry_id))


def keep_report(db: Connection, report: object) -> None:
    """Remember what the last sync did."""
    db.execute("insert or replace into claude_syncs (id, report) values (1, ?)", (json.dumps(report),))


def last_report(db: Connection) -> dict[str, Any] | None:
    """What the last sync did; None before the first."""
    for (text,) in db.execute("select report from claude_syncs where id = 1"):
        return dict(json.loads(text))
    return None


def _entry(row: tuple[Any, ...]) -> Entry:
    entry_id, path, name, namespace, key, digest, gone = row
    return Entry(entry_id, path, name, namespace, key, digest, bool(gone))
