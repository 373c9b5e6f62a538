"""The chain of digests that says who changed what and why, without the content.

It guards against accidents and other programs, not against the owner of the file.
"""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import dataclass
from hashlib import sha256

from recorder.store.db import Connection

START = "0" * 64


@dataclass(frozen=True, slots=True)
class Verdict:
    """`state` is pass, unverified (nothing to check) or fail; `broken_id` the first row that does not fit."""

    state: str
    rows: int
    broken_id: int | None = None


def append(
    db: Connection, *, at_ms: int, actor: str, channel: str, action: str, subject: str, detail: str, reason: str | None
) -> None:
    """Add a row. Of `subject` and `detail` a keyed digest is kept and nothing else, and of a reason too, except why
    something was refused, which is a word of ours: what a person wrote could never be forgotten again here. Runs
    inside the caller's transaction."""
    previous, key = _last(db), _key(db, at_ms)
    kept = reason if reason is None or action == "refused" else _keyed(key, reason)
    fields = (at_ms, actor, channel, action, _keyed(key, subject), _keyed(key, detail), kept)
    db.execute(
        "insert into audit (at_ms, actor, channel, action, subject, detail_digest, reason, previous, digest)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*fields, previous, _digest(previous, fields)),
    )


def verify(db: Connection) -> Verdict:
    """Whether every row still follows from the one before it."""
    previous, rows = START, 0
    for row in db.execute(
        "select id, at_ms, actor, channel, action, subject, detail_digest, reason, previous, digest"
        " from audit order by id"
    ):
        if row[8] != previous or row[9] != _digest(previous, row[1:8]):
            return Verdict("fail", rows, row[0])
        previous, rows = row[9], rows + 1
    return Verdict("pass" if rows else "unverified", rows)


def _key(db: Connection, now_ms: int) -> tuple[int, bytes]:
    """(id, secret) of this database's own key, made at first use."""
    for key_id, secret in db.execute("select id, secret from keys where purpose = 'audit' order by id desc limit 1"):
        return key_id, secret
    fresh = secrets.token_bytes(32)
    db.execute("insert into keys (purpose, secret, created_ms) values ('audit', ?, ?)", (fresh, now_ms))
    return db.last_insert_rowid(), fresh


def _keyed(key: tuple[int, bytes], text: str) -> str:
    """HMAC of the text: `<key id>:<hex>`."""
    return f"{key[0]}:{hmac.digest(key[1], text.encode('utf-8', 'backslashreplace'), 'sha256').hex()}"


def _last(db: Connection) -> str:
    for (digest,) in db.execute("select digest from audit order by id desc limit 1"):
        return str(digest)
    return START


def _digest(previous: str, fields: tuple[object, ...]) -> str:
    return sha256(json.dumps([previous, *fields], ensure_ascii=True).encode()).hexdigest()
