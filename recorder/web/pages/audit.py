"""Who changed what and why, and whether the chain still holds."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import FormData

from recorder.store import audit, browse
from recorder.web.numbers import whole
from recorder.web.pages import frame
from recorder.web.pages.frame import Form, Frame

router = APIRouter()
ROWS = 100


@router.get("/audit")
def listing(request: Request) -> Response:
    """The rows, the latest first."""
    with frame.opened(request) as page:
        return _shown(page, None)


@router.post("/audit")
def verify(request: Request, form: FormData = Form) -> Response:
    """The same, after every row was checked against the one before it."""
    with frame.opened(request) as page:
        return _shown(page, audit.verify(page.db))


def _shown(page: Frame, verdict: audit.Verdict | None) -> Response:
    given = page.given("before")
    rows = browse.audit_page(page.db, before=whole(given), limit=ROWS)
    older = rows[-1]["id"] if len(rows) == ROWS else None
    return page.show("audit.html", {"rows": rows, "older": older, "verdict": verdict})
