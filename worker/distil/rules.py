"""Events of a turn → proposed memories, by rules alone: offline, deterministic, no model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from recorder.models import EventKind, StoredEvent
from worker.distil.answers import after_refusal, answers, is_refused
from worker.distil.commands import commands
from worker.distil.decisions import decisions
from worker.distil.fixes import fixes
from worker.distil.proposed import Found, Proposed, proposed
from worker.distil.statements import statements

# Later ones win a key within a turn: what a person said goes over what was seen, and that over what the assistant said.
RULES: tuple[Callable[[list[StoredEvent]], list[Found]], ...] = (decisions, fixes, commands, answers, statements)


def distil(
    turn: list[StoredEvent], *, project_id: str, typed_verified: bool, before: Sequence[StoredEvent] = ()
) -> list[Proposed]:
    """The memories a turn proposes, one a key, in a fixed order.

    `before` are the events that came just before the turn: a correction may answer what was refused there.
    `typed_verified` False keeps every statement a candidate.
    """
    calls = [event for event in before if event.kind is EventKind.TOOL_CALL and event.agent_id is None]
    found = after_refusal(turn) if calls and is_refused(calls[-1]) else []
    found += [one for rule in RULES for one in rule(turn)]
    kept: dict[tuple[bool, str], Proposed] = {}
    for one in found:
        proposal = proposed(one if typed_verified else replace(one, explicit=False), project_id)
        if proposal:
            place = (one.personal, one.key)
            kept.pop(place, None)
            kept[place] = proposal
    return list(kept.values())
