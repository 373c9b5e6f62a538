"""Commands about the embedding model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from recorder import config_file, worker_socket
from recorder.cli.frame import Json, app, desk, err, many, only_a_person, out, plain, print_json, print_table, settings
from recorder.config import load
from recorder.errors import ConfigError, WorkerUnavailable
from recorder.store import vectors
from worker import shelf, workshop

CHOOSE_TIMEOUT_S = 5.0

models_app = typer.Typer(no_args_is_help=True, help="The embedding model.")
app.add_typer(models_app, name="models")


@models_app.command("list")
def models_list(as_json: Json = False) -> None:
    """List the models that are built: which one is used, whether its files are whole, and how many vectors it has."""
    with desk() as here:
        found, rows, waiting = here.config, vectors.rows_of_models(here.db), vectors.waiting(here.db)
        put_off = vectors.put_off(here.db)
    chosen = shelf.chosen(found.models_dir, found.embed.model)
    models = [_described(built, chosen, rows, waiting + put_off) for built in shelf.listing(found.models_dir)]
    missing = shelf.missing(found.models_dir, found.embed.model)
    if as_json:
        print_json(models)
    elif models:
        columns = ("", "model", "dimension", "MB", "files", "embedded", "waiting")
        print_table("", columns, [_row(model) for model in models])
    else:
        out.print(shelf.NO_MODEL)
    if missing:
        err.print(Text(f"warning: {plain(missing)}"))


def _described(built: shelf.Built, chosen: shelf.Built | None, rows: dict[str, int], waiting: int) -> dict[str, Any]:
    used = chosen is not None and built.id == chosen.id
    return {
        "id": built.id,
        "dimension": built.dimension,
        "precision": built.precision,
        "size_bytes": shelf.size_bytes(built),
        "source": built.source,
        "used": used,
        "damaged": shelf.unsound(built),
        "embedded": rows.get(built.id, 0),
        "waiting": waiting if used else None,
    }


def _row(model: dict[str, Any]) -> tuple[object, ...]:
    whole = f"damaged: {', '.join(model['damaged'])}; build --force" if model["damaged"] else "whole"
    waiting = "" if model["waiting"] is None else model["waiting"]
    mb = f"{model['size_bytes'] / 1_000_000:.0f}"
    used = "*" if model["used"] else ""
    return used, model["id"], model["dimension"], mb, whole, model["embedded"], waiting


@models_app.command("build")
def models_build(
    source: Annotated[
        str | None,
        typer.Option("--source", help="A folder or hub name; what embed.model says, or the packaged one else."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Also where it is built and whole.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be downloaded.")] = False,
    as_json: Json = False,
) -> None:
    """Build the int8 ONNX model, once, in a temporary environment; the model in use stays until it is ready."""
    only_a_person("builds a model")
    found = settings()
    asked = workshop.plan(found.models_dir, found.embed.model if source is None else source, force=force)
    say = err.print if as_json else out.print
    for line in asked.lines:
        say(Text(plain(line)))
    told: dict[str, Any] = {"source": asked.source, "downloads": list(asked.downloads), "built": False}
    if not dry_run:
        built = workshop.build(found.home, found.models_dir, asked, lambda line: say(Text(plain(line))))
        told |= {"built": asked.there is None, "id": built.id, "dimension": built.dimension}
        used = shelf.chosen(found.models_dir, found.embed.model)
        told["used"] = used is not None and used.id == built.id
        _choose(found.home)
        if not as_json:
            then = "is used" if told["used"] else f"is ready: `recorder models use {built.id}` takes it into use"
            out.print(Text(f"{built.id} ({built.dimension} dimensions) {then}"))
    if as_json:
        print_json(told)


@models_app.command("use")
def models_use(name: str, as_json: Json = False) -> None:
    """Use another model that is built: write embed.model into config.toml. The rest of the file stays as it is, and
    words answer while what is stored gets vectors of the new model."""
    only_a_person("chooses the model")
    found = settings()
    listed = shelf.listing(found.models_dir)
    built = next((one for one in listed if one.id == name), None) or next(
        (one for one in listed if shelf.meant(one, name)), None
    )
    if built is None:
        names = ", ".join(one.id for one in listed) or "none"
        raise ConfigError(
            f"no model {name!r} in {found.models_dir} (there: {names});"
            f" `recorder models build --source {name}` makes one"
        )
    if damaged := shelf.unsound(built):
        raise ConfigError(
            f"{built.id} is damaged ({', '.join(damaged)}): `recorder models build --source {name} --force`"
        )
    changed = config_file.set_value(found.home / "config.toml", "embed", "model", built.id)
    now = load(os.environ)
    if now.embed.model != built.id:
        raise ConfigError(
            f"config.toml says {built.id}, but RECORDER_EMBED_MODEL={now.embed.model} is set here: unset it"
        )
    worker = _choose(found.home)
    with desk() as here:
        rows = vectors.rows_of_models(here.db)
    others = sum(count for model, count in rows.items() if model != built.id)
    if as_json:
        print_json({"id": built.id, "changed": changed, "worker": worker, "to_embed": others})
        return
    out.print(Text(f"using {built.id}" if changed else f"{built.id} is used already"))
    if others:
        when = "now" if worker else "as soon as a worker runs"
        out.print(f"{many(others, 'row')} of another model get a new vector {when}; until then words answer")


def _choose(home: Path) -> bool:
    """Tell the worker that another model may be wanted. False where none runs: the next one reads the settings."""
    try:
        worker_socket.request(home, "choose", timeout_s=CHOOSE_TIMEOUT_S)
    except WorkerUnavailable:
        return False
    return True
