"""Recall."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query

from recorder import embed
from recorder.errors import GateRefused
from recorder.models import EventKind, MemoryKind
from recorder.recall import fence, rank
from recorder.recall import scope as scopes
from recorder.web.api.desk import Asked, moment

routes = APIRouter(prefix="/api", tags=["search"])
KINDS = frozenset((*MemoryKind, *EventKind))
Then = Annotated[str | None, Query(max_length=40)]


@routes.get("/search")
def search(
    asked: Asked,
    q: Annotated[str, Query(min_length=1, max_length=4_000, description="Any words, paths, identifiers.")],
    limit: Annotated[int | None, Query(ge=1, le=100)] = None,
    kind: Annotated[list[str] | None, Query(max_length=20)] = None,
    namespace: Annotated[str | None, Query(max_length=240)] = None,
    valid_at: Then = None,
    as_of: Then = None,
) -> dict[str, Any]:
    """What earlier sessions hold about something, best first; which arms looked, and what reaches a prompt."""
    unknown = set(kind or ()) - KINDS
    if unknown:
        raise GateRefused("parameter", f"kind: there are {', '.join(sorted(KINDS))}")
    at_ms, then_ms = moment("valid_at", valid_at), moment("as_of", as_of)
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
            kinds=tuple(kind or ()),
            namespace=scopes.address(here.scope, namespace) if namespace else None,
            valid_at_ms=at_ms,
            as_of_ms=then_ms,
        )
    told = fence.fence(found.hits, asked.here.config.recall.max_tokens)
    return {
        "arms": dict(found.arms),
        "scope": list(found.scope),
        "hits": [asdict(hit) for hit in found.hits],
        "text": told,
        "tokens": fence.tokens(told),
    }
