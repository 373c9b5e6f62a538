"""The keys of a home: the token file, the links that let a browser in, and where a request may come from."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

LINK_MS = 10 * 60_000
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def cookie_name(home: Path, of: str) -> str:
    """What a cookie is called: browsers keep no ports apart, and two homes of one machine must not throw each other
    out."""
    return f"recorder_{of}_{sha256(str(home).encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"


def token(home: Path) -> str:
    """The bearer token, made at first use in a file for the owner alone."""
    return _kept(home / "token")


def rotate(home: Path) -> str:
    """A new token; the old one, every open link and every browser that is in open nothing from then on."""
    return _write(home / "token")


def link(home: Path, pid: int, until_ms: int) -> str:
    """What a browser shows to come in, once, to the service with this process id.

    It is made and checked with a key of its own beside the token, so that any `recorder up` can make one for the
    service that runs, and whoever was given the token cannot.
    """
    said = f"{secrets.token_urlsafe(12)}.{pid}.{until_ms}"
    return f"{said}.{_signed(home, said)}"


def link_until(home: Path, given: str) -> int | None:
    """Until when a link of this home for this process is good; None for what is none."""
    said, _, signature = given.rpartition(".")
    if not hmac.compare_digest(signature.encode("utf-8", "replace"), _signed(home, said).encode()):
        return None
    _, pid, until_ms = said.split(".")
    return int(until_ms) if int(pid) == os.getpid() else None


def from_here(headers: Mapping[str, str]) -> bool:
    """Whether Host names this machine, and Origin, where there is one, this very service: a page of another site or
    port, or a name that was made to point here, does not get in."""
    host = headers.get("host", "")
    if _hostname(f"//{host}") not in LOOPBACK:
        return False
    return headers.get("origin", f"http://{host}") == f"http://{host}"


def from_own_page(headers: Mapping[str, str]) -> bool:
    """Whether the browser says that a page of this service sent it: every browser says so of a form, in one header or
    the other (https://www.w3.org/TR/fetch-metadata/)."""
    return headers.get("sec-fetch-site", "same-origin" if "origin" in headers else "none") == "same-origin"


def bearer(headers: Mapping[str, str]) -> str | None:
    """The token a request carries."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() or None if scheme.lower() == "bearer" else None


def is_homes(home: Path, given: str) -> bool:
    """Whether it is the token of the home itself."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), token(home).encode())


def _signed(home: Path, said: str) -> str:
    key = f"{_kept(home / 'login.key')}{token(home)}"
    return hmac.digest(key.encode(), said.encode("utf-8", "replace"), "sha256").hex()


def _kept(path: Path) -> str:
    if not path.exists():
        _write(path)
    return path.read_text(encoding="ascii").strip()


def _write(path: Path) -> str:
    fresh = secrets.token_urlsafe(32)
    draft = path.with_name(f".{path.name}.new")
    with open(os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(fresh + "\n")
    os.replace(draft, path)
    return fresh


def _hostname(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
