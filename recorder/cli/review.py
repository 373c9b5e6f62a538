"""The review: what waits for a person, item by item."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Annotated, Any

import typer
from rich.text import Text

from recorder import gate
from recorder.cli.frame import Desk, Json, Project, app, desk, now_ms, only_a_person, out, plain, print_json, when
from recorder.errors import Conflict, GateRefused, NotFound, RecorderError
from recorder.gate import queue
from recorder.gate.queue import Item, Side
from recorder.recall import fence
from recorder.review import Decision, Done, decide, found

OF_MEMORIES = {"a": "approve", "r": "reject", "e": "edit", "d": "delete"}
OF_PAIRS = {"1": "keep_old", "2": "keep_new", "b": "keep_both", "x": "remove_both", "e": "manual"}
OF_WISHES = {"1": "keep_old", "2": "keep_new"}
OF_REFUSALS = {"l": "lift"}
ALWAYS = {"s": "skip", "q": "quit"}
SAID = {
    "keep_old": "keep old",
    "keep_new": "keep new",
    "keep_both": "keep both",
    "remove_both": "remove both",
    "manual": "say it yourself",
}


@app.command()
def review(
    listed: Annotated[bool, typer.Option("--list", help="List what waits and ask nothing.")] = False,
    approve: Annotated[
        str | None, typer.Option("--approve", metavar="ID", help="Say that memory m12 is right.")
    ] = None,
    reject: Annotated[str | None, typer.Option("--reject", metavar="ID", help="Say that memory m12 is false.")] = None,
    edit: Annotated[str | None, typer.Option("--edit", metavar="ID", help="Put --value in its place.")] = None,
    delete: Annotated[str | None, typer.Option("--delete", metavar="ID", help="Hide memory m12.")] = None,
    lift: Annotated[str | None, typer.Option("--lift", metavar="ID", help="Lift the rejection of memory m12.")] = None,
    settle: Annotated[
        str | None, typer.Option("--settle", metavar="ID", help="Decide finding f3, with --as and --reason.")
    ] = None,
    disposition: Annotated[
        str | None, typer.Option("--as", help="keep_old, keep_new, keep_both, remove_both, or manual with --value.")
    ] = None,
    value: Annotated[str, typer.Option("--value", help="What is right.")] = "",
    reason: Annotated[str, typer.Option("--reason", help="Why: needed for each of these, kept in the history.")] = "",
    expected_version: Annotated[
        int | None, typer.Option("--expected-version", help="Do it only if this version still stands.")
    ] = None,
    expected_digest: Annotated[
        str, typer.Option("--expected-digest", help="Do it only if it still says what has this digest.")
    ] = "",
    everywhere: Annotated[bool, typer.Option("--all", help="Of every project.")] = False,
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Go through what waits for a person, item by item with its evidence: candidates, conflicts, duplicates, wishes to
    delete; and what was refused lately. At a terminal it asks; else it lists, or does the one thing that is named."""
    only_a_person("reviews")
    asked = {"approve": approve, "reject": reject, "edit": edit, "delete": delete, "lift": lift, "settle": settle}
    wanted = [(verb, name) for verb, name in asked.items() if name is not None]
    if len(wanted) > 1 or (settle is None) != (disposition is None):
        raise typer.BadParameter("one decision at a time; --settle goes with --as and --reason")
    with desk() as here:
        scope = here.address_scope(project)
        if wanted:
            verb, name = wanted[0]
            if not reason.strip():
                raise typer.BadParameter("--reason is needed: say why")
            if verb == "edit" and not value.strip():
                raise GateRefused("value", "an edit needs the value that is right: give it with --value")
            decision = Decision(disposition or verb, reason, value, expected_version, expected_digest)
            _report(_decide(here, found(here.db, name, scope, everywhere=everywhere), decision), as_json)
            return
        items = queue.waiting(here.db, None if everywhere else scope, here.now_ms)
        if listed or as_json or not sys.stdin.isatty():
            _list(items, as_json)
            return
        _go_through(here, items)


def _decide(here: Desk, item: Item, decision: Decision) -> Done:
    return decide(here.db, item, decision, replace(here.writer(item.scope), now_ms=now_ms()))


def _go_through(here: Desk, items: Iterable[Item]) -> None:
    """Ask about one item after the other until there is none, or until it is enough."""
    items = list(items)
    done = 0
    for number, known in enumerate(items, 1):
        item = known if known.kind in ("refusal", "forget") else queue.item(here.db, known.id)
        if item is None or item.kind not in (known.kind, "candidate", "disputed"):
            continue  # something decided before saw to it
        item = replace(item, scope=known.scope)
        out.print()
        out.print(Text(f"{number} of {len(items)}", "dim"))
        _show(item)
        answer = _ask_about(here, item)
        if answer is None:
            break
        done += answer
    else:
        out.print("nothing more waits" if items else "nothing waits")
    out.print(f"{done} decided")


def _ask_about(here: Desk, item: Item) -> int | None:
    """1 when something was decided, 0 when it was left, None when that is enough."""
    while True:
        keys = _keys(item) | ALWAYS
        chosen = _line("  ".join(f"[{key}] {SAID.get(verb, verb)}" for key, verb in keys.items()) + " > ")
        verb = keys.get((chosen or "q").strip().lower()[:1])
        if verb == "quit":
            return None
        if verb == "skip":
            return 0
        if verb is None:
            continue
        value = _line("what is right: ") if verb in ("edit", "manual") else ""
        where = _line("of which memory (NAMESPACE KEY): ") if verb == "lift" else ""
        reason = _line("why: ") if value is not None and where is not None else None
        if reason is None:
            return None
        if not reason.strip():
            out.print("a reason is needed; [s] leaves it as it is")
            continue
        try:
            done = _lifted(here, item, where or "", reason) if verb == "lift" else None
            _report(done or _decide(here, item, Decision(verb, reason, value or "")), as_json=False)
            return 1
        except (Conflict, NotFound) as changed:
            out.print(Text(plain(str(changed)), "yellow"))
            again = queue.item(here.db, item.id)
            if again is None:
                return 0
            item = replace(again, scope=item.scope)
            _show(item)
        except RecorderError as refused:
            out.print(Text(plain(str(refused)), "red"))


def _lifted(here: Desk, item: Item, where: str, reason: str) -> Done:
    """Of a refusal only the reason is known: which rejection it was about a person has to say."""
    namespace, _, key = where.strip().partition(" ")
    scope = here.scope(None) if item.scope.project_id is None else item.scope
    if namespace == "project" and scope.project_id is not None:
        namespace = f"project.{scope.project_id}"
    writer = replace(here.writer(scope), now_ms=now_ms())
    outcome = gate.lift(here.db, namespace, key.strip(), writer, reason=reason)
    return Done(outcome.action)


def _keys(item: Item) -> dict[str, str]:
    if item.kind in ("refusal", "forget"):
        return OF_REFUSALS if item.kind == "refusal" else {}
    if item.kind in queue.WISHES:
        return OF_WISHES
    return OF_PAIRS if item.id.startswith("f") else OF_MEMORIES


def _line(asked: str) -> str | None:
    """What is typed; None at the end of input."""
    try:
        return input(asked)
    except EOFError:
        return None


def _report(done: Done, as_json: bool) -> None:
    """Say what was done and what recall makes of it.

    Raises: RecorderError when recall or the brief says otherwise.
    """
    told = done.reached
    if as_json:
        print_json({"action": done.action, "recall": asdict(told) if told else None})
    else:
        out.print(Text(done.action, "green"))
        if told is not None:
            said = [f"“{fence.cut(fence.line(value), 200)}”" for value in told.said]
            out.print(Text(f"recall now says: {'; '.join(said) or 'nothing'}"))
    if told is not None and not told.holds:
        raise RecorderError(told.remedy)


def _list(items: list[Item], as_json: bool) -> None:
    if as_json:
        print_json([_shape(item) for item in items])
        return
    for item in items:
        _show(item)
    behind = sum(item.more for item in items)
    more = f", and {behind} more about the same memories" if behind else ""
    out.print(f"{len(items)} {'waits' if len(items) == 1 else 'wait'}{more}" if items else "nothing waits")


def _shape(item: Item) -> dict[str, Any]:
    return asdict(item) | {"scope": item.scope.project_id}


def _show(item: Item) -> None:
    out.print(Text(f"{item.id}  {item.kind}  {when(item.at_ms)}", "bold"))
    if item.reason:
        out.print(Text(f"  {fence.line(item.reason)}", "dim"))
    if item.by:
        out.print(Text(f"  wished by {fence.line(item.by)}", "dim"))
    if item.more:
        out.print(
            Text(
                f"  the newest of them; and {item.more} more {'was' if item.more == 1 else 'were'} proposed before",
                "dim",
            )
        )
    both = item.old is not None and item.new is not None
    for label, side in (("old: " if both else "", item.old), ("new: ", item.new)):
        if side is not None:
            _show_side(label, side)


def _show_side(label: str, side: Side) -> None:
    standing = f"  {side.trust}, version {side.version}" if side.version is not None else "  proposed"
    hidden = f", {side.state}" if side.state not in (None, "active") else ""
    out.print(Text(f"{label}{fence.line(side.address)}{standing}{hidden}  {fence.line(side.source)}", "cyan"))
    if side.rejected_ms is not None:
        out.print(Text(f"  you rejected this on {when(side.rejected_ms)}: taking it over lifts that", "yellow"))
    # Whatever a value says, no line of it can look like one of ours.
    for row in plain(side.value).split("\n"):
        out.print(Text(f"  | {row}"))
    for cited in side.evidence:
        at = f"  {when(cited['at_ms'])} {cited['kind']}" if "at_ms" in cited else ""
        out.print(Text(f"  “{fence.cut(fence.line(str(cited['quote'])), 300)}”{at}", "dim"))
