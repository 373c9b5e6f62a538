"""Commands about what a memory has to do with others, and with whom."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from recorder import gate
from recorder.cli.frame import Json, Project, app, desk, only_a_person, out, plain, print_json, print_table, when
from recorder.cli.memory import Key, Namespace, address, standing
from recorder.recall import fence, neighbours
from recorder.store import memories

DEEPEST = 5


@app.command()
def refs(namespace: Namespace, key: Key, project: Project = None, as_json: Json = False) -> None:
    """Show who wrote a memory, who read it and who was shown it."""
    only_a_person("sees who asked")
    with desk() as here:
        _, memory = standing(here, namespace, key, project)
        wrote = [
            {"at_ms": line["at_ms"], "how": line["action"], "who": f"{line['channel']}: {line['actor']}"}
            for line in memories.history(here.db, memory.id)
        ]
        read = memories.refs(here.db, memory.id)
        if as_json:
            print_json({"wrote": wrote, "read": read})
            return
        rows = [(when(one["at_ms"]), one["how"], one["who"], one.get("session_id") or "") for one in (*wrote, *read)]
        print_table(f"{memory.namespace}/{memory.key}", ("when", "how", "who", "session"), rows)


@app.command()
def link(
    namespace: Namespace,
    key: Key,
    relation: Annotated[str, typer.Argument(help=f"Such as explains, replaces, {gate.DERIVED}.")],
    to_namespace: Namespace,
    to_key: Key,
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Link one memory to another; one that is `derived_from` another is hidden when that one is rejected."""
    with desk() as here:
        scope = here.scope(project)
        ends = (address(scope, namespace), key), (address(scope, to_namespace), to_key)
        found = gate.link(here.db, *ends, relation, here.writer(scope))
        if as_json:
            print_json({"link": found})
        else:
            out.print(f"link {found}")


@app.command()
def unlink(
    link: Annotated[int, typer.Argument(metavar="LINK", help="The number `link` and `neighbors` show.")],
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Take a link between two memories away."""
    with desk() as here:
        gate.unlink(here.db, link, here.writer(here.scope(project)))
        if as_json:
            print_json({"unlinked": link})
        else:
            out.print(f"link {link} is gone")


@app.command()
def neighbors(
    namespace: Namespace,
    key: Key,
    depth: Annotated[int, typer.Option("--depth", min=1, max=DEEPEST, help="How many steps away.")] = 1,
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Show the memories linked with one, and the links."""
    with desk() as here:
        scope, memory = standing(here, namespace, key, project)
        links, found = neighbours.reach(here.db, scope, memory.id, depth, here.now_ms)
        if as_json:
            print_json({"links": [asdict(one) for one in links], "memories": [asdict(hit) for hit in found]})
            return
        for one in links:
            out.print(Text(f"link {one.id}: m{one.from_id} {plain(one.relation)} m{one.to_id}"))
        for hit in found:
            out.print(Text(fence.row(hit)))
        if not links:
            out.print("nothing is linked with it")
