"""What was rejected stays out, through every door, until a person says it again."""

from __future__ import annotations

from recorder.errors import GateRefused
from recorder.gate.address import home_scope
from recorder.gate.writer import Writer, audited
from recorder.models import Channel, EventKind, Memory, PromptClass, Proposal, StoredEvent
from recorder.store import denials, tombstones
from recorder.store.db import Connection


def pass_by(db: Connection, proposal: Proposal, writer: Writer, cited: list[StoredEvent]) -> int:
    """Let the proposal pass the tombstones and denials on its value; how many a person's word lifted.

    Raises: GateRefused where one stands and nobody may lift it.
    """
    denied = denials.of_value(db, proposal.value)
    standing = tombstones.matching(db, _scopes(proposal, writer), proposal.key, proposal.value)
    for since_ms, reason in [(at, "forgotten") for at in denied] + [(one.created_ms, "tombstone") for one in standing]:
        if not _says_it_again(writer, proposal, cited, since_ms):
            raise GateRefused(reason, "a person said that this is not so: only a person brings it back")
    for one in standing:
        tombstones.lift(db, one.id, writer.actor, writer.now_ms)
    if denied:
        denials.lift_value(db, proposal.value)
    if standing or denied:
        audited(db, writer, "lifted", f"{proposal.namespace}/{proposal.key}", proposal.value, "said again")
    return len(standing) + len(denied)


def lay(db: Connection, memory: Memory, value: str, writer: Writer, cause: str, why: str | None) -> None:
    """Refuse a value of the memory from now on."""
    tombstones.lay(
        db,
        scope=home_scope(memory),
        key=memory.key,
        value=value,
        cause=cause,
        memory_id=memory.id,
        actor=writer.actor,
        channel=writer.channel.value,
        reason=why,
        now_ms=writer.now_ms,
    )


def _scopes(proposal: Proposal, writer: Writer) -> tuple[str, ...]:
    return (*writer.scope.names, proposal.namespace)


def _says_it_again(writer: Writer, proposal: Proposal, cited: list[StoredEvent], since_ms: int) -> bool:
    """Whether a person says so: at a door of theirs, or in a typed prompt that was recorded after the rejection.

    The recorded prompt counts, not what a writer says of it.
    """
    if writer.channel is Channel.PERSON:
        return True
    typed = [e for e in cited if e.kind is EventKind.PROMPT and e.klass is PromptClass.TYPED and e.at_ms > since_ms]
    return writer.channel is Channel.USER_SAID and proposal.explicit and bool(typed)
