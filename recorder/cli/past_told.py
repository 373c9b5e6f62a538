"""How the past is told: what would come in, what came, what went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.text import Text

from recorder.capture import ingest
from recorder.cli.frame import err, many, out, print_json, when
from recorder.recall import fence
from recorder.store import jobs, runs
from recorder.store.db import Connection
from scripts.backfill.forecast import DOLLARS_A_MILLION, PRICE, Forecast, Part
from scripts.backfill.logs import Left, as_text
from scripts.backfill.taking import Tally
from scripts.backfill.undoing import Undone

PROBLEMS_SHOWN = 5
_COLUMNS = ["project", "sessions", "files", "prompts", "calls", "events", "unread", "earliest", "latest"]
GO_ON = "stopped before the end: run the same command again to go on from here"


def forecast(found: Forecast, left: Sequence[Left], going: runs.Run | None, beyond: int | None, as_json: bool) -> None:
    """What a commit would bring. `going`: the run it would go on with. `beyond`: unread sessions nobody asked for,
    where only a part was asked for and nothing of it is unread."""
    if as_json:
        print_json(_forecast_json(found, left, going) | {"unread_beyond": beyond})
        return
    total = found.total
    if not total.files:
        out.print(_nothing(beyond, left))
        _tell_left(left)
        return
    parts = sorted(_parts(found), key=lambda each: -each[1].events)
    rows = [(name or "no project", *_row(part)) for name, part in parts]
    _print_wide([*rows, ("all", *_row(total))])
    out.print(
        f"{many(found.lines, 'line')} with {many(found.records, 'record')}: {found.taken_in:,} would be taken in,"
        f" {found.records - found.taken_in:,} are left out by rule (--json names the rules)"
    )
    if found.known:
        out.print(f"{many(found.known, 'more event')} would be known before: copies of what is counted or stored")
    if found.closed:
        out.print(f"events not to be taken in: {_rules(found.closed)}")
    if found.soon:
        out.print(
            f"about to be deleted by age, and taken first: {many(len(found.soon), 'session')},"
            f" {many(sum(len(session.logs) for session in found.soon), 'file')}"
        )
    out.print(
        "distilling costs nothing with the built-in rules; a model would read about"
        f" {found.tokens:,} tokens, ${found.dollars:.2f} at ${DOLLARS_A_MILLION:g} a million ({PRICE})"
    )
    out.print(
        "this was a dry run, nothing was written: --commit takes it in"
        + (f", and goes on with {going.name}" if going else "")
    )
    _tell_left(left)


def result(db: Connection, run: runs.Run, tally: Tally, seconds: float) -> dict[str, Any]:
    """What came of a run, or of this part of it."""
    distil = jobs.counts(db).get(ingest.DISTIL, {})
    return {
        "run": run.name,
        "sessions": len(tally.sessions),
        "files": len(tally.files),
        "projects": runs.project_count(db, tally.spoken),
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


def taken(found: Mapping[str, Any], left: Sequence[Left], beyond: int | None, as_json: bool) -> None:
    """What a commit brought, as `result` has it; `beyond` as for `forecast`."""
    if as_json:
        print_json(dict(found) | {"unread_beyond": beyond} | _left_json(left))
        return
    events = found["events"]
    if found["files"]:
        since = f" since {_day(found['earliest_ms'])}" if found["earliest_ms"] else ""
        out.print(
            f"read {many(found['sessions'], 'session')} of {many(found['projects'], 'project')}{since}"
            f" ({many(found['files'], 'file')}, {_size(found['bytes'])}) in {found['seconds']:.1f} s:"
            f" {many(events['new'], 'new event')}, {events['seen']:,} known before"
        )
    else:
        out.print(_nothing(beyond, left))
    if events["left_out"]:
        out.print(f"events not to be taken in: {_rules(events['left_out'])}")
    for problem in found["problems"][:PROBLEMS_SHOWN]:
        err.print(Text(fence.line(f"note: {problem}")))
    if len(found["problems"]) > PROBLEMS_SHOWN:
        err.print(f"note: {many(len(found['problems']) - PROBLEMS_SHOWN, 'more note')}, see --json")
    if found["stopped"]:
        out.print(GO_ON)
    elif found["files"]:
        waiting = many(found["waiting"], "turn")
        out.print(
            f"{waiting} to be distilled by the worker, behind all that is live, or by recorder drain at once;"
            f" recorder backfill --undo {found['run']} takes all of it back"
        )
    _tell_left(left)


def undone(run: runs.Run, found: Undone, as_json: bool, *, commit: bool) -> None:
    """What went with a run, or would go."""
    if as_json:
        print_json({"run": run.name, "dry_run": not commit, **asdict(found)})
        return
    would = "" if commit else "would be "
    out.print(
        f"{run.name}: {many(found.events, 'event')} of {many(found.files, 'file')} {would}taken back,"
        f" with {many(found.sessions, 'session')}"
    )
    if found.seen:
        out.print(f"{many(found.seen, 'event')} somebody else saw too: kept")
    if found.kept:
        out.print(f"{many(found.kept, 'event')} that what you wrote, approved or pinned stands on: kept")
    for name in found.memories:
        out.print(Text(f"{would}hidden, for nothing is left that it stands on: {fence.line(name)}"))
    for name in found.returned:
        out.print(Text(f"{would}as it was before the run: {fence.line(name)}"))
    for name in found.recounted:
        out.print(Text(f"{would}a candidate, for too little is left that verified it: {fence.line(name)}"))
    if found.stopped:
        out.print(GO_ON)
    elif not commit:
        out.print("this was a dry run, nothing was written: --commit does it")


def _print_wide(rows: Sequence[Sequence[object]]) -> None:
    """A row a line, however narrow the terminal: numbers that are folded cannot be compared."""
    cells = [_COLUMNS, *([fence.line(str(cell)) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for name, *numbers in cells:
        aligned = [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)]
        out.print(Text("  ".join([name.ljust(widths[0]), *aligned])))


def _parts(found: Forecast) -> list[tuple[str | None, Part]]:
    return [(name, part) for name, part in found.by_project.items() if part.files or part.events]


def _row(part: Part) -> tuple[object, ...]:
    return (
        len(part.sessions),
        part.files,
        f"{part.prompts:,}",
        f"{part.tool_calls:,}",
        f"{part.events:,}",
        _size(part.size_bytes),
        _day(part.earliest_ms),
        _day(part.latest_ms),
    )


def _forecast_json(found: Forecast, left: Sequence[Left], going: runs.Run | None) -> dict[str, Any]:
    return {
        "dry_run": True,
        "goes_on_with": going.name if going else None,
        **_part_json(found.total),
        "lines": found.lines,
        "records": found.records,
        "taken": found.taken_in,
        "left_out": dict(found.left_out),
        "events_left_out": dict(found.closed),
        "events_known": found.known,
        "problems": found.problems,
        "projects": [{"project": name, **_part_json(part)} for name, part in _parts(found)],
        "about_to_be_deleted": [str(log.path) for session in found.soon for log in session.logs],
        "cost": {
            "rules": {"dollars": 0},
            "model": {
                "tokens": found.tokens,
                "dollars": round(found.dollars, 4),
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


def _left_json(left: Iterable[Left]) -> dict[str, Any]:
    found: dict[str, list[dict[str, str]]] = {"not_read": [], "failed": []}
    for one in left:
        found["failed" if one.failed else "not_read"].append({"path": as_text(one.path), "why": one.why})
    return found


def _tell_left(left: Iterable[Left]) -> None:
    for one in left:
        err.print(Text(fence.line(f"{'failed' if one.failed else 'not read'}: {as_text(one.path)} {one.why}")))


def _nothing(beyond: int | None, left: Iterable[Left]) -> str:
    """That nothing came, as far as that is known."""
    meant = "the past" if beyond is None else "what was asked for"
    readable = " that can be read" if any(one.failed for one in left) else ""
    more = f", but {many(beyond, 'session')} beyond it {'is' if beyond == 1 else 'are'}" if beyond else ""
    return f"nothing of {meant}{readable} is unread{more}"


def _rules(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {rule}" for rule, n in sorted(counted.items()))


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f} MB"


def _day(at_ms: int | None) -> str:
    return when(at_ms)[:10]
