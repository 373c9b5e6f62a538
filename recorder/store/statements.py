"""What somebody said to the gate, as an event: the evidence of memories that did not come from events."""

from __future__ import annotations

from recorder.models import Event
from recorder.store import events, sessions
from recorder.store.db import Connection

SESSION = "gate"
"""The session of what was said outside of one."""


def keep(db: Connection, event: Event, *, project_id: str | None, scope_id: int | None) -> int:
    """The id of the event, stored now or before, in its session. Runs inside the caller's transaction.

    It is in no index: the memory is, and its statement would be the same words twice.
    """
    known = events.id_of_key(db, event.key)
    if known is not None:
        return known
    sessions.see(
        db,
        event.session_id,
        first_ms=event.at_ms,
        last_ms=event.at_ms,
        cwd=None,
        project_id=None if event.session_id == SESSION else project_id,
        transcript_path=None,
        branch=None,
        hook_events=0,
    )
    event_id = events.insert(
        db,
        event,
        project_id=project_id,
        scope_id=scope_id,
        received_ms=event.at_ms,
        excerpt="",
        narrow="",
        healed=False,
    )
    events.index(db, event_id - 1)
    events.sight_all(db, [(event_id, event, None)])
    return event_id
