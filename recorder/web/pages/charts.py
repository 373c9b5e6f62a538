"""How it went over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from fastapi import APIRouter, Request
from fastapi.responses import Response

from recorder.models import MemoryKind, Trust
from recorder.recall import fence
from recorder.store import browse, charts
from recorder.store.charts import DAY_MS
from recorder.web.pages import frame, plot
from recorder.web.pages.frame import Frame
from recorder.web.pages.plot import Plot, Series

router = APIRouter()
DAYS = 30
SESSIONS = 20
HOWS = ("shown", "read", "used")


@router.get("/charts")
def plots(request: Request) -> Response:
    """Every plot, of the chosen project."""
    with frame.opened(request) as page:
        today = page.now_ms // DAY_MS
        days = range(today - DAYS + 1, today + 1)
        labels = [_day(day) for day in days]
        model = {
            "plots": [
                _captured(page, days, labels),
                *(_grown(page, by, days, labels) for by in ("kind", "trust")),
                _recalled(page, days, labels),
                _briefed(page),
            ],
            "queue": charts.queue(page.db),
            "days": DAYS,
        }
        return page.show("charts.html", model)


def _captured(page: Frame, days: range, labels: Sequence[str]) -> Plot:
    counts = charts.captured(page.db, page.scope, days[0] * DAY_MS, len(days))
    says = f"{sum(counts):,} events in {len(days)} days; days in UTC"
    return plot.bars("Captured events per day", says, labels, [Series("events", counts)])


def _grown(page: Frame, by: str, days: range, labels: Sequence[str]) -> Plot:
    rows = charts.grown(page.db, page.scope, by)
    names = [one.value for one in (MemoryKind if by == "kind" else Trust)]
    series = [
        Series(name, [sum(n for at, what, n in rows if what == name and at <= day) for day in days]) for name in names
    ]
    says = "memories that stand, by the day they were first made"
    return plot.lines(f"Memories by {by}", says, labels, series)


def _recalled(page: Frame, days: range, labels: Sequence[str]) -> Plot:
    counted = {(day, how): n for day, how, n in charts.recalled(page.db)}
    series = [Series(how, [counted.get((day, how), 0) for day in days]) for how in HOWS]
    says = f"how often memories were shown, read or used, of every project; of the latest {charts.REFS:,} times"
    return plot.bars("Use of recall per day", says, labels, series)


def _briefed(page: Frame) -> Plot:
    rows = browse.session_page(page.db, page.scope, before=None, limit=SESSIONS)[::-1]
    ids = [row.session.id for row in rows]
    chars = charts.briefed(page.db, ids)
    tokens = [fence.tokens("x" * chars.get(one, 0)) for one in ids]
    labels = [_day(row.session.last_ms // DAY_MS) for row in rows]
    says = f"tokens of the briefs shown in each of the latest {len(ids)} sessions, estimated from their length"
    return plot.bars("Tokens shown per session", says, labels, [Series("tokens", tokens)])


def _day(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_MS / 1000, UTC).strftime("%m-%d")
