"""The chain of digests that says who changed what and why, without the content.

It guards against accidents and other programs, not against the owner of the file. Where it ends, and how far the
history and the tombstones beside it reach, is kept elsewhere: rows taken off the end are missed too.
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
    """`state` is pass, unverified (nothing to check) or fail; `broken_id` the first row that does not fit, `missing`
    what was taken out, in words."""

    state: str
    rows: int
    broken_id: int | None = None
    missing: str = ""

    @property
    def why(self) -> str:
        """What does not fit, in words."""
        return f"row {self.broken_id} does not follow from the one before it" if self.broken_id else self.missing


_END = "audit_end"
_BESIDE = {"memory_history": "lines of the history", "tombstones": "rejections"}
"""Tables out of which nothing is ever taken, and what is in them."""


def append(
    db: Connection, *, at_ms: int, actor: str, channel: str, action: str, subject: str, detail: str, reason: str | None
) -> None:
    """Add a row. Of `subject` and `detail` a keyed digest is kept and nothing else, and of a reason too, except why
    something was refused, which is a word of ours: what a person wrote could never be forgotten again here. Runs
    inside the caller's transaction."""
    previous, key = _last(db), _key(db, at_ms)
    kept = reason if reason is None or action == "refused" else _keyed(key, reason)
    fields = (at_ms, actor, channel, action, _keyed(key, subject), _keyed(key, detail), kept)
    digest = _digest(previous, fields)
    db.execute(
        "insert into audit (at_ms, actor, channel, action, subject, detail_digest, reason, previous, digest)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*fields, previous, digest),
    )
    _note_end(db, db.last_insert_rowid(), digest, at_ms)


def verify(db: Connection) -> Verdict:
    """Whether every row still follows from the one before it, none is missed at the end, and of the history and the
    tombstones none is."""
    # What is noted is read first: whoever writes meanwhile adds to the rows.
    ends = {name: (value, note) for name, value, note in db.execute(_ENDS)}
    last_id, last_digest = ends.get(_END, (0, None))
    seen = not last_id
    previous, rows = START, 0
    for row in db.execute(
        "select id, at_ms, actor, channel, action, subject, detail_digest, reason, previous, digest"
        " from audit order by id"
    ):
        if row[8] != previous or row[9] != _digest(previous, row[1:8]):
            return Verdict("fail", rows, row[0])
        previous, rows = row[9], rows + 1
        seen = seen or (row[0] == last_id and row[9] == last_digest)
    if not seen:
        return Verdict("fail", rows, missing="rows at its end are gone")
    for table, what in _BESIDE.items():
        ((last, count),) = db.execute(f"select coalesce(max(id), 0), count(*) from {table}")
        if last < ends.get(f"{_END}:{table}", (0, None))[0] or count < last:
            return Verdict("fail", rows, missing=f"{what} are gone")
    return Verdict("pass" if rows else "unverified", rows)


_ENDS = f"select name, value, note from counters where name = '{_END}' or name glob '{_END}:*'"


def _note_end(db: Connection, row_id: int, digest: str, at_ms: int) -> None:
    """Keep where the rows end by now, unless those noted before are not there: who took some away and writes on is
    found out all the same."""
    beside = ", ".join(f"('{_END}:{table}', (select coalesce(max(id), 0) from {table}), ?3, null)" for table in _BESIDE)
    db.execute(
        f"insert into counters (name, value, at_ms, note) values ('{_END}', ?1, ?3, ?2), {beside}"
        " on conflict (name) do update set value = excluded.value, at_ms = excluded.at_ms, note = excluded.note"
        " where excluded.value > counters.value and (counters.note is null or exists"
        " (select 1 from audit where id = counters.value and digest = counters.note))",
        (row_id, digest, at_ms),
    )


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
