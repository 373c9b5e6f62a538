"""Commands by which a person says that something is false, or private."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import typer
from rich.text import Text

from recorder import forget as forgetting
from recorder import gate
from recorder.cli.frame import Desk, Json, Project, Reason, app, desk, only_a_person, out, plain, print_json
from recorder.cli.memory import Key, Namespace, address, change
from recorder.errors import NotFound
from worker import brief


@app.command()
def reject(
    namespace: Namespace,
    key: Key,
    reason: Annotated[str, typer.Option("--reason", help="Why it is false; kept in the history.")],
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Say that a memory is false: its value is refused from now on in every form, until it is lifted."""
    only_a_person("rejects")
    change(partial(gate.reject, reason=reason), namespace, key, project, as_json)


@app.command()
def lift(namespace: Namespace, key: Key, reason: Reason = None, project: Project = None, as_json: Json = False) -> None:
    """Let what was rejected here come again: a rejected memory is a candidate."""
    only_a_person("lifts a rejection")
    change(partial(gate.lift, reason=reason), namespace, key, project, as_json)


@app.command()
def forget(
    namespace: Annotated[str, typer.Argument(metavar="[NAMESPACE]", help="As elsewhere.")] = "",
    key: Annotated[str, typer.Argument(metavar="[KEY]", help="The memory's key.")] = "",
    event: Annotated[
        list[str] | None, typer.Option("--event", help="An event such as e12 in place of a memory; may be given again.")
    ] = None,
    reason: Reason = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without, only what would go is shown.")] = False,
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Erase a memory and the events it stands on, or events, everywhere in what is ours; nothing brings them back."""
    only_a_person("forgets")
    numbers = [_number(one) for one in event or ()]
    if bool(numbers) == bool(namespace) or bool(namespace) != bool(key):
        raise typer.BadParameter("give NAMESPACE and KEY of a memory, or --event e12")
    with desk() as here:
        scope = here.address_scope(project)
        writer = here.writer(scope)
        where = address(scope, namespace) if namespace else ""
        try:
            planned = gate.plan_events(here.db, numbers, writer) if numbers else gate.plan(here.db, where, key, writer)
        except NotFound:
            subject = ",".join(f"e{number}" for number in numbers) or f"{where}/{key}"
            _tell(gate.before(here.db, subject, writer), forgetting.Cleared(), as_json)
            return
        if not yes and not _agreed(here, planned, as_json):
            raise typer.Exit(2)
        done, cleared = forgetting.everywhere(here.db, here.config, planned, writer, reason=reason)
        brief.write_all(here.db, here.config, here.now_ms)
        _tell(done, cleared, as_json, planned)


def _number(named: str) -> int:
    found = re.fullmatch(r"e?([0-9]{1,18})", named)
    if found is None:
        raise typer.BadParameter(f"--event {named}: give an event's id, such as e12")
    return int(found[1])


def _agreed(here: Desk, planned: gate.Plan, as_json: bool) -> bool:
    """Whether the person at the terminal says yes to what is shown; nobody is asked where nobody can answer."""
    found = forgetting.preview(here.db, here.config, planned)
    if as_json:
        print_json(found)
        return False
    _show(found["reached"])
    _show_named(found)
    _show_left(found["unreached"])
    if not sys.stdin.isatty():
        out.print("nothing was done: say --yes")
        return False
    return typer.confirm("Erase this? Nothing brings it back", default=False)


def _show_named(found: Mapping[str, Any]) -> None:
    """The memories that go with it, and those that are hidden."""
    for name in found["also"]:
        out.print(Text(f"  also {plain(name)}"))
    for name in found["suppressed"]:
        out.print(Text(f"  hidden {plain(name)}"))


def _tell(done: gate.Forgotten, cleared: forgetting.Cleared, as_json: bool, planned: gate.Plan | None = None) -> None:
    with_it = forgetting.named(planned) if planned is not None else {"also": [], "suppressed": []}
    if as_json:
        print_json(
            {
                "action": "forgotten",
                "state": done.state,
                "reached": done.reached,
                **with_it,
                "removed": cleared.removed,
                "overwritten": cleared.overwritten,
                "unreached": done.unreached,
            }
        )
        return
    _show(done.reached)
    _show_named(with_it)
    for path in (*cleared.removed, *cleared.overwritten):
        out.print(Text(f"  file {plain(path)}"))
    _show_left(done.unreached)
    if done.state == "pending":
        out.print(
            "pending: hidden from everybody, but another program has the database open for reading, so that some bytes"
            " are still in its log. The worker tries again every minute; `recorder status` shows what is pending"
        )
    else:
        out.print("forgotten: beyond what is named above no byte of it is left in the database")


def _show(reached: Mapping[str, int]) -> None:
    for line in forgetting.counted(reached):
        out.print(Text(f"  {line}"))


def _show_left(left: list[str] | tuple[str, ...]) -> None:
    if left:
        out.print("not reached:")
    for name in left:
        out.print(Text(f"  {plain(name)}"))
