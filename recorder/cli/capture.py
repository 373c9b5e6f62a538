"""Commands about what was captured."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from recorder import doctor, install, worker_socket
from recorder.cli.frame import (
    Json,
    Project,
    app,
    desk,
    err,
    out,
    plain,
    print_json,
    print_table,
    settings,
    when,
)
from recorder.config import Config
from recorder.errors import NotFound, RecorderError, WorkerUnavailable
from recorder.models import EventKind, StoredEvent
from recorder.recall import fence
from recorder.store import events, health, jobs, memories, sessions
from recorder.store.db import transaction
from worker import held

DRAIN_TIMEOUT_S = 600.0


@app.command()
def drain(
    no_distil: Annotated[bool, typer.Option("--no-distil", help="Take in and index only.")] = False,
    retry_dead: Annotated[bool, typer.Option("--retry-dead", help="Queue dead jobs again first.")] = False,
    as_json: Json = False,
) -> None:
    """Take in, distil and index everything that is pending; no daemon needed."""
    found = settings()
    with desk() as here:
        if retry_dead:
            with transaction(here.db):
                jobs.revive(here.db, here.now_ms)
        before = events.count(here.db)
        with Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=err,
            transient=True,
            disable=not err.is_terminal,
        ) as progress:
            progress.add_task("taking in, distilling, indexing", total=None)
            taken, by = _drain(found, distil=not no_distil)
        result = {"taken": taken, "new_events": events.count(here.db) - before, "by": by}
    if as_json:
        print_json(result)
    else:
        out.print(f"{taken} spool files taken in, {result['new_events']} new events ({by})")


def _drain(found: Config, *, distil: bool) -> tuple[int, str]:
    """(spool files taken in, who did it): ourselves when no worker lives, else the one that does."""
    with held.locked(found.home) as ours:
        if ours:
            return held.drain_once(found, distil=distil), "no worker was running"
    try:
        answer = worker_socket.request(found.home, "drain", timeout_s=DRAIN_TIMEOUT_S, distil=distil)
    except WorkerUnavailable as error:
        raise RecorderError(f"a worker lives but does not drain: {error}. `recorder down` stops it") from error
    return int(answer["taken"]), "the running worker"


@app.command("events")
def list_events(
    session: Annotated[str | None, typer.Option("--session")] = None,
    kind: Annotated[EventKind | None, typer.Option("--kind")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1)] = 50,
    export: Annotated[Path | None, typer.Option("--export", help="Write all as JSON lines to this file.")] = None,
    as_json: Json = False,
) -> None:
    """List stored events, the latest first; or export them, oldest first."""
    with desk() as here:
        if export is not None:
            written = 0
            with export.open("w", encoding="utf-8", errors="backslashreplace") as file:
                after = 0
                while page := events.listing(
                    here.db, session_id=session, kind=kind, after_id=after, limit=500, newest_first=False
                ):
                    for event in page:
                        file.write(_json_line(event) + "\n")
                    written, after = written + len(page), page[-1].id
            err.print(f"{written} events written to {export}")
            return
        found = events.listing(here.db, session_id=session, kind=kind, limit=limit)
        if as_json:
            print_json([_shape(event) for event in found])
            return
        rows = [
            (
                f"e{e.id}",
                when(e.at_ms),
                e.kind,
                e.tool or e.klass or "",
                _ok(e.ok),
                fence.cut(fence.line(e.excerpt), 90),
            )
            for e in found
        ]
        print_table("", ("id", "when", "kind", "tool", "ok", "text"), rows)


def _ok(ok: bool | None) -> str:
    return "" if ok is None else "ok" if ok else "failed"


def _shape(event: StoredEvent) -> dict[str, Any]:
    return {
        "id": event.id,
        "key": event.key,
        "kind": event.kind.value,
        "class": event.klass.value if event.klass else None,
        "session_id": event.session_id,
        "project_id": event.project_id,
        "at_ms": event.at_ms,
        "prompt_id": event.prompt_id,
        "uuid": event.uuid,
        "tool_use_id": event.tool_use_id,
        "agent_id": event.agent_id,
        "tool": event.tool,
        "ok": event.ok,
        "cwd": event.cwd,
        "branch": event.branch,
        "healed": event.healed,
        "truncated": event.truncated,
        "omitted_bytes": event.omitted_bytes,
        "body": event.body,
    }


def _json_line(event: StoredEvent) -> str:
    return json.dumps(_shape(event), ensure_ascii=False)


@app.command("sessions")
def list_sessions(
    limit: Annotated[int, typer.Option("--limit", min=1)] = 20, project: Project = None, as_json: Json = False
) -> None:
    """List sessions of this project, the latest first."""
    with desk() as here:
        found = sessions.listing(here.db, project_id=here.scope(project).project_id, limit=limit)
        if as_json:
            print_json([_session(session) for session in found])
            return
        rows = [(s.id, when(s.started_ms), when(s.closed_ms), s.hook_events, s.title or "") for s in found]
        print_table("", ("session", "began", "closed", "by hook", "title"), rows)


def _session(session: sessions.Session) -> dict[str, Any]:
    return {name: getattr(session, name) for name in session.__slots__}


@app.command("injections")
def list_injections(limit: Annotated[int, typer.Option("--limit", min=1)] = 20, as_json: Json = False) -> None:
    """List every brief that was shown to Claude."""
    with desk() as here:
        found = health.injections(here.db, limit)
        if as_json:
            names = ("event_id", "at_ms", "session_id", "project_id")
            print_json([dict(zip(names, row, strict=True)) for row in found])
            return
        print_table("", ("event", "when", "session", "project"), [(f"e{i}", when(at), s, p) for i, at, s, p in found])


@app.command()
def status(as_json: Json = False) -> None:
    """Show what is stored, what waits, and who runs."""
    with desk() as here:
        found = doctor.status(here.db, here.config, here.now_ms)
        if as_json:
            print_json(found)
            return
        rows = [(name, _flat(value)) for name, value in found.items()]
        print_table("", ("", ""), rows)


def _flat(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_flat(item)}" for key, item in value.items()) or "none"
    return "-" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)


@app.command()
def stats(project: Project = None, as_json: Json = False) -> None:
    """Count memories by namespace, kind and trust, and events by kind."""
    with desk() as here:
        counted = memories.counts(here.db, here.scope(project))
        found = {
            "memories": [dict(zip(("namespace", "kind", "trust", "count"), row, strict=True)) for row in counted],
            "events": health.event_counts(here.db),
        }
        if as_json:
            print_json(found)
            return
        print_table("memories", ("namespace", "kind", "trust", "count"), counted)
        print_table("events", ("kind", "count"), list(health.event_counts(here.db).items()))


@app.command("doctor")
def run_doctor(as_json: Json = False) -> None:
    """Look at everything; exit 1 when something is wrong."""
    with desk() as here:
        found = doctor.check(
            here.db,
            here.config,
            here.environ,
            interpreter=sys.executable,
            source_root=source_root(),
            now_ms=here.now_ms,
        )
        if as_json:
            print_json([{"name": c.name, "state": c.state, "text": c.text} for c in found])
        else:
            colours = {"ok": "green", "note": "yellow", "bad": "red"}
            for one in found:
                out.print(Text(f"{one.state:>4}  ", colours[one.state]) + Text(f"{one.name}: {plain(one.text)}", ""))
        if any(one.state == "bad" for one in found):
            sys.exit(1)


def source_root() -> Path:
    """The folder that holds `hooks/` beside the packages."""
    return Path(doctor.__file__).resolve().parent.parent


_SPAN = re.compile(r"(\d+)\s*([smhd])")
_UNIT_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
LONGEST_PAUSE_MS = 3650 * 86_400_000


@app.command()
def pause(
    span: Annotated[
        str | None, typer.Argument(metavar="[1h]", help="30m, 2h, 1d; until `resume` when left out.")
    ] = None,
    project: Project = None,
) -> None:
    """Capture nothing and show no brief for a while, without restarting Claude Code."""
    with desk() as here:
        until_ms = None
        if span is not None:
            match = _SPAN.fullmatch(span.strip())
            if match is None:
                raise typer.BadParameter(f"{span!r} is no time span: write 30m, 2h or 1d")
            span_ms = int(match[1]) * _UNIT_MS[match[2]]
            if span_ms > LONGEST_PAUSE_MS:
                raise typer.BadParameter(f"{span!r} is more than ten years: leave it out to pause until `resume`")
            until_ms = here.now_ms + span_ms
        where = None
        if project is not None:
            where = here.scope(project).project_id
            if where is None:
                raise NotFound(f"{project} belongs to no project")
        with transaction(here.db):
            sessions.pause(here.db, where, here.now_ms, until_ms)
        if where is None:
            install.pause(here.config.home, until_ms)
        out.print(f"paused{' for ' + where if where else ''}{' until ' + when(until_ms) if until_ms else ''}")


@app.command()
def resume(project: Project = None) -> None:
    """Capture again."""
    with desk() as here:
        where = here.scope(project).project_id if project is not None else None
        with transaction(here.db):
            sessions.resume(here.db, where, here.now_ms)
        if project is None:
            install.resume(here.config.home)
        out.print("recording")
