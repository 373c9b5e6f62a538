"""Rows of Claude's own memory files, and of the memory each piece of them became."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from recorder.store.db import Connection


@dataclass(frozen=True, slots=True)
class File:
    """One file as it was read last."""

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


def keep_file(db: Connection, file: File, now_ms: int) -> None:
    """Note how the file was found."""
    db.execute(
        "insert or replace into claude_files (path, folder, stamp, session_id, beyond, read_ms)"
        " values (?, ?, ?, ?, ?, ?)",
        (file.path, file.folder, file.stamp, file.session_id, file.beyond, now_ms),
    )


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
