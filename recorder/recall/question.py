"""What a question asks for, read off its words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from recorder.store import search
from recorder.store.wordforms import forms

_SUFFIX = re.compile(r"(?:ations?|ings?|ies|ied|ed|es|s|e|y)$")
_MONTHS = "january february march april may june july august september october november december".split()
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_MONTH = re.compile(
    # "may" is a month only beside what makes it one.
    r"\b(?:(january|february|march|april|june|july|august|september|october|november|december)"
    r"|(jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)\b\.?,? (?=\d)"
    r"|(?:in|of|since|by|until|early|late|mid|last|this|during|\d(?:st|nd|rd|th)?) (may)\b|(may),? (?=\d))"
)
_ISO = re.compile(r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b")
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_DAY_OF_MONTH = re.compile(r"(?<![\d:.-])([0-3]?\d)(?:st|nd|rd|th)?(?![\d:.%-])\b")
_WEEKDAY = re.compile(rf"\b({'|'.join(_DAYS)})\b")

_WHEN = re.compile(r"\b(?:when|(?:what|which) (?:date|day|month|year|time)|how long (?:ago|has|have|did)|since)\b")
_OWN = re.compile(r"\b(?:i|my|me)\b")
_OURS = re.compile(r"\b(?:we|our|us)\b")
_END = re.compile(r"\b(?:end|ended|final|finally|last|latest|eventually|outcome|result|still)\b")
_RUN = re.compile(r"\b(?:how (?:do|can|should|did) (?:i|we|you)|commands?|run|flags?|invoke|call|script)\b")


@dataclass(frozen=True, slots=True)
class Question:
    """The words looked for, and what else the wording says about the answer."""

    terms: tuple[tuple[str, ...], ...]
    """Each word as the beginnings its forms have in a text, lower case."""
    names: tuple[str, ...]
    """Paths, identifiers, codes, lower case."""
    dates: tuple[tuple[str, int], ...]
    """(`year`, `month`, `day` or `weekday`, its number)."""
    date_terms: tuple[tuple[int, tuple[str, int]], ...]
    """Which of the terms, by number, is which part of a date: a row of that time holds it without a word."""
    when: bool
    own: bool
    """About what the person who asks said or did."""
    ours: bool
    end: bool
    """About how something came out."""
    run: bool
    """About a command."""


def read(question: str) -> Question:
    """What the question asks for. Any text is a question."""
    text = search.plain(question)
    lower = text.lower()
    words = [piece for term in search.terms(text) for piece in search.pieces(term)]
    terms = {_beginnings(word): word for word in reversed(words)}
    named = dates(lower)
    return Question(
        terms=tuple(reversed(terms)),
        names=tuple(name.lower() for name in search.names(text) if len(name) >= 3),
        dates=named,
        date_terms=tuple(
            (number, part)
            for number, word in enumerate(reversed(terms.values()))
            for part in named
            if word in _spellings(*part)
        ),
        when=bool(_WHEN.search(lower)),
        own=bool(_OWN.search(lower)),
        ours=bool(_OURS.search(lower)),
        end=bool(_END.search(lower)),
        run=bool(_RUN.search(lower)),
    )


def dates(lower: str) -> tuple[tuple[str, int], ...]:
    """The parts of dates a lower-case text names: `on 8 may 2023` → month 5, year 2023, day 8."""
    found: dict[tuple[str, int], None] = {}
    for iso in _ISO.finditer(lower):
        for part, number in zip(("year", "month", "day"), iso.groups(), strict=True):
            if number is not None:
                found[part, int(number)] = None
    rest = _ISO.sub(" ", lower)
    months = [next(name for name in match.groups() if name) for match in _MONTH.finditer(rest)]
    for name in months:
        found["month", next(n for n, month in enumerate(_MONTHS, 1) if month.startswith(name[:3]))] = None
    for year in _YEAR.findall(rest):
        found["year", int(year)] = None
    for day in _DAY_OF_MONTH.findall(rest) if months else ():
        if 1 <= int(day) <= 31:
            found["day", int(day)] = None
    for name in _WEEKDAY.findall(rest):
        found["weekday", _DAYS.index(name)] = None
    return tuple(found)


def _spellings(part: str, number: int) -> tuple[str, ...]:
    """How a part of a date is written."""
    if part == "month":
        return (_MONTHS[number - 1], _MONTHS[number - 1][:3], f"{number:02d}") if 1 <= number <= 12 else ()
    if part == "weekday":
        return (_DAYS[number],)
    return (str(number), f"{number:02d}", f"{number}st", f"{number}nd", f"{number}rd", f"{number}th")


def parts(at_ms: int) -> frozenset[tuple[str, int]]:
    """The parts of the date of a time (UTC)."""
    try:
        at = datetime.fromtimestamp(at_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return frozenset()
    return frozenset({("year", at.year), ("month", at.month), ("day", at.day), ("weekday", at.weekday())})


def agreement(dates: tuple[tuple[str, int], ...], at_ms: int) -> float:
    """How much of the dates a time is in, 0 to 1 (UTC)."""
    of_time = parts(at_ms)
    return sum(part in of_time for part in dates) / len(dates) if dates else 0.0


def _beginnings(word: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(stem(form) for form in forms(word)))


def stem(word: str) -> str:
    """The start of a word that its forms share; words of up to four letters stay whole."""
    if len(word) <= 4:
        return word
    cut = _SUFFIX.sub("", word, count=1)
    if len(cut) > 3 and cut[-1] == cut[-2] and cut != word:
        cut = cut[:-1]  # running, run
    return cut if len(cut) >= 3 else word
