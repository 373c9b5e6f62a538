"""Decisions the assistant reports as made and done, with their reason."""

from __future__ import annotations

import re

from recorder.models import Channel, EventKind, MemoryKind, StoredEvent
from worker.distil import prose, shell, subjects
from worker.distil.fixes import WRITES
from worker.distil.proposed import Found

REASON = re.compile(
    r"\b(?:because|since(?! (?:the )?(?:last|then|yesterday))|so that|so (?:it|they|the|we) |to avoid|"
    r"to prevent|to keep|to ensure|in order to|"
    r"instead of|rather than|otherwise|which means|due to|for (?:privacy|safety|security|consistency|performance))\b",
    re.I,
)
DONE = re.compile(
    r"^(?:[\w `/.-]{1,60}(?::| [-–—]) )?"
    r"(?:(?:i|we)(?:'ve| have)? )?(?:now )?(?:decided|chose|chosen|kept|used|switched|moved|replaced|"
    r"changed|made|removed|dropped|converted|"
    r"extracted|restricted|limited|renamed|reverted|stored)\b|"
    r"\b(?:is|are) now \w+|\bnow (?:uses?|reads?|returns?|stores?|loads?|checks?|overrides?|always|"
    r"only|falls|goes|runs|has|have|requires?)\b|"
    r"\bthe (?:\w+ )?(?:issue|problem|bug|root cause|cause|culprit) was\b|^root cause:",
    re.I,
)
UNDONE = re.compile(
    r"\b(?:let me|i'?ll|i will|i can|we can|you can|would you|want me|next step|todo|not yet|"
    r"still (?:need|fail|broken)|should (?:now )?work|"
    r"option \d|if you|pre-?existing|unrelated|all tests|tests? pass|lint(?:er|ing)? pass|i'?m |"
    r"apolog|you'?re right|going to|trying|let's)\b",
    re.I,
)
MARKUP = re.compile(r"^\s*(?:#{1,6}\s+.*|```.*)$")
LONG = 300
SHORT_WORDS = 8


def _last_text(turn: list[StoredEvent]) -> StoredEvent | None:
    texts = [e for e in turn if e.kind in (EventKind.ASSISTANT, EventKind.TURN_END) and e.agent_id is None and e.text]
    return texts[-1] if texts else None


def _is_settled(turn: list[StoredEvent]) -> bool:
    """True when the turn changed a file and the last command that can fail did not."""
    calls = [event for event in turn if event.kind is EventKind.TOOL_CALL]
    wrote = any(event.tool in WRITES and event.ok for event in calls)
    runs = [event for event in calls if shell.command_of(event)]
    return wrote and bool(runs) and runs[-1].ok is True


def _lines(text: str) -> list[str]:
    """Sentences of a report: bullets and paragraphs without code blocks and headings."""
    bare = prose.FENCE.sub("\n", text)
    found: list[str] = []
    for line in bare.splitlines():
        if MARKUP.match(line) or "|" in line:
            continue
        bullet = prose.BULLET.match(line)
        body = line[bullet.end() :] if bullet else line
        found += [part.strip() for part in prose.SENTENCE_END.split(body)]
    return found


def _is_decision(sentence: str) -> bool:
    plain = sentence.replace("*", "").strip()
    return (
        SHORT_WORDS <= len(plain.split())
        and len(plain) <= LONG
        and bool(DONE.search(plain))
        and bool(REASON.search(plain))
        and not UNDONE.search(plain)
        and not prose.is_question(plain)
        and not prose.is_hedged(plain)
        and not prose.is_hostile(plain)
        and not plain.endswith(":")
    )


def decisions(turn: list[StoredEvent]) -> list[Found]:
    """What the last words of a settled turn say was decided, done and why. What was said on the way is left alone:
    a hypothesis stands there until it is refuted."""
    last = _last_text(turn)
    if last is None or not _is_settled(turn):
        return []
    return [
        Found(
            rule="decision",
            key=subjects.key_of_report(sentence),
            value=sentence.replace("**", ""),
            kind=MemoryKind.SEMANTIC,
            channel=Channel.AGENT,
            quotes=((last, sentence),),
            confidence=0.4,
            importance=0.5,
            tags=("decision",),
        )
        for sentence in _lines(last.text)
        if _is_decision(sentence)
    ]
