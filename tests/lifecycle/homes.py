"""Homes with something in them, for exports, backups and purges."""

from __future__ import annotations

from pathlib import Path

from recorder import gate
from recorder.lifecycle import export, imports, shape
from recorder.models import Channel, MemoryKind, Origin, Proposal, Scope
from recorder.store import denials, memories
from recorder.store.db import Connection, transaction
from tests.memory_samples import NOW_MS, A, B, add_event, add_memory, opened

SPACE_A = f"project.{A.project_id}"
SPACE_B = f"project.{B.project_id}"
DEPLOY = "We deploy with helm from the main branch"
QUEUE = "The queue is Redis Streams, for replay"
FALSE = "Production runs on Kubernetes 1.19"
DROPPED = "The staging host is called larch"
LATER = NOW_MS + 1_000_000


def person(scope: Scope = A, now_ms: int = LATER) -> gate.Writer:
    return gate.Writer(Channel.PERSON, "terminal", scope, now_ms)


def agent(scope: Scope = A, now_ms: int = LATER) -> gate.Writer:
    return gate.Writer(Channel.AGENT, "task:s9", scope, now_ms)


def proposal(value: str, key: str = "other.key", namespace: str = SPACE_A) -> Proposal:
    return Proposal(namespace, key, value, MemoryKind.SEMANTIC, Origin.ASSISTANT_SAID, "test")


def furnished(folder: Path) -> Connection:
    """A home in which everything happened that an export holds: versions, evidence of real events, a relation, a
    rejected value with what was drawn from it, a deleted one, a pinned one, one of the person's and one of B's."""
    db = opened(folder)
    said = add_event(db, A, f"Decision: {DEPLOY}, no more scripts")
    add_memory(db, A, "decision.deploy", "We deploy with scripts", channel=Channel.AGENT)
    add_memory(db, A, "decision.deploy", DEPLOY, at_ms=NOW_MS + 1000)
    add_memory(db, A, "decision.queue", f"Decision: {DEPLOY}, no more scripts", cites=[said], channel=Channel.AGENT)
    add_memory(db, A, "fact.cluster", FALSE, channel=Channel.AGENT)
    add_memory(db, A, "fact.drawn", "Cron jobs need batch/v1beta1", channel=Channel.AGENT)
    gate.link(db, (SPACE_A, "fact.drawn"), (SPACE_A, "fact.cluster"), gate.DERIVED, person())
    gate.link(db, (SPACE_A, "decision.queue"), (SPACE_A, "decision.deploy"), "about", person())
    gate.reject(db, SPACE_A, "fact.cluster", person(), reason="it is 1.31")
    add_memory(db, A, "fact.host", DROPPED)
    gate.delete(db, SPACE_A, "fact.host", person(), reason="renamed")
    gate.pin(db, SPACE_A, "decision.deploy", person(), pinned=True)
    add_memory(db, Scope(None), "preference.editor", "I prefer vim", namespace="user", tags=("tools",))
    add_memory(db, B, "decision.deploy", QUEUE, at_ms=NOW_MS + 5)
    return db


def exported(db: Connection, path: Path, project_id: str | None = None) -> Path:
    export.write(db, path, project_id=project_id, now_ms=LATER)
    return path


def imported(db: Connection, path: Path, *, skip: bool = False, now_ms: int = LATER + 1) -> imports.Summary:
    return imports.take(db, shape.read(path.read_bytes(), path.name), skip=skip, actor="terminal", now_ms=now_ms)


def values(db: Connection) -> dict[str, tuple[str, str, str]]:
    """Address → (value, trust, state) of everything that is in the store."""
    found = {}
    for namespace, key in list(db.execute("select namespace, key from memories where state <> 'forgotten'")):
        memory = memories.find(db, namespace, key)
        if memory is None:  # without a version, as an old accident left it
            continue
        found[f"{namespace}/{key}"] = (memory.value, memory.trust.value, memory.state.value)
    return found


def forget_value(db: Connection, value: str, now_ms: int = LATER) -> None:
    """What forgetting a value leaves behind: the rule."""
    with transaction(db):
        denials.deny_value(db, value, actor="terminal", reason=None, now_ms=now_ms)
