"""The service: health, numbers, and one page that shows them."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from fastapi.templating import Jinja2Templates

from recorder import __version__, claude_auto, doctor, redaction
from recorder.config import Config
from recorder.errors import RecorderError
from recorder.store import events
from recorder.store.db import DatabaseError, connect
from recorder.web import access

HERE = Path(__file__).resolve().parent
OPEN = frozenset({"/api/health", "/login"})
RECENT = 30

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

Next = Callable[[Request], Awaitable[Response]]


def make_app(config: Config, clock_ms: Callable[[], int]) -> FastAPI:
    """The service over one home."""
    app = FastAPI(title="recorder", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    pages = Jinja2Templates(HERE / "templates")
    people: dict[str, str] = {}  # session → the token it came in with

    @app.middleware("http")
    async def guard(request: Request, call_next: Next) -> Response:
        refused = _refused(request, config, people)
        response = refused or await call_next(request)
        response.headers.update(HEADERS)
        return response

    @app.exception_handler(RecorderError)
    @app.exception_handler(DatabaseError)
    async def failed(request: Request, error: Exception) -> Response:
        return _error(503, "store", str(error))

    @app.exception_handler(404)
    async def absent(request: Request, error: Exception) -> Response:
        return _error(404, "not_found", "there is no such address here")

    @app.exception_handler(405)
    async def not_allowed(request: Request, error: Exception) -> Response:
        return _error(405, "method", "this address does not take that method")

    @app.get("/api/health")
    def api_health() -> Response:
        db = connect(config.db_path)
        try:
            reason = doctor.stuck(db, config, clock_ms())
        finally:
            db.close()
        found = {"status": "stuck" if reason else "ok", "reason": reason, "version": __version__}
        return JSONResponse(found, status_code=503 if reason else 200)

    @app.get("/api/stats")
    def api_stats() -> dict[str, Any]:
        db = connect(config.db_path)
        try:
            return doctor.status(db, config, clock_ms())
        finally:
            db.close()

    @app.post("/api/memory/_sync_claude")
    def api_sync_claude() -> Response:
        db = connect(config.db_path)
        try:
            report = claude_auto.sync(db, config, clock_ms(), redaction.by_worker(config.home))
        finally:
            db.close()
        if report is None:
            return _error(409, "busy", "another sync did not end within a minute: try again")
        return JSONResponse(report.as_json())

    @app.get("/login")
    def login(token: str = "") -> Response:
        if not hmac.compare_digest(token.encode(), access.token(config.home).encode()):
            return _error(401, "token", "this link is not valid any more: `recorder up` prints a new one")
        session = secrets.token_urlsafe(32)
        people[session] = token
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(access.COOKIE, session, httponly=True, samesite="strict")
        return response

    @app.get("/", response_class=HTMLResponse)
    def status_page(request: Request) -> Response:
        now_ms = clock_ms()
        db = connect(config.db_path)
        try:
            found = doctor.status(db, config, now_ms)
            recent = events.listing(db, limit=RECENT)
        finally:
            db.close()
        return pages.TemplateResponse(request, "status.html", {"status": found, "recent": recent, "now_ms": now_ms})

    app.mount("/static", StaticFiles(directory=HERE / "static"))
    return app


def _refused(request: Request, config: Config, people: Mapping[str, str]) -> Response | None:
    """The answer to a request that may not pass, or None."""
    if not access.from_here(request.headers):
        return _error(403, "origin", "only this machine may ask: the Host or Origin header names another")
    if request.url.path in OPEN:
        return None
    token = access.token(config.home)
    if people.get(request.cookies.get(access.COOKIE, "")) == token or access.bears(request.headers, token):
        return None
    return _error(401, "token", "send `Authorization: Bearer` with the token of `recorder token`")


def _error(status: int, code: str, message: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status_code=status)
