"""The verbs about one memory that a person has, and what of them a token may."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from fastapi import APIRouter, Response

from recorder import forget as forgetting
from recorder import gate
from recorder.errors import Conflict, NotFound
from recorder.recall import scope as scopes
from recorder.web.api.addresses import Key, Namespace
from recorder.web.api.desk import Asked, Call
from recorder.web.api.memory import BECOMES, ONE, IfMatch, attempted, conflicted, looked_at
from recorder.web.shapes import Back, Because, Erased, Forget, Reason, says
from worker import brief

routes = APIRouter(prefix="/api/memory", tags=["verbs"])


@routes.post(ONE + "/restore", responses=BECOMES)
def restore(
    asked: Asked, namespace: Namespace, key: Key, body: Reason | None = None, if_match: IfMatch = None
) -> Response:
    """Show a deleted memory again. What somebody else hid only a person restores."""
    return _changed(asked, namespace, key, gate.restore, body or Reason(), if_match)


@routes.post(ONE + "/reject", responses=BECOMES)
def reject(asked: Asked, namespace: Namespace, key: Key, body: Because, if_match: IfMatch = None) -> Response:
    """Say that a memory is false: its value is refused from now on in every form. A person only."""
    return _changed(asked, namespace, key, gate.reject, body, if_match)


@routes.post(ONE + "/lift", responses=BECOMES)
def lift(
    asked: Asked, namespace: Namespace, key: Key, body: Reason | None = None, if_match: IfMatch = None
) -> Response:
    """Let what was rejected under this key come again. A person only."""
    return _changed(asked, namespace, key, gate.lift, body or Reason(), if_match)


@routes.post(ONE + "/approve", responses=BECOMES)
def approve(
    asked: Asked, namespace: Namespace, key: Key, body: Reason | None = None, if_match: IfMatch = None
) -> Response:
    """Say that a candidate is right: it is verified from now on. A person only."""
    return _changed(asked, namespace, key, gate.approve, body or Reason(), if_match)


@routes.post(ONE + "/revert", responses=BECOMES)
def revert(asked: Asked, namespace: Namespace, key: Key, body: Back, if_match: IfMatch = None) -> Response:
    """Put the words of an earlier version in force again, as a new one. A person only."""
    return _changed(asked, namespace, key, partial(gate.revert, version=body.version), body, if_match)


def _changed(
    asked: Call, namespace: str, key: str, verb: Callable[..., gate.Outcome], said: Reason, if_match: str | None
) -> Response:
    """What one verb of the gate made of one memory, if it is what was read."""
    with asked.desk(namespace, key) as here:
        where = scopes.address(here.scope, namespace)
        return attempted(
            here,
            where,
            key,
            lambda: verb(
                here.db,
                where,
                key,
                here.writer,
                reason=said.reason,
                expected_version=looked_at(here, where, key, said, if_match),
            ),
        )


@routes.post(ONE + "/forget", response_model=None, responses=says(Erased))
def forget(asked: Asked, namespace: Namespace, key: Key, body: Forget | None = None, if_match: IfMatch = None) -> Any:
    """Erase a memory and the events it stands on, everywhere in what is ours; `dry_run` says what would go. A person
    only."""
    said = body or Forget()
    with asked.desk(namespace, key) as here:
        where, writer = scopes.address(here.scope, namespace), here.writer
        try:
            planned = gate.plan(here.db, where, key, writer)
        except NotFound:
            return _done(gate.before(here.db, f"{where}/{key}", writer), forgetting.Cleared())
        try:
            wanted = looked_at(here, where, key, said, if_match)
            if planned.memory is not None and wanted not in (None, planned.memory.version):
                raise Conflict(f"{where}/{key} is at version {planned.memory.version} now, not {wanted}: read it again")
        except Conflict as error:
            return conflicted(here, where, key, error)
        if said.dry_run:
            return forgetting.preview(here.db, here.config, planned)
        done, cleared = forgetting.everywhere(here.db, here.config, planned, writer, reason=said.reason)
        brief.write_all(here.db, here.config, here.now_ms)
        return _done(done, cleared)


def _done(done: gate.Forgotten, cleared: forgetting.Cleared) -> dict[str, Any]:
    return {
        "action": "forgotten",
        "state": done.state,
        "reached": done.reached,
        "removed": list(cleared.removed),
        "overwritten": list(cleared.overwritten),
        "unreached": list(done.unreached),
    }
