"""Commands about memories: read, write, correct."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from recorder import dates, gate
from recorder.cli.frame import (
    Desk,
    Json,
    Project,
    Reason,
    app,
    desk,
    now_ms,
    only_a_person,
    out,
    plain,
    print_json,
    print_table,
    when,
)
from recorder.cli.recall import Then, address_by_id, show_reason, show_whole
from recorder.counted import many
from recorder.errors import Conflict, NotFound
from recorder.gate import queue
from recorder.models import (
    Channel,
    Memory,
    MemoryKind,
    Origin,
    Precision,
    Proposal,
    Scope,
    State,
    StoredEvent,
    Trust,
)
from recorder.recall import fence, reading, told
from recorder.recall import scope as scopes
from recorder.store import audit, findings, memories, policy, validity

Namespace = Annotated[str, typer.Argument(help="user, user.<name>, project.<id>, or `project` for this one.")]
Key = Annotated[str, typer.Argument(help="What it is about, such as command.test.")]
Named = Annotated[
    list[str], typer.Argument(metavar="NAMESPACE KEY | ID...", help="An address, or ids as `search` shows them.")
]
Expected = Annotated[
    int | None, typer.Option("--expected-version", help="Do it only if this version still stands; 0: nothing does.")
]


def moment(option: str, text: str | None) -> int | None:
    """The instant an option names."""
    try:
        return None if text is None else dates.instant(text)
    except ValueError as error:
        raise typer.BadParameter(f"{option}: {error}") from None


def _date(option: str, text: str | None) -> tuple[int | None, Precision | None]:
    try:
        return dates.parse(text or "")
    except ValueError as error:
        raise typer.BadParameter(f"{option}: {error}") from None


def _expiry(text: str | None, now_ms: int) -> int | None:
    try:
        return None if text is None else dates.expiry(text, now_ms)
    except ValueError as error:
        raise typer.BadParameter(f"--expires: {error}") from None


@app.command()
def remember(
    namespace: Namespace,
    key: Key,
    value: Annotated[str, typer.Argument(help="A sentence that says it all.")],
    kind: Annotated[
        MemoryKind | None, typer.Option("--kind", help="As it was when left out; a new memory is semantic.")
    ] = None,
    tags: Annotated[str | None, typer.Option("--tags", help="Comma-separated; as they were when left out.")] = None,
    valid_from: Annotated[
        str | None, typer.Option("--valid-from", help="2026, 2026-06, 2026-06-03, an instant, or unknown; UTC.")
    ] = None,
    valid_to: Annotated[
        str | None, typer.Option("--valid-to", help="Until when, that moment left out; unknown: it ended some time.")
    ] = None,
    expires: Annotated[str | None, typer.Option("--expires", help="Not recalled after 12h, 30d, 8w; or never.")] = None,
    expected_version: Expected = None,
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Write a memory: as a person, or as the agent where Claude Code runs the command."""
    from_ms, from_precision = _date("--valid-from", valid_from)
    to_ms, to_precision = _date("--valid-to", valid_to)
    with desk() as here:
        scope = here.address_scope(project, register=True)
        person = here.channel is Channel.PERSON
        where = address(scope, namespace)
        there = memories.find(here.db, where, key)
        if there is not None and not memories.visible(here.db, there, scope):
            there = None
        if there is not None and there.project_id is None and scopes.within(where, "claude"):
            scope = replace(scope, project_id=None)  # what is said of it is no more of this project than it is
        outcome = gate.tell(
            here.db,
            Proposal(
                namespace=where,
                key=key,
                value=value,
                kind=kind or (there.kind if there else MemoryKind.SEMANTIC),
                origin=Origin.USER_SAID if person else Origin.ASSISTANT_SAID,
                source=here.actor,
                tags=_tags(tags) if tags is not None else there.tags if there else (),
                importance=there.importance if there else 0.7 if person else 0.5,
                valid_from_ms=from_ms,
                valid_to_ms=to_ms,
                valid_from_precision=from_precision,
                valid_to_precision=to_precision,
                expires_ms=_expiry(expires, here.now_ms) if expires else gate.expiry_left(there, here.now_ms),
                explicit=True,
                opened=_opened(valid_from=valid_from, valid_to=valid_to, expires=expires),
            ),
            here.writer(scope),
            session_id=here.environ.get("CLAUDE_CODE_SESSION_ID"),
            expected_version=expected_version,
        )
        _tell(here, scope, outcome, as_json)


def _opened(**given: str | None) -> tuple[str, ...]:
    """The dates that are said to be open."""
    return tuple(name for name, text in given.items() if (text or "").strip().lower() in (dates.OPENLY, dates.NEVER))


def _tags(text: str) -> tuple[str, ...]:
    return tuple(tag.strip() for tag in text.split(",") if tag.strip())


def address(scope: Scope, namespace: str) -> str:
    """`project` stands for this project's namespace."""
    if namespace == "project" or namespace.startswith("project."):
        if scope.project_id is None:
            raise NotFound("this folder belongs to no project: name one with --project")
        rest = namespace.removeprefix("project").removeprefix(f".{scope.project_id}")
        if rest == "" or namespace == "project":
            return f"project.{scope.project_id}"
    return namespace


def _tell(here: Desk, scope: Scope, outcome: gate.Outcome, as_json: bool) -> None:
    memory = outcome.memory
    if memory is not None and not memories.visible(here.db, memory, scope):
        memory = None  # under the person's namespace something may stand that another project proposed
    if as_json:
        stands = asdict(told.memory(here.db, memory, scope)) if memory else None
        print_json({"action": outcome.action, "reason": outcome.reason, "memory": stands})
    else:
        where = f" {memory.namespace}/{memory.key} ({memory.trust}, version {memory.version})" if memory else ""
        out.print(Text(f"{outcome.action}{where}{': ' + plain(outcome.reason) if outcome.reason else ''}"))
    if outcome.action == "refused":
        raise typer.Exit(1)


def standing(
    here: Desk, namespace: str, key: str, project: Path | None, as_of_ms: int | None = None
) -> tuple[Scope, Memory]:
    """The memory at the address, if it is to be seen from here; as it was believed at a time.

    Raises: NotFound.
    """
    scope = here.address_scope(project)
    where = address(scope, namespace)
    memory = memories.find(here.db, where, key, now_ms=here.now_ms)
    if (
        memory is None
        or not memories.visible(here.db, memory, scope)
        or not policy.shows("address", memory.trust, memory.state)
    ):
        raise NotFound(f"there is no memory {where}/{key} here")
    if as_of_ms is not None:
        memory = memories.believed(here.db, memory.id, as_of_ms=as_of_ms)
        if memory is None:
            raise NotFound(f"there was no memory {where}/{key} here then")
    return scope, told.memory(here.db, memory, scope)


@app.command()
def get(named: Named, as_of: Then = None, project: Project = None, as_json: Json = False) -> None:
    """Show one memory, or what the ids in a search name, whole."""
    if reading.is_id(named[0]):
        if as_of is not None:
            raise typer.BadParameter("--as-of: for a memory by NAMESPACE and KEY")
        show_whole(named, project, as_json)
        return
    namespace, key = _address_of(named)
    with desk() as here:
        _, memory = standing(here, namespace, key, project, moment("--as-of", as_of))
        memories.note_read(here.db, [memory.id], here.actor, None, here.now_ms)
        if as_json:
            print_json(asdict(memory))
            return
        state = memory.trust.value if memory.state is State.ACTIVE else f"{memory.state} ({memory.trust})"
        out.print(Text(f"{memory.namespace}/{memory.key}", "bold"))
        out.print(Text(plain(memory.value)))
        out.print(Text(_interval(memory), "dim"))
        for one in validity.coming(here.db, memory.id, here.now_ms) if as_of is None else ():
            out.print(Text(f"from {dates.shown(*one.begins)}: {plain(one.value)}", "dim"))
        out.print(
            Text(
                f"{memory.kind} · {state} · version {memory.version} · {when(memory.recorded_ms)} · {memory.source}"
                f" · seen in {many(memory.sessions, 'session')}",
                "dim",
            )
        )


def _address_of(named: list[str]) -> tuple[str, str]:
    if len(named) != 2:
        raise typer.BadParameter("give NAMESPACE and KEY, or an id such as m12 or e34")
    return named[0], named[1]


def _interval(memory: Memory) -> str:
    """Since when and until when it holds, as exactly as that is known."""
    begun = dates.shown(memory.valid_from_ms, memory.valid_from_precision)
    ended = dates.shown(memory.valid_to_ms, memory.valid_to_precision)
    expires = f" · expires {when(memory.expires_ms)}" if memory.expires_ms is not None else ""
    return f"holds from {begun or 'the beginning'} until {ended or 'now'}{expires}"


@app.command("list")
def list_memories(
    project: Project = None,
    trust: Annotated[Trust | None, typer.Option("--trust")] = None,
    kind: Annotated[MemoryKind | None, typer.Option("--kind")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="The deleted ones.")] = False,
    undecided: Annotated[
        bool, typer.Option("--undecided", help="Those of Claude's own files of which nobody knows the project.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", min=1)] = 50,
    as_json: Json = False,
) -> None:
    """List the memories of this project and of the person."""
    if undecided:
        only_a_person("sees what belongs to no project")
    with desk() as here:
        scope = here.scope(project)
        found = memories.listing(
            *(here.db, scope), trust=trust, kind=kind, deleted=deleted, undecided=undecided, limit=limit
        )
        if as_json:
            print_json([asdict(memory) for memory in told.memories(here.db, found, scope)])
            return
        rows = [(m.namespace, m.key, fence.cut(fence.line(m.value), 100), m.trust, when(m.recorded_ms)) for m in found]
        print_table("", ("namespace", "key", "value", "trust", "recorded"), rows)


@app.command()
def history(
    namespace: Namespace,
    key: Key,
    diff: Annotated[bool, typer.Option("--diff", help="What each revision took out and put in.")] = False,
    as_of: Then = None,
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Show every revision of a memory: what, who, why, when."""
    until_ms = moment("--as-of", as_of)
    with desk() as here:
        scope, memory = standing(here, namespace, key, project)
        revisions = told.lines(here.db, memories.history(here.db, memory.id), scope)
        lines = [one for one in revisions if until_ms is None or one["at_ms"] <= until_ms]
        if diff:
            before = [None, *(line["value"] for line in lines)]
            lines = [line | {"diff": _difference(old, line["value"])} for old, line in zip(before, lines, strict=False)]
        if as_json:
            print_json(lines)
            return
        if diff:
            for line in lines:
                out.print(Text(f"{when(line['at_ms'])}  {line['action']}  {plain(line['actor'])}", "bold"))
                said = [f"# {line[name]}" for name in ("labels", "reason") if line.get(name)]
                for part in (*line["diff"], *said):
                    out.print(Text(plain(part), {"-": "red", "+": "green"}.get(part[0], "dim")))
            return
        rows = [
            (
                when(line["at_ms"]),
                line["action"],
                line["actor"],
                line["version"] or "",
                line["trust"] or "",
                line["value"] or "",
                _held(line),
                line["reason"] or line.get("labels") or "",
            )
            for line in lines
        ]
        columns = ("when", "what", "who", "version", "trust", "value", "holds", "why")
        print_table(f"{memory.namespace}/{memory.key}", columns, rows)


def _held(line: Mapping[str, Any]) -> str:
    """When what a line of the history says holds; empty where that is always."""
    exact = [line[name] and Precision(line[name]) for name in ("valid_from_precision", "valid_to_precision")]
    begun, ended = dates.shown(line["valid_from_ms"], exact[0]), dates.shown(line["valid_to_ms"], exact[1])
    return " ".join(part for part in (f"from {begun}" if begun else "", f"until {ended}" if ended else "") if part)


def _difference(old: str | None, new: str | None) -> list[str]:
    """Lines taken out (`-`) and put in (`+`); none where nothing changed."""
    found = difflib.unified_diff((old or "").splitlines(), (new or "").splitlines(), lineterm="", n=0)
    return [line for line in found if not line.startswith(("---", "+++", "@@"))]


@app.command()
def why(named: Named, as_of: Then = None, project: Project = None, as_json: Json = False) -> None:
    """Show what a memory stands on: the quotes, and the events they come from. Of an event's id: who saw it, and the
    memories that stand on it."""
    if len(named) == 1 and reading.number(named[0], "e") is not None:
        show_reason(named[0], project, as_json)
        return
    by_id = len(named) == 1 and reading.is_id(named[0])
    with desk() as here:
        namespace, key = address_by_id(here, named[0], project) if by_id else _address_of(named)
        scope, memory = standing(here, namespace, key, project, moment("--as-of", as_of))
        found = memories.evidence(here.db, memory.version_id)
        chain = [_cited(event, quote, scope) for event, quote in found]
        if as_json:
            print_json({"memory": asdict(memory), "evidence": chain})
            return
        out.print(Text(f"{memory.namespace}/{memory.key}", "bold"))
        out.print(Text(f"{plain(memory.value)}\n{memory.origin} · {memory.source}"))
        for cited in chain:
            source = f"e{cited['event_id']}" if cited["event_id"] else "from elsewhere"
            out.print(Text(f"{when(cited['at_ms'])}  {cited['kind']}  {source}", "dim"))
            out.print(Text(f"  “{plain(str(cited['quote']))}”"))


def _cited(event: StoredEvent, quote: str, scope: Scope) -> dict[str, Any]:
    """A quote and the event it comes from; one outside the scope lends quote, kind and date alone."""
    here = event.project_id in (None, scope.project_id)
    return {
        "event_id": event.id if here else None,
        "quote": quote,
        "kind": event.kind.value,
        "class": event.klass.value if event.klass else None,
        "at_ms": event.at_ms,
        "session_id": event.session_id if here else None,
        "uuid": event.uuid if here else None,
        "tool_use_id": event.tool_use_id if here else None,
    }


def change(verb: Callable[..., gate.Outcome], namespace: str, key: str, project: Path | None, as_json: bool) -> None:
    """Let the gate do one thing to one memory, and tell what came of it."""
    with desk() as here:
        scope = here.address_scope(project)
        where = address(scope, namespace)
        _tell(here, scope, verb(here.db, where, key, here.writer(scope)), as_json)


@app.command()
def label(
    namespace: Namespace,
    key: Key,
    kind: Annotated[MemoryKind | None, typer.Option("--kind")] = None,
    tags: Annotated[str | None, typer.Option("--tags", help="Comma-separated; '' for none.")] = None,
    importance: Annotated[float | None, typer.Option("--importance", min=0, max=1)] = None,
    valid_from: Annotated[
        str | None, typer.Option("--valid-from", help="2026, 2026-06, 2026-06-03, an instant, unknown, or open; UTC.")
    ] = None,
    valid_to: Annotated[
        str | None, typer.Option("--valid-to", help="Until when; unknown: it ended some time; open: it still holds.")
    ] = None,
    expires: Annotated[str | None, typer.Option("--expires", help="12h, 30d, 8w, or never.")] = None,
    reason: Reason = None,
    expected_version: Expected = None,
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Change the kind, tags, importance or dates of a memory whose words stay; what is left out stays as it is."""
    labels = gate.Labels(
        kind=kind,
        tags=None if tags is None else _tags(tags),
        importance=importance,
        valid_from=None if valid_from is None else _date("--valid-from", valid_from),
        valid_to=None if valid_to is None else _date("--valid-to", valid_to),
        expires=None if expires is None else (_expiry(expires, now_ms()), None),
    )
    if not labels.any:
        raise typer.BadParameter("say what is to be different: --kind, --tags, --importance, --valid-to, …")
    verb = partial(gate.label, labels=labels, reason=reason, expected_version=expected_version)
    change(verb, namespace, key, project, as_json)


@app.command()
def delete(
    namespace: Namespace,
    key: Key,
    reason: Reason = None,
    expected_version: Expected = None,
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Hide a memory; `restore` brings it back, nothing automatic does."""
    change(partial(gate.delete, reason=reason, expected_version=expected_version), namespace, key, project, as_json)


@app.command()
def restore(
    namespace: Namespace, key: Key, reason: Reason = None, project: Project = None, as_json: Json = False
) -> None:
    """Show a deleted memory again."""
    change(partial(gate.restore, reason=reason), namespace, key, project, as_json)


@app.command()
def approve(
    namespace: Namespace,
    key: Key,
    reason: Reason = None,
    expected_version: Expected = None,
    expected_digest: Annotated[
        str | None, typer.Option("--expected-digest", help="Do it only if these words still stand; `review` shows it.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking, whatever stands there now.")] = False,
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Say that a candidate is right: it is verified from now on. Shows what it says, and asks."""
    only_a_person("approves")
    with desk() as here:
        scope, memory = standing(here, namespace, key, project)
        if expected_digest is not None and expected_digest != queue.digest(memory.value):
            raise Conflict(f"{memory.namespace}/{memory.key} says something else by now: read it again")
        if expected_version is None and expected_digest is None and not yes and not _says_yes(memory, as_json):
            raise typer.Exit(1)
        outcome = gate.approve(
            here.db,
            memory.namespace,
            memory.key,
            here.writer(scope),
            reason=reason,
            expected_version=memory.version if expected_version is None else expected_version,
            expected_value=memory.value,
        )
        _tell(here, scope, outcome, as_json)
        if not as_json and outcome.memory is not None:
            out.print(Text(plain(outcome.memory.value)))


def _says_yes(memory: Memory, as_json: bool) -> bool:
    """Whether a person who sees what it says approves of it.

    Raises: typer.BadParameter where nobody can be asked.
    """
    if as_json or not sys.stdin.isatty():
        raise typer.BadParameter("nobody can be asked here: give --expected-version, --expected-digest or --yes")
    out.print(Text(f"{memory.namespace}/{plain(memory.key)} (version {memory.version}, {memory.source})", "bold"))
    out.print(Text(plain(memory.value)))
    return typer.confirm("Is this right?", default=False)


@app.command()
def revert(
    namespace: Namespace,
    key: Key,
    version: Annotated[int, typer.Argument(help="As `history` counts them.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; kept in the history.")],
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Put the words of an earlier version in force again, as a new one; what stood since stays out."""
    only_a_person("reverts")
    change(partial(gate.revert, version=version, reason=reason), namespace, key, project, as_json)


@app.command()
def pin(
    namespace: Namespace,
    key: Key,
    off: Annotated[bool, typer.Option("--off", help="No longer.")] = False,
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Let a verified memory go first in the brief."""
    only_a_person("pins")
    change(partial(gate.pin, pinned=not off), namespace, key, project, as_json)


@app.command("findings")
def list_findings(
    project: Project = None,
    everywhere: Annotated[bool, typer.Option("--all", help="Of every project.")] = False,
    as_json: Json = False,
) -> None:
    """List what waits for a person: conflicts, duplicates, and wishes to delete."""
    if everywhere:
        only_a_person("sees every project")
    with desk() as here:
        scope = here.scope(project)
        found = findings.listing(here.db, None if everywhere else scope)
        if here.by_agent:
            # What others proposed about the person's memories may come from any project.
            found = [one for one in found if scopes.within(one["namespace"] or "", f"project.{scope.project_id}")]
        if as_json:
            print_json(found)
            return
        waiting = 0 if everywhere or here.by_agent else findings.open_count(here.db) - len(found)
        rows = [
            (
                f["id"],
                f["kind"],
                f"{f['namespace']}/{f['key']}",
                f["value"],
                f["proposal"].get("value") or f["other_value"] or "",
                f["reason"],
            )
            for f in found
        ]
        print_table("", ("id", "kind", "memory", "stands", "proposed", "why"), rows)
        if waiting > 0:
            out.print(f"{waiting} more in other projects: recorder findings --all")


audit_app = typer.Typer(no_args_is_help=True, help="The chain of digests over every change.")
app.add_typer(audit_app, name="audit")


@audit_app.command("verify")
def audit_verify(as_json: Json = False) -> None:
    """Check that no row of the audit was changed or taken out, and that no line of the history and no rejection is
    gone. What a memory says and how far it is trusted is not compared. Guards against accidents and other programs,
    not against the owner of the file."""
    with desk() as here:
        verdict = audit.verify(here.db)
        if as_json:
            print_json(asdict(verdict))
        else:
            broken = f", first broken row {verdict.broken_id}" if verdict.broken_id else ""
            broken += f", {verdict.missing}" if verdict.missing else ""
            out.print(f"{verdict.state}: {many(verdict.rows, 'row')}{broken}")
        if verdict.state == "fail":
            sys.exit(1)
