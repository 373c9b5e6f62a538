"""What goes wrong, as an answer."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match

from recorder.errors import Conflict, FileRefused, GateRefused, NotFound, RecorderError
from recorder.store.db import DatabaseError

logger = logging.getLogger(__name__)

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

OF_STATUS: Mapping[int, tuple[str, str]] = {
    400: ("body", "the body is not what this address takes: send JSON"),
    404: ("not_found", "there is no such address here"),
    405: ("method", "this address does not take that method"),
}
"""Status → (code, message) where the framework itself refuses."""

OF_GATE: Mapping[str, int] = {
    "ceiling": 403,
    "person": 403,
    "readonly": 403,
    "rights": 403,
    "form": 403,
    "scope": 404,
    "tombstone": 409,
    "deleted": 409,
    "forgotten": 409,
    "streams": 503,
}
"""Reason of the gate → status; any other says that the request itself is wrong: 400."""


def answer(
    status: int,
    code: str,
    message: str,
    headers: Mapping[str, str] | None = None,
    also: Mapping[str, Any] | None = None,
) -> JSONResponse:
    """An error as everybody gets it."""
    said = message.encode("utf-8", "replace").decode()
    content = {"error": {"code": code, "message": said}, **(also or {})}
    return JSONResponse(content, status_code=status, headers=dict(headers or {}))


def reads_pages(request: Request) -> bool:
    """Whether a browser asks for something to show."""
    return "text/html" in request.headers.get("accept", "")


def answer_to(request: Request, status: int, code: str, message: str) -> Response:
    """An error as whoever asks can read it: a browser gets it as a page, where the pages have one (`app.state.trouble`,
    a function of request, status, code and message)."""
    if not reads_pages(request):
        return answer(status, code, message)
    page = getattr(request.app.state, "trouble", None)
    if page is None:
        return PlainTextResponse(f"{message}\n", status)
    shown: Response = page(request, status, code, message)
    return shown


def told(error: RecorderError) -> tuple[int, str, str]:
    """(status, code, message) of an error of ours."""
    if isinstance(error, GateRefused):
        return OF_GATE.get(error.reason, 400), error.reason, str(error)
    if isinstance(error, NotFound):
        return 404, "not_found", str(error)
    if isinstance(error, Conflict):
        return 409, "conflict", str(error)
    if isinstance(error, FileRefused):
        return 400, "file", str(error)
    return 503, "store", str(error)


def _taken(request: Request) -> list[str]:
    """The methods that the address of a request takes."""
    asked = [(method, {**request.scope, "method": method}) for method in METHODS]
    return [method for method, scope in asked if any(one.matches(scope)[0] is Match.FULL for one in request.app.routes)]


def handle(app: FastAPI) -> None:
    """Let the app answer every error in one shape."""

    @app.exception_handler(RecorderError)
    async def ours(request: Request, error: RecorderError) -> Response:
        return answer_to(request, *told(error))

    @app.exception_handler(DatabaseError)
    async def of_store(request: Request, error: Exception) -> Response:
        return answer_to(request, 503, "store", f"the store cannot be used just now: {error}")

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return answer_to(request, 400, "parameter", f"{place[:200]}: {str(first['msg'])[:200]}")

    @app.exception_handler(HTTPException)
    async def of_framework(request: Request, error: HTTPException) -> Response:
        code, message = OF_STATUS.get(error.status_code, ("refused", str(error.detail)))
        response = answer_to(request, error.status_code, code, message)
        if error.status_code == 405:
            response.headers["allow"] = ", ".join(_taken(request))
        return response

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, error: Exception) -> Response:
        logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return answer_to(request, 500, "inside", "the service failed inside: its log has the place")
