"""What is captured now, and whether everything that does it is well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from recorder import doctor, install
from recorder.capture import spool
from recorder.counted import many
from recorder.store import browse, charts, completeness, findings, health, jobs, sessions
from recorder.web.pages import frame
from recorder.web.pages.frame import Frame
from recorder.web.pages.shown import span

router = APIRouter()
EVENTS = 30
SESSIONS = 6
COUNTED = 2_000
"""How complete a session is is worked out from all its events: not of longer ones, on a page that asks all the time."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One number with what it means. `state` is ok, note or bad."""

    name: str
    value: str
    text: str = ""
    state: str = "ok"


@router.get("/")
def live(request: Request) -> Response:
    """The first page."""
    with frame.opened(request) as page:
        return page.show("live.html", model(page))


@router.get("/favicon.ico")
def icon() -> Response:
    """Where browsers look for one beside a page that names none."""
    return RedirectResponse("/static/icon.svg")


@router.get("/live/now")
def now(request: Request) -> Response:
    """The part of it that changes by itself."""
    with frame.opened(request) as page:
        return page.show("live_now.html", model(page))


def model(page: Frame) -> dict[str, Any]:
    """What the page shows: nothing in it counts all events."""
    db = page.db
    recent = browse.latest_events(db, page.scope, EVENTS)
    rows = browse.session_page(db, page.scope, before=None, limit=SESSIONS)
    short = [row for row in rows if not browse.is_longer(db, row.session.id, COUNTED)]
    return {
        "tiles": tiles(page),
        "recent": recent,
        "complete": [(completeness.of_session(db, one.session.id), one) for one in short],
        "long": len(rows) - len(short),
        "queue": charts.queue(db),
        "wrong": doctor.stuck(db, page.config, page.now_ms),
    }


def tiles(page: Frame) -> list[Tile]:
    """The state of each part, in a line."""
    db, config, now_ms = page.db, page.config, page.now_ms
    worker = doctor.worker(config.home)
    waiting, lost = spool.pending(config.spool), spool.lost(config.spool)
    paused = install.paused_until(config.home)
    size_mb = health.size_mb(db)
    warning = doctor.size_warning(size_mb, config.store.max_mb)
    malformed = jobs.counters(db).get("spool_bad", (0, None, None))[0]
    backup_ms = doctor.last_backup_ms(config)
    return [
        _worker(worker, bool(waiting)),
        Tile("Capture", "paused", "`recorder resume` goes on", "note")
        if paused is not None and paused > now_ms
        else Tile("Capture", "on", f"{many(len(sessions.still_open(db)), 'session')} open"),
        Tile("Spool", f"{len(waiting)} waiting", _spooled(malformed, lost), "bad" if lost else "ok"),
        Tile("Events", f"≈ {browse.about_events(db):,}", "estimated by the highest number given"),
        Tile("Vectors", f"{health.waiting_vectors(db):,} waiting", "search by words works without them"),
        Tile("For you", many(findings.open_count(db), "finding"), _waiting(browse.waiting(db))),
        Tile("Store", f"{size_mb:,.1f} MB", warning or f"of {config.store.max_mb:,} MB", "note" if warning else "ok"),
        Tile(
            "Backup",
            "none yet" if backup_ms is None else f"{span(now_ms - backup_ms)} ago",
            "in the home's backups folder",
            "note" if backup_ms is None else "ok",
        ),
    ]


def _worker(worker: Mapping[str, Any], waits: bool) -> Tile:
    if worker["state"] != "running":
        return Tile("Worker", "not running", "the next prompt wakes it", "bad" if waits else "note")
    return Tile("Worker", "running", f"{worker.get('rss_mb', '?')} MB, model {worker.get('model') or 'asleep'}")


def _waiting(found: int) -> str:
    return f"{found} {'waits' if found == 1 else 'wait'} in the review"


def _spooled(malformed: int, lost: int) -> str:
    if lost:
        return f"{many(lost, 'hook input')} could not be written"
    return f"{malformed} malformed so far" if malformed else "hook inputs not taken in yet"
