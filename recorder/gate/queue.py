"""What waits for a person: candidates, findings, refusals and forgets that are not done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from recorder.gate import labels
from recorder.gate.address import home_scope
from recorder.models import Memory, Scope, Trust
from recorder.store import findings, memories, tombstones
from recorder.store.db import Connection

REFUSED_WITHIN_MS = 7 * 86_400_000
REFUSALS = 20
QUOTES = 3
EVERYTHING = 1_000_000
PAGE = 500
WISHES = findings.WISHES
"""The kinds of finding that are granted or not: nothing else is said in the memory's place."""


@dataclass(frozen=True, slots=True)
class Side:
    """A memory as it stands, or a value that was proposed (without version and trust)."""

    value: str
    address: str
    version: int | None = None
    trust: str | None = None
    state: str | None = None
    source: str = ""
    digest: str = ""
    """Names the exact value: what is approved is what was looked at."""
    evidence: tuple[Mapping[str, Any], ...] = ()
    """`{"quote", "kind", "at_ms"}` each."""
    rejected_ms: int | None = None
    """When a person rejected this very value, where it is still rejected."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to decide about. `id`: m12 a memory, f3 a finding, r7 a refusal, g2 a forget."""

    id: str
    kind: str
    """candidate, disputed, conflict, duplicate, contradiction, delete_proposal, label_proposal, refusal, forget."""
    at_ms: int
    reason: str
    scope: Scope
    """Where it belongs: what is decided about it is decided there."""
    old: Side | None = None
    """The memory, or what stood first."""
    new: Side | None = None
    """What came later: another memory, or a proposal."""
    more: int = 0
    """How many others were proposed about the same memory before."""
    by: str = ""
    """Who wishes it, where it is a wish: channel and name."""


def waiting(db: Connection, scope: Scope | None, now_ms: int, *, limit: int | None = None) -> list[Item]:
    """Everything that waits in the scope, or everywhere for a person: findings first, those about what is verified
    before the others, of one memory the newest alone; then memories, the oldest first; then what was refused lately
    and what is being forgotten. `limit`: about so many findings and memories are enough for a page."""
    found = _grouped(db, scope)
    ids = findings.unverified(db, scope, limit=EVERYTHING if limit is None else max(0, limit - len(found)))
    found += [_of_memory(db, memory) for start in range(0, len(ids), PAGE) for memory in _page(db, ids, start)]
    found += [_of_refusal(one) for one in findings.refusals(db, now_ms - REFUSED_WITHIN_MS, REFUSALS)]
    found += [
        Item(f"g{one['id']}", "forget", one["asked_ms"], "another program reads the store", Scope(None))
        for one in findings.pending_forgets(db)
    ]
    return found


def _page(db: Connection, ids: list[int], start: int) -> list[Memory]:
    return memories.get(db, ids[start : start + PAGE])


def _grouped(db: Connection, scope: Scope | None) -> list[Item]:
    """One item a memory and kind of what was proposed about it; a pair of memories is an item of its own."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for one in findings.listing(db, scope, limit=EVERYTHING):
        alone = one["other_id"] is not None or one["memory_id"] is None
        groups.setdefault((one["id"],) if alone else (one["memory_id"], one["kind"]), []).append(one)
    found = []
    for group in groups.values():
        newest = group[-1]
        older = len(group) - 1
        if newest["other_id"] is None and newest["memory_id"] is not None:
            older += findings.superseded(db, newest["memory_id"], newest["kind"])
        found.append(replace(_of_finding(db, newest), more=older))
    return sorted(found, key=lambda one: (one.old is None or one.old.trust != Trust.VERIFIED, one.at_ms))


def item(db: Connection, name: str) -> Item | None:
    """The thing with this id as it is now; None when it no longer waits."""
    letter, digits = name[:1], name[1:]
    number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else 0
    if letter == "m":
        found = memories.get(db, [number])
        return _of_memory(db, found[0]) if found else None
    finding = findings.get(db, number) if letter == "f" else None
    return _of_finding(db, finding) if finding is not None and finding["state"] == "open" else None


def rejected_ms(db: Connection, memory: Memory, value: str) -> int | None:
    """When a person rejected a value where the memory stands, if that holds; None if nobody did."""
    scopes = (home_scope(memory), memory.namespace)
    standing = tombstones.matching(db, scopes, memory.key, value)
    return max((one.created_ms for one in standing), default=None)


def digest(value: str) -> str:
    """What names a value as it was looked at, to the letter: a command by another case is another command."""
    return sha256(value.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def home_of(memory: Memory) -> Scope:
    """The scope a memory is looked at and decided in by a person."""
    return Scope(memory.project_id or memory.home_project_id or None, undecided=memory.home_project_id == "")


def _of_memory(db: Connection, memory: Memory) -> Item:
    scope = home_of(memory)
    return Item(f"m{memory.id}", memory.trust.value, memory.recorded_ms, "", scope, _side(db, memory))


def _of_finding(db: Connection, finding: Mapping[str, Any]) -> Item:
    sides = {memory.id: memory for memory in memories.get(db, [finding["memory_id"], finding["other_id"] or 0])}
    old, new = sides.get(finding["memory_id"]), sides.get(finding["other_id"] or 0)
    proposed = finding["proposal"]
    later = _side(db, new) if new else None
    if later is None and "value" in proposed:
        later = Side(
            value=str(proposed["value"]),
            address=f"{proposed.get('namespace', '')}/{proposed.get('key', '')}",
            source=f"{proposed.get('channel', '')} {proposed.get('actor', '')}".strip(),
            digest=digest(str(proposed["value"])),
            evidence=tuple({"quote": one["quote"]} for one in proposed.get("evidence", ())[:QUOTES]),
            rejected_ms=rejected_ms(db, old, str(proposed["value"])) if old else None,
        )
    project_id = home_of(old).project_id if old else None
    wish = finding["kind"] in WISHES
    return Item(
        id=f"f{finding['id']}",
        kind=finding["kind"],
        at_ms=finding["created_ms"],
        reason=_reason(finding, old),
        scope=Scope(finding["project_id"] or project_id),
        old=_side(db, old) if old else None,
        new=later,
        by=f"{proposed.get('channel', '')} {proposed.get('actor', '')}".strip() if wish else "",
    )


def _reason(finding: Mapping[str, Any], at: Memory | None) -> str:
    """Why; of a wish for other labels what they would change now, where that is not what was said when it was made."""
    said = finding["reason"] or ""
    if finding["kind"] != labels.WISH or at is None:
        return said
    now = labels.wished(at, finding["proposal"]) or "nothing any more"
    return said if said.startswith(now) else f"now {now}; when it was wished: {said}"


def _of_refusal(refused: Mapping[str, Any]) -> Item:
    why = f"{refused['reason']}, from {refused['actor']} ({refused['channel']})"
    return Item(f"r{refused['id']}", "refusal", refused["at_ms"], why, Scope(None))


def _side(db: Connection, memory: Memory) -> Side:
    quotes = [
        {"quote": quote, "kind": event.kind.value, "at_ms": event.at_ms}
        for event, quote in memories.evidence(db, memory.version_id)[:QUOTES]
    ]
    return Side(
        value=memory.value,
        address=f"{memory.namespace}/{memory.key}",
        version=memory.version,
        trust=memory.trust.value,
        state=memory.state.value,
        source=memory.source,
        digest=digest(memory.value),
        evidence=tuple(quotes),
    )
