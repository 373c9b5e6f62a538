"""Rows of runs: which backfill brought what."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from recorder.store.db import Connection, transaction


@dataclass(frozen=True, slots=True)
class Run:
    """One backfill. It is `running` from its first commit until it is through, however often it was stopped."""

    id: int
    name: str
    state: str
    """running | done | undone"""
    started_ms: int
    ended_ms: int | None
    asked: Mapping[str, Any]
    found: Mapping[str, Any]


HALF_UNDONE = "half undone"
"""How a run is listed that is being taken back, with something of it left."""

_COLUMNS = "id, name, state, started_ms, ended_ms, asked, found"


def begin(db: Connection, asked: Mapping[str, Any], now_ms: int) -> Run:
    """The run that was stopped before its end, to be gone on with; else a new one, `past-<day>-<number>`."""
    with transaction(db):
        going = unfinished(db)
        if going is not None:
            return going
        day = time.strftime("past-%Y%m%d-", time.localtime(now_ms / 1000))
        taken = {name for (name,) in db.execute("select name from runs where substr(name, 1, ?) = ?", (len(day), day))}
        number = next(n for n in range(1, len(taken) + 2) if f"{day}{n}" not in taken)
        db.execute(
            "insert into runs (name, started_ms, asked) values (?, ?, ?)",
            (f"{day}{number}", now_ms, json.dumps(dict(asked), ensure_ascii=True)),
        )
        return _of(db, db.last_insert_rowid())


def end(db: Connection, run: Run, found: Mapping[str, Any], now_ms: int) -> None:
    """The run is through. One that brought nothing leaves no row."""
    with transaction(db):
        for table in ("sightings", "cursors"):
            if db.execute(f"select 1 from {table} where run_id = ? limit 1", (run.id,)).fetchone():
                db.execute(
                    "update runs set state = 'done', ended_ms = ?, found = ? where id = ?",
                    (now_ms, json.dumps(dict(found), ensure_ascii=True), run.id),
                )
                return
        db.execute("delete from runs where id = ?", (run.id,))


def mark_undone(db: Connection, run: Run, now_ms: int) -> None:
    """The run is being taken back: no backfill goes on with it."""
    with transaction(db):
        db.execute("update runs set state = 'undone', ended_ms = ? where id = ?", (now_ms, run.id))


def unfinished(db: Connection) -> Run | None:
    """The run that was stopped before its end."""
    for row in db.execute(f"select {_COLUMNS} from runs where state = 'running' order by id desc limit 1"):
        return _run(row)
    return None


def find(db: Connection, name: str) -> Run | None:
    """The run of this name."""
    for row in db.execute(f"select {_COLUMNS} from runs where name = ?", (name,)):
        return _run(row)
    return None


def listing(db: Connection) -> list[dict[str, Any]]:
    """Every run, the latest first, with what is in the store of it: events it saw, and files it read first."""
    rows = db.execute(
        f"select {_COLUMNS}, (select count(distinct event_id) from sightings s where s.run_id = runs.id),"
        " (select count(*) from cursors c where c.run_id = runs.id) from runs order by id desc"
    )
    return [
        {
            "name": run.name,
            "state": HALF_UNDONE if run.state == "undone" and (events or files) else run.state,
            "started_ms": run.started_ms,
            "ended_ms": run.ended_ms,
            "asked": run.asked,
            "found": run.found,
            "events": events,
            "files": files,
        }
        for *of_run, events, files in rows
        for run in [_run(tuple(of_run))]
    ]


def project_count(db: Connection, session_ids: Collection[str]) -> int:
    """Of how many projects the sessions are."""
    rows = db.execute(
        "select count(distinct s.project_id) from json_each(?) j join sessions s on s.id = j.value",
        (json.dumps(list(session_ids)),),
    )
    return int(next(iter(rows))[0])


def _of(db: Connection, run_id: int) -> Run:
    return _run(next(iter(db.execute(f"select {_COLUMNS} from runs where id = ?", (run_id,)))))


def _run(row: tuple[Any, ...]) -> Run:
    return Run(row[0], row[1], row[2], row[3], row[4], json.loads(row[5]), json.loads(row[6]))
