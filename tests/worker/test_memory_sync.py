"""A running worker takes Claude's memory files in as they change."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recorder import claude_auto, gate
from recorder.config import Config, Sync
from recorder.models import Memory, Scope
from recorder.store import claude_files, memories, sessions
from recorder.store.db import Connection, transaction
from tests.claude_auto.claude_home import begin, known_project, memory_folder
from tests.makers import T0, project_folder
from tests.worker.test_loop import start, until
from worker.memory_sync import POLL_S, MemorySync
from worker.watch import FolderWatch


@pytest.fixture
def workers() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for one in started:
        one.kill()
        one.wait(timeout=10)


@pytest.fixture
def place(db: Connection, config: Config, own_home: Path) -> tuple[Path, str]:
    folder, project_id = known_project(db, config, own_home)
    return memory_folder(config, folder), project_id


def value(db: Connection, place: tuple[Path, str], key: str) -> str | None:
    """What the memory says; None where there is none."""
    found: list[Memory] = memories.listing(db, Scope(place[1]))
    return next((memory.value for memory in found if memory.key == key), None)


def save(path: Path, text: str) -> None:
    """As editors and the client do: whole, beside it, and moved over it."""
    draft = path.with_name(f".{path.name}.tmp")
    draft.write_text(text)
    os.replace(draft, path)


def test_a_saved_a_changed_and_a_removed_file_are_seen(
    db: Connection, config: Config, place: tuple[Path, str], workers: list[subprocess.Popen[bytes]]
) -> None:
    save(place[0] / "before.md", "There before the worker.")
    workers.append(start(config))
    until(lambda: value(db, place, "before") is not None)
    save(place[0] / "fact.md", "One fact.")
    until(lambda: value(db, place, "fact") == "One fact.")
    save(place[0] / "fact.md", "Another fact.")
    until(lambda: value(db, place, "fact") == "Another fact.")
    (place[0] / "fact.md").unlink()
    until(lambda: value(db, place, "fact") is None)


def test_the_memory_of_a_project_that_is_new_is_seen_without_a_restart(
    db: Connection, config: Config, place: tuple[Path, str], own_home: Path, workers: list[subprocess.Popen[bytes]]
) -> None:
    save(place[0] / "before.md", "There before the worker.")
    workers.append(start(config))
    until(lambda: value(db, place, "before") is not None)
    folder = project_folder(own_home, "fresh")
    project_id = begin(db, config, folder, "in-fresh")
    fresh = memory_folder(config, folder)
    save(fresh / "fact.md", "A fresh fact.")
    until(lambda: value(db, (fresh, project_id), "fact") == "A fresh fact.")


def soon(condition: Callable[[], bool]) -> None:
    """It holds well before the poll comes round."""
    began = time.monotonic()
    until(condition)
    assert time.monotonic() - began < POLL_S / 4


def test_the_first_memory_of_a_project_that_is_there_and_its_end_are_seen_before_the_poll(
    db: Connection, config: Config, place: tuple[Path, str], own_home: Path, workers: list[subprocess.Popen[bytes]]
) -> None:
    shutil.rmtree(place[0])
    (place[0].parent / "s.jsonl").write_text("{}\n")
    other = project_folder(own_home, "other")
    other_id = begin(db, config, other, "in-other")
    first = memory_folder(config, other)
    save(first / "fact.md", "One fact.")
    workers.append(start(config))
    until(lambda: value(db, (first, other_id), "fact") == "One fact.")
    place[0].mkdir()
    save(place[0] / "fact.md", "The first fact.")
    soon(lambda: value(db, place, "fact") == "The first fact.")
    shutil.rmtree(place[0])
    soon(lambda: value(db, place, "fact") is None)
    place[0].mkdir()
    save(place[0] / "fact.md", "The first fact.")
    soon(lambda: value(db, place, "fact") == "The first fact.")


def test_the_first_project_of_all_is_seen_before_the_poll(
    db: Connection, config: Config, own_home: Path, workers: list[subprocess.Popen[bytes]]
) -> None:
    config.claude_dirs[0].mkdir(exist_ok=True)
    folder = project_folder(own_home, "first")
    project_id = begin(db, config, folder, "in-first")
    workers.append(start(config))
    until(lambda: claude_files.last_report(db) is not None)
    memory = memory_folder(config, folder)
    save(memory / "fact.md", "The first fact.")
    soon(lambda: value(db, (memory, project_id), "fact") == "The first fact.")


def test_a_transcript_that_grows_wakes_nobody(tmp_path: Path) -> None:
    woken = threading.Semaphore(0)
    watch = FolderWatch(lambda: woken.release())
    watch.start()
    try:
        watch.follow([], [str(tmp_path)])
        for _ in range(20):
            (tmp_path / "s.jsonl").write_text("{}\n" * 20)
        (tmp_path / "memory").mkdir()
        assert woken.acquire(timeout=20)
        assert not woken.acquire(blocking=False), "events come in order: the folder's is the first"
    finally:
        watch.stop()


def test_a_paused_worker_takes_nothing_in_until_recording_goes_on(
    db: Connection, config: Config, place: tuple[Path, str]
) -> None:
    looks = threading.Semaphore(0)

    def clock_ms() -> int:
        looks.release()
        return T0

    with transaction(db):
        sessions.pause(db, None, 0, None)
    save(place[0] / "fact.md", "One fact.")
    syncing = MemorySync(config, clock_ms, gate.redact_here, lambda: None)
    syncing.start()
    try:
        assert looks.acquire(timeout=20)
        save(place[0] / "more.md", "Another fact.")
        assert looks.acquire(timeout=20), "it looks once more, so the first look is over"
        assert value(db, place, "fact") is None
        with transaction(db):
            sessions.resume(db, None, T0)
        save(place[0] / "last.md", "A third fact.")
        until(lambda: all(value(db, place, key) for key in ("fact", "more", "last")))
    finally:
        syncing.stop()


def test_a_worker_that_may_not_leaves_the_files_to_the_command(
    db: Connection, config: Config, place: tuple[Path, str]
) -> None:
    save(place[0] / "fact.md", "One fact.")
    off = config.model_copy(update={"sync": Sync(enabled=False)})
    syncing = MemorySync(off, lambda: T0, gate.redact_here, lambda: None)
    syncing.start()
    assert syncing.thread is None
    report = claude_auto.sync(db, off, T0)
    assert report is not None and report.created == 1
