"""What says the very same as a memory, wherever its rejection counts."""

from __future__ import annotations

from recorder.canonical import canonical, shape
from recorder.gate.address import home_scope
from recorder.models import Memory
from recorder.store import memories, tombstones
from recorder.store.db import Connection


def saying_the_same(db: Connection, at: Memory, value: str) -> list[Memory]:
    """The other standing memories that a rejection of the value, where `at` stands, is about too: of the same scope,
    and what is rejected of the person, in every one. A short value is refused under its own key alone."""
    said = {canonical(value), shape(value)}
    if len(canonical(value)) < tombstones.TELLING:
        return []
    home = home_scope(at)
    rows = memories.standing(db, None if home == "user" else home)
    same = [number for number, other in rows if number != at.id and {canonical(other), shape(other)} & said]
    return memories.get(db, same)
