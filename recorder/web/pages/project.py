"""Which project a person looks at, until they leave."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import FormData

from recorder.web import access
from recorder.web.pages import frame
from recorder.web.pages.frame import Form

router = APIRouter()
YEAR_S = 365 * 86_400


@router.get("/project")
def choose(request: Request) -> Response:
    """Go back to the page it was chosen on, and remember the choice."""
    with frame.opened(request) as page:
        answer = frame.back(frame.own_path(page.given("back", 2_000)))
        answer.set_cookie(
            access.cookie_name(page.config.home, frame.CHOICE),
            page.given("id") or frame.EVERY,
            max_age=YEAR_S,
            httponly=True,
            samesite="strict",
        )
        return answer


@router.post("/leave")
def leave(request: Request, form: FormData = Form) -> Response:
    """Let this browser in no more, until a new link does."""
    with frame.opened(request) as page:
        request.app.state.people.leave(page.caller.actor.partition(":")[2])
        return frame.trouble(request, 401, "link", "you have left: `recorder up` prints a link that lets you in again")
