"""What says the very same as a memory, wherever its rejection counts."""

from __future__ import annotations

from unicodedata import normalize

from recorder.canonical import canonical, forms, look_alikes
from recorder.gate.address import home_scope
from recorder.gate.tombs import dressed
from recorder.models import Memory
from recorder.store import memories, tombstones
from recorder.store.db import Connection


def saying_the_same(db: Connection, at: Memory, value: str) -> list[Memory]:
    """The other standing memories that a rejection of the value, where `at` stands, is about too: of the same scope,
    and what is rejected of the person, in every one. A short value is refused under its own key alone."""
    told = [one for one in (value, *dressed(db, at, value)) if len(canonical(one)) >= tombstones.TELLING]
    said = {form for one in told for form in forms(one)}
    home, bare = home_scope(at), [_bare(one) for one in told]
    rows = memories.standing(db, None if home == "user" else home) if told else []
    # To fold a value takes a tenth of a millisecond: only of what holds the same letters.
    near = [
        (number, other) for number, other in rows if number != at.id and any(_near(one, _bare(other)) for one in bare)
    ]
    holding = [number for number, other in near if any(form in held for held in forms(other) for form in said)]
    return [
        other
        for other in memories.get(db, holding)
        if any(forms(one) & said for one in (other.value, *dressed(db, other, other.value)))
    ]


def _bare(value: str) -> str:
    """The letters and digits alone, look-alikes made one; nothing of what may stand in another order."""
    if value.lstrip()[:1] in ("{", "["):
        return ""
    return "".join(filter(str.isalnum, normalize("NFKD", value).casefold().translate(look_alikes())))


def _near(one: str, other: str) -> bool:
    return not one or not other or one in other or other in one
