"""Hook inputs that come over HTTP: into the spool, as a hook would put them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool

from recorder import install
from recorder.capture import lenient, spool
from recorder.errors import GateRefused
from recorder.recall import scope as scopes
from recorder.store import sessions
from recorder.web.api.desk import Asked, Call
from recorder.web.shapes import Taken

routes = APIRouter(prefix="/api", tags=["ingest"])
AT_MOST = 1_000
HOOK_INPUT = {
    "type": "object",
    "description": "One hook input as Claude Code writes it: https://code.claude.com/docs/en/hooks",
    "required": ["session_id", "hook_event_name"],
    "properties": {"session_id": {"type": "string"}, "hook_event_name": {"type": "string"}, "cwd": {"type": "string"}},
}
SCHEMA = {"anyOf": [HOOK_INPUT, {"type": "array", "items": HOOK_INPUT, "maxItems": AT_MOST}]}


@routes.post(
    "/ingest",
    status_code=202,
    openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": SCHEMA}}}},
)
async def ingest(request: Request, asked: Asked) -> Taken:
    """Take one hook input, or a list; also the target of hooks of the type `http`. While the recorder is paused or off
    none is taken."""
    raw = await request.body()
    return await run_in_threadpool(_taken, asked, raw)


def _taken(asked: Call, raw: bytes) -> Taken:
    given = _inputs(raw)
    config = asked.here.config
    until_ms = install.paused_until(config.home)
    if os.environ.get("RECORDER_OFF", "0") != "0" or (until_ms is not None and until_ms > asked.here.clock_ms()):
        return Taken(accepted=0)
    if not asked.caller.everywhere:
        _own_project(asked, given)
    # One file each, as hooks leave them: what cannot be taken in is set aside alone.
    contents = [json.dumps(one, ensure_ascii=False).encode("utf-8", "replace") for one in given]
    spool.drop(config.spool, contents)
    return Taken(accepted=len(contents))


def _inputs(raw: bytes) -> list[dict[str, Any]]:
    """The hook inputs in a body.

    Raises: GateRefused for what is none.
    """
    text = lenient.text_of(raw)
    try:
        value, end = lenient.decode(text.strip())
    except ValueError as error:
        raise GateRefused("body", f"the body is no JSON: {str(error)[:200]}") from None
    given = value if isinstance(value, list) else [value]
    if end < len(text.strip()) or not given or len(given) > AT_MOST:
        raise GateRefused("body", f"give one hook input, or a list of 1 to {AT_MOST}")
    for one in given:
        named = isinstance(one, dict) and all(
            isinstance(one.get(name), str) and one[name] for name in ("session_id", "hook_event_name")
        )
        if not named:
            raise GateRefused("body", "a hook input is an object with session_id and hook_event_name")
    return given


def _own_project(asked: Call, given: Iterable[dict[str, Any]]) -> None:
    """Let a token put in what happened in its own project, and nothing that names a transcript to be read.

    Raises: GateRefused.
    """
    with asked.desk() as here:
        for one in given:
            folder = one.get("cwd")
            found = (
                scopes.of_directory(here.db, folder, now_ms=here.now_ms, worktrees=here.config.projects.worktrees)
                if isinstance(folder, str)
                else None
            )
            if found is None or found.project_id is None or found != here.scope:
                raise GateRefused("rights", "cwd is not of the project this token was minted for")
            known = sessions.get(here.db, one["session_id"])
            if known is not None and known.project_id not in (None, here.scope.project_id):
                raise GateRefused("rights", "session_id is of another project than this token")
            one.pop("transcript_path", None)
            one.pop("agent_transcript_path", None)
