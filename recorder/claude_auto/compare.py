"""Files as they are now, against what was made of them before."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from recorder import gate
from recorder.claude_auto import folders, index, notes
from recorder.claude_auto.alone import alone
from recorder.claude_auto.folders import Folder, Found, shown
from recorder.claude_auto.naming import Names
from recorder.claude_auto.owner import Owners
from recorder.claude_auto.report import Report
from recorder.claude_auto.settle import Match, Pen, Read
from recorder.config import Config
from recorder.store import claude_files, sessions
from recorder.store.db import Connection, transaction

RACY_MS = 2_000
"""A file changed so shortly ago may change once more without its times showing it: it is read again next time."""


@dataclass(frozen=True, slots=True)
class Look:
    """A folder as it lies there, and what is known of it."""

    folder: Folder
    place: str
    """What the folder is known by in the store."""
    known: dict[str, claude_files.File]
    listed: list[tuple[str, Found]] | None
    """(what it is known by, file) of every file; None where the folder cannot be listed."""

    @property
    def paths(self) -> list[str]:
        """What is there, or may be."""
        return [path for path, _ in self.listed] if self.listed is not None else list(self.known)


def sync(
    db: Connection, config: Config, now_ms: int, redact: gate.Redact = gate.redact_here, wait_s: float = 60.0
) -> Report | None:
    """Bring the memories to what Claude's files say, as far as no person has said otherwise and recording is not
    paused; None when another sync would not end in time. Nothing is written but the store."""
    with alone(config.home, wait_s) as ours:
        if not ours:
            return None
        there, problems = folders.memory_folders(config.claude_dirs)
        report = Report(problems=problems, at_ms=now_ms)
        names = Names(redact)
        looks = list(_looked(db, names, there, report))
        paused = sessions.paused_at(db, now_ms)
        if None in paused:
            report.paused = report.files
        else:
            present = {path for look in looks for path in look.paths}
            owners = Owners(db, config.projects.worktrees, now_ms)
            pen = Pen(db, now_ms, redact, names, owners, report, present, paused)
            for look in looks:
                _take(pen, look)
            _leave(pen, config, {look.place for look in looks})
        report.undecided = claude_files.undecided_files(db)
        report.problems = names.texts(report.problems)
        with transaction(db):
            claude_files.keep_report(db, report.as_json())
        return report


def _looked(db: Connection, names: Names, there: Sequence[Folder], report: Report) -> Iterator[Look]:
    places = claude_files.folders(db)
    for folder in there:
        place = names.kept(folder.path, places)
        known = claude_files.of_folder(db, place)
        try:
            listed = [(names.kept(found.path, known), found) for found in folders.listing(folder)]
        except OSError as error:
            # Not mounted, or closed to us for a while: what is not seen is not gone.
            report.problems.append(
                f"{names.clean(folder.path)} cannot be listed ({error.strerror}): what it held stays"
            )
            yield Look(folder, place, known, None)
        else:
            report.files += len(listed)
            yield Look(folder, place, known, listed)


def _take(pen: Pen, look: Look) -> None:
    """Everything of one folder."""
    if look.listed is None:
        return
    before: dict[str, list[claude_files.Entry]] = {path: [] for path, _ in look.listed}
    leaving = []
    for entry in claude_files.entries(pen.db, look.place):
        if entry.path in before:
            before[entry.path].append(entry)
        elif not entry.gone:
            leaving.append(entry)
    plan = [(one, _matched(one.entries, before[one.file.path])) for one in _read(pen, look, before)]
    plan = [(one, matched) for one, matched in plan if not pen.waits(look.folder, one, matched)]
    for one, matched in plan:
        same = {entry.id for _, entry in matched if entry is not None}
        leaving += [entry for entry in before[one.file.path] if entry.id not in same and not entry.gone]
    for one, matched in plan:
        leaving = pen.write(look.folder, one, matched, leaving)
    for entry in leaving:
        pen.prune(entry)
    pen.give(look.folder, look.place)


def _leave(pen: Pen, config: Config, seen: set[str]) -> None:
    """What was made of folders that are no longer there."""
    without = {
        claude_files.digest(shown(folder.path))
        for root in config.claude_dirs
        for folder in folders.of_projects(root, [])
    }
    for place in sorted(claude_files.folders(pen.db) - seen):
        left = [entry for entry in claude_files.entries(pen.db, place) if not entry.gone]
        secret = claude_files.is_digest(place)
        emptied = (place in without or None) if secret else folders.emptied(place, config.claude_dirs)
        if emptied:
            for entry in left:
                pen.prune(entry)
            if left:  # its files may come back as they were
                with transaction(pen.db):
                    claude_files.read_again(pen.db, place)
        elif emptied is None and left:
            # Not mounted, perhaps: what is not seen is not gone.
            name = "a folder with a secret in its name" if secret else place
            pen.report.problems.append(f"{name} is gone with all around it: what it held stays")


def _read(pen: Pen, look: Look, before: dict[str, list[claude_files.Entry]]) -> Iterator[Read]:
    """The files that are new or look otherwise than last time; the others are counted."""
    listed = look.listed or []
    names = {os.path.basename(found.path) for _, found in listed}
    for path, found in listed:
        stamp = found.stamp
        if os.path.basename(found.path) == folders.INDEX:
            # Which of its lines point at a file depends on the files.
            stamp += ":" + sha256("\n".join(sorted(map(shown, names))).encode()).hexdigest()[:16]
        last = look.known.get(path)
        if found.problem is None and last is not None and last.stamp == stamp:
            pen.report.unchanged += sum(not entry.gone for entry in before[path])
            _note_beyond(pen, found, last)
            continue
        racy = abs(pen.now_ms - found.mtime_ns // 1_000_000) < RACY_MS
        if found.problem is None and found.size == 0 and racy:
            continue  # an editor empties a file before it writes it
        try:
            if found.problem is not None:
                raise OSError(0, found.problem)
            text = folders.read(found)
        except OSError as error:
            pen.report.problems.append(f"{pen.names.clean(found.path)} is left out: {error.strerror}")
            continue
        one = _parsed(pen, look, path, found, text, "" if racy else stamp, names)
        _note_beyond(pen, found, one.file)
        yield one


def _note_beyond(pen: Pen, found: Found, file: claude_files.File) -> None:
    if file.beyond:
        pen.report.note_beyond(pen.names.clean(found.path), file.beyond)


def _parsed(pen: Pen, look: Look, path: str, found: Found, text: str, stamp: str, names: set[str]) -> Read:
    """What the text says, without its secrets."""
    name = os.path.basename(found.path).removesuffix(".md")
    clean, clean_name = pen.redact([text, shown(name)])
    session_id, at_ms = notes.origin(text)
    beyond = 0
    if name == "MEMORY":
        beyond = index.lines_beyond(text)
        # A line may point at a file whose name is no more than redacted in it.
        names = names | set(pen.names.texts([shown(other) for other in sorted(names)]))
    file = claude_files.File(path, look.place, stamp, session_id, beyond)
    at_ms = at_ms or found.mtime_ns // 1_000_000
    return Read(file, pen.names.clean(found.path), notes.of_file(clean_name, clean, names), at_ms)


def _matched(asked: list[notes.Entry], before: list[claude_files.Entry]) -> list[Match]:
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
