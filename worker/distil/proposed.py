"""What a rule hands to the gate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from recorder.models import Channel, Evidence, MemoryKind, Origin, Proposal, StoredEvent

RULES_VERSION = 2


@dataclass(frozen=True, slots=True)
class Proposed:
    """A proposal and the door it comes through."""

    proposal: Proposal
    channel: Channel


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule saw, before anything is known of projects and trust."""

    rule: str
    key: str
    value: str
    kind: MemoryKind
    channel: Channel
    quotes: tuple[tuple[StoredEvent, str], ...]
    """The first one is what the memory says; the others support it."""
    explicit: bool = False
    personal: bool = False
    confidence: float = 0.5
    importance: float = 0.5
    tags: tuple[str, ...] = field(default=())


ORIGINS = {
    Channel.USER_SAID: Origin.USER_SAID,
    Channel.OBSERVED: Origin.OBSERVED,
    Channel.AGENT: Origin.ASSISTANT_SAID,
}


def strings(value: Any) -> Iterator[str]:
    """Every text inside a body: what a quote may be taken from."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            pending.extend(reversed(list(part.values())))
        elif isinstance(part, (list, tuple)):
            pending.extend(reversed(part))


def is_verbatim(event: StoredEvent, quote: str) -> bool:
    """True when the quote stands in the event, letter for letter."""
    return bool(quote.strip()) and any(quote in text for text in strings(dict(event.body)))


def proposed(found: Found, project_id: str) -> Proposed | None:
    """The proposal of a finding; None when its quotes do not hold or it carries something that was taken out."""
    if any(mark in text for mark in ("[redacted", "[private]", "[ignored path]") for text in (found.value, found.key)):
        return None
    if not found.quotes or not all(is_verbatim(event, quote) for event, quote in found.quotes):
        return None
    first = found.quotes[0][0]
    evidence = dict.fromkeys(Evidence(event.id, quote) for event, quote in found.quotes)
    proposal = Proposal(
        namespace="user" if found.personal else f"project.{project_id}",
        key=found.key,
        value=found.value,
        kind=found.kind,
        origin=ORIGINS[found.channel],
        source=f"distil:{found.rule}@{RULES_VERSION}",
        evidence=tuple(evidence),
        tags=found.tags,
        importance=found.importance,
        confidence=found.confidence,
        occurred_ms=max(event.at_ms for event, _ in found.quotes),
        session_id=first.session_id,
        explicit=found.explicit,
    )
    return Proposed(proposal, found.channel)
