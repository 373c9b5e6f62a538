"""A transcript that grows, is replaced, or is a copy of another one."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recorder.capture import reading
from recorder.config import Config
from recorder.models import Event, Source
from recorder.store import events, health, jobs, sessions
from recorder.store.db import Connection, transaction
from tests.makers import T0, event_of, project_folder, prompt, take


def said(uuid: str, text: str, *, session: str = "s1", at_ms: int = T0, **more: Any) -> dict[str, Any]:
    """A typed prompt as client 2.1.197 writes it."""
    at = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    common = {"uuid": uuid, "parentUuid": None, "timestamp": at, "sessionId": session, "cwd": "/home/user/project"}
    message = {"role": "user", "content": text}
    return common | {"type": "user", "isSidechain": False, "entrypoint": "cli", "message": message} | more


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def append(path: Path, *records: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def reader(db: Connection, config: Config) -> reading.Reader:
    def as_it_is(event: Event) -> Event:
        return event

    return reading.Reader(db, T0 + 1000, as_it_is, config)


def texts(db: Connection, session_id: str = "s1") -> list[str]:
    return [event.text for event in events.of_session(db, session_id)]


def test_only_what_was_added_is_read_the_next_time(reader: reading.Reader, tmp_path: Path) -> None:
    path = write(tmp_path / "s1.jsonl", said("u1", "one"), said("u2", "two", at_ms=T0 + 1))
    assert reading.catch_up(reader, path).new == 2
    append(path, said("u3", "three", at_ms=T0 + 2))
    again = reading.catch_up(reader, path)
    assert (again.new, again.seen) == (1, 0)
    assert texts(reader.db) == ["one", "two", "three"]


def test_a_file_rewritten_behind_the_same_beginning_is_read_anew(reader: reading.Reader, tmp_path: Path) -> None:
    long = "x" * (2 * reading.EDGE_BYTES)
    path = write(tmp_path / "s1.jsonl", said("u1", long), said("u2", "taken back", at_ms=T0 + 1))
    reading.catch_up(reader, path)
    write(path, said("u1", long), said("u3", "instead of", at_ms=T0 + 2), said("u4", "then", at_ms=T0 + 3))
    again = reading.catch_up(reader, path)
    assert (again.new, again.seen) == (2, 1)


def test_a_reading_that_is_stopped_goes_on_where_it_was_committed(reader: reading.Reader, tmp_path: Path) -> None:
    big = "y" * (3 * 1024 * 1024)
    path = write(tmp_path / "s1.jsonl", *(said(f"u{n}", f"{n} {big}", at_ms=T0 + n) for n in range(4)))
    first = next(reading.steps(reader, path))
    assert not first.piece.at_end
    rest = reading.catch_up(reader, path)
    assert (first.taken.new + rest.new, rest.seen) == (4, 0)


def test_what_a_run_saw_carries_its_number(reader: reading.Reader, tmp_path: Path) -> None:
    path = write(tmp_path / "s1.jsonl", said("u1", "one"))
    reading.catch_up(replace(reader, source=Source.BACKFILL, run_id=7), path)
    assert list(reader.db.execute("select source, run_id from sightings")) == [("backfill", 7)]
    known = sessions.reading(reader.db, str(path))
    assert known is not None and (known.run_id, known.session_id) == (7, "s1")


def test_the_last_line_of_a_file_nobody_writes_any_more_counts_without_its_end(
    reader: reading.Reader, tmp_path: Path
) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_text(json.dumps(said("u1", "one")))
    assert reading.catch_up(reader, path).new == 0
    assert reading.catch_up(replace(reader, final=True), path).new == 1
    with path.open("a") as file:
        file.write(json.dumps(said("u2", "glued", at_ms=T0 + 1)) + "\n")
    assert reading.catch_up(reader, path).new == 1


def test_a_copy_of_a_session_under_another_name_does_not_become_its_transcript(
    reader: reading.Reader, tmp_path: Path
) -> None:
    own = write(tmp_path / "s1.jsonl", said("u1", "one"))
    reading.catch_up(reader, own)
    copy = write(tmp_path / "s2.jsonl", said("u1", "one"), said("u9", "goes on", session="s2", at_ms=T0 + 5))
    reading.catch_up(reader, copy)
    found = sessions.get(reader.db, "s1"), sessions.get(reader.db, "s2")
    assert [session and session.transcript_path for session in found] == [str(own), str(copy)]


def test_a_copy_that_is_all_there_is_of_a_session_is_its_transcript_until_a_better_one_comes(
    reader: reading.Reader, tmp_path: Path
) -> None:
    copy = write(tmp_path / "export.jsonl", said("u1", "one"))
    reading.catch_up(reader, copy)
    first = sessions.get(reader.db, "s1")
    own = write(tmp_path / "s1.jsonl", said("u1", "one"))
    reading.catch_up(reader, own)
    second = sessions.get(reader.db, "s1")
    assert first and second and (first.transcript_path, second.transcript_path) == (str(copy), str(own))


def test_what_happened_before_hooks_were_registered_was_not_missed_by_them(
    reader: reading.Reader, db: Connection, tmp_path: Path
) -> None:
    with transaction(db):
        health.record_since(db, T0 + 10)
        health.record_since(db, T0 + 999)
    path = write(tmp_path / "s1.jsonl", said("u1", "before"), said("u2", "after", at_ms=T0 + 11))
    reading.catch_up(reader, path)
    assert {event.text: event.healed for event in events.of_session(db, "s1")} == {"before": False, "after": True}


def test_work_on_the_past_waits_behind_all_else_until_something_live_asks_for_it(
    reader: reading.Reader, db: Connection, config: Config, own_home: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "s1.jsonl", said("u1", "long ago", promptId="p1"))
    reading.catch_up(replace(reader, source=Source.BACKFILL), path)
    take(db, config, [event_of(prompt("now", prompt_id="p2", cwd=str(project_folder(own_home)), session="s2"))])
    end = T0 + 10 * 86_400_000
    with transaction(db):
        order = []
        while job := jobs.claim(db, end, behind=False):
            order.append(job.subject.split("\n")[0])
        while job := jobs.claim(db, end):
            order.append(job.subject.split("\n")[0])
    assert order == ["s2", "s2", "s1", "s1"]
    later = end + 10 * jobs.LEASE_MS
    append(path, said("u2", "again", promptId="p1", at_ms=T0 + 3))
    reading.catch_up(reader, path)
    with transaction(db):
        front = set()
        while job := jobs.claim(db, later, behind=False):
            front.add(job.subject.split("\n")[0])
    assert front == {"s1", "s2"}


def test_reading_the_past_of_a_live_session_does_not_put_its_work_behind(
    reader: reading.Reader, db: Connection, config: Config, own_home: Path, tmp_path: Path
) -> None:
    take(db, config, [event_of(prompt("now", prompt_id="p1", cwd=str(project_folder(own_home))))])
    path = write(tmp_path / "s1.jsonl", said("u1", "long ago"), said("u2", "now", at_ms=T0 + 2, promptId="p1"))
    reading.catch_up(replace(reader, source=Source.BACKFILL), path)
    end = T0 + 10 * 86_400_000
    with transaction(db):
        front = set()
        while job := jobs.claim(db, end, behind=False):
            front.add((job.kind, job.subject))
    assert {("distil", "s1\np1"), ("close", "s1")} <= front
