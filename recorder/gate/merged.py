"""What becomes of the memories of two projects that are one from now on."""

from __future__ import annotations

from recorder.gate.standing import allows
from recorder.gate.verbs import rejected
from recorder.gate.writer import Writer, only_a_person
from recorder.models import Memory, Scope
from recorder.store import memories, projects, tombstones
from recorder.store.db import Connection, transaction

REJECTED = "rejected"


def merge(db: Connection, project_id: str, into_id: str, writer: Writer) -> list[Memory]:
    """Make everything of one project the other's; the memories that are rejected by it, because a person rejected
    their value in the other of the two.

    Raises: NotFound for an unknown project, Conflict when both are the same, GateRefused where it is no person.
    """
    only_a_person(writer, "merges projects")
    with transaction(db):
        projects.merge(db, project_id, into_id)
        kept = projects.get(db, into_id)
        scope = kept.id if kept is not None else into_id
        gone = [memory for memory in memories.of_project(db, scope) if _is_rejected(db, memory, scope)]
        for memory in gone:
            rejected(db, memory, writer, f"its value was rejected before {project_id} became part of {scope}")
    return gone


def _is_rejected(db: Connection, memory: Memory, scope: str) -> bool:
    standing = tombstones.matching(db, Scope(scope).names, memory.key, memory.value)
    return allows("rejected", memory) and any(one.cause == REJECTED for one in standing)
