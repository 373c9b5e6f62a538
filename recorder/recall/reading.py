"""What the id of a row names (`m12` a memory, `e34` an event), read on from there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from recorder.models import Hit, Scope, StoredEvent
from recorder.recall import timeline
from recorder.store import events, hits
from recorder.store.db import Connection


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an event is there: who saw it happen, and which memories stand on it."""

    event: Hit
    sources: tuple[str, ...]
    memories: tuple[Hit, ...]


def number(id: str, letter: str) -> int | None:
    """The number in an id that begins with the letter; None for any other text."""
    digits = id.strip().removeprefix(letter)
    known = id.strip().startswith(letter) and digits.isascii() and digits.isdigit() and len(digits) < 19
    return int(digits) if known else None


def is_id(text: str) -> bool:
    """Whether the text is an id and no address."""
    return number(text, "m") is not None or number(text, "e") is not None


def spelled(id: str) -> str:
    """The id as rows show it (`e046` is `e46`); any other text as it is."""
    text = id.strip()
    return f"{text[0]}{int(text[1:])}" if is_id(text) else text


def whole(db: Connection, scope: Scope, ids: Sequence[str], now_ms: int) -> list[Hit]:
    """What the caller may see of these ids, in the order asked, events with their whole text."""
    numbers = {letter: [n for n in (number(id, letter) for id in ids) if n is not None] for letter in "me"}
    found = {
        hit.id: hit
        for some in (
            hits.of_memories(db, scope, numbers["m"], now_ms=now_ms),
            hits.of_events(db, scope, numbers["e"], now_ms=now_ms),
        )
        for hit in some.values()
    }
    read = {f"e{event.id}": event for event in events.get(db, [n for n in numbers["e"] if f"e{n}" in found])}
    named = dict.fromkeys(map(spelled, ids))
    return [replace(found[id], text=_text(read[id])) if id in read else found[id] for id in named if id in found]


def around(db: Connection, scope: Scope, id: str, *, before: int, after: int, now_ms: int) -> list[Hit]:
    """What happened around an event, or around the first event in scope that a memory stands on, oldest first.

    Empty when there is none the caller may see.
    """
    event_id = event_of(db, scope, id, now_ms)
    if event_id is None:
        return []
    return timeline.around(db, scope, event_id, before=before, after=after, now_ms=now_ms)


def event_of(db: Connection, scope: Scope, id: str, now_ms: int) -> int | None:
    """The event with the id, or the first in scope that the memory with it stands on."""
    event_id = number(id, "e")
    return event_id if event_id is not None else _first_cited(db, scope, id, now_ms)


def reason(db: Connection, scope: Scope, id: str, now_ms: int) -> Reason | None:
    """Why the event is there; None when there is none the caller may see."""
    event_id = number(id, "e")
    found = whole(db, scope, [id], now_ms) if event_id is not None else []
    if event_id is None or not found:
        return None
    standing = hits.of_memories(db, scope, hits.citing(db, event_id), now_ms=now_ms)
    return Reason(found[0], hits.sources(db, event_id), tuple(standing[n] for n in sorted(standing)))


def _first_cited(db: Connection, scope: Scope, id: str, now_ms: int) -> int | None:
    memory_id = number(id, "m")
    shown = hits.of_memories(db, scope, [memory_id], now_ms=now_ms) if memory_id is not None else {}
    cited = (one["event_id"] for hit in shown.values() for one in hit.evidence)
    return next((event_id for event_id in cited if event_id is not None), None)


def _text(event: StoredEvent) -> str:
    """All that was kept of an event: its own words, or its body as JSON; our own results stay out."""
    if event.text or not event.excerpt:
        return event.text or event.excerpt
    return json.dumps(event.body, ensure_ascii=False, indent=1)
