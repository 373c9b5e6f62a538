"""Memories that do not go together: found by looking, told to a person, and disputed where they contradict."""

from __future__ import annotations

from recorder.canonical import canonical
from recorder.gate import alike, tombs
from recorder.gate.decide import renewed
from recorder.gate.hiding import a_persons
from recorder.gate.standing import STANDING, allows
from recorder.gate.writer import Writer, address_of, audited, note
from recorder.models import Channel, Memory, MemoryKind, Scope, Trust
from recorder.store import findings, memories, policy, search
from recorder.store.db import Connection, transaction

ACTOR = "recorder:conflicts"
CANDIDATES = 24
"""Memories looked at for each one that changed."""
WORDS = 6
"""The longest words of a value, by which they are found."""
A_BATCH = 100


def sweep(db: Connection, now_ms: int) -> tuple[int, int]:
    """Look at the first of what changed since the last time: memories looked at, findings opened."""
    changed = findings.changed_since(db, findings.looked_until(db), A_BATCH)
    opened = 0
    for line, memory_id in changed:
        with transaction(db):
            opened += len(look(db, memory_id, now_ms))
            findings.note_looked(db, line, now_ms)
    return len(changed), opened


def look(db: Connection, memory_id: int, now_ms: int) -> list[int]:
    """The findings that a memory gives rise to as it stands, inside a transaction; and what was found about it before
    and no longer holds is closed."""
    found = memories.get(db, [memory_id])
    if not found:
        return []
    writer = Writer(Channel.OBSERVED, ACTOR, Scope(found[0].project_id), now_ms)
    _close_what_is_gone(db, memory_id, writer)
    current = memories.get(db, [memory_id])[0]
    pairs = [(other, kind) for other in _near(db, current) if (kind := judged(current, other, now_ms))]
    opened = [_open(db, current, other, kind, writer) for other, kind in pairs]
    return [finding for finding in opened if finding is not None]


def consolidate(db: Connection, scope: Scope, now_ms: int, *, limit: int = 2_000) -> list[int]:
    """The open findings about near-duplicates among what the scope sees, new ones included. No memory changes."""
    seen: set[int] = set()
    for memory_id in search.current(db, scope, now_ms=now_ms, limit=limit):
        with transaction(db):
            (current,) = memories.get(db, [memory_id])
            writer = Writer(Channel.OBSERVED, ACTOR, scope, now_ms)
            for other in _near(db, current):
                if memories.visible(db, other, scope) and judged(current, other, now_ms) == alike.DUPLICATE:
                    _open(db, current, other, alike.DUPLICATE, writer)
            about = findings.about(db, memory_id)
            seen |= {one["id"] for one in about if one["kind"] == alike.DUPLICATE}
    return sorted(seen)


def judged(one: Memory, other: Memory, now_ms: int) -> str | None:
    """`duplicate`, `contradiction` or None, for two memories of one scope row."""
    homes = {memory.home_project_id for memory in (one, other) if memory.trust is not Trust.VERIFIED} - {None}
    if len(homes) > 1 or not _together(one, other, now_ms):
        return None
    kind = alike.judged(one.value, other.value)
    if kind is not None and kind != alike.CONTRADICTION:
        return kind
    if one.namespace == other.namespace and alike.subject(one.key) == alike.subject(other.key):
        return alike.CONTRADICTION
    numbered = alike.numbers_in(one.key) != alike.numbers_in(other.key)
    happened = MemoryKind.EPISODIC in (one.kind, other.kind)
    return None if numbered or happened else kind


def _together(one: Memory, other: Memory, now_ms: int) -> bool:
    """Whether both hold at some time from now on."""
    ends = [m.valid_to_ms for m in (one, other) if m.valid_to_ms is not None]
    ends += [m.expires_ms for m in (one, other) if m.expires_ms is not None]
    begins = max(m.valid_from_ms if m.valid_from_ms is not None else now_ms for m in (one, other))
    return min(ends, default=begins + 1) > max(begins, now_ms)


def _near(db: Connection, current: Memory) -> list[Memory]:
    if not policy.shows("list", current.trust, current.state):
        return []
    words = sorted(search.terms(current.value), key=len, reverse=True)[:WORDS]
    ids = findings.near(db, current.id, words, alike.subject(current.key), CANDIDATES)
    return memories.get(db, ids)


def _pair(db: Connection, one: Memory, other: Memory, now_ms: int) -> str:
    return findings.pair_of(db, ((m.id, canonical(m.value)) for m in (one, other)), now_ms)


def _open(db: Connection, one: Memory, other: Memory, kind: str, writer: Writer) -> int | None:
    """The new finding; None where the pair was found before, and decided or not."""
    pair = _pair(db, one, other, writer.now_ms)
    if findings.same(db, pair):
        return None
    older, newer = sorted((one, other), key=lambda memory: (memory.recorded_ms, memory.id))
    why = "nearly the same words" if kind == alike.DUPLICATE else "they cannot both hold"
    finding = findings.add(
        db,
        kind,
        memory_id=older.id,
        other_id=newer.id,
        project_id=next((row for memory in (older, newer) for row in _rows(memory) if row is not None), None),
        proposal={},
        reason=why,
        now_ms=writer.now_ms,
        pair=pair,
    )
    audited(db, writer, "finding", f"{address_of(older)} and {address_of(newer)}", kind, why)
    if kind == alike.CONTRADICTION:
        _dispute(db, older, newer, writer)
    return finding


def _rows(memory: Memory) -> tuple[str | None, str | None]:
    """Where a memory is told: "" is outside every project, None everywhere."""
    return memory.project_id, memory.home_project_id


def _dispute(db: Connection, one: Memory, other: Memory, writer: Writer) -> None:
    """Dispute both, or the one of lower standing; what is disputed recall leaves out until a person decides. What a
    person verified or pinned is never hidden by looking: there the finding alone says so."""
    ranks = {memory.id: _rank(db, memory) for memory in (one, other)}
    highest = max(ranks.values())
    for memory in (one, other):
        lower = ranks[memory.id] < highest or ranks[one.id] == ranks[other.id]
        if lower and allows("disputed", memory) and not a_persons(db, memory):
            rival = other if memory is one else one
            renewed(db, memory, writer, Trust.DISPUTED, "disputed", f"contradicts {address_of(rival)}")


def _rank(db: Connection, memory: Memory) -> tuple[bool, int]:
    """Trust before standing: what somebody proposed puts nothing in doubt that is verified."""
    stood = undisputed(db, memory)
    return stood.trust is Trust.VERIFIED, STANDING[memories.channel_of(db, stood.version_id)]


def undisputed(db: Connection, memory: Memory) -> Memory:
    """The memory as it stood before it was disputed; itself when it is not, or always was."""
    number = memory.version
    while memory.trust is Trust.DISPUTED and number > 1:
        number -= 1
        before = memories.version(db, memory.id, number)
        if before is None or canonical(before.value) != canonical(memory.value):
            break
        if before.trust is not Trust.DISPUTED:
            return before
    return memory


def release(db: Connection, memory: Memory, writer: Writer, why: str | None) -> Memory:
    """Give a disputed memory the trust it had before, unless it contradicts something else too or was refused
    meanwhile; inside a transaction."""
    others = [one for one in findings.about(db, memory.id) if one["kind"] == alike.CONTRADICTION]
    if others or not allows("settled", memory) or tombs.against(db, memory):
        return memory
    before = undisputed(db, memory)
    trust = before.trust if before.trust is Trust.VERIFIED else Trust.CANDIDATE
    channel = memories.channel_of(db, before.version_id)
    return renewed(db, memory, writer, trust, "settled", why, channel=channel).memory or memory


def _close_what_is_gone(db: Connection, memory_id: int, writer: Writer) -> None:
    """Close the findings about a memory one side of which says something else by now, or was rejected or hidden: it was
    a person who saw to that, for what is disputed nobody else changes."""
    for finding in findings.about(db, memory_id):
        sides = memories.get(db, [finding["memory_id"], finding["other_id"]])
        standing = [side for side in sides if policy.shows("list", side.trust, side.state)]
        if len(standing) == 2 and finding["id"] in findings.same(
            db, _pair(db, standing[0], standing[1], writer.now_ms)
        ):
            continue
        findings.drop(db, finding["id"], writer.now_ms)
        audited(db, writer, "finding_closed", str(finding["id"]), finding["kind"], "one side no longer stands")
        for side in standing:
            release(db, side, writer, "what it contradicted no longer stands")


def decided(db: Connection, one: Memory, other: Memory, writer: Writer) -> None:
    """Keep that a person wants both to stand, so that the pair is never raised; inside a transaction."""
    pair = _pair(db, one, other, writer.now_ms)
    if findings.same(db, pair):
        return
    finding = findings.add(
        db,
        alike.CONTRADICTION,
        memory_id=one.id,
        other_id=other.id,
        project_id=one.project_id,
        proposal={},
        reason="both were kept",
        now_ms=writer.now_ms,
        pair=pair,
    )
    findings.resolve(db, finding, "keep_both", writer.now_ms)
    note(db, writer, one, "kept_beside", content={"other": other.id})
