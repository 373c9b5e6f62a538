"""The service put together: the guard in front, then the API, MCP and the pages."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path

from fastapi import Depends, FastAPI, Request
from fastapi.responses import FileResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.routing import Route

import mcp_server
from recorder import __version__
from recorder.config import Config
from recorder.errors import RecorderError
from recorder.models import Channel
from recorder.store.db import Connection, DatabaseError
from recorder.store.tokens import Rights
from recorder.web import access, api, asking, document, errors, pages
from recorder.web.api.declared import only_declared
from recorder.web.asking import Caller, Surroundings
from recorder.web.guard import SESSION, Guard
from recorder.web.people import NOT_VALID, AlreadyUsed, People

HERE = Path(__file__).resolve().parent


def make_app(config: Config, clock_ms: Callable[[], int]) -> FastAPI:
    """The service over one home. `app.state.stopping` ends its streams."""
    here = Surroundings(config, clock_ms, readonly=os.environ.get("RECORDER_READONLY") == "1")
    tools, serving = mcp_server.over_http(
        mcp_server.Caller(os.environ | {"RECORDER_HOME": str(config.home)}, os.sep, partial(_asker, here))
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with _held(config):
            async with serving():
                yield

    app = FastAPI(
        title="recorder", version=__version__, docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan
    )
    people = People(config.home)
    app.state.here = here
    app.state.people = people
    app.state.trouble = pages.trouble
    app.state.stopping = asyncio.Event()
    errors.handle(app)
    app.add_middleware(Guard, here=here, people=people)

    @app.get("/login", include_in_schema=False)
    async def login(request: Request, once: str = "") -> Response:
        # On the loop, and so one after the other: a link is good once.
        try:
            cookie = people.enter(once, clock_ms())
        except AlreadyUsed as used:
            return errors.answer_to(request, 401, "used", str(used))
        if cookie is None:
            return errors.answer_to(request, 401, "link", NOT_VALID)
        # From a page of another site the cookie goes along only with what a page of ours asks for next.
        elsewhere = request.headers.get("sec-fetch-site") == "cross-site"
        response = pages.entered(request) if elsewhere else RedirectResponse("/", status_code=303)
        response.set_cookie(access.cookie_name(config.home, SESSION), cookie, httponly=True, samesite="strict")
        return response

    @app.get("/api/openapi.json", include_in_schema=False, dependencies=[Depends(only_declared)])
    async def described() -> Response:
        return FileResponse(document.FILE, media_type="application/json")

    app.include_router(api.router())
    app.include_router(pages.router, dependencies=[Depends(asking.form_checked)])
    app.router.routes.append(Route("/mcp", tools, methods=["POST"]))
    app.mount("/static", StaticFiles(directory=HERE / "static"))
    return app


@contextmanager
def _held(config: Config) -> Iterator[None]:
    """One connection that nobody asks anything, so that no request is the last to close: SQLite then writes its log
    back and removes it, 13 ms each time, and the next one makes it anew."""
    with ExitStack() as stack:
        with suppress(RecorderError, DatabaseError):  # what is wrong with the store is told to whoever asks
            stack.enter_context(asking.opened(config))
        yield


def _asker(here: Surroundings, db: Connection, request: Request) -> mcp_server.Asker:
    """Who sent a request for MCP, with the project the address names."""
    caller: Caller = request.state.caller
    scope = asking.scope_of(db, caller, request.query_params.get("project"))
    channel = Channel.PERSON if caller.is_person else Channel.API
    may_write = caller.may(Rights.WRITE) and not here.readonly
    return mcp_server.Asker(scope, channel, caller.actor, may_write, notes=not here.readonly)
