"""An export taken in again: as it was, where it is this home's own; else through the gate, as anybody's word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from recorder import gate
from recorder.canonical import canonical
from recorder.capture.project import project_id as id_of
from recorder.errors import FileRefused, GateRefused
from recorder.gate.standing import NEVER_A_PREFERENCE
from recorder.gate.writer import audited
from recorder.lifecycle.export import is_ours
from recorder.lifecycle.shape import Content, Read
from recorder.models import Channel, Memory, Origin, Project, Proposal, Scope, State, Trust
from recorder.store import decisions, denials, dump, load, memories, projects, tombstones
from recorder.store.db import Connection, together, transaction
from recorder.store.entries import Entry
from recorder.store.tombstones import TELLING

BATCH = 100
BLANKED = re.compile("x{12,}")
"""What an older version put in the place of forgotten words."""
BECAME = {"superseded": "replaced", "corroborated": "unchanged"}
"""The gate's word → ours."""


@dataclass(slots=True)
class Summary:
    """What became of the memories of a file. `own`: it came in as it was.

    `counts`: how many were created, unchanged, left_out, refused, or became a finding. `reasons`: address → why it was
    refused.
    """

    own: bool
    counts: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    relations: int = 0
    tombstones: int = 0
    deny_rules: int = 0
    projects_made: int = 0

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def refuse(self, address: str, reason: str) -> None:
        self.count("refused")
        self.reasons[address] = reason


@dataclass(frozen=True, slots=True)
class Room:
    """Where things go: the store, who imports, and which project of the file is which here."""

    db: Connection
    actor: str
    now_ms: int
    redact: gate.Redact
    skip: bool
    hidden: dict[str, set[str]]
    """Canonical value → keys, of everything that is hidden or rejected here."""
    project_of: dict[str, str] = field(default_factory=dict)

    def writer(self, entry: Entry) -> gate.Writer:
        scope = Scope(entry.project or entry.home_project or None)
        return gate.Writer(Channel.IMPORT, self.actor, scope, self.now_ms, redact=self.redact)


def take(
    db: Connection,
    found: Read,
    *,
    skip: bool,
    actor: str,
    now_ms: int,
    by_person: bool = True,
    redact: gate.Redact = gate.redact_here,
) -> Summary:
    """Take the content in; `skip` leaves addresses alone at which something stands.

    A file this home signed comes in as it was, and so does an intact one that a person takes into a home that holds
    nothing yet. Any other is somebody's word: its memories become candidates, its rejections and relations stay
    outside. Nothing that was deleted, rejected or forgotten here comes back by it.
    """
    fresh = by_person and dump.is_fresh(db)
    own = found.intact and (fresh or is_ours(db, found.canonical, found.seal.signature))
    hidden: dict[str, set[str]] = {}
    for key, value in dump.hidden_values(db):
        hidden.setdefault(canonical(value), set()).add(key)
    room = Room(db, actor, now_ms, redact, skip, hidden)
    summary = Summary(own)
    with transaction(db):
        summary.projects_made = _know_projects(room, found.content, own)
    entries = [_readdressed(room, entry) for entry in found.content.memories]
    if not own:
        _through_the_gate(room, entries, summary)
        return summary
    standing = [entry for entry in entries if dump.id_at(db, entry.namespace, entry.key) is not None]
    missing = [entry for entry in entries if dump.id_at(db, entry.namespace, entry.key) is None]
    if fresh:
        # All of it in one step: half of it would be a home that holds something, which takes nothing over.
        with transaction(db):
            _store(room, missing, summary)
            _take_decisions(room, found.content, summary)
            _finish(room, missing, found, summary)
        return summary
    for start in range(0, len(missing), BATCH):
        with transaction(db):
            _store(room, missing[start : start + BATCH], summary)
    for entry in standing:
        _merge(room, entry, summary)
    with transaction(db):
        _finish(room, missing, found, summary)
    return summary


def _know_projects(room: Room, content: Content, own: bool) -> int:
    """Match the projects of the file by what they are known by; how many were not known."""
    made = 0
    for one in content.projects:
        known = None
        for identity in (one.identity, *one.aliases):
            known = known or projects.by_identity(room.db, identity)
        if known is None:
            free = own and projects.get(room.db, one.id) is None
            chosen = one.id if free else id_of(one.name, one.identity)
            if projects.get(room.db, chosen) is not None:
                raise FileRefused(f"project {one.id} of the file cannot be told from {chosen}, which is another one")
            known = Project(chosen, one.identity, one.root, one.name)
            projects.know(room.db, known, one.aliases if own else (), one.created_ms)
            made += 1
        room.project_of[one.id] = known.id
    return made


def _readdressed(room: Room, entry: Entry) -> Entry:
    """The entry with the projects of this home in place of the file's."""
    project = room.project_of[entry.project] if entry.project else None
    home = room.project_of[entry.home_project] if entry.home_project else entry.home_project
    entry = replace(entry, project=project, home_project=home, namespace=_namespace(room, entry.namespace))
    with_whom = entry.suppressed_with
    if with_whom is not None:
        entry = replace(entry, suppressed_with=replace(with_whom, namespace=_namespace(room, with_whom.namespace)))
    return entry


def _namespace(room: Room, namespace: str) -> str:
    head, dot, rest = namespace.partition(".")
    name, more, below = rest.partition(".")
    return f"{head}{dot}{room.project_of.get(name, name)}{more}{below}" if head in ("project", "claude") else namespace


def _store(room: Room, entries: Sequence[Entry], summary: Summary) -> None:
    """Put memories where nothing stands, as they were, unless something here says no."""
    for entry in entries:
        why = _misplaced(entry) or _barred(room, entry)
        clean = None if why else _without_denied(room.db, entry)
        if clean is None:
            _refuse(room, entry, why or "forgotten", summary)
            continue
        load.write(room.db, clean)
        audited(room.db, room.writer(clean), "imported", f"{clean.namespace}/{clean.key}", clean.in_force.value, None)
        summary.count("created")


def _finish(room: Room, stored: Sequence[Entry], found: Read, summary: Summary) -> None:
    """What takes two memories, once all of them are there; and the row of the audit that names the file."""
    came: set[int | None] = set()
    for entry in stored:
        memory_id = dump.id_at(room.db, entry.namespace, entry.key)
        if memory_id is not None:
            came.add(memory_id)
            load.settle_suppressed(room.db, memory_id, entry)
    for link in found.content.relations:
        ends = [dump.id_at(room.db, _namespace(room, end.namespace), end.key) for end in (link.source, link.target)]
        # Between two that stood here before, it was taken away since.
        if ends[0] is not None and ends[1] is not None and came.intersection(ends):
            summary.relations += load.add_link(room.db, ends[0], ends[1], link)
    writer = gate.Writer(Channel.PERSON, room.actor, Scope(None), room.now_ms)
    audited(room.db, writer, "imported", "export", found.seal.sha256, None)


def _misplaced(entry: Entry) -> str | None:
    """Why nothing can stand at this address for this project."""
    scope = gate.scope_of(entry.namespace)
    held = "user" if entry.project is None else entry.project
    if scope is None or (scope != held and not entry.namespace.startswith("claude.")):
        return "namespace"
    return None


def _barred(room: Room, entry: Entry) -> str | None:
    """Which decision of this home keeps a value out, wherever it was taken: an old export revives nothing."""
    value, key = entry.in_force.value, entry.key
    if denials.of_value(room.db, value):
        return "forgotten"
    if entry.in_force.trust is Trust.REJECTED or entry.state is not State.ACTIVE:
        return None
    same = canonical(value)
    if same in room.hidden and (len(same) >= TELLING or key in room.hidden[same]):
        return "deleted"
    scopes = ["user", entry.namespace, *projects.ids(room.db)]
    return "tombstone" if tombstones.matching(room.db, scopes, key, value) else None


def _without_denied(db: Connection, entry: Entry) -> Entry | None:
    """The entry without what was forgotten here since; None when nothing of it may stand."""
    if not denials.any_at_all(db):
        return entry
    quotes = [quote for version in entry.versions for quote in version.evidence]
    events = denials.denied(db, "event", [quote.event for quote in quotes])
    records = denials.denied(db, "record", [quote.uuid for quote in quotes if quote.uuid])
    kept = []
    for version in entry.versions:
        evidence = [
            quote
            for quote in version.evidence
            if quote.event not in events and quote.uuid not in records and not denials.of_value(db, quote.quote)
        ]
        if (version.evidence and not evidence) or denials.of_value(db, version.value):
            continue
        kept.append(replace(version, evidence=evidence))
    if len(kept) == len(entry.versions):
        return replace(entry, versions=kept)
    if entry.current not in {version.version for version in kept}:
        return None
    # What a line of the history says in words may be what was forgotten.
    return replace(entry, versions=kept, history=[replace(line, content=None, reason=None) for line in entry.history])


def _take_decisions(room: Room, content: Content, summary: Summary) -> None:
    numbers = decisions.add_keys(room.db, content.keys)
    rejected = [replace(one, scope=room.project_of.get(one.scope, one.scope)) for one in content.tombstones]
    summary.tombstones = decisions.add_rejections(room.db, rejected, numbers)
    summary.deny_rules = decisions.add_denials(room.db, content.deny_rules, numbers)


def _merge(room: Room, entry: Entry, summary: Summary) -> None:
    """Compare with what stands there: what is missing is added, the gate judges what differs."""
    db = room.db
    current = memories.find(db, entry.namespace, entry.key)
    if current is None or not _settled(room, current, entry, summary):
        _tell(room, entry, summary)
        return
    clean = None if room.skip or not _in_force(current, entry) else _without_denied(db, entry)
    if clean is None or canonical(current.value) != canonical(entry.in_force.value):
        return
    with transaction(db):
        if load.add_quotes(db, current.version_id, clean.in_force.evidence, current.project_id):
            audited(db, room.writer(entry), "imported", f"{entry.namespace}/{entry.key}", current.value, None)


def _in_force(current: Memory, entry: Entry) -> bool:
    there = current.state is State.ACTIVE and current.trust is not Trust.REJECTED
    return there and entry.state is State.ACTIVE and entry.in_force.trust is not Trust.REJECTED


def _settled(room: Room, current: Memory, entry: Entry, summary: Summary) -> bool:
    """Whether the gate need not be asked, and then what it is: `unchanged` where it says the same, said it before, is
    to be left alone, or is hidden in the file itself; `refused` where it was hidden or rejected here."""
    said, stands = canonical(entry.in_force.value), canonical(current.value)
    asks = entry.state is State.ACTIVE and entry.in_force.trust is not Trust.REJECTED
    if said == stands and asks and not _in_force(current, entry) and not room.skip:
        reason = "tombstone" if current.trust is Trust.REJECTED else "deleted"
        _refuse(room, entry, reason, summary)
        return True
    before = {canonical(version.value) for version in dump.read(room.db, current.id).versions}
    if room.skip or not asks or said in before:
        summary.count("unchanged")
        return True
    return False


def _refuse(room: Room, entry: Entry, reason: str, summary: Summary) -> None:
    where = f"{entry.namespace}/{entry.key}"
    with together(room.db):
        audited(room.db, room.writer(entry), "refused", where, entry.in_force.value, reason)
    summary.refuse(where, reason)


def _through_the_gate(room: Room, entries: Sequence[Entry], summary: Summary) -> None:
    for entry in entries:
        if entry.state is not State.ACTIVE or entry.in_force.trust is Trust.REJECTED:
            summary.count("left_out")
            continue
        current = memories.find(room.db, entry.namespace, entry.key)
        if current is None or not _settled(room, current, entry, summary):
            _tell(room, entry, summary)


def _tell(room: Room, entry: Entry, summary: Summary) -> None:
    """Put what the entry says now before the gate, as an import."""
    version, writer = entry.in_force, room.writer(entry)
    blanked = BLANKED.search("\n".join((entry.key, version.value, *version.tags)))
    why = "blanked" if blanked else _barred(room, entry)
    if why is not None:
        _refuse(room, entry, why, summary)
        return
    proposal = Proposal(
        namespace=entry.namespace,
        key=entry.key,
        value=version.value,
        kind=version.kind,
        # What a machine read stays that; whatever else the file says of itself is an import.
        origin=version.origin if version.origin in NEVER_A_PREFERENCE else Origin.IMPORT,
        source=f"import:{version.source[:200]}",
        tags=tuple(version.tags),
        importance=version.importance,
        confidence=version.confidence,
        occurred_ms=min(version.occurred_ms, room.now_ms),
        valid_from_ms=version.valid_from_ms,
        valid_to_ms=version.valid_to_ms,
        valid_from_precision=version.valid_from_precision,
        valid_to_precision=version.valid_to_precision,
        expires_ms=version.expires_ms,
    )
    try:
        outcome = gate.tell(room.db, proposal, writer)
    except GateRefused as refused:
        outcome = gate.Outcome("refused", None, str(refused))
    if outcome.action == "refused":
        summary.refuse(f"{entry.namespace}/{entry.key}", outcome.reason)
    else:
        summary.count(BECAME.get(outcome.action, outcome.action))
