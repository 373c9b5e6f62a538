"""Forgetting: what is private leaves everything of ours, byte for byte, and is never taken in again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recorder.canonical import canonical
from recorder.errors import NotFound
from recorder.gate import tombs
from recorder.gate.hiding import hidden
from recorder.gate.reach import Plan, plan, plan_events, reached, renewed
from recorder.gate.standing import allows
from recorder.gate.writer import Writer, address_of, audited, changed, cleaned, only_a_person
from recorder.models import State, StoredEvent
from recorder.store import denials, erase, events, holding, memories, texts
from recorder.store.db import Connection, transaction
from recorder.store.erase import Forgotten


def carry_out(
    db: Connection, planned: Plan, writer: Writer, *, reason: str | None = None, unreached: Sequence[str] = ()
) -> Forgotten:
    """Do it: hidden at once and as a whole, then erased a few events at a time; `pending` where bytes are left.

    `unreached`: what holds the same and is not ours to change, in words.

    Raises: Conflict when the memory was changed after the plan was made, GateRefused where it is no person.
    """
    only_a_person(writer, "forgets")
    why = cleaned(writer, reason)
    why = None if why is None or planned.words.in_text(why) else why
    with transaction(db):
        done = _begin(db, renewed(db, planned), writer, why, unreached)
    erase.finish(db, writer.now_ms, planned.words)
    return erase.get(db, done) or Forgotten(done, "pending", {}, ())


def forget(
    db: Connection,
    namespace: str,
    key: str,
    writer: Writer,
    *,
    reason: str | None = None,
    also: Sequence[int] = (),
) -> Forgotten:
    """Forget a memory and all it stands on in the database. Twice is once.

    Raises: NotFound, Conflict, GateRefused where it is no person.
    """
    try:
        planned = plan(db, namespace, key, writer, also=also)
    except NotFound:
        return before(db, f"{namespace}/{key}", writer)
    return carry_out(db, planned, writer, reason=reason, unreached=planned.transcripts)


def forget_events(db: Connection, event_ids: Sequence[int], writer: Writer, *, reason: str | None = None) -> Forgotten:
    """Forget events and what stands on them alone in the database. Twice is once.

    Raises: NotFound, GateRefused where it is no person.
    """
    try:
        planned = plan_events(db, event_ids, writer)
    except NotFound:
        return before(db, ",".join(f"e{one}" for one in event_ids), writer)
    return carry_out(db, planned, writer, reason=reason, unreached=planned.transcripts)


def before(db: Connection, subject: str, writer: Writer) -> Forgotten:
    """What became of an earlier wish about the same, tried again where it is pending.

    Raises: NotFound where there was none.
    """
    found = erase.asked(db, subject)
    if found is None:
        raise NotFound(f"there is no {'event' if subject.startswith('e') else 'memory'} {subject} here")
    erase.finish(db, writer.now_ms)
    return erase.get(db, found.id) or found


def _begin(db: Connection, planned: Plan, writer: Writer, why: str | None, unreached: Sequence[str]) -> int:
    _deny(db, planned, writer)
    for derived in planned.derived:
        if allows("suppressed", derived):
            source = planned.memory or planned.memories[0]
            hidden(db, derived, writer, State.SUPPRESSED, "suppressed", f"suppressed:{source.id}", None)
    erase.erase_findings(db, planned.events, planned.words)
    erase.erase_versions(db, planned.versions)
    for memory in planned.memories:
        erase.erase_memory(db, memory.id, writer.channel.value, writer.now_ms)
        memories.add_history(
            db,
            memory.id,
            None,
            action="forgotten",
            channel=writer.channel,
            actor=writer.actor,
            reason=why,
            now_ms=writer.now_ms,
        )
        audited(db, writer, "forgotten", address_of(memory), memory.value, why)
    for event_id in planned.asked_events:
        audited(db, writer, "forgotten", f"e{event_id}", "", why)
    erase.blank_events(db, planned.events)
    texts.erase(db, planned.words)
    changed(db, writer)
    return erase.begin(
        db,
        planned.subject,
        event_ids=planned.events,
        reached=reached(planned),
        unreached=[*_stays(db, planned), *unreached],
        actor=writer.actor,
        reason=why,
        now_ms=writer.now_ms,
    )


def _deny(db: Connection, planned: Plan, writer: Writer) -> None:
    by, now_ms = writer.actor, writer.now_ms
    waiting = holding.open_calls(db, planned.words)
    names = [name for event in _all(db, planned.events) for name in denials.names(event)]
    names += [name for call in waiting for name in denials.names(call)]
    records = [*erase.marks(db, planned.events), *(call.uuid for call in waiting if call.uuid)]
    denials.deny(db, "event", names, actor=by, reason=None, now_ms=now_ms)
    denials.deny(db, "record", records, actor=by, reason=None, now_ms=now_ms)
    for value in planned.values:
        if len(canonical(value)) >= holding.LEAST:
            denials.deny_value(db, value, actor=by, reason=None, now_ms=now_ms)
        elif planned.memory is not None:
            # `8080` is refused where it stood, and nowhere else.
            tombs.lay(db, planned.memory, value, writer, tombs.FORGOTTEN, None)


def _all(db: Connection, event_ids: Sequence[int]) -> Iterable[StoredEvent]:
    for start in range(0, len(event_ids), 500):
        yield from events.get(db, event_ids[start : start + 500])


def _stays(db: Connection, planned: Plan) -> list[str]:
    """What of the words stays in the database, in words."""
    found = texts.left(db, planned.words)
    if planned.memory is None:
        found.append("other events and memories that say the same: forget each of them")
    if planned.short:
        found.append(f"texts of fewer than {holding.LEAST} characters, wherever else they stand")
    return found
