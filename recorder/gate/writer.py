"""Who writes, what came of it, and the redaction every word passes first."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from recorder.capture import literals
from recorder.capture.redact import Redactor
from recorder.config import Capture, home_of
from recorder.errors import GateRefused
from recorder.models import Channel, Memory, Scope
from recorder.store import audit, jobs, memories
from recorder.store.db import Connection

CONFLICTS = "conflicts"
"""The job that looks whether what changed goes together with what stands."""

Redact = Callable[[Sequence[str]], list[str]]
"""Texts without their secrets: asked for before a transaction begins, for it may wait."""


@cache
def _redactor() -> Redactor:
    return Redactor(Capture(), literals.of_home(home_of(os.environ)))


def redact_here(texts: Sequence[str]) -> list[str]:
    """The texts without secrets, by the rules loaded into this process."""
    return _redactor().texts(texts)


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes, through which door, from which part of the store, when, and with whose redaction."""

    channel: Channel
    actor: str
    scope: Scope
    now_ms: int
    typed_is_verified: bool = True
    redact: Redact = redact_here

    @property
    def is_person(self) -> bool:
        return self.channel is Channel.PERSON


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the gate did: created, corroborated, superseded, unchanged, finding, refused, or the verb's own word.

    `also` counts what went with it: suppressed memories, lifted tombstones.
    """

    action: str
    memory: Memory | None = None
    reason: str = ""
    also: int = 0


def address_of(memory: Memory) -> str:
    """Namespace and key as one text."""
    return f"{memory.namespace}/{memory.key}"


def only_a_person(writer: Writer, does: str) -> None:
    """Let nobody pass but a person.

    Raises: GateRefused.
    """
    if not writer.is_person:
        raise GateRefused("ceiling", f"only a person {does}: in the dashboard, or in a terminal outside Claude Code")


def cleaned(writer: Writer, reason: str | None) -> str | None:
    """The reason without secrets."""
    return None if reason is None else writer.redact([reason])[0]


def note(
    db: Connection,
    writer: Writer,
    memory: Memory,
    action: str,
    why: str | None = None,
    content: object = None,
) -> None:
    """A line of the memory's history, and the audit row beside it."""
    memories.add_history(
        db,
        memory.id,
        memory.version_id,
        action=action,
        channel=writer.channel,
        actor=writer.actor,
        reason=why,
        now_ms=writer.now_ms,
        content=content,
    )
    changed(db, writer)
    audited(db, writer, action, address_of(memory), memory.value, why)


def changed(db: Connection, writer: Writer) -> None:
    """Have somebody look for conflicts, when nothing else is to be done."""
    jobs.ask(db, CONFLICTS, "memories", due_ms=writer.now_ms, now_ms=writer.now_ms, behind=True)


def audited(db: Connection, writer: Writer, action: str, subject: str, detail: str, reason: str | None) -> None:
    """A row of the audit: of subject and detail a keyed digest alone."""
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
