"""Dates as people write them, as exact as they are known."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from recorder.models import Precision

OPEN = ""
OPENLY = "open"
"""The same as nothing, where leaving it out means that it stays as it is."""
UNKNOWN = "unknown"
NEVER = "never"
MOMENTS = "2026, 2026-06, 2026-06-03 or 2026-06-03T14:30"
SHAPES = "2026, 2026-06, 2026-06-03, 2026-06-03T14:30, unknown, open, or nothing"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)
_SPAN = re.compile(r"(\d{1,6})([smhdw])", re.ASCII)
_SPAN_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}


def parse(text: str) -> tuple[int | None, Precision | None]:
    """The first instant that a text means, and how exact it is; UTC where it names no offset.

    Nothing, or `open`, is an open end: it still holds. `unknown` is another thing: it has an end, nobody knows when.

    Raises: ValueError.
    """
    text = text.strip()
    if text.lower() in (OPEN, OPENLY):
        return None, None
    if text.lower() == UNKNOWN:
        return None, Precision.UNKNOWN
    try:
        found = _DATE.fullmatch(text)
        if found is None:
            return _ms(datetime.fromisoformat(text)), Precision.MS
        year, month, day = found.groups()
        precision = Precision.DAY if day else Precision.MONTH if month else Precision.YEAR
        return _ms(datetime(int(year), int(month or 1), int(day or 1))), precision
    except (ValueError, OverflowError):
        raise ValueError(f"'{text[:80]}' is no date: write {SHAPES}") from None


def instant(text: str) -> int:
    """The first instant a text means.

    Raises: ValueError for what is no date, and where none is given.
    """
    try:
        at_ms, _ = parse(text)
    except ValueError:
        at_ms = None
    if at_ms is None:
        raise ValueError(f"'{text[:80]}' is no moment: write {MOMENTS}")
    return at_ms


def end(text: str) -> int:
    """The first instant behind what a text means: a day, month or year is over by then.

    Raises: ValueError as `instant` does.
    """
    at_ms, precision = instant(text), parse(text)[1]
    first = _EPOCH + at_ms * _MS
    try:
        if precision is Precision.YEAR:
            return _ms(first.replace(year=first.year + 1))
        if precision is Precision.MONTH:
            return _ms(first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1))
        return at_ms + (_SPAN_MS["d"] if precision is Precision.DAY else 1)
    except ValueError:  # the last year there is
        return at_ms + 366 * _SPAN_MS["d"]


def span_ms(text: str) -> int:
    """How long `30d` is: a number with s, m, h, d or w.

    Raises: ValueError.
    """
    found = _SPAN.fullmatch(text.strip())
    if found is None or int(found[1]) == 0:
        raise ValueError(f"'{text[:80]}' is no span of time: write 12h, 30d, 8w or never")
    return int(found[1]) * _SPAN_MS[found[2]]


def expiry(text: str, now_ms: int) -> int | None:
    """The moment a span from now on ends, such as `30d`; None for `never`.

    Raises: ValueError.
    """
    return None if text.strip().lower() == NEVER else now_ms + span_ms(text)


def shown(at_ms: int | None, precision: Precision | None) -> str:
    """The same as text that `parse` reads back; a time no calendar has is `unknown`."""
    if at_ms is None:
        return UNKNOWN if precision is Precision.UNKNOWN else OPEN
    try:
        at = _EPOCH + at_ms * _MS
    except OverflowError:
        return UNKNOWN
    day = f"{at.year:04}-{at.month:02}-{at.day:02}"
    if precision is Precision.YEAR:
        return day[:4]
    if precision is Precision.MONTH:
        return day[:7]
    if precision is Precision.DAY:
        return day
    return f"{day}T{at.hour:02}:{at.minute:02}:{at.second:02}.{at.microsecond // 1000:03}Z"


def _ms(at: datetime) -> int:
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH) // _MS
