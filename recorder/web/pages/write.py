"""A memory written by a person: a new one, or other words, tags and dates for one that stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import FormData

from recorder import dates, gate
from recorder.canonical import canonical
from recorder.errors import Conflict, NotFound, RecorderError
from recorder.gate import queue
from recorder.gate.queue import home_of
from recorder.models import Memory, MemoryKind, Origin, Proposal, Scope, State, Trust
from recorder.store import memories, projects
from recorder.web.numbers import whole
from recorder.web.pages import frame
from recorder.web.pages.frame import Form, Frame, text
from recorder.web.pages.memories import standing

router = APIRouter()
FIELDS = ("namespace", "key", "value", "kind", "tags", "importance", "valid_from", "valid_to", "expires")
IMPORTANCE = 0.7
Values = Mapping[str, str]


@router.get("/memories/new")
def new(request: Request) -> Response:
    """An empty form."""
    with frame.opened(request) as page:
        project_id = page.scope.project_id if page.scope else None
        values = dict.fromkeys(FIELDS, "") | {
            "namespace": f"project.{project_id}" if project_id else "user",
            "kind": MemoryKind.SEMANTIC.value,
            "importance": f"{IMPORTANCE:g}",
            "version": "0",
        }
        return _shown(page, None, values)


@router.post("/memories/new")
def create(request: Request, form: FormData = Form) -> Response:
    """Write it, where nothing stands yet."""
    with frame.opened(request) as page:
        values = {name: text(form, name) for name in FIELDS} | {"version": "0"}
        scope = _scope_for(page, values["namespace"].strip())
        return _written(page, None, values, scope)


@router.get("/memories/{number}/edit")
def edit(request: Request, number: int) -> Response:
    """The memory in a form."""
    with frame.opened(request) as page:
        found = standing(page.db, number, page.now_ms)
        return _shown(page, found, values_of(found))


@router.post("/memories/{number}/edit")
def save(request: Request, number: int, form: FormData = Form) -> Response:
    """Put it in place of the version that was looked at; where another one stands by now, show both."""
    with frame.opened(request) as page:
        found = standing(page.db, number, page.now_ms)
        values = {name: text(form, name) for name in FIELDS} | {"version": text(form, "version")}
        values |= {"namespace": found.namespace, "key": found.key}
        if text(form, "look"):
            return _looked(page, found, values)
        return _written(page, found, values, home_of(found))


def values_of(found: Memory) -> dict[str, str]:
    """What a form is filled with."""
    return {
        "namespace": found.namespace,
        "key": found.key,
        "value": found.value,
        "kind": found.kind.value,
        "tags": ", ".join(found.tags),
        "importance": f"{found.importance:g}",
        "valid_from": dates.shown(found.valid_from_ms, found.valid_from_precision),
        "valid_to": dates.shown(found.valid_to_ms, found.valid_to_precision),
        "expires": "",
        "version": str(found.version),
    }


def _written(page: Frame, found: Memory | None, values: Values, scope: Scope) -> Response:
    done = _done(page, found, values, scope)
    return done if isinstance(done, Response) else frame.back(f"/memories/{done.id}", done.action)


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a form, or would: the memory as it is then."""

    action: str
    memory: Memory
    reason: str

    @property
    def id(self) -> int:
        return self.memory.id


def _done(
    page: Frame, found: Memory | None, values: Values, scope: Scope, *, rehearse: bool = False
) -> Done | Response:
    """What the gate made of the form, or would make of it; the page that says why it makes nothing of it."""
    version, writer = _number(values["version"]), page.writer(scope)
    try:
        labels = _labels(page, found, values) if found and _stands(found, values["value"]) else gate.Labels()
        if found and labels.any:
            at = (found.namespace, found.key)
            outcome = gate.label(page.db, *at, writer, labels, expected_version=version, rehearse=rehearse)
        else:
            said = _proposal(page, found, values)
            outcome = gate.tell(page.db, said, writer, expected_version=version, rehearse=rehearse)
    except Conflict:
        return _conflict(page, values)
    except (ValueError, RecorderError) as refused:
        return _shown(page, found, values, str(refused), 400)
    if outcome.action == "refused" or outcome.memory is None:
        return _shown(page, found, values, outcome.reason, 400)
    return Done(outcome.action, outcome.memory, outcome.reason)


def _stands(found: Memory, value: str) -> bool:
    """Whether it is there and says this very thing, so that only what is said beside it can be different."""
    there = found.state is State.ACTIVE and found.trust is not Trust.REJECTED
    return there and found.value.strip() == value.strip()


def _labels(page: Frame, found: Memory, values: Values) -> gate.Labels:
    """What the form says otherwise than it was filled with. An emptied date is an open end.

    Raises: ValueError for what is no date or no number.
    """
    before = values_of(found)
    other = {name: values[name].strip() for name in FIELDS if values[name].strip() != before[name]}
    return gate.Labels(
        kind=_kind(other["kind"]) if "kind" in other else None,
        tags=_tags(other["tags"]) if "tags" in other else None,
        importance=_importance(other["importance"], found) if "importance" in other else None,
        valid_from=dates.parse(other["valid_from"]) if "valid_from" in other else None,
        valid_to=dates.parse(other["valid_to"]) if "valid_to" in other else None,
        expires=(dates.expiry(other["expires"], page.now_ms), None) if "expires" in other else None,
    )


def _kind(given: str) -> MemoryKind:
    return MemoryKind(given) if given in list(MemoryKind) else MemoryKind.SEMANTIC


def _tags(given: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag.strip() for tag in given.split(",") if tag.strip()))


def _importance(given: str, found: Memory | None) -> float:
    if not given.strip():
        return found.importance if found else IMPORTANCE
    try:
        weight = float(given)
    except ValueError:
        weight = -1.0
    if not 0 <= weight <= 1:
        raise ValueError(f"'{given[:20]}' is no weight: give a number from 0 to 1")
    return weight


def _proposal(page: Frame, found: Memory | None, values: Values) -> Proposal:
    """What the form says. A date it was only filled with goes with the old words, not with new ones.

    Raises: ValueError for what is no date.
    """
    before = values_of(found) if found else dict.fromkeys(FIELDS, "")
    moved = found is not None and canonical(found.value) != canonical(values["value"])
    given = {
        name: "" if moved and values[name].strip() == before[name] else values[name]
        for name in ("valid_from", "valid_to")
    }
    from_ms, from_precision = dates.parse(given["valid_from"])
    to_ms, to_precision = dates.parse(given["valid_to"])
    expires = values["expires"].strip()
    return Proposal(
        namespace=values["namespace"].strip(),
        key=values["key"].strip(),
        value=values["value"],
        kind=_kind(values["kind"]),
        origin=Origin.USER_SAID,
        source=page.caller.actor,
        tags=_tags(values["tags"]),
        importance=_importance(values["importance"], found),
        valid_from_ms=from_ms,
        valid_to_ms=to_ms,
        valid_from_precision=from_precision,
        valid_to_precision=to_precision,
        expires_ms=dates.expiry(expires, page.now_ms) if expires else gate.expiry_left(found, page.now_ms),
        explicit=True,
    )


def _scope_for(page: Frame, namespace: str) -> Scope:
    row = gate.scope_of(namespace)
    if row in (None, "user"):
        return page.scope or Scope(None)
    # Of a project that is not known nobody would ever be told.
    return Scope(row) if projects.get(page.db, row) else Scope(None)


def _conflict(page: Frame, values: Values) -> Response:
    """Both sides of what changed meanwhile: what stands now, and what was written here."""
    current = memories.find(page.db, values["namespace"].strip(), values["key"].strip())
    if current is None:
        raise NotFound("the memory is gone")
    looked_at = memories.version(page.db, current.id, _number(values["version"]))
    model: dict[str, Any] = {
        "memory": current,
        "looked_at": looked_at.value if looked_at else "",
        "values": {**values, "version": str(current.version)},
        "kinds": list(MemoryKind),
    }
    return page.show("conflict.html", model, 409)


def _shown(
    page: Frame,
    found: Memory | None,
    values: Values,
    problem: str = "",
    status: int = 200,
    *,
    looked: Mapping[str, Any] | None = None,
) -> Response:
    beside = {"looked": looked}
    model = {"memory": found, "values": values, "problem": problem, "kinds": list(MemoryKind), **beside}
    return page.show("edit.html", model, status)


def _looked(page: Frame, found: Memory, values: Values) -> Response:
    """What saving would change, by doing so and taking it back; nothing is saved."""
    rejected_ms = queue.rejected_ms(page.db, found, values["value"])
    done = _done(page, found, values, home_of(found), rehearse=True)
    if isinstance(done, Response):
        return done
    looked = {
        "value": done.memory.value,
        "labels": gate.between(found, done.memory),
        "rejected_ms": rejected_ms,
        "also": done.reason,
        "same": done.memory.version_id == found.version_id,
    }
    return _shown(page, found, values, looked=looked)


def _number(given: str) -> int:
    found = whole(given)
    return -1 if found is None else found
