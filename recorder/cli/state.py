"""Commands about the state everything is in."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from rich.text import Text

from recorder import doctor, install
from recorder.cli.frame import (
    Json,
    Project,
    app,
    desk,
    now_ms,
    only_a_person,
    out,
    plain,
    print_json,
    print_table,
    settings,
    when,
)
from recorder.errors import StoreError
from recorder.store import findings, health, indexes, memories, vectors
from recorder.store.db import connect, has_vec, transaction


@app.command()
def status(as_json: Json = False) -> None:
    """Show what is stored, what waits, and who runs."""
    with desk() as here:
        found = doctor.status(here.db, here.config, here.now_ms)
        if as_json:
            print_json(found)
            return
        rows = [(_label(name), _flat(name, value)) for name, value in found.items()]
        if not here.by_agent and found["findings"]:
            waiting = Counter(_owner(one["namespace"]) for one in findings.listing(here.db, None, limit=10_000))
            rows.append(("findings of", _flat("", waiting)))
        print_table("", ("", ""), rows)


def _owner(namespace: str | None) -> str:
    """`user`, or the project's id."""
    head, _, rest = (namespace or "-").partition(".")
    return rest.partition(".")[0] if head == "project" and rest else head


def _label(name: str) -> str:
    return name.removesuffix("_ms").replace("_", " ")


def _flat(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{_label(key)} {_flat(key, item)}" for key, item in value.items()) or "none"
    if name.endswith("_ms") and isinstance(value, int):
        return "`recorder resume`" if name.startswith("paused") and install.open_ended(value) else when(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)


@app.command()
def stats(project: Project = None, as_json: Json = False) -> None:
    """Count memories by namespace, kind and trust, and events by kind, of this project."""
    with desk() as here:
        scope = here.scope(project)
        counted = memories.counts(here.db, scope)
        kinds: dict[str, int] = {}
        for project_id in here.projects(scope.project_id):
            kinds |= health.event_counts(here.db, project_id)
        found = {
            "memories": [dict(zip(("namespace", "kind", "trust", "count"), row, strict=True)) for row in counted],
            "events": kinds,
        }
        if as_json:
            print_json(found)
            return
        print_table("memories", ("namespace", "kind", "trust", "count"), counted)
        print_table("events", ("kind", "count"), list(kinds.items()))


@app.command("doctor")
def run_doctor(as_json: Json = False) -> None:
    """Look at everything; exit 1 when something is wrong."""
    settled = settings()
    try:
        db, closed = connect(settled.db_path), None
    except StoreError as error:
        db, closed = None, str(error)
    try:
        found = doctor.check(
            db,
            settled,
            os.environ,
            interpreter=sys.executable,
            source_root=source_root(),
            now_ms=now_ms(),
        )
    finally:
        if db is not None:
            db.close()
    if closed is not None:
        found.append(doctor.Check("store", "bad", closed))
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


@app.command()
def reindex(as_json: Json = False) -> None:
    """Make every search index anew from its rows, and ask again for every vector that is missing."""
    only_a_person("makes the indexes anew")
    with desk() as here:
        with transaction(here.db):
            indexes.rebuild(here.db)
        held = vectors.rebuild(here.db) if has_vec(here.db) else 0
        waiting = vectors.requeue_missing(here.db)
        if as_json:
            print_json({"vectors": held, "waiting": waiting})
        else:
            out.print(f"words and trigrams made anew; {held} vectors indexed, {waiting} wait for the worker")
