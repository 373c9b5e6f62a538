"""The queue of work: asked for by key, claimed under a lease, tried again later, dead in plain sight."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from recorder.models import Job
from recorder.store.db import Connection

LEASE_MS = 5 * 60 * 1000
TRIES = 6
LAST_CHARACTER = "\U0010ffff"


def backoff_ms(attempts: int) -> int:
    """Milliseconds to wait before the next try: 2 s, 4, 8, … at most 15 minutes."""
    return int(min(2.0**attempts, 900.0) * 1000)


def ask(
    db: Connection,
    kind: str,
    subject: str,
    *,
    due_ms: int,
    now_ms: int,
    later: bool = True,
    behind: bool = False,
) -> None:
    """Have the job done at `due_ms`; asked twice is once, the later wish about the time counts.

    Without `later` a job that waits is never put off by it. A job that runs at this moment runs once more afterwards;
    one that was done or dead starts afresh. What is asked for `behind` all else goes first when anybody else asks.
    """
    db.execute(
        "insert into jobs (kind, subject, due_ms, created_ms, behind) values (?1, ?2, ?3, ?4, ?6)"
        " on conflict (kind, subject) do update set"
        " behind = case when state in ('done', 'dead') then ?6 else min(behind, ?6) end,"
        " due_ms = case when ?5 or state <> 'queued' then ?3 else min(due_ms, ?3) end,"
        " again = case when state = 'running' then 1 else 0 end,"
        " attempts = case when state in ('done', 'dead') then 0 else attempts end,"
        " created_ms = case when state in ('done', 'dead') then ?4 else created_ms end,"
        " error = case when state in ('done', 'dead') then null else error end,"
        " state = case when state = 'running' then 'running' else 'queued' end",
        (kind, subject, due_ms, now_ms, later, int(behind)),
    )


def hasten(db: Connection, kind: str, prefix: str, *, due_ms: int, but: str = "") -> None:
    """Make queued jobs due whose subject begins with the prefix, all but one."""
    db.execute(
        "update jobs indexed by sqlite_autoindex_jobs_1 set due_ms = ? where kind = ?"
        " and subject >= ? and subject < ? and state = 'queued' and subject <> ? and due_ms > ?",
        (due_ms, kind, prefix, prefix + LAST_CHARACTER, but, due_ms),
    )


def hasten_ended(db: Connection, kind: str, *, due_ms: int) -> None:
    """Make queued jobs due whose subject is a session that has ended."""
    db.execute(
        "update jobs set due_ms = min(due_ms, ?) where kind = ? and state = 'queued'"
        " and subject in (select id from sessions where closed_ms is not null)",
        (due_ms, kind),
    )


def claim(db: Connection, now_ms: int, *, behind: bool = True) -> Job | None:
    """The job that has been due the longest, leased to the caller; jobs whose lease ran out are due again.

    What waits behind all else comes when nothing else is due, and not at all without `behind`.
    """
    due = "select id, behind, due_ms from jobs where state = 'queued' and behind = {} and due_ms <= ?1"
    rows = db.execute(
        "update jobs set state = 'running', attempts = attempts + 1, lease_until_ms = ?1 + ?2, again = 0"
        " where id = (select id from ("
        f"select * from ({due.format(0)} order by due_ms, id limit 1)"
        f" union all select * from ({due.format(1)} and ?3 order by due_ms, id limit 1)"
        " union all select id, behind, due_ms from jobs where state = 'running' and lease_until_ms < ?1"
        " and (?3 or not behind))"
        " order by behind, due_ms, id limit 1)"
        " returning id, kind, subject, attempts, due_ms, behind",
        (now_ms, LEASE_MS, behind),
    )
    found = [Job(*row) for row in rows]
    return replace(found[0], behind=bool(found[0].behind)) if found else None


def release(db: Connection, now_ms: int) -> None:
    """Make due what was left running, before its lease ends: a worker died, or the store could not be used. There is
    one worker, and it asks between two jobs."""
    db.execute(
        "update jobs set state = 'queued', due_ms = ?, lease_until_ms = null, again = 0 where state = 'running'",
        (now_ms,),
    )


def complete(db: Connection, job: Job, outcome: str, now_ms: int) -> None:
    """The job is done; if it was asked for again meanwhile it is due once more."""
    db.execute(
        "update jobs set state = case when again then 'queued' else 'done' end, due_ms = case when again then ?2"
        " else due_ms end, outcome = ?3, error = null, finished_ms = ?2, lease_until_ms = null, again = 0,"
        " attempts = case when again then 0 else attempts end where id = ?1",
        (job.id, now_ms, outcome),
    )


def retry(db: Connection, job: Job, due_ms: int) -> None:
    """Put the job back without counting it as a failure."""
    db.execute(
        "update jobs set state = 'queued', due_ms = ?, attempts = max(attempts - 1, 0), lease_until_ms = null"
        " where id = ?",
        (due_ms, job.id),
    )


def fail(db: Connection, job: Job, error: str, now_ms: int) -> bool:
    """Put the job back behind a growing pause; True when it is dead now, after its last try."""
    dead = job.attempts >= TRIES
    db.execute(
        "update jobs set state = ?, due_ms = ?, error = ?, finished_ms = ?, lease_until_ms = null where id = ?",
        ("dead" if dead else "queued", now_ms + backoff_ms(job.attempts), error[:2000], now_ms, job.id),
    )
    return dead


def revive(db: Connection, now_ms: int, kind: str | None = None) -> int:
    """Queue dead jobs again; how many."""
    db.execute(
        "update jobs set state = 'queued', attempts = 0, due_ms = ?1"
        " where state = 'dead' and (?2 is null or kind = ?2)",
        (now_ms, kind),
    )
    return db.changes()


def next_due_ms(db: Connection) -> int | None:
    """When the next job is due, or the next lease runs out."""
    rows = db.execute(
        "select min(due_ms) from (select min(due_ms) as due_ms from jobs where state = 'queued'"
        " union all select min(lease_until_ms) from jobs where state = 'running')"
    )
    for (due,) in rows:
        return None if due is None else int(due)
    return None


def counts(db: Connection) -> dict[str, dict[str, int]]:
    """Kind → state → how many. `behind`: queued, and nothing live waits for them."""
    found: dict[str, dict[str, int]] = {}
    rows = db.execute(
        "select kind, case when state = 'queued' and behind then 'behind' else state end as stands, count(*)"
        " from jobs group by kind, stands"
    )
    for kind, state, n in rows:
        found.setdefault(kind, {})[state] = n
    return found


def listing(db: Connection, *, state: str | None = None, limit: int = 100) -> list[dict[str, Any]]:
    """Jobs as a person sees them, the newest first."""
    rows = db.execute(
        "select id, kind, subject, state, attempts, due_ms, outcome, error, finished_ms from jobs"
        " where (?1 is null or state = ?1) order by coalesce(finished_ms, created_ms) desc limit ?2",
        (state, limit),
    )
    names = ("id", "kind", "subject", "state", "attempts", "due_ms", "outcome", "error", "finished_ms")
    return [dict(zip(names, row, strict=True)) for row in rows]


def bump(db: Connection, name: str, by: int, now_ms: int, note: str | None = None) -> None:
    """Add to a named counter."""
    db.execute(
        "insert into counters (name, value, at_ms, note) values (?1, ?2, ?3, ?4) on conflict (name) do update"
        " set value = value + ?2, at_ms = ?3, note = coalesce(?4, note)",
        (name, by, now_ms, note),
    )


def counters(db: Connection) -> dict[str, tuple[int, int | None, str | None]]:
    """Name → (value, when it last changed, note)."""
    return {
        name: (value, at, note) for name, value, at, note in db.execute("select name, value, at_ms, note from counters")
    }
