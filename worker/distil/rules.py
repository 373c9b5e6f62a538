"""Events of a turn → proposed memories, by rules alone: offline, deterministic, no model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from recorder.models import Channel, EventKind, PromptClass, StoredEvent
from worker.distil import risks, subjects
from worker.distil.answers import after_refusal, answers, is_refused
from worker.distil.commands import commands
from worker.distil.decisions import decisions
from worker.distil.fixes import fixes
from worker.distil.proposed import Found, Proposed, proposed
from worker.distil.statements import statements

# Later ones win a key within a turn: what a person said goes over what was seen, and that over what the assistant said.
RULES: tuple[Callable[[list[StoredEvent]], list[Found]], ...] = (decisions, fixes, commands, answers, statements)

Place = tuple[bool, str]


def distil(
    turn: list[StoredEvent], *, project_id: str, typed_verified: bool, before: Sequence[StoredEvent] = ()
) -> list[Proposed]:
    """The memories a turn proposes, in a fixed order: one a sentence, no two of one prompt under one key.

    `before` are the events that came just before the turn: a correction may answer what was refused there.
    `typed_verified` False keeps every statement a candidate.
    """
    calls = [event for event in before if event.kind is EventKind.TOOL_CALL and event.agent_id is None]
    found = after_refusal(turn) if calls and is_refused(calls[-1]) else []
    found += [one for rule in RULES for one in rule(turn)]
    allowed = [one if typed_verified else replace(one, explicit=False) for one in found if not _is_planted(one)]
    provable = [_guarded(one) for one in allowed if proposed(one, project_id)]
    return [proposal for one in _one_a_place(provable) if (proposal := proposed(one, project_id))]


def _is_planted(one: Found) -> bool:
    """True for the order of a prompt to take a guard away that was not typed: anybody may have put it there."""
    event = one.quotes[0][0]
    return event.kind is EventKind.PROMPT and event.klass is not PromptClass.TYPED and risks.lifts_guard(one.value)


def _guarded(one: Found) -> Found:
    """The finding; a candidate where it would take a guard away."""
    return replace(one, explicit=False) if one.explicit and risks.lifts_guard(one.value) else one


def _one_a_place(found: Iterable[Found]) -> list[Found]:
    """The findings, those of one prompt each under a key of its own; nothing a person said is dropped for its key.

    What only repeats another is left out: of what several rules saw in one sentence the strongest stays, the outright
    one or else the later one. Of what two prompts say of one subject both stay, in the order of time: the gate lets
    the later one supersede, or asks.
    """
    kept: dict[Place, list[Found]] = {}
    for one in found:
        while any(_is_beside(one, other) for other in kept.get((one.personal, one.key), [])):
            one = replace(one, key=subjects.longer(one.key, one.value))
        rivals = kept.pop((one.personal, one.key), [])
        stronger = any(_repeats(one, other) and other.explicit and not one.explicit for other in rivals)
        left = rivals if stronger else [*(other for other in rivals if _stays(other, one)), one]
        kept[one.personal, one.key] = sorted(left, key=lambda one: one.quotes[0][0].at_ms)
    return [one for same in kept.values() for one in same]


def _is_same_voice(one: Found, other: Found) -> bool:
    """True for two statements by one voice; what is observed is only ever replaced."""
    return one.channel is other.channel and one.channel is not Channel.OBSERVED


def _is_one_breath(one: Found, other: Found) -> bool:
    return one.quotes[0][0].id == other.quotes[0][0].id


def _repeats(one: Found, other: Found) -> bool:
    """True for the same words, and in one breath also for the same but for the polarity."""
    if one.value.casefold() == other.value.casefold():
        return True
    said, before = (set(subjects.words_of(value)) for value in (one.value, other.value))
    return _is_one_breath(one, other) and said == before


def _is_beside(one: Found, other: Found) -> bool:
    """True for two things said in one breath: both are meant to hold, and neither is a repetition."""
    return _is_same_voice(one, other) and _is_one_breath(one, other) and not _repeats(one, other)


def _stays(other: Found, one: Found) -> bool:
    return _is_same_voice(one, other) and not _repeats(one, other)
