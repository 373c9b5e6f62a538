"""How the recorder is: health, numbers, jobs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Response

from recorder import __version__, doctor
from recorder.errors import RecorderError, StoreError
from recorder.store import health, journal, memories
from recorder.store.db import DatabaseError
from recorder.web import asking
from recorder.web.api import paging
from recorder.web.api.desk import Asked
from recorder.web.asking import Surroundings
from recorder.web.rows import Jobs
from recorder.web.shapes import Health, Me, Rows, says

routes = APIRouter(prefix="/api", tags=["health"])


@routes.get("/health", responses={503: {"model": Health, "description": "the queue is stuck"}})
def look(response: Response, here: Annotated[Surroundings, Depends(asking.here)]) -> Health:
    """Whether everything moves; 503 when the queue is stuck. Needs no token."""
    try:
        with asking.opened(here.config) as db:
            reason = doctor.stuck(db, here.config, here.clock_ms())
    except (RecorderError, DatabaseError) as error:  # whoever asks may be anybody: no path, no words of the database
        raise StoreError("recorder.db cannot be used: `recorder doctor` says why") from error
    response.status_code = 503 if reason else 200
    return Health(status="stuck" if reason else "ok", reason=reason, version=__version__)


@routes.get("/me")
def who(asked: Asked) -> Me:
    """Who asks, as the service knows them; for a person what goes into `X-Recorder-Form` of every change: no page of
    another site can read it here."""
    caller = asked.caller
    return Me(
        kind=caller.kind.value,
        rights=caller.rights.value,
        actor=caller.actor,
        project=caller.project_id,
        everywhere=caller.everywhere,
        form=caller.form or None,
    )


@routes.get("/stats")
def stats(asked: Asked) -> dict[str, Any]:
    """What is stored, what waits, and who runs, of every project; for the token of one project the counts of that."""
    with asked.desk() as here:
        if here.caller.everywhere and asked.project is None:
            return doctor.status(here.db, here.config, here.now_ms)
        counted = memories.counts(here.db, here.scope)
        project_id = here.scope.project_id
        return {
            "events": health.event_counts(here.db, project_id) if project_id else {},
            "memories": [dict(zip(("namespace", "kind", "trust", "count"), row, strict=True)) for row in counted],
            "stuck": doctor.stuck(here.db, here.config, here.now_ms),
        }


@routes.get("/jobs", response_model=None, responses=says(Jobs))
def list_jobs(
    asked: Asked,
    state: Literal["queued", "running", "done", "dead"] | None = None,
    kind: Annotated[str | None, Query(max_length=40)] = None,
    limit: paging.Limit = 50,
    cursor: paging.Cursor = None,
) -> Rows:
    """The worker's jobs, the newest first. They are of every project."""
    before = paging.numbered(cursor)
    with asked.everywhere() as here:
        found = journal.job_page(
            here.db, state=state, kind=kind, before=int(before[1]) if before else None, limit=limit
        )
    return Rows(items=found, next=paging.after(found, limit, lambda one: (0, one["id"])))
