"""Commands about what was captured."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from recorder import install, worker_socket
from recorder.cli.frame import (
    Desk,
    Json,
    Project,
    app,
    desk,
    err,
    only_a_person,
    out,
    plain,
    print_json,
    print_table,
    settings,
    when,
)
from recorder.config import Config
from recorder.counted import many
from recorder.errors import NotFound, RecorderError, WorkerUnavailable
from recorder.models import EventKind, StoredEvent
from recorder.recall import fence, views
from recorder.store import completeness, events, health, jobs, sessions
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
    if retry_dead:
        only_a_person("queues dead jobs again")
    found = settings()
    with desk() as here, _complaints() as complaints:
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
    if complaints:
        raise RecorderError(f"not everything could be done: {complaints[0]}. `recorder doctor` says more")


@contextmanager
def _complaints() -> Iterator[list[str]]:
    """What the worker logs as an error inside, a line each, in place of its tracebacks."""
    found: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            cause = record.exc_info[1] if record.exc_info else None
            found.append(f"{record.getMessage()} ({cause})" if cause else record.getMessage())

    collect, worker = Collect(logging.ERROR), logging.getLogger("worker")
    worker.addHandler(collect)
    try:
        yield found
    finally:
        worker.removeHandler(collect)


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
    no_project: Annotated[
        bool, typer.Option("--no-project", help="Those recorded in folders of no project, which no search shows.")
    ] = False,
    export: Annotated[Path | None, typer.Option("--export", help="Write all as JSON lines to this file.")] = None,
    as_json: Json = False,
) -> None:
    """List stored events, the latest first; or export them, oldest first."""
    if export is not None:
        only_a_person("exports events")
    if no_project:
        only_a_person("sees what belongs to no project")
    with desk() as here:
        if export is not None:
            written = 0
            with export.open("w", encoding="utf-8", errors="backslashreplace") as file:
                after = 0
                while page := events.listing(
                    here.db,
                    session_id=session,
                    kind=kind,
                    unplaced=no_project,
                    after_id=after,
                    limit=500,
                    newest_first=False,
                ):
                    for event in page:
                        file.write(_json_line(event) + "\n")
                    written, after = written + len(page), page[-1].id
            err.print(f"{many(written, 'event')} written to {export}")
            return
        found = [
            event
            for project_id in here.projects()
            for event in events.listing(
                here.db, session_id=session, kind=kind, project_id=project_id, unplaced=no_project, limit=limit
            )
        ]
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
        meant = here.scope(project).project_id
        found = [
            session
            for project_id in here.projects(meant)
            for session in sessions.listing(here.db, project_id=project_id, limit=limit)
        ]
        if as_json:
            print_json([_session(session) for session in found])
            return
        rows = [(s.id, when(s.started_ms), when(s.closed_ms), s.hook_events, s.title or "") for s in found]
        print_table("", ("session", "began", "closed", "by hook", "title"), rows)


@app.command("session")
def show_session(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The id of a session.")], as_json: Json = False
) -> None:
    """Show one session in short: what was asked, files worked on, commands that worked, failures, the last words."""
    with desk() as here:
        known = sessions.get(here.db, session)
        if known is None or known.project_id not in here.projects(known.project_id):
            raise NotFound(f"there is no session {session} here")
        # Claude sees what happened in its own project, also where a session went from one to another.
        found = views.summary(
            [e for e in events.of_session(here.db, session) if e.project_id in here.projects(e.project_id)]
        )
        share = completeness.of_session(here.db, session)
        if as_json:
            print_json(asdict(found) | {"completeness": asdict(share) if share else None})
            return
        out.print(Text(plain(found.title or session), "bold"))
        parts: list[tuple[str, tuple[str, ...], list[tuple[object, ...]]]] = [
            ("asked", ("",), [(asked,) for asked in found.prompts]),
            ("files", ("path", "read", "written"), [(f.path, f.reads, f.writes) for f in found.files]),
            ("commands that worked", ("",), [(command,) for command in found.commands]),
            ("failures", ("",), [(failure,) for failure in found.failures]),
            ("the last words", ("",), [(found.outcome,)] if found.outcome else []),
        ]
        for title, names, lines in parts:
            if lines:
                print_table(title, names, lines)
        if share is not None:
            columns = ("", "in the log", "by hook", "healed", "no hook due")
            rows = [
                (name.replace("_", " "), each.in_log, each.by_hook, each.healed, each.uncarried)
                for name, each in share.shares.items()
            ]
            print_table("completeness", columns, rows)


def _session(session: sessions.Session) -> dict[str, Any]:
    return {name: getattr(session, name) for name in session.__slots__}


@app.command("injections")
def list_injections(limit: Annotated[int, typer.Option("--limit", min=1)] = 20, as_json: Json = False) -> None:
    """List every brief that was shown to Claude."""
    with desk() as here:
        found = [row for project_id in here.projects() for row in health.injections(here.db, limit, project_id)]
        if as_json:
            names = ("event_id", "at_ms", "session_id", "project_id")
            print_json([dict(zip(names, row, strict=True)) for row in found])
            return
        print_table("", ("event", "when", "session", "project"), [(f"e{i}", when(at), s, p) for i, at, s, p in found])


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
    only_a_person("pauses recording")
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
        where = _project_id(here, project)
        with transaction(here.db):
            sessions.pause(here.db, where, here.now_ms, until_ms)
        if where is None:
            install.pause(here.config.home, until_ms)
        out.print(f"paused{' for ' + where if where else ''}{' until ' + when(until_ms) if until_ms else ''}")


@app.command()
def resume(project: Project = None) -> None:
    """Capture again."""
    only_a_person("resumes recording")
    with desk() as here:
        where = _project_id(here, project)
        with transaction(here.db):
            sessions.resume(here.db, where, here.now_ms)
        if project is None:
            install.resume(here.config.home)
        out.print("recording")


def _project_id(here: Desk, project: Path | None) -> str | None:
    """The project meant; None for everywhere.

    Raises: NotFound for a folder of none.
    """
    if project is None:
        return None
    found = here.scope(project).project_id
    if found is None:
        raise NotFound(f"{project} belongs to no project")
    return found
