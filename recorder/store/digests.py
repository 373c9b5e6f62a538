"""Keyed digests: what was refused or forgotten is known again without being kept."""

from __future__ import annotations

import hmac
import secrets

from recorder.store.db import Connection


def of(db: Connection, purpose: str, text: str, now_ms: int) -> str:
    """The digest of a text under the newest key of a purpose, which is made at first use: `<key id>:<hex>`."""
    return _digest(*newest(db, purpose, now_ms), text)


def newest(db: Connection, purpose: str, now_ms: int) -> tuple[int, bytes]:
    """(id, secret) of the newest key of a purpose, which is made at first use."""
    for key_id, secret in db.execute(
        "select id, secret from keys where purpose = ? order by id desc limit 1", (purpose,)
    ):
        return key_id, secret
    secret = secrets.token_bytes(32)
    db.execute("insert into keys (purpose, secret, created_ms) values (?, ?, ?)", (purpose, secret, now_ms))
    return db.last_insert_rowid(), secret


def every(db: Connection, purpose: str) -> list[tuple[int, bytes]]:
    """(id, secret) of every key of a purpose."""
    return list(db.execute("select id, secret from keys where purpose = ?", (purpose,)))


def any_key(db: Connection, purpose: str) -> bool:
    """Whether anything was ever signed for a purpose: where nothing was, nothing can match."""
    return bool(list(db.execute("select 1 from keys where purpose = ? limit 1", (purpose,))))


def under_every_key(db: Connection, purpose: str, texts: list[str]) -> dict[str, str]:
    """Digest → text, of every text under every key of the purpose: rows may have been made under an older one."""
    keys = list(db.execute("select id, secret from keys where purpose = ?", (purpose,)))
    return {_digest(key_id, secret, text): text for key_id, secret in keys for text in texts}


def _digest(key_id: int, secret: bytes, text: str) -> str:
    return f"{key_id}:{hmac.digest(secret, text.encode('utf-8', 'backslashreplace'), 'sha256').hex()}"
