"""What is done to a memory that is there: delete, restore, reject, lift, approve, pin, revert."""

from __future__ import annotations

from dataclasses import replace

from recorder.canonical import canonical
from recorder.errors import Conflict, GateRefused, NotFound
from recorder.gate import tombs
from recorder.gate.address import home_scope, proposed_in
from recorder.gate.decide import WITHDRAWN, as_proposal, renewed, statement, supersede
from recorder.gate.hiding import (
    hidden,
    named,
    outranked,
    release,
    release_same,
    shown,
    suppress_derived,
    suppress_same,
    take_out_coming,
    taken_back,
)
from recorder.gate.standing import allows, may_show_again
from recorder.gate.turning import standing_at
from recorder.gate.writer import Outcome, Writer, address_of, audited, cleaned, note, only_a_person
from recorder.models import Memory, Precision, State, Trust
from recorder.store import findings, memories, projects, statements, tombstones
from recorder.store.db import Connection, transaction

WAITS = "it is not verified, so it stays out of the brief until it is approved"
"""Said of what is pinned too early."""


def delete(
    db: Connection,
    namespace: str,
    key: str,
    writer: Writer,
    *,
    reason: str | None = None,
    expected_version: int | None = None,
) -> Outcome:
    """Hide the memory; it can be restored. From a channel that what stands there outranks: a proposal to delete.

    Raises: NotFound, Conflict.
    """
    why = cleaned(writer, reason)
    with transaction(db):
        why = tombs.fit(db, writer, why)
        current = standing_at(db, namespace, key, writer, expected_version)
        if not allows("deleted", current):
            return Outcome("unchanged", current)
        if outranked(db, current, writer):
            findings.add(
                db,
                "delete_proposal",
                memory_id=current.id,
                project_id=proposed_in(current, writer),
                proposal={"actor": writer.actor, "channel": writer.channel.value},
                reason=why or "no reason given",
                now_ms=writer.now_ms,
            )
            audited(db, writer, "delete_proposed", address_of(current), current.value, why)
            return Outcome("finding", current, "this outranks the caller: the wish to delete it waits for a person")
        return let_go(db, current, writer, why)


def let_go(db: Connection, current: Memory, writer: Writer, why: str | None) -> Outcome:
    """The same inside a transaction. What a person deletes nothing automatic says again, under whatever key."""
    told = taken_back(db, current, writer, tombstones.DELETED, why) if writer.is_person else ""
    return replace(hidden(db, current, writer, State.DELETED, "deleted", writer.channel.value, why), reason=told)


def restore(
    db: Connection,
    namespace: str,
    key: str,
    writer: Writer,
    *,
    reason: str | None = None,
    expected_version: int | None = None,
) -> Outcome:
    """Show a hidden memory again, and what was hidden with it. Only a person restores what somebody else hid, and
    nobody what was refused since: that is lifted first. A refusal is audited.

    Raises: NotFound, Conflict, GateRefused.
    """
    why = cleaned(writer, reason)
    with transaction(db):
        why = tombs.fit(db, writer, why)
        current = standing_at(db, namespace, key, writer, expected_version)
        if not allows("restored", current):
            return Outcome("unchanged", current, _lift_first(current))
        try:
            may_show_again(memories.deleted_by(db, current.id), writer.channel)
            outcome = shown(db, current, writer, "restored", why)
        except GateRefused as error:
            audited(db, writer, "refused", address_of(current), current.value, error.reason)
            refused = error
        else:
            for one in tombstones.of_memory(db, current.id):
                if one.cause == tombstones.DELETED:
                    tombstones.lift(db, one.id, writer.actor, writer.now_ms)
            if outcome.memory is not None and not memories.evidence(db, current.version_id):
                outcome = replace(outcome, memory=_vouched(db, outcome.memory, writer))
            back = release(db, current, writer, why)
            return replace(outcome, reason=back.told, also=len(back.shown))
    raise refused


def _vouched(db: Connection, current: Memory, writer: Writer) -> Memory | None:
    """The memory on the word of whoever restores it, where nothing else is left that it stands on."""
    if not writer.is_person:
        return current
    said = statement(db, as_proposal(current), writer, None)
    vouched = renewed(db, current, writer, Trust.VERIFIED, "vouched").memory
    if vouched is not None:
        memories.add_evidence(db, vouched.version_id, [(said.event_id, said.quote, statements.SESSION)])
    return vouched


def reject(
    db: Connection,
    namespace: str,
    key: str,
    writer: Writer,
    *,
    reason: str,
    expected_version: int | None = None,
) -> Outcome:
    """Say that the value is false: it is refused from now on through every door, in every form and under every key of
    its scope, and what was drawn from it is hidden with it. Its evidence stays.

    Raises: NotFound, Conflict, GateRefused where it is no person.
    """
    only_a_person(writer, "rejects")
    why = cleaned(writer, reason)
    with transaction(db):
        current = standing_at(db, namespace, key, writer, expected_version)
        if not allows("rejected", current):
            return Outcome("unchanged", current)
        return rejected(db, current, writer, why)


def rejected(db: Connection, current: Memory, writer: Writer, why: str | None) -> Outcome:
    """The same inside a transaction."""
    findings.lapse(db, current.id, writer.now_ms)
    tombs.lay(db, current, current.value, writer, "rejected", why)
    memories.retire_all(db, current.id, current.value, writer.now_ms)
    if current.state is not State.ACTIVE:
        memories.set_state(db, current.id, State.ACTIVE, None, None)
        current = replace(current, state=State.ACTIVE)
    outcome = renewed(db, current, writer, Trust.REJECTED, "rejected", why)
    same, _ = suppress_same(db, current, current.value, writer, why)
    hid = suppress_derived(db, current, writer, why)
    coming = take_out_coming(db, current, current.value, writer, why)
    told = (
        named("saying the same, hidden with it", same),
        named("drawn from it, hidden with it", hid),
        named("that would have said it from a later day on, taken out", coming),
    )
    return replace(outcome, reason="; ".join(part for part in told if part), also=len(hid) + len(same))


def lift(
    db: Connection,
    namespace: str,
    key: str,
    writer: Writer,
    *,
    reason: str | None = None,
    expected_version: int | None = None,
) -> Outcome:
    """Let what was rejected under this key come again: a rejected memory is a candidate, and what was suppressed with
    it is back.

    Raises: NotFound, Conflict, GateRefused where it is no person.
    """
    only_a_person(writer, "lifts a rejection")
    why = cleaned(writer, reason)
    with transaction(db):
        current = standing_at(db, namespace, key, writer, expected_version)
        standing = [one for one in tombstones.of_memory(db, current.id) if one.lifted_ms is None]
        standing += [one for one in tombs.against(db, current) if one.id not in {mine.id for mine in standing}]
        if not standing and current.trust is not Trust.REJECTED:
            return Outcome("unchanged", current)
        for one in standing:
            tombstones.lift(db, one.id, writer.actor, writer.now_ms)
        if current.trust is Trust.REJECTED:
            outcome, lifted = renewed(db, current, writer, Trust.CANDIDATE, "lifted", why), 0
        else:
            note(db, writer, current, "lifted", why)
            outcome, lifted = Outcome("lifted", current), len(standing)
        back = release(db, current, writer, why)
        others = [number for one in standing if (number := one.memory_id) not in (None, current.id)]
        same = release_same(db, others, current.value, writer, why)
        told = "; ".join(part for part in (back.told, same.told) if part)
        stands = memories.find(db, namespace, key)
        return replace(outcome, memory=stands, reason=told, also=lifted + len(back.shown) + len(same.shown))


def approve(
    db: Connection,
    namespace: str,
    key: str,
    writer: Writer,
    *,
    reason: str | None = None,
    expected_version: int | None = None,
    expected_value: str | None = None,
) -> Outcome:
    """A person says the value is right: a new version of it, verified. What was looked at can be named by its version
    and by its words: when either changed meanwhile nothing is approved.

    Raises: NotFound, Conflict, GateRefused.
    """
    only_a_person(writer, "approves")
    why = cleaned(writer, reason)
    with transaction(db):
        current = standing_at(db, namespace, key, writer, expected_version)
        if expected_value is not None and expected_value != current.value:
            raise Conflict(f"{address_of(current)} says something else by now: read it again")
        if not allows("approved", current):
            return Outcome("unchanged", current, _lift_first(current))
        for one in tombs.against(db, current):  # a person says so again
            tombstones.lift(db, one.id, writer.actor, writer.now_ms)
        return renewed(db, current, writer, Trust.VERIFIED, "approved", why)


def _lift_first(current: Memory) -> str:
    """What is to be done about a rejected memory; nothing where it is not."""
    return "it is rejected: lift that first" if current.trust is Trust.REJECTED else ""


def pin(
    db: Connection, namespace: str, key: str, writer: Writer, *, pinned: bool, expected_version: int | None = None
) -> Outcome:
    """Let the memory go first in the brief, or no longer.

    Raises: NotFound, Conflict, GateRefused.
    """
    only_a_person(writer, "pins")
    with transaction(db):
        current = standing_at(db, namespace, key, writer, expected_version)
        if pinned and not allows("labelled", current):
            return Outcome("unchanged", current, "only what stands can go first: restore or lift it")
        memories.set_pinned(db, current.id, pinned)
        action = "pinned" if pinned else "unpinned"
        note(db, writer, current, action)
        waits = pinned and current.trust is not Trust.VERIFIED
        return Outcome(action, memories.find(db, namespace, key), WAITS if waits else "")


def revert(
    db: Connection,
    namespace: str,
    key: str,
    writer: Writer,
    *,
    version: int,
    reason: str | None = None,
    expected_version: int | None = None,
) -> Outcome:
    """Put the words of an earlier version in force again: a new version, a person's, with the evidence of the old one.

    Raises: NotFound, Conflict, GateRefused.
    """
    only_a_person(writer, "reverts")
    with transaction(db):
        current = standing_at(db, namespace, key, writer, expected_version)
        old = memories.version(db, current.id, version)
        if old is None:
            raise NotFound(f"{address_of(current)} has no version {version}")
        lifted = tombstones.matching(db, (home_scope(current),), current.key, old.value)
        for one in lifted:
            tombstones.lift(db, one.id, writer.actor, writer.now_ms)
        proposal = replace(as_proposal(old), occurred_ms=memories.occurred_ms(db, old.version_id))
        if canonical(old.value) != canonical(current.value):  # other words hold from now on
            proposal = replace(
                proposal,
                valid_from_ms=writer.now_ms,
                valid_from_precision=Precision.MS,
                valid_to_ms=None,
                valid_to_precision=None,
            )
        kept = [(e.id, quote, e.session_id) for e, quote in memories.evidence(db, old.version_id)]
        why = cleaned(writer, reason) or f"version {version} again"
        outcome = supersede(db, current, proposal, writer, Trust.VERIFIED, [], "reverted", why)
        if outcome.memory is not None:
            memories.add_evidence(db, outcome.memory.version_id, kept)
        release_same(db, [one.memory_id for one in lifted], old.value, writer, why)
        return replace(outcome, reason=why)


def give(db: Connection, namespace: str, key: str, project_id: str, writer: Writer) -> Outcome:
    """Let what only a person saw, for want of a known project, be the project's from now on.

    Raises: NotFound.
    """
    with transaction(db):
        current = memories.find(db, namespace, key)
        if current is None or not namespace.startswith("claude."):
            raise NotFound(f"there is no memory {namespace}/{key} of Claude's own files")
        if current.project_id is not None:
            return Outcome("unchanged", current)
        memories.give(db, current.id, project_id, projects.scope_id(db, project_id))
        projects.rescope_vectors(db, current.id)
        note(db, writer, current, "given", f"its project is known now: {project_id}")
        return Outcome("given", memories.find(db, namespace, key))


def withdraw(db: Connection, namespace: str, key: str, writer: Writer, *, by: str, reason: str) -> Outcome:
    """Hide what has nothing left to stand on; when something says it again, it is there again.

    `by`: what took its evidence away. Raises: NotFound, GateRefused.
    """
    only_a_person(writer, "takes evidence away")
    with transaction(db):
        current = standing_at(db, namespace, key, writer)
        if not allows("deleted", current):
            return Outcome("unchanged", current)
        return hidden(db, current, writer, State.DELETED, "deleted", f"{WITHDRAWN}{by}", reason)
