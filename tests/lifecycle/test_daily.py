"""What the worker does once a day, by its settings."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from recorder import doctor
from recorder.config import Config
from recorder.lifecycle import backup
from recorder.store import events
from recorder.store.db import Connection
from tests.memory_samples import NOW_MS, A, add_event, add_memory, opened
from worker import daily, held

DAY_MS = 86_400_000
BUSY_MS = NOW_MS - DAY_MS


@pytest.fixture
def db(config: Config) -> Connection:
    found = opened(config.home)
    add_event(found, A, "an old prompt")
    return found


def settings(config: Config, section: str, **fields: object) -> Config:
    return config.model_copy(update={section: getattr(config, section).model_copy(update=fields)})


def days(config: Config) -> list[int]:
    return [(one.manifest.created_ms - NOW_MS) // DAY_MS for one in backup.listing(config.backups_dir)]


def test_a_backup_is_made_once_a_day_when_nothing_else_is_done(db: Connection, config: Config) -> None:
    daily.keep(db, config, NOW_MS, busy_ms=NOW_MS - 1000)
    daily.keep(db, config, NOW_MS, busy_ms=0)
    assert days(config) == []
    for hour in range(0, 48, 3):
        daily.keep(db, config, NOW_MS + hour * 3_600_000, busy_ms=BUSY_MS)
    assert len(days(config)) == 3, "two days touch three dates"
    (first, *_) = backup.listing(config.backups_dir)
    assert first.manifest.made_by == "schedule" and stat.S_IMODE(first.path.stat().st_mode) == 0o600
    assert backup.look(first.path).manifest.counts["events"] == 1


def test_no_backup_is_made_while_it_is_switched_off(db: Connection, config: Config) -> None:
    daily.keep(db, settings(config, "backup", daily=False), NOW_MS, busy_ms=BUSY_MS)
    assert not config.backups_dir.exists()


@pytest.mark.parametrize(
    ("keep_daily", "keep_weekly", "left"), [(7, 4, [27, 34, *range(36, 43)]), (2, 0, [41, 42]), (2, 3, [34, 41, 42])]
)
def test_so_many_days_and_weeks_are_kept(
    db: Connection, config: Config, keep_daily: int, keep_weekly: int, left: list[int]
) -> None:
    for day in range(20, 42):
        backup.make(db, config.backups_dir, made_by="schedule", now_ms=NOW_MS + day * DAY_MS)
    chosen = settings(config, "backup", keep_daily=keep_daily, keep_weekly=keep_weekly)
    # Day 0 was a Monday, and so is day 42.
    daily.keep(db, chosen, NOW_MS + 42 * DAY_MS, busy_ms=BUSY_MS)
    assert days(config) == left


def test_a_disk_that_is_nearly_full_is_said_once_a_day(
    db: Connection, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "SPARE_BYTES", 2**60)
    for minute in range(3):
        daily.keep(db, config, NOW_MS + minute * 60_000, busy_ms=BUSY_MS)
    assert "make room" in doctor.status(db, config, NOW_MS)["backups"]["skipped"]
    assert next(iter(db.execute("select value from counters where name = 'backup_skipped'")))[0] == 1
    found = [
        one
        for one in doctor.check(db, config, {}, interpreter="python", source_root=config.home, now_ms=NOW_MS)
        if one.name == "backups"
    ]
    assert [one.state for one in found] == ["note"] and "make room" in found[0].text
    monkeypatch.undo()
    daily.keep(db, config, NOW_MS + DAY_MS, busy_ms=BUSY_MS)
    assert days(config) == [1]


@pytest.mark.parametrize(("retention", "left"), [(0, 2), (30, 1)])
def test_events_beyond_retention_days_go_and_those_a_memory_cites_stay(
    config: Config, retention: int, left: int
) -> None:
    db = opened(config.home)
    cited = add_event(db, A, "We deploy with helm")
    add_event(db, A, "an old prompt")
    add_memory(db, A, "decision.deploy", "We deploy with helm", cites=[cited])
    chosen = settings(config, "store", retention_days=retention)
    for _ in range(2):
        daily.keep(db, chosen, NOW_MS + 40 * DAY_MS, busy_ms=BUSY_MS)
    assert events.count(db) == left


def test_the_worker_does_it_in_its_own_rounds(db: Connection, config: Config) -> None:
    loop = held.make_loop(settings(config, "embed", enabled=False))
    loop.clock_ms = lambda: NOW_MS
    loop.busy_ms = BUSY_MS
    loop.one_pass(db)
    assert days(config) == [0]


def test_what_a_killed_backup_left_is_swept_a_day_later(db: Connection, config: Config, tmp_path: Path) -> None:
    config.backups_dir.mkdir()
    torn = config.backups_dir / ".recorder-20200101T000000000Z.part"
    other = config.backups_dir / ".recorder-notes.part"
    for path in (torn, other):
        path.write_bytes(b"half")
    now_ms = int(torn.stat().st_mtime * 1000) + 2 * DAY_MS
    daily.keep(db, config, now_ms, busy_ms=BUSY_MS)
    assert not torn.exists() and other.exists()
