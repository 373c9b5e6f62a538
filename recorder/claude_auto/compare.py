"""Files as they are now, against what was made of them before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256

from recorder import gate
from recorder.claude_auto import folders, index, notes
from recorder.claude_auto.alone import alone
from recorder.claude_auto.folders import Folder, Found, shown
from recorder.claude_auto.owner import Owners
from recorder.claude_auto.report import Report
from recorder.claude_auto.settle import Match, Pen, Read
from recorder.config import Config
from recorder.store import claude_files
from recorder.store.db import Connection, transaction

RACY_MS = 2_000
"""A file changed so shortly ago may change once more without its times showing it: it is read again next time."""


def sync(
    db: Connection, config: Config, now_ms: int, redact: gate.Redact = gate.redact_here, wait_s: float = 60.0
) -> Report | None:
    """Bring the memories to what Claude's files say, as far as no person has said otherwise; None when another sync
    would not end in time. Nothing is written but the store."""
    with alone(config.home, wait_s) as ours:
        if not ours:
            return None
        there, problems = folders.memory_folders(config.claude_dirs)
        report = Report(problems=problems, at_ms=now_ms)
        pen = Pen(db, now_ms, redact, Owners(db, config.projects.worktrees, now_ms), report)
        for folder in there:
            _take(pen, folder)
        with transaction(db):
            claude_files.keep_report(db, report.as_json())
        return report


def _take(pen: Pen, folder: Folder) -> None:
    """Everything of one folder."""
    place = shown(folder.path)
    try:
        listed = folders.listing(folder)
    except OSError as error:
        # Not mounted, or closed to us for a while: what is not seen is not gone.
        pen.report.problems.append(f"{place} cannot be listed ({error.strerror}): what it held stays")
        return
    pen.report.files += len(listed)
    before: dict[str, list[claude_files.Entry]] = {shown(found.path): [] for found in listed}
    leaving = []
    for entry in claude_files.entries(pen.db, place):
        if entry.path in before:
            before[entry.path].append(entry)
        elif not entry.gone:
            leaving.append(entry)
    plan = [(one, _matched(one.entries, before[one.file.path])) for one in _read(pen, folder, listed, before)]
    for one, matched in plan:
        same = {entry.id for _, entry in matched if entry is not None}
        leaving += [entry for entry in before[one.file.path] if entry.id not in same and not entry.gone]
    for one, matched in plan:
        leaving = pen.write(folder, one, matched, leaving)
    for entry in leaving:
        pen.prune(entry)
    pen.give(folder)


def _read(pen: Pen, folder: Folder, listed: list[Found], before: dict[str, list[claude_files.Entry]]) -> Iterator[Read]:
    """The files that are new or look otherwise than last time; the others are counted."""
    known = claude_files.of_folder(pen.db, shown(folder.path))
    names = {os.path.basename(found.path) for found in listed}
    for found in listed:
        path = shown(found.path)
        stamp = found.stamp
        if os.path.basename(found.path) == folders.INDEX:
            # Which of its lines point at a file depends on the files.
            stamp += ":" + sha256("\n".join(sorted(map(shown, names))).encode()).hexdigest()[:16]
        last = known.get(path)
        if found.problem is None and last is not None and last.stamp == stamp:
            pen.report.unchanged += sum(not entry.gone for entry in before[path])
            pen.report.note_beyond(path, last.beyond)
            continue
        racy = abs(pen.now_ms - found.mtime_ns // 1_000_000) < RACY_MS
        if found.problem is None and found.size == 0 and racy:
            continue  # an editor empties a file before it writes it
        try:
            if found.problem is not None:
                raise OSError(0, found.problem)
            text = folders.read(found)
        except OSError as error:
            pen.report.problems.append(f"{path} is left out: {error.strerror}")
            continue
        one = _parsed(pen, folder, found, text, "" if racy else stamp, names)
        pen.report.note_beyond(path, one.file.beyond)
        yield one


def _parsed(pen: Pen, folder: Folder, found: Found, text: str, stamp: str, names: set[str]) -> Read:
    """What the text says, without its secrets."""
    name = os.path.basename(found.path).removesuffix(".md")
    clean, clean_name = pen.redact([text, shown(name)])
    session_id, at_ms = notes.origin(text)
    beyond = index.lines_beyond(text) if name == "MEMORY" else 0
    file = claude_files.File(shown(found.path), shown(folder.path), stamp, session_id, beyond)
    return Read(file, notes.of_file(clean_name, clean, names), at_ms or found.mtime_ns // 1_000_000)


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
