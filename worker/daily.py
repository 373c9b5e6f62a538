"""What the worker does once a day, when it has nothing else to do."""

from __future__ import annotations

import logging

from recorder.config import Config
from recorder.errors import FileRefused, StoreError
from recorder.lifecycle import backup
from recorder.lifecycle.purge import DAY_MS, purge
from recorder.store import copies, jobs, purging
from recorder.store.db import Connection, transaction

logger = logging.getLogger(__name__)

IDLE_MS = 60_000


def keep(db: Connection, config: Config, now_ms: int, *, busy_ms: int) -> None:
    """Purge by age and make a backup, each at most once a day. `busy_ms`: when something was last done; 0: this is a
    run that ends at once."""
    if not busy_ms or now_ms - busy_ms < IDLE_MS:
        return
    days = config.store.retention_days
    if days and not _today(purging.last_ms(db), now_ms):
        purge(db, days, actor="worker", now_ms=now_ms)
    if config.backup.daily:
        back_up(db, config, now_ms)


def back_up(db: Connection, config: Config, now_ms: int) -> bool:
    """Whether a backup was made: the first of the day. One that cannot be is noted, and tried again tomorrow."""
    folder = config.backups_dir
    made = [one.manifest.created_ms for one in backup.listing(folder) if one.manifest.made_by == "schedule"]
    if _today(max(made, default=None), now_ms) or _today(copies.skipped(db)[0], now_ms):
        return False
    backup.sweep(folder, now_ms)
    try:
        backup.make(db, folder, made_by="schedule", now_ms=now_ms)
    except (FileRefused, StoreError) as error:
        logger.warning("no backup today: %s", error)
        with transaction(db):
            jobs.bump(db, copies.SKIPPED, 1, now_ms, str(error))
        return False
    backup.prune(db, folder, config.backup.keep_daily, config.backup.keep_weekly)
    return True


def _today(at_ms: int | None, now_ms: int) -> bool:
    # A time ahead of the clock is no reason to wait for it.
    return at_ms is not None and at_ms // DAY_MS == now_ms // DAY_MS
