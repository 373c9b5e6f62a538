"""Stores with something in them, for the tests of search, recall and the MCP server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recorder import gate
from recorder.models import (
    Channel,
    Event,
    EventKind,
    Evidence,
    Memory,
    MemoryKind,
    Origin,
    Project,
    Proposal,
    Scope,
    Source,
)
from recorder.store import db as store
from recorder.store import events, projects, sessions

NOW_MS = 1_790_000_000_000
A = Scope("alpha-00000001")
B = Scope("beta-00000002")


def opened(folder: Path) -> store.Connection:
    """The store of a home, where the projects of A and B are known."""
    db = store.connect(folder / "recorder.db")
    with store.transaction(db):
        for scope in (A, B):
            assert scope.project_id
            root = f"/home/user/{scope.project_id}"
            projects.bind(db, Project(scope.project_id, f"root:{root}", root, scope.project_id), NOW_MS)
    return db


def add_event(
    db: store.Connection,
    scope: Scope,
    text: str,
    *,
    session: str = "s1",
    kind: EventKind = EventKind.PROMPT,
    narrow: str = "",
    at_ms: int = NOW_MS,
    tool: str | None = None,
    ok: bool | None = None,
    branch: str | None = None,
    cwd: str | None = None,
) -> int:
    """The id of a new event whose excerpt is its text."""
    number = events.count(db) + 1
    event = Event(
        key=f"k{number}",
        kind=kind,
        session_id=session,
        at_ms=at_ms,
        source=Source.HOOK,
        body={"text": text},
        ref=f"r{number}",
        uuid=f"uuid-{number}",
        tool=tool,
        ok=ok,
        branch=branch,
        cwd=cwd,
    )
    with store.transaction(db):
        sessions.see(
            db,
            session,
            first_ms=at_ms,
            last_ms=at_ms,
            cwd=None,
            project_id=scope.project_id,
            transcript_path=None,
            branch=None,
            hook_events=1,
        )
        found = events.insert(
            db,
            event,
            project_id=scope.project_id,
            scope_id=projects.scope_id(db, scope.project_id or "user"),
            received_ms=at_ms,
            excerpt=text,
            narrow=narrow,
            healed=False,
        )
        events.index(db, found - 1)
        events.sight_all(db, [(found, event, None)])
    return found


def add_failed_call(
    db: store.Connection,
    scope: Scope,
    text: str,
    *,
    narrow: str = "make lib/loom.py",
    session: str = "loom",
    tool: str = "Bash",
) -> int:
    """A call of a tool that failed, on lib/loom.py and the branch feature/loom; its id."""
    return add_event(
        *(db, scope, text),
        narrow=narrow,
        session=session,
        kind=EventKind.TOOL_CALL,
        tool=tool,
        ok=False,
        branch="feature/loom",
    )


def add_memory(
    db: store.Connection,
    scope: Scope,
    key: str,
    value: str,
    *,
    namespace: str | None = None,
    channel: Channel = Channel.PERSON,
    kind: MemoryKind = MemoryKind.SEMANTIC,
    cites: Sequence[int] = (),
    session: str | None = None,
    tags: tuple[str, ...] = (),
    valid_to_ms: int | None = None,
    at_ms: int = NOW_MS,
) -> Memory:
    """A memory as the gate made it. `cites`: events whose whole text it quotes; else its own statement."""
    made = Proposal(
        namespace=namespace or (f"project.{scope.project_id}" if scope.project_id else "user"),
        key=key,
        value=value,
        kind=kind,
        origin=Origin.USER_SAID,
        source="test",
        evidence=tuple(Evidence(event.id, event.text) for event in events.get(db, cites)),
        tags=tags,
        valid_to_ms=valid_to_ms,
        occurred_ms=at_ms,
    )
    writer = gate.Writer(channel, "test", scope, at_ms)
    outcome = gate.propose(db, made, writer) if cites else gate.tell(db, made, writer, session_id=session)
    assert outcome.memory is not None, outcome
    return outcome.memory
