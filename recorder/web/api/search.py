"""Recall."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Any

from fastapi import APIRouter, Query

from recorder import embed
from recorder.errors import GateRefused
from recorder.models import Order
from recorder.recall import fence, filters, rank
from recorder.recall import scope as scopes
from recorder.store.only import EVERYTHING
from recorder.web.api.desk import Asked
from recorder.web.shapes import Found, says

routes = APIRouter(prefix="/api", tags=["search"])
Then = Annotated[str | None, Query(max_length=40)]
Name = Annotated[str | None, Query(min_length=1, max_length=filters.LONGEST)]
Several = Annotated[list[str] | None, Query(max_length=20)]


@routes.get("/search", response_model=None, responses=says(Found))
def search(
    asked: Asked,
    q: Annotated[
        str, Query(max_length=4_000, description="Any words, paths, identifiers; without them the filters list.")
    ] = "",
    limit: Annotated[int | None, Query(ge=1, le=100)] = None,
    offset: Annotated[int, Query(ge=0, le=filters.FARTHEST)] = 0,
    order: Annotated[Order | None, Query(description="Without `q` the newest first.")] = None,
    kind: Several = None,
    trust: Annotated[
        list[str] | None, Query(max_length=2, description="verified or candidate: memories alone.")
    ] = None,
    since: Annotated[str | None, Query(max_length=40, description="2026, 2026-06, 2026-06-03 or an instant.")] = None,
    until: Annotated[str | None, Query(max_length=40, description="The whole of that day, month or year.")] = None,
    file: Annotated[
        str | None, Query(min_length=1, max_length=filters.LONGEST, description="Named; or the folder it lies in.")
    ] = None,
    branch: Name = None,
    session: Name = None,
    tool: Name = None,
    failed: Annotated[bool, Query(description="Calls that failed, and errors of the service.")] = False,
    namespace: Annotated[str | None, Query(max_length=240)] = None,
    valid_at: Then = None,
    as_of: Then = None,
    compact: Annotated[bool, Query(description="Rows alone; `/api/hits` reads on.")] = False,
) -> dict[str, Any]:
    """What earlier sessions hold about something, in the order asked for; which arms looked, and what reaches a
    prompt. `rows` says of each hit in a line what `/api/hits` needs to go on."""
    try:
        only = filters.read(
            kind=kind,
            trust=trust,
            since=since,
            until=until,
            file=file,
            branch=branch,
            session=session,
            tool=tool,
            failed=failed,
            valid_at=valid_at,
            as_of=as_of,
        )
    except filters.FilterError as error:
        raise GateRefused("parameter", str(error)) from None
    if not q.strip() and only == EVERYTHING and not namespace and order is None:
        raise GateRefused("parameter", "give q, a filter or an order")
    with asked.desk(namespace) as here:
        vector, status = embed.of_question(here.db, here.config, q)
        found = rank.recall(
            here.db,
            q,
            here.scope,
            k=limit or here.config.recall.k,
            vector=vector,
            vector_status=status,
            now_ms=here.now_ms,
            only=replace(only, namespace=scopes.address(here.scope, namespace) if namespace else None),
            order=order or Order.RELEVANCE,
            offset=offset,
        )
    told = fence.fence(found.hits, asked.here.config.recall.max_tokens)
    answer: dict[str, Any] = {
        "arms": dict(found.arms),
        "scope": list(found.scope),
        "rows": [fence.row(hit) for hit in found.hits],
        "misses": [fence.row(hit) for hit in found.misses],
    }
    if compact:
        return answer
    return answer | {"hits": [asdict(hit) for hit in found.hits], "text": told, "tokens": fence.tokens(told)}
