"""Rows of recall, read on from their ids: `m12` a memory, `e34` an event."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from recorder.errors import NotFound
from recorder.recall import fence, reading, told
from recorder.store import memories
from recorder.web.api.desk import Asked, Desk, note_read
from recorder.web.api.memory import evidence_of
from recorder.web.rows import Around, Read, WhyEvent
from recorder.web.shapes import Why, says

routes = APIRouter(prefix="/api/hits", tags=["search"])
AT_MOST = 20
AROUND = 50

Id = Annotated[str, Path(max_length=20, description="m12 a memory, e34 an event.")]


@routes.get("", response_model=None, responses=says(Read))
def read_hits(
    asked: Asked,
    id: Annotated[
        list[str],
        Query(min_length=1, max_length=AT_MOST, description="m12 a memory, e34 an event; one or several."),
    ],
) -> dict[str, Any]:
    """Memories and events whole, in the order asked; what is not there, or not the caller's, is left out."""
    with asked.desk() as here:
        found = reading.whole(here.db, here.scope, id, here.now_ms)
        if not found:
            raise _absent(id[0])
        note_read(asked, here, [int(hit.id[1:]) for hit in found if hit.type == "memory"])
        return {"hits": [asdict(hit) for hit in found], "text": fence.fence(found, here.config.recall.max_tokens)}


@routes.get("/{id}/timeline", response_model=None, responses=says(Around))
def read_timeline(
    asked: Asked,
    id: Id,
    before: Annotated[int, Query(ge=0, le=AROUND)] = 5,
    after: Annotated[int, Query(ge=0, le=AROUND)] = 5,
) -> dict[str, Any]:
    """What happened around an event, or the first event that a memory stands on, in its session, oldest first."""
    with asked.desk() as here:
        found = reading.around(here.db, here.scope, id, before=before, after=after, now_ms=here.now_ms)
    if not found:
        raise _absent(id)
    return {"rows": [fence.row(hit) for hit in found], "hits": [asdict(hit) for hit in found]}


@routes.get("/{id}/why", response_model=None, responses={200: {"model": Why | WhyEvent}})
def read_why(asked: Asked, id: Id) -> dict[str, Any]:
    """What a memory stands on; of an event who saw it, and the memories that stand on it."""
    with asked.desk() as here:
        if reason := reading.reason(here.db, here.scope, id, here.now_ms):
            return {
                "event": asdict(reason.event),
                "sources": list(reason.sources),
                "memories": [asdict(hit) for hit in reason.memories],
            }
        return _why_memory(here, id)


def _why_memory(here: Desk, id: str) -> dict[str, Any]:
    found = reading.whole(here.db, here.scope, [id], here.now_ms)
    if not found or found[0].type != "memory":
        raise _absent(id)
    (memory,) = memories.get(here.db, [int(found[0].id[1:])])
    return {"memory": asdict(told.memory(here.db, memory, here.scope)), "evidence": evidence_of(here, memory)}


def _absent(id: str) -> NotFound:
    return NotFound(f"there is nothing with the id {id[:20]!r} here: ids look like m12 or e34")
