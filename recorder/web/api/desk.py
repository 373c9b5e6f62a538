"""What every JSON route stands in: who asks, about which project, and the open store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Query, Request

from recorder import dates, gate
from recorder.config import Config
from recorder.errors import GateRefused, NotFound
from recorder.models import Scope
from recorder.store import memories
from recorder.store.db import Connection
from recorder.store.tokens import Rights
from recorder.web import asking
from recorder.web.asking import Caller, Surroundings
from recorder.web.shapes import Error

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Error, "description": said}
    for status, said in {
        400: "something in the request is not what this address takes",
        401: "no token, or one that opens nothing",
        403: "not from here, or not with these rights",
        404: "no such thing in the caller's scope",
        405: "not that method",
        409: "something else stands there by now, or a decision stands against it",
        413: "the body is too large",
        415: "the body is not JSON",
        503: "the store cannot be used just now",
    }.items()
}
"""What every route may answer besides its own."""


@dataclass(frozen=True, slots=True)
class Desk:
    """One request's surroundings."""

    db: Connection
    scope: Scope
    caller: Caller
    config: Config
    now_ms: int

    @property
    def writer(self) -> gate.Writer:
        return asking.writer(self.caller, self.scope, self.now_ms, self.config)


@dataclass(frozen=True, slots=True)
class Call:
    """Who asks, and about which project."""

    here: Surroundings
    caller: Caller
    project: str | None

    @contextmanager
    def desk(self, namespace: str | None = None, key: str | None = None) -> Iterator[Desk]:
        """The open store in the scope of the caller; for who may name any project, of the address that is named."""
        with asking.opened(self.here.config) as db:
            named = self.project
            if named is None and self.caller.everywhere and namespace is not None:
                named = _project_at(db, namespace, key)
            scope = asking.scope_of(db, self.caller, named)
            yield Desk(db, scope, self.caller, self.here.config, self.here.clock_ms())

    @contextmanager
    def everywhere(self) -> Iterator[Desk]:
        """The open store for what is about every project.

        Raises: GateRefused for the token of one project.
        """
        if not self.caller.everywhere:
            raise GateRefused("rights", "this is about every project: the home's own token or a person may")
        with self.desk() as here:
            yield here

    def needs(self, rights: Rights) -> None:
        """Let nobody pass with less.

        Raises: GateRefused.
        """
        if not self.caller.may(rights):
            raise GateRefused("rights", f"this needs a token with the right to {rights}")


def _project_at(db: Connection, namespace: str, key: str | None) -> str | None:
    head, _, rest = namespace.partition(".")
    if head == "project" and rest:
        return rest.partition(".")[0]
    if head == "claude" and key is not None:
        there = memories.find(db, namespace, key)
        return there.project_id if there else None
    return None


def call(
    request: Request,
    here: Annotated[Surroundings, Depends(asking.here)],
    caller: Annotated[Caller, Depends(asking.caller_of)],
    project: Annotated[
        str | None,
        Query(max_length=80, description="A project's id: a person and the home's own token may name any."),
    ] = None,
) -> Call:
    """Who asks, as a dependency."""
    return Call(here, caller, project)


Asked = Annotated[Call, Depends(call)]


def note_read(asked: Call, here: Desk, ids: Sequence[int]) -> None:
    """Keep who read these memories; a service that is read-only keeps nothing."""
    if asked.here.readonly or not ids:
        return
    memories.note_read(here.db, ids, here.caller.actor, None, here.now_ms)


def moment(name: str, text: str | None) -> int | None:
    """The instant a parameter names.

    Raises: GateRefused.
    """
    try:
        return None if text is None else dates.instant(text)
    except ValueError as error:
        raise GateRefused("parameter", f"{name}: {error}") from None


def absent(namespace: str, key: str) -> NotFound:
    """The words for what is not there, or not the caller's."""
    return NotFound(f"there is no memory {namespace[:80]}/{key[:80]} here")
