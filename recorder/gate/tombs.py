"""What was rejected stays out, through every door, until a person says it again."""

from __future__ import annotations

from collections.abc import Sequence

from recorder.canonical import canonical, says_the_same, worded
from recorder.errors import GateRefused
from recorder.gate.address import home_scope
from recorder.gate.writer import Writer, audited
from recorder.models import Channel, EventKind, Memory, PromptClass, Proposal, StoredEvent, Trust
from recorder.store import denials, events, statements, tombstones
from recorder.store.db import Connection
from recorder.store.tombstones import Tombstone

FORGOTTEN = "forgotten"
"""The cause where a person did not say that it is false either: a value too short to be refused everywhere."""
LEFT_OUT = "[left out]"
"""In the place of a reason that says what was rejected or forgotten."""


def pass_by(db: Connection, proposal: Proposal, writer: Writer, cited: list[StoredEvent], *, stands: bool) -> int:
    """Let the proposal pass the tombstones and denials on its value; how many a person's word lifted.

    `stands`: the same is there at its address; that a person deleted it elsewhere takes nothing away from that.

    Raises: GateRefused where one stands and nobody may lift it.
    """
    cited = events.as_seen(db, cited)
    scopes = scopes_of(db, proposal.namespace, writer)
    if not writer.is_person:
        _check_around(db, scopes, proposal)
    denied = [at_ms for text in (proposal.value, *proposal.parts) for at_ms in denials.of_value(db, text)]
    found = {
        one.id: one
        for text in (proposal.value, *proposal.parts)
        for one in tombstones.matching(db, scopes, proposal.key, text)
    }
    standing = [one for one in found.values() if not (stands and one.cause == tombstones.DELETED)]
    for since_ms in denied:
        if not _says_it_again(writer, proposal, cited, since_ms):
            raise GateRefused("forgotten", "a person had this forgotten: only a person brings it back")
    for one in standing:
        if one.cause == tombstones.DELETED:
            if not _said_since(writer, proposal, cited, one.created_ms):
                raise GateRefused("deleted", "a person deleted this: only a person brings it back")
        elif not _says_it_again(writer, proposal, cited, one.created_ms):
            if one.cause == FORGOTTEN:
                raise GateRefused("forgotten", "a person had this forgotten: only a person brings it back")
            raise GateRefused("tombstone", "a person said that this is not so: only a person brings it back")
    for one in standing:
        tombstones.lift(db, one.id, writer.actor, writer.now_ms)
    if denied:
        denials.lift_value(db, proposal.value)
    if standing or denied:
        audited(db, writer, "lifted", f"{proposal.namespace}/{proposal.key}", proposal.value, "said again")
    return len(standing) + len(denied)


def pass_again(db: Connection, memory: Memory, writer: Writer) -> None:
    """Let a hidden memory pass what was refused meanwhile, so that it may be shown again. A person's word lifts that
    they deleted the same elsewhere; what they said is not so is lifted by that verb alone.

    Raises: GateRefused.
    """
    if memory.trust is Trust.REJECTED:  # it is told to nobody all the same
        return
    if is_forgotten(db, memory):
        raise GateRefused("forgotten", "a person had this forgotten: say it again where it is to stand")
    standing = against(db, memory)
    if any(one.cause != tombstones.DELETED for one in standing):
        where = f"{memory.namespace} {memory.key}"
        raise GateRefused("tombstone", f"a person said since that this is not so: they lift that first (lift {where})")
    if not writer.is_person:
        if standing:
            raise GateRefused("deleted", "a person deleted what says this: only a person brings it back")
        _check_around(db, _told_in(db, memory), memory)
    for one in standing:
        tombstones.lift(db, one.id, writer.actor, writer.now_ms)


def against(db: Connection, memory: Memory) -> list[Tombstone]:
    """What refuses the value of a memory, wherever the memory would be told, the oldest first."""
    scopes = _told_in(db, memory)
    found = {
        one.id: one
        for text in (memory.value, *dressed(db, memory, memory.value))
        for one in tombstones.matching(db, scopes, memory.key, text)
    }
    return [found[number] for number in sorted(found)]


def is_forgotten(db: Connection, memory: Memory) -> bool:
    """Whether what a memory says was forgotten."""
    return any(denials.of_value(db, text) for text in (memory.value, *dressed(db, memory, memory.value)))


def _told_in(db: Connection, memory: Memory) -> tuple[str, ...]:
    """The scopes a memory is told in."""
    home = home_scope(memory)
    everywhere = home == "user" and memory.home_project_id is None and memory.trust is not Trust.VERIFIED
    more = (memory.home_project_id,) if memory.home_project_id else tombstones.scopes(db) if everywhere else ()
    return tuple(dict.fromkeys(("user", home, memory.namespace, *more)))


def _check_around(db: Connection, scopes: Sequence[str], said: Proposal | Memory) -> None:
    """Let nothing pass that says around its value, or by its key and its value together, what it may not.

    Raises: GateRefused.
    """
    head, _, below = said.namespace.partition(".")
    below = below if head == "user" else below.partition(".")[2]
    place = f"{below}.{said.key}" if below else said.key
    check_words(db, scopes, (place, *said.tags, " ".join(said.tags)))
    if tombstones.said_across(db, scopes, place, said.value):
        raise GateRefused("tombstone", "its key and its value together say what a person said is not so")
    together = denials.of_value(db, worded(f"{place} {said.value}"))
    if together and not denials.of_value(db, said.value):
        raise GateRefused("forgotten", "its key and its value together say what a person forgot")


def check_words(db: Connection, scopes: Sequence[str], texts: Sequence[str]) -> None:
    """Let nothing pass that says elsewhere, in a key, a tag or the name of a relation, what was rejected or forgotten.

    Raises: GateRefused.
    """
    for text in texts:
        if tombstones.said_in(db, scopes, text):
            raise GateRefused("tombstone", "its key, a tag or a relation says what a person said is not so")
        if denials.of_value(db, worded(text)) or denials.of_value(db, text):
            raise GateRefused("forgotten", "its key, a tag or a relation says what a person forgot")


def fit(db: Connection, writer: Writer, why: str | None) -> str | None:
    """A reason as it may be kept: one that says what was rejected or forgotten is left out, unless a person gives
    it."""
    if why is None or writer.is_person:
        return why
    said = tombstones.said_in(db, writer.scope.names, why) or denials.of_value(db, why)
    return LEFT_OUT if said else why


def lay(
    db: Connection, memory: Memory, value: str, writer: Writer, cause: str, why: str | None, *, instead: str = ""
) -> None:
    """Refuse a value of the memory from now on, and what it says in whatever it was put together with, but for what
    stands in the value that a person put in its place. What that says too, in other signs, is refused as it was
    alone."""
    for text in (value, *(one for one in dressed(db, memory, value) if canonical(one) not in canonical(instead))):
        tombstones.lay(
            db,
            scope=home_scope(memory),
            key=memory.key,
            value=text,
            cause=cause,
            memory_id=memory.id,
            actor=writer.actor,
            channel=writer.channel.value,
            reason=why,
            now_ms=writer.now_ms,
            exact=bool(instead) and says_the_same(text, instead),
        )


def dressed(db: Connection, memory: Memory, value: str) -> list[str]:
    """What the memory says without what it was put together with, where it says this value; nothing where it was
    written as it is."""
    if value != memory.value:
        return []
    return [parts[0] for parts in statements.parts(db, [memory.version_id]) if parts[0] != value]


def scopes_of(db: Connection, namespace: str, writer: Writer) -> tuple[str, ...]:
    """Where a rejection stands against what is written to a namespace: wherever it would be told. What somebody of no
    project says about the person is told in every one; what a project's says about them, there alone at first."""
    everywhere = namespace.partition(".")[0] == "user" and writer.scope.project_id is None and not writer.is_person
    return (*writer.scope.names, namespace, *(tombstones.scopes(db) if everywhere else ()))


def _says_it_again(writer: Writer, proposal: Proposal, cited: list[StoredEvent], since_ms: int) -> bool:
    """Whether a person says so: at a door of theirs, or in a typed prompt that was recorded after the rejection.

    The recorded prompt counts, not what a writer says of it.
    """
    if writer.channel is Channel.PERSON:
        return True
    typed = [e for e in cited if e.kind is EventKind.PROMPT and e.klass is PromptClass.TYPED and e.at_ms > since_ms]
    return writer.channel is Channel.USER_SAID and proposal.explicit and bool(typed)


def _said_since(writer: Writer, proposal: Proposal, cited: list[StoredEvent], since_ms: int) -> bool:
    """Whether a person says so at a door of theirs, or typed it as a rule after it was deleted."""
    typed = any(event.kind is EventKind.PROMPT and event.klass is PromptClass.TYPED for event in cited)
    said_ms = proposal.occurred_ms if proposal.occurred_ms is not None else writer.now_ms
    ruled = writer.channel is Channel.USER_SAID and proposal.explicit and typed
    return writer.is_person or (ruled and said_ms > since_ms)
