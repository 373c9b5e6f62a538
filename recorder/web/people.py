"""The people who came in through a link, for as long as the service lives."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from recorder.web import access

SESSION_MS = 12 * 3_600_000
USED = "this link was used before: `recorder up` prints a new one"
NOT_VALID = "this link is not valid any more: `recorder up` prints a new one"


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that a person let in."""

    name: str
    """What the audit calls it: eight letters that open nothing."""
    form: str
    """What every form of its pages carries, and no other page knows."""
    token: str
    """The token of the home when it came in: a new one lets nobody stay."""
    until_ms: int


class People:
    """Who is in. A link lets one browser in, once, within ten minutes; a session lasts twelve hours."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._sessions: dict[str, Session] = {}
        self._used: dict[str, int] = {}

    def enter(self, link: str, now_ms: int) -> str | None:
        """What the browser's cookie is to hold; None for a link that opens nothing.

        Raises: AlreadyUsed.
        """
        until_ms = access.link_until(self._home, link)
        if until_ms is None or now_ms > until_ms:
            return None
        self._used = {one: until for one, until in self._used.items() if until > now_ms}
        if link in self._used:
            raise AlreadyUsed(USED)
        self._used[link] = until_ms
        cookie = secrets.token_urlsafe(32)
        self._sessions = {one: session for one, session in self._sessions.items() if session.until_ms > now_ms}
        self._sessions[cookie] = Session(
            name=sha256(cookie.encode()).hexdigest()[:8],
            form=secrets.token_urlsafe(32),
            token=access.token(self._home),
            until_ms=now_ms + SESSION_MS,
        )
        return cookie

    def leave(self, name: str) -> None:
        """Let the session with this name in no more."""
        self._sessions = {one: session for one, session in self._sessions.items() if session.name != name}

    def of(self, cookie: str | None, now_ms: int) -> Session | None:
        """The session a cookie stands for, while it lasts."""
        session = self._sessions.get(cookie or "")
        if session is None or now_ms > session.until_ms:
            return None
        same = hmac.compare_digest(session.token.encode(), access.token(self._home).encode())
        return session if same else None


class AlreadyUsed(Exception):
    """A link that let somebody in before."""
