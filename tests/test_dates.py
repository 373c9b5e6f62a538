"""Dates as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from recorder import dates
from recorder.models import Precision

DAY = 86_400_000
FIRST = 1_767_225_600_000  # 2026-01-01T00:00Z


@pytest.mark.parametrize(
    ("text", "at_ms", "precision", "again"),
    [
        ("2026", FIRST, Precision.YEAR, "2026"),
        ("2026-06", FIRST + 151 * DAY, Precision.MONTH, "2026-06"),
        (" 2026-06-03 ", FIRST + 153 * DAY, Precision.DAY, "2026-06-03"),
        ("2026-01-01T01:30", FIRST + 5_400_000, Precision.MS, "2026-01-01T01:30:00.000Z"),
        ("2026-01-01T01:30:00.25+01:30", FIRST + 250, Precision.MS, "2026-01-01T00:00:00.250Z"),
        ("0001-01-01", -62_135_596_800_000, Precision.DAY, "0001-01-01"),
        ("unknown", None, Precision.UNKNOWN, "unknown"),
        ("", None, None, ""),
    ],
)
def test_a_date_is_as_exact_as_it_was_written_and_reads_back(
    text: str, at_ms: int | None, precision: Precision | None, again: str
) -> None:
    assert dates.parse(text) == (at_ms, precision)
    assert dates.shown(at_ms, precision) == again
    assert dates.parse(again) == (at_ms, precision)


@given(some.integers(min_value=-62_135_596_800_000, max_value=253_402_300_799_999))
def test_every_instant_of_the_calendar_reads_back(at_ms: int) -> None:
    assert dates.parse(dates.shown(at_ms, Precision.MS)) == (at_ms, Precision.MS)


@pytest.mark.parametrize("text", ["06/2026", "2026-13", "2026-02-30", "26", "yesterday", "0000", "٢٠٢٦", "2026-6"])
def test_what_is_no_date_is_told_with_what_would_be_one(text: str) -> None:
    with pytest.raises(ValueError, match="is no date: write 2026"):
        dates.parse(text)


@pytest.mark.parametrize("text", ["", "unknown"])
def test_an_open_end_is_no_moment(text: str) -> None:
    with pytest.raises(ValueError, match="no moment"):
        dates.instant(text)


def test_a_span_is_a_number_with_its_unit() -> None:
    assert (dates.span_ms("30d"), dates.span_ms("12h"), dates.span_ms("2w")) == (30 * DAY, DAY // 2, 14 * DAY)
    for text in ("30", "d", "0d", "-1d", "1y", "1.5h"):
        with pytest.raises(ValueError, match="no span"):
            dates.span_ms(text)
