"""The one door through which a memory changes."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import sha256

from recorder.capture import literals
from recorder.capture.redact import Redactor
from recorder.config import Capture, home_of
from recorder.errors import Conflict, GateRefused, NotFound
from recorder.models import (
    Channel,
    Event,
    EventKind,
    Evidence,
    Memory,
    MemoryKind,
    Origin,
    PromptClass,
    Proposal,
    Scope,
    Source,
    StoredEvent,
    Trust,
)
from recorder.store import audit, events, findings, memories, projects, relations, sessions
from recorder.store.db import Connection, attempt, transaction

VALUE_LIMIT = 8_000
KEY = re.compile(r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]{0,198}[^\s\x00-\x1f\x7f])?")
NAMESPACE = re.compile(r"(?:user|project\.[a-z0-9-]+|claude\.[A-Za-z0-9-]+)(?:\.[A-Za-z0-9_-]+)*")

# Who may overrule whom under the same key (DESIGN: person > user said > observed > agent, import).
STANDING: Mapping[Channel, int] = {
    Channel.PERSON: 4,
    Channel.USER_SAID: 3,
    Channel.OBSERVED: 2,
    Channel.AGENT: 1,
    Channel.API: 1,
    Channel.IMPORT: 1,
    Channel.CLAUDE_AUTO: 1,
}

# What a machine read can say how things are, never how a person wants them.
NEVER_A_PREFERENCE = frozenset({Origin.TOOL_OUTPUT, Origin.FILE_CONTENT})

SESSIONS_TO_VERIFY = 2

Redact = Callable[[Sequence[str]], list[str]]
"""Texts without their secrets: asked for before a transaction begins, for it may wait."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the gate did: created, corroborated, superseded, unchanged, finding, refused, deleted, restored,
    approved, pinned or given."""

    action: str
    memory: Memory | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes, through which door, from which part of the store, and when."""

    channel: Channel
    actor: str
    scope: Scope
    now_ms: int
    typed_is_verified: bool = True


@cache
def _redactor() -> Redactor:
    return Redactor(Capture(), literals.of_home(home_of(os.environ)))


def redact_here(texts: Sequence[str]) -> list[str]:
    """The texts without secrets, by the rules loaded into this process."""
    return _redactor().texts(texts)


def canonical(value: str) -> str:
    """The value with everything taken away that does not change what it says: form, case, white space, marks
    that are not seen."""
    folded = unicodedata.normalize("NFKC", value).casefold()
    seen = "".join(c for c in folded if unicodedata.category(c) not in {"Cf", "Cc"} or c.isspace())
    return " ".join(seen.split()).rstrip(".")


def scope_of(namespace: str) -> str | None:
    """The scope row a namespace lies in: `user`, or a project's id; None for what is not an address."""
    if not NAMESPACE.fullmatch(namespace):
        return None
    head, _, rest = namespace.partition(".")
    return "user" if head == "user" else rest.partition(".")[0]


def propose(
    db: Connection,
    proposal: Proposal,
    channel: Channel,
    *,
    actor: str,
    scope: Scope,
    now_ms: int,
    typed_is_verified: bool = True,
    redact: Redact = redact_here,
) -> Outcome:
    """Decide about one proposal, in one transaction with its history and its audit row.

    A refusal is an outcome and is audited too; nothing of the refused value is kept but a keyed digest.
    """
    return _judge(db, _redacted(proposal, redact), Writer(channel, actor, scope, now_ms, typed_is_verified), _decide)


def tell(
    db: Connection,
    proposal: Proposal,
    channel: Channel,
    *,
    actor: str,
    scope: Scope,
    session_id: str | None,
    now_ms: int,
    redact: Redact = redact_here,
) -> Outcome:
    """Decide about what somebody says to us: its evidence is that they said it, kept as a statement of the session.

    Of what is refused no statement stays either.
    """

    def keep_and_decide(db: Connection, clean: Proposal, writer: Writer) -> Outcome:
        with attempt(db):
            said = _statement(db, clean, writer, session_id)
            return _decide(db, replace(clean, evidence=(said,)), writer)

    return _judge(db, _redacted(proposal, redact), Writer(channel, actor, scope, now_ms), keep_and_decide)


def _judge(
    db: Connection, clean: Proposal, writer: Writer, decide: Callable[[Connection, Proposal, Writer], Outcome]
) -> Outcome:
    with transaction(db):
        try:
            return decide(db, clean, writer)
        except GateRefused as refused:
            _audit(db, writer, "refused", f"{clean.namespace}/{clean.key}", clean.value, refused.reason)
            return Outcome("refused", None, f"{refused.reason}: {refused}")


def _decide(db: Connection, proposal: Proposal, writer: Writer) -> Outcome:
    """Every refusal comes before the first write."""
    _check_address(db, proposal.namespace, proposal.key, writer)
    if not proposal.value.strip():
        raise GateRefused("empty", "an empty value says nothing: give one")
    if len(proposal.value) > VALUE_LIMIT:
        raise GateRefused("size", f"{len(proposal.value)} characters are too many: at most {VALUE_LIMIT}")
    if proposal.kind is MemoryKind.PREFERENCE and proposal.origin in NEVER_A_PREFERENCE:
        raise GateRefused("origin", "text from tools, files or the web never becomes a preference without a person")
    cited = _check_evidence(db, proposal, writer)
    trust = _trust(proposal, writer, cited)
    current = memories.find(db, proposal.namespace, proposal.key)
    if current is None:
        return _create(db, proposal, writer, trust, cited)
    same = canonical(current.value) == canonical(proposal.value)
    if current.deleted:
        return _at_deleted(db, current, proposal, writer, trust, cited, same=same)
    if same:
        return _corroborate(db, current, proposal, writer, trust, cited)
    if memories.had(db, current.id, proposal.value, [event.id for event in cited]):
        return Outcome("unchanged", current, "this was said before, and superseded")
    if _outranked(db, current, proposal, writer, trust):
        return _open_finding(
            db, current, proposal, writer, "something of higher standing, or said later, stands under this key"
        )
    return _supersede(db, current, proposal, writer, trust, cited)


def _at_deleted(
    db: Connection,
    current: Memory,
    proposal: Proposal,
    writer: Writer,
    trust: Trust,
    cited: list[StoredEvent],
    *,
    same: bool,
) -> Outcome:
    """What becomes of a proposal where a memory was deleted: a person's later words stand, another value waits for a
    person, and the deleted value does not come back by itself."""
    said_ms = proposal.occurred_ms if proposal.occurred_ms is not None else writer.now_ms
    later = writer.channel is Channel.USER_SAID and said_ms > memories.deleted_ms(db, current.id)
    if writer.channel is Channel.PERSON or (later and trust is Trust.VERIFIED):
        return _supersede(db, current, proposal, writer, trust, cited)
    if same:
        raise GateRefused("deleted", f"{current.key} was deleted: only a person brings it back")
    return _open_finding(db, current, proposal, writer, f"{current.key} was deleted, and something else is proposed")


def _check_address(db: Connection, namespace: str, key: str, writer: Writer) -> None:
    scope = writer.scope
    row = scope_of(namespace)
    if row is None:
        raise GateRefused("namespace", f"'{namespace}' is no address: use user, user.<name> or project.<id>")
    if namespace.startswith("claude."):
        # Claude's own files belong to the project whose sync writes them; anybody else changes what is there already.
        there = memories.find(db, namespace, key)
        if writer.channel is not Channel.CLAUDE_AUTO and (there is None or not memories.visible(db, there, scope)):
            raise GateRefused("scope", f"there is no namespace '{namespace}' here")
    elif row not in scope.names:
        raise GateRefused("scope", f"there is no namespace '{namespace}' here")
    if not KEY.fullmatch(key):
        raise GateRefused("key", f"{key[:80]!r} is no key: 1 to 200 printable characters without outer spaces")


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
    there = memories.channel_of(db, current.version_id)
    if STANDING[writer.channel] < STANDING[there]:
        return True
    if writer.channel is Channel.PERSON:
        return False
    if current.trust is Trust.VERIFIED and trust is not Trust.VERIFIED and writer.channel is not Channel.OBSERVED:
        return True
    said_ms = proposal.occurred_ms if proposal.occurred_ms is not None else writer.now_ms
    # A clock that was ahead must not overrule all that is said until its time has come.
    return said_ms < min(memories.occurred_ms(db, current.version_id), writer.now_ms)


def _create(db: Connection, proposal: Proposal, writer: Writer, trust: Trust, cited: list[StoredEvent]) -> Outcome:
    row = scope_of(proposal.namespace)
    project_id = writer.scope.project_id if proposal.namespace.startswith("claude.") or row != "user" else None
    proposed_by_machine = row == "user" and trust is not Trust.VERIFIED
    memory_id = memories.create(
        db,
        proposal,
        scope_id=_scope_id(db, proposal.namespace, project_id),
        project_id=project_id,
        home_project_id=writer.scope.project_id if proposed_by_machine else None,
        now_ms=writer.now_ms,
    )
    return _version(db, memory_id, proposal, writer, trust, cited, "created")


def _scope_id(db: Connection, namespace: str, project_id: str | None) -> int | None:
    """The scope row something new lies in; none, so that a person alone sees it, for files of Claude's of which
    nobody knows the project."""
    if project_id is None and namespace.startswith("claude."):
        return None
    return projects.scope_id(db, project_id or "user")


def _supersede(
    db: Connection, current: Memory, proposal: Proposal, writer: Writer, trust: Trust, cited: list[StoredEvent]
) -> Outcome:
    return _version(db, current.id, proposal, writer, trust, cited, "superseded")


def _corroborate(
    db: Connection, current: Memory, proposal: Proposal, writer: Writer, trust: Trust, cited: list[StoredEvent]
) -> Outcome:
    """Add the evidence; when the trust rises by it, that is a new version, so that the past stays what it was."""
    new = memories.add_evidence(db, current.version_id, _evidence_rows(proposal, cited))
    seen = memories.sessions_of(db, current.version_id)
    risen = writer.channel is Channel.OBSERVED and seen >= SESSIONS_TO_VERIFY
    if current.trust is Trust.CANDIDATE and (trust is Trust.VERIFIED or risen):
        kept = [(e.id, quote, e.session_id) for e, quote in memories.evidence(db, current.version_id)]
        outcome = _version(
            db, current.id, replace(proposal, value=current.value), writer, Trust.VERIFIED, cited, "verified"
        )
        if outcome.memory is not None:
            memories.add_evidence(db, outcome.memory.version_id, kept)
        return replace(outcome, action="corroborated")
    if new:
        memories.add_history(
            db,
            current.id,
            current.version_id,
            action="corroborated",
            channel=writer.channel,
            actor=writer.actor,
            reason=None,
            now_ms=writer.now_ms,
            content={"events": [event.id for event in cited]},
        )
        _audit(db, writer, "corroborated", _address(current), current.value, None)
    return Outcome("corroborated" if new else "unchanged", memories.find(db, current.namespace, current.key))


def _version(
    db: Connection,
    memory_id: int,
    proposal: Proposal,
    writer: Writer,
    trust: Trust,
    cited: list[StoredEvent],
    action: str,
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
        reason=None,
        now_ms=writer.now_ms,
        content={"events": [event.id for event in cited]},
    )
    _audit(db, writer, action, f"{proposal.namespace}/{proposal.key}", proposal.value, None)
    return Outcome(action, memories.find(db, proposal.namespace, proposal.key))


def _open_finding(db: Connection, current: Memory, proposal: Proposal, writer: Writer, why: str) -> Outcome:
    # A file that goes back and forth between two texts asks once.
    if writer.channel is Channel.CLAUDE_AUTO and findings.raised(db, current.id, proposal.value):
        return Outcome("unchanged", current, f"{why}: a finding says so already")
    findings.add(
        db,
        "conflict",
        memory_id=current.id,
        project_id=current.project_id,
        proposal=asdict(proposal) | {"channel": writer.channel.value, "actor": writer.actor},
        reason=why,
        now_ms=writer.now_ms,
    )
    _audit(db, writer, "finding", _address(current), proposal.value, why)
    return Outcome("finding", current, f"{why}: a person decides")


def _evidence_rows(proposal: Proposal, cited: list[StoredEvent]) -> list[tuple[int, str, str]]:
    return [(event.id, given.quote, event.session_id) for given, event in zip(proposal.evidence, cited, strict=True)]


def delete(
    db: Connection,
    namespace: str,
    key: str,
    *,
    channel: Channel,
    actor: str,
    scope: Scope,
    reason: str | None,
    now_ms: int,
    expected_version: int | None = None,
    redact: Redact = redact_here,
) -> Outcome:
    """Hide the memory; it can be restored. From a channel that what stands there outranks: a proposal to delete.

    Raises: NotFound, Conflict.
    """
    writer = Writer(channel, actor, scope, now_ms)
    why = _clean(reason, redact)
    with transaction(db):
        current = _standing_at(db, namespace, key, scope, expected_version, channel)
        if current.deleted:
            return Outcome("unchanged", current)
        if _may_not_touch(db, current, channel):
            findings.add(
                db,
                "delete_proposal",
                memory_id=current.id,
                project_id=current.project_id,
                proposal={"actor": actor, "channel": channel.value},
                reason=why or "no reason given",
                now_ms=now_ms,
            )
            _audit(db, writer, "delete_proposed", _address(current), current.value, why)
            return Outcome("finding", current, "this outranks the caller: the wish to delete it waits for a person")
        memories.set_deleted(db, current.id, now_ms, channel.value)
        return _noted(db, current, writer, "deleted", why)


def restore(
    db: Connection,
    namespace: str,
    key: str,
    *,
    channel: Channel,
    actor: str,
    scope: Scope,
    reason: str | None,
    now_ms: int,
) -> Outcome:
    """Show a deleted memory again. Only a person restores what a person deleted.

    Raises: NotFound, GateRefused.
    """
    writer = Writer(channel, actor, scope, now_ms)
    why = _clean(reason)
    with transaction(db):
        current = _standing_at(db, namespace, key, scope, None, channel)
        if not current.deleted:
            return Outcome("unchanged", current)
        if channel is not Channel.PERSON and memories.deleted_by(db, current.id) == Channel.PERSON.value:
            raise GateRefused("ceiling", f"a person deleted {key}: only a person restores it")
        memories.set_deleted(db, current.id, None, None)
        return _noted(db, current, writer, "restored", why)


def approve(
    db: Connection,
    namespace: str,
    key: str,
    *,
    channel: Channel,
    actor: str,
    scope: Scope,
    reason: str | None,
    now_ms: int,
) -> Outcome:
    """A person says the value is right: a new version of it, verified.

    Raises: NotFound, GateRefused.
    """
    writer = _person(Writer(channel, actor, scope, now_ms), "approves")
    why = _clean(reason)
    with transaction(db):
        current = _standing_at(db, namespace, key, scope, None)
        if current.trust is Trust.VERIFIED:
            return Outcome("unchanged", current)
        kept = [(e.id, quote, e.session_id) for e, quote in memories.evidence(db, current.version_id)]
        version_id = memories.add_version(
            db, current.id, _as_proposal(current), trust=Trust.VERIFIED, channel=channel, now_ms=now_ms
        )
        memories.add_evidence(db, version_id, kept)
        return _noted(db, replace(current, version_id=version_id), writer, "approved", why)


def pin(
    db: Connection,
    namespace: str,
    key: str,
    *,
    channel: Channel,
    actor: str,
    scope: Scope,
    pinned: bool,
    now_ms: int,
) -> Outcome:
    """Let the memory go first in the brief, or no longer.

    Raises: NotFound, GateRefused.
    """
    writer = _person(Writer(channel, actor, scope, now_ms), "pins")
    with transaction(db):
        current = _standing_at(db, namespace, key, scope, None)
        memories.set_pinned(db, current.id, pinned)
        return _noted(db, current, writer, "pinned" if pinned else "unpinned", None)


def _person(writer: Writer, does: str) -> Writer:
    """The writer, who must be a person.

    Raises: GateRefused.
    """
    if writer.channel is not Channel.PERSON:
        raise GateRefused("ceiling", f"only a person {does}: do it in a terminal outside Claude Code")
    return writer


def link(
    db: Connection,
    source: tuple[str, str],
    target: tuple[str, str],
    relation: str,
    *,
    channel: Channel,
    actor: str,
    scope: Scope,
    now_ms: int,
    redact: Redact = redact_here,
) -> int:
    """The id of the link between two memories the caller sees.

    Raises: NotFound, GateRefused.
    """
    writer = Writer(channel, actor, scope, now_ms)
    name = redact([relation])[0].strip()
    if not re.fullmatch(r"[\w .:-]{1,60}", name):
        raise GateRefused("relation", f"{relation[:60]!r} is no relation: 1 to 60 letters, digits or '_ .:-'")
    with transaction(db):
        from_memory = _standing_at(db, *source, scope, None)
        to_memory = _standing_at(db, *target, scope, None)
        found = relations.add(db, from_memory.id, to_memory.id, name, actor=actor, now_ms=now_ms)
        _audit(db, writer, "linked", f"{_address(from_memory)} → {_address(to_memory)}", name, None)
        return found


def unlink(db: Connection, relation_id: int, *, channel: Channel, actor: str, scope: Scope, now_ms: int) -> None:
    """Take a link away both ends of which the caller sees.

    Raises: NotFound.
    """
    writer = Writer(channel, actor, scope, now_ms)
    with transaction(db):
        found = relations.get(db, relation_id)
        ends = memories.get(db, [found.from_id, found.to_id]) if found else []
        if found is None or not all(memories.visible(db, memory, scope) for memory in ends):
            raise NotFound(f"there is no relation {relation_id} here")
        relations.remove(db, relation_id)
        _audit(db, writer, "unlinked", str(relation_id), found.relation, None)


def give(
    db: Connection, namespace: str, key: str, project_id: str, *, channel: Channel, actor: str, now_ms: int
) -> Outcome:
    """Let what only a person saw, for want of a known project, be the project's from now on.

    Raises: NotFound.
    """
    writer = Writer(channel, actor, Scope(project_id), now_ms)
    with transaction(db):
        current = memories.find(db, namespace, key)
        if current is None or not namespace.startswith("claude."):
            raise NotFound(f"there is no memory {namespace}/{key} of Claude's own files")
        if current.project_id is not None:
            return Outcome("unchanged", current)
        memories.give(db, current.id, project_id, projects.scope_id(db, project_id))
        projects.rescope_vectors(db, current.id)
        return _noted(db, current, writer, "given", f"its project is known now: {project_id}")


def _statement(db: Connection, proposal: Proposal, writer: Writer, session_id: str | None) -> Evidence:
    """What somebody said to the gate, kept as an event, so that a memory can point at it."""
    said = proposal.value
    told = f"{writer.channel}:{writer.actor}:{writer.now_ms}:{said}"
    session = session_id or "gate"
    key = f"g:{session}:{sha256(told.encode('utf-8', 'backslashreplace')).hexdigest()[:24]}"
    known = events.id_of_key(db, key)
    if known is not None:
        return Evidence(known, said)
    event = Event(
        key=key,
        kind=EventKind.STATEMENT,
        session_id=session,
        at_ms=writer.now_ms,
        source=Source.GATE,
        body={"text": said, "channel": writer.channel.value, "actor": writer.actor},
        ref=key,
    )
    project_id = writer.scope.project_id
    sessions.see(
        db,
        session,
        first_ms=writer.now_ms,
        last_ms=writer.now_ms,
        cwd=None,
        project_id=project_id if session_id else None,
        transcript_path=None,
        branch=None,
        hook_events=0,
    )
    # The memory itself is indexed; its statement would be the same words twice.
    event_id = events.insert(
        db,
        event,
        project_id=project_id,
        scope_id=_scope_id(db, proposal.namespace, project_id),
        received_ms=writer.now_ms,
        excerpt="",
        narrow="",
        healed=False,
    )
    events.index(db, event_id - 1)
    events.sight_all(db, [(event_id, event, None)])
    return Evidence(event_id, said)


def _redacted(proposal: Proposal, redact: Redact) -> Proposal:
    value, key, *tags = redact([proposal.value, proposal.key, *proposal.tags[:20]])
    return replace(
        proposal,
        value=value,
        key=key,
        tags=tuple(tag[:60] for tag in tags),
        importance=min(1.0, max(0.0, proposal.importance)),
        confidence=min(1.0, max(0.0, proposal.confidence)),
    )


def _as_proposal(memory: Memory) -> Proposal:
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
    )


def _standing_at(
    db: Connection,
    namespace: str,
    key: str,
    scope: Scope,
    expected_version: int | None,
    channel: Channel | None = None,
) -> Memory:
    """The memory at the address if the caller may see it; the sync sees what it made.

    Raises: NotFound, Conflict.
    """
    current = memories.find(db, namespace, key)
    of_sync = channel is Channel.CLAUDE_AUTO and namespace.startswith("claude.")
    if current is None or not (of_sync or memories.visible(db, current, scope)):
        raise NotFound(f"there is no memory {namespace}/{key} here")
    if expected_version is not None and current.version != expected_version:
        raise Conflict(f"{namespace}/{key} is at version {current.version} now, not {expected_version}: read it again")
    return current


def _may_not_touch(db: Connection, current: Memory, channel: Channel) -> bool:
    if channel is Channel.PERSON:
        return False
    return (
        current.trust is not Trust.CANDIDATE
        or memories.pinned(db, current.id)
        or STANDING[channel] < STANDING[memories.channel_of(db, current.version_id)]
    )


def _clean(reason: str | None, redact: Redact = redact_here) -> str | None:
    return None if reason is None else redact([reason])[0]


def _noted(db: Connection, memory: Memory, writer: Writer, action: str, why: str | None) -> Outcome:
    memories.add_history(
        db,
        memory.id,
        memory.version_id,
        action=action,
        channel=writer.channel,
        actor=writer.actor,
        reason=why,
        now_ms=writer.now_ms,
    )
    _audit(db, writer, action, _address(memory), memory.value, why)
    return Outcome(action, memories.find(db, memory.namespace, memory.key))


def _address(memory: Memory) -> str:
    return f"{memory.namespace}/{memory.key}"


def _audit(db: Connection, writer: Writer, action: str, subject: str, detail: str, reason: str | None) -> None:
    audit.append(
        db,
        at_ms=writer.now_ms,
        actor=writer.actor,
        channel=writer.channel.value,
        action=action,
        subject=subject,
        detail=json.dumps([subject, detail]),
        reason=reason,
    )
