"""The command that brings the past in."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from recorder.capture import literals, reading
from recorder.capture.redact import Redactor
from recorder.cli import past_told as told
from recorder.cli.frame import (
    Json,
    app,
    err,
    now_ms,
    only_a_person,
    out,
    plain,
    print_json,
    print_table,
    settings,
    when,
)
from recorder.cli.long import bar, stopping
from recorder.errors import NotFound, StoreError
from recorder.models import Source
from recorder.store import runs
from recorder.store.db import DISK_FULL, Connection, connect, connect_readonly, migrations, version
from scripts.backfill import logs, sources, undoing
from scripts.backfill.forecast import Outlook
from scripts.backfill.taking import take
from worker.held import locked

NICE = 10
_AGO = re.compile(r"(\d{1,5})([dhw])")
_NEVER_MS = 2**62
_HOURS = {"h": 1, "d": 24, "w": 168}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What part of the past is meant."""

    paths: tuple[Path, ...]
    since_ms: int | None
    project: Path | None
    limit: int | None

    @property
    def is_part(self) -> bool:
        """Whether there may be more than was asked for."""
        return bool(self.paths or self.project) or self.since_ms is not None

    def asked(self) -> dict[str, Any]:
        return {
            "paths": [os.path.abspath(path) for path in self.paths],
            "since_ms": self.since_ms,
            "project": os.path.abspath(self.project) if self.project else None,
            "limit": self.limit,
        }


@app.command()
def backfill(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Files or folders; Claude Code's own when left out.", metavar="[PATH]..."),
    ] = None,
    commit: Annotated[
        bool, typer.Option("--commit", help="Do it; without, it is only said what would be done.")
    ] = False,
    since: Annotated[
        str | None, typer.Option("--since", help="Sessions that went on after a day (2026-11-01) or for so long (30d).")
    ] = None,
    project: Annotated[
        Path | None, typer.Option("--project", help="Sessions of this folder's project.", metavar="DIR")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most so many sessions.")] = None,
    show_runs: Annotated[bool, typer.Option("--runs", help="List what was brought in before, run by run.")] = False,
    undo: Annotated[str | None, typer.Option("--undo", help="Take a run back; with --commit.", metavar="RUN")] = None,
    as_json: Json = False,
) -> None:
    """Bring earlier sessions in from Claude Code's transcripts; a dry run that writes nothing, unless --commit."""
    only_a_person("brings the past in")
    wanted = Wanted(tuple(paths or ()), _since(since), project, limit)
    picked = wanted.is_part or limit is not None
    if (show_runs and (commit or undo is not None or picked)) or (undo is not None and picked):
        raise typer.BadParameter("--runs stands alone, and --undo with --commit: leave the rest out")
    if show_runs:
        _list_runs(as_json)
    elif undo is not None:
        _undo(undo, as_json, commit=commit)
    elif commit:
        _commit(wanted, as_json)
    else:
        _dry_run(wanted, as_json)


def _dry_run(wanted: Wanted, as_json: bool) -> None:
    found = settings()
    db = _look(found.db_path)
    outlook = Outlook(db, found, now_ms())
    choice = _choose(wanted, outlook)
    with bar(outlook.unread_bytes(choice.logs)) as passed:
        forecast = outlook.forecast(choice.sessions, choice.sought, passed)
    beyond = None if forecast.total.files else _beyond(wanted, outlook, choice)
    going = runs.unfinished(db) if db is not None else None
    left = [*choice.sought.logs.left, *forecast.failed]
    told.forecast(forecast, left, going, beyond, as_json)
    _fail_if([one for one in left if one.failed])


def _commit(wanted: Wanted, as_json: bool) -> None:
    found = settings()
    with _alone(found.home), _room(found.home):
        os.nice(NICE)
        started = time.monotonic()
        at_ms = now_ms()
        db = connect(found.db_path)
        try:
            outlook = Outlook(db, found, at_ms)
            choice = _choose(wanted, outlook)
            run = runs.begin(db, wanted.asked(), at_ms)
            redactor = Redactor(found.capture, literals.of_home(found.home))
            reader = reading.Reader(db, at_ms, redactor.event, found, source=Source.BACKFILL, run_id=run.id)
            with bar(outlook.unread_bytes(choice.logs)) as passed, stopping() as stop:
                tally = take(reader, choice.sought, choice.logs, passed, stop)
            beyond = None if tally.files else _beyond(wanted, outlook, choice)
            result = told.result(db, run, tally, time.monotonic() - started)
            if not tally.stopped:
                runs.end(db, run, result, now_ms())
        finally:
            db.close()
    left = [*choice.sought.logs.left, *tally.failed]
    told.taken(result, left, beyond, as_json)
    _fail_if(tally.stopped or [one for one in left if one.failed])


def _list_runs(as_json: bool) -> None:
    db = _look(settings().db_path)
    found = runs.listing(db) if db is not None else []
    if as_json:
        print_json(found)
        return
    rows = [(r["name"], r["state"], when(r["started_ms"]), when(r["ended_ms"]), r["events"], r["files"]) for r in found]
    print_table("", ("run", "state", "begun", "ended", "events", "files"), rows)
    for name in (r["name"] for r in found if r["state"] == runs.HALF_UNDONE):
        out.print(f"{name} is not taken back to its end: recorder backfill --undo {name} --commit goes on")


def _undo(name: str, as_json: bool, *, commit: bool) -> None:
    found = settings()
    db = _look(found.db_path)
    run = runs.find(db, name) if db is not None else None
    if db is None or run is None:
        raise NotFound(f"there is no run {plain(name)}: recorder backfill --runs lists them")
    if not commit:
        told.undone(run, undoing.forecast(db, run), as_json, commit=False)
        return
    with _alone(found.home), _room(found.home):
        db = connect(found.db_path)
        total = next(one["events"] for one in runs.listing(db) if one["name"] == name)
        with bar(total, "taking back", size=False) as passed, stopping() as stop:
            undone = undoing.take_back(db, run, now_ms(), passed, stop)
    told.undone(run, undone, as_json, commit=True)
    _fail_if(undone.stopped)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """While no other backfill of this home runs.

    Raises: StoreError.
    """
    with locked(home, "backfill") as held:
        if not held:
            raise StoreError(f"another backfill runs in {home}: wait for it, or end it and run this again")
        yield


@contextmanager
def _room(home: Path) -> Iterator[None]:
    """While the disk has room.

    Raises: StoreError.
    """
    try:
        yield
    except DISK_FULL as error:
        raise StoreError(
            f"the disk of {home} is full ({error}): what was done stays; make room and run the same command again,"
            " it goes on from here"
        ) from error


@dataclass(frozen=True, slots=True)
class _Choice:
    """What was found, and the sessions of it that are meant, in the order of taking."""

    sought: sources.Sought
    sessions: list[logs.Session]
    others: list[logs.Session]

    @property
    def logs(self) -> list[logs.Log]:
        return [log for session in self.sessions for log in session.logs]


def _choose(wanted: Wanted, outlook: Outlook) -> _Choice:
    sought = sources.find(outlook.config, wanted.paths)
    every = logs.sessions(sought.logs.logs, outlook.now_ms)
    chosen = every
    if wanted.since_ms is not None:
        chosen = [session for session in chosen if session.changed_ms >= wanted.since_ms]
    if wanted.project is not None:
        folder = os.path.abspath(wanted.project)
        meant = outlook.project_id("", folder)
        if meant is None:
            raise NotFound(f"{wanted.project} is of no project: name a folder that Claude Code worked in")
        of_project = {s.id for s in every if s.cwd is not None and outlook.project_id(s.id, s.cwd) == meant}
        if not of_project and not os.path.isdir(folder):
            raise NotFound(f"there is no folder {plain(str(wanted.project))}, and no session of it")
        chosen = [s for s in chosen if s.id in of_project]
    meant_ids = {session.id for session in chosen}
    others = [session for session in every if session.id not in meant_ids]
    if wanted.limit is not None:
        chosen = list(islice((s for s in chosen if outlook.is_unread(s, sought)), wanted.limit))
    return _Choice(sought, chosen, others)


def _beyond(wanted: Wanted, outlook: Outlook, choice: _Choice) -> int | None:
    """How many unread sessions are not among those that were asked for; None where all there is was."""
    if not wanted.is_part:
        return None
    return sum(outlook.is_unread(session, choice.sought) for session in choice.others)


def _look(path: Path) -> Connection | None:
    """The store, open for reading alone; None where there is none, or one that an upgrade has not reached yet."""
    if not path.exists():
        return None
    db = connect_readonly(path)
    if version(db) >= migrations()[-1][0]:
        return db
    db.close()
    err.print(
        "the store is of an earlier version: what it holds is not looked at here. `recorder up`, or any command that"
        " writes, brings it up to date; --commit does too, and takes in nothing twice."
    )
    return None


def _since(text: str | None) -> int | None:
    """Milliseconds of a day, a time, or so long ago.

    Raises: typer.BadParameter.
    """
    if text is None:
        return None
    if ago := _AGO.fullmatch(text):
        return now_ms() - int(ago[1]) * _HOURS[ago[2]] * 3_600_000
    try:
        day = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"--since {plain(text)}: a day like 2026-11-01, or so long ago like 30d") from None
    try:
        return int(day.timestamp() * 1000)
    except (ValueError, OverflowError):  # beyond what the clock of this machine tells, in years 1 and 9999
        return 0 if day.year < 1970 else _NEVER_MS


def _fail_if(wrong: object) -> None:
    if wrong:
        sys.exit(1)
