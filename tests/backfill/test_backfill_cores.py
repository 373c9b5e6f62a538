"""What several cores read is what one reads, whatever becomes of them."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from recorder.capture import reading
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.models import Source
from recorder.store import events
from recorder.store.db import Connection, connect
from scripts.backfill import logs, sources, taking
from tests.backfill.past import NOW_MS, Past

# Sessions and their turns of 30 KB and 3 events: one is longer than what is read at once.
TURNS = (70, 70, 70, 300, 70, 70, 70, 70)
EVENTS = 3 * sum(TURNS)


@pytest.fixture
def long_past(past: Past) -> Past:
    """Enough for it to be worth several cores."""
    for n, turns in enumerate(TURNS):
        past.session(n, turns=turns, days_old=5, said="and so on " * 3000)
    return past


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)


def commits(db: Connection, config: Config, gone: Path | None = None) -> Iterator[taking.Commit]:
    """All there is, one file deleted after it was found."""
    reader = reading.Reader(db, NOW_MS, Redactor(config.capture).event, config, source=Source.BACKFILL)
    sought = sources.find(config, ())
    if gone is not None:
        gone.unlink()
    return taking.commits(
        reader, sought, [log for session in logs.sessions(sought.logs.logs, NOW_MS) for log in session.logs]
    )


def stored(db: Connection) -> list[tuple[str, str]]:
    return [(event.key, event.excerpt) for event in events.listing(db, limit=10_000, newest_first=False)]


def alone(config: Config, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What one core brings in, in its order."""
    with monkeypatch.context() as one:
        one.setattr(os, "sched_getaffinity", lambda pid: {0}, raising=False)
        db = connect(folder / "alone.db")
        for _ in commits(db, config):
            assert not multiprocessing.active_children()
        found = stored(db)
        db.close()
    assert len(found) == EVENTS
    return found


@pytest.mark.usefixtures("long_past", "two_cores")
def test_several_cores_bring_in_the_same_events_in_the_same_order(
    db: Connection, config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helped = 0
    for _ in commits(db, config):
        helped += len(multiprocessing.active_children())
    assert helped
    assert stored(db) == alone(config, tmp_path, monkeypatch)
    assert not multiprocessing.active_children()


@pytest.mark.usefixtures("long_past", "two_cores")
def test_nothing_is_lost_when_a_process_that_reads_ahead_is_killed(
    db: Connection, config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, commit in enumerate(commits(db, config)):
        assert commit.failed is None
        if number == 0:
            killed = multiprocessing.active_children()
            for child in killed:
                child.kill()
            for child in killed:  # from here on nobody can be asked to read either
                child.join()
    assert stored(db) == alone(config, tmp_path, monkeypatch)


@pytest.mark.usefixtures("long_past", "two_cores")
def test_who_stops_asking_leaves_no_process_behind_and_can_go_on(
    db: Connection, config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = commits(db, config)
    next(some)
    assert multiprocessing.active_children()
    some.close()  # type: ignore[attr-defined]  # a generator
    assert not multiprocessing.active_children()
    part = len(stored(db))
    assert 0 < part < EVENTS
    for _ in commits(db, config):
        pass
    assert stored(db) == alone(config, tmp_path, monkeypatch)


@pytest.mark.usefixtures("two_cores")
def test_a_file_that_cannot_be_read_is_named_and_the_others_come_in(
    long_past: Past, db: Connection, config: Config
) -> None:
    gone = long_past.session(99, days_old=6)
    failed = [commit.failed for commit in commits(db, config, gone) if commit.failed]
    assert [(one.path, one.why, one.failed) for one in failed] == [(gone, "is gone", True)]
    assert len(stored(db)) == EVENTS


@pytest.mark.usefixtures("two_cores")
def test_a_little_is_read_without_other_processes(past: Past, db: Connection, config: Config) -> None:
    past.session(1)
    for _ in commits(db, config):
        assert not multiprocessing.active_children()
    assert len(stored(db)) == 3
