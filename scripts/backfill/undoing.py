"""A run taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from recorder import gate
from recorder.models import Channel, Memory, Scope
from recorder.store import runs, undo
from recorder.store.db import Connection, transaction

BATCH = 250
"""Half a second: a term leaves the search tables for good (FTS5's secure-delete), which takes 2 ms an event."""


@dataclass(slots=True)
class Undone:
    """What went, and what stayed."""

    events: int = 0
    seen: int = 0
    """Stay: somebody else saw them too. They lose the run's sighting."""
    kept: int = 0
    """Stay: a memory that a person wrote, approved or pinned stands on them."""
    sessions: int = 0
    files: int = 0
    memories: list[str] = field(default_factory=list)
    """Hidden, for nothing is left that they stand on."""
    returned: list[str] = field(default_factory=list)
    """Say again what they said before the run."""
    recounted: list[str] = field(default_factory=list)
    """Candidates again: what verified them is gone."""
    stopped: bool = False


def forecast(db: Connection, run: runs.Run) -> Undone:
    """What would become of the run. Nothing is written."""
    every = undo.batch(db, run)
    gone = frozenset(every.gone)
    undone = Undone(
        events=len(every.gone),
        seen=len(every.seen),
        kept=len(every.kept),
        sessions=undo.sessions_left_empty(db, run, every.gone),
        files=undo.files(db, run),
    )
    for memory in undo.losing(db, every.gone):
        _tell(undone, memory, gate.left(db, memory, gone).action)
    return undone


def take_back(
    db: Connection, run: runs.Run, now_ms: int, passed: Callable[[int], None], stop: Callable[[], bool]
) -> Undone:
    """Take the run back, batch by batch; stopped or killed, it goes on there next time. `passed` is told of events."""
    undone = Undone(files=undo.files(db, run))
    runs.mark_undone(db, run, now_ms)
    gone = frozenset(undo.batch(db, run).gone)
    while found := undo.batch(db, run, BATCH):
        if stop():
            undone.stopped = True
            return undone
        for memory in undo.losing(db, found.gone):
            writer = gate.Writer(Channel.PERSON, "terminal", Scope(memory.project_id or memory.home_project_id), now_ms)
            why = f"backfill {run.name} was taken back"
            outcome = gate.bereave(db, memory, gone, writer, by=run.name, reason=why)
            _tell(undone, memory, "withdrawn" if outcome.action == "deleted" else outcome.action)
        with transaction(db):
            if not _stand(db, found.gone):  # the worker learnt something from them just now
                continue
            undone.sessions += undo.remove(db, run, found)
        undone.events += len(found.gone)
        undone.seen += len(found.seen)
        undone.kept += len(found.kept)
        passed(len(found.gone) + len(found.seen) + len(found.kept))
    with transaction(db):
        undo.forget_files(db, run)
    return undone


def _stand(db: Connection, gone: Sequence[int]) -> bool:
    """Whether every memory stands without these events as it is."""
    return all(gate.left(db, memory, frozenset(gone)).action == "unchanged" for memory in undo.losing(db, gone))


def _tell(undone: Undone, memory: Memory, action: str) -> None:
    told = {"withdrawn": undone.memories, "returned": undone.returned, "recounted": undone.recounted}
    if action in told:
        told[action].append(f"{memory.namespace}/{memory.key}")
