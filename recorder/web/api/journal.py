"""What was captured: sessions, events, prompts, tool calls and files."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query

from recorder.errors import NotFound
from recorder.models import EventKind, Scope, StoredEvent
from recorder.recall import views
from recorder.store import completeness, events, journal, projects, sessions
from recorder.web.api import paging
from recorder.web.api.desk import Asked, Call, Desk
from recorder.web.rows import Events, Files, OneSession, Projects, Sessions
from recorder.web.shapes import Rows, says

routes = APIRouter(prefix="/api", tags=["journal"])
SUMMED_EVENTS = 2_000

Session = Annotated[str | None, Query(max_length=200)]


@routes.get("/projects", response_model=None, responses=says(Projects))
def list_projects(asked: Asked) -> Rows:
    """Every project with its folders; for the token of one that one alone."""
    with asked.desk() as here:
        found = projects.listing(here.db)
    return Rows(items=[one for one in found if here.caller.everywhere or one["id"] == here.caller.project_id])


@routes.get("/sessions", response_model=None, responses=says(Sessions))
def list_sessions(asked: Asked, limit: paging.Limit = 50, cursor: paging.Cursor = None) -> Rows:
    """Sessions of the project, the latest first; for a person of every project where none is named."""
    with asked.desk() as here:
        found = journal.session_page(here.db, _seen_from(asked, here), before=paging.place(cursor), limit=limit)
    return Rows(
        items=[asdict(one) for one in found],
        next=paging.after(found, limit, lambda one: (one.last_ms, one.id)),
    )


@routes.get("/sessions/{id:path}", response_model=None, responses=says(OneSession))
def read_session(asked: Asked, id: str) -> dict[str, Any]:
    """One session: what it was about, in how far it was captured, and how many events are its. The events are a page of
    `/api/events?session=`."""
    with asked.desk() as here:
        session = sessions.get(here.db, id)
        if session is None or not _may_see(asked, here.scope, session.project_id):
            raise NotFound(f"there is no session {id[:80]} here")
        found = events.of_session(here.db, id, limit=SUMMED_EVENTS)
        captured = completeness.of_session(here.db, id)
    return {
        "session": asdict(session),
        "summary": asdict(views.summary(found)),
        "capture": asdict(captured) if captured else None,
    }


@routes.get("/events", response_model=None, responses=says(Events))
def list_events(
    asked: Asked,
    kind: EventKind | None = None,
    session: Session = None,
    limit: paging.Limit = 50,
    cursor: paging.Cursor = None,
) -> Rows:
    """Events of the project or session, the latest first, whole."""
    return _page(asked, journal.Wanted(kind=kind, session_id=session), limit, cursor)


@routes.get("/prompts", response_model=None, responses=says(Events))
def list_prompts(asked: Asked, session: Session = None, limit: paging.Limit = 50, cursor: paging.Cursor = None) -> Rows:
    """What was asked, the latest first."""
    return _page(asked, journal.Wanted(kind=EventKind.PROMPT, session_id=session), limit, cursor)


@routes.get("/tool-calls", response_model=None, responses=says(Events))
def list_tool_calls(
    asked: Asked,
    session: Session = None,
    tool: Annotated[str | None, Query(max_length=200)] = None,
    ok: bool | None = None,
    limit: paging.Limit = 50,
    cursor: paging.Cursor = None,
) -> Rows:
    """Tool calls with their results, the latest first."""
    wanted = journal.Wanted(kind=EventKind.TOOL_CALL, session_id=session, tool=tool, ok=ok)
    return _page(asked, wanted, limit, cursor)


@routes.get("/files", response_model=None, responses=says(Files))
def list_files(
    asked: Asked,
    under: Annotated[str, Query(max_length=1_000, description="How the path begins.")] = "",
    limit: paging.Limit = 50,
    cursor: paging.Cursor = None,
) -> Rows:
    """Files that tool calls named, by path: how often each was read and written, and when last."""
    place = paging.place(cursor)
    with asked.desk() as here:
        scope = _seen_from(asked, here)
        found = journal.file_page(here.db, scope, under=under, after=place[1] if place else "", limit=limit)
    return Rows(items=[asdict(one) for one in found], next=paging.after(found, limit, lambda one: (0, one.path)))


def _page(asked: Call, wanted: journal.Wanted, limit: int, cursor: str | None) -> Rows:
    with asked.desk() as here:
        scope = _seen_from(asked, here)
        found = journal.event_page(here.db, scope, wanted, before=paging.numbered(cursor), limit=limit)
    return Rows(items=[shape(one) for one in found], next=paging.after(found, limit, lambda one: (one.at_ms, one.id)))


def shape(event: StoredEvent) -> dict[str, Any]:
    """An event as JSON."""
    return asdict(event) | {"class": event.klass}


def _seen_from(asked: Call, here: Desk) -> Scope | None:
    """The project's part of the store; everywhere for a person who names none."""
    return None if asked.caller.is_person and asked.project is None else here.scope


def _may_see(asked: Call, scope: Scope, project_id: str | None) -> bool:
    if asked.caller.is_person and asked.project is None:
        return True
    return project_id is not None and project_id == scope.project_id
