"""Files as they are now, against what was made of them before."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from recorder import gate
from recorder.claude_auto import folders, index, notes
from recorder.claude_auto.folders import Folder, Found, shown
from recorder.claude_auto.owner import Owners
from recorder.config import Config
from recorder.models import Channel, Memory, Origin, Proposal, Scope
from recorder.store import claude_files, memories
from recorder.store.db import Connection, transaction

ACTOR = "claude-auto"
REMOVED = "claude-auto:removed"
TAGS = ("auto-imported", "claude-memory")
IMPORTANCE = 0.6

RACY_MS = 2_000
"""A file changed so shortly ago may change once more without its times showing it: it is read again next time."""


@dataclass(slots=True)
class Report:
    """What one sync did. Files are counted as they lie there, all else in memories."""

    files: int = 0
    created: int = 0
    changed: int = 0
    unchanged: int = 0
    pruned: int = 0
    restored: int = 0
    findings: int = 0
    beyond_limit: int = 0
    """Lines that Claude itself does not load."""
    beyond_files: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    at_ms: int = 0

    def count(self, what: str) -> None:
        """One more of `created`, `changed`, …"""
        setattr(self, what, getattr(self, what) + 1)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Read:
    """A file that was read just now."""

    found: Found
    file: claude_files.File
    entries: list[notes.Entry]
    at_ms: int


@contextmanager
def alone(home: Path, wait_s: float) -> Iterator[bool]:
    """True inside while no other sync of this home runs; False when one still did after `wait_s`."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(home / "sync.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + wait_s
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    yield False
                    return
                time.sleep(0.05)
            else:
                yield True
                return
    finally:
        os.close(handle)


def sync(
    db: Connection, config: Config, now_ms: int, redact: gate.Redact = gate.redact_here, wait_s: float = 60.0
) -> Report | None:
    """Bring the memories to what Claude's files say, as far as no person has said otherwise; None when another sync
    would not end in time. Nothing is written but the store."""
    with alone(config.home, wait_s) as ours:
        if not ours:
            return None
        run = _Run(db, now_ms, redact, Owners(db, config.projects.worktrees, now_ms), Report(at_ms=now_ms))
        there, problems = folders.memory_folders(config.claude_dirs)
        run.report.problems += problems
        for folder in there:
            run.take(folder)
        with transaction(db):
            claude_files.keep_report(db, run.report.as_json())
        return run.report


@dataclass(slots=True)
class _Run:
    """One sync on its way."""

    db: Connection
    now_ms: int
    redact: gate.Redact
    owners: Owners
    report: Report

    def take(self, folder: Folder) -> None:
        """Everything of one folder."""
        place = shown(folder.path)
        try:
            listed = folders.listing(folder)
        except OSError as error:
            # Not mounted, or closed to us for a while: what is not seen is not gone.
            self.report.problems.append(f"{place} cannot be listed ({error.strerror}): what it held stays")
            return
        self.report.files += len(listed)
        known = claude_files.of_folder(self.db, place)
        before: dict[str, list[claude_files.Entry]] = {}
        for entry in claude_files.entries(self.db, place):
            before.setdefault(entry.path, []).append(entry)
        read = self._read(folder, listed, known, before)
        here = {shown(found.path) for found in listed}
        leaving = [entry for path, held in before.items() if path not in here for entry in held if not entry.gone]
        plan = [(one, _matched(one.entries, before.get(one.file.path, []))) for one in read]
        for one, matched in plan:
            same = {entry.id for _, entry in matched if entry is not None}
            leaving += [e for e in before.get(one.file.path, []) if e.id not in same and not e.gone]
        for one, matched in plan:
            moved = [(asked, entry or self._renamed(asked, leaving)) for asked, entry in matched]
            kept = {entry.id for _, entry in moved if entry is not None}
            namespace = self._namespace(folder, one, moved)
            for asked, held in moved:
                at = (held.namespace, held.key) if held else self._address(namespace, one, asked, kept)
                self._settle(folder, one, asked, held or claude_files.at(self.db, *at), *at)
                leaving = [e for e in leaving if (e.namespace, e.key) != at]
            with transaction(self.db):
                claude_files.keep_file(self.db, one.file, self.now_ms)
        for entry in leaving:
            self._prune(entry)
        self._give(folder)

    def _read(
        self,
        folder: Folder,
        listed: list[Found],
        known: dict[str, claude_files.File],
        before: dict[str, list[claude_files.Entry]],
    ) -> list[Read]:
        """The files that are new or look otherwise than last time; the others are counted."""
        names = {os.path.basename(found.path) for found in listed}
        fresh = []
        for found in listed:
            path = shown(found.path)
            stamp = found.stamp
            if os.path.basename(found.path) == folders.INDEX:
                # Which of its lines point at a file depends on the files.
                stamp += ":" + sha256("\n".join(sorted(map(shown, names))).encode()).hexdigest()[:16]
            last = known.get(path)
            if found.problem is None and last is not None and last.stamp == stamp:
                self.report.unchanged += sum(not entry.gone for entry in before.get(path, []))
                self._note_beyond(last)
                continue
            racy = abs(self.now_ms - found.mtime_ns // 1_000_000) < RACY_MS
            if found.problem is None and found.size == 0 and racy:
                continue  # an editor empties a file before it writes it
            one = self._open(folder, found, "" if racy else stamp, names)
            if one is not None:
                self._note_beyond(one.file)
                fresh.append(one)
        return fresh

    def _open(self, folder: Folder, found: Found, stamp: str, names: set[str]) -> Read | None:
        path = shown(found.path)
        try:
            if found.problem is not None:
                raise OSError(0, found.problem)
            text = folders.read(found)
        except OSError as error:
            self.report.problems.append(f"{path} is left out: {error.strerror}")
            return None
        name = os.path.basename(found.path).removesuffix(".md")
        clean, clean_name = self.redact([text, shown(name)])
        session_id, at_ms = notes.origin(text)
        beyond = index.lines_beyond(text) if name == "MEMORY" else 0
        file = claude_files.File(path, shown(folder.path), stamp, session_id, beyond)
        entries = notes.of_file(clean_name, clean, names)
        return Read(found, file, entries, at_ms or found.mtime_ns // 1_000_000)

    def _note_beyond(self, file: claude_files.File) -> None:
        if file.beyond:
            self.report.beyond_limit += file.beyond
            self.report.beyond_files[file.path] = file.beyond

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
    ) -> None:
        """Let the store say what the entry says, if the gate lets it. `held`: what had the address before."""
        memory = memories.find(self.db, namespace, key)
        back = held is not None and held.gone and self._restored(memory)
        if held is not None and held.hash == asked.hash:
            done = "restored" if back else "unchanged"
        else:
            done = self._tell(folder, one, asked, namespace, key, memory)
        self.report.count(done)
        with transaction(self.db):
            claude_files.keep_entry(self.db, one.file.path, asked.name, namespace, key, asked.hash)

    def _restored(self, memory: Memory | None) -> bool:
        """Whether the memory was hidden because its file was gone, and is shown again."""
        if memory is None or memories.deleted_by(self.db, memory.id) != Channel.CLAUDE_AUTO:
            return False
        gate.restore(
            self.db,
            memory.namespace,
            memory.key,
            channel=Channel.CLAUDE_AUTO,
            actor=ACTOR,
            scope=Scope(memory.project_id),
            reason="claude-auto:back",
            now_ms=self.now_ms,
        )
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
                source=f"claude-auto:{one.file.path}",
                tags=TAGS,
                importance=IMPORTANCE,
                occurred_ms=at_ms,
            ),
            Channel.CLAUDE_AUTO,
            actor=ACTOR,
            scope=Scope(project_id),
            session_id=None,
            now_ms=self.now_ms,
            redact=self.redact,
        )
        if outcome.action == "refused" and not (memory is not None and memory.deleted):
            self.report.problems.append(f"{one.file.path}: {asked.name} was refused, {outcome.reason}")
        return {"created": "created", "superseded": "changed", "finding": "findings"}.get(outcome.action, "unchanged")

    def _namespace(self, folder: Folder, one: Read, moved: list[tuple[notes.Entry, claude_files.Entry | None]]) -> str:
        """Where new entries of the file go: where its others are, else the folder's, unless another file of that name
        is there."""
        there = [held.namespace for _, held in moved if held is not None]
        fresh = [asked.name for asked, held in moved if held is None]
        if folder.own_namespace in there or any(self._taken(folder.namespace, name, one) for name in fresh):
            return folder.own_namespace
        return folder.namespace

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
        return holder is not None and holder.path != one.file.path and os.path.lexists(holder.path)

    def _prune(self, entry: claude_files.Entry) -> None:
        """Hide what no file says any more; what a person holds stays, and they are asked."""
        memory = memories.find(self.db, entry.namespace, entry.key)
        if memory is not None and not memory.deleted:
            outcome = gate.delete(
                self.db,
                entry.namespace,
                entry.key,
                channel=Channel.CLAUDE_AUTO,
                actor=ACTOR,
                scope=Scope(memory.project_id),
                reason=REMOVED,
                now_ms=self.now_ms,
                redact=self.redact,
            )
            self.report.pruned += outcome.action == "deleted"
            self.report.findings += outcome.action == "finding"
        with transaction(self.db):
            claude_files.mark_gone(self.db, entry.id, self.now_ms)

    def _give(self, folder: Folder) -> None:
        """Give the project, once it is known, what only a person saw till then."""
        for namespace, key, session_id in claude_files.undecided(self.db, shown(folder.path)):
            project_id = self.owners.of(folder, session_id)
            if project_id is not None:
                gate.give(
                    self.db,
                    namespace,
                    key,
                    project_id,
                    channel=Channel.CLAUDE_AUTO,
                    actor=ACTOR,
                    now_ms=self.now_ms,
                )


def _matched(
    asked: list[notes.Entry], before: list[claude_files.Entry]
) -> list[tuple[notes.Entry, claude_files.Entry | None]]:
    """Each entry with what it was before. In an index the words are the identity where they did not change, and the
    name only after them: what is numbered must not slide when a line above it goes."""
    left = list(before)
    found: dict[int, claude_files.Entry] = {}
    for same in (_same_words, _same_name):
        for number, entry in enumerate(asked):
            if number not in found:
                was = next((one for one in left if same(entry, one)), None)
                if was is not None:
                    found[number] = was
                    left.remove(was)
    return [(entry, found.get(number)) for number, entry in enumerate(asked)]


def _same_words(entry: notes.Entry, before: claude_files.Entry) -> bool:
    return entry.name.startswith("MEMORY#") and entry.hash == before.hash and not before.gone


def _same_name(entry: notes.Entry, before: claude_files.Entry) -> bool:
    return entry.name == before.name
