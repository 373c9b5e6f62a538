"""What somebody said to the gate, as an event: the evidence of memories that did not come from events."""

from __future__ import annotations

import json
from collections.abc import Sequence

from recorder.models import Event
from recorder.store import events, sessions
from recorder.store.db import Connection

SESSION = "gate"
"""The session of what was said outside of one."""


def parts(db: Connection, version_ids: Sequence[int]) -> list[list[str]]:
    """What the values of versions were put together from, what is said first, of each statement that tells."""
    rows = db.execute(
        "select distinct x.event_id from json_each(?) j join memory_evidence x on x.version_id = j.value"
        " join events e on e.id = x.event_id where e.kind = 'statement' order by 1",
        (json.dumps(list(version_ids)),),
    )
    told = [one.body.get("parts") for one in events.get(db, [row[0] for row in rows])]
    return [[str(part) for part in one] for one in told if isinstance(one, list) and one]


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
