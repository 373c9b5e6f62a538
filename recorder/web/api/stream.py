"""What is being captured, as it comes: server-sent events that go on where a listener left off."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from recorder.errors import GateRefused, RecorderError
from recorder.models import StoredEvent
from recorder.store import events, journal
from recorder.store.db import DatabaseError
from recorder.web.api.desk import Asked, Call

routes = APIRouter(prefix="/api", tags=["stream"])
LOOK_EVERY_S = 0.5
StillIn = Callable[[], Awaitable[bool]]
QUIET_S = 15.0
"""A comment is sent this often, so that whoever is between does not take the line for dead."""
AT_ONCE = 100
MOST_STREAMS = 64
TEXT = 300


@routes.get("/stream", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}})
async def stream(
    request: Request,
    asked: Asked,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID", max_length=40)] = None,
    after: Annotated[int | None, Query(ge=0, le=2**62, description="The same for a first connection.")] = None,
) -> StreamingResponse:
    """Events as they are taken in, each with its id; a listener that comes again with `Last-Event-ID` misses none. From
    now on where neither is given."""
    start = _number(last_event_id) if last_event_id else after
    if start is None:
        start = await run_in_threadpool(_newest, asked)
    state = request.app.state
    if getattr(state, "streams", 0) >= MOST_STREAMS:
        raise GateRefused("streams", f"{MOST_STREAMS} streams are open already: close one")
    still_in: StillIn = request.state.still_in
    return StreamingResponse(_told(state, asked, start, still_in), media_type="text/event-stream")


def _number(given: str) -> int:
    if not (given.isascii() and given.isdigit() and len(given) < 19):
        raise GateRefused("parameter", "Last-Event-ID takes the id of an event of this stream")
    return int(given)


async def _told(state: Any, asked: Call, after_id: int, still_in: StillIn) -> AsyncIterator[str]:
    state.streams = getattr(state, "streams", 0) + 1
    try:
        yield f"retry: 2000\nid: {after_id}\n\n"
        seen, quiet_s = None, 0.0
        while not state.stopping.is_set():
            mark = _mark(asked.here.config.db_path)
            found: list[StoredEvent] = []
            if mark != seen:
                with suppress(RecorderError, DatabaseError):  # what cannot be read now is read a moment later
                    found = await run_in_threadpool(_newer, asked, after_id)
                    seen = mark if len(found) < AT_ONCE else None
            # A revoked token, a new one of the home, and twelve hours end the stream before it tells any more.
            if (found or quiet_s >= QUIET_S) and not await _lets_in(still_in):
                return
            for event in found:
                after_id, quiet_s = event.id, 0.0
                yield f"id: {event.id}\nevent: captured\ndata: {json.dumps(_short(event), default=str)}\n\n"
            if len(found) == AT_ONCE:
                continue
            if quiet_s >= QUIET_S:
                quiet_s = 0.0
                yield ": nothing new\n\n"
            with suppress(TimeoutError):
                await asyncio.wait_for(state.stopping.wait(), LOOK_EVERY_S)
            quiet_s += LOOK_EVERY_S
    finally:
        state.streams -= 1


async def _lets_in(still_in: StillIn) -> bool:
    try:
        return await still_in()
    except (RecorderError, DatabaseError):  # nobody can say so now: the listener comes again
        return False


def _mark(path: Path) -> tuple[tuple[int, int], ...]:
    """What changes when somebody writes to the store: to look at it costs no connection."""
    found = []
    for one in (path, path.with_name(path.name + "-wal")):
        with suppress(FileNotFoundError):
            status = one.stat()
            found.append((status.st_mtime_ns, status.st_size))
    return tuple(found)


def _newest(asked: Call) -> int:
    with asked.desk() as here:
        return events.last_id(here.db)


def _newer(asked: Call, after_id: int) -> list[StoredEvent]:
    with asked.desk() as here:
        everywhere = here.caller.is_person and asked.project is None
        return journal.newer_events(here.db, None if everywhere else here.scope, after_id, AT_ONCE)


def _short(event: StoredEvent) -> dict[str, Any]:
    """An event in a line: whole it is in `/api/events`."""
    whole = asdict(event)
    names = ("id", "kind", "session_id", "at_ms", "project_id", "prompt_id", "agent_id", "tool", "ok", "healed")
    return {name: whole[name] for name in names} | {"class": event.klass, "text": (event.text or event.excerpt)[:TEXT]}
