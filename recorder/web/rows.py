"""The rows of lists as they go out over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from recorder.gate.queue import Side
from recorder.models import EventKind, Hit, PromptClass, Trust
from recorder.recall.views import Summary
from recorder.store.completeness import Completeness
from recorder.store.journal import Named
from recorder.store.sessions import Session
from recorder.web.shapes import Answer

Next = Annotated[str | None, Field(description="The `cursor` of the page behind.")]


class ProjectRow(Answer):
    """A project, with its folders and the other identities it is known by."""

    id: str
    identity: str
    root: str
    name: str
    created_ms: int
    brief: bool
    roots: list[str]
    aliases: list[str]


class Projects(Answer):
    """Projects by name."""

    items: list[ProjectRow]
    next: Next = None


class Sessions(Answer):
    """Sessions, the latest first."""

    items: list[Session]
    next: Next = None


class OneSession(Answer):
    """A session: what it was about, and in how far it was captured, where that is known."""

    session: Session
    summary: Summary
    capture: Completeness | None


class EventRow(Answer):
    """An event, whole."""

    id: int
    key: str
    kind: EventKind
    class_: Annotated[PromptClass | None, Field(alias="class")]
    klass: PromptClass | None
    session_id: str
    at_ms: int
    project_id: str | None
    body: dict[str, Any]
    excerpt: str
    cwd: str | None
    prompt_id: str | None
    uuid: str | None
    tool_use_id: str | None
    agent_id: str | None
    tool: str | None
    ok: bool | None
    branch: str | None
    healed: bool
    truncated: bool
    omitted_bytes: int


class Events(Answer):
    """Events, the latest first."""

    items: list[EventRow]
    next: Next = None


class Files(Answer):
    """Files that tool calls named, by path."""

    items: list[Named]
    next: Next = None


class Job(Answer):
    """One thing for the worker to do."""

    id: int
    kind: str
    subject: str
    state: str
    attempts: int
    due_ms: int
    outcome: str | None
    error: str | None
    created_ms: int
    finished_ms: int | None


class Jobs(Answer):
    """Jobs, the newest first."""

    items: list[Job]
    next: Next = None


class Revision(Answer):
    """One line of a memory's history; what else the line tells stands beside it: labels, events, finding."""

    model_config = ConfigDict(extra="allow", frozen=True)

    at_ms: int
    action: str
    channel: str
    actor: str
    reason: str | None
    version: int | None
    value: str | None
    trust: Trust | None


class History(Answer):
    """Every revision, the oldest first."""

    items: list[Revision]
    next: Next = None


class Waits(Answer):
    """One thing to decide about. `id`: m12 a memory, f3 a finding, r7 a refusal, g2 a forget."""

    id: str
    kind: str
    at_ms: int
    reason: str
    scope: str | None
    old: Side | None
    new: Side | None
    more: int
    by: str


class Waiting(Answer):
    """What waits for a person."""

    items: list[Waits]
    next: Next = None


class Read(Answer):
    """Memories and events whole, and fenced for a prompt."""

    hits: list[Hit]
    text: str


class Around(Answer):
    """What happened around something, oldest first; each in a line too."""

    rows: list[str]
    hits: list[Hit]


class WhyEvent(Answer):
    """Why an event is there: who saw it, and the memories that stand on it."""

    event: Hit
    sources: list[str]
    memories: list[Hit]
