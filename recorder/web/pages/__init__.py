"""The pages a person sees."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.templating import Jinja2Templates

from recorder import doctor
from recorder.store import events
from recorder.web.asking import Surroundings, opened

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"
RECENT = 30


def router(here: Surroundings) -> APIRouter:
    """The routes of every page."""
    pages = Jinja2Templates(TEMPLATES)
    routes = APIRouter()

    @routes.get("/", response_class=HTMLResponse)
    def status_page(request: Request) -> Response:
        now_ms = here.clock_ms()
        with opened(here.config) as db:
            found = doctor.status(db, here.config, now_ms)
            recent = events.listing(db, limit=RECENT)
        return pages.TemplateResponse(request, "status.html", {"status": found, "recent": recent, "now_ms": now_ms})

    return routes
