"""How it went over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fastapi import APIRouter, Request
from fastapi.responses import Response

from recorder.counted import many
from recorder.models import MemoryKind, Trust
from recorder.recall import fence
from recorder.store import browse, charts, hook_times
from recorder.web.pages import frame, plot
from recorder.web.pages import range as ranges
from recorder.web.pages.frame import Frame
from recorder.web.pages.plot import Plot, Series
from recorder.web.pages.range import Days

router = APIRouter()
DAYS = 30
SESSIONS = 20
HOWS = ("shown", "read", "used")


@router.get("/charts")
def plots(request: Request) -> Response:
    """Every plot, of the chosen project and days."""
    with frame.opened(request) as page:
        days = ranges.chosen(page.given("days"), page.given("end"), page.now_ms, DAYS)
        captured = _captured(page, days)
        latest = browse.latest_ms(page.db, page.scope) if captured.empty else None
        model = {
            "plots": [
                captured,
                *(_grown(page, by, days) for by in ("kind", "trust")),
                _recalled(page, days),
                _briefed(page),
                _took(page, days),
                _lag(page, days),
                _waited(page, days),
            ],
            "queue": charts.queue(page.db),
            "days": days,
            "choices": ranges.CHOICES,
            "latest": ranges.iso(ranges.day_of(latest)) if latest is not None else None,
        }
        return page.show("charts.html", model)


def _captured(page: Frame, days: Days) -> Plot:
    counts = charts.captured(page.db, page.scope, days.from_ms, days.count)
    says = f"{many(sum(counts), 'event')} in {many(days.count, 'day')}; days in UTC"
    return plot.bars("Captured events per day", says, days.labels, [Series("events", counts)])


def _grown(page: Frame, by: str, days: Days) -> Plot:
    rows = charts.grown(page.db, page.scope, by)
    names = [one.value for one in (MemoryKind if by == "kind" else Trust)]
    series = [
        Series(name, [sum(n for at, what, n in rows if what == name and at <= day) for day in days.every])
        for name in names
    ]
    says = "memories that stand, by the day they were first made"
    return plot.lines(f"Memories by {by}", says, days.labels, series)


def _recalled(page: Frame, days: Days) -> Plot:
    counted = {(day, how): n for day, how, n in charts.recalled(page.db)}
    series = [Series(how, [counted.get((day, how), 0) for day in days.every]) for how in HOWS]
    says = f"how often memories were shown, read or used, of every project; of the latest {charts.REFS:,} times"
    return plot.bars("Use of recall per day", says, days.labels, series)


def _took(page: Frame, days: Days) -> Plot:
    found: list[list[int]] = [[] for _ in days.every]
    for at_ms, took_ms in hook_times.between(page.db, days.from_ms, days.until_ms, charts.REFS):
        found[ranges.day_of(at_ms) - days.first].append(took_ms)
    says = (
        "milliseconds our hooks took by the clock of Claude Code, of every project: half of them, and all but one in"
        " twenty. It writes them down of hooks that spoke, and of those at the end of a turn; no hook keeps a time of"
        f" its own. {many(sum(map(len, found)), 'hook')} in these days"
    )
    return plot.lines("Hook latency per day", says, days.labels, _halves(found), spans=True)


def _lag(page: Frame, days: Days) -> Plot:
    found = charts.lags(page.db, page.scope, days.from_ms, days.count)
    says = (
        "milliseconds from a hook's file in the spool to its row in the store: half of them, and all but one in twenty;"
        f" of at most {charts.LAGS} events a day"
    )
    return plot.lines("Capture lag per day", says, days.labels, _halves(found), spans=True)


def _waited(page: Frame, days: Days) -> Plot:
    found = charts.waits(page.db, days.from_ms, days.count)
    says = (
        f"milliseconds a job waited until it was done, once it was asked for and due, of every project; of the latest"
        f" {charts.REFS:,} jobs"
    )
    return plot.lines("Queue age per day", says, days.labels, _halves(found), spans=True)


def _halves(found: Sequence[Sequence[int]]) -> list[Series]:
    return [Series(name, [_share(one, part) for one in found]) for name, part in (("p50", 0.5), ("p95", 0.95))]


def _share(values: Sequence[int], part: float) -> int:
    """The value below which a part of them lies; 0 of none."""
    return sorted(values)[min(int(len(values) * part), len(values) - 1)] if values else 0


def _briefed(page: Frame) -> Plot:
    rows = browse.session_page(page.db, page.scope, before=None, limit=SESSIONS)[::-1]
    ids = [row.session.id for row in rows]
    chars = charts.briefed(page.db, ids)
    tokens = [fence.tokens("x" * chars.get(one, 0)) for one in ids]
    labels = [ranges.iso(ranges.day_of(row.session.last_ms))[5:] for row in rows]
    says = f"tokens of the briefs in the latest {SESSIONS} sessions, on whatever days; a guess from their length"
    shown = plot.bars("Tokens shown per session", says, labels, [Series("tokens", tokens)])
    return replace(shown, nothing="Nothing yet.")
