"""A transcript that grows under the reader: at whatever byte it stops, nothing is lost and nothing told twice."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorder.capture import reading
from recorder.capture.redact import Redactor
from recorder.capture.transcript import Cursor
from recorder.config import Config
from recorder.models import Event
from recorder.store import events
from recorder.store.db import connect
from tests.capture.transcript_lines import (
    SESSION,
    Line,
    absorbed,
    answer,
    lines,
    queue,
    read_on,
    record,
    result,
    said,
    text,
    typed,
    use,
)
from tests.makers import T0

WORDS = st.sampled_from(
    ["go", "naïve ✓", "データ 🚧", 'a "quoted" }{ brace', "line\nbreak", '{"type":"user"}', "SURROGATE"]
)
NUMBER = st.integers(1, 6)
RECORDS = st.one_of(
    st.builds(typed, WORDS, NUMBER),
    st.builds(said, WORDS, NUMBER),
    st.builds(lambda words, n: answer(text(words), n=n), WORDS, NUMBER),
    st.builds(lambda n, more: answer(text("So."), use(n), use(more), n=n), NUMBER, NUMBER),
    st.builds(result, NUMBER, WORDS),
    st.builds(lambda n, more: said([*content(result(n)), *content(result(more))], n), NUMBER, NUMBER),
    st.builds(queue, st.sampled_from(["enqueue", "dequeue", "remove", "popAll"]), NUMBER, WORDS | st.none()),
    st.builds(absorbed, WORDS, NUMBER),
    st.builds(lambda words: {"type": "ai-title", "aiTitle": words, "sessionId": SESSION}, WORDS),
    st.builds(lambda n: record("progress", n, data={"type": "bash_progress"}), NUMBER),
    st.builds(lambda n: said("Warmup", n, isSidechain=True, parentUuid=None), NUMBER),
    st.builds(lambda n, m: answer(use(m), n=n, isSidechain=True, parentUuid=f"uuid-user-{m}"), NUMBER, NUMBER),
)
END = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"", b"\n\n", b"\n \n", b"\n\x00\x00\n", b'\n{"type":"us'])
"""What stands between two records: most often a line's end, sometimes none (glued), a blank, a torn piece."""


def content(line: Line) -> list[Line]:
    blocks: list[Line] = line["message"]["content"]
    return blocks


def bytes_of(row: Line, end: bytes) -> bytes:
    return lines(row)[:-1].replace(b"SURROGATE", rb"\ud83d") + end


FILES = st.lists(st.builds(bytes_of, RECORDS, END), min_size=1, max_size=8)
LOOSE = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=40
)


def told(found: list[Event]) -> list[tuple[str, str, str]]:
    return [(event.key, event.ref, repr(event.body)) for event in found]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"{SESSION}.jsonl"


@LOOSE
@given(before=FILES, last=st.builds(bytes_of, RECORDS, st.just(b"\n")))
def test_at_every_byte_of_the_last_record_the_rest_completes_what_was_read(
    path: Path, before: list[bytes], last: bytes
) -> None:
    path.write_bytes(b"".join(before))
    firsts = [read_on(path, Cursor(), {})]
    with path.open("ab", buffering=0) as growing:
        for byte in range(len(last)):
            growing.write(last[byte : byte + 1])
            firsts.append(read_on(path, Cursor(), {}))
    whole = firsts[-1]
    for first in firsts:
        rest = read_on(path, first.cursor, first.open_calls)
        assert told(first.events + rest.events) == told(whole.events)
        assert first.skipped + rest.skipped == whole.skipped
        assert (rest.cursor, rest.open_calls) == (whole.cursor, whole.open_calls)


@LOOSE
@given(
    parts=FILES,
    limits=st.lists(st.integers(1, 3000), min_size=1, max_size=4),
    cuts=st.lists(st.integers(0, 4000), min_size=1),
)
def test_in_whatever_pieces_it_grows_and_is_read_the_events_are_the_same(
    path: Path, parts: list[bytes], limits: list[int], cuts: list[int]
) -> None:
    content = b"".join(parts) + b"\n"
    path.write_bytes(content)
    whole = read_on(path, Cursor(), {})
    cursor, calls, found, skipped = Cursor(), dict[str, Event](), list[Event](), whole.skipped - whole.skipped
    for cut, limit in zip([*sorted(cuts), len(content)], itertools.cycle(limits), strict=False):
        path.write_bytes(content[:cut])
        chunk = read_on(path, cursor, calls, limit_bytes=limit)
        cursor, calls = chunk.cursor, chunk.open_calls
        found += chunk.events
        skipped += chunk.skipped
    assert told(found) == told(whole.events)
    assert (skipped, calls) == (whole.skipped, whole.open_calls)


@settings(LOOSE, max_examples=15)
@given(before=FILES, last=st.builds(bytes_of, RECORDS, st.just(b"\n")), data=st.data())
def test_a_store_that_reads_while_it_grows_holds_what_one_reading_gives(
    tmp_path: Path, before: list[bytes], last: bytes, data: st.DataObject
) -> None:
    head = b"".join(before)
    cuts = data.draw(st.lists(st.integers(0, len(last)), min_size=2, max_size=5))
    at_once = stored(tmp_path / "at_once", [head + last])
    assert stored(tmp_path / "grown", [head + last[:cut] for cut in sorted(cuts)] + [head + last]) == at_once


def stored(home: Path, states: list[bytes]) -> list[tuple[int, str, str]]:
    """What a new store holds after it read the file in each of its states."""
    shutil.rmtree(home, ignore_errors=True)
    config = Config(home=home / ".recorder")
    path = home / "projects" / "p" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    db = connect(config.db_path)
    reader = reading.Reader(db, T0, Redactor(config.capture).event, config)
    for content in states:
        path.write_bytes(content)
        reading.catch_up(reader, path)
    rows = [(e.id, e.key, repr(e.body)) for e in events.get(db, list(range(1, (events.last_id(db) or 0) + 1)))]
    waiting = [(0, key, repr(call.body)) for key, call in events.open_calls(db, str(path)).items()]
    db.close()
    return rows + waiting
