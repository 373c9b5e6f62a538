"""The service put together: the guard in front, then the API, MCP and the pages."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from fastapi import Depends, FastAPI, Request
from fastapi.responses import RedirectResponse, Response
from fastapi.staticfiles import StaticFiles

from recorder import __version__
from recorder.config import Config
from recorder.web import access, asking, errors, pages
from recorder.web.asking import Surroundings
from recorder.web.guard import Guard
from recorder.web.people import NOT_VALID, AlreadyUsed, People

HERE = Path(__file__).resolve().parent


def make_app(config: Config, clock_ms: Callable[[], int]) -> FastAPI:
    """The service over one home. `app.state.stopping` ends its streams."""
    app = FastAPI(title="recorder", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    here = Surroundings(config, clock_ms, readonly=os.environ.get("RECORDER_READONLY") == "1")
    people = People(config.home)
    app.state.here = here
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
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(access.COOKIE, cookie, httponly=True, samesite="strict")
        return response

    app.include_router(pages.router(here), dependencies=[Depends(asking.form_checked)], include_in_schema=False)
    app.mount("/static", StaticFiles(directory=HERE / "static"))
    return app
