"""What waits for a person, and what is decided about it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from recorder import review
from recorder.errors import Conflict
from recorder.gate import queue
from recorder.gate.queue import Item
from recorder.web import errors
from recorder.web.api import paging
from recorder.web.api.desk import Asked
from recorder.web.rows import Waiting
from recorder.web.shapes import Decided, Decision, Rows, says

routes = APIRouter(prefix="/api/review", tags=["review"])


@routes.get("", response_model=None, responses=says(Waiting))
def list_waiting(asked: Asked, limit: paging.Limit = 100) -> Rows:
    """What waits in the project: findings first, then candidates, the oldest first; then what was refused lately and
    what is being forgotten. For a person of every project where none is named."""
    with asked.desk() as here:
        everywhere = here.caller.is_person and asked.project is None
        found = queue.waiting(here.db, None if everywhere else here.scope, here.now_ms, limit=limit)
    # A refusal says nothing but who and why, and is nobody's project: a person's.
    return Rows(items=[shape(one) for one in found if here.caller.is_person or one.kind not in ("refusal", "forget")])


@routes.post("", response_model=None, responses=says(Decided))
def decide(asked: Asked, body: Decision) -> Response:
    """Decide about one thing that waits. A person only. 409 where something else stands there by now, with what.
    `holds` says whether recall and the brief say what was decided."""
    looked_at = (body.expected_version, body.expected_digest, body.expected_new_digest)
    wanted = review.Decision(body.verb, body.reason, body.value, *looked_at)
    with asked.desk() as here:
        everywhere = here.caller.is_person and asked.project is None
        item = review.found(here.db, body.id, here.scope, everywhere=everywhere)
        try:
            done = review.decide(here.db, item, wanted, here.writer)
        except Conflict as error:
            again = queue.item(here.db, body.id)
            return errors.answer(409, "conflict", str(error), also={"current": shape(again) if again else None})
    recalled = asdict(done.reached) | {"holds": done.reached.holds} if done.reached else None
    return JSONResponse({"action": done.action, "recall": recalled})


def shape(item: Item) -> dict[str, Any]:
    """An item as JSON."""
    return asdict(item) | {"scope": item.scope.project_id}
