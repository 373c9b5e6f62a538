"""What speaks for each candidate: one number between 0 and 1 a feature."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from recorder.models import EventKind, Hit
from recorder.recall.question import Question, agreement, parts

NAMES = (
    "own",  # share of the question's words it holds, seldom words counting more
    "dense",  # the same of its best 300 characters
    "words",  # bm25 among those found
    "near",  # cosine among the candidates
    "previous",  # words of the question that the row before holds and it does not
    "next",
    "earlier",  # … and the one before that
    "answers",  # words of the question in the row before, where that is a question
    "named",  # share of the question's paths, identifiers and codes it holds
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
    "length",
    "says_when",
    "repeats",  # the same words stand in a candidate before it
)

CHUNK = 300
_ANNOUNCED_IN = 200
_LABEL = re.compile(r"[^\W\d_][\w ]{0,24}(?=:)")
_LOOKS = ("read:", "grep:", "glob:", "ls:", "todowrite:", "taskcreate:", "taskupdate:")
_ANNOUNCES = re.compile(r"(?:let me|let's|now,? (?:let|i)|i'll|i will|perfect|great|good[,.! ]|now,? )")
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
    """Which words of the question each text holds."""

    def __init__(self, question: Question, texts: Mapping[int, str]) -> None:
        self.question = question
        self.texts = texts
        self.of_event: dict[int, frozenset[int]] = {}

    def event(self, event_id: int) -> frozenset[int]:
        """The numbers of the words an event holds."""
        if event_id not in self.of_event:
            self.of_event[event_id] = self.text(self.texts.get(event_id, ""))
        return self.of_event[event_id]

    def text(self, lower: str) -> frozenset[int]:
        """The numbers of the words a lower-case text holds."""
        found = []
        for number, starts in enumerate(self.question.terms):
            for start in starts:
                if _begins(lower, start):
                    found.append(number)
                    break
        return frozenset(found)


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
    own = [
        (held.text(text) if one.hit.type == "memory" else held.event(_event_id(one.hit)))
        | _dated(question, one.hit.occurred_ms)
        for one, text in zip(candidates, lower, strict=True)
    ]
    share = _shares(question, own)
    cosines = [one.cosine for one in candidates if one.cosine is not None]
    low, high = min(cosines, default=0.0), max(cosines, default=0.0)
    sessions = _sessions(candidates, [share(words) for words in own])
    seen: set[str] = set()
    rows = []
    for one, text, words in zip(candidates, lower, own, strict=True):
        row = _wanted(question, one, text)
        row["own"] = share(words)
        row["dense"] = _dense(question, text, words, share)
        row["words"] = one.words
        if one.cosine is not None and high > low:
            row["near"] = (one.cosine - low) / (high - low)
        row["named"] = sum(name in text for name in question.names) / len(question.names) if question.names else 0.0
        row["inside"] = share(_inside(question, text, words))
        # What stands outside of all sessions, such as a memory somebody wrote, is not worse for it.
        row["session"] = sessions.get(one.hit.session_id, 1.0)
        if one.hit.type == "event":
            row |= _around(one, held, words, share, texts)
        if one.hit.kind == EventKind.TOOL_CALL:
            row["tool_own"] = row["own"]
        row["repeats"] = float(text in seen)
        seen.add(text)
        rows.append({name: value for name, value in row.items() if value})
    return rows


def _dated(question: Question, at_ms: int) -> frozenset[int]:
    """The numbers of the words that a row holds by its date."""
    if not question.date_terms:
        return frozenset()
    of_time = parts(at_ms)
    return frozenset(number for number, part in question.date_terms if part in of_time)


def _shares(question: Question, own: Sequence[frozenset[int]]) -> Callable[[Iterable[int]], float]:
    """How much of the question a set of its words is; words that few of the candidates hold weigh more."""
    found = Counter(n for words in own for n in words)
    weights = [math.log(1 + (len(own) + 1) / (1 + found[n])) for n in range(len(question.terms))]
    total = sum(weights) or 1.0

    def share(words: Iterable[int]) -> float:
        held = 0.0
        for number in words:
            held += weights[number]
        return held / total

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


def _around(
    one: Candidate,
    held: Held,
    words: frozenset[int],
    share: Callable[[Iterable[int]], float],
    texts: Mapping[int, str],
) -> dict[str, float]:
    if not one.before and not one.after:
        return {}
    previous = held.event(one.before[0]) if one.before else frozenset()
    earlier = held.event(one.before[1]) if len(one.before) > 1 else frozenset()
    following = held.event(one.after[0]) if one.after else frozenset()
    asked = bool(one.before) and texts.get(one.before[0], "").rstrip().endswith("?")
    return {
        "previous": share(previous - words),
        "next": share(following - words - previous),
        "earlier": share(earlier - words - previous - following),
        "answers": share(previous) if asked else 0.0,
    }


def _wanted(question: Question, one: Candidate, text: str) -> dict[str, float]:
    """What kind of row it is, and whether the question asks for such."""
    hit = one.hit
    prompt, call = hit.kind == EventKind.PROMPT, hit.kind == EventKind.TOOL_CALL
    label = _LABEL.match(text)
    says_when = not call and bool(_TIME.search(text[:1500]))
    return {
        "speaker": float(bool(label) and any(_begins(label[0], s) for starts in question.terms for s in starts)),  # type: ignore[index]
        "dated": agreement(question.dates, hit.occurred_ms) if question.dates else 0.0,
        "tells_when": float(question.when and says_when),
        "says_when": float(says_when),
        "own_prompt": float(question.own and prompt),
        "our_prompt": float(question.ours and prompt),
        "late": one.place if question.end else 0.0,
        "shell": float(question.run and text.startswith("bash:")),
        "memory": float(hit.type == "memory"),
        "tool_call": float(call),
        "looking": float(call and text.startswith(_LOOKS)),
        "announces": float(
            hit.kind == EventKind.ASSISTANT and len(text) < _ANNOUNCED_IN and bool(_ANNOUNCES.match(text))
        ),
        "length": math.log1p(len(text)) / 8,
    }


def _dense(question: Question, text: str, words: frozenset[int], share: Callable[[Iterable[int]], float]) -> float:
    if len(text) <= CHUNK or len(words) < 2:
        return share(words)
    # In which halves of a chunk each word stands: a chunk is two of them, and begins at every half.
    half = CHUNK // 2
    standing: dict[int, set[int]] = {}
    for number in words:
        for start in question.terms[number]:
            at = text.find(start)
            while at >= 0:
                standing.setdefault(at // half, set()).add(number)
                at = text.find(start, (at // half + 1) * half)
    return max((share(here | standing.get(n + 1, set())) for n, here in standing.items()), default=0.0)


def _inside(question: Question, text: str, words: frozenset[int]) -> list[int]:
    found = []
    for number, starts in enumerate(question.terms):
        if number not in words:
            for start in starts:
                if len(start) >= 4 and start in text:
                    found.append(number)
                    break
    return found


def _lower(hit: Hit, texts: Mapping[int, str]) -> str:
    if hit.type == "event":
        return texts[_event_id(hit)]
    return f"{re.sub(r'[.-]', ' ', hit.key or '')} {hit.text}".lower()


def _event_id(hit: Hit) -> int:
    return int(hit.id[1:])
