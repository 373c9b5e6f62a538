"""What speaks for each candidate: one number between 0 and 1 a feature."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from recorder.models import EventKind, Hit
from recorder.recall.question import Question, agreement, parts
from recorder.store import search

NAMES = (
    "own",  # share of the question's words it holds, seldom words counting more
    "dense",  # the same of its best 300 characters
    "words",  # bm25 among those found
    "near",  # cosine among the candidates
    "previous",  # words of the question that the row before holds and it does not
    "next",
    "earlier",  # … and the one before that
    "answers",  # words of the question in the row before, where that is a question
    "inside",  # words of the question that stand in the middle of its words
    "speaker",  # its label ("Ann: …", "Bash: …") is in the question
    "session",  # how well its session's best rows cover the question
    "dated",  # share of the question's dates it is in
    "tells_when",  # asked when, it says when
    "own_prompt",  # asked about the asker's own words, it is a prompt
    "our_prompt",
    "late",  # asked how it came out, it stands late in its session
    "shell",  # asked for a command, it ran one
    "memory",
    "tool_call",
    "tool_own",  # `own` of a tool call: long, so that it holds many a word by chance
    "looking",  # a call that reads, searches or lists
    "announces",  # says what will be done, and does not say what came of it
    "concludes",  # says at some length what was found out or done
    "length",
    "says_when",
    "repeats",  # the same words stand in a candidate before it
)

CHUNK = 300
_PART = 4
INSIDE = 4
"""A shorter word stands in the middle of too many."""
_ANNOUNCED_IN = 200
"""Shorter, an answer says what comes next; from there on it has room for what came of it."""
_LABEL = re.compile(r"[^\W\d_][\w ]{0,24}(?=:)")
_LOOKS = ("read:", "grep:", "glob:", "ls:", "todowrite:", "taskcreate:", "taskupdate:")
_ANNOUNCES = re.compile(r"(?:let me|let's|now,? (?:let|i)|i'll|i will|perfect|great|good[,.! ]|now,? )")
_CONCLUDES = re.compile(
    r"(?:done|all |perfect|fixed|excellent|summary|here's what|found|got it|i see|the (?:issue|problem))"
)
_WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|recently|weekend|since|(?:days?|weeks?|months?|years?) ago"
    r"|(?:last|next|this|past|previous) (?:\w+ )?"
    rf"(?:weeks?|weekend|months?|years?|days?|night|summer|fall|winter|spring|{_WEEKDAY})"
    r"|january|february|march|april|in may|june|july|august|september|october|november|december|\d{4})\b"
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that may be the answer, and what was found out about it."""

    hit: Hit
    words: float = 0.0
    """bm25 over the best one of its type; 0 when the words arm did not find it."""
    cosine: float | None = None
    before: tuple[int, ...] = ()
    """Ids of the events before it, nearest first."""
    after: tuple[int, ...] = ()
    place: float = 0.5
    """Where it stands in its session: 0 is the beginning, 1 the end."""


class Held:
    """Which words of the question each text holds: bit n stands for word n."""

    def __init__(self, question: Question, texts: Mapping[int, str]) -> None:
        self.texts = texts
        self.of_event: dict[int, tuple[int, int]] = {}
        self.starts = [
            (1 << number, start, len(start) >= INSIDE)
            for number, starts in enumerate(question.terms)
            for start in starts
        ]

    def event(self, event_id: int) -> tuple[int, int]:
        """What `text` gives for an event's."""
        found = self.of_event.get(event_id)
        if found is None:
            found = self.of_event[event_id] = self.text(self.texts.get(event_id, ""))
        return found

    def text(self, lower: str) -> tuple[int, int]:
        """The words a lower-case text holds, and those that stand in the middle of its words alone."""
        begun = inside = 0
        for bit, start, long in self.starts:
            if start in lower and not begun & bit:
                if _begins(lower, start):
                    begun |= bit
                elif long:
                    inside |= bit
        return begun, inside & ~begun


def _begins(text: str, start: str) -> bool:
    """Whether a word of the text begins so."""
    # str.find is many times faster here than a regular expression that looks for a word's beginning.
    at = text.find(start)
    while at > 0 and text[at - 1].isalnum() and start.isascii():
        at = text.find(start, at + 1)
    return at >= 0


def of(question: Question, candidates: Sequence[Candidate], texts: Mapping[int, str]) -> list[dict[str, float]]:
    """The features of each candidate, those that are not 0. `texts`: of events, lower case, neighbours included."""
    held = Held(question, texts)
    lower = [_lower(one.hit, texts) for one in candidates]
    told = [
        held.event(_event_id(one.hit)) if one.hit.type == "event" else held.text(text)
        for one, text in zip(candidates, lower, strict=True)
    ]
    own = [words | _dated(question, one.hit.occurred_ms) for one, (words, _) in zip(candidates, told, strict=True)]
    shares = Shares(len(question.terms), own)
    cosines = [one.cosine for one in candidates if one.cosine is not None]
    low, high = min(cosines, default=0.0), max(cosines, default=0.0)
    sessions = _sessions(candidates, [shares.of(words) for words in own])
    seen: set[str] = set()
    rows = []
    for one, text, words, (_, inside) in zip(candidates, lower, own, told, strict=True):
        row = _wanted(question, one, text)
        row["own"] = shares.of(words)
        row["dense"] = _dense(question, text, words, shares)
        row["words"] = one.words
        if one.cosine is not None and high > low:
            row["near"] = (one.cosine - low) / (high - low)
        row["inside"] = shares.of(inside & ~words)
        # What stands outside of all sessions, such as a memory somebody wrote, is not worse for it.
        row["session"] = sessions.get(one.hit.session_id, 1.0)
        if one.hit.type == "event":
            row |= _around(one, held, words, shares, texts)
        if one.hit.kind == EventKind.TOOL_CALL:
            row["tool_own"] = row["own"]
        if text in seen:
            row["repeats"] = 1.0
        seen.add(text)
        rows.append({name: value for name, value in row.items() if value})
    return rows


def known(question: Question, candidates: Iterable[Candidate], texts: Mapping[int, str]) -> float:
    """Share of the question's names that one of the candidates holds, of a path its last part; 1 where it has none."""
    names = [name for name in question.names if search.pieces(name) == (name,)]
    lower = [_lower(one.hit, texts) for one in candidates] if names else []
    found = sum(any(_last_part(name) in text for text in lower) for name in names)
    return found / len(names) if names else 1.0


def _last_part(name: str) -> str:
    last = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    return last if len(last) >= _PART else name


def _dated(question: Question, at_ms: int) -> int:
    """The words that a row holds by its date."""
    if not question.date_terms:
        return 0
    of_time = parts(at_ms)
    return sum({1 << number for number, part in question.date_terms if part in of_time})


class Shares:
    """How much of the question a set of its words is; words that few of the candidates hold weigh more."""

    def __init__(self, count: int, own: Sequence[int]) -> None:
        found = [sum(words >> number & 1 for words in own) for number in range(count)]
        self.weights = [math.log(1 + (len(own) + 1) / (1 + number)) for number in found]
        self.total = sum(self.weights) or 1.0
        self.known: dict[int, float] = {}  # few sets of words come up, and each often

    def of(self, words: int) -> float:
        """The share of these."""
        share = self.known.get(words)
        if share is None:
            held = sum(weight for number, weight in enumerate(self.weights) if words >> number & 1)
            share = self.known[words] = held / self.total
        return share


def _sessions(candidates: Sequence[Candidate], shares: Sequence[float]) -> dict[str | None, float]:
    """Of each session the mean of its best three, over the best session's."""
    by_session: dict[str | None, list[float]] = {}
    for one, value in zip(candidates, shares, strict=True):
        if one.hit.type == "event":
            by_session.setdefault(one.hit.session_id, []).append(value)
    means = {session: sum(best := sorted(values)[-3:]) / len(best) for session, values in by_session.items()}
    most = max(means.values(), default=0.0)
    return {session: mean / most if most else 1.0 for session, mean in means.items()}


def _around(one: Candidate, held: Held, words: int, shares: Shares, texts: Mapping[int, str]) -> dict[str, float]:
    if not one.before and not one.after:
        return {}
    previous = held.event(one.before[0])[0] if one.before else 0
    earlier = held.event(one.before[1])[0] if len(one.before) > 1 else 0
    following = held.event(one.after[0])[0] if one.after else 0
    asked = bool(one.before) and texts.get(one.before[0], "").rstrip().endswith("?")
    return {
        "previous": shares.of(previous & ~words),
        "next": shares.of(following & ~(words | previous)),
        "earlier": shares.of(earlier & ~(words | previous | following)),
        "answers": shares.of(previous) if asked else 0.0,
    }


def _wanted(question: Question, one: Candidate, text: str) -> dict[str, float]:
    """What kind of row it is, and whether the question asks for such."""
    hit = one.hit
    row = {"length": math.log1p(len(text)) / 8}
    if hit.type == "memory":
        row["memory"] = 1.0
    label = _LABEL.match(text)
    if label and any(_begins(label[0], start) for starts in question.terms for start in starts):
        row["speaker"] = 1.0
    if question.dates:
        row["dated"] = agreement(question.dates, hit.occurred_ms)
    if question.end:
        row["late"] = one.place
    if question.run and text.startswith("bash:"):
        row["shell"] = 1.0
    if hit.kind == EventKind.TOOL_CALL:
        row["tool_call"] = 1.0
        if text.startswith(_LOOKS):
            row["looking"] = 1.0
    elif says_when(text):
        row["says_when"] = 1.0
        row["tells_when"] = float(question.when)
    if hit.kind == EventKind.PROMPT:
        row["own_prompt"], row["our_prompt"] = float(question.own), float(question.ours)
    if hit.kind == EventKind.ASSISTANT:
        if len(text) < _ANNOUNCED_IN:
            row["announces"] = float(bool(_ANNOUNCES.match(text)))
        else:
            row["concludes"] = float(bool(_CONCLUDES.match(text)))
    return row


def says_when(lower: str) -> bool:
    """Whether a lower-case text says when something was, in its beginning."""
    return bool(_TIME.search(lower[:1500]))


def _dense(question: Question, text: str, words: int, shares: Shares) -> float:
    if len(text) <= CHUNK or not words & (words - 1):
        return shares.of(words)
    # In which halves of a chunk each word stands: a chunk is two of them, and begins at every half.
    half = CHUNK // 2
    standing: dict[int, int] = {}
    for number, starts in enumerate(question.terms):
        for start in starts if words >> number & 1 else ():
            at = text.find(start)
            while at >= 0:
                standing[at // half] = standing.get(at // half, 0) | 1 << number
                at = text.find(start, (at // half + 1) * half)
    return max((shares.of(here | standing.get(n + 1, 0)) for n, here in standing.items()), default=0.0)


def lower(hit: Hit) -> str:
    """What its words are looked for in, lower case: what it says, of a memory after the words of its key."""
    if hit.type == "event":
        return hit.text.lower()
    return f"{re.sub(r'[.-]', ' ', hit.key or '')} {hit.text}".lower()


def _lower(hit: Hit, texts: Mapping[int, str]) -> str:
    return texts[_event_id(hit)] if hit.type == "event" else lower(hit)


def _event_id(hit: Hit) -> int:
    return int(hit.id[1:])
