"""The days that a page over time looks at, chosen in its address."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime

from recorder.store.charts import DAY_MS
from recorder.web.numbers import whole

CHOICES = (1, 7, 30, 90)
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class Days:
    """Whole days in UTC, the last one first to be named."""

    last: int
    """Since 1970."""
    count: int
    today: int

    @property
    def first(self) -> int:
        return self.last - self.count + 1

    @property
    def from_ms(self) -> int:
        return self.first * DAY_MS

    @property
    def until_ms(self) -> int:
        return (self.last + 1) * DAY_MS

    @property
    def every(self) -> range:
        return range(self.first, self.last + 1)

    @property
    def labels(self) -> list[str]:
        return [iso(day)[5:] for day in self.every]

    @property
    def begins(self) -> str:
        return iso(self.first)

    @property
    def ends(self) -> str:
        return iso(self.last)

    @property
    def earlier(self) -> str:
        return iso(max(self.first - 1, 0))

    @property
    def later(self) -> str | None:
        """The last day of the span behind this one; None where this one ends today."""
        return iso(min(self.last + self.count, self.today)) if self.last < self.today else None


def iso(day: int) -> str:
    """A day since 1970 as a date."""
    return date.fromordinal(_EPOCH + day).isoformat()


def day_of(at_ms: int) -> int:
    """The day since 1970 that a moment lies in."""
    return at_ms // DAY_MS


def chosen(days: str, end: str, now_ms: int, default: int) -> Days:
    """The days that an address names; what it says amiss is the default."""
    today = day_of(now_ms)
    count = whole(days)
    try:
        last = datetime.strptime(end, "%Y-%m-%d").replace(tzinfo=UTC).toordinal() - _EPOCH
    except ValueError:
        last = today
    return Days(min(max(last, 0), today), count if count in CHOICES else default, today)
