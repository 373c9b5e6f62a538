"""Bearer tokens: that of the home, and those minted for a project."""

from __future__ import annotations

import secrets
from hashlib import sha256

from recorder.config import Config
from recorder.store import tokens
from recorder.store.db import Connection, transaction
from recorder.web import access
from recorder.web.asking import Caller, Kind, Rights, opened


def caller(config: Config, given: str) -> Caller | None:
    """Who holds the token; None for one that opens nothing."""
    if access.is_homes(config.home, given):
        return Caller(Kind.TOKEN, Rights.ADMIN, "api:home", everywhere=True)
    with opened(config) as db:
        # The digest is looked up, not compared: how long that takes tells nothing about the token.
        found = tokens.find(db, digest(given))
    if found is None:
        return None
    return Caller(Kind.TOKEN, Rights(found.rights), f"api:{found.fingerprint}", found.project_id)


def mint(db: Connection, rights: Rights, project_id: str | None, now_ms: int) -> str:
    """A new token, shown this once: of it only a digest is kept."""
    fresh = secrets.token_urlsafe(32)
    with transaction(db):
        tokens.add(db, digest(fresh), rights.value, project_id, now_ms)
    return fresh


def digest(token: str) -> str:
    """What is kept of a token."""
    return sha256(token.encode("utf-8", "replace")).hexdigest()
