"""Session JSONL → events, from a byte offset.

Layout and framing: append-only UTF-8 lines, seen in clients 1.0 to 2.1.220. A line may hold two records, or half of
one and then the next; the last line may still be growing.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from recorder.capture import lenient, persisted, prompts, records
from recorder.capture.conversation import Conversation, Record
from recorder.counted import many
from recorder.errors import TranscriptError
from recorder.models import Event, EventKind, HookTime, Source
from recorder.store import retold

LIMIT_BYTES = 4 * 1024 * 1024
LONGEST_LINE = 256 * 1024 * 1024

_BLANK = " \t\r\n\x00"
_RECORD_START = re.compile(r'\{"(?:parentUuid|type|uuid|sessionId|isSidechain|logicalParentUuid)":')
_NOT_WHOLE = object()
_TOLD_APART_BY = frozenset({"session_id", "cwd", "prompt_id", "keyed", "titled", "warm", "absorbed", "awaited"})
"""Of a conversation's state: ids, hashes, and the folder, which names the project."""
_RECORD_MARKS = frozenset({"uuid", "sessionId", "leafUuid", "messageId"})


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a transcript was read. JSON can hold the state."""

    offset: int = 0
    state: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Chunk:
    """One read: the events, the calls still without a result, and where to go on.

    `seen` = `taken` + all of `skipped`: every record is accounted for; a torn piece and a blank line count as one.
    """

    events: list[Event]
    open_calls: dict[str, Event]
    cursor: Cursor
    at_end: bool
    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    lines: int = 0
    seen: int = 0
    taken: int = 0
    hook_times: list[HookTime] = field(default_factory=list)


def redacted(cursor: Cursor, redact: Callable[[Event], Event]) -> Cursor:
    """The cursor as it may be stored: what waits in the client's queue was typed by a person, and a branch is a
    name that a person gave. What things are told apart by stays as it is."""
    shown = {name: value for name, value in cursor.state.items() if name not in _TOLD_APART_BY}
    waiting = shown.get("queue", [])
    if waiting:
        shown["queue"] = [text for text, *_ in waiting]
    clean = dict(redact(Event("", EventKind.OTHER, "", 0, Source.TRANSCRIPT, shown)).body)
    if waiting:
        clean["queue"] = [[text, *rest] for text, (_, *rest) in zip(clean["queue"], waiting, strict=True)]
    return Cursor(cursor.offset, {**cursor.state, **clean})


def without_forgotten(cursor: Cursor, sought: retold.Retold | None) -> Cursor:
    """The cursor as it may be stored where words were forgotten: neither the branch nor what waits in the client's
    queue holds them, unless it was typed since."""
    if sought is None:
        return cursor
    state = dict(cursor.state)
    if isinstance(branch := state.get("branch"), str) and sought.in_text(branch):
        state["branch"] = None
    state["queue"] = [
        [sought.blanked(text) if any(at_ms <= since for since in sought.since(text)) else text, at_ms, *rest]
        for text, at_ms, *rest in state.get("queue", ())
    ]
    return Cursor(cursor.offset, state)


def read(
    path: Path,
    cursor: Cursor,
    *,
    open_calls: Mapping[str, Event],
    limit_bytes: int = LIMIT_BYTES,
    source: Source = Source.TRANSCRIPT,
    final: bool = False,
) -> Chunk:
    """About `limit_bytes` of whole lines from the cursor on; call again until `at_end`.

    A line without its end is left for the next read. `final` takes it when it is whole all the same: for files
    that nobody writes any more. A file that does not exist yet is empty; one that shrank is read from the start.

    Raises: TranscriptError when path cannot be read as a file.
    """
    try:
        if not path.is_file():
            if path.exists():
                raise TranscriptError(f"{path} is not a file: a transcript is one")
            return Chunk([], dict(open_calls), cursor, at_end=True)
        with path.open("rb") as file:
            return _read(file, path, cursor, open_calls, limit_bytes, source, final)
    except OSError as error:
        raise TranscriptError(f"{path} cannot be read: {error.strerror or error}") from error


def _read(
    file: BinaryIO,
    path: Path,
    cursor: Cursor,
    open_calls: Mapping[str, Event],
    limit_bytes: int,
    source: Source,
    final: bool,
) -> Chunk:
    status = os.fstat(file.fileno())
    problems: list[str] = []
    if cursor.offset > status.st_size:
        problems.append(f"{path} shrank from {cursor.offset} to {status.st_size} bytes: read again from its start")
        cursor = Cursor()
    conversation = Conversation.resume(path, source, open_calls, cursor.state)
    chunk = Chunk([], conversation.open_calls, cursor, at_end=False, problems=problems)
    torn = _Torn()
    offset = cursor.offset
    file.seek(offset)
    while offset - cursor.offset < limit_bytes:
        line = file.readline(LONGEST_LINE)
        if not line.endswith(b"\n"):
            if len(line) >= LONGEST_LINE:
                passed, ended = _rest_of_line(file)
                if not ended and not final:
                    chunk.at_end = True
                    break
                offset += len(line) + passed
                chunk.lines += 1
                _count(chunk, "oversize")
                problems.append(f"{path}: a line longer than {LONGEST_LINE} bytes was left out")
                continue
            chunk.at_end = True
            if not (line and final):
                break
            if not _is_whole(line):
                chunk.lines += 1
                _count(chunk, "unfinished")
                break
        chunk.lines += 1
        _take_line(chunk, conversation, line, path, offset, torn)
        offset += len(line)
        if chunk.at_end:
            break
    if chunk.at_end and final:
        chunk.events += prompts.left_in_queue(conversation, Record({}, b"", f"{path}:{offset}"))
    if torn.count:
        problems.append(f"{path}: not whole records: {many(torn.count, 'piece')}, the first at byte {torn.first}")
    chunk.events = _timed(chunk.events, conversation, status.st_mtime_ns // 1_000_000)
    chunk.cursor = Cursor(offset, conversation.state())
    chunk.hook_times = conversation.hook_times
    return chunk


@dataclass(slots=True)
class _Torn:
    """What could not be read: one problem a file, not one a line."""

    count: int = 0
    first: int = 0

    def at(self, offset: int) -> None:
        self.first = self.first if self.count else offset
        self.count += 1


def _take_line(chunk: Chunk, conversation: Conversation, line: bytes, path: Path, offset: int, torn: _Torn) -> None:
    try:
        whole = lenient.loads(line)
    except ValueError:
        _take_pieces(chunk, conversation, line, path, offset, torn)
    else:
        _take(chunk, conversation, whole, line, path, offset)


def _take_pieces(chunk: Chunk, conversation: Conversation, line: bytes, path: Path, offset: int, torn: _Torn) -> None:
    """Take a line that is not exactly one faultless record."""
    text = lenient.text_of(line).strip(_BLANK)
    if not text:
        _count(chunk, "blank")
    for start, end, value in _values(text):
        at = offset + len(text[:start].encode())
        if value is _NOT_WHOLE:
            torn.at(at)
            _count(chunk, "torn")
        else:
            _take(chunk, conversation, value, text[start:end].encode("utf-8", "replace"), path, at)


def _take(chunk: Chunk, conversation: Conversation, value: Any, raw: bytes, path: Path, at: int) -> None:
    taken = (
        records.take(conversation, Record(value, raw, f"{conversation.path}:{at}"))
        if isinstance(value, dict)
        else "not_a_record"
    )
    if isinstance(taken, str):
        _count(chunk, taken)
    else:
        chunk.seen += 1
        chunk.taken += 1
        for event in taken:
            outside = event.kind is EventKind.TOOL_CALL and "persisted" in event.body
            chunk.events.append(persisted.filled(event, path) if outside else event)


def _values(text: str) -> Iterator[tuple[int, int, Any]]:
    """Every JSON value of a line with its place; `_NOT_WHOLE` as the value of a piece that is none."""
    at = 0
    while at < len(text):
        try:
            value, end = lenient.decode(text, at)
        except ValueError:
            start, value, end = _next_record(text, at + 1)
            yield at, start, _NOT_WHOLE
            if start == len(text):
                return
            at = start
        yield at, end, value
        at = end
        while at < len(text) and text[at] in _BLANK:
            at += 1


def first_record(line: bytes) -> dict[str, Any] | None:
    """The first whole record on a line, which may hold several, or begin with half of one."""
    text = lenient.text_of(line).strip(_BLANK)
    return next((value for _, _, value in _values(text) if isinstance(value, dict)), None)


def _next_record(text: str, start: int) -> tuple[int, Any, int]:
    """The first whole record after a torn one, else the end of the line. A block inside the torn one is none."""
    for found in _RECORD_START.finditer(text, start):
        try:
            value, end = lenient.decode(text, found.start())
        except ValueError:
            continue
        if isinstance(value, dict) and _RECORD_MARKS & value.keys():
            return found.start(), value, end
    return len(text), None, len(text)


def _is_whole(line: bytes) -> bool:
    """True for an unterminated line that is one or more complete objects."""
    text = lenient.text_of(line).strip(_BLANK)
    return bool(text) and all(isinstance(value, dict) for _, _, value in _values(text))


def _rest_of_line(file: BinaryIO) -> tuple[int, bool]:
    """Bytes read on to the end of a line that is too long to take, and whether there was one."""
    passed = 0
    while piece := file.readline(LIMIT_BYTES):
        passed += len(piece)
        if piece.endswith(b"\n"):
            return passed, True
    return passed, False


def _timed(events: list[Event], conversation: Conversation, changed_ms: int) -> list[Event]:
    """The events, those from before the first known time dated by it, or by the file."""
    if not events or events[0].at_ms:
        return events
    known = next((event.at_ms for event in events if event.at_ms), conversation.at_ms or changed_ms)
    return [event if event.at_ms else replace(event, at_ms=known) for event in events]


def _count(chunk: Chunk, rule: str) -> None:
    chunk.seen += 1
    chunk.skipped[rule] += 1
