"""What is hidden, with what, and when it is shown again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from recorder.canonical import says_the_same
from recorder.gate import tombs
from recorder.gate.address import home_scope
from recorder.gate.drawn import drawn_from, sources
from recorder.gate.same import saying_the_same
from recorder.gate.standing import allows, outranks
from recorder.gate.writer import Outcome, Writer, address_of, note
from recorder.models import Channel, Memory, State, Trust
from recorder.store import findings, memories, tombstones, validity
from recorder.store.db import Connection

NAMED = 10
"""Of what is hidden or shown with a memory, told by name."""


@dataclass(slots=True)
class Released:
    """What was shown again, and what stays hidden because something else refuses it by now."""

    shown: list[Memory] = field(default_factory=list)
    held: list[Memory] = field(default_factory=list)

    @property
    def told(self) -> str:
        return named("more stay hidden, because a person refused what they say or stand on since", self.held)


def named(what: str, found: Sequence[Memory]) -> str:
    """How many, and which, said to whoever did it; nothing where there are none."""
    some = ", ".join(address_of(one) for one in found[:NAMED]) + (" …" if len(found) > NAMED else "")
    return f"{len(found)} {what}: {some}" if found else ""


def outranked(db: Connection, current: Memory, writer: Writer) -> bool:
    """Whether any version of a memory that is believed, of whatever time, is more than the writer may hide or change:
    what is done to a memory reaches what holds at other times too."""
    return any(
        outranks(version, memories.channel_of(db, version.version_id), writer.channel)
        for version in (current, *validity.believed(db, current.id))
    )


def hidden(
    db: Connection, current: Memory, writer: Writer, state: State, action: str, by: str, why: str | None
) -> Outcome:
    """Hide a memory, inside a transaction. What was wished about it lapses."""
    findings.lapse(db, current.id, writer.now_ms)
    memories.set_state(db, current.id, state, writer.now_ms, by)
    note(db, writer, current, action, why)
    return Outcome(action, memories.find(db, current.namespace, current.key))


def shown(db: Connection, current: Memory, writer: Writer, action: str, why: str | None) -> Outcome:
    """Show a memory again, inside a transaction: the one step by which what is hidden is there without being written.

    Raises: GateRefused where its value was refused meanwhile.
    """
    tombs.pass_again(db, current, writer)
    memories.set_state(db, current.id, State.ACTIVE, None, None)
    note(db, writer, current, action, why)
    return Outcome(action, memories.find(db, current.namespace, current.key))


def suppress_derived(db: Connection, source: Memory, writer: Writer, why: str | None) -> list[Memory]:
    """Hide what was drawn from a memory, and from that, inside a transaction; what was hidden."""
    hid = [derived for derived in drawn_from(db, source.id) if allows("suppressed", derived)]
    for derived in hid:
        hidden(db, derived, writer, State.SUPPRESSED, "suppressed", with_(source), why)
    return hid


def suppress_same(
    db: Connection, at: Memory, value: str, writer: Writer, why: str | None, *, spare: bool = False
) -> tuple[list[Memory], list[Memory]]:
    """Hide what says the very value that is refused where a memory stands, and what was drawn from it, inside a
    transaction: (what was hidden, what was spared). It comes back with the memory."""
    same, spared = goes_with(db, at, value, spare=spare)
    hid = [one for one in same if tombs.against(db, one)]  # not what the value in its place says too
    for one in hid:
        hidden(db, one, writer, State.SUPPRESSED, "suppressed", with_(at), why)
        suppress_derived(db, one, writer, why)
    return hid, spared


def take_out_coming(db: Connection, at: Memory, value: str, writer: Writer, why: str | None) -> list[Memory]:
    """Believe no longer what says the rejected value elsewhere from a later day on, inside a transaction; what that
    was. It does not come back by itself."""
    home = home_scope(at)
    taken = [
        later
        for later in validity.all_coming(db, None if home == "user" else home, writer.now_ms)
        if later.id != at.id and says_the_same(later.value, value) and tombs.against(db, later)
    ]
    for later in taken:
        validity.retire(db, later.version_id, writer.now_ms)
        note(db, writer, later, "retired", why)
    return taken


def goes_with(db: Connection, at: Memory, value: str, *, spare: bool) -> tuple[list[Memory], list[Memory]]:
    """What says a value elsewhere: (what is hidden with it, what is not).

    `spare`: leave what a person said themselves. They took it back in one place, and did not say that it is false.
    """
    same = [one for one in saying_the_same(db, at, value) if allows("suppressed", one)]
    spared = [one for one in same if spare and a_persons(db, one)]
    return [one for one in same if one not in spared], spared


def taken_back(db: Connection, at: Memory, writer: Writer, cause: str, why: str | None, *, instead: str = "") -> str:
    """Refuse what a memory says from now on, because a person deleted it or put something else in its place; what is
    hidden with it and what still says so, in words."""
    tombs.lay(db, at, at.value, writer, cause, why, instead=instead)
    for later in validity.coming(db, at.id, writer.now_ms) if cause == tombstones.DELETED else ():
        tombs.lay(db, later, later.value, writer, cause, why)
    hid, spared = suppress_same(db, at, at.value, writer, why, spare=True)
    told = named("saying the same, hidden with it", hid), named("of yours say it still", spared)
    return "; ".join(part for part in told if part)


def a_persons(db: Connection, memory: Memory) -> bool:
    """Whether a person pinned it, or said that it is so: by hand, or typed as a rule."""
    said = memories.channel_of(db, memory.version_id) in (Channel.PERSON, Channel.USER_SAID)
    return memory.pinned or (said and memory.trust is Trust.VERIFIED)


def release(db: Connection, source: Memory, writer: Writer, why: str | None, *, saying: str | None = None) -> Released:
    """Show again what was hidden because of a memory, and of that, inside a transaction. `saying`: of what was, only
    what says this."""
    waiting = memories.get(db, memories.hidden_by(db, with_(source)))
    if saying is not None:
        waiting = [
            one
            for one in waiting
            if any(says_the_same(text, saying) for text in (one.value, *tombs.dressed(db, one, one.value)))
        ]
    done, held = Released(), _held(db, waiting)
    for one in waiting:
        if one.id in held:
            # So that it comes back when that is lifted.
            by = held[one.id] or with_(source)
            memories.set_state(db, one.id, State.SUPPRESSED, memories.deleted_ms(db, one.id), by)
            done.held.append(one)
            continue
        shown(db, one, writer, "released", why)
        more = release(db, one, writer, why)
        done.shown += [one, *more.shown]
        done.held += more.held
    return done


def release_same(
    db: Connection, numbers: Iterable[int | None], value: str, writer: Writer, why: str | None
) -> Released:
    """Show again what says a value and was hidden with one of these memories, now that it is no longer refused there;
    inside a transaction."""
    done = Released()
    for source in memories.get(db, sorted({number for number in numbers if number is not None})):
        more = release(db, source, writer, why, saying=value)
        done.shown += more.shown
        done.held += more.held
    return done


def with_(source: Memory) -> str:
    """Who hid what is hidden with a memory."""
    return f"suppressed:{source.id}"


def _held(db: Connection, waiting: Sequence[Memory]) -> dict[int, str]:
    """Of what is about to be shown, what something else refuses: its value by a tombstone, or what it was drawn from;
    with whom it is hidden from now on, empty where that is no memory."""
    held: dict[int, str] = {}
    for one in waiting:
        if one.trust is Trust.REJECTED:  # it is told to nobody all the same
            continue
        standing = tombs.against(db, one)
        if standing or tombs.is_forgotten(db, one):
            number = next((stone.memory_id for stone in standing if stone.memory_id not in (None, one.id)), None)
            held[one.id] = "" if number is None else f"suppressed:{number}"
    coming = {one.id for one in waiting}
    before = -1
    while before < len(held):
        before = len(held)
        for one in waiting:
            for source in sources(db, one) if one.id not in held else ():
                gone = source.state is State.SUPPRESSED or source.trust is Trust.REJECTED
                if source.id in held or (gone and source.id not in coming):
                    held[one.id] = with_(source)
                    break
    return held
