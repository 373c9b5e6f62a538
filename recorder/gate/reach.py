"""What a wish to forget reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from recorder.canonical import canonical, shape
from recorder.errors import Conflict, NotFound
from recorder.gate.drawn import drawn_from
from recorder.gate.turning import standing_at
from recorder.gate.writer import Writer, address_of, only_a_person
from recorder.models import EventKind, Memory
from recorder.recall import fence
from recorder.store import erase, events, holding, memories, statements
from recorder.store.db import Connection
from recorder.store.holding import Words

AT_ONCE_EVENTS, AT_ONCE_VERSIONS = 4_000, 1_000
"""So many of the newest are looked at where a page waits: to look at a million events takes a quarter of a minute."""

Dead = tuple[int, int, bool]
"""A version that goes, its memory, and whether it is the current one."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a wish to forget reaches, before anything is done. It holds the words: it is never kept."""

    subject: str
    words: Words
    values: tuple[str, ...]
    """What must not be said again, in whatever form; none where an event alone is forgotten."""
    memory: Memory | None
    asked_events: tuple[int, ...]
    events: tuple[int, ...]
    versions: tuple[int, ...]
    memories: tuple[Memory, ...]
    derived: tuple[Memory, ...]
    """Drawn from what is forgotten: hidden with it."""
    saying: tuple[Dead, ...]
    """The versions that say the same, wherever."""
    seen_to: tuple[int, int]
    """The newest event and the newest version that were looked at."""
    event_kinds: dict[str, int] = field(default_factory=dict)
    transcripts: tuple[str, ...] = ()
    """Files of Claude Code's own that hold the same, as far as is known."""
    short: bool = False
    """Whether one of its texts is too short to be looked for everywhere."""
    estimate: bool = False
    """Not everything was looked at: it reaches this and perhaps more."""


def plan(
    db: Connection, namespace: str, key: str, writer: Writer, *, also: Sequence[int] = (), at_once: bool = False
) -> Plan:
    """What forgetting a memory reaches: every version of it, the events it stands on, every other event that holds
    one of its quotes or values, every memory that says the same in any scope, and what stands on these events alone.

    `also`: events to go with it. `at_once`: an estimate, where there is too much to look at everything; whoever carries
    it out looks at the rest.

    Raises: NotFound, GateRefused where it is no person.
    """
    only_a_person(writer, "forgets")
    current = standing_at(db, namespace, key, writer)
    values, cited, quotes = _said(db, current.id)
    sought = holding.words(_shown([*values, *quotes]))
    newest = events.last_id(db), memories.last_version(db)
    estimate = at_once and (newest[0] > AT_ONCE_EVENTS or newest[1] > AT_ONCE_VERSIONS)
    of_events, of_versions = (AT_ONCE_EVENTS, AT_ONCE_VERSIONS) if estimate else (None, None)
    found = {*cited, *also, *holding.events(db, sought, newest=of_events)}
    saying = [*_own(db, current), *holding.saying(db, sought, _same(values), newest=of_versions)]
    # A copy in other letters was told to us in other letters too.
    found |= set(holding.statements(db, [version_id for version_id, _, _ in saying]))
    seen_to = (0, 0) if estimate else newest
    made = _planned(db, address_of(current), sought, values, current, also, found, saying, seen_to)
    short = any(len(one.strip()) < holding.LEAST for one in (*values, *quotes))
    return replace(made, short=short, estimate=estimate)


def plan_events(db: Connection, event_ids: Sequence[int], writer: Writer) -> Plan:
    """What forgetting events reaches: they, what repeats their words in the same turn or in a brief, and every memory
    that stands on them alone. What stands on another source too stays, without their quotes.

    Raises: NotFound, GateRefused where it is no person.
    """
    only_a_person(writer, "forgets")
    asked = events.get(db, event_ids)
    if len(asked) < len(set(event_ids)) or not asked:
        missing = sorted(set(event_ids) - {event.id for event in asked})
        raise NotFound(f"there is no event {', '.join(f'e{one}' for one in missing) or 'named'}")
    newest = events.last_id(db), memories.last_version(db)
    own = [event.text for event in asked]
    found = {event.id for event in asked}
    found |= set(holding.of_turns(db, holding.words(own), sorted(found)))
    lost = [value for one in _memories(db, holding.standing_on(db, sorted(found))) for value in _said(db, one.id)[0]]
    sought = holding.words(_shown([*own, *lost]))
    found |= set(holding.events(db, sought, kind=EventKind.INJECTION))
    subject = ",".join(f"e{event.id}" for event in asked)
    return _planned(db, subject, sought, (), None, [event.id for event in asked], found, (), newest)


def _planned(
    db: Connection,
    subject: str,
    sought: Words,
    values: Sequence[str],
    memory: Memory | None,
    asked: Sequence[int],
    found: Iterable[int],
    saying: Sequence[Dead],
    newest: tuple[int, int],
) -> Plan:
    event_ids = sorted(found)
    dead = sorted({*saying, *holding.standing_on(db, event_ids)})
    gone = _memories(db, dead)
    derived = {one.id for source in gone for one in drawn_from(db, source.id)}
    return Plan(
        subject,
        sought,
        tuple(values),
        memory,
        tuple(asked),
        tuple(event_ids),
        tuple(version for version, _, _ in dead),
        tuple(gone),
        tuple(memories.get(db, sorted(derived - {one.id for one in gone}))),
        tuple(saying),
        newest,
        erase.kinds(db, event_ids),
        tuple(erase.places(db, event_ids)),
    )


def renewed(db: Connection, planned: Plan) -> Plan:
    """The plan with what came since it was made. Runs inside the transaction.

    Raises: Conflict when the memory itself was changed.
    """
    stands = planned.memory
    if stands is not None:
        now = memories.get(db, [stands.id])
        if [(one.version_id, one.state) for one in now] != [(stands.version_id, stands.state)]:
            raise Conflict(f"{planned.subject} was changed meanwhile: look at it again")
    newest = events.last_id(db), memories.last_version(db)
    after_event, after_version = planned.seen_to
    kind = EventKind.INJECTION if stands is None else None
    found = {*planned.events, *holding.events(db, planned.words, after_id=after_event, kind=kind)}
    saying = planned.saying
    if stands is not None:
        found |= set(_said(db, stands.id)[1])
        saying = (*saying, *holding.saying(db, planned.words, _same(planned.values), after_id=after_version))
    asked = planned.asked_events
    again = _planned(db, planned.subject, planned.words, planned.values, stands, asked, found, saying, newest)
    transcripts = again.transcripts if planned.estimate else planned.transcripts
    return replace(again, transcripts=transcripts, short=planned.short)


def reached(planned: Plan) -> dict[str, int]:
    """How much of what a plan reaches."""
    counted = {
        "memories": len(planned.memories),
        "versions": len(planned.versions),
        "suppressed": len(planned.derived),
        "events": len(planned.events),
    }
    return counted | {f"events.{kind}": n for kind, n in planned.event_kinds.items()}


def _said(db: Connection, memory_id: int) -> tuple[list[str], list[int], list[str]]:
    """(values of all versions and what they were put together from, events they stand on, quotes) of a memory."""
    values, quotes = memories.ever_said(db, memory_id)
    told = statements.parts(db, memories.versions(db, memory_id))
    labels = dict.fromkeys(part for _, *above in told for part in above)
    # What stands above other things too is what they are called, and says none of them.
    own = [label for label in labels if not memories.stands_above(db, label, but=memory_id)]
    values = list(dict.fromkeys((*values, *(said for said, *_ in told), *own)))
    return values, sorted({event_id for event_id, _ in quotes}), [quote for _, quote in quotes]


def _shown(texts: Sequence[str]) -> list[str]:
    """The texts, and as our own answers show them, which Claude Code may have recorded."""
    return [form for text in texts for form in (text, fence.clean(text), fence.line(text))]


def _own(db: Connection, memory: Memory) -> list[Dead]:
    return [(version_id, memory.id, version_id == memory.version_id) for version_id in memories.versions(db, memory.id)]


def _memories(db: Connection, dead: Sequence[Dead]) -> list[Memory]:
    """Those that say nothing any more: their current version goes."""
    return memories.get(db, list(dict.fromkeys(memory_id for _, memory_id, current in dead if current)))


def _same(values: Sequence[str]) -> Callable[[str], bool]:
    forms = {form for value in values for form in (canonical(value), shape(value))}
    return lambda value: bool(forms) and (canonical(value) in forms or shape(value) in forms)
