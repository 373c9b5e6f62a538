"""When what happened: sessions along a line of time, and what became of memories in between."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from recorder.store import browse, charts
from recorder.store.browse import Span
from recorder.web.pages import frame, plot
from recorder.web.pages import range as ranges
from recorder.web.pages.plot import Bar, Mark
from recorder.web.pages.shown import day, plain, when

router = APIRouter()
DAYS = 7
SESSIONS = 60
CHANGES = 300


@router.get("/timeline")
def timeline(request: Request) -> Response:
    """The sessions of some days and the changes of memories, as a picture and as a list."""
    with frame.opened(request) as page:
        days = ranges.chosen(page.given("days"), page.given("end"), page.now_ms, DAYS)
        spans = browse.sessions_between(page.db, page.scope, days.from_ms, days.until_ms, SESSIONS + 1)
        changes = charts.changes(page.db, page.scope, days.from_ms, days.until_ms, CHANGES)
        latest = browse.latest_ms(page.db, page.scope)
        model = {
            "days": days,
            "choices": ranges.CHOICES,
            "svg": plot.timeline(
                days.from_ms, days.until_ms, [_bar(one) for one in spans], [_mark(c) for c in changes]
            ),
            "by_day": _by_day(spans[:SESSIONS], changes),
            "more": len(spans) > SESSIONS,
            "latest": ranges.iso(ranges.day_of(latest)) if latest is not None and not spans else None,
        }
        return page.show("timeline.html", model)


def _bar(one: Span) -> Bar:
    says = f"{plain(one.says, 60)}: {when(one.started_ms)} – {when(one.last_ms)}, {one.failed} failed"
    return Bar(one.started_ms, one.last_ms, says, one.session_id, failed=one.failed > 0)


def _mark(one: charts.Changed) -> Mark:
    return Mark(one.at_ms, f"{one.action.replace('_', ' ')}: {plain(one.key, 60)}, {when(one.at_ms)}", one.memory_id)


def _by_day(spans: list[Span], changes: list[charts.Changed]) -> dict[str, dict[str, list[object]]]:
    """Local day → its sessions and the changes of its memories, the latest first."""
    found: dict[str, dict[str, list[object]]] = {}
    for at_ms, name, one in sorted(
        [(one.last_ms, "sessions", one) for one in spans] + [(one.at_ms, "changes", one) for one in changes],
        key=lambda row: -row[0],
    ):
        found.setdefault(day(at_ms), {"sessions": [], "changes": []})[name].append(one)
    return found
