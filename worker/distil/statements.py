"""Rules, preferences and facts a person states in a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from recorder.models import Channel, EventKind, PromptClass, StoredEvent
from worker.distil import prose, subjects, wordings
from worker.distil.proposed import Found

PERSONS = (PromptClass.TYPED, PromptClass.QUEUED, PromptClass.SDK, None)
LONG_EXPLICIT = 240
PERSONAL = re.compile(
    r"^\W*(?:\w+[,:]? ){0,2}i(?:'d| would)? (?:always |usually |strongly |generally |much )?prefer\b|"
    r"\bin (?:all|any|every|each)(?: of)? (?:my|our)? ?(?:projects?|repos?(?:itories)?)\b|"
    r"\b(?:answer|reply|respond|talk|speak|write) (?:to )?me\b|\bcall me\b|\bmy name is\b|\bi am (?:an?|the) [a-z]+",
    re.I,
)
NOT_PERSONAL = re.compile(
    r"`|/\w|\b\w+\.(?:py|ts|js|go|rs|md|json|ya?ml|toml|sh)\b|\b(?:this|our|the) (?:project|repo|"
    r"codebase|app|service|api|branch|tests?)\b|"
    r"\b(?:npm|pnpm|yarn|make|git|cargo|mise|docker) [a-z]|\bdecid",
    re.I,
)
DANGLING = re.compile(
    r"^(?:\w+[,:] )?(?:it|this|that|they|these|those|he|she|same)\b|\b(?:do|did|does) (?:it|that|this|so)\b[.!]?$", re.I
)


@dataclass(frozen=True, slots=True)
class Stated:
    """What a sentence says where it stands: the same for every rule that takes it."""

    value: str
    key: str
    personal: bool


def stated(sentence: prose.Sentence) -> Stated | None:
    """The sentence as a memory, with the one before it where it points back; None when that says nothing."""
    value = sentence.text
    if DANGLING.search(value):
        if not sentence.before or prose.is_question(sentence.before):
            return None
        value = f"{sentence.before} {value}"
        if prose.is_hostile(value):
            return None
    personal = bool(PERSONAL.search(sentence.text)) and not NOT_PERSONAL.search(value)
    return Stated(value, subjects.key_of(value), personal)


def _found(rule: wordings.Rule, sentence: prose.Sentence, event: StoredEvent) -> Found | None:
    said = stated(sentence)
    if said is None:
        return None
    return Found(
        rule=rule.name,
        key=said.key,
        value=said.value,
        kind=rule.kind,
        channel=Channel.USER_SAID,
        quotes=((event, sentence.text),),
        explicit=rule.explicit
        and sentence.starts_line
        and sentence.short_prompt
        and len(sentence.text) <= LONG_EXPLICIT,
        personal=said.personal,
        confidence=0.9 if rule.explicit else 0.6,
        importance=0.8 if rule.explicit else 0.6,
    )


def is_persons(event: StoredEvent) -> bool:
    """True for a prompt a person wrote on the main thread."""
    return event.kind is EventKind.PROMPT and event.agent_id is None and event.klass in PERSONS


def statements(turn: Iterable[StoredEvent]) -> list[Found]:
    """What the persons' prompts of the turn state outright."""
    found = []
    for event in turn:
        if not is_persons(event):
            continue
        for sentence in prose.sentences(event.text):
            rule = wordings.matching(sentence.text)
            statement = _found(rule, sentence, event) if rule else None
            if statement:
                found.append(statement)
    return found
