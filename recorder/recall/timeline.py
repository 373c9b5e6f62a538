"""What happened around a hit."""

from __future__ import annotations

from recorder.models import Hit, Scope
from recorder.store import hits as rows
from recorder.store import search
from recorder.store.db import Connection


def around(db: Connection, scope: Scope, event_id: int, *, before: int, after: int, now_ms: int) -> list[Hit]:
    """The events of the same session around one, itself included, oldest first, as far as the caller may see them.

    Empty when the caller may not see that one.
    """
    ids = search.around(db, scope, event_id, before=before, after=after, now_ms=now_ms)
    found = rows.of_events(db, scope, ids, now_ms=now_ms)
    return [found[n] for n in ids if n in found]
