"""What state everything is in, and whether that is well."""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from recorder import claude_auto, embed, install, worker_socket
from recorder.capture import spool
from recorder.config import Config
from recorder.counted import many
from recorder.errors import RecorderError, SettingsError, WorkerUnavailable
from recorder.lifecycle import backup
from recorder.recall import scope as scopes
from recorder.store import (
    audit,
    claude_files,
    completeness,
    copies,
    erase,
    events,
    findings,
    health,
    jobs,
    sessions,
    vectors,
)
from recorder.store.db import Connection, DatabaseError, has_vec
from worker import shelf

STATUS_TIMEOUT_S = 1.0
LOW_DISK_MB = 200
NEARLY_FULL = 0.8
SESSIONS_LOOKED_AT = 30
SESSIONS_NAMED = 5
# Hooks and transcript tell of the same thing within seconds.
WENT_SILENT_MS = 60_000
MEND = "restart Claude Code there, or `recorder install`"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `state` is ok, note or bad; a bad one makes `recorder doctor` fail."""

    name: str
    state: str
    text: str


def status(db: Connection, config: Config, now_ms: int) -> dict[str, Any]:
    """What is stored, what waits, and who runs."""
    counters = jobs.counters(db)
    size_mb = health.size_mb(db)
    return {
        "home": str(config.home),
        "worker": worker(config.home),
        "paused_until_ms": install.paused_until(config.home),
        "spool": {
            "pending": len(spool.pending(config.spool)),
            "bad": len(spool.bad(config.spool)),
            "malformed": counters.get("spool_bad", (0, None, None))[0],
            "lost": spool.lost(config.spool),
        },
        "events": health.event_counts(db),
        "in_no_project": health.in_no_project(db),
        "left_out": {
            name.removeprefix("left_out_"): value
            for name, (value, _, _) in counters.items()
            if name.startswith("left_out_")
        },
        "sessions": {"all": health.session_count(db), "open": len(sessions.still_open(db))},
        "memories": health.memory_counts(db),
        "claude_memory": claude_memory(db),
        "findings": findings.open_count(db),
        "forgets_pending": len(erase.pending(db)),
        "jobs": jobs.counts(db),
        "vectors": {
            "waiting": health.waiting_vectors(db),
            "put_off": vectors.put_off(db),
            "model": vectors.model(db),
            "sqlite_vec": has_vec(db),
        },
        "store": {"mb": size_mb, "max_mb": config.store.max_mb, "warning": size_warning(size_mb, config.store.max_mb)},
        "backups": {"last_ms": last_backup_ms(config), "skipped": copies.skipped(db)[1]},
        "stuck": stuck(db, config, now_ms),
        "last_event_ms": health.last_event_ms(db),
    }


def last_backup_ms(config: Config) -> int | None:
    """When the newest backup in the home was made."""
    return max((one.manifest.created_ms for one in backup.listing(config.backups_dir)), default=None)


def claude_memory(db: Connection) -> dict[str, Any]:
    """What the last sync of Claude's own memory files did; `last_sync_ms` is None before the first."""
    last = claude_files.last_report(db) or {}
    counts = {name: last.get(name, 0) for name in ("files", "created", "changed", "pruned", "beyond_limit")}
    return {
        "last_sync_ms": last.get("at_ms"),
        **counts,
        "undecided": claude_files.undecided_files(db),
        "problems": len(last.get("problems", ())),
    }


def stuck(db: Connection, config: Config, now_ms: int) -> str | None:
    """Why the queue counts as stuck: jobs that do not come to an end, or hook inputs that nobody takes in."""
    waiting = spool.pending(config.spool)
    if waiting and now_ms - waiting[0].received_ms > health.STUCK_AFTER_MS:
        return f"in the spool: {many(len(waiting), 'hook input')}, the oldest for more than 15 minutes"
    return health.stuck(db, now_ms)


def size_warning(size_mb: float, max_mb: int) -> str | None:
    """A line from 80 % of the bound on."""
    if size_mb < NEARLY_FULL * max_mb:
        return None
    return f"{size_mb:.0f} of {max_mb} MB are used: beyond store.max_mb the oldest uncited tool output goes first"


def worker(home: Path) -> dict[str, Any]:
    """What the worker says of itself; `{"state": "not running"}` when nobody answers."""
    try:
        answer = worker_socket.request(home, "status", timeout_s=STATUS_TIMEOUT_S)
    except WorkerUnavailable:
        return {"state": "not running"}
    return {"state": "running", **{key: value for key, value in answer.items() if key != "ok"}}


@dataclass(frozen=True, slots=True)
class Room:
    """What a look needs."""

    config: Config
    environ: Mapping[str, str]
    interpreter: str
    source_root: Path
    now_ms: int


def check(
    db: Connection | None,
    config: Config,
    environ: Mapping[str, str],
    *,
    interpreter: str,
    source_root: Path,
    now_ms: int,
) -> list[Check]:
    """Everything worth looking at, the bad ones with their remedy. Without a database, what needs none."""
    room = Room(config, environ, interpreter, source_root, now_ms)
    found = [one for name, look in LOOKS for one in _alone(name, partial(look, room))]
    if db is not None:
        found += [one for name, look in LOOKS_AT_STORE for one in _alone(name, partial(look, db, room))]
    return found


def _alone(name: str, look: Callable[[], Iterable[Check]]) -> Iterable[Check]:
    """What a look found; one that cannot be taken is bad, and the others go on."""
    try:
        return list(look())
    except (RecorderError, DatabaseError, OSError) as error:
        return [Check(name, "bad", f"this cannot be looked at: {error}")]


def _settings(room: Room) -> list[Check]:
    found = [Check("settings", "bad", f"{warning}: mend or remove it") for warning in room.config.warnings]
    if room.environ.get("RECORDER_OFF") == "1":
        found.append(Check("off", "bad", "RECORDER_OFF=1 is set here: nothing is captured, no brief is shown"))
    return found or [Check("settings", "ok", "every setting is known")]


def _paused(room: Room) -> list[Check]:
    until_ms = install.paused_until(room.config.home)
    if until_ms is None or until_ms <= room.now_ms:
        return []
    return [Check("paused", "note", "recording is paused: `recorder resume` goes on")]


def _wired(room: Room) -> list[Check]:
    try:
        found = install.installed(room.environ, interpreter=room.interpreter, source_root=room.source_root)
    except SettingsError as error:
        return [Check("claude code", "bad", str(error))]
    checks = [Check("claude code", "bad", warning) for warning in found.warnings]
    checks += [Check("claude code", "bad", f"{p.path}: {p.problem}") for p in found.places if p.problem]
    for place in found.places:
        if place.present and place.missing:
            missing = ", ".join(place.missing)
            checks.append(Check("claude code", "bad", f"{place.path} lacks {missing}: run `recorder install`"))
    if found.complete:
        checks.append(Check("claude code", "ok", "hooks and the MCP server are registered"))
    elif not any(place.present for place in found.places):
        checks.append(Check("claude code", "bad", "not registered with Claude Code: run `recorder install`"))
    elif found.stale_hooks or not found.wake:
        checks.append(
            Check("claude code", "bad", "the copies in the home are of another version: run `recorder install`")
        )
    return checks


def _home(room: Room) -> list[Check]:
    home = room.config.home
    if not home.is_dir():
        return [Check("home", "bad", f"{home} is no folder: move it away, or name another home in RECORDER_HOME")]
    checks = []
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & 0o077:
        checks.append(Check("home", "bad", f"{home} is open to others ({mode:o}): chmod 700 {home}"))
    if not os.access(home, os.W_OK):
        checks.append(Check("home", "bad", f"{home} cannot be written, so nothing is captured: make it writable"))
    free_mb = shutil.disk_usage(home).free // (1024 * 1024)
    if free_mb < LOW_DISK_MB:
        checks.append(Check("disk", "bad", f"{free_mb} MB are left on the disk of {home}: make room"))
    return checks


def _worker(room: Room) -> list[Check]:
    alive = worker(room.config.home)
    if alive["state"] == "running":
        return [Check("worker", "ok", f"running, process {alive['pid']}, {alive['rss_mb']} MB")]
    return [Check("worker", "note", "not running: the next prompt wakes it, or `recorder up`")]


def _malformed(db: Connection, room: Room) -> list[Check]:
    malformed = jobs.counters(db).get("spool_bad", (0, None, None))
    if not malformed[0]:
        return []
    reasons = [f"{name}: {reason}" for name, reason in spool.bad(room.config.spool)[-3:]]
    kept = "; ".join(reasons) if reasons else str(malformed[2])
    return [Check("spool", "note", f"{many(malformed[0], 'malformed hook input')} so far, kept in spool/bad ({kept})")]


def _spool(room: Room) -> list[Check]:
    config, checks = room.config, []
    lost = spool.lost(config.spool)
    if lost:
        checks.append(
            Check("spool", "bad", f"{many(lost, 'hook input')} could not be written: the disk was full or closed to us")
        )
    waiting = len(spool.pending(config.spool))
    checks.append(Check("spool", "ok" if waiting < 1000 else "bad", f"waiting: {many(waiting, 'file')}"))
    return checks


def _work(db: Connection, room: Room) -> list[Check]:
    dead = jobs.listing(db, state="dead", limit=3)
    checks = [
        Check(
            "jobs",
            "bad",
            f"{job['kind']} of {job['subject'].split()[0]} is dead after {job['attempts']} tries:"
            f" {_cause(job['error'], room.environ)}. `recorder drain --retry-dead` tries again",
        )
        for job in dead
    ]
    reason = stuck(db, room.config, room.now_ms)
    if reason:
        checks.append(Check("jobs", "bad", reason))
    return checks or [Check("jobs", "ok", "no job is stuck or dead")]


def _hooks(db: Connection, room: Room) -> list[Check]:
    own: str | None = None
    if room.environ.get("CLAUDECODE"):
        folder = room.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
        own = scopes.of_directory(db, folder, now_ms=room.now_ms, worktrees=room.config.projects.worktrees).project_id
        if own is None:
            return []
    latest = completeness.latest(db, SESSIONS_LOOKED_AT, own)
    found = [check for session in latest if (check := _missed(session)) is not None]
    if found:
        return found[:SESSIONS_NAMED]
    due = sum(session.last_hook_ms is not None for session in latest)
    if not due:
        return [
            Check("hooks", "note", "no session yet in which a hook was due: start Claude Code after `recorder install`")
        ]
    return [Check("hooks", "ok", f"they missed nothing in the last {many(due, 'session')} that had them")]


def _missed(found: completeness.Completeness) -> Check | None:
    """What hooks did not bring of a session; None where they brought all they should have."""
    if not found.healed:
        return None
    if found.last_hook_ms is None:
        # Silent hooks are no trouble any more where a later session had them.
        state = "note" if found.hooks_came_later else "bad"
        return Check("hooks", state, f"hooks silent in session {found.session_id} since {_at(found.first_ms)}: {MEND}")
    if found.open and (found.last_healed_ms or 0) - found.last_hook_ms > WENT_SILENT_MS:
        said = f"hooks went silent in session {found.session_id} at {_at(found.last_hook_ms)}: {MEND}"
        return Check("hooks", "bad", f"{said} (missed={found.healed} so far, healed from its transcript)")
    shares = "; ".join(
        f"{name.replace('_', ' ')}: {share.in_log} in the log, {share.by_hook} by hook, {share.healed} healed"
        for name, share in found.shares.items()
    )
    return Check(
        "hooks",
        "note",
        f"session {found.session_id}: missed={many(found.healed, 'event')}, healed from its transcript"
        f" ({shares}; refused calls have no hook and are not missed)",
    )


def _at(at_ms: int | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime((at_ms or 0) / 1000))


def _cause(error: str | None, environ: Mapping[str, str]) -> str:
    """The error of a job; for Claude without its text, which may quote what another project recorded."""
    said = error or "no reason was kept"
    return re.split(r"[:(]", said)[0] if environ.get("CLAUDECODE") else said


def _integrity(db: Connection, room: Room) -> list[Check]:
    problem = health.integrity(db)
    return [Check("store", "bad", problem)] if problem else []


def _audit(db: Connection, room: Room) -> list[Check]:
    verdict = audit.verify(db)
    if verdict.state != "fail":
        return []
    what = f"row {verdict.broken_id} of the audit was changed" if verdict.broken_id else f"the audit: {verdict.missing}"
    return [Check("audit", "bad", f"{what}, from outside")]


def _store(db: Connection, room: Room) -> list[Check]:
    checks = [Check("store", "ok", many(events.count(db), "event"))]
    full = size_warning(health.size_mb(db), room.config.store.max_mb)
    if full:
        checks.append(Check("store", "note", full))
    canary = health.canary(db)
    if canary is not None:
        checks.append(Check("canary", "ok", f"the self-test of install was read back as event {canary}"))
    return checks


def _backups(db: Connection, room: Room) -> list[Check]:
    if not room.config.backup.daily:
        return [Check("backups", "note", "switched off by backup.daily: `recorder backup` makes one")]
    last_ms = last_backup_ms(room.config)
    skipped_ms, why = copies.skipped(db)
    if skipped_ms is not None and skipped_ms > (last_ms or 0):
        return [Check("backups", "note", f"the last daily backup was not made: {why}")]
    if last_ms is None:
        return [Check("backups", "note", "none yet: the worker makes one a day, when it has nothing else to do")]
    days = (room.now_ms - last_ms) // 86_400_000
    return [
        Check("backups", "ok", "the last one is of today" if days < 1 else f"the last one is {many(days, 'day')} old")
    ]


def _claude_memory(db: Connection, room: Room) -> list[Check]:
    last = claude_files.last_report(db)
    if last is None:
        return []
    beyond = [f"{path}: Claude does not load {n} of its lines; recall does" for path, n in last["beyond_files"].items()]
    said = [*claude_auto.undecided(claude_files.undecided_files(db)), *beyond, *last["problems"]]
    if said and room.environ.get("CLAUDECODE"):  # the paths are of every project
        said = [f"{many(len(said), 'note')} on memory files: a person sees them"]
    return [Check("claude memory", "note", text) for text in said[:5]]


def _vectors(db: Connection, room: Room) -> list[Check]:
    return [Check("vectors", *_of_vectors(db, room.config))]


def _of_vectors(db: Connection, config: Config) -> tuple[str, str]:
    """(state, text) of the vector arm."""
    if not config.embed.enabled:
        return "note", "switched off by embed.enabled: recall works on words"
    if not has_vec(db):
        return "note", "sqlite-vec cannot be loaded here: recall works on words"
    if missing := shelf.missing(config.models_dir, config.embed.model):
        return "bad", missing
    _, reason = embed.ask(config.home, "is anybody there", 2000)
    if reason == "ok":
        return "ok", "questions and events get vectors"
    return "note", f"{reason}: recall works on words"


LOOKS: tuple[tuple[str, Callable[[Room], list[Check]]], ...] = (
    ("settings", _settings),
    ("paused", _paused),
    ("claude code", _wired),
    ("home", _home),
    ("worker", _worker),
    ("spool", _spool),
)
LOOKS_AT_STORE: tuple[tuple[str, Callable[[Connection, Room], list[Check]]], ...] = (
    ("spool", _malformed),
    ("jobs", _work),
    ("hooks", _hooks),
    ("store", _integrity),
    ("audit", _audit),
    ("store", _store),
    ("backups", _backups),
    ("claude memory", _claude_memory),
    ("vectors", _vectors),
)
