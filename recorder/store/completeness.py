"""How much of a session hooks brought, and how much its transcript had to heal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recorder.models import EventKind
from recorder.store import health
from recorder.store.db import Connection

COUNTED = {"prompts": EventKind.PROMPT, "tool_calls": EventKind.TOOL_CALL}


@dataclass(frozen=True, slots=True)
class Share:
    """Of things of one kind on the main thread: how many stand in the log, which a hook brought, which were missed.

    `uncarried`: in the log alone, and no hook was due: refused and cut-off calls, local commands.
    """

    in_log: int
    by_hook: int
    healed: int
    uncarried: int


NOTHING = Share(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Completeness:
    """A session since hooks were registered: name → share of `prompts` and `tool_calls`, and when what was seen."""

    session_id: str
    open: bool
    project_id: str | None
    shares: Mapping[str, Share]
    first_ms: int | None
    last_hook_ms: int | None
    last_healed_ms: int | None
    hooks_came_later: bool
    """A session of the same project that began later was brought by hooks."""

    @property
    def healed(self) -> int:
        return sum(share.healed for share in self.shares.values())

    @property
    def by_hook(self) -> int:
        return sum(share.by_hook for share in self.shares.values())


def of_session(db: Connection, session_id: str) -> Completeness | None:
    """The session's completeness, or None where it is not known."""
    since = health.recording_since(db)
    rows = db.execute(f"select {_SESSION} from sessions s where s.id = ?", (session_id,))
    return next((_completeness(db, row, since) for row in rows), None)


def latest(db: Connection, limit: int, project_id: str | None = None) -> list[Completeness]:
    """Of the last sessions since hooks were registered, of a project or of all, the latest first."""
    since = health.recording_since(db)
    rows = db.execute(
        f"select {_SESSION} from sessions s where s.last_ms >= ?1 and s.off = 0 and s.id not in ('gate', ?2)"
        " and (?3 is null or s.project_id = ?3) order by s.last_ms desc limit ?4",
        (min(since.values(), default=0), health.CANARY_SESSION, project_id, limit),
    )
    return [_completeness(db, row, since) for row in rows]


# Left to itself, SQLite goes through every sighting by a hook for each event.
_SIGHTED = "select 1 from sightings x indexed by sightings_by_event where x.event_id = e.id and"
_SESSION = (
    "s.id, s.project_id, s.first_cwd, s.closed_ms, exists (select 1 from sessions n where n.last_ms > s.last_ms"
    " and n.started_ms > s.started_ms and n.hook_events > 0 and n.project_id is s.project_id)"
)


def _completeness(
    db: Connection, row: tuple[str, str | None, str | None, int | None, int], since: Mapping[str, int]
) -> Completeness:
    session_id, project_id, first_cwd, closed_ms, later = row
    shares: dict[str, Share] = {}
    times: list[tuple[int | None, int | None, int | None]] = []
    for kind, main, in_log, by_hook, healed, uncarried, *at in db.execute(
        "with seen as (select e.kind, e.at_ms, e.healed, e.agent_id is null as main,"
        f" exists ({_SIGHTED} x.source = 'hook') as hooked,"
        f" exists ({_SIGHTED} x.source in ('transcript', 'backfill')) as logged"
        " from events e where e.session_id = ? and e.at_ms >= ?)"
        " select kind, main, sum(logged), sum(hooked), sum(healed), sum(logged and not hooked and not healed),"
        " min(at_ms), max(iif(hooked, at_ms, null)), max(iif(healed, at_ms, null)) from seen group by kind, main",
        (session_id, health.since_ms(since, first_cwd) or 0),
    ):
        times.append((at[0], at[1], at[2]))
        if main:
            shares[kind] = Share(in_log, by_hook, healed, uncarried)
    return Completeness(
        session_id=session_id,
        open=closed_ms is None,
        project_id=project_id,
        shares={name: shares.get(kind, NOTHING) for name, kind in COUNTED.items()},
        first_ms=min((first for first, _, _ in times if first is not None), default=None),
        last_hook_ms=max((hook for _, hook, _ in times if hook is not None), default=None),
        last_healed_ms=max((healed for _, _, healed in times if healed is not None), default=None),
        hooks_came_later=bool(later),
    )
