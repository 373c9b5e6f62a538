"""One decision of a person about something that waits, carried out and then looked for in recall."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from recorder import gate
from recorder.errors import Conflict, GateRefused, NotFound
from recorder.gate import queue
from recorder.gate.queue import Item
from recorder.models import MemoryKind, Origin, Proposal, Scope
from recorder.recall import fence, reached
from recorder.store import memories
from recorder.store.db import Connection


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person wants done with one item, and what they looked at."""

    verb: str
    reason: str
    value: str = ""
    version: int | None = None
    """Of the memory it is about."""
    digest: str = ""
    """Of either side."""
    new_digest: str = ""
    """Of what came later, where there are two."""


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a decision."""

    action: str
    reached: reached.Reached | None = None


def found(db: Connection, name: str, scope: Scope, *, everywhere: bool = False) -> Item:
    """The item with this id, if it belongs here.

    Raises: NotFound.
    """
    item = queue.item(db, name)
    if item is None or not (everywhere or item.scope.project_id in (None, scope.project_id)):
        raise NotFound(f"there is nothing {name} here: `recorder review --list` shows what waits")
    kept = everywhere or item.scope.project_id or item.scope.undecided
    return replace(item, scope=item.scope if kept else scope)


def decide(db: Connection, item: Item, decision: Decision, writer: gate.Writer) -> Done:
    """Let the gate do it in the item's own scope, and ask recall whether it got there.

    Raises: Conflict when something else stands there than what was looked at.
    """
    looked_at = [side.digest for side in (item.old, item.new) if side is not None]
    other = decision.new_digest and (item.new is None or decision.new_digest != item.new.digest)
    if other or (decision.digest and decision.digest not in looked_at):
        raise Conflict(f"{item.id} says something else by now: read it again")
    if decision.version is not None and item.old is not None and decision.version != item.old.version:
        raise Conflict(
            f"{item.old.address} is at version {item.old.version} now, not {decision.version}: read it again"
        )
    lone = _is_undecided(db, item)
    writer = replace(writer, scope=Scope(None, undecided=True) if lone else item.scope)
    carry_out = _settled if item.id.startswith("f") else _of_memory
    done = carry_out(db, item, decision, writer)
    return replace(done, reached=None) if lone else done


def _is_undecided(db: Connection, item: Item) -> bool:
    """Whether it is about a file of Claude's whose project nobody knows: recall says nothing of it to anybody."""
    namespace, _, key = item.old.address.partition("/") if item.old is not None else ("", "", "")
    memory = memories.find(db, namespace, key) if namespace.startswith("claude.") else None
    return memory is not None and memory.project_id is None


def _settled(db: Connection, item: Item, decision: Decision, writer: gate.Writer) -> Done:
    seen = [side.value for side in (item.old, item.new) if side is not None and side.version is not None]
    settled = gate.settle(
        db, int(item.id[1:]), decision.verb, writer, decision.reason, decision.value or None, seen=seen
    )
    told = reached.check(db, item.scope, settled.kept, settled.gone, writer.now_ms)
    return Done(f"{decision.verb}: {settled.outcome.action}{_lifted_by_it(db, item, settled)}", told)


def _lifted_by_it(db: Connection, item: Item, settled: gate.Settled) -> str:
    """That a rejection was lifted by what was decided, in words; nothing where none was."""
    was = item.new.rejected_ms if item.new is not None else None
    if was is None or item.new is None or not settled.kept:
        return ""
    lifted = queue.rejected_ms(db, settled.kept[0], item.new.value) is None
    return f", and the rejection of {fence.day(was)} is lifted" if lifted else ""


def _of_memory(db: Connection, item: Item, decision: Decision, writer: gate.Writer) -> Done:
    assert item.old is not None
    side = item.old
    namespace, _, key = side.address.partition("/")
    version = side.version if decision.version is None else decision.version
    why = decision.reason
    verbs: Mapping[str, Callable[[], gate.Outcome]] = {
        "approve": lambda: gate.approve(
            db, namespace, key, writer, reason=why, expected_version=version, expected_value=side.value
        ),
        "reject": lambda: gate.reject(db, namespace, key, writer, reason=why, expected_version=version),
        "delete": lambda: gate.delete(db, namespace, key, writer, reason=why, expected_version=version),
        "lift": lambda: gate.lift(db, namespace, key, writer, reason=why),
        "edit": lambda: _edited(db, namespace, key, decision, writer, version),
    }
    if decision.verb not in verbs:
        raise GateRefused("verb", f"'{decision.verb}' is for findings such as f3; {item.id} is a memory")
    outcome = verbs[decision.verb]()
    if outcome.action == "refused":
        reason, _, message = outcome.reason.partition(": ")
        raise GateRefused(reason, message or reason)
    kept = [outcome.memory] if outcome.memory and decision.verb in ("approve", "edit", "lift") else []
    gone = [] if decision.verb in ("approve", "lift") or decision.value == side.value else [side.value]
    return Done(outcome.action, reached.check(db, item.scope, kept, gone, writer.now_ms))


def _edited(
    db: Connection, namespace: str, key: str, decision: Decision, writer: gate.Writer, version: int | None
) -> gate.Outcome:
    there = memories.find(db, namespace, key)
    if not decision.value.strip():
        raise GateRefused("value", "an edit needs the value that is right: give it")
    proposal = Proposal(
        namespace=namespace,
        key=key,
        value=decision.value,
        kind=there.kind if there else MemoryKind.SEMANTIC,
        origin=Origin.USER_SAID,
        source=writer.actor,
        tags=there.tags if there else (),
        importance=there.importance if there else 0.5,
        expires_ms=gate.expiry_left(there, writer.now_ms),
        explicit=True,
    )
    return gate.tell(db, proposal, writer, expected_version=version)
