"""Where a memory may stand: namespaces, keys, and who may write to which."""

from __future__ import annotations

import re
from dataclasses import replace
from unicodedata import category

from recorder.errors import GateRefused
from recorder.gate.writer import Writer
from recorder.models import Channel, Memory, Proposal
from recorder.store import memories, projects
from recorder.store.db import Connection

LONGEST = 200
LONGEST_NAMESPACE = 240
"""Claude Code cuts a project's name at 200 signs and puts a hash behind it (2.1.197); ours go around that."""
JOINER = "\u200d"
"""Unseen too, but signs are made of several with it."""
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
NAMESPACE = re.compile(r"(?:user|project\.[a-z0-9-]+|claude\.[A-Za-z0-9-]+)(?:\.[A-Za-z0-9_-]+)*")


def scope_of(namespace: str) -> str | None:
    """The scope row a namespace lies in: `user`, or a project's id; None for what is not an address."""
    if not NAMESPACE.fullmatch(namespace):
        return None
    head, _, rest = namespace.partition(".")
    return "user" if head == "user" else rest.partition(".")[0]


def check(db: Connection, namespace: str, key: str, writer: Writer) -> None:
    """Let nothing pass but an address the writer may write to.

    Raises: GateRefused.
    """
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
    if len(namespace) > LONGEST_NAMESPACE:
        raise GateRefused(
            "namespace", f"a namespace of {len(namespace)} characters is too long: at most {LONGEST_NAMESPACE}"
        )
    if not is_key(key):
        raise GateRefused(
            "key",
            f"{key[:80]!r} is no key: 1 to {LONGEST} characters that can be seen, without outer spaces; not . or ..",
        )


def is_key(key: str) -> bool:
    """Whether a key can be seen for what it is, and named in an address: programs take `..` for a step back."""
    outer_spaces = key != key.strip() or not key
    unseen = any(category(one) in UNSEEN and one != JOINER for one in key)
    return not (outer_spaces or unseen or len(key) > LONGEST or key in (".", ".."))


def apart(db: Connection, proposal: Proposal, writer: Writer) -> Proposal:
    """The proposal, at the next free key where under its own stands what the writer may not see: a word about the
    person that was proposed in another project, and that nobody verified."""
    key, number = proposal.key, 1
    while True:
        there = memories.find(db, proposal.namespace, key)
        foreign = there is not None and there.home_project_id not in (None, writer.scope.project_id or "")
        if not foreign or there is None or memories.visible(db, there, writer.scope):
            return replace(proposal, key=key)
        number += 1
        key = f"{proposal.key}.{number}"


def proposed_in(current: Memory, writer: Writer) -> str | None:
    """The project in which what somebody proposed about a memory is told: of the person's own memories the proposer's,
    as with what is proposed there anew, "" outside every one; None is everywhere: what a person says."""
    if current.project_id is not None or writer.is_person:
        return current.project_id
    return writer.scope.project_id or ""


def scope_id(db: Connection, namespace: str, project_id: str | None) -> int | None:
    """The scope row something new lies in; none, so that a person alone sees it, for files of Claude's of which nobody
    knows the project."""
    if project_id is None and namespace.startswith("claude."):
        return None
    return projects.scope_id(db, project_id or "user")


def home_scope(memory: Memory) -> str:
    """The scope a memory's rejection counts in: the person's, or its project's."""
    return memory.project_id or ("user" if memory.namespace.split(".")[0] == "user" else memory.namespace)
