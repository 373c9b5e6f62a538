"""A memory with everything that makes it up, by addresses and keys instead of row numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from recorder.models import Channel, EventKind, MemoryKind, Origin, Precision, State, Trust

Ms = Annotated[int, Field(ge=-(2**53), le=2**53)]
Number = Annotated[int, Field(ge=-(2**31), le=2**31)]
Share = Annotated[float, Field(ge=0, le=1)]
Short = Annotated[str, Field(max_length=4_000)]
Words = Annotated[str, Field(max_length=200_000)]


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote and the event it stands in: the event's key, its record's uuid, what and when it was."""

    event: Short
    uuid: Short | None
    kind: EventKind
    at_ms: Ms
    session_id: Short
    quote: Words


@dataclass(frozen=True, slots=True)
class Version:
    """A row of `memory_versions`, with its evidence. Negative numbers are closed copies."""

    version: Number
    value: Words
    kind: MemoryKind
    trust: Trust
    origin: Origin
    channel: Channel
    source: Short
    tags: Annotated[list[Short], Field(max_length=100)]
    importance: Share
    confidence: Share
    occurred_ms: Ms
    valid_from_ms: Ms | None
    valid_from_precision: Precision | None
    valid_to_ms: Ms | None
    valid_to_precision: Precision | None
    expires_ms: Ms | None
    recorded_ms: Ms
    retired_ms: Ms | None
    evidence: list[Quote]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the history. In its content events are named by their keys."""

    version: Number | None
    action: Short
    channel: Channel
    actor: Short
    reason: Words | None
    at_ms: Ms
    content: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Address:
    """Where a memory stands."""

    namespace: Short
    key: Short


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory with all its versions and its whole history."""

    namespace: Short
    key: Short
    project: Short | None
    """The project whose scope holds it."""
    home_project: Short | None
    current: Number
    """The number of the version in force."""
    state: State
    hidden_ms: Ms | None
    hidden_by: Short | None
    suppressed_with: Address | None
    """What it was hidden with, in place of `hidden_by`."""
    created_ms: Ms
    pinned: bool
    access_count: Annotated[int, Field(ge=0, le=2**53)]
    versions: Annotated[list[Version], Field(min_length=1)]
    history: list[Line]

    @property
    def in_force(self) -> Version:
        return next(one for one in self.versions if one.version == self.current)


@dataclass(frozen=True, slots=True)
class Link:
    """A relation between two memories."""

    source: Address
    target: Address
    relation: Short
    created_ms: Ms
    actor: Short
    channel: Channel = Channel.AGENT


def tail(longer: Sequence[Line], shorter: Sequence[Line]) -> list[Line]:
    """What one history has beyond what it has in common with the other."""
    common = 0
    for one, other in zip(longer, shorter, strict=False):
        if (one.at_ms, one.action, one.actor) != (other.at_ms, other.action, other.actor):
            break
        common += 1
    return list(longer[common:])
