"""The review: what waits for a person, item by item."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

import typer
from rich.text import Text

from recorder import gate
from recorder.cli.frame import Desk, Json, Project, app, desk, now_ms, only_a_person, out, plain, print_json, when
from recorder.errors import Conflict, GateRefused, NotFound, RecorderError
from recorder.gate import queue
from recorder.gate.queue import Item, Side
from recorder.models import MemoryKind, Origin, Proposal, Scope
from recorder.recall import fence, reached
from recorder.store import memories
from recorder.store.db import Connection

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


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person wants done with one item, and what they looked at."""

    verb: str
    reason: str
    value: str = ""
    version: int | None = None
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a decision."""

    action: str
    reached: reached.Reached | None = None


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
    settle: Annotated[str | None, typer.Option("--settle", metavar="ID", help="Decide finding f3, with --as.")] = None,
    disposition: Annotated[
        str | None, typer.Option("--as", help="keep_old, keep_new, keep_both, remove_both, or manual with --value.")
    ] = None,
    value: Annotated[str, typer.Option("--value", help="What is right.")] = "",
    reason: Annotated[str, typer.Option("--reason", help="Why; kept in the history.")] = "",
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
        raise typer.BadParameter("one decision at a time; --settle goes with --as")
    with desk() as here:
        scope = here.scope(project)
        if wanted:
            verb, name = wanted[0]
            if not reason.strip():
                raise typer.BadParameter("--reason is needed: say why")
            decision = Decision(disposition or verb, reason, value, expected_version, expected_digest)
            _report(_decide(here, _found(here, scope, name, everywhere), decision), as_json)
            return
        items = queue.waiting(here.db, None if everywhere else scope, here.now_ms)
        if listed or as_json or not sys.stdin.isatty():
            _list(items, as_json)
            return
        _go_through(here, items)


def _found(here: Desk, scope: Scope, name: str, everywhere: bool) -> Item:
    """The item with this id, if it belongs here.

    Raises: NotFound.
    """
    found = queue.item(here.db, name)
    if found is None or not (everywhere or found.scope.project_id in (None, scope.project_id)):
        raise NotFound(f"there is nothing {name} here: `recorder review --list` shows what waits")
    return replace(found, scope=found.scope if everywhere or found.scope.project_id else scope)


def _decide(here: Desk, item: Item, decision: Decision) -> Done:
    """Let the gate do it, and ask recall whether it got there.

    Raises: Conflict when something else stands there than what was looked at.
    """
    looked_at = [side.digest for side in (item.old, item.new) if side is not None]
    if decision.digest and decision.digest not in looked_at:
        raise Conflict(f"{item.id} says something else by now: read it again")
    lone = _is_undecided(here.db, item)
    scope = Scope(None, undecided=True) if lone else item.scope
    writer = replace(here.writer(scope), now_ms=now_ms())
    decide = _settled if item.id.startswith("f") else _of_memory
    done = decide(here.db, item, decision, writer)
    return replace(done, reached=None) if lone else done


def _is_undecided(db: Connection, item: Item) -> bool:
    """Whether it is about a file of Claude's whose project nobody knows: recall says nothing of it to anybody."""
    namespace, _, key = item.old.address.partition("/") if item.old is not None else ("", "", "")
    memory = memories.find(db, namespace, key) if namespace.startswith("claude.") else None
    return memory is not None and memory.project_id is None


def _settled(db: Connection, item: Item, decision: Decision, writer: gate.Writer) -> Done:
    seen = [side.value for side in (item.old, item.new) if side is not None and side.version is not None]
    settled = gate.settle(
        db, int(item.id[1:]), decision.verb, writer, decision.reason, decision.value or None, seen=seen
    )
    told = reached.check(db, item.scope, settled.kept, settled.gone, writer.now_ms)
    return Done(f"{decision.verb}: {settled.outcome.action}{_lifted_by_it(db, item, settled)}", told)


def _lifted_by_it(db: Connection, item: Item, settled: gate.Settled) -> str:
    """That a rejection was lifted by what was decided, in words; nothing where none was."""
    was = item.new.rejected_ms if item.new is not None else None
    if was is None or item.new is None or not settled.kept:
        return ""
    lifted = queue.rejected_ms(db, settled.kept[0], item.new.value) is None
    return f", and the rejection of {when(was)} is lifted" if lifted else ""


def _of_memory(db: Connection, item: Item, decision: Decision, writer: gate.Writer) -> Done:
    assert item.old is not None
    side = item.old
    namespace, _, key = side.address.partition("/")
    version = side.version if decision.version is None else decision.version
    why = decision.reason
    verbs: Mapping[str, Callable[[], gate.Outcome]] = {
        "approve": lambda: gate.approve(
            db, namespace, key, writer, reason=why, expected_version=version, expected_value=side.value
        ),
        "reject": lambda: gate.reject(db, namespace, key, writer, reason=why, expected_version=version),
        "delete": lambda: gate.delete(db, namespace, key, writer, reason=why, expected_version=version),
        "lift": lambda: gate.lift(db, namespace, key, writer, reason=why),
        "edit": lambda: _edited(db, namespace, key, decision, writer, version),
    }
    if decision.verb not in verbs:
        raise GateRefused("verb", f"'{decision.verb}' is for findings such as f3; {item.id} is a memory")
    outcome = verbs[decision.verb]()
    if outcome.action == "refused":
        raise RecorderError(outcome.reason)
    kept = [outcome.memory] if outcome.memory and decision.verb in ("approve", "edit", "lift") else []
    gone = [] if decision.verb in ("approve", "lift") or decision.value == side.value else [side.value]
    return Done(outcome.action, reached.check(db, item.scope, kept, gone, writer.now_ms))


def _edited(
    db: Connection, namespace: str, key: str, decision: Decision, writer: gate.Writer, version: int | None
) -> gate.Outcome:
    there = memories.find(db, namespace, key)
    if not decision.value.strip():
        raise GateRefused("value", "an edit needs the value that is right: give --value")
    proposal = Proposal(
        namespace=namespace,
        key=key,
        value=decision.value,
        kind=there.kind if there else MemoryKind.SEMANTIC,
        origin=Origin.USER_SAID,
        source=writer.actor,
        tags=there.tags if there else (),
        importance=there.importance if there else 0.5,
        explicit=True,
    )
    return gate.tell(db, proposal, writer, expected_version=version)


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
    if item.kind == "delete_proposal":
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
        raise RecorderError("recall does not say what was decided: `recorder reindex`, then look again")


def _list(items: list[Item], as_json: bool) -> None:
    if as_json:
        print_json([_shape(item) for item in items])
        return
    for item in items:
        _show(item)
    behind = sum(item.more for item in items)
    more = f", and {behind} more about the same memories" if behind else ""
    out.print("nothing waits" if not items else f"{len(items)} wait{more}")


def _shape(item: Item) -> dict[str, Any]:
    return asdict(item) | {"scope": item.scope.project_id}


def _show(item: Item) -> None:
    out.print(Text(f"{item.id}  {item.kind}  {when(item.at_ms)}", "bold"))
    if item.reason:
        out.print(Text(f"  {fence.line(item.reason)}", "dim"))
    if item.more:
        out.print(Text(f"  the newest of them; and {item.more} more were proposed before", "dim"))
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
