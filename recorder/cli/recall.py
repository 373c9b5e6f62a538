"""Recall at the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from recorder import embed
from recorder.cli.asked import LIMIT, Asked, lines, read
from recorder.cli.frame import Desk, Json, Project, app, desk, err, out, plain, print_json
from recorder.counted import many
from recorder.errors import NotFound
from recorder.models import Order, Recall, Scope
from recorder.recall import fence, filters, rank, reading
from recorder.store import browse, memories, projects
from recorder.store.only import EVERYTHING

AROUND = 100
PROJECTS_NAMED = 5
Then = Annotated[str | None, typer.Option("--as-of", help="What was recorded and believed then.")]


@app.command()
def search(
    question: Annotated[
        str, typer.Argument(metavar="QUERY", help="Any words, paths, identifiers; without one the filters list.")
    ] = "",
    project: Project = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, max=LIMIT, help="At most this many; `recall.k` when left out.")
    ] = None,
    kind: Annotated[list[str] | None, typer.Option("--kind", help="Only this kind; may be given again.")] = None,
    trust: Annotated[
        list[str] | None, typer.Option("--trust", help="Only memories that are verified, or candidate.")
    ] = None,
    since: Annotated[str | None, typer.Option("--since", help="What happened from then on: 2026-06-03.")] = None,
    until: Annotated[
        str | None, typer.Option("--until", help="What happened up to the end of that day, month or year.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", help="What read, wrote or names this file, or one in this folder.")
    ] = None,
    branch: Annotated[str | None, typer.Option("--branch", help="What happened on this branch.")] = None,
    session: Annotated[str | None, typer.Option("--session", help="What happened in the session with this id.")] = None,
    tool: Annotated[str | None, typer.Option("--tool", help="Calls of this tool, such as Bash.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Calls that failed, and errors of the service.")] = False,
    order: Annotated[
        Order | None, typer.Option("--order", help="By relevance, or by time; without a QUERY the newest first.")
    ] = None,
    offset: Annotated[
        int, typer.Option("--offset", min=0, max=filters.FARTHEST, help="Pass over this many: the next page.")
    ] = 0,
    valid_at: Annotated[
        str | None, typer.Option("--valid-at", help="What held then: 2026, 2026-06, 2026-06-03.")
    ] = None,
    as_of: Then = None,
    batch: Annotated[
        Path | None,
        typer.Option("--batch", help="Ask every {id, question, project} line of this file, with filters of its own."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Recall: what earlier sessions hold about something, as rows; `get`, `timeline` and `why` go on from an id."""
    given: dict[str, Any] = {
        **{"kind": kind, "trust": trust, "since": since, "until": until, "file": file, "branch": branch},
        **{"session": session, "tool": tool, "failed": failed, "valid_at": valid_at, "as_of": as_of},
        **{"order": order, "offset": offset, "limit": limit},
    }
    asked = _asked(given)
    if batch is not None and question:
        raise typer.BadParameter("--batch asks the questions of its file: leave the QUERY out")
    with desk() as here:
        if batch is not None:
            for answer in _answers(here, batch, project, given):
                print_json(answer)
            return
        if not question.strip() and asked.only == EVERYTHING and order is None:
            raise typer.BadParameter("give a QUERY, a filter, or --batch FILE")
        found = ask(here, question, here.scope(project), asked)
        if as_json:
            print_json(shape(found))
            return
        show_recall(found, offset)
        if not (found.hits or found.misses or offset):
            _tell_where(here, here.scope(project))


def _tell_where(here: Desk, scope: Scope) -> None:
    """Which project was looked in, where nothing was ever recorded in it and there are others."""
    if here.by_agent or (scope.project_id is not None and browse.latest_ms(here.db, scope) is not None):
        return
    others = [one["name"] for one in projects.listing(here.db) if one["id"] != scope.project_id]
    if others:
        known = projects.get(here.db, scope.project_id) if scope.project_id else None
        where = f"project {known.name if known else scope.project_id}" if scope.project_id else "no project"
        out.print(
            Text(
                plain(
                    f"this folder is of {where}, in which nothing is recorded; --project DIR asks another, of"
                    f" {many(len(others), 'project')}: {', '.join(others[:PROJECTS_NAMED])}"
                    + (" …" if len(others) > PROJECTS_NAMED else "")
                )
            )
        )


def _asked(given: Mapping[str, Any]) -> Asked:
    try:
        return read(given)
    except filters.FilterError as error:
        raise typer.BadParameter(f"--{error.name.replace('_', '-')}: {error.reason}") from None


def ask(here: Desk, question: str, scope: Scope, asked: Asked) -> Recall:
    """One recall, with the question's vector if the worker gives it in time."""
    vector, status = embed.of_question(here.db, here.config, question)
    return rank.recall(
        here.db,
        question,
        scope,
        k=asked.limit or here.config.recall.k,
        vector=vector,
        vector_status=status,
        now_ms=here.now_ms,
        only=asked.only,
        order=asked.order,
        offset=asked.offset,
    )


def shape(found: Recall) -> dict[str, Any]:
    """A recall as JSON prints it."""
    return {
        "arms": dict(found.arms),
        "scope": list(found.scope),
        "hits": [asdict(hit) for hit in found.hits],
        "abstained": not found.hits,
        "misses": [asdict(hit) for hit in found.misses],
    }


def _answers(here: Desk, batch: Path, project: Path | None, given: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    scopes: dict[str | None, Scope] = {None: here.scope(project)}
    for line in lines(batch, given, _warn):
        if line.project not in scopes:
            scopes[line.project] = _scope_of_line(here, line.project, f"{batch}:{line.number}")
        found = ask(here, line.question, scopes[line.project], line.asked)
        budget = here.config.recall.max_tokens
        told = fence.fence(found.hits, budget) if found.hits else fence.fence_rows(found.misses, budget)
        # Where it abstains the whole ranking stands there too: `abstained` says that none of it was told.
        ranking = [asdict(hit) for hit in found.ranked]
        yield {"id": line.id, **shape(found), "hits": ranking, "tokens": fence.tokens(told)}


def _scope_of_line(here: Desk, project: str | None, place: str) -> Scope:
    """A folder that is neither here nor known ends no batch: the person's own memories answer, and that is told."""
    try:
        return here.scope(None if project is None else Path(project))
    except NotFound as error:
        _warn(f"{place}: {error}: the person's own memories answer alone")
        return Scope(None)


def _warn(text: str) -> None:
    err.print(Text(plain(f"warning: {fence.line(text)}")))


def show_recall(found: Recall, offset: int = 0) -> None:
    """The hits as rows, with what goes on from there."""
    for hit in found.hits:
        row = plain(fence.row(hit))
        out.print(Text.assemble((row[: len(hit.id)], "bold"), row[len(hit.id) :]))
    if not found.hits:
        out.print("nothing more" if offset else "nothing recorded about this")
    if found.misses:
        out.print(Text("nearest, though they do not seem to answer it:", "dim"))
        for hit in found.misses:
            out.print(Text(plain(fence.row(hit)), "dim"))
    out.print(Text("arms: " + ", ".join(f"{arm} {status}" for arm, status in found.arms.items()), "dim"))


@app.command()
def timeline(
    id: Annotated[str, typer.Argument(metavar="ID", help="m12 a memory, e34 an event, as `search` shows them.")],
    before: Annotated[int, typer.Option("--before", min=0, max=AROUND)] = 5,
    after: Annotated[int, typer.Option("--after", min=0, max=AROUND)] = 5,
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Show what happened around an event, or the first event a memory stands on, in its session, oldest first."""
    with desk() as here:
        scope = here.scope(project)
        found = reading.around(here.db, scope, id, before=before, after=after, now_ms=here.now_ms)
        if not found:
            raise _absent(id)
        if as_json:
            print_json({"hits": [asdict(hit) for hit in found]})
            return
        for hit in found:
            out.print(Text(plain(fence.row(hit)), "bold" if hit.id == id else ""))


def show_whole(ids: list[str], project: Path | None, as_json: bool) -> None:
    """What the ids name, whole; those that name nothing here are told."""
    with desk() as here:
        found = reading.whole(here.db, here.scope(project), ids, here.now_ms)
        if not found:
            raise _absent(ids[0])
        read_ids = [int(hit.id[1:]) for hit in found if hit.type == "memory"]
        memories.note_read(here.db, read_ids, here.actor, None, here.now_ms)
        if as_json:
            print_json({"hits": [asdict(hit) for hit in found]})
        else:
            for hit in found:
                out.print(Text(plain(fence.full(hit))))
        for id in ids:
            if reading.spelled(id) not in {hit.id for hit in found}:
                err.print(Text(plain(f"not here: {id[:40]}")))


def show_reason(id: str, project: Path | None, as_json: bool) -> None:
    """Why an event is there."""
    with desk() as here:
        found = reading.reason(here.db, here.scope(project), id, here.now_ms)
        if found is None:
            raise _absent(id)
        if as_json:
            print_json(asdict(found))
            return
        out.print(Text(plain(fence.row(found.event)), "bold"))
        out.print(f"seen by: {', '.join(found.sources)}")
        for hit in found.memories:
            out.print(Text(plain(fence.row(hit))))
        if not found.memories:
            out.print("no memory stands on it")


def address_by_id(here: Desk, id: str, project: Path | None) -> tuple[str, str]:
    """Namespace and key of the memory with this id.

    Raises: NotFound.
    """
    found = reading.whole(here.db, here.scope(project), [id], here.now_ms)
    if not found or found[0].namespace is None or found[0].key is None:
        raise _absent(id)
    return found[0].namespace, found[0].key


def _absent(id: str) -> NotFound:
    return NotFound(f"there is nothing with the id {id[:40]} here: ids look like m12 or e34")
