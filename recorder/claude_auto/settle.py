"""What a file says, put before the gate."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from recorder import gate
from recorder.claude_auto import notes
from recorder.claude_auto.folders import Folder
from recorder.claude_auto.naming import Names
from recorder.claude_auto.owner import Owners
from recorder.claude_auto.report import Report
from recorder.errors import GateRefused
from recorder.models import Channel, Memory, Origin, Proposal, Scope
from recorder.store import claude_files, memories
from recorder.store.db import Connection, transaction

ACTOR = "claude-auto"
REMOVED = "claude-auto:removed"
TAGS = ("auto-imported", "claude-memory")
IMPORTANCE = 0.6

# Why the gate keeps out what a person said is wrong or private: no news to anybody.
DECIDED = ("deleted", "tombstone", "forgotten")


@dataclass(frozen=True, slots=True)
class Read:
    """A file that was read just now."""

    file: claude_files.File
    shown: str
    """Its path, without secrets."""
    entries: list[notes.Entry]
    at_ms: int
    """When it was changed last."""


Match = tuple[notes.Entry, claude_files.Entry | None]
"""An entry, and what it was before."""


@dataclass(slots=True)
class Pen:
    """Writes for one sync, and counts in its report."""

    db: Connection
    now_ms: int
    redact: gate.Redact
    names: Names
    owners: Owners
    report: Report
    present: Set[str]
    """The files that are there, by what they are known by in the store."""
    paused: Set[str | None]
    """The projects of which nothing is taken in."""

    def waits(self, folder: Folder, one: Read, matched: Sequence[Match]) -> bool:
        """Whether recording is paused for the project of the file, which is then read again another time."""
        if not self.paused:
            return False
        of = {self.owners.of(folder, one.file.session_id)}
        for _, entry in matched:
            memory = memories.find(self.db, entry.namespace, entry.key) if entry is not None else None
            of |= {memory.project_id} if memory is not None else set()
        wait = any(project_id in self.paused for project_id in of)
        self.report.paused += wait
        return wait

    def write(
        self, folder: Folder, one: Read, matched: Sequence[Match], leaving: list[claude_files.Entry]
    ) -> list[claude_files.Entry]:
        """Let the store say what the file says. Of `leaving`, what no file seemed to say any more, comes back what
        none took up."""
        kept = {entry.id for _, entry in matched if entry is not None}
        namespace = self._namespace(folder, one, matched)
        settled = []
        for asked, entry in matched:
            held = entry or self._renamed(asked, leaving)
            at = (held.namespace, held.key) if held else self._address(namespace, one, asked, kept)
            if self._settle(folder, one, asked, held or claude_files.at(self.db, *at), *at):
                settled.append((asked, at))
            leaving = [other for other in leaving if (other.namespace, other.key) != at]
        # Should we not come this far, the next sync finds the memories as the file has them, and notes them then.
        with transaction(self.db):
            claude_files.keep_file(self.db, one.file, self.now_ms)
            for asked, at in settled:
                claude_files.keep_entry(self.db, one.file.path, asked.name, *at, asked.hash)
        return leaving

    def _renamed(self, asked: notes.Entry, leaving: list[claude_files.Entry]) -> claude_files.Entry | None:
        """What said the same under a name that is gone now, where a person had a hand in it: it keeps its key."""
        for entry in leaving:
            memory = memories.find(self.db, entry.namespace, entry.key)
            if entry.hash == asked.hash and memory is not None and memories.touched(self.db, memory.id):
                return entry
        return None

    def _settle(
        self,
        folder: Folder,
        one: Read,
        asked: notes.Entry,
        held: claude_files.Entry | None,
        namespace: str,
        key: str,
    ) -> bool:
        """Let the store say what the entry says, if the gate lets it. `held`: what had the address before. False where
        there is nothing to remember of it."""
        memory = memories.find(self.db, namespace, key)
        back = held is not None and held.gone and self._restored(memory)
        if held is not None and held.hash == asked.hash:
            done = "restored" if back else "unchanged"
        else:
            done = self._tell(folder, one, asked, namespace, key, memory)
        self.report.count(done)
        return done != "refused" or memory is not None

    def _writer(self, project_id: str | None) -> gate.Writer:
        return gate.Writer(Channel.CLAUDE_AUTO, ACTOR, Scope(project_id), self.now_ms, redact=self.redact)

    def _restored(self, memory: Memory | None) -> bool:
        """Whether the memory was hidden because its file was gone, and is shown again: not where a person rejected
        meanwhile what it says."""
        if memory is None or memories.deleted_by(self.db, memory.id) != Channel.CLAUDE_AUTO:
            return False
        writer = self._writer(memory.project_id)
        try:
            gate.restore(self.db, memory.namespace, memory.key, writer, reason="claude-auto:back")
        except GateRefused:
            return False
        return True

    def _tell(
        self, folder: Folder, one: Read, asked: notes.Entry, namespace: str, key: str, memory: Memory | None
    ) -> str:
        """The count of the report that goes up."""
        at_ms = one.at_ms
        if memory is None:
            project_id = self.owners.of(folder, one.file.session_id)
        else:
            project_id = memory.project_id
            if memories.channel_of(self.db, memory.version_id) is Channel.CLAUDE_AUTO:
                if not memory.deleted and (memory.value, memory.kind) == (asked.value, asked.kind):
                    return "unchanged"
                # What a file says now is its last word, also where it was put back from a copy.
                at_ms = max(at_ms, memories.occurred_ms(self.db, memory.version_id))
        outcome = gate.tell(
            self.db,
            Proposal(
                namespace=namespace,
                key=key,
                value=asked.value,
                kind=asked.kind,
                origin=Origin.IMPORT,
                source=f"claude-auto:{one.shown}",
                tags=TAGS,
                importance=IMPORTANCE,
                occurred_ms=at_ms,
                parts=asked.parts,
            ),
            self._writer(project_id),
        )
        if outcome.action == "refused" and not (memory is not None and memory.deleted):
            if not outcome.reason.startswith(DECIDED):
                self.report.problems.append(f"{one.shown}: {asked.name} was refused, {outcome.reason}")
            return "refused"
        return {"created": "created", "superseded": "changed", "finding": "findings"}.get(outcome.action, "unchanged")

    def _namespace(self, folder: Folder, one: Read, matched: Sequence[Match]) -> str:
        """Where new entries of the file go: where its others are, else the folder's, unless another file of that name
        is there."""
        there = [held.namespace for _, held in matched if held is not None]
        fresh = [asked.name for asked, held in matched if held is None]
        own, plain = self.names.own_namespace(folder), self.names.namespace(folder)
        return own if own in there or any(self._taken(plain, name, one) for name in fresh) else plain

    def _address(self, namespace: str, one: Read, asked: notes.Entry, kept: set[int]) -> tuple[str, str]:
        """(namespace, key) that is nobody's, or was given up."""
        number, key = 1, asked.name
        while True:
            holder = claude_files.at(self.db, namespace, key)
            if holder is None or (holder.id not in kept and not self._taken(namespace, key, one)):
                return namespace, key
            number += 1
            key = f"{asked.name}.{number}"

    def _taken(self, namespace: str, key: str, one: Read) -> bool:
        """Whether the address is that of another file, and the file is there."""
        holder = claude_files.at(self.db, namespace, key)
        return holder is not None and holder.path != one.file.path and holder.path in self.present

    def prune(self, entry: claude_files.Entry) -> None:
        """Hide what no file says any more; what a person holds stays, and they are asked."""
        memory = memories.find(self.db, entry.namespace, entry.key)
        if memory is not None and memory.project_id in self.paused:
            return
        if memory is not None and not memory.deleted:
            writer = self._writer(memory.project_id)
            outcome = gate.delete(self.db, entry.namespace, entry.key, writer, reason=REMOVED)
            self.report.pruned += outcome.action == "deleted"
            self.report.findings += outcome.action == "finding"
        with transaction(self.db):
            claude_files.mark_gone(self.db, entry.id, self.now_ms)

    def give(self, folder: Folder, place: str) -> None:
        """Give the project, once it is known, what only a person saw till then."""
        for namespace, key, session_id in claude_files.undecided(self.db, place):
            project_id = self.owners.of(folder, session_id)
            if project_id is not None and project_id not in self.paused:
                gate.give(self.db, namespace, key, project_id, self._writer(project_id))
