"""Plots drawn on the server: SVG without a script, with the numbers beside it for who cannot see it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from markupsafe import Markup

from recorder.store.relations import Relation
from recorder.web.pages.shown import plain

WIDTH, HEIGHT = 480, 180
LEFT, BOTTOM, TOP = 62, 26, 12
LINE_WIDTH = 720
"""Of the line of time, which has the page's whole width."""
LABELS = 6
LABEL_WIDTH = 42
"""What a day's name takes, in the largest letters there are."""
GRAPH_NODES = 24
LANES = 12
"""So many sessions are drawn over one another; the list names them all."""
RING = 130
_UNITS = ((1, "ms", 500), (1_000, "s", 20), (60_000, "min", 20), (3_600_000, "h", 10), (86_400_000, "d", 100_000))
"""Milliseconds, the unit's name, and up to which number of it an axis goes."""
_BAR = '<rect class="c{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>'
_TICK = '<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/><text class="tick" x="{}" y="{:.1f}">{}</text>'


@dataclass(frozen=True, slots=True)
class Series:
    """One named row of numbers."""

    name: str
    values: Sequence[int]


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture, what it says in a sentence, and the numbers it was made of."""

    title: str
    says: str
    svg: Markup
    labels: Sequence[str]
    series: Sequence[Series]
    nothing: str = "Nothing in these days."
    """What is said where there are no numbers."""

    @property
    def empty(self) -> bool:
        return not any(any(one.values) for one in self.series)


def bars(title: str, says: str, labels: Sequence[str], series: Sequence[Series]) -> Plot:
    """Stacked bars, one a label."""
    totals = [sum(one.values[n] for one in series) for n in range(len(labels))]
    most = _round_up(max(totals, default=0))
    step = (WIDTH - LEFT) / max(len(labels), 1)
    parts = [_axis(most, _short)]
    for n, label in enumerate(labels):
        base = 0
        for color, one in enumerate(series):
            value = one.values[n]
            if value:
                height = value / most * (HEIGHT - TOP - BOTTOM)
                y = HEIGHT - BOTTOM - base / most * (HEIGHT - TOP - BOTTOM) - height
                parts.append(
                    Markup(_BAR).format(
                        color, LEFT + n * step + step * 0.1, y, step * 0.8, height, f"{label}: {value:,} {one.name}"
                    )
                )
            base += value
    parts.append(_labels(labels, step))
    return Plot(title, says, _svg(title, parts), labels, series)


def lines(title: str, says: str, labels: Sequence[str], series: Sequence[Series], *, spans: bool = False) -> Plot:
    """One line a series. `spans`: the numbers are milliseconds, and the axis says them in a unit that fits."""
    highest = max((max(one.values, default=0) for one in series), default=0)
    most = _span_up(highest) if spans else _round_up(highest)
    step = (WIDTH - LEFT) / max(len(labels), 1)
    parts = [_axis(most, _span if spans else _short)]
    for color, one in enumerate(series):
        heights = [f"{HEIGHT - BOTTOM - value / most * (HEIGHT - TOP - BOTTOM):.1f}" for value in one.values]
        points = " ".join(f"{LEFT + (n + 0.5) * step:.1f},{height}" for n, height in enumerate(heights))
        if len(heights) == 1:  # of one day a point alone would be invisible
            points = f"{LEFT},{heights[0]} {WIDTH},{heights[0]}"
        parts.append(
            Markup('<polyline class="l{}" points="{}"><title>{}</title></polyline>').format(color, points, one.name)
        )
    parts.append(_labels(labels, step))
    return Plot(title, says, _svg(title, parts), labels, series)


@dataclass(frozen=True, slots=True)
class Bar:
    """A session on the line of time."""

    from_ms: int
    until_ms: int
    says: str
    session_id: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """A change of a memory on the line of time."""

    at_ms: int
    says: str
    memory_id: int


def timeline(from_ms: int, until_ms: int, bars: Sequence[Bar], marks: Sequence[Mark]) -> Markup:
    """Sessions one over the other where they ran at once, and a row of marks below."""
    scale = (LINE_WIDTH - 2) / (until_ms - from_ms)

    def x(at_ms: int) -> float:
        return 1 + (min(max(at_ms, from_ms), until_ms) - from_ms) * scale

    free: list[float] = []
    parts = []
    for bar in sorted(bars, key=lambda one: one.from_ms):
        left, right = x(bar.from_ms), max(x(bar.until_ms), x(bar.from_ms) + 4)
        lane = next((n for n, end in enumerate(free) if end <= left), len(free))
        if lane >= LANES:
            continue
        free[lane : lane + 1] = [right + 2]
        parts.append(
            Markup(
                '<a href="/sessions/{}"><rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="12" rx="3">'
                "<title>{}</title></rect></a>"
            ).format(
                quote(bar.session_id, safe=""),
                "c3" if bar.failed else "c0",
                left,
                TOP + lane * 16,
                right - left,
                bar.says,
            )
        )
    base = TOP + max(len(free), 1) * 16 + 10
    for mark in marks:
        parts.append(
            Markup(
                '<a href="/memories/{}"><circle class="c1" cx="{:.1f}" cy="{}" r="4"><title>{}</title></circle></a>'
            ).format(mark.memory_id, x(mark.at_ms), base, mark.says)
        )
    days = max(round((until_ms - from_ms) / 86_400_000), 1)
    every = max(days // LABELS, 1)
    for n in range((days - 1) % every, days, every):
        at_ms = from_ms + n * 86_400_000
        named = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%m-%d")
        parts.append(
            Markup(
                '<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="0" y2="{1}"/><text x="{2:.1f}" y="{3}">{4}</text>'
            ).format(x(at_ms), base + 10, x(at_ms) + 3, base + 30, named)
        )
    return Markup(
        '<svg class="plot line" viewBox="0 0 {} {}" role="group" aria-label="Sessions and changes of memories">{}</svg>'
    ).format(LINE_WIDTH, base + 38, Markup("").join(parts))


def graph(middle: int, names: Mapping[int, str], links: Sequence[Relation]) -> Markup:
    """A memory in the middle of those it is linked with; empty where there are none."""
    if not links:
        return Markup("")
    around = [number for number in names if number != middle][:GRAPH_NODES]
    radius = RING + 6 * max(len(around) - 8, 0)
    width, height = 2 * radius + 260, 2 * radius + 70
    center = (width / 2, height / 2)
    places = {middle: center}
    for n, number in enumerate(around):
        angle = 2 * math.pi * n / len(around) - math.pi / 2
        places[number] = (center[0] + radius * math.cos(angle), center[1] + radius * math.sin(angle))
    parts = []
    for link in links:
        if link.from_id in places and link.to_id in places:
            (x1, y1), (x2, y2) = places[link.from_id], places[link.to_id]
            parts.append(
                Markup(
                    '<line class="edge" x1="{:.0f}" y1="{:.0f}" x2="{:.0f}" y2="{:.0f}" marker-end="url(#tip)"/>'
                    '<text class="edge-name" x="{:.0f}" y="{:.0f}">{}</text>'
                ).format(x1, y1, x2, y2, (x1 + x2) / 2, (y1 + y2) / 2 - 4, plain(link.relation, 24))
            )
    for number, (x, y) in places.items():
        parts.append(
            Markup(
                '<a href="/memories/{}"><circle class="{}" cx="{:.0f}" cy="{:.0f}" r="7"/>'
                '<text class="node-name" x="{:.0f}" y="{:.0f}">{}</text></a>'
            ).format(number, "node middle" if number == middle else "node", x, y, x, y + 22, plain(names[number], 22))
        )
    tip = Markup(
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="15" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>'
    )
    return Markup(
        '<svg class="graph" viewBox="0 0 {:.0f} {:.0f}" role="group" aria-label="Linked memories">{}{}</svg>'
    ).format(width, height, tip, Markup("").join(parts))


def _svg(title: str, parts: Sequence[Markup]) -> Markup:
    return Markup('<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, title, Markup("").join(parts)
    )


def _axis(most: int, said: Callable[[float], str]) -> Markup:
    parts = []
    for share in (0.0, 0.5, 1.0):
        y = HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
        parts.append(Markup(_TICK).format(LEFT, WIDTH, y, y, LEFT - 6, y + 4, said(most * share)))
    return Markup("").join(parts)


def _labels(labels: Sequence[str], step: float) -> Markup:
    """Some of the names, the latest among them."""
    every = max(len(labels) // LABELS, 1)
    most = WIDTH - LABEL_WIDTH / 2
    return Markup("").join(
        Markup('<text class="label" x="{:.1f}" y="{}">{}</text>').format(
            min(LEFT + n * step + step / 2, most), HEIGHT - 7, label
        )
        for n, label in enumerate(labels)
        if (len(labels) - 1 - n) % every == 0
    )


def _round_up(value: int) -> int:
    """The next number that begins with 1, 2 or 5, at least 2."""
    size: int = 10 ** (len(str(max(value, 1))) - 1)
    return max(next(step * size for step in (1, 2, 5, 10) if step * size >= value), 2)


def _span_up(value_ms: int) -> int:
    """The next length of time that is a plain number of some unit, at least 2 ms."""
    return next(
        (
            n * size
            for size, _, most in _UNITS
            for n in (1, 2, 5, 10, 20, 50, 100, 200, 500)
            if n <= most and value_ms <= n * size > 1
        ),
        value_ms,
    )


def _span(value_ms: float) -> str:
    size, name, _ = next((unit for unit in reversed(_UNITS) if value_ms >= unit[0]), _UNITS[0])
    return f"{value_ms / size:g} {name}" if value_ms else "0"


def _short(value: float) -> str:
    for size, name in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:g}{name}"
    return f"{value:g}"
