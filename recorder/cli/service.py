"""Commands that start, stop, wire in and take out."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from recorder import demo as sample
from recorder import install as wiring
from recorder import selftest
from recorder.cli.asked import Asked
from recorder.cli.frame import (
    Json,
    Project,
    app,
    by_agent,
    desk,
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
from recorder.cli.recall import ask, show_recall
from recorder.cli.state import source_root
from recorder.errors import NotFound, SettingsError, StoreError
from recorder.models import Scope
from recorder.recall import fence
from recorder.store import events, health, tokens
from recorder.store.db import DatabaseError, connect, transaction
from recorder.store.tokens import Rights
from recorder.web import access, serve
from recorder.web.tokens import mint

PROMPTS_ASKED = 5
"""Of the latest: a prompt like `go on` has no answer."""


@app.command()
def up(
    port: Annotated[int | None, typer.Option("--port", min=0, max=65535)] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    detach: Annotated[bool, typer.Option("--detach", help="In the background; return when it answers.")] = False,
) -> None:
    """Run worker, API and dashboard in the foreground, or with --detach in the background."""
    found = settings()
    wanted = found.web.port if port is None else port
    there = serve.running(found.home)
    if detach:
        at = there or serve.detach(found.home, wanted)
        if there is None:
            _say_if_taken(wanted, at)
        out.print(f"running: {_address(found.home, at)}")
        out.print(Text(_recalled_line()))
        return
    if there is not None:
        out.print(f"it is up already: {_address(found.home, there)}")
        return

    def ready(at: serve.Running) -> None:
        _say_if_taken(wanted, at)
        out.print(_address(found.home, at))
        if not no_open and sys.stdout.isatty():
            typer.launch(_address(found.home, at))

    serve.up(found, wanted, now_ms, ready)


def _say_if_taken(wanted: int, at: serve.Running) -> None:
    if wanted and at.port != wanted:
        err.print(f"port {wanted} is taken: serving on {at.port}")


def _address(home: Path, at: serve.Running) -> str:
    """Where to look, with the key for a person's browser; Claude gets no key."""
    return at.url if by_agent(os.environ) else serve.login_url(home, at)


def _recalled_line() -> str:
    """What recall gives for the latest prompt that it knows an answer to, on one line; and what is missing of it."""
    with desk() as here:
        latest = [
            event
            for project_id in here.projects()
            for event in events.latest_prompts(here.db, project_id, PROMPTS_ASKED)
        ]
        if not latest:
            return "nothing is recorded yet: work in Claude Code, and it is there in the next session"
        for event in latest:
            found = ask(here, event.excerpt[:200], Scope(event.project_id), Asked(limit=1))
            away = [f"{arm} {status}" for arm, status in found.arms.items() if status != "ok"]
            without = f" ({', '.join(away)})" if away else ""
            if found.hits:
                return f"recalled: {fence.row(found.hits[0])}{without}"
        asked = "latest prompt" if len(latest) == 1 else f"{len(latest)} latest prompts"
        return f"nothing answers the {asked}{without}: recorder search asks for more"


@app.command()
def down() -> None:
    """Stop the running service and worker."""
    service, worker = serve.down(settings().home)
    stopped = [name for name, was in (("service", service), ("worker", worker)) if was]
    out.print(f"stopped: {', '.join(stopped)}" if stopped else "nothing was running")


@app.command()
def install(
    scope: Annotated[
        str, typer.Option("--scope", help="user, or project: this project's local settings only.")
    ] = "user",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done.")] = False,
    as_json: Json = False,
) -> None:
    """Merge our hooks and MCP server into Claude Code's settings; a backup is kept, a second run changes nothing. Where
    ~/.local/bin is on the PATH, `recorder` is linked there."""
    only_a_person("wires the recorder in")
    if scope not in ("user", "project"):
        raise typer.BadParameter(f"--scope {scope}: user or project")
    found = settings()
    report = wiring.install(
        os.environ,
        interpreter=sys.executable,
        source_root=source_root(),
        now_ms=now_ms(),
        scope=scope,
        project_dir=Path.cwd() if scope == "project" else None,
        dry_run=dry_run,
    )
    if not dry_run:
        report = _linked(report)
        _note_since(found.db_path, report, scope)
    canary = None if dry_run else selftest.canary(found, now_ms())
    if as_json:
        print_json({"changes": [_change(c) for c in report.changes], "warnings": report.warnings, "canary": canary})
        return
    _report(report)
    if canary is not None:
        out.print(f"self-test: a hook input went through the real hook and was read back as event {canary}")


@app.command()
def uninstall(
    purge: Annotated[bool, typer.Option("--purge", help="Remove the home with everything in it too.")] = False,
    as_json: Json = False,
) -> None:
    """Take exactly our entries out again and stop what runs; the home stays unless --purge."""
    only_a_person("takes the recorder out")
    found = settings()
    serve.down(found.home)
    report = _noted(found.db_path, wiring.uninstall(os.environ, project_dir=Path.cwd(), purge=purge))
    if as_json:
        print_json(
            {"changes": [_change(c) for c in report.changes], "warnings": report.warnings, "purged": report.purged}
        )
        return
    _report(report)
    if report.purged:
        out.print(f"{report.home} is gone")


def _note_since(path: Path, report: wiring.Report, scope: str) -> None:
    """From now on hooks are to carry what happens: everywhere, or in the project whose own settings they stand in."""
    folders = [str(change.path.parent.parent) for change in report.changes if not change.keys]
    db = connect(path)
    try:
        with transaction(db):
            for folder in [health.EVERYWHERE] if scope == "user" else folders:
                health.record_since(db, now_ms(), folder)
    finally:
        db.close()


def _noted(path: Path, report: wiring.Report) -> wiring.Report:
    """The report, once the store knows that no hook is due any more; a broken one is no reason to fail."""
    if not path.exists():
        return report
    try:
        db = connect(path)
        try:
            with transaction(db):
                health.record_no_more(db)
        finally:
            db.close()
    except (StoreError, DatabaseError) as error:
        return replace(report, warnings=(*report.warnings, f"the store does not know yet that hooks are out: {error}"))
    return report


def _linked(report: wiring.Report) -> wiring.Report:
    """With the link to us; one that cannot be made is no reason to fail."""
    try:
        change = wiring.link(os.environ, _program())
    except (SettingsError, OSError) as error:
        return replace(report, warnings=(*report.warnings, f"recorder is not linked into your PATH: {error}"))
    return replace(report, changes=(*report.changes, change)) if change else report


def _program() -> Path:
    """The `recorder` that was installed beside this interpreter."""
    return Path(os.path.abspath(sys.executable)).with_name("recorder")


def _change(change: wiring.Change) -> dict[str, object]:
    return {"path": str(change.path), "what": change.what, "backup": str(change.backup) if change.backup else None}


def _report(report: wiring.Report) -> None:
    for warning in report.warnings:
        err.print(Text(f"warning: {plain(warning)}"))
    prefix = "would be " if report.dry_run else ""
    for change in report.changes:
        place = f" ({'.'.join(change.keys)})" if change.keys else ""
        kept = f", the old one is kept in {change.backup}" if change.backup else ""
        out.print(Text(f"{change.path}{place}: {prefix}{change.what}{kept}"))
    if not report.changes:
        out.print("nothing of ours was there")


@app.command()
def token(
    project: Project = None,
    rights: Annotated[
        str | None,
        typer.Option("--rights", help="With --project: read, write (when left out) or admin; more includes less."),
    ] = None,
    rotate: Annotated[
        bool, typer.Option("--rotate", help="Make a new one; the old one opens nothing any more.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the tokens of projects.")] = False,
    revoke: Annotated[int | None, typer.Option("--revoke", metavar="N", help="Let this one open nothing.")] = None,
    as_json: Json = False,
) -> None:
    """Print the bearer token of the HTTP service; with --project a new one that sees that project alone."""
    only_a_person("sees the token")
    if rights is not None and project is None:
        # Else whoever asks for a token to read hands out everything.
        raise typer.BadParameter("--rights goes with --project DIR: the home's own token may everything")
    if rights not in (None, *Rights):
        raise typer.BadParameter(f"--rights {rights}: read, write or admin")
    if project is None and not listed and revoke is None:
        home = settings().home
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        sys.stdout.write((access.rotate(home) if rotate else access.token(home)) + "\n")
        return
    with desk() as here:
        if revoke is not None:
            with transaction(here.db):
                if not tokens.revoke(here.db, revoke, here.now_ms):
                    raise NotFound(f"there is no token {revoke}: `recorder token --list` shows them")
            out.print(f"token {revoke} opens nothing any more")
        elif listed:
            _list_tokens(tokens.listing(here.db), as_json)
        else:
            scope = here.scope(project, register=True)
            if scope.project_id is None:
                raise NotFound(f"{project} belongs to no project")
            sys.stdout.write(mint(here.db, Rights(rights or Rights.WRITE), scope.project_id, here.now_ms) + "\n")


def _list_tokens(found: list[tokens.Token], as_json: bool) -> None:
    names = ("id", "fingerprint", "rights", "project", "minted")
    rows = [(one.id, one.fingerprint, one.rights, one.project_id, one.created_ms) for one in found]
    if as_json:
        print_json([dict(zip(names, row, strict=True)) for row in rows])
        return
    print_table("", names, [(*row[:4], when(row[4])) for row in rows])


@app.command()
def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Leave its home behind, to look around in.")] = False,
    as_json: Json = False,
) -> None:
    """Play a small sample session through the real hook into a home of its own, and show what became of it."""
    result = sample.play(source_root(), now_ms(), keep=keep)
    if as_json:
        print_json(result.as_json())
        return
    for line in result.story:
        out.print(Text(line))
    show_recall(result.found)
