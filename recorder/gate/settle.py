"""What a person decides about a finding, and what becomes of its sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recorder.canonical import canonical, says_the_same
from recorder.errors import Conflict, GateRefused, NotFound
from recorder.gate import alike, conflicts, labels, tombs
from recorder.gate.decide import decide, redacted, statement
from recorder.gate.hiding import hidden, suppress_same
from recorder.gate.standing import allows
from recorder.gate.verbs import let_go, rejected
from recorder.gate.writer import Outcome, Writer, cleaned, note, only_a_person
from recorder.models import Evidence, Memory, MemoryKind, Origin, Precision, Proposal, State, Trust
from recorder.store import events, findings, memories
from recorder.store.db import Connection, attempt, transaction

DISPOSITIONS = ("keep_old", "keep_new", "keep_both", "remove_both", "manual")
OF_A_WISH = ("keep_old", "keep_new")
"""What can be made of a wish: leave the memory as it is, or do as is wished."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What came of a decision: what stands by it, and which values are out by it."""

    outcome: Outcome
    kept: tuple[Memory, ...]
    gone: tuple[str, ...]


def settle(
    db: Connection,
    finding_id: int,
    disposition: str,
    writer: Writer,
    reason: str | None,
    value: str | None = None,
    *,
    seen: Sequence[str] | None = None,
) -> Settled:
    """Close a finding as a person decides.

    keep_old keeps what stood first, keep_new takes what came later, keep_both lets both stand (a proposal under
    `<key>.2`), remove_both takes both for false, manual puts `value` in their place. What is thrown out because it is
    false is refused from now on; what is thrown out because it was said twice is deleted. What was disputed has the
    trust it had before. `seen`: what the memories it is about said when they were looked at.

    Raises: NotFound, Conflict when it is resolved already or its memories say something else by now, GateRefused.
    """
    only_a_person(writer, "settles a finding")
    if disposition not in DISPOSITIONS:
        raise GateRefused("disposition", f"'{disposition}' is none of {', '.join(DISPOSITIONS)}")
    if (disposition == "manual") != bool(value and value.strip()):
        raise GateRefused("value", "a value goes with 'manual', and with nothing else")
    why = cleaned(writer, reason)
    clean = writer.redact([value])[0] if value else ""
    with transaction(db):
        finding = findings.get(db, finding_id)
        sides = memories.get(db, _ids(finding)) if finding else []
        if finding is None or not all(memories.visible(db, side, writer.scope) for side in sides):
            raise NotFound(f"there is no finding {finding_id} here")
        if finding["state"] != "open":
            raise Conflict(f"finding {finding_id} was resolved before: {finding['disposition']}")
        if not sides or len(sides) < len(_ids(finding)) or any(side.state is State.FORGOTTEN for side in sides):
            raise Conflict(f"what finding {finding_id} is about is gone")
        if seen is not None and [side.value for side in sides] != list(seen):
            raise Conflict(f"what finding {finding_id} is about says something else by now: read it again")
        # First, so that its sides are not held to be in dispute over it.
        findings.resolve(db, finding_id, disposition, writer.now_ms)
        if finding["kind"] in findings.PAIRS:
            old, new = sides
            settled = _pair(db, finding["kind"], old, new, disposition, writer, why, clean)
        elif finding["kind"] == "conflict":
            settled = _proposal(db, sides[0], finding, disposition, writer, why, clean)
        elif finding["kind"] == labels.WISH:
            settled = _labels(db, sides[0], finding, disposition, writer, why)
        else:
            settled = _wish(db, sides[0], disposition, writer, why)
        content = {"finding": finding_id, "disposition": disposition}
        for side in sides:
            note(db, writer, memories.get(db, [side.id])[0], "decided", why, content)
    return settled


def _ids(finding: Mapping[str, Any]) -> list[int]:
    return [i for i in (finding["memory_id"], finding["other_id"]) if i is not None]


def _wish(db: Connection, current: Memory, disposition: str, writer: Writer, why: str | None) -> Settled:
    """A wish to delete, granted or not."""
    if disposition not in OF_A_WISH:
        raise GateRefused("disposition", "a wish to delete is settled with keep_old (keep it) or keep_new (delete it)")
    if disposition == "keep_old" or not allows("deleted", current):
        return Settled(Outcome("kept", current), _there(db, current), ())
    return Settled(let_go(db, current, writer, why), (), (current.value,))


def _labels(
    db: Connection, current: Memory, finding: Mapping[str, Any], disposition: str, writer: Writer, why: str | None
) -> Settled:
    """A wish for other labels, granted or not."""
    if disposition not in OF_A_WISH:
        raise GateRefused(
            "disposition", "a wish for other labels is settled with keep_old (leave it) or keep_new (change it)"
        )
    if disposition == "keep_old" or not allows("labelled", current):
        return Settled(Outcome("kept", current), _there(db, current), ())
    wanted = labels.of_finding(finding["proposal"])
    ends_ms = wanted.expires[0] if wanted.expires is not None else None
    if ends_ms is not None and ends_ms <= writer.now_ms:
        raise GateRefused("interval", "it would be expired already by what was wished: leave it, and give another end")
    outcome = labels.labelled(db, current, wanted, writer, why)
    return Settled(outcome, _there(db, current), ())


def _proposal(
    db: Connection,
    current: Memory,
    finding: Mapping[str, Any],
    disposition: str,
    writer: Writer,
    why: str | None,
    value: str,
) -> Settled:
    """What stands under a key, and what was proposed in its place."""
    proposed = _proposed(finding["proposal"], current, int(finding["created_ms"]))
    same = canonical(proposed.value) == canonical(current.value)
    _close_alike(db, current, proposed.value, disposition, writer)
    if disposition == "keep_old":
        if not same:
            _refused(db, current, proposed.value, writer, why, instead=current.value)
        kept = conflicts.release(db, current, writer, why)
        return Settled(Outcome("kept", kept), _there(db, kept), () if same else (proposed.value,))
    if disposition == "keep_new":
        if not same:  # said then, and it holds from now on
            proposed = replace(proposed, valid_from_ms=writer.now_ms, valid_from_precision=Precision.MS)
        outcome = _written(db, proposed, writer)
        return Settled(outcome, _there(db, current), () if same else (current.value,))
    if disposition == "keep_both":
        kept = conflicts.release(db, current, writer, why)
        if same:
            return Settled(Outcome("kept", kept), _there(db, kept), ())
        beside = _written(db, replace(proposed, key=_free_key(db, current, proposed.value)), writer)
        if beside.memory is not None:
            conflicts.decided(db, kept, beside.memory, writer)
        return Settled(beside, (*_there(db, kept), *([beside.memory] if beside.memory else [])), ())
    if disposition == "remove_both":
        _refused(db, current, proposed.value, writer, why)
        outcome = rejected(db, current, writer, why)
        return Settled(outcome, (), tuple(dict.fromkeys((current.value, proposed.value))))
    outcome = _said(db, current, value, writer)
    if canonical(value) != canonical(proposed.value):
        _refused(db, current, proposed.value, writer, why, instead=value)
    gone = tuple(one for one in (current.value, proposed.value) if canonical(one) != canonical(value))
    return Settled(outcome, _there(db, current), gone)


def _refused(
    db: Connection, current: Memory, value: str, writer: Writer, why: str | None, *, instead: str = ""
) -> None:
    """Take a proposed value for false, wherever else it is said."""
    tombs.lay(db, current, value, writer, "rejected", why, instead=instead)
    suppress_same(db, current, value, writer, why)


def _pair(
    db: Connection,
    kind: str,
    old: Memory,
    new: Memory,
    disposition: str,
    writer: Writer,
    why: str | None,
    value: str,
) -> Settled:
    """Two memories that contradict each other, or say the same twice."""
    if disposition == "keep_both":
        kept = [conflicts.release(db, side, writer, why) for side in (old, new)]
        return Settled(Outcome("kept", kept[0]), tuple(kept), ())
    if disposition == "remove_both":
        outcomes = [_out(db, side, writer, why, false=True) for side in (old, new)]
        return Settled(outcomes[0], (), (old.value, new.value))
    stays, goes = (new, old) if disposition == "keep_new" else (old, new)
    stays = conflicts.release(db, stays, writer, why)
    outcome = Outcome("kept", stays)
    if disposition == "manual":
        outcome = _said(db, stays, value, writer)
    standing = outcome.memory.value if outcome.memory else stays.value
    _out(db, goes, writer, why, false=kind == alike.CONTRADICTION and not says_the_same(goes.value, standing))
    gone = tuple(one for one in (stays.value, goes.value) if canonical(one) != canonical(standing))
    return Settled(outcome, _there(db, stays), gone)


def _out(db: Connection, memory: Memory, writer: Writer, why: str | None, *, false: bool) -> Outcome:
    """A side that does not stay: rejected because it is false, or deleted because another says the same."""
    if false and allows("rejected", memory):
        return rejected(db, memory, writer, why)
    if not false and allows("deleted", memory):
        calm = conflicts.release(db, memory, writer, why)
        return hidden(db, calm, writer, State.DELETED, "deleted", writer.channel.value, why)
    return Outcome("unchanged", memory)


def _there(db: Connection, memory: Memory) -> tuple[Memory, ...]:
    """The memory as it stands, where it does."""
    return tuple(one for one in memories.get(db, [memory.id]) if not one.deleted and one.trust is not Trust.REJECTED)


def _said(db: Connection, current: Memory, value: str, writer: Writer) -> Outcome:
    """A person's own words in the place of what stands."""
    proposal = Proposal(
        namespace=current.namespace,
        key=current.key,
        value=value,
        kind=current.kind,
        origin=Origin.USER_SAID,
        source=writer.actor,
        tags=current.tags,
        importance=current.importance,
        expires_ms=labels.expiry_left(current, writer.now_ms),
        explicit=True,
    )
    return _written(db, proposal, writer)


def _written(db: Connection, proposal: Proposal, writer: Writer) -> Outcome:
    """The gate's decision about what a person takes over; the evidence of it is what it had, else that they say so.

    Raises: GateRefused.
    """
    clean = redacted(proposal, writer)
    with attempt(db):
        cited = {event.id for event in events.get(db, [one.event_id for one in clean.evidence])}
        left = tuple(one for one in clean.evidence if one.event_id in cited)
        clean = replace(clean, evidence=left or (statement(db, clean, writer, None),))
        return decide(db, clean, writer)


def _proposed(given: Mapping[str, Any], current: Memory, found_ms: int) -> Proposal:
    """The losing proposal, as a person takes it over: said when it was."""
    return Proposal(
        namespace=current.namespace,
        key=current.key,
        value=str(given["value"]),
        kind=MemoryKind(given["kind"]),
        origin=Origin(given["origin"]),
        source=str(given["source"]),
        evidence=tuple(Evidence(int(one["event_id"]), str(one["quote"])) for one in given.get("evidence", ())),
        tags=tuple(map(str, given.get("tags", ()))),
        importance=float(given.get("importance", 0.5)),
        confidence=float(given.get("confidence", 0.5)),
        occurred_ms=found_ms if given.get("occurred_ms") is None else int(given["occurred_ms"]),
        expires_ms=given.get("expires_ms"),
        explicit=True,
    )


def _free_key(db: Connection, current: Memory, value: str) -> str:
    """`<key>.2`, or the next number at which nothing else stands."""
    number = 2
    while True:
        key = f"{current.key}.{number}"
        there = memories.find(db, current.namespace, key)
        if there is None or canonical(there.value) == canonical(value):
            return key
        number += 1


def _close_alike(db: Connection, current: Memory, value: str, disposition: str, writer: Writer) -> None:
    """Close the other findings about the same words under the same key."""
    for finding in findings.about(db, current.id, kinds=("conflict",)):
        if canonical(str(finding["proposal"].get("value", ""))) == canonical(value):
            findings.resolve(db, finding["id"], disposition, writer.now_ms)
