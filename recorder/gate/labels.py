"""What is said of a memory beside its words: kind, tags, weight and dates, changed while the words stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from recorder.gate import room, tombs
from recorder.gate.address import proposed_in
from recorder.gate.decide import as_proposal, check_interval, check_origin
from recorder.gate.hiding import outranked
from recorder.gate.standing import allows
from recorder.gate.told import differences
from recorder.gate.turning import standing_at
from recorder.gate.writer import Outcome, Writer, address_of, audited, cleaned, note
from recorder.models import Memory, MemoryKind, Precision, Proposal
from recorder.store import findings, memories
from recorder.store.db import Connection, rehearsal, transaction

When = tuple[int | None, Precision | None]
"""A date as `dates.parse` reads it; (None, None) is an open end."""
WISH = "label_proposal"
"""The kind of a finding: somebody asks for other labels than a person gave."""
WAITS = "this outranks the caller: the wish to change it waits for a person"


@dataclass(frozen=True, slots=True)
class Labels:
    """What is to be different. None: it stays as it is."""

    kind: MemoryKind | None = None
    tags: tuple[str, ...] | None = None
    importance: float | None = None
    valid_from: When | None = None
    valid_to: When | None = None
    expires: When | None = None

    @property
    def any(self) -> bool:
        return any(part is not None for part in (self.kind, self.tags, self.importance, *self.dates))

    @property
    def dates(self) -> tuple[When | None, When | None, When | None]:
        return self.valid_from, self.valid_to, self.expires


def label(
    db: Connection,
    namespace: str,
    key: str,
    writer: Writer,
    labels: Labels,
    *,
    reason: str | None = None,
    expected_version: int | None = None,
    rehearse: bool = False,
) -> Outcome:
    """Change what is said of a memory beside its words: a new version of the same words, trust and evidence. From a
    channel that what stands there outranks: a proposal to do so. `rehearse`: say what would come of it, and change
    nothing.

    Raises: NotFound, Conflict, GateRefused.
    """
    why = cleaned(writer, reason)
    if labels.tags is not None:
        given = dict.fromkeys(tag.strip()[:60] for tag in writer.redact(list(labels.tags[:20])))
        labels = replace(labels, tags=tuple(tag for tag in given if tag))
    with rehearsal(db) if rehearse else transaction(db):
        why = tombs.fit(db, writer, why)
        current = standing_at(db, namespace, key, writer, expected_version)
        if not writer.is_person:
            tombs.check_words(db, tombs.scopes_of(db, namespace, writer), labels.tags or ())
        if not allows("labelled", current):
            return Outcome("unchanged", current, "only what stands can be labelled: restore or lift it first")
        wanted = _with(current, labels)
        check_interval(wanted)
        if not writer.is_person:
            check_origin(wanted)
        told = differences(current, wanted)
        if not told:
            return Outcome("unchanged", current)
        if outranked(db, current, writer):
            return _asked(db, current, labels, writer, told, why)
        return labelled(db, current, labels, writer, why)


def labelled(db: Connection, current: Memory, labels: Labels, writer: Writer, why: str | None) -> Outcome:
    """The same inside a transaction. Who said the words, and when, stays. Wishes that this fulfils are done.

    Raises: GateRefused.
    """
    wanted = replace(_with(current, labels), occurred_ms=memories.occurred_ms(db, current.version_id))
    check_interval(wanted)
    kept = [(event.id, quote, event.session_id) for event, quote in memories.evidence(db, current.version_id)]
    channel = memories.channel_of(db, current.version_id)
    made = room.make(db, current, wanted, writer.now_ms, keep=False)
    version_id = memories.add_version(
        db, current.id, wanted, trust=current.trust, channel=channel, now_ms=writer.now_ms
    )
    memories.add_evidence(db, version_id, kept)
    told = differences(current, wanted)
    note(db, writer, replace(current, version_id=version_id), "labelled", why, {"labels": told})
    told_too = room.fill(db, made, current, writer)
    after = memories.find(db, current.namespace, current.key)
    for wish in findings.about(db, current.id, kinds=(WISH,)):
        if after is not None and not wished(after, wish["proposal"]):
            findings.resolve(db, wish["id"], findings.LAPSED, writer.now_ms)
    return Outcome("labelled", after, told_too)


def _asked(db: Connection, current: Memory, labels: Labels, writer: Writer, told: str, why: str | None) -> Outcome:
    findings.add(
        db,
        WISH,
        memory_id=current.id,
        project_id=proposed_in(current, writer),
        proposal={"actor": writer.actor, "channel": writer.channel.value, "labels": asdict(labels)},
        reason=f"{told} ({why})" if why else told,
        now_ms=writer.now_ms,
    )
    audited(db, writer, WISH, address_of(current), told, why)
    return Outcome("finding", current, WAITS)


def expiry_left(there: Memory | None, now_ms: int) -> int | None:
    """When what stands expires, for other words in its place where nobody says otherwise; None once that is past."""
    left = there.expires_ms if there is not None else None
    return left if left is not None and left > now_ms else None


def between(before: Memory, after: Memory) -> str:
    """What became of each label from one version to another, in words; nothing where none changed."""
    return differences(before, as_proposal(after))


def of_finding(proposal: Mapping[str, Any]) -> Labels:
    """The labels that a finding of the kind `WISH` asks for."""
    given = dict(proposal.get("labels", {}))
    whens = {name: _when(given.get(name)) for name in ("valid_from", "valid_to", "expires")}
    tags, kind = given.get("tags"), given.get("kind")
    return Labels(
        kind=None if kind is None else MemoryKind(kind),
        tags=None if tags is None else tuple(map(str, tags)),
        importance=given.get("importance"),
        **whens,
    )


def wished(at: Memory, proposal: Mapping[str, Any]) -> str:
    """What a finding of the kind `WISH` would change about a memory as it is now, in words; nothing where it is so."""
    return differences(at, _with(at, of_finding(proposal)))


def _when(given: Any) -> When | None:
    if given is None:
        return None
    at_ms, precision = given
    return at_ms, None if precision is None else Precision(precision)


def _with(current: Memory, labels: Labels) -> Proposal:
    """What stands, with other labels."""
    wanted = as_proposal(current)
    if labels.kind is not None:
        wanted = replace(wanted, kind=labels.kind)
    if labels.tags is not None:
        wanted = replace(wanted, tags=labels.tags)
    if labels.importance is not None:
        wanted = replace(wanted, importance=min(1.0, max(0.0, labels.importance)))
    if labels.valid_from is not None:
        wanted = replace(wanted, valid_from_ms=labels.valid_from[0], valid_from_precision=labels.valid_from[1])
    if labels.valid_to is not None:
        wanted = replace(wanted, valid_to_ms=labels.valid_to[0], valid_to_precision=labels.valid_to[1])
    if labels.expires is not None:
        wanted = replace(wanted, expires_ms=labels.expires[0])
    return wanted
