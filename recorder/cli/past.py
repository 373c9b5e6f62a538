"""The command that brings the past in."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from recorder.capture import ingest, literals, reading
from recorder.capture.redact import Redactor
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
from recorder.errors import NotFound, StoreError
from recorder.models import Source
from recorder.store import jobs, runs
from recorder.store.db import Connection, connect, connect_readonly, migrations, version
from scripts.backfill import logs, sources, undoing
from scripts.backfill.forecast import DOLLARS_A_MILLION, PRICE, Forecast, Outlook, Part
from scripts.backfill.taking import Tally, take
from worker.held import locked

NICE = 10
DAY_MS = 86_400_000
_AGO = re.compile(r"(\d{1,5})([dhw])")
_HOURS = {"h": 1, "d": 24, "w": 168}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What part of the past is meant."""

    paths: tuple[Path, ...]
    since_ms: int | None
    project: Path | None
    limit: int | None

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
    sought, chosen = _choose(wanted, outlook)
    every = [log for session in chosen for log in session.logs]
    with _bar(outlook.unread_bytes(every)) as passed:
        forecast = outlook.forecast(chosen, sought, passed)
    going = runs.unfinished(db) if db is not None else None
    left = [*sought.logs.left, *forecast.failed]
    if as_json:
        print_json(_forecast_json(forecast, left, going))
    else:
        _show_forecast(forecast, going)
        _show_left(left)
    _fail_if([one for one in left if one.failed])


def _commit(wanted: Wanted, as_json: bool) -> None:
    found = settings()
    with _alone(found.home):
        os.nice(NICE)
        started = time.monotonic()
        at_ms = now_ms()
        db = connect(found.db_path)
        try:
            outlook = Outlook(db, found, at_ms)
            sought, chosen = _choose(wanted, outlook)
            every = [log for session in chosen for log in session.logs]
            run = runs.begin(db, wanted.asked(), at_ms)
            redactor = Redactor(found.capture, literals.of_home(found.home))
            reader = reading.Reader(db, at_ms, redactor.event, found, source=Source.BACKFILL, run_id=run.id)
            with _bar(outlook.unread_bytes(every)) as passed, _stopping() as stop:
                tally = take(reader, sought, every, passed, stop)
            result = _result(db, run.name, tally, time.monotonic() - started)
            if not tally.stopped:
                runs.end(db, run, result, now_ms())
        finally:
            db.close()
    left = [*sought.logs.left, *tally.failed]
    if as_json:
        print_json(result | _left_json(left))
    else:
        _show_result(result)
        _show_left(left)
    _fail_if(tally.stopped or [one for one in left if one.failed])


def _list_runs(as_json: bool) -> None:
    db = _look(settings().db_path)
    found = runs.listing(db) if db is not None else []
    if as_json:
        print_json(found)
        return
    rows = [(r["name"], r["state"], when(r["started_ms"]), when(r["ended_ms"]), r["events"], r["files"]) for r in found]
    print_table("", ("run", "state", "begun", "ended", "events", "files"), rows)


def _undo(name: str, as_json: bool, *, commit: bool) -> None:
    found = settings()
    db = _look(found.db_path)
    run = runs.find(db, name) if db is not None else None
    if db is None or run is None:
        raise NotFound(f"there is no run {plain(name)}: recorder backfill --runs lists them")
    if not commit:
        _show_undone(run, undoing.forecast(db, run), as_json, commit=False)
        return
    with _alone(found.home):
        db = connect(found.db_path)
        total = next(one["events"] for one in runs.listing(db) if one["name"] == name)
        with _bar(total, "taking back", size=False) as passed, _stopping() as stop:
            undone = undoing.take_back(db, run, now_ms(), passed, stop)
    _show_undone(run, undone, as_json, commit=True)
    _fail_if(undone.stopped)


def _show_undone(run: runs.Run, undone: undoing.Undone, as_json: bool, *, commit: bool) -> None:
    if as_json:
        print_json({"run": run.name, "dry_run": not commit, **asdict(undone)})
        return
    would = "" if commit else "would be "
    out.print(
        f"{run.name}: {_many(undone.events, 'event')} of {_many(undone.files, 'file')} {would}taken back,"
        f" with {_many(undone.sessions, 'session')}"
    )
    if undone.seen:
        out.print(f"{_many(undone.seen, 'event')} seen elsewhere too: kept")
    if undone.kept:
        out.print(f"{_many(undone.kept, 'event')} kept: what you wrote, approved or pinned stands on them")
    for name in undone.memories:
        out.print(Text(f"{would}hidden, for nothing is left that it stands on: {plain(name)}"))
    if undone.stopped:
        out.print("stopped before the end: run the same command again to go on from here")
    elif not commit:
        out.print("this was a dry run, nothing was written: --commit does it")


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """While no other backfill of this home runs.

    Raises: StoreError.
    """
    with locked(home, "backfill") as held:
        if not held:
            raise StoreError(f"another backfill runs in {home}: wait for it, or end it and run this again")
        yield


def _choose(wanted: Wanted, outlook: Outlook) -> tuple[sources.Sought, list[logs.Session]]:
    """What was found, and the sessions of it that are meant, in the order of taking."""
    sought = sources.find(outlook.config, wanted.paths)
    chosen = logs.sessions(sought.logs.logs, outlook.now_ms)
    if wanted.since_ms is not None:
        chosen = [session for session in chosen if session.changed_ms >= wanted.since_ms]
    if wanted.project is not None:
        folder = os.path.abspath(wanted.project)
        meant = outlook.project_id("", folder)
        if meant is None:
            raise NotFound(f"{wanted.project} is of no project: name a folder that Claude Code worked in")
        chosen = [s for s in chosen if s.cwd is not None and outlook.project_id(s.id, s.cwd) == meant]
    return sought, chosen[: wanted.limit]


def _look(path: Path) -> Connection | None:
    """The store, open for reading alone; None where there is none, or one that an upgrade has not reached yet."""
    if not path.exists():
        return None
    db = connect_readonly(path)
    if version(db) >= migrations()[-1][0]:
        return db
    db.close()
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
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"--since {plain(text)}: a day like 2026-11-01, or so long ago like 30d") from None


@contextmanager
def _bar(total: int, does: str = "reading", *, size: bool = True) -> Iterator[Callable[[int], None]]:
    """A bar of bytes, or of events, on a person's terminal, and nothing anywhere else."""
    if not err.is_terminal:
        yield lambda n: None
        return
    amount = (DownloadColumn(), TransferSpeedColumn()) if size else (MofNCompleteColumn(),)
    columns = (TextColumn(does), BarColumn(), *amount, TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda n: progress.advance(task, n)


@contextmanager
def _stopping() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C or SIGTERM came. The second one ends at once."""
    came = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        signal.signal(number, before[signal.Signals(number)])

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: came
    finally:
        for number, was in before.items():
            signal.signal(number, was)


def _result(db: Connection, name: str, tally: Tally, seconds: float) -> dict[str, Any]:
    distil = jobs.counts(db).get(ingest.DISTIL, {})
    return {
        "run": name,
        "sessions": len(tally.sessions),
        "files": len(tally.files),
        "projects": runs.project_count(db, tally.sessions),
        "bytes": tally.size_bytes,
        "lines": tally.lines,
        "records": tally.records,
        "taken": tally.taken_in,
        "left_out": dict(tally.left_out),
        "events": {"new": tally.new, "seen": tally.seen, "left_out": dict(tally.closed)},
        "earliest_ms": tally.earliest_ms,
        "latest_ms": tally.latest_ms,
        "problems": tally.problems,
        "waiting": distil.get("queued", 0) + distil.get("behind", 0),
        "seconds": round(seconds, 2),
        "stopped": tally.stopped,
    }


def _show_result(found: dict[str, Any]) -> None:
    events = found["events"]
    out.print(
        Text(
            f"read {_many(found['sessions'], 'session')} ({_many(found['files'], 'file')}, {_size(found['bytes'])}) of"
            f" {_many(found['projects'], 'project')}"
            + (f" since {_day(found['earliest_ms'])}" if found["earliest_ms"] else "")
            + f" in {found['seconds']:.1f} s: {_many(events['new'], 'new event')}, {events['seen']} known before"
        )
    )
    if found["records"]:
        out.print(
            f"{_many(found['lines'], 'line')}: {_many(found['records'], 'record')}, {found['taken']} taken in,"
            f" {found['records'] - found['taken']} left out by rule (--json names them)"
        )
    if events["left_out"]:
        rules = ", ".join(f"{n} {rule}" for rule, n in sorted(events["left_out"].items()))
        out.print(f"events not to be taken in: {rules}")
    for problem in found["problems"][:5]:
        err.print(Text(f"note: {plain(problem)}"))
    if len(found["problems"]) > 5:
        err.print(f"note: {len(found['problems']) - 5} more of that kind, see --json")
    if found["stopped"]:
        out.print("stopped before the end: run the same command again to go on from here")
    elif events["new"]:
        out.print(f"taken in as {found['run']}; recorder backfill --undo {found['run']} takes it back")
    if found["waiting"]:
        out.print(
            f"{_many(found['waiting'], 'turn')} to be distilled: the worker does it behind all that is live;"
            " recorder drain does it now"
        )


def _show_forecast(forecast: Forecast, going: runs.Run | None) -> None:
    total = forecast.total
    rows = [
        (name or "no project", *_row(part))
        for name, part in sorted(forecast.by_project.items(), key=lambda each: -each[1].events)
        if part.files or part.events
    ]
    if rows:
        columns = ("project", "sessions", "files", "prompts", "calls", "events", "unread", "earliest", "latest")
        print_table("", columns, [*rows, ("all", *_row(total))])
        out.print(
            f"{_many(forecast.lines, 'line')}: {_many(forecast.records, 'record')}, {forecast.taken_in} to be taken in,"
            f" {forecast.records - forecast.taken_in} left out by rule (--json names them)"
        )
    else:
        out.print("nothing of the past is unread")
    if forecast.closed:
        rules = ", ".join(f"{n} {rule}" for rule, n in sorted(forecast.closed.items()))
        out.print(f"events not to be taken in: {rules}")
    if forecast.soon:
        files = sum(len(session.logs) for session in forecast.soon)
        out.print(
            f"about to be deleted by age, and taken first: {_many(len(forecast.soon), 'session')},"
            f" {_many(files, 'file')}"
        )
    if rows:
        out.print(
            Text(
                "distilling it costs nothing with the built-in rules; a model would read about"
                f" {forecast.tokens:,} tokens, ${forecast.dollars:.2f} at ${DOLLARS_A_MILLION:g} a million ({PRICE})"
            )
        )
        again = f" and goes on with {going.name}" if going else ""
        out.print(f"this was a dry run, nothing was written: --commit takes it in{again}")


def _row(part: Part) -> tuple[object, ...]:
    return (
        len(part.sessions),
        part.files,
        part.prompts,
        part.tool_calls,
        part.events,
        _size(part.size_bytes),
        _day(part.earliest_ms),
        _day(part.latest_ms),
    )


def _forecast_json(forecast: Forecast, left: Sequence[logs.Left], going: runs.Run | None) -> dict[str, Any]:
    return {
        "dry_run": True,
        "goes_on_with": going.name if going else None,
        **_part_json(forecast.total),
        "lines": forecast.lines,
        "records": forecast.records,
        "taken": forecast.taken_in,
        "left_out": dict(forecast.left_out),
        "events_left_out": dict(forecast.closed),
        "projects": [
            {"project": name, **_part_json(part)}
            for name, part in forecast.by_project.items()
            if part.files or part.events
        ],
        "about_to_be_deleted": {
            "sessions": len(forecast.soon),
            "files": [str(log.path) for session in forecast.soon for log in session.logs],
        },
        "cost": {
            "rules": {"dollars": 0},
            "model": {
                "tokens": forecast.tokens,
                "dollars": round(forecast.dollars, 4),
                "dollars_a_million": DOLLARS_A_MILLION,
                "price": PRICE,
            },
        },
        **_left_json(left),
    }


def _part_json(part: Part) -> dict[str, Any]:
    return {
        "sessions": len(part.sessions),
        "files": part.files,
        "bytes": part.size_bytes,
        "events": part.events,
        "prompts": part.prompts,
        "tool_calls": part.tool_calls,
        "earliest_ms": part.earliest_ms,
        "latest_ms": part.latest_ms,
    }


def _left_json(left: Sequence[logs.Left]) -> dict[str, Any]:
    def rows(failed: bool) -> list[dict[str, str]]:
        return [{"path": str(one.path), "why": one.why} for one in left if one.failed is failed]

    return {"not_read": rows(False), "failed": rows(True)}


def _show_left(left: Sequence[logs.Left]) -> None:
    for one in left:
        word = "failed" if one.failed else "not read"
        err.print(Text(f"{word}: {plain(str(one.path))} {plain(one.why)}"))


def _fail_if(wrong: object) -> None:
    if wrong:
        sys.exit(1)


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _day(at_ms: int | None) -> str:
    return when(at_ms)[:10]


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f} MB"
