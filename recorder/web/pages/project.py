"""Which project a person looks at."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from recorder.web.pages import frame

router = APIRouter()
YEAR_S = 365 * 86_400


@router.get("/project")
def choose(request: Request) -> Response:
    """Go back to the page it was chosen on, and remember the choice."""
    with frame.opened(request) as page:
        answer = frame.back(frame.own_path(page.given("back", 2_000)))
        answer.set_cookie(
            frame.COOKIE, page.given("id") or frame.EVERY, max_age=YEAR_S, httponly=True, samesite="strict"
        )
        return answer
