"""What is drawn from a memory, and hidden with it."""

from __future__ import annotations

from recorder.gate.standing import outranks
from recorder.models import Memory
from recorder.store import memories, relations
from recorder.store.db import Connection

DERIVED = "derived_from"
"""The relation of a memory to one that it was drawn from: it is suppressed with it."""


def drawn_from(db: Connection, source_id: int) -> list[Memory]:
    """Every memory drawn from this one, or from one that is, and so on; itself never, cycles or not.

    A link counts only where its maker could hide the memory itself: else an agent links what outranks it to a bait,
    and whoever throws the bait out throws that out too.
    """
    found: dict[int, Memory] = {}
    edge = [source_id]
    while edge:
        linked = [one for target in edge for one in relations.onto(db, target, DERIVED)]
        standing = {memory.id: memory for memory in memories.get(db, sorted({from_id for from_id, _ in linked}))}
        edge = []
        for from_id, maker in linked:
            memory = standing.get(from_id)
            if memory is None or from_id == source_id or from_id in found:
                continue
            if not outranks(memory, memories.channel_of(db, memory.version_id), maker):
                found[from_id] = memory
                edge.append(from_id)
    return [found[memory_id] for memory_id in sorted(found)]


def sources(db: Connection, memory: Memory) -> list[Memory]:
    """What a memory was drawn from itself, by links that count."""
    there = memories.channel_of(db, memory.version_id)
    linked = relations.of(db, memory.id, DERIVED)
    return memories.get(db, [to_id for to_id, maker in linked if not outranks(memory, there, maker)])
