"""Transcript files into the store, from where we left off."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from recorder.capture import ingest, transcript
from recorder.config import Config
from recorder.models import Event, HookTime, PromptClass, Source
from recorder.store import denials, events, hook_times, retold, sessions
from recorder.store.db import Connection, transaction

EDGE_BYTES = 4096
"""Of a file's first bytes, and of the last ones before the offset, a hash is kept: the same file is known by them."""


Read = Callable[..., transcript.Chunk]
"""Reads the next span of a log as `transcript.read` does, which is called like it."""


@dataclass(frozen=True, slots=True)
class Reader:
    """What reading a transcript needs: the database, the time, the redaction, the settings.

    `run_id` is the backfill's. `final` takes a whole last line without its end too, of a file nobody writes any more.
    """

    db: Connection
    now_ms: int
    redact: Callable[[Event], Event]
    config: Config
    source: Source = Source.TRANSCRIPT
    but_turn: str = ""
    run_id: int | None = None
    final: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where to go on in a file, and what waits there for its end."""

    cursor: transcript.Cursor = transcript.Cursor(0, {})
    calls: Mapping[str, Event] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Piece:
    """A span of a transcript, redacted: all that needs no database.

    `records` = `taken_in` + all of `left_out`: every record of the span is accounted for.
    """

    ready: list[ingest.Ready]
    place: Place
    inode: int
    prefix_hash: str
    tail_hash: str
    at_end: bool
    moved: bool
    lines: int
    records: int
    taken_in: int
    left_out: Counter[str]
    problems: list[str]
    hook_times: list[HookTime]


@dataclass(frozen=True, slots=True)
class Step:
    """What one commit brought: how far the file is read now, the piece's count, and what became of its events."""

    offset: int
    piece: Piece
    taken: ingest.Taken


def session_files(main: Path) -> list[Path]:
    """The session's transcript and those of its subagents, workflows included.

    Source: `<session>.jsonl` beside `<session>/subagents/**/agent-*.jsonl` (client 2.1.2 and later).
    """
    beside = main.with_suffix("") / "subagents"
    agents = sorted(beside.rglob("agent-*.jsonl")) if beside.is_dir() else []
    return [path for path in (main, *agents) if path.is_file()]


def catch_up(reader: Reader, path: Path, session_id: str | None = None) -> ingest.Taken:
    """Take in what the transcript holds beyond what was read; never past an unterminated line."""
    total = ingest.Taken()
    for step in steps(reader, path, session_id):
        taken = step.taken
        total = ingest.Taken(total.new + taken.new, total.seen + taken.seen, total.left_out + taken.left_out)
    return total


def steps(reader: Reader, path: Path, session_id: str | None = None) -> Iterator[Step]:
    """Each commit on the way to the file's end; who stops asking stops the reading, and it goes on there next time.

    How far the file was read is committed with the events, so that a crash in between reads the same span again.
    The session is the records' own where none is given.
    """
    place = start(reader.db, path, reader.source)
    believed = is_claudes(path, reader.config)
    while True:
        piece = prepare(path, place, reader.redact, reader.source, believed=believed, final=reader.final)
        if piece.moved:
            yield Step(piece.place.cursor.offset, piece, keep(reader, [(path, piece)], session_id))
        place = piece.place
        if piece.at_end:
            return


def start(db: Connection, path: Path, source: Source) -> Place:
    """Where to go on, or the beginning when the file is another one or shorter than what was read. What a person took
    back only a backfill reads again.

    Where the connection cannot write, the answer is the same and nothing is forgotten.
    """
    known = sessions.reading(db, str(path))
    if not path.is_file():
        return Place()
    back = sessions.taken_back(db, str(path))
    if back and source is Source.BACKFILL:
        return Place()
    size = path.stat().st_size
    anew = Place(transcript.Cursor(min(back, size)))  # a shorter copy holds nothing but what was taken back
    if known is None:
        return anew
    prefix, tail = _edges(path, known.offset)
    if size < known.offset or prefix != known.prefix_hash or known.tail_hash not in (None, tail):
        if not db.pragma("query_only"):
            with transaction(db):
                events.keep_open_calls(db, str(path), ())
        return anew
    return Place(transcript.Cursor(known.offset, known.state), events.open_calls(db, str(path)))


def prepare(
    path: Path,
    place: Place,
    redact: Callable[[Event], Event],
    source: Source,
    *,
    believed: bool,
    final: bool,
    read: Read = transcript.read,
) -> Piece:
    """The next span of the file, redacted. `believed`: what it says of who typed counts."""
    chunk = read(path, place.cursor, open_calls=place.calls, source=source, final=final)
    moved = chunk.cursor.offset != place.cursor.offset or bool(chunk.events)
    found = chunk.events if believed else [_unsure(event) for event in chunk.events]
    prefix, tail = _edges(path, chunk.cursor.offset) if moved else ("", "")
    return Piece(
        ready=ingest.make_ready(found, redact),
        place=Place(
            transcript.redacted(chunk.cursor, redact), {key: redact(call) for key, call in chunk.open_calls.items()}
        ),
        inode=path.stat().st_ino if moved else 0,
        prefix_hash=prefix,
        tail_hash=tail,
        at_end=chunk.at_end,
        moved=moved,
        lines=chunk.lines,
        records=chunk.seen,
        taken_in=chunk.taken,
        left_out=chunk.skipped,
        problems=chunk.problems,
        hook_times=chunk.hook_times,
    )


def keep(reader: Reader, pieces: Sequence[tuple[Path, Piece]], session_id: str | None = None) -> ingest.Taken:
    """Store pieces of files in one commit, and with them how far each file was read."""

    def note() -> None:
        sought = retold.standing(reader.db)
        for path, piece in pieces:
            place = replace(piece.place, cursor=transcript.without_forgotten(piece.place.cursor, sought))
            reading = sessions.Reading(
                str(path),
                session_id or str(place.cursor.state.get("session_id") or path.stem),
                piece.inode,
                place.cursor.offset,
                piece.prefix_hash,
                place.cursor.state,
                piece.tail_hash,
                reader.run_id,
            )
            sessions.keep_reading(reader.db, reading, reader.now_ms)
            if reader.source is Source.BACKFILL:
                sessions.brought_again(reader.db, str(path))
            hook_times.keep(reader.db, piece.hook_times)
            calls = list(place.calls.values())
            forgotten = denials.forgotten(reader.db, calls)
            blank = denials.blanked(reader.db, calls)
            kept = [blank.get(call.key, call) for call in calls if call.key not in forgotten]
            events.keep_open_calls(reader.db, str(path), kept)

    return ingest.store(
        reader.db,
        [ready for _, piece in pieces for ready in piece.ready],
        now_ms=reader.now_ms,
        config=reader.config,
        but_turn=reader.but_turn,
        also=note,
        run_id=reader.run_id,
    )


def give_up_waiting(reader: Reader, session_id: str) -> int:
    """Let the tool uses of a closed session enter without a result; how many."""
    waiting = 0
    for name in sessions.read_paths(reader.db, session_id):
        calls = events.open_calls(reader.db, name)
        if not calls:
            continue
        read = sessions.reading(reader.db, name)
        ingest.take(
            reader.db,
            [replace(call, ok=None) for call in calls.values()],
            now_ms=reader.now_ms,
            redact=reader.redact,
            config=reader.config,
            but_turn=reader.but_turn,
            also=lambda name=name: events.keep_open_calls(reader.db, name, ()),  # type: ignore[misc]
            run_id=read.run_id if read else None,
        )
        waiting += len(calls)
    return waiting


def is_claudes(path: Path, config: Config) -> bool:
    """Whether Claude Code itself keeps the transcript. A hook input can name any file."""
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(folder / "projects") for folder in config.claude_dirs)


def _unsure(event: Event) -> Event:
    """The event without the claim that a person typed it."""
    return replace(event, klass=None) if event.klass is PromptClass.TYPED else event


def _edges(path: Path, offset: int) -> tuple[str, str]:
    """Hashes of the first bytes of a file, and of the last ones before the offset."""
    with path.open("rb") as file:
        first = file.read(min(offset, EDGE_BYTES))
        file.seek(max(0, offset - EDGE_BYTES))
        last = file.read(min(offset, EDGE_BYTES))
    return sha256(first).hexdigest(), sha256(last).hexdigest()
