"""Commands about the store as a whole: exports, backups, and what goes with age."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from recorder.cli.frame import (
    Json,
    Project,
    app,
    desk,
    err,
    now_ms,
    only_a_person,
    out,
    plain,
    print_json,
    settings,
    when,
)
from recorder.config import Config
from recorder.counted import many
from recorder.errors import FileRefused, NotFound, RecorderError
from recorder.lifecycle import backup as backups
from recorder.lifecycle import export as exports
from recorder.lifecycle import imports, purge, restoring, shape
from recorder.web import serve
from worker import brief, held

MODES = ("merge", "skip")


@app.command("export")
def export_all(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; what stands there is replaced.")],
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Write every memory with its history, evidence and relations, what was rejected and what is never taken in again,
    to a JSON file; with --project those of one project alone."""
    only_a_person("exports")
    with desk() as here:
        project_id = None
        if project is not None:
            project_id = here.scope(project).project_id
            if project_id is None:
                raise NotFound(f"{project} belongs to no project")
        found = exports.write(here.db, file, project_id=project_id, now_ms=here.now_ms)
        counts = {
            "memories": len(found.memories),
            "relations": len(found.relations),
            "tombstones": len(found.tombstones),
            "deny_rules": len(found.deny_rules),
        }
        if as_json:
            print_json({"file": str(file), **counts})
            return
        said = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counts.items())
        out.print(Text(f"{plain(str(file))}: {said}"))


@app.command("import")
def import_all(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `recorder export` wrote.")],
    mode: Annotated[
        str, typer.Option("--mode", help="merge: add what is missing; skip: leave what stands alone.")
    ] = "merge",
    as_json: Json = False,
) -> None:
    """Take an export in: one of this home, or an intact one into an empty home, as it was; any other as candidates.
    Nothing that was deleted, rejected or forgotten since comes back by it."""
    only_a_person("imports")
    if mode not in MODES:
        raise typer.BadParameter(f"--mode {mode}: merge or skip")
    found = shape.read(_content(file), file.name)
    with desk() as here:
        summary = imports.take(here.db, found, skip=mode == "skip", actor=here.actor, now_ms=here.now_ms)
    if as_json:
        print_json(asdict(summary))
        return
    counts = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in sorted(summary.counts.items()))
    beside = f"{many(summary.relations, 'relation')}, {many(summary.tombstones, 'tombstone')}"
    out.print(Text(f"{counts or 'no memory in it'}; {beside}"))
    if not summary.own:
        err.print("not signed by this home: what came in is a candidate, and no rejection or relation was taken over")
    for address, reason in list(summary.reasons.items())[:20]:
        err.print(Text(f"refused {plain(address)}: {plain(reason)}"))


def _content(file: Path) -> bytes:
    if not file.is_file():
        raise FileRefused(f"{file} is no file: name what `recorder export` wrote")
    with file.open("rb") as opened:
        return opened.read(shape.LIMIT_BYTES + 1)


@app.command("backup")
def make_backup(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="Where to; backups/ in the home when left out.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Copy the database while everything runs, look the copy through, and write a manifest beside it."""
    only_a_person("makes backups")
    with desk() as here:
        made = backups.make(here.db, folder or here.config.backups_dir, made_by="person", now_ms=here.now_ms)
    if as_json:
        print_json(backups.shape(made))
        return
    counts = ", ".join(f"{n} {name}" for name, n in made.manifest.counts.items())
    out.print(Text(f"{plain(str(made.path))}: {made.manifest.size_bytes / 2**20:.1f} MB, {counts}"))


@app.command("restore-backup")
def restore_backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The .db file of a backup; its manifest beside it.")],
    yes: Annotated[bool, typer.Option("--yes", help="Also where the backup is of another home.")] = False,
    as_json: Json = False,
) -> None:
    """Put a backup in place of the database, and on top of it what was rejected, deleted and forgotten since. What is
    there now is backed up first. The service and the worker are stopped, and started again where they ran."""
    only_a_person("restores backups")
    settled = settings()
    chosen = backups.look(file)
    if not yes and restoring.is_foreign(settled.db_path, chosen):
        raise FileRefused(
            f"{chosen.path} is no backup of this home: its memories would take the place of yours. Say --yes if you"
            " mean that"
        )
    with _stopped(settled), _alone(settled):
        result = restoring.restore(settled.db_path, chosen, settled.backups_dir, now_ms=now_ms())
        with desk() as here:
            brief.write_all(here.db, here.config, here.now_ms)
    if as_json:
        print_json(asdict(result))
        return
    out.print(Text(f"restored as it was at {when(chosen.manifest.created_ms)}"))
    if result.before is not None:
        out.print(Text(f"what was there is kept in {plain(result.before)}"))
    again = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in result.again.items() if n)
    out.print(Text(f"decided since, and so again: {again or 'nothing'}"))


@contextmanager
def _stopped(settled: Config) -> Iterator[None]:
    """Service and worker are stopped inside, and run again afterwards where they ran; whatever came of it."""
    service, worker = serve.down(settled.home)
    try:
        yield
    finally:
        if service:
            serve.detach(settled.home, settled.web.port)  # it starts a worker
        elif worker:
            serve.start_worker(settled)


@contextmanager
def _alone(settled: Config) -> Iterator[None]:
    """Nothing of ours that writes by itself runs inside.

    Raises: RecorderError when a worker was started meanwhile.
    """
    with held.locked(settled.home) as ours:
        if not ours:
            raise RecorderError("a worker was started meanwhile: try again")
        yield


@app.command("purge")
def purge_old(
    older_than_days: Annotated[
        int | None,
        typer.Option(
            "--older-than-days",
            min=0,
            help="0: every event no memory cites, at once. Left out: store.retention_days, where 0 means none.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count only.")] = False,
    as_json: Json = False,
) -> None:
    """Remove events of an age that no memory cites, with all that is derived from them, and give the room back to the
    disk. Memories, rejections and the audit stay."""
    only_a_person("purges")
    with desk() as here:
        days = older_than_days if older_than_days is not None else here.config.store.retention_days or None
        found = purge.purge(here.db, days, actor=here.actor, now_ms=here.now_ms, dry_run=dry_run)
    if as_json:
        print_json(asdict(found) | {"older_than_days": days, "dry_run": dry_run})
        return
    if days is None:
        err.print("no age was given, and store.retention_days is 0: no event goes")
    would = "would go" if dry_run else "went"
    out.print(
        f"{many(found.events, 'event')} {would}, about {found.bytes / 2**20:.1f} MB;"
        f" {many(found.emptied, 'line')} of history of deleted memories"
        f" {'would be emptied' if dry_run else 'emptied'}"
    )
