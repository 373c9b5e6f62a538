"""Who gets in, and with how much: looked at before any route."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recorder.errors import GateRefused, RecorderError
from recorder.store.db import DatabaseError
from recorder.store.tokens import Rights
from recorder.web import access, asking, errors
from recorder.web.api import addresses
from recorder.web.asking import Caller, Kind, Surroundings
from recorder.web.people import People

SESSION = "session"
OPEN = frozenset({"/api/health", "/login"})
READING = frozenset({"GET", "HEAD", "OPTIONS"})
BODY_LIMIT = 1024 * 1024
LIMITS: Mapping[str, int] = {
    "/api/memory/_import": 64 * BODY_LIMIT,
    "/lifecycle/import": 64 * BODY_LIMIT,
    "/api/ingest": 16 * BODY_LIMIT,
}
"""Address → the most a body may hold: an export, and what a tool printed."""
LOOKING = frozenset({"/audit", "/lifecycle/export", "/lifecycle/import"})
"""Forms that look and change nothing: they are sent because they are long, or take long."""
MOST_TARGET = 8 * 1024

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with `no-referrer` a browser names no origin for its own forms either
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Guard:
    """In front of the app: it lets through who may, says who it is in `request.state.caller`, and reads the body."""

    app: ASGIApp
    here: Surroundings
    people: People

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        sending = _with_headers(send)
        try:
            refused, body = await self._look(request)
        except (RecorderError, DatabaseError) as error:
            refused, body = errors.answer(503, "store", str(error)), b""
        if refused is not None:
            await refused(scope, receive, sending)
            return
        path = request.scope["path"]
        if request.method == "HEAD" and path not in OPEN and not path.startswith("/api/"):
            # A page routes GET alone; the server leaves the body out. Only to come in by a link changes something.
            scope = {**scope, "method": "GET"}
        inside = addresses.route_path(scope.get("raw_path") or b"")
        if inside is not None:
            scope = {**scope, "path": inside}
        await self.app(scope, _again(body, receive) if body is not None else receive, sending)

    async def _look(self, request: Request) -> tuple[Response | None, bytes | None]:
        """(the answer to a request that may not pass, its body where it has one)."""
        path, method = request.scope["path"], request.method
        if not access.from_here(request.headers):
            message = "only this machine may ask: Host or Origin names another"
            return errors.answer_to(request, 403, "origin", message), None
        if len(request.scope.get("raw_path") or b"") + len(request.scope["query_string"]) > MOST_TARGET:
            message = f"the address is longer than {MOST_TARGET} characters"
            return errors.answer_to(request, 400, "address", message), None
        if addresses.INSIDE in path:
            return errors.answer_to(request, 400, "address", "no address holds the character U+001F"), None
        request.state.caller = None
        if path in OPEN:
            return (None, None) if method in READING else await self._body(request)
        caller = await self._caller(request)
        if caller is None:
            return _unknown(request), None
        request.state.caller = caller
        request.state.still_in = partial(self._still_in, request, caller)
        try:
            self._rights(request, caller)
        except GateRefused as error:
            return errors.answer_to(request, *errors.told(error)), None
        return (None, None) if method in READING else await self._body(request)

    async def _caller(self, request: Request) -> Caller | None:
        given = access.bearer(request.headers)
        if given is not None:
            return await run_in_threadpool(asking.holder, self.here.config, given)
        session = self.people.of(
            request.cookies.get(access.cookie_name(self.here.config.home, SESSION)), self.here.clock_ms()
        )
        if session is None:
            return None
        actor = f"dashboard:{session.name}"
        return Caller(Kind.PERSON, Rights.ADMIN, actor, everywhere=True, form=session.form)

    async def _still_in(self, request: Request, caller: Caller) -> bool:
        """Whether who asked would get in now too: a long answer asks again and again."""
        return await self._caller(request) == caller

    def _rights(self, request: Request, caller: Caller) -> None:
        """Let nothing pass that the caller may not do at all.

        Raises: GateRefused.
        """
        path, reads = request.scope["path"], request.method in READING
        is_mcp = path.rstrip("/") == "/mcp"
        if not caller.is_person and not (path.startswith(("/api/", "/static/")) or is_mcp):
            raise GateRefused("person", "the pages are a person's: open the link that `recorder up` prints")
        if reads:
            return
        # Of a call over MCP only its tool knows whether it changes anything.
        if self.here.readonly and not is_mcp and path not in LOOKING:
            raise GateRefused("readonly", "RECORDER_READONLY=1: this service changes nothing")
        if not caller.may(Rights.WRITE) and not is_mcp:
            raise GateRefused("rights", "this token may read only")
        if caller.is_person and (path.startswith("/api/") or is_mcp):
            asking.check_form(request, caller, request.headers.get(asking.FORM_HEADER, ""))

    async def _body(self, request: Request) -> tuple[Response | None, bytes | None]:
        """The whole body, as much as the address takes, and JSON where it is an address of the API."""
        path = request.scope["path"]
        limit = LIMITS.get(path, BODY_LIMIT)
        too_large = errors.answer_to(request, 413, "size", f"the body is larger than {limit // BODY_LIMIT} MB")
        told = request.headers.get("content-length", "0")
        if told.isdigit() and int(told) > limit:
            return too_large, None
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > limit:
                return too_large, None
        if body and path.startswith("/api/"):
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                return errors.answer(415, "media_type", "send JSON with `Content-Type: application/json`"), None
            # An export is read by its own reader, which looks at this too.
            if path not in LIMITS and _too_deep(bytes(body)):
                return errors.answer(400, "depth", "the JSON is nested too deeply"), None
        return None, bytes(body)


def _unknown(request: Request) -> Response:
    if errors.reads_pages(request):
        return errors.answer_to(request, 401, "link", "open the link that `recorder up` prints: it lets a browser in")
    message = "send `Authorization: Bearer` with the token of `recorder token`"
    return errors.answer(401, "token", message, {"www-authenticate": "Bearer"})


def _too_deep(body: bytes) -> bool:
    try:
        from_json(body)
    except ValueError as error:
        return "recursion" in str(error)
    return False


def _again(body: bytes, receive: Receive) -> Receive:
    """What was read, to be read once more; then what the connection says."""
    given = False

    async def next_message() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return next_message


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: list[Any] = list(message.get("headers", ()))
            known = set(Headers(raw=headers))
            headers += [(name.encode(), value.encode()) for name, value in HEADERS.items() if name not in known]
            message = {**message, "headers": headers}
        await send(message)

    return sending
