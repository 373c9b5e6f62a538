"""Links between memories."""

from __future__ import annotations

import re

from recorder.errors import GateRefused, NotFound
from recorder.gate import tombs
from recorder.gate.standing import STANDING
from recorder.gate.turning import standing_at
from recorder.gate.writer import Writer, address_of, audited
from recorder.store import memories, relations
from recorder.store.db import Connection, transaction


def link(db: Connection, source: tuple[str, str], target: tuple[str, str], relation: str, writer: Writer) -> int:
    """The id of the link between two memories the caller sees.

    Raises: NotFound, GateRefused.
    """
    name = writer.redact([relation])[0].strip()
    if not re.fullmatch(r"[\w .:-]{1,60}", name):
        raise GateRefused("relation", f"{relation[:60]!r} is no relation: 1 to 60 letters, digits or '_ .:-'")
    with transaction(db):
        if not writer.is_person:
            tombs.check_words(db, writer.scope.names, (name,))
        from_memory = standing_at(db, *source, writer)
        to_memory = standing_at(db, *target, writer)
        if from_memory.id == to_memory.id:
            raise GateRefused("relation", "a memory is not linked with itself: name another one")
        found = relations.add(
            db, from_memory.id, to_memory.id, name, channel=writer.channel, actor=writer.actor, now_ms=writer.now_ms
        )
        if STANDING[relations.maker(db, found)] < STANDING[writer.channel]:
            relations.take_over(db, found, channel=writer.channel, actor=writer.actor)
        audited(db, writer, "linked", f"{address_of(from_memory)} → {address_of(to_memory)}", name, None)
        return found


def unlink(db: Connection, relation_id: int, writer: Writer) -> None:
    """Take a link away both ends of which the caller sees, and which nobody of higher standing made.

    Raises: NotFound, GateRefused.
    """
    with transaction(db):
        found = relations.get(db, relation_id)
        ends = memories.get(db, [found.from_id, found.to_id]) if found else []
        if found is None or not all(memories.visible(db, memory, writer.scope) for memory in ends):
            raise NotFound(f"there is no relation {relation_id} here")
        if STANDING[writer.channel] < STANDING[relations.maker(db, relation_id)]:
            raise GateRefused("ceiling", f"somebody of higher standing made link {relation_id}: only they take it away")
        relations.remove(db, relation_id)
        audited(db, writer, "unlinked", str(relation_id), found.relation, None)
