"""Transcript files into the store, from where we left off."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from recorder.capture import ingest, transcript
from recorder.config import Config
from recorder.models import Event, PromptClass, Source
from recorder.store import events, sessions
from recorder.store.db import Connection, transaction

PREFIX_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Reader:
    """What reading a transcript needs: the database, the time, the redaction, the settings."""

    db: Connection
    now_ms: int
    redact: Callable[[Event], Event]
    config: Config
    source: Source = Source.TRANSCRIPT
    but_turn: str = ""


def session_files(main: Path) -> list[Path]:
    """The session's transcript and those of its subagents, workflows included.

    Source: `<session>.jsonl` beside `<session>/subagents/**/agent-*.jsonl` (client 2.1.2 and later).
    """
    beside = main.with_suffix("") / "subagents"
    agents = sorted(beside.rglob("agent-*.jsonl")) if beside.is_dir() else []
    return [path for path in (main, *agents) if path.is_file()]


def catch_up(reader: Reader, path: Path, session_id: str) -> ingest.Taken:
    """Take in what the transcript holds beyond what was read; never past an unterminated line.

    How far it was read is committed with the events, so that a crash in between reads the same span again.
    """
    name = str(path)
    believed = _is_claudes(path, reader.config)
    cursor, calls = _start(reader.db, path)
    total = ingest.Taken()
    while True:
        chunk = transcript.read(path, cursor, open_calls=calls, source=reader.source)
        calls = {key: reader.redact(call) for key, call in chunk.open_calls.items()}
        if chunk.cursor.offset != cursor.offset or chunk.events:
            taken = ingest.take(
                reader.db,
                chunk.events if believed else [_unsure(event) for event in chunk.events],
                now_ms=reader.now_ms,
                redact=reader.redact,
                config=reader.config,
                but_turn=reader.but_turn,
                also=_keep(reader, path, name, session_id, chunk.cursor, calls),
            )
            total = ingest.Taken(total.new + taken.new, total.seen + taken.seen, total.left_out + taken.left_out)
        cursor = chunk.cursor
        if chunk.at_end:
            return total


def give_up_waiting(reader: Reader, session_id: str) -> int:
    """Let the tool uses of a closed session enter without a result; how many."""
    waiting = 0
    for name in sessions.read_paths(reader.db, session_id):
        calls = events.open_calls(reader.db, name)
        if not calls:
            continue
        ingest.take(
            reader.db,
            [replace(call, ok=None) for call in calls.values()],
            now_ms=reader.now_ms,
            redact=reader.redact,
            config=reader.config,
            but_turn=reader.but_turn,
            also=lambda name=name: events.keep_open_calls(reader.db, name, ()),  # type: ignore[misc]
        )
        waiting += len(calls)
    return waiting


def _is_claudes(path: Path, config: Config) -> bool:
    """Whether Claude Code itself keeps the transcript. A hook input can name any file."""
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(folder / "projects") for folder in config.claude_dirs)


def _unsure(event: Event) -> Event:
    """The event without the claim that a person typed it."""
    return replace(event, klass=None) if event.klass is PromptClass.TYPED else event


def _start(db: Connection, path: Path) -> tuple[transcript.Cursor, Mapping[str, Event]]:
    """Where to go on, or the beginning when the file is another one or shorter than what was read."""
    known = sessions.reading(db, str(path))
    if known is None:
        return transcript.Cursor(0, {}), {}
    status = path.stat()
    if status.st_size < known.offset or _prefix_hash(path, known.offset) != known.prefix_hash:
        with transaction(db):
            events.keep_open_calls(db, str(path), ())
        return transcript.Cursor(0, {}), {}
    return transcript.Cursor(known.offset, known.state), events.open_calls(db, str(path))


def _keep(
    reader: Reader, path: Path, name: str, session_id: str, cursor: transcript.Cursor, calls: Mapping[str, Event]
) -> Callable[[], None]:
    reading = sessions.Reading(
        name, session_id, os.stat(path).st_ino, cursor.offset, _prefix_hash(path, cursor.offset), cursor.state
    )

    def keep() -> None:
        sessions.keep_reading(reader.db, reading, reader.now_ms)
        events.keep_open_calls(reader.db, name, calls.values())

    return keep


def _prefix_hash(path: Path, offset: int) -> str:
    with path.open("rb") as file:
        return sha256(file.read(min(offset, PREFIX_BYTES))).hexdigest()
