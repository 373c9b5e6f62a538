"""Copies: forks, resumes, snapshots, summarisers and side questions repeat records that stand elsewhere."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from recorder.capture import reading
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.models import EventKind, PromptClass, Source, StoredEvent
from recorder.store import events
from recorder.store.db import Connection
from tests.capture.transcript_lines import SESSION, SHARED, Line, answer, lines, queue, result, said, text, typed, use
from tests.makers import T0

FORK = "0a0b0c0d-0000-4000-8000-00000000000f"
TRANSCRIPTS = SHARED / "corpus" / "transcripts"


@pytest.fixture
def reader(db: Connection, config: Config) -> reading.Reader:
    return reading.Reader(db, T0, Redactor(config.capture).event, config)


def stored(reader: reading.Reader) -> list[StoredEvent]:
    return events.get(reader.db, list(range(1, events.last_id(reader.db) + 1)))


def write(path: Path, rows: Sequence[Line]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines(*rows))
    return path


def take(reader: reading.Reader, paths: Sequence[Path]) -> tuple[int, int]:
    """(new, seen) over all of them."""
    taken = [reading.catch_up(reader, path) for path in paths]
    return sum(one.new for one in taken), sum(one.seen for one in taken)


def head(count: int) -> list[Line]:
    """So many records of one event each: prompts, texts, and calls with their results."""
    rows: list[Line] = []
    for n in range(1, count // 3 + 1):
        rows += [typed(f"prompt {n}", n), answer(text(f"answer {n}"), n=n + 100)]
        rows += [answer(use(n), n=n + 200), result(n)]
    return rows


@pytest.mark.parametrize("order", [[0, 1], [1, 0], [0, 1, 0, 1]])
@pytest.mark.parametrize("marked", ["with prompt ids", "before 2.1.76"])
def test_two_files_that_share_30_records_give_30(
    reader: reading.Reader, tmp_path: Path, order: list[int], marked: str
) -> None:
    rows = [
        {name: value for name, value in row.items() if marked == "with prompt ids" or name != "promptId"}
        for row in head(30)
    ]
    copies = [row | {"sessionId": FORK} for row in rows]
    paths = [write(tmp_path / f"{SESSION}.jsonl", rows), write(tmp_path / f"{FORK}.jsonl", copies)]
    assert take(reader, [paths[n] for n in order]) == (30, 30)
    assert len(stored(reader)) == 30


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_a_resume_that_begins_with_the_old_sessions_records_adds_what_is_new(
    reader: reading.Reader, tmp_path: Path, order: list[int]
) -> None:
    old = head(9)
    resumed = [*old, typed("and then?", 50, sessionId=FORK), answer(text("That."), n=51, sessionId=FORK)]
    paths = [write(tmp_path / f"{SESSION}.jsonl", old), write(tmp_path / f"{FORK}.jsonl", resumed)]
    assert take(reader, [paths[n] for n in order]) == (11, 9)
    assert [event.session_id for event in stored(reader)].count(FORK) == 2


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_snapshots_of_a_growing_session_give_each_record_once(
    reader: reading.Reader, tmp_path: Path, order: tuple[int, ...]
) -> None:
    rows = head(15)
    paths = [write(tmp_path / f"{n}" / "full.jsonl", rows[: 6 + 7 * n]) for n in range(3)]
    take(reader, [paths[n] for n in order])
    assert sorted(event.body.get("text", event.tool) for event in stored(reader)) == sorted(
        [*(f"prompt {n}" for n in range(1, 6)), *(f"answer {n}" for n in range(1, 6)), *["Bash"] * 5]
    )


def test_a_queued_prompt_is_copied_with_its_session(reader: reading.Reader, tmp_path: Path) -> None:
    rows = [typed("go"), queue("enqueue", 1, "use tabs"), queue("remove", 2)]
    write(tmp_path / f"{SESSION}.jsonl", rows)
    write(tmp_path / f"{FORK}.jsonl", [row | {"sessionId": FORK} for row in rows])
    assert take(reader, [tmp_path / f"{SESSION}.jsonl", tmp_path / f"{FORK}.jsonl"]) == (2, 2)


BTW = "<system-reminder>This is a side question from the user. Answer it.</system-reminder>\n\nwhich port?"
SUMMARISE = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is to create a detailed summary of"


@pytest.mark.parametrize("agent_first", [False, True])
@pytest.mark.parametrize(
    ("agent", "asked", "kept"),
    [
        ("aside_question-33bf", BTW, [(EventKind.PROMPT, PromptClass.QUEUED), (EventKind.ASSISTANT, None)]),
        ("acompact-afb1", SUMMARISE, [(EventKind.PROMPT, PromptClass.INJECTED), (EventKind.SUMMARY, None)]),
    ],
)
def test_an_agent_that_repeats_its_parent_adds_what_is_its_own_in_either_order(
    reader: reading.Reader,
    tmp_path: Path,
    agent: str,
    asked: str,
    kept: list[tuple[EventKind, PromptClass | None]],
    agent_first: bool,
) -> None:
    rows = head(9)
    own = [said(asked, 70), answer(text("8080, in short."), n=71)]
    copies = [row | {"isSidechain": True, "agentId": agent, "promptId": "prompt-3"} for row in [*rows, *own]]
    paths = [
        write(tmp_path / f"{SESSION}.jsonl", rows),
        write(tmp_path / SESSION / "subagents" / f"agent-{agent}.jsonl", copies),
    ]
    take(reader, paths[::-1] if agent_first else paths)
    found = stored(reader)
    assert [(e.kind, e.klass) for e in found if e.agent_id] == kept
    main = [event for event in found if event.agent_id is None]
    assert len(main) == 9
    prompts = [event for event in main if event.kind is EventKind.PROMPT]
    assert [e.body["text"] for e in prompts] == ["prompt 1", "prompt 2", "prompt 3"]
    assert [e.prompt_id for e in prompts] == ["prompt-1", "prompt-2", "prompt-3"]
    assert not any(event.klass is PromptClass.INJECTED for event in main)
    assert [e.prompt_id for e in main if e.kind is EventKind.ASSISTANT] == ["prompt-1", "prompt-2", "prompt-3"]


def test_the_order_of_a_file_is_the_order_of_its_events_whatever_the_clock_says(
    reader: reading.Reader, tmp_path: Path
) -> None:
    stamps = [50, 10, 40, 20, 30]
    rows = [typed(f"{n}", n, timestamp=f"2026-05-01T10:00:{stamp}.000Z") for n, stamp in enumerate(stamps)]
    reading.catch_up(reader, write(tmp_path / f"{SESSION}.jsonl", rows))
    assert [event.body["text"] for event in stored(reader)] == ["0", "1", "2", "3", "4"]


def test_what_waits_in_the_queue_is_kept_without_its_secrets(reader: reading.Reader, tmp_path: Path) -> None:
    secret = "ghp_" + "0a1B2c3D4e5F" * 3
    path = write(tmp_path / f"{SESSION}.jsonl", [typed("go"), queue("enqueue", 1, f"use {secret}, please")])
    title = {"type": "ai-title", "aiTitle": f"Work with {secret}", "sessionId": SESSION}
    with path.open("ab") as file:
        file.write(lines(title))
    reading.catch_up(reader, path)
    kept = [row[0] for row in reader.db.execute("select state from cursors")]
    assert kept and all(secret not in state for state in kept)
    with path.open("ab") as file:
        file.write(lines(queue("remove", 2), title))
    assert reading.catch_up(reader, path).new == 1
    assert [e.body["text"] for e in stored(reader) if e.klass is PromptClass.QUEUED] == [
        "use [redacted:github-pat], please"
    ]


FORKED = ["entireio+cli/ea/59bf8d9e0b/0/full.jsonl", "entireio+cli/ea/59bf8d9e0b/2/full.jsonl"]
GREW = ["entireio+cli/cf/f7f96ad60a/1/full.jsonl", "entireio+cli/14/23d227c85c/0/full.jsonl"]


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(("names", "new"), [(FORKED, 37), (GREW, 239)])
def test_forks_and_snapshots_of_the_corpus_come_in_once(
    reader: reading.Reader, names: list[str], new: int, backwards: bool
) -> None:
    paths = [TRANSCRIPTS / name for name in names]
    if not paths[0].exists():
        pytest.skip("needs ../shared")
    assert take(reader, paths[::-1] if backwards else paths)[0] == new


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason="needs ../shared")
def test_no_image_of_the_corpus_is_in_what_is_stored(config: Config) -> None:
    redact = Redactor(config.capture).event
    pictured = [path for path in sorted(TRANSCRIPTS.rglob("*.jsonl")) if b'"base64"' in path.read_bytes()]
    assert len(pictured) > 5
    for path in pictured:
        piece = reading.prepare(path, reading.Place(), redact, Source.TRANSCRIPT, believed=True, final=True)
        stored = [ready.event.body for ready in piece.ready] + [call.body for call in piece.place.calls.values()]
        assert longest([*map(dict, stored), dict(piece.place.cursor.state)]) < 20_000, path


def longest(value: object) -> int:
    """Characters of the longest text in a JSON value."""
    if isinstance(value, str):
        return len(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max((longest(item) for item in inner), default=0)


def test_an_image_read_twice_in_one_record_is_stored_not_once(reader: reading.Reader, tmp_path: Path) -> None:
    picture = "iVBORw0KGgo" + "Ab3/" * 40_000
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}}
    structured = {"type": "image", "file": {"base64": picture, "type": "image/png", "originalSize": 120_000}}
    rows = [said([block, text("what is it?")]), answer(use(tool="Read"), n=2), result(1, [block], structured)]
    reading.catch_up(reader, write(tmp_path / f"{SESSION}.jsonl", rows))
    assert max(len(json.dumps(event.body)) for event in stored(reader)) < 1_000
