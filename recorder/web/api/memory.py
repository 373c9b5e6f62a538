"""Memories: list, read, write, correct, link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import JSONResponse

from recorder import dates, gate
from recorder.errors import Conflict, GateRefused
from recorder.gate.queue import digest
from recorder.models import Memory, MemoryKind, Origin, Precision, Proposal, Scope, Trust
from recorder.recall import neighbours
from recorder.recall import scope as scopes
from recorder.recall import told as telling
from recorder.store import journal, memories, policy
from recorder.web import errors
from recorder.web.api import paging
from recorder.web.api.addresses import Key, Namespace
from recorder.web.api.desk import Asked, Desk, absent, moment, note_read
from recorder.web.rows import History
from recorder.web.shapes import (
    Change,
    Counts,
    Link,
    LookedAt,
    MemoryPage,
    Near,
    NewMemory,
    Rows,
    Said,
    Told,
    Used,
    Why,
    says,
)

routes = APIRouter(prefix="/api/memory", tags=["memory"])
ONE = "/{namespace}/{key:path}"
DEEPEST = 5
AT_MOST = 100
BECOMES: dict[int | str, dict[str, Any]] = {200: {"model": Told}, 202: {"model": Told}}
"""What a change answers, for the document."""
BECAME = {"created": 201, "finding": 202}
"""What the gate did → status; any other is 200. 202: it waits for a person."""

IfMatch = Annotated[str | None, Header(alias="If-Match", description="The ETag that was read.")]


@routes.get("")
def list_memories(
    asked: Asked,
    namespace: Annotated[str | None, Query(max_length=240)] = None,
    kind: MemoryKind | None = None,
    trust: Trust | None = None,
    tag: Annotated[str | None, Query(max_length=200)] = None,
    deleted: bool = False,
    limit: paging.Limit = 50,
    cursor: paging.Cursor = None,
) -> MemoryPage:
    """Memories of the scope, the latest first. `namespace` matches itself and what lies below it."""
    with asked.desk(namespace) as here:
        where = scopes.address(here.scope, namespace) if namespace else None
        found = journal.memory_page(
            here.db,
            here.scope,
            namespace=where,
            kind=kind,
            trust=trust,
            tag=tag,
            deleted=deleted,
            before=paging.numbered(cursor),
            limit=limit,
        )
        items = telling.memories(here.db, found, here.scope)
    return MemoryPage(items=items, next=paging.after(found, limit, lambda one: (one.recorded_ms, one.id)))


@routes.post("", status_code=201, responses={201: {"model": Told}, **BECOMES})
def write_memory(asked: Asked, body: NewMemory, if_match: IfMatch = None) -> Response:
    """Write a memory: 201 where it is new, 202 where it waits for a person."""
    with asked.desk(body.namespace, body.key) as here:
        where = scopes.address(here.scope, body.namespace)
        there = _seen(here, where, body.key)
        return attempted(here, where, body.key, lambda: _tell(here, where, body.key, body, body.value, there, if_match))


@routes.get("/stats", response_model=None, responses=says(Counts))
def count_memories(asked: Asked) -> dict[str, Any]:
    """How many memories there are in the scope, by namespace, kind and trust."""
    with asked.desk() as here:
        counted = memories.counts(here.db, here.scope)
    rows = [dict(zip(("namespace", "kind", "trust", "count"), row, strict=True)) for row in counted]
    return {"total": sum(row[3] for row in counted), "memories": rows}


@routes.get(ONE + "/history", response_model=None, responses=says(History))
def history(asked: Asked, namespace: Namespace, key: Key) -> Rows:
    """Every revision of a memory, oldest first: what, who, why, when."""
    with asked.desk(namespace, key) as here:
        said = memories.history(here.db, standing(here, namespace, key).id)
        return Rows(items=telling.lines(here.db, said, here.scope))


@routes.get(ONE + "/refs", response_model=None, responses=says(Used))
def refs(asked: Asked, namespace: Namespace, key: Key) -> dict[str, Any]:
    """Who wrote a memory, who read it and who was shown it."""
    with asked.desk(namespace, key) as here:
        memory = standing(here, namespace, key)
        wrote = [
            {"at_ms": line["at_ms"], "how": line["action"], "who": f"{line['channel']}: {line['actor']}"}
            for line in telling.lines(here.db, memories.history(here.db, memory.id), here.scope)
        ]
        read = telling.lines(here.db, memories.refs(here.db, memory.id), here.scope)
        return {"wrote": wrote, "read": read}


@routes.get(ONE + "/neighbors", response_model=None, responses=says(Near))
def neighbors(
    asked: Asked, namespace: Namespace, key: Key, depth: Annotated[int, Query(ge=1, le=DEEPEST)] = 1
) -> dict[str, Any]:
    """The memories linked with one, up to `depth` steps away, and the links."""
    with asked.desk(namespace, key) as here:
        start = standing(here, namespace, key)
        links, found = neighbours.reach(here.db, here.scope, start.id, depth, here.now_ms)
    return {"links": [asdict(one) for one in links], "memories": [asdict(hit) for hit in found]}


@routes.get(ONE + "/why", response_model=None, responses=says(Why))
def why(
    asked: Asked, namespace: Namespace, key: Key, as_of: Annotated[str | None, Query(max_length=40)] = None
) -> dict[str, Any]:
    """What a memory stands on: the quotes, and the events they come from; of one outside the scope quote, kind and date
    alone."""
    with asked.desk(namespace, key) as here:
        memory = standing(here, namespace, key, as_of)
        shown = telling.memory(here.db, memory, here.scope)
        return {"memory": asdict(shown), "evidence": evidence_of(here, memory)}


def evidence_of(here: Desk, memory: Memory) -> list[dict[str, Any]]:
    """The quotes a memory stands on, each with its event as far as the caller sees it."""
    return [_cited(here.scope, *one) for one in memories.evidence(here.db, memory.version_id)]


def _cited(scope: Scope, event: Any, quote: str) -> dict[str, Any]:
    inside = event.project_id in (None, scope.project_id)
    return {
        "event_id": event.id if inside else None,
        "quote": quote,
        "kind": event.kind,
        "class": event.klass,
        "at_ms": event.at_ms,
        "session_id": event.session_id if inside else None,
        "uuid": event.uuid if inside else None,
        "tool_use_id": event.tool_use_id if inside else None,
    }


@routes.post(ONE + "/relations", status_code=201)
def link(asked: Asked, namespace: Namespace, key: Key, body: Link) -> dict[str, int]:
    """Link a memory to another; one that is `derived_from` another is hidden when that one is rejected."""
    with asked.desk(namespace, key) as here:
        where = scopes.address(here.scope, namespace)
        target = scopes.address(here.scope, body.to_namespace) if body.to_namespace else where
        return {"id": gate.link(here.db, (where, key), (target, body.to_key), body.relation, here.writer)}


@routes.delete(ONE + "/relations/{id}")
def unlink(asked: Asked, namespace: Namespace, key: Key, id: paging.Id) -> dict[str, int]:
    """Take a link away."""
    with asked.desk(namespace, key) as here:
        memory = standing(here, namespace, key)
        links, _ = neighbours.reach(here.db, here.scope, memory.id, 1, here.now_ms)
        if id not in {one.id for one in links}:
            raise absent(namespace, f"{key}/relations/{id}")
        gate.unlink(here.db, id, here.writer)
    return {"unlinked": id}


@routes.get(ONE)
def read_memory(
    asked: Asked,
    response: Response,
    namespace: Namespace,
    key: Key,
    as_of: Annotated[str | None, Query(max_length=40, description="As it was believed then.")] = None,
) -> Memory:
    """One memory; its ETag is its version, `X-Recorder-Digest` names its words."""
    with asked.desk(namespace, key) as here:
        memory = standing(here, namespace, key, as_of)
        note_read(asked, here, [memory.id])
        shown = telling.memory(here.db, memory, here.scope)
    response.headers.update(_named(memory))
    return shown


@routes.patch(ONE, responses=BECOMES)
def change_memory(asked: Asked, namespace: Namespace, key: Key, body: Change, if_match: IfMatch = None) -> Response:
    """Say something else under an address, or the same with other tags, kind, weight or dates; or pin it, by itself."""
    with asked.desk(namespace, key) as here:
        there = standing(here, namespace, key)
        return attempted(here, there.namespace, key, lambda: _changed(here, there, body, if_match))


def _changed(here: Desk, there: Memory, body: Change, if_match: str | None) -> gate.Outcome:
    labels = _labels(body, here.now_ms)
    if body.pinned is not None:
        if body.value is not None or labels.any:
            raise GateRefused("value", "pin it by itself: pinned goes with no other change")
        wanted = looked_at(here, there.namespace, there.key, body, if_match)
        return gate.pin(here.db, there.namespace, there.key, here.writer, pinned=body.pinned, expected_version=wanted)
    if body.value is None and not labels.any:
        raise GateRefused("value", "say what is to be different: value, kind, tags, importance, dates or pinned")
    restated = body.value is not None and gate.canonical(body.value) == gate.canonical(there.value)
    if body.value is None or (restated and labels.any and not here.caller.is_person):
        wanted = looked_at(here, there.namespace, there.key, body, if_match)
        return gate.label(here.db, there.namespace, there.key, here.writer, labels, expected_version=wanted)
    return _tell(here, there.namespace, there.key, body, body.value, there, if_match)


def _labels(said: Said, now_ms: int) -> gate.Labels:
    return gate.Labels(
        kind=said.kind,
        tags=None if said.tags is None else tuple(said.tags),
        importance=said.importance,
        valid_from=None if said.valid_from is None else _date("valid_from", said.valid_from),
        valid_to=None if said.valid_to is None else _date("valid_to", said.valid_to),
        expires=None if said.expires is None else (_expiry(said.expires, now_ms), None),
    )


@routes.delete(ONE, responses=BECOMES)
def delete_memory(
    asked: Asked,
    namespace: Namespace,
    key: Key,
    reason: Annotated[str | None, Query(max_length=2_000)] = None,
    expected_version: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    expected_digest: Annotated[str | None, Query(max_length=64)] = None,
    if_match: IfMatch = None,
) -> Response:
    """Hide a memory; it can be restored. What a person verified is only proposed for deletion: 202."""
    with asked.desk(namespace, key) as here:
        where = scopes.address(here.scope, namespace)
        seen = LookedAt(expected_version=expected_version, expected_digest=expected_digest)
        return attempted(
            here,
            where,
            key,
            lambda: gate.delete(
                here.db,
                where,
                key,
                here.writer,
                reason=reason,
                expected_version=looked_at(here, where, key, seen, if_match),
            ),
        )


def standing(here: Desk, namespace: str, key: str, as_of: str | None = None) -> Memory:
    """The memory at the address, if the caller sees it; as it was believed at a time.

    Raises: NotFound, GateRefused for what is no time.
    """
    as_of_ms = moment("as_of", as_of)
    memory = _seen(here, scopes.address(here.scope, namespace), key)
    if memory is not None and as_of_ms is not None:
        memory = memories.believed(here.db, memory.id, as_of_ms=as_of_ms)
    if memory is None:
        raise absent(namespace, key)
    return memory


def _seen(here: Desk, namespace: str, key: str) -> Memory | None:
    memory = memories.find(here.db, namespace, key, now_ms=here.now_ms)
    if memory is None or not memories.visible(here.db, memory, here.scope):
        return None
    return memory if policy.shows("address", memory.trust, memory.state) else None


def version_of(if_match: str | None, expected: int | None) -> int | None:
    """The version a change is meant for, by header or body.

    Raises: GateRefused where they are two, or the header is no ETag of ours.
    """
    if if_match is None or if_match.strip() == "*":
        return expected
    tag = if_match.strip().strip('"')
    if not (tag.isascii() and tag.isdigit() and len(tag) < 17):
        raise GateRefused("parameter", 'If-Match takes the ETag of a memory, such as "3"')
    if expected is not None and expected != int(tag):
        raise GateRefused("parameter", "If-Match and expected_version name two versions")
    return int(tag)


def looked_at(here: Desk, namespace: str, key: str, seen: LookedAt, if_match: str | None = None) -> int | None:
    """The version that was read, so that the gate changes no other; None where nobody says which.

    Raises: Conflict where other words stand there than were read, GateRefused.
    """
    wanted = version_of(if_match, seen.expected_version)
    if seen.expected_digest is None:
        return wanted
    there = _seen(here, namespace, key)
    if there is None:
        raise absent(namespace, key)
    if digest(there.value) != seen.expected_digest:
        raise Conflict(f"{namespace}/{key} says something else by now: read it again")
    return there.version if wanted is None else wanted


def _tell(
    here: Desk, namespace: str, key: str, said: Said, value: str, there: Memory | None, if_match: str | None
) -> gate.Outcome:
    person = here.caller.is_person
    from_ms, from_precision = _date("valid_from", said.valid_from)
    to_ms, to_precision = _date("valid_to", said.valid_to)
    expires_ms = _expiry(said.expires, here.now_ms) if said.expires else gate.expiry_left(there, here.now_ms)
    begins_openly = said.valid_from is not None and (from_ms, from_precision) == (None, None)
    ends_openly = said.valid_to is not None and (to_ms, to_precision) == (None, None)
    openly = {
        "valid_from": begins_openly,
        "valid_to": ends_openly,
        "expires": bool(said.expires) and expires_ms is None,
    }
    proposal = Proposal(
        namespace=namespace,
        key=key,
        value=value,
        kind=said.kind or (there.kind if there else MemoryKind.SEMANTIC),
        origin=Origin.USER_SAID if person else Origin.ASSISTANT_SAID,
        source=here.caller.actor,
        tags=tuple(said.tags) if said.tags is not None else there.tags if there else (),
        importance=said.importance if said.importance is not None else there.importance if there else 0.5,
        valid_from_ms=from_ms,
        valid_to_ms=to_ms,
        valid_from_precision=from_precision,
        valid_to_precision=to_precision,
        expires_ms=expires_ms,
        explicit=True,
        opened=tuple(name for name, is_open in openly.items() if is_open),
    )
    return gate.tell(here.db, proposal, here.writer, expected_version=looked_at(here, namespace, key, said, if_match))


def _date(name: str, text: str | None) -> tuple[int | None, Precision | None]:
    try:
        return dates.parse(text or "")
    except ValueError as error:
        raise GateRefused("parameter", f"{name}: {error}") from None


def _expiry(text: str | None, now_ms: int) -> int | None:
    try:
        return None if text is None else dates.expiry(text, now_ms)
    except ValueError as error:
        raise GateRefused("parameter", f"expires: {error}") from None


def attempted(here: Desk, namespace: str, key: str, do: Callable[[], gate.Outcome]) -> Response:
    """What became of it; where something else stands there by now, what."""
    try:
        outcome = do()
    except Conflict as error:
        return conflicted(here, namespace, key, error)
    return told(here, outcome)


def conflicted(here: Desk, namespace: str, key: str, error: Conflict) -> Response:
    """409, and what stands there."""
    current = _seen(here, namespace, key)
    seen = telling.memory(here.db, current, here.scope) if current else None
    shown = {"current": Told(action="", memory=seen).model_dump(mode="json")["memory"]} if seen else {}
    return errors.answer(409, "conflict", str(error), also=shown)


def told(here: Desk, outcome: gate.Outcome) -> Response:
    """An outcome of the gate as an answer.

    Raises: GateRefused.
    """
    if outcome.action == "refused":
        reason, _, message = outcome.reason.partition(": ")
        raise GateRefused(reason, message or reason)
    memory = outcome.memory
    if memory is not None and not memories.visible(here.db, memory, here.scope):
        memory = None  # under the person's namespace something may stand that another project proposed
    shown = telling.memory(here.db, memory, here.scope) if memory is not None else None
    answer = Told(action=outcome.action, reason=outcome.reason, memory=shown, also=outcome.also)
    response = JSONResponse(answer.model_dump(mode="json"), status_code=BECAME.get(outcome.action, 200))
    if memory is not None:
        response.headers.update(_named(memory))
    return response


def _named(memory: Memory) -> dict[str, str]:
    """What names the version, and the words, of a memory in the headers of an answer."""
    return {"etag": f'"{memory.version}"', "x-recorder-digest": digest(memory.value)}
