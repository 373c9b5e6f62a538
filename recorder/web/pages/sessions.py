"""What happened: sessions, their turns, and every event whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from recorder.errors import NotFound
from recorder.models import EventKind, StoredEvent
from recorder.recall import views
from recorder.store import browse, completeness, events, projects, sessions
from recorder.store.db import Connection
from recorder.web.numbers import whole
from recorder.web.pages import frame
from recorder.web.pages.shown import day, fields

router = APIRouter()
SESSIONS = 50
EVENTS = 100
AROUND = 4
FILES = 40
WHOLE_CHARS = 100_000
COUNTED = 4_000
"""How complete a session is is worked out from all its events: of a longer one `recorder doctor` tells."""
NAMES = ("command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description", "prompt", "skill")
"""What of a tool's input says best what it was about."""


@dataclass(slots=True)
class Thread:
    """Steps of a turn: of the main thread, or of one subagent."""

    agent_id: str | None
    steps: list[StoredEvent] = field(default_factory=list)

    @property
    def failures(self) -> int:
        return sum(step.ok is False for step in self.steps)


@dataclass(slots=True)
class Turn:
    """What was asked, and what was done about it."""

    prompt_id: str | None
    asked: StoredEvent | None = None
    parts: list[StoredEvent | Thread] = field(default_factory=list)

    @property
    def day(self) -> str:
        """The local date it begins on."""
        first = self.asked or self.parts[0]
        return day((first.steps[0] if isinstance(first, Thread) else first).at_ms)


@router.get("/sessions")
def listing(request: Request) -> Response:
    """The sessions, the latest first."""
    with frame.opened(request) as page:
        before = _cursor(page.given("before"))
        rows = browse.session_page(page.db, page.scope, before=before, limit=SESSIONS + 1)
        last = rows[SESSIONS - 1].session if len(rows) > SESSIONS else None
        names = {one["id"]: one["name"] for one in projects.listing(page.db)}
        model = {
            "rows": rows[:SESSIONS],
            "names": names,
            "older": f"{last.last_ms}:{last.id}" if last else None,
            "begun": before is not None,
        }
        return page.show("sessions.html", model)


@router.get("/sessions/{session_id:path}")
def session(request: Request, session_id: str) -> Response:
    """One session, turn by turn."""
    with frame.opened(request) as page:
        db = page.db
        found = sessions.get(db, session_id)
        if found is None:
            raise NotFound(f"there is no session {session_id[:80]!r} here")
        after = _place(page.given("after"))
        until = _place(page.given("until"))
        rows = browse.event_page(db, session_id, after=until or after, limit=EVENTS + 1, backwards=until is not None)
        earlier = len(rows) > EVENTS if until else after is not None
        later = until is not None or len(rows) > EVENTS
        rows = rows[-EVENTS:] if until else rows[:EVENTS]
        model = {
            "session": found,
            "title": found.title or next((t for t in (views.title([event]) for event in rows) if t), ""),
            "project": page.project_name(found.project_id),
            "turns": turns(rows),
            "cites": browse.cites(db, [event.id for event in rows]),
            "files": browse.files_of(db, session_id, FILES),
            "complete": None if browse.is_longer(db, session_id, COUNTED) else completeness.of_session(db, session_id),
            "earlier": _at(rows[0]) if rows and earlier else None,
            "later": _at(rows[-1]) if rows and later else None,
            "about": about,
        }
        return page.show("session.html", model)


@router.get("/events/{number}")
def event(request: Request, number: int) -> Response:
    """One event, whole, with what happened around it and what stands on it."""
    with frame.opened(request) as page:
        found = _event(page.db, number)
        model = {
            "event": found,
            "session": sessions.get(page.db, found.session_id),
            "around": events.around(page.db, number, before=AROUND, after=AROUND),
            "cites": browse.cites(page.db, [number]).get(number, []),
            "place": _before(found),
            "about": about,
            "whole": WHOLE_CHARS,
        }
        return page.show("event.html", model)


@router.get("/events/{number}/text")
def event_text(request: Request, number: int) -> Response:
    """The words of an event and nothing else, of whatever length."""
    with frame.opened(request) as page:
        found = _event(page.db, number)
        said = "\n\n".join(f"{name}:\n{text}" if name else text for name, text in fields(found.body))
        return PlainTextResponse(said.encode("utf-8", "replace"))


def turns(rows: Iterable[StoredEvent]) -> list[Turn]:
    """Events in the order they happened, by turn; what a subagent did stands together where it began."""
    found: dict[str, Turn] = {}
    threads: dict[tuple[str, str], Thread] = {}
    for row in rows:
        name = row.prompt_id or ""
        turn = found.setdefault(name, Turn(row.prompt_id))
        if row.agent_id is None:
            if row.kind is EventKind.PROMPT and turn.asked is None and not turn.parts:
                turn.asked = row
            else:
                turn.parts.append(row)
            continue
        if (name, row.agent_id) not in threads:
            threads[name, row.agent_id] = Thread(row.agent_id)
            turn.parts.append(threads[name, row.agent_id])
        threads[name, row.agent_id].steps.append(row)
    return list(found.values())


def about(event: StoredEvent) -> str:
    """What an event was about, in a line: of a call what it was given, of others what they say."""
    given = event.body.get("input")
    if event.kind is EventKind.TOOL_CALL:
        named = given if isinstance(given, Mapping) else {}
        return next((str(named[name]) for name in NAMES if named.get(name)), "")
    return event.text or event.excerpt


def _event(db: Connection, number: int) -> StoredEvent:
    found = events.get(db, [number]) if 0 < number < 2**63 else []
    if not found:
        raise NotFound(f"there is no event e{number} here")
    return found[0]


def _at(event: StoredEvent) -> str:
    return f"{event.at_ms}:{event.id}"


def _before(event: StoredEvent) -> str:
    """The place from which on a page begins with the event."""
    return f"{event.at_ms}:{event.id - 1}"


def _place(given: str) -> tuple[int, int] | None:
    at_ms, _, number = given.partition(":")
    at, one = whole(at_ms, signed=True), whole(number, signed=True)
    return (at, one) if at is not None and one is not None else None


def _cursor(given: str) -> tuple[int, str] | None:
    at_ms, _, name = given.partition(":")
    at = whole(at_ms, signed=True)
    return (at, name) if at is not None and name else None
