"""What a person says between prompts: reasons of refusals and chosen answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from recorder.models import Channel, EventKind, MemoryKind, StoredEvent
from worker.distil import prose, statements, subjects, wordings
from worker.distil.proposed import Found, strings

# The client's own sentence, first in the result of a call that a person refused; seen in 2.0 to 2.1.197.
REFUSED = re.compile(r"^The user doesn't want to (?:proceed with|take) this (?:tool use|action)\.")
REASON = re.compile(
    r"(?:the user said|provided the following reason for the rejection):\s*(?P<words>.+)\Z", re.S | re.I
)
CLIENT_WORDS = re.compile(r"^\s*(?:The user wants to clarify|STOP what you are doing|\[Request interrupted)", re.I)
PAIR = re.compile(r'"(?P<question>[^"\n]{3,400})"="(?P<answer>[^"\n]{1,600})"')
ABOUT_PROCEEDING = re.compile(
    r"\bwhat (?:would|do) you (?:like|want)\b|\bnext\b|\bproceed\b|\bready to\b|\bcontinue\b|"
    r"\bshall i\b|\bshould i (?:go|start|continue|run|commit|push)\b|"
    r"\b(?:want|like) me to\b|\bclarify\b|\b(?:do|did) you mean\b|(?:write|put|save) the plan\b|"
    r"\blook(?:s)? (?:good|right|ok)\b|\bcommit (?:this|these|the)\b|\bplan (?:ready|updated)\b",
    re.I,
)
DIRECTION = re.compile(
    r"\b(?:instead|rather|not|never|always|use|keep|want|should|shouldn'?t|must|don'?t|do not|first|"
    r"only|let'?s|without|prefer|"
    r"call|called|rename|put|no)\b",
    re.I,
)
TALK = re.compile(r"\b(?:discuss\w*|continue|work out|think about|(?:write|put) (?:this|the) plan)\b", re.I)
INSTEAD = re.compile(
    r"^(?:no|nope|wait|actually|sorry)[,.!]+ +\S|"
    r"^(?:not|don'?t|do not|instead|use|rather|keep|only|never|always|let'?s|we (?:want|should|use|need))\b",
    re.I,
)
LONG_ANSWER = 8_000
"""Characters from which an answer is no memory any more: the gate takes none of that size."""
TARGETS = ("command", "file_path", "notebook_path", "url", "pattern", "path")


def reason_of(event: StoredEvent) -> str | None:
    """The person's words in a refused call, or None."""
    if event.kind is not EventKind.TOOL_CALL or event.ok is not False or (event.tool or "").startswith("mcp__"):
        return None
    for text in strings([event.body.get("error"), event.body.get("result")]):
        reason = REASON.search(text) if REFUSED.match(text) else None
        if reason and not CLIENT_WORDS.match(reason["words"]):
            words = reason["words"].split("\n\nNote: ")[0].strip()
            return words or None
    return None


def is_refused(event: StoredEvent) -> bool:
    """True for a call a person did not let through."""
    texts = strings([event.body.get("error"), event.body.get("result")])
    return event.kind is EventKind.TOOL_CALL and event.ok is False and any(REFUSED.match(text) for text in texts)


def _target(event: StoredEvent) -> str:
    """What the refused call was about, in a few words."""
    inputs = event.body.get("input")
    given = inputs if isinstance(inputs, Mapping) else {}
    words = next((given[name] for name in TARGETS if isinstance(given.get(name), str)), "")
    line = " ".join(words.split())
    if line.startswith("/"):
        line = "/".join(line.split("/")[-2:])
    name = {"ExitPlanMode": "a plan", "AskUserQuestion": "a question"}.get(event.tool or "", event.tool or "a call")
    return f"{name} `{line[:80]}{'…' if len(line) > 80 else ''}`" if line else name


def _is_direction(words: str) -> bool:
    return (
        2 < len(words.split()) <= 80
        and bool(DIRECTION.search(words))
        and not prose.is_question(words)
        and not TALK.search(words)
        and not prose.is_hostile(words)
    )


def _corrections(turn: Iterable[StoredEvent]) -> Iterator[Found]:
    for event in turn:
        reason = reason_of(event) if event.agent_id is None else None
        if reason is None:
            continue
        for part in prose.sentences(reason):
            if not _is_direction(part.text):
                continue
            # A rule stands for itself and is the same memory wherever it is said; other words need what they answer.
            said = statements.stated(part) if wordings.matching(part.text) else None
            yield Found(
                rule="refusal",
                key=said.key if said else subjects.key_of(part.text),
                value=said.value if said else f"Instead of {_target(event)}, the user said: {part.text}",
                kind=MemoryKind.PREFERENCE,
                channel=Channel.USER_SAID,
                quotes=((event, part.text),),
                personal=said.personal if said else False,
                confidence=0.7,
                importance=0.7,
            )


def _questions(inputs: Any) -> Mapping[str, tuple[str, frozenset[str]]]:
    """Question → its header and the labels that were offered."""
    given = inputs.get("questions") if isinstance(inputs, Mapping) else None
    found = {}
    for one in given if isinstance(given, list) else []:
        if isinstance(one, Mapping) and isinstance(one.get("question"), str):
            options = one.get("options")
            labels = [o.get("label") for o in options if isinstance(o, Mapping)] if isinstance(options, list) else []
            header = one.get("header")
            found[one["question"]] = (
                header if isinstance(header, str) else "",
                frozenset(label for label in labels if isinstance(label, str)),
            )
    return found


def _pairs(event: StoredEvent) -> Iterator[tuple[str, str, str]]:
    """(question, answer, quote) of each answer in the result, in either of its two shapes."""
    result = event.body.get("result")
    answers = result.get("answers") if isinstance(result, Mapping) else None
    if isinstance(answers, Mapping):
        yield from ((q, a, a) for q, a in answers.items() if isinstance(q, str) and isinstance(a, str))
        return
    for text in strings(result):
        yield from ((pair["question"], pair["answer"], pair.group()) for pair in PAIR.finditer(text))


def _choices(turn: Iterable[StoredEvent]) -> Iterator[Found]:
    for event in turn:
        if event.tool != "AskUserQuestion" or event.ok is False or event.agent_id is not None:
            continue
        asked = _questions(event.body.get("input"))
        for question, answer, quote in _pairs(event):
            header, labels = asked.get(question, ("", frozenset()))
            offered = answer.strip() in {label.strip() for label in labels} or all(
                part.strip() in labels for part in answer.split(", ")
            )
            answer = answer.strip()
            if len(answer) > LONG_ANSWER or "?" in answer or prose.is_question(answer) or prose.is_hostile(answer):
                continue
            if offered and ABOUT_PROCEEDING.search(question):
                continue
            process = ABOUT_PROCEEDING.search(question)
            if not offered and (len(answer.split()) < 3 or ABOUT_PROCEEDING.search(answer)):
                continue
            if process and not DIRECTION.search(answer):
                continue
            yield Found(
                rule="answer",
                key=subjects.key_of(answer) if process else subjects.key_of_question(header, question),
                value=answer if process else f"{question} The user chose: {answer}",
                kind=MemoryKind.SEMANTIC,
                channel=Channel.USER_SAID,
                quotes=((event, quote),),
                confidence=0.8,
                importance=0.8,
                tags=("decision",),
            )


def answers(turn: list[StoredEvent]) -> list[Found]:
    """Corrections given with a refusal and choices made when asked."""
    return [*_corrections(turn), *_choices(turn)]


def after_refusal(turn: list[StoredEvent]) -> list[Found]:
    """What the first prompt after a bare refusal says to do instead."""
    first = next((event for event in turn if statements.is_persons(event)), None)
    return (
        [_instead(first, part) for part in prose.sentences(first.text)[:2] if _is_instead(part.text)] if first else []
    )


def _is_instead(words: str) -> bool:
    return bool(INSTEAD.match(words)) and _is_direction(words) and not wordings.is_of_the_moment(words)


def _instead(event: StoredEvent, part: prose.Sentence) -> Found:
    said = statements.stated(part) or statements.Stated(part.text, subjects.key_of(part.text), personal=False)
    return Found(
        rule="after-refusal",
        key=said.key,
        value=said.value,
        kind=MemoryKind.PREFERENCE,
        channel=Channel.USER_SAID,
        quotes=((event, part.text),),
        personal=said.personal,
        confidence=0.6,
        importance=0.6,
    )
