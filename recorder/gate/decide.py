"""Whether a proposal becomes what a memory says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from hashlib import sha256

from recorder import dates
from recorder.canonical import canonical
from recorder.errors import Conflict, GateRefused
from recorder.gate import address, room, tombs, turning
from recorder.gate.hiding import release_same, taken_back
from recorder.gate.intervals import of, overlaps
from recorder.gate.standing import NEVER_A_PREFERENCE, SESSIONS_TO_VERIFY, STANDING
from recorder.gate.told import differences
from recorder.gate.writer import Outcome, Writer, address_of, audited, changed, note
from recorder.models import (
    Channel,
    Event,
    EventKind,
    Evidence,
    Memory,
    MemoryKind,
    Precision,
    PromptClass,
    Proposal,
    Source,
    State,
    StoredEvent,
    Trust,
)
from recorder.store import events, findings, memories, statements, tombstones, validity
from recorder.store.db import Connection, attempt, rehearsal, transaction

VALUE_LIMIT = 8_000

WITHDRAWN = "without evidence: "
"""Who hid a memory that nobody said is wrong: its evidence was taken away."""


def propose(db: Connection, proposal: Proposal, writer: Writer) -> Outcome:
    """Decide about one proposal, in one transaction with its history and its audit row.

    A refusal is an outcome and is audited too; nothing of the refused value is kept but a keyed digest.
    """
    return _judge(db, redacted(proposal, writer), writer, decide)


def tell(
    db: Connection,
    proposal: Proposal,
    writer: Writer,
    *,
    session_id: str | None = None,
    expected_version: int | None = None,
    rehearse: bool = False,
) -> Outcome:
    """Decide about what somebody says to us: its evidence is that they said it, kept as a statement of the session.

    Of what is refused no statement stays either. `expected_version`: 0 where nothing may stand yet. `rehearse`: say
    what would come of it, and change nothing.

    Raises: Conflict when another version stands there by now.
    """

    def keep_and_decide(db: Connection, clean: Proposal, writer: Writer) -> Outcome:
        clean = clean if writer.is_person else address.apart(db, clean, writer)
        _expect(db, clean, expected_version, writer.now_ms)
        with attempt(db):
            said = statement(db, clean, writer, session_id)
            return decide(db, replace(clean, evidence=(said,)), writer)

    return _judge(db, redacted(proposal, writer), writer, keep_and_decide, rehearse=rehearse)


def _expect(db: Connection, proposal: Proposal, version: int | None, now_ms: int) -> None:
    current = turning.at(db, proposal.namespace, proposal.key, now_ms)
    stands = current.version if current else 0
    if version is not None and stands != version:
        raise Conflict(f"{proposal.namespace}/{proposal.key} is at version {stands} now, not {version}: read it again")


def _judge(
    db: Connection,
    clean: Proposal,
    writer: Writer,
    verdict: Callable[[Connection, Proposal, Writer], Outcome],
    *,
    rehearse: bool = False,
) -> Outcome:
    with rehearsal(db) if rehearse else transaction(db):
        if not writer.is_person:
            turning.turn_all(db, writer.now_ms)  # what was replaced from a day on is refused since
        try:
            return verdict(db, clean, writer)
        except GateRefused as refused:
            audited(db, writer, "refused", f"{clean.namespace}/{clean.key}", clean.value, refused.reason)
            return Outcome("refused", None, f"{refused.reason}: {refused}")


def decide(db: Connection, proposal: Proposal, writer: Writer) -> Outcome:
    """What becomes of a redacted proposal, inside the caller's transaction. Every refusal comes before the first write.

    Raises: GateRefused.
    """
    address.check(db, proposal.namespace, proposal.key, writer)
    if not proposal.value.strip():
        raise GateRefused("empty", "an empty value says nothing: give one")
    if len(proposal.value) > VALUE_LIMIT:
        raise GateRefused("size", f"{len(proposal.value)} characters are too many: at most {VALUE_LIMIT}")
    check_interval(proposal)
    check_origin(proposal)
    cited = _check_evidence(db, proposal, writer)
    trust = _trust(proposal, writer, cited)
    if trust is not Trust.VERIFIED:
        proposal = address.apart(db, proposal, writer)
    current = turning.at(db, proposal.namespace, proposal.key, writer.now_ms)
    same = current is not None and canonical(current.value) == canonical(proposal.value)
    free = current is not None and _withdrawn(db, current)
    if current is not None and current.deleted and not free and not writer.is_person and same:
        _refuse_hidden(db, current, proposal, writer, trust)
    stands = same and current is not None and not current.deleted
    lifted = _passed(db, proposal, writer, cited, stands=stands)
    if current is None:
        return replace(_create(db, proposal, writer, trust, cited), also=lifted)
    if free:
        return _within(db, current, proposal, writer, trust, cited)
    if current.deleted:
        return _at_hidden(db, current, proposal, writer, trust, cited)
    if current.trust is Trust.REJECTED:
        # Its own value passed the tombstones: a person said it again. Another value finds the place free.
        return _within(db, current, proposal, writer, trust, cited)
    respelled = current.value.strip() != proposal.value.strip()
    if same and writer.is_person:
        proposal = _dated_as_before(current, proposal)
    if same and writer.is_person and not respelled and _labelled_anew(current, proposal):
        return _labelled(db, current, proposal, writer, trust, cited)
    if same and not (writer.is_person and (respelled or _dated_anew(current, proposal))):
        return _corroborate(db, current, proposal, writer, trust, cited)
    if not writer.is_person and memories.had(db, current.id, proposal.value, [event.id for event in cited]):
        return Outcome("unchanged", current, "this was said before, and superseded")
    if _outranked(db, current, proposal, writer, trust):
        return _open_finding(
            db, current, proposal, writer, "something of higher standing, or said later, stands under this key"
        )
    return _within(db, current, proposal, writer, trust, cited)


def _within(
    db: Connection, current: Memory, proposal: Proposal, writer: Writer, trust: Trust, cited: list[StoredEvent]
) -> Outcome:
    """Let the proposal hold until something of higher standing or trust begins; a person decides where that holds from
    the proposal's beginning on."""
    if writer.is_person:
        return supersede(db, current, proposal, writer, trust, cited)
    of_old = proposal.valid_from_ms is None and proposal.valid_from_precision is not None
    begins_ms = None if of_old else _begins_ms(proposal, writer)
    said = replace(of(proposal), from_ms=begins_ms)
    above = [
        version
        for version in validity.believed(db, current.id)
        if version.version_id != current.version_id
        and _is_above(db, version, writer, trust)
        and overlaps(of(version), said)
    ]
    if not above:
        return supersede(db, current, proposal, writer, trust, cited)
    first = min(above, key=lambda one: -1 if one.valid_from_ms is None else one.valid_from_ms)
    begun = first.valid_from_ms is None or (begins_ms is not None and first.valid_from_ms <= begins_ms)
    if begun or said.end_is_unknown:
        why = "something of higher standing holds at that time under this key"
        return _open_finding(db, current, proposal, writer, why)
    until = replace(proposal, valid_to_ms=first.valid_from_ms, valid_to_precision=first.valid_from_precision)
    outcome = supersede(db, current, until, writer, trust, cited)
    told = f"until {dates.shown(*first.begins)}, when something of higher standing begins"
    return replace(outcome, reason="; ".join(part for part in (told, outcome.reason) if part))


def _begins_ms(proposal: Proposal, writer: Writer) -> int:
    """When what is proposed begins: when it was said, where it does not say."""
    said_ms = proposal.occurred_ms if proposal.occurred_ms is not None else writer.now_ms
    return proposal.valid_from_ms if proposal.valid_from_ms is not None else min(said_ms, writer.now_ms)


def _passed(db: Connection, proposal: Proposal, writer: Writer, cited: list[StoredEvent], *, stands: bool) -> int:
    """Let the proposal pass what was refused; how many a person's word lifted, and what had been hidden with them.

    Raises: GateRefused.
    """
    scopes = tombs.scopes_of(db, proposal.namespace, writer)
    texts = (proposal.value, *proposal.parts)
    refusing = [one for text in texts for one in tombstones.matching(db, scopes, proposal.key, text)]
    lifted = tombs.pass_by(db, proposal, writer, cited, stands=stands)
    if not lifted:
        return 0
    numbers = [one.memory_id for one in refusing]
    return lifted + sum(len(release_same(db, numbers, text, writer, None).shown) for text in texts)


def check_interval(proposal: Proposal) -> None:
    """Let nothing end before it begins.

    Raises: GateRefused.
    """
    begins, ends = proposal.valid_from_ms, proposal.valid_to_ms
    if begins is not None and ends is not None and begins >= ends:
        told = dates.shown(begins, proposal.valid_from_precision), dates.shown(ends, proposal.valid_to_precision)
        raise GateRefused("interval", f"what holds from {told[0]} cannot end at {told[1]}: give the earlier one first")


def check_origin(proposal: Proposal) -> None:
    """Let no text that a machine read say how a person wants things.

    Raises: GateRefused.
    """
    if proposal.kind is MemoryKind.PREFERENCE and proposal.origin in NEVER_A_PREFERENCE:
        raise GateRefused("origin", "text from tools, files or the web never becomes a preference without a person")


def _withdrawn(db: Connection, current: Memory) -> bool:
    """Whether the memory is hidden because its evidence was taken away, and nobody said that it is wrong."""
    return current.deleted and (memories.deleted_by(db, current.id) or "").startswith(WITHDRAWN)


def _dated_anew(current: Memory, proposal: Proposal) -> bool:
    """Whether the same words, dated as before where no date is given, have other dates."""
    wanted = (proposal.valid_from_ms, proposal.valid_from_precision, proposal.valid_to_ms, proposal.valid_to_precision)
    return (*wanted, proposal.expires_ms) != (*current.begins, *current.ends, current.expires_ms)


def _dated_as_before(current: Memory, proposal: Proposal) -> Proposal:
    """The same words again, with the dates they had where none are given."""
    if (proposal.valid_from_ms, proposal.valid_from_precision) == (None, None) and "valid_from" not in proposal.opened:
        begins_ms, precision = current.begins
        proposal = replace(proposal, valid_from_ms=begins_ms, valid_from_precision=precision)
    if (proposal.valid_to_ms, proposal.valid_to_precision) == (None, None) and "valid_to" not in proposal.opened:
        ends_ms, precision = current.ends
        proposal = replace(proposal, valid_to_ms=ends_ms, valid_to_precision=precision)
    if proposal.expires_ms is None and "expires" not in proposal.opened:
        proposal = replace(proposal, expires_ms=current.expires_ms)
    return proposal


def _labelled_anew(current: Memory, proposal: Proposal) -> bool:
    """Whether the same words are given another kind, other tags or another weight."""
    stands = (current.kind, current.tags, current.importance)
    return stands != (proposal.kind, proposal.tags, proposal.importance)


def _labelled(
    db: Connection, current: Memory, proposal: Proposal, writer: Writer, trust: Trust, cited: list[StoredEvent]
) -> Outcome:
    """The same words under another kind or other tags: a new version that stands on all the old one did."""
    kept = [(event.id, quote, event.session_id) for event, quote in memories.evidence(db, current.version_id)]
    outcome = supersede(db, current, proposal, writer, trust, cited)
    if outcome.memory is not None:
        memories.add_evidence(db, outcome.memory.version_id, kept)
    return outcome


def _said_later(db: Connection, current: Memory, proposal: Proposal, writer: Writer, trust: Trust) -> bool:
    """Whether a person typed it outright after the memory was hidden."""
    said_ms = proposal.occurred_ms if proposal.occurred_ms is not None else writer.now_ms
    later = writer.channel is Channel.USER_SAID and said_ms > memories.deleted_ms(db, current.id)
    return later and trust is Trust.VERIFIED


def _refuse_hidden(db: Connection, current: Memory, proposal: Proposal, writer: Writer, trust: Trust) -> None:
    if not _said_later(db, current, proposal, writer, trust):
        raise GateRefused("deleted", f"{current.key} was deleted: only a person brings it back")


def _at_hidden(
    db: Connection, current: Memory, proposal: Proposal, writer: Writer, trust: Trust, cited: list[StoredEvent]
) -> Outcome:
    """What becomes of a proposal where a memory is hidden: a person's later words stand, another value waits for a
    person."""
    if writer.is_person or _said_later(db, current, proposal, writer, trust):
        return supersede(db, current, proposal, writer, trust, cited)
    return _open_finding(db, current, proposal, writer, f"{current.key} was deleted, and something else is proposed")


def _check_evidence(db: Connection, proposal: Proposal, writer: Writer) -> list[StoredEvent]:
    """The events the proposal stands on: all there, in the writer's scope, each with its quote."""
    if not proposal.evidence:
        raise GateRefused("evidence", "every belief has evidence: none was given")
    found = {event.id: event for event in events.get(db, [cited.event_id for cited in proposal.evidence])}
    for cited in proposal.evidence:
        event = found.get(cited.event_id)
        if event is None or (event.project_id is not None and event.project_id != writer.scope.project_id):
            raise GateRefused("evidence", f"event {cited.event_id} is not here")
        if not cited.quote.strip() or not any(cited.quote in text for text in strings(event.body)):
            raise GateRefused("evidence", f"event {cited.event_id} does not hold the quote {cited.quote[:80]!r}")
    return [found[cited.event_id] for cited in proposal.evidence]


def strings(body: object) -> list[str]:
    """Every string inside a body, in order."""
    if isinstance(body, str):
        return [body]
    if isinstance(body, Mapping):
        return [text for value in body.values() for text in strings(value)]
    if isinstance(body, list | tuple):
        return [text for value in body for text in strings(value)]
    return []


def _trust(proposal: Proposal, writer: Writer, cited: list[StoredEvent]) -> Trust:
    """What the channel gives, from what was observed and not from what the payload says."""
    if writer.channel is Channel.PERSON:
        return Trust.VERIFIED
    if writer.channel is Channel.USER_SAID and _typed(cited) and proposal.explicit and writer.typed_is_verified:
        return Trust.VERIFIED
    seen = {event.session_id for event in cited if event.kind is EventKind.TOOL_CALL}
    if writer.channel is Channel.OBSERVED and len(seen) >= SESSIONS_TO_VERIFY:
        return Trust.VERIFIED
    return Trust.CANDIDATE


def _typed(cited: list[StoredEvent]) -> bool:
    return any(event.kind is EventKind.PROMPT and event.klass is PromptClass.TYPED for event in cited)


def _outranked(db: Connection, current: Memory, proposal: Proposal, writer: Writer, trust: Trust) -> bool:
    """Whether what stands there is of higher standing or trust, or said later, than what is proposed."""
    if _is_above(db, current, writer, trust):
        return True
    if writer.channel is Channel.PERSON:
        return False
    if current.trust is Trust.DISPUTED:  # a person decides what holds
        return True
    said_ms = proposal.occurred_ms if proposal.occurred_ms is not None else writer.now_ms
    # A clock that was ahead must not overrule all that is said until its time has come.
    return said_ms < min(memories.occurred_ms(db, current.version_id), writer.now_ms)


def _is_above(db: Connection, version: Memory, writer: Writer, trust: Trust) -> bool:
    """Whether a version is of higher standing or trust than what somebody proposes."""
    if STANDING[writer.channel] < STANDING[memories.channel_of(db, version.version_id)]:
        return True
    known = version.trust is Trust.VERIFIED and trust is not Trust.VERIFIED
    return known and writer.channel not in (Channel.OBSERVED, Channel.PERSON)


def _create(db: Connection, proposal: Proposal, writer: Writer, trust: Trust, cited: list[StoredEvent]) -> Outcome:
    row = address.scope_of(proposal.namespace)
    project_id = writer.scope.project_id if proposal.namespace.startswith("claude.") or row != "user" else None
    proposed_by_machine = row == "user" and trust is not Trust.VERIFIED
    memory_id = memories.create(
        db,
        proposal,
        scope_id=address.scope_id(db, proposal.namespace, project_id),
        project_id=project_id,
        home_project_id=(writer.scope.project_id or "") if proposed_by_machine else None,
        now_ms=writer.now_ms,
    )
    return _version(db, memory_id, proposal, writer, trust, cited, "created")


def supersede(
    db: Connection,
    current: Memory,
    proposal: Proposal,
    writer: Writer,
    trust: Trust,
    cited: list[StoredEvent],
    action: str = "superseded",
    why: str | None = None,
) -> Outcome:
    """Let the proposal hold when it says, from when it was said where it does not; what stood there holds at every
    other time, unless it was rejected.

    Where a person puts another value in its place for good, nothing automatic brings the old one back.
    """
    other = canonical(current.value) != canonical(proposal.value)
    told, asked = "", proposal
    if other:
        findings.lapse(db, current.id, writer.now_ms)
        if proposal.valid_from_ms is None and proposal.valid_from_precision is None:
            proposal = replace(proposal, valid_from_ms=_begins_ms(proposal, writer), valid_from_precision=Precision.MS)
            # That other words hold from when they were said is no change of a date.
            begins_ms, precision = current.begins
            asked = replace(asked, valid_from_ms=begins_ms, valid_from_precision=precision)
    held = current.state is State.ACTIVE and current.trust is not Trust.REJECTED
    made = room.make(db, current, proposal, writer.now_ms, keep=other and held)
    if other and writer.is_person and current.trust is not Trust.REJECTED and not made.lasts:
        told = taken_back(db, current, writer, "corrected", None, instead=proposal.value)
    outcome = _version(db, current.id, proposal, writer, trust, cited, action, why, differences(current, asked))
    told = "; ".join(part for part in (told, room.fill(db, made, current, writer)) if part)
    return replace(outcome, reason=told) if told else outcome


def renewed(
    db: Connection,
    current: Memory,
    writer: Writer,
    trust: Trust,
    action: str,
    why: str | None = None,
    *,
    channel: Channel | None = None,
) -> Outcome:
    """The same words with another trust: a new version with the old evidence, so that the past stays what it was. When
    they were said stays too.

    `channel`: who it is taken to have been said by; where none is given the writer who verifies it, else who said it.
    """
    kept = [(e.id, quote, e.session_id) for e, quote in memories.evidence(db, current.version_id)]
    # Who said it stays who said it; that a person approved or disputed it stands in the history.
    if channel is None:
        channel = writer.channel if trust is Trust.VERIFIED else memories.channel_of(db, current.version_id)
    again = replace(as_proposal(current), occurred_ms=memories.occurred_ms(db, current.version_id))
    version_id = memories.add_version(db, current.id, again, trust=trust, channel=channel, now_ms=writer.now_ms)
    memories.add_evidence(db, version_id, kept)
    if current.state is not State.ACTIVE:
        by = memories.deleted_by(db, current.id)
        memories.set_state(db, current.id, current.state, memories.deleted_ms(db, current.id) or writer.now_ms, by)
    note(db, writer, replace(current, version_id=version_id), action, why)
    return Outcome(action, memories.find(db, current.namespace, current.key))


def _corroborate(
    db: Connection, current: Memory, proposal: Proposal, writer: Writer, trust: Trust, cited: list[StoredEvent]
) -> Outcome:
    """Add the evidence; when the trust rises by it, that is a new version, so that the past stays what it was."""
    new = memories.add_evidence(db, current.version_id, _evidence_rows(proposal, cited))
    seen = memories.sessions_of(db, current.version_id)
    risen = writer.channel is Channel.OBSERVED and seen >= SESSIONS_TO_VERIFY
    if current.trust is Trust.CANDIDATE and (trust is Trust.VERIFIED or risen):
        kept = [(e.id, quote, e.session_id) for e, quote in memories.evidence(db, current.version_id)]
        raised = _dated_as_before(current, replace(proposal, value=current.value))
        told = differences(current, raised)
        outcome = _version(db, current.id, raised, writer, Trust.VERIFIED, cited, "verified", labels=told)
        if outcome.memory is not None:
            memories.add_evidence(db, outcome.memory.version_id, kept)
        return replace(outcome, action="corroborated")
    if new:
        note(db, writer, current, "corroborated", content={"events": [event.id for event in cited]})
    return Outcome("corroborated" if new else "unchanged", memories.find(db, current.namespace, current.key))


def _version(
    db: Connection,
    memory_id: int,
    proposal: Proposal,
    writer: Writer,
    trust: Trust,
    cited: list[StoredEvent],
    action: str,
    why: str | None = None,
    labels: str = "",
) -> Outcome:
    version_id = memories.add_version(
        db, memory_id, proposal, trust=trust, channel=writer.channel, now_ms=writer.now_ms
    )
    memories.add_evidence(db, version_id, _evidence_rows(proposal, cited))
    memories.add_history(
        db,
        memory_id,
        version_id,
        action=action,
        channel=writer.channel,
        actor=writer.actor,
        reason=why,
        now_ms=writer.now_ms,
        content={"events": [event.id for event in cited]} | ({"labels": labels} if labels else {}),
    )
    changed(db, writer)
    audited(db, writer, action, f"{proposal.namespace}/{proposal.key}", proposal.value, why)
    return Outcome(action, memories.find(db, proposal.namespace, proposal.key))


def _open_finding(db: Connection, current: Memory, proposal: Proposal, writer: Writer, why: str) -> Outcome:
    # A file that goes back and forth between two texts asks once.
    if writer.channel is Channel.CLAUDE_AUTO and findings.raised(db, current.id, proposal.value):
        return Outcome("unchanged", current, f"{why}: a finding says so already")
    pair = pair_with(db, current, proposal.value, writer)
    if findings.is_resolved(db, pair):
        return Outcome("unchanged", current, "a person decided about this before")
    findings.add(
        db,
        "conflict",
        memory_id=current.id,
        project_id=address.proposed_in(current, writer),
        proposal=asdict(proposal) | {"channel": writer.channel.value, "actor": writer.actor},
        reason=why,
        now_ms=writer.now_ms,
        pair=pair,
    )
    audited(db, writer, "finding", address_of(current), proposal.value, why)
    return Outcome("finding", current, f"{why}: a person decides")


def pair_with(db: Connection, current: Memory, value: str, writer: Writer) -> str:
    """What a memory and a value proposed under its key are known by, once a person decided between them."""
    sides = ((current.id, canonical(current.value)), (current.id, canonical(value)))
    return findings.pair_of(db, sides, writer.now_ms)


def _evidence_rows(proposal: Proposal, cited: list[StoredEvent]) -> list[tuple[int, str, str]]:
    return [(event.id, given.quote, event.session_id) for given, event in zip(proposal.evidence, cited, strict=True)]


def statement(db: Connection, proposal: Proposal, writer: Writer, session_id: str | None) -> Evidence:
    """What somebody said to the gate, kept as an event, so that a memory can point at it."""
    said = proposal.value
    told = f"{writer.channel}:{writer.actor}:{writer.now_ms}:{said}"
    session = session_id or statements.SESSION
    key = f"g:{session}:{sha256(told.encode('utf-8', 'backslashreplace')).hexdigest()[:24]}"
    event = Event(
        key=key,
        kind=EventKind.STATEMENT,
        session_id=session,
        at_ms=writer.now_ms,
        source=Source.GATE,
        body={"text": said, "channel": writer.channel.value, "actor": writer.actor}
        | ({"parts": list(proposal.parts)} if proposal.parts else {}),
        ref=key,
    )
    project_id = writer.scope.project_id
    # What nobody of a project says about the person is told in no project, and neither is that it was said.
    nowhere = project_id is None and not writer.is_person
    scope_id = None if nowhere else address.scope_id(db, proposal.namespace, project_id)
    return Evidence(statements.keep(db, event, project_id=project_id, scope_id=scope_id), said)


def redacted(proposal: Proposal, writer: Writer) -> Proposal:
    """The proposal without secrets, its numbers within their bounds."""
    value, key, *rest = writer.redact([proposal.value, proposal.key, *proposal.tags[:20], *proposal.parts])
    tags, parts = rest[: len(proposal.tags[:20])], rest[len(proposal.tags[:20]) :]
    if not address.is_key(proposal.key):
        key = proposal.key  # refused as it is, and not mended into another one
    return replace(
        proposal,
        value=value,
        key=key,
        tags=tuple(tag[:60] for tag in tags if tag.strip()),
        parts=tuple(parts),
        importance=min(1.0, max(0.0, proposal.importance)),
        confidence=min(1.0, max(0.0, proposal.confidence)),
    )


def as_proposal(memory: Memory) -> Proposal:
    """The memory as it stands, to be written again."""
    return Proposal(
        namespace=memory.namespace,
        key=memory.key,
        value=memory.value,
        kind=memory.kind,
        origin=memory.origin,
        source=memory.source,
        tags=memory.tags,
        importance=memory.importance,
        confidence=memory.confidence,
        valid_from_ms=memory.valid_from_ms,
        valid_to_ms=memory.valid_to_ms,
        valid_from_precision=memory.valid_from_precision,
        valid_to_precision=memory.valid_to_precision,
        expires_ms=memory.expires_ms,
    )
