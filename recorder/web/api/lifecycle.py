"""The store as a whole: exports, imports, what goes with age, near-duplicates, and Claude's own memory files."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from recorder import claude_auto, gate, redaction
from recorder.errors import Conflict, GateRefused
from recorder.lifecycle import export, imports, purge, shape
from recorder.store import findings
from recorder.store.tokens import Rights
from recorder.web.api.desk import Asked, Call
from recorder.web.shapes import Purge

routes = APIRouter(prefix="/api/memory", tags=["lifecycle"])


@routes.get("/export", response_class=Response, responses={200: {"content": {"application/json": {}}}})
def export_all(asked: Asked) -> Response:
    """Every memory with its history and evidence, and what was rejected, as one JSON file: of the project, or of
    everywhere for a person and the home's own token where none is named."""
    asked.needs(Rights.ADMIN)
    with asked.desk() as here:
        everything = here.caller.everywhere and asked.project is None
        if not everything and here.scope.project_id is None:
            raise GateRefused("rights", "this token was minted for no project: only the home's own exports everything")
        _, sealed = export.sealed(here.db, project_id=here.scope.project_id, now_ms=here.now_ms)
    name = here.scope.project_id or "recorder"
    headers = {"content-disposition": f'attachment; filename="{name}.json"'}
    return Response(sealed, media_type="application/json", headers=headers)


@routes.post(
    "/_import",
    openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}},
)
async def import_all(request: Request, asked: Asked, mode: Literal["merge", "skip"] = "merge") -> dict[str, Any]:
    """Take an export in: one of this home as it was, any other as candidates."""
    asked.needs(Rights.ADMIN)
    raw = await request.body()
    return await run_in_threadpool(_imported, asked, raw, mode == "skip")


def _imported(asked: Call, raw: bytes, skip: bool) -> dict[str, Any]:
    found = shape.read(raw, "the body")
    with asked.everywhere() as here:
        redact = redaction.by_worker(here.config.home)
        summary = imports.take(
            here.db,
            found,
            skip=skip,
            actor=here.caller.actor,
            now_ms=here.now_ms,
            by_person=here.caller.is_person,
            redact=redact,
        )
    return asdict(summary)


@routes.post("/_purge")
def purge_old(asked: Asked, body: Purge | None = None) -> dict[str, Any]:
    """Remove events of an age that no memory cites; `dry_run` counts only."""
    asked.needs(Rights.ADMIN)
    said = body or Purge()
    with asked.everywhere() as here:
        days = said.older_than_days if said.older_than_days is not None else here.config.store.retention_days or None
        found = purge.purge(here.db, days, actor=here.caller.actor, now_ms=here.now_ms, dry_run=said.dry_run)
    return asdict(found) | {"older_than_days": days, "dry_run": said.dry_run}


@routes.post("/_consolidate")
def consolidate(asked: Asked) -> dict[str, Any]:
    """Look for near-duplicates in the scope: what is found waits for a person, no memory changes."""
    with asked.desk() as here:
        found = gate.consolidate(here.db, here.scope, here.now_ms)
        shown = [one for one in findings.listing(here.db, here.scope, limit=1_000) if one["id"] in set(found)]
    return {"findings": shown}


@routes.post("/_sync_claude")
def sync_claude(asked: Asked) -> dict[str, Any]:
    """Take Claude's own memory files in now."""
    asked.needs(Rights.ADMIN)
    with asked.everywhere() as here:
        report = claude_auto.sync(here.db, here.config, here.now_ms, redaction.by_worker(here.config.home))
    if report is None:
        raise Conflict("another sync did not end within a minute: try again")
    found: dict[str, Any] = report.as_json()
    return found
