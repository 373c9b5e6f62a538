"""Who may ask: the token file, the page's cookie session, and where a request may come from."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

COOKIE = "recorder_session"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def token(home: Path) -> str:
    """The bearer token, made at first use in a file for the owner alone."""
    path = home / "token"
    if not path.exists():
        rotate(home)
    return path.read_text(encoding="ascii").strip()


def rotate(home: Path) -> str:
    """A new token; the old one opens nothing from then on."""
    path = home / "token"
    fresh = secrets.token_urlsafe(32)
    draft = path.with_name(".token.new")
    with open(os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(fresh + "\n")
    os.replace(draft, path)
    return fresh


def from_here(headers: Mapping[str, str]) -> bool:
    """Whether Host names this machine, and Origin, where there is one, this very service: a page of another site or
    port, or a name that was made to point here, does not get in."""
    host = headers.get("host", "")
    if _hostname(f"//{host}") not in LOOPBACK:
        return False
    return headers.get("origin", f"http://{host}") == f"http://{host}"


def bears(headers: Mapping[str, str], expected: str) -> bool:
    """Whether the request carries the token."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), expected.encode())


def _hostname(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
