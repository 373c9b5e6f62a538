"""The pages a person reads and corrects the recorder with."""

from fastapi import APIRouter

from recorder.web.pages import (
    audit,
    charts,
    correct,
    lifecycle,
    live,
    memories,
    project,
    review,
    sessions,
    settings,
    timeline,
    write,
)
from recorder.web.pages.frame import entered, trouble

__all__ = ["entered", "router", "trouble"]

router = APIRouter(include_in_schema=False)
"""Every page. `app.state.here` and `request.state.caller` are there by then."""

for _one in (project, live, sessions, write, memories, correct, review, timeline, charts, lifecycle, settings, audit):
    router.include_router(_one.router)
