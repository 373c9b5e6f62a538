"""Commands about what a path is bound to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from recorder import gate
from recorder.capture import project as resolver
from recorder.cli.frame import Json, app, desk, only_a_person, out, plain, print_json, print_table
from recorder.models import Scope
from recorder.store import projects

projects_app = typer.Typer(no_args_is_help=True, help="What a path is bound to, and how to mend it.")
app.add_typer(projects_app, name="projects")

Folder = Annotated[Path, typer.Argument(help="A folder.", metavar="DIR")]


@projects_app.command("list")
def show(as_json: Json = False) -> None:
    """List every project with its folders."""
    with desk() as here:
        found = projects.listing(here.db)
        if here.by_agent:
            own = here.scope(None).project_id
            found = [one for one in found if one["id"] == own]
        if as_json:
            print_json(found)
            return
        rows = [(p["id"], p["identity"], ", ".join(p["roots"]), "on" if p["brief"] else "off") for p in found]
        print_table("", ("project", "identity", "folders", "brief"), rows)


@projects_app.command()
def alias(place: Annotated[str, typer.Argument(help="A folder, or remote:host/path.")], project: str) -> None:
    """Bind a folder or a remote to the project, whatever it was before."""
    only_a_person("changes what a path is bound to")
    with desk() as here:
        bound = place if place.startswith(("remote:", "root:", "path:")) else os.path.realpath(place)
        projects.alias(here.db, bound, project, here.now_ms)
        out.print(f"{bound} belongs to {project}")


@projects_app.command()
def merge(project: str, into: str) -> None:
    """Make everything of one project the other's."""
    only_a_person("changes what a path is bound to")
    with desk() as here:
        gone = gate.merge(here.db, project, into, here.writer(Scope(into)))
        out.print(f"{project} is part of {into}")
        for memory in gone:
            out.print(Text(f"rejected, as it was in the other: {memory.namespace}/{plain(memory.key)}"))


@projects_app.command()
def split(folder: Folder) -> None:
    """Make a folder a project of its own; what was recorded in it goes along."""
    only_a_person("changes what a path is bound to")
    with desk() as here:
        root = os.path.realpath(folder)
        fresh = resolver.own(root)
        projects.split(here.db, root, fresh, here.now_ms)
        out.print(f"{root} is {fresh.id}")


@projects_app.command()
def forget(project: str) -> None:
    """Unbind every folder of the project; what was recorded stays."""
    only_a_person("changes what a path is bound to")
    with desk() as here:
        gone = projects.forget(here.db, project)
        out.print(f"{project} is {'gone' if gone else 'unbound; what was recorded stays'}")


@projects_app.command()
def brief(project: str, off: Annotated[bool, typer.Option("--off", help="Show no brief.")] = False) -> None:
    """Show the project's brief at the start of a session, or do not."""
    only_a_person("turns a brief on or off")
    with desk() as here:
        projects.set_brief(here.db, project, not off)
        out.print(f"the brief of {project} is {'off' if off else 'on'}")
