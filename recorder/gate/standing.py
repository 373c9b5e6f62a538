"""Who may overrule whom, and what each verb makes of trust and state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recorder.errors import GateRefused
from recorder.models import Channel, Memory, Origin, State, Trust

# Who may overrule whom under the same key (DESIGN: person > user said > observed > agent, import).
STANDING: Mapping[Channel, int] = {
    Channel.PERSON: 4,
    Channel.USER_SAID: 3,
    Channel.OBSERVED: 2,
    Channel.AGENT: 1,
    Channel.API: 1,
    Channel.IMPORT: 1,
    Channel.CLAUDE_AUTO: 1,
}

# What a machine read can say how things are, never how a person wants them.
NEVER_A_PREFERENCE = frozenset({Origin.TOOL_OUTPUT, Origin.FILE_CONTENT})

SESSIONS_TO_VERIFY = 2

ANY_TRUST = frozenset(Trust)
HIDDEN = frozenset({State.DELETED, State.SUPPRESSED})
THERE = frozenset({State.ACTIVE})


@dataclass(frozen=True, slots=True)
class Transition:
    """From which trust and state a verb goes where. None: it stays as it is."""

    trusts: frozenset[Trust]
    states: frozenset[State]
    trust: Trust | None
    state: State | None
    person_only: bool = False


TRANSITIONS: Mapping[str, Transition] = {
    "corroborated": Transition(frozenset({Trust.CANDIDATE}), THERE, Trust.VERIFIED, None),
    "approved": Transition(frozenset({Trust.CANDIDATE, Trust.DISPUTED}), THERE, Trust.VERIFIED, None, person_only=True),
    "disputed": Transition(frozenset({Trust.CANDIDATE, Trust.VERIFIED}), THERE, Trust.DISPUTED, None),
    "settled": Transition(frozenset({Trust.DISPUTED}), THERE, Trust.CANDIDATE, None, person_only=True),
    "rejected": Transition(
        frozenset({Trust.CANDIDATE, Trust.VERIFIED, Trust.DISPUTED}),
        THERE | HIDDEN,
        Trust.REJECTED,
        State.ACTIVE,
        person_only=True,
    ),
    "lifted": Transition(frozenset({Trust.REJECTED}), THERE | HIDDEN, Trust.CANDIDATE, None, person_only=True),
    "labelled": Transition(ANY_TRUST - {Trust.REJECTED}, THERE, None, None),
    "deleted": Transition(ANY_TRUST, THERE, None, State.DELETED),
    "restored": Transition(ANY_TRUST, HIDDEN, None, State.ACTIVE),
    "suppressed": Transition(ANY_TRUST, THERE, None, State.SUPPRESSED),
    "released": Transition(ANY_TRUST, frozenset({State.SUPPRESSED}), None, State.ACTIVE),
    "forgotten": Transition(ANY_TRUST, THERE | HIDDEN, None, State.FORGOTTEN, person_only=True),
}
"""Verb → what it moves. What is settled has the trust it had before the dispute, at least that of a candidate. New
memories begin as a candidate or verified, and active (see `decide`)."""


def allows(verb: str, memory: Memory) -> bool:
    """Whether the verb has anything to do with a memory as it stands."""
    transition = TRANSITIONS[verb]
    return memory.trust in transition.trusts and memory.state in transition.states


def outranks(memory: Memory, there: Channel, channel: Channel) -> bool:
    """Whether what stands there is more than a channel may hide: only a person hides what is verified or pinned, or
    what came from above."""
    if channel is Channel.PERSON:
        return False
    held = memory.trust is not Trust.CANDIDATE or memory.pinned
    return held or STANDING[channel] < STANDING[there]


def may_show_again(hidden_by: str | None, channel: Channel) -> None:
    """Let a channel show what it, or one like it, hid itself.

    Raises: GateRefused where a person hid it, or something it stands on was rejected.
    """
    if channel is Channel.PERSON or hidden_by == channel.value:
        return
    raise GateRefused("ceiling", "somebody else hid it: only a person brings it back")
