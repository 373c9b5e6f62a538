"""Bearer tokens minted for a project."""

from __future__ import annotations

import secrets
from hashlib import sha256

from recorder.store import tokens
from recorder.store.db import Connection, transaction
from recorder.store.tokens import Rights


def mint(db: Connection, rights: Rights, project_id: str | None, now_ms: int) -> str:
    """A new token, shown this once: of it only a digest is kept."""
    fresh = secrets.token_urlsafe(32)
    with transaction(db):
        tokens.add(db, digest(fresh), rights.value, project_id, now_ms)
    return fresh


def digest(token: str) -> str:
    """What is kept of a token."""
    return sha256(token.encode("utf-8", "replace")).hexdigest()
