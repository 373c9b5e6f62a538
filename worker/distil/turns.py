"""Events of a session → turns: one prompt and what follows it on the main thread."""

from __future__ import annotations

from collections.abc import Iterable

from recorder.models import EventKind, PromptClass, StoredEvent

# A prompt of these classes comes in the middle of a turn and does not open one.
INSIDE = frozenset({PromptClass.QUEUED, PromptClass.INJECTED, PromptClass.TASK_NOTIFICATION, PromptClass.TEAMMATE})


def opens(event: StoredEvent) -> bool:
    """True for a prompt on the main thread that begins a turn where no prompt id says so."""
    return event.kind is EventKind.PROMPT and event.agent_id is None and event.klass not in INSIDE


def turns(events: Iterable[StoredEvent]) -> list[list[StoredEvent]]:
    """The events cut into turns, in the order given. A new prompt id begins a turn; without ids, each prompt does.

    Events without a prompt id stay with the turn they stand in; what comes before the first prompt is its own turn.
    """
    found: list[list[StoredEvent]] = []
    places: dict[str, int] = {}
    for event in events:
        known = places.get(event.prompt_id) if event.prompt_id else None
        if known is not None:
            found[known].append(event)
            continue
        if not found or opens(event) or (event.prompt_id and _has_id(found[-1])):
            found.append([])
        found[-1].append(event)
        if event.prompt_id:
            places[event.prompt_id] = len(found) - 1
    return found


def _has_id(turn: list[StoredEvent]) -> bool:
    return any(event.prompt_id for event in turn)
