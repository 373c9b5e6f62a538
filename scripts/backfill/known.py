"""Which events a commit would find known already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from recorder.capture import ingest
from recorder.models import Event, EventKind
from recorder.store import events
from recorder.store.db import Connection


@dataclass(slots=True)
class Known:
    """What is in the store, and what came before in the same dry run: forks, resumes and second folders repeat records.

    An event is told by its key, its record, its call or its prompt, as ingest does. Of each a hash is kept: a hundred
    bytes an event. Where redaction makes two texts one, they are two here.
    """

    db: Connection | None
    _seen: set[int] = field(default_factory=set)
    _prompts: dict[int, str] = field(default_factory=dict)

    def new(self, batch: Sequence[Event]) -> Iterator[Event]:
        """Those of the events that are new, which are known from then on."""
        stored = events.known(self.db, batch) if self.db is not None else None
        for event in batch:
            marks = _marks(event)
            known = (
                not self._seen.isdisjoint(marks)
                or self._told_elsewhere(event)
                or (stored is not None and stored.id_of(event) is not None)
                or (self.db is not None and ingest.copied(self.db, event) is not None)
            )
            self._seen.update(marks)
            if not known:
                yield event

    def _told_elsewhere(self, event: Event) -> bool:
        """Whether another session has the same prompt with the same words."""
        if event.kind is not EventKind.PROMPT or event.prompt_id is None or event.agent_id is not None:
            return False
        mark = hash((event.prompt_id, event.body.get("text")))
        return self._prompts.setdefault(mark, event.session_id) != event.session_id


def _marks(event: Event) -> list[int]:
    marks = [hash(("key", event.key))]
    if event.uuid is not None:
        marks.append(hash(("record", event.uuid)))
    if event.tool_use_id is not None:
        marks.append(hash(("call", event.tool_use_id, event.tool, event.at_ms)))
    return marks
