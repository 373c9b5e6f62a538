"""What becomes of a memory when events that it stands on go."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from recorder.gate.address import home_scope
from recorder.gate.decide import as_proposal
from recorder.gate.standing import SESSIONS_TO_VERIFY, allows
from recorder.gate.verbs import withdraw
from recorder.gate.writer import Outcome, Writer, note, only_a_person
from recorder.models import Channel, EventKind, Memory, PromptClass, StoredEvent, Trust
from recorder.store import events, memories, tombstones
from recorder.store.db import Connection, transaction

Cited = Sequence[tuple[StoredEvent, str]]


@dataclass(frozen=True, slots=True)
class Left:
    """How a memory stands without some events."""

    action: str
    """`unchanged`, `recounted` (as a candidate), `returned` (to an earlier version), or `withdrawn`."""
    version: Memory | None = None
    """The version that stands on what is left."""
    trust: Trust = Trust.CANDIDATE
    cited: Cited = ()


def left(db: Connection, memory: Memory, gone: Collection[int]) -> Left:
    """What a memory would be without these events: the same on fewer, an earlier version that stands on what is left,
    or nothing. Nothing is written."""
    cited = _without(db, memory, gone)
    if cited:
        trust = memory.trust
        if trust is Trust.VERIFIED and not _warrants(db, memory, cited):
            trust = Trust.CANDIDATE
        return Left("unchanged" if trust is memory.trust else "recounted", memory, trust, cited)
    for number in range(memory.version - 1, 0, -1):
        old = memories.version(db, memory.id, number)
        if old is None or old.trust not in (Trust.CANDIDATE, Trust.VERIFIED):
            continue
        cited = _without(db, old, gone)
        if cited and not tombstones.matching(db, (home_scope(memory),), memory.key, old.value):
            return Left("returned", old, Trust.VERIFIED if _warrants(db, old, cited) else Trust.CANDIDATE, cited)
    return Left("withdrawn")


def bereave(db: Connection, memory: Memory, gone: Collection[int], writer: Writer, *, by: str, reason: str) -> Outcome:
    """Let a memory stand on what is left without these events, as `left` says; hide it where that is nothing.

    `by`: what takes the events away. Raises: NotFound, GateRefused.
    """
    only_a_person(writer, "takes evidence away")
    with transaction(db):
        found = left(db, memory, gone)
        if found.version is not None and found.action != "unchanged" and allows("deleted", memory):
            return _again(db, memory, found, writer, reason)
    if found.action == "withdrawn":
        return withdraw(db, memory.namespace, memory.key, writer, by=by, reason=reason)
    return Outcome("unchanged", memory)


def _again(db: Connection, memory: Memory, found: Left, writer: Writer, why: str) -> Outcome:
    """The version as the current one, with what is left of its evidence and the trust that gives."""
    old = found.version
    assert old is not None
    channel = memories.channel_of(db, old.version_id)
    # That it ended when the other one began is believed no more.
    memories.retire_all(db, memory.id, old.value, writer.now_ms)
    again = replace(as_proposal(old), occurred_ms=memories.occurred_ms(db, old.version_id))
    version_id = memories.add_version(db, memory.id, again, trust=found.trust, channel=channel, now_ms=writer.now_ms)
    memories.add_evidence(db, version_id, [(event.id, quote, event.session_id) for event, quote in found.cited])
    now = memories.get(db, [memory.id])[0]
    note(db, writer, now, found.action, why)
    return Outcome(found.action, now)


def _without(db: Connection, version: Memory, gone: Collection[int]) -> Cited:
    return [(event, quote) for event, quote in memories.evidence(db, version.version_id) if event.id not in gone]


def _warrants(db: Connection, version: Memory, cited: Cited) -> bool:
    """Whether a verified version would be verified on this evidence alone."""
    channel = memories.channel_of(db, version.version_id)
    if version.trust is not Trust.VERIFIED and channel is not Channel.OBSERVED:
        return False
    if channel is Channel.OBSERVED:
        return len({event.session_id for event, _ in cited if event.kind is EventKind.TOOL_CALL}) >= SESSIONS_TO_VERIFY
    if channel is Channel.USER_SAID:
        seen = events.as_seen(db, [event for event, _ in cited])
        return any(event.kind is EventKind.PROMPT and event.klass is PromptClass.TYPED for event in seen)
    return True
