"""What one transcript has said so far, and the events made against it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recorder.capture import keys
from recorder.capture.queued import Queue
from recorder.models import Event, EventKind, HookTime, Source

SIDECHAIN = "sidechain"
"""The agent of records that clients before 2.0.28 wrote into the parent's file without naming one."""

# Their files begin with a copy of the parent's records: same uuids, another agent, prompt id and branch.
_REPEATING_AGENTS = ("acompact-", "aside_question-")
_WARM_KEPT = 200
_SESSION_NAME = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}")


@dataclass(slots=True)
class Record:
    """One JSON object of a transcript, its own text, and where it stood."""

    # Not frozen: there is one a line, and a frozen one takes three times as long to make.

    fields: Mapping[str, Any]
    raw: bytes
    ref: str

    def text(self, name: str) -> str | None:
        found = self.fields.get(name)
        return found if isinstance(found, str) and found else None

    @property
    def message(self) -> Mapping[str, Any]:
        found = self.fields.get("message")
        return found if isinstance(found, dict) else {}

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The content blocks of the message; a plain string is one text block."""
        content = self.message.get("content")
        found = [content] if isinstance(content, str) else content if isinstance(content, list) else []
        return [block if isinstance(block, dict) else {"type": "text", "text": block} for block in found if block]

    @property
    def in_sidechain(self) -> bool:
        return self.fields.get("isSidechain") is True


@dataclass(slots=True)
class Conversation:
    """The reader's memory between two records of a file."""

    path: str
    source: Source
    open_calls: dict[str, Event]
    session_id: str
    agent_id: str | None = None
    cwd: str | None = None
    branch: str | None = None
    at_ms: int = 0
    prompt_id: str | None = None
    keyed: dict[str, str] = field(default_factory=dict)
    """Group of prompts → the prompt id that last named one: a second prompt under one id goes by its uuid."""
    queue: Queue = field(default_factory=Queue)
    titled: dict[str, str] = field(default_factory=dict)
    """The words of the last title of each sort, as a hash: the client writes them again and again."""
    repeats: bool = False
    """Whether a summariser's or a side question's file is still at its copy of the parent's records."""
    summarising: bool = False
    warm: list[str] = field(default_factory=list)
    """Records of an agent that the client started with `Warmup`, the last ones."""
    hook_times: list[HookTime] = field(default_factory=list)
    """Of this read alone: what it said of how long our hooks took."""

    @classmethod
    def resume(
        cls, path: Path, source: Source, open_calls: Mapping[str, Event], state: Mapping[str, Any]
    ) -> Conversation:
        """The conversation as `state()` left it; a new one when state is empty."""
        session_id, agent_id = _named_by(path)
        return cls(
            path=str(path),
            source=source,
            open_calls=dict(open_calls),
            session_id=state.get("session_id") or session_id,
            agent_id=agent_id,
            cwd=state.get("cwd"),
            branch=state.get("branch"),
            at_ms=state.get("at_ms", 0),
            prompt_id=state.get("prompt_id"),
            keyed=dict(state.get("keyed", {})),
            queue=Queue.resume(state),
            titled=_titled(state),
            repeats=state.get("repeats", bool(agent_id and agent_id.startswith(_REPEATING_AGENTS))),
            summarising=state.get("summarising", False),
            warm=list(state.get("warm", [])),
        )

    def state(self) -> dict[str, Any]:
        """Everything but the open calls, as JSON can hold it."""
        return {
            "session_id": self.session_id,
            "cwd": self.cwd,
            "branch": self.branch,
            "at_ms": self.at_ms,
            "prompt_id": self.prompt_id,
            "keyed": self.keyed,
            **self.queue.state(),
            "titled": self.titled,
            "repeats": self.repeats,
            "summarising": self.summarising,
            "warm": self.warm[-_WARM_KEPT:],
        }

    def see(self, record: Record) -> None:
        """Take over what the record says of session, place and time; what it does not say stays as it was."""
        self.session_id = record.text("sessionId") or self.session_id
        self.cwd = record.text("cwd") or self.cwd
        self.branch = record.text("gitBranch") or self.branch
        self.at_ms = milliseconds(record.fields.get("timestamp")) or self.at_ms

    def hangs_on_warmup(self, record: Record) -> bool:
        """True for the prompt `Warmup` that no person and no model wrote, and for what follows from it.

        Source: clients 2.0.19 to 2.0.31 started subagents with it on their own.
        """
        parent = record.fields.get("parentUuid")
        if parent not in self.warm:
            if parent is not None or self.agent_of(record) is None or _only_text(record) != "Warmup":
                return False
        if uuid := record.text("uuid"):
            self.warm.append(uuid)
        return True

    def agent_of(self, record: Record) -> str | None:
        """The subagent that wrote the record; None on the main thread, and for what is a copy of it."""
        if self.repeats:
            return None
        named = record.text("agentId") or self.agent_id
        return named or (SIDECHAIN if record.in_sidechain else None)

    def prompt_of(self, record: Record) -> str | None:
        """The prompt id that the record belongs to. A copy names the prompt it was copied for, which is another."""
        return None if self.repeats else record.text("promptId") or self.prompt_id

    def key_of(self, record: Record, n: int = 0) -> str:
        """The key of the n-th event of a record that nothing but the record names."""
        uuid = record.text("uuid")
        key = keys.record(self.session_id, uuid) if uuid else keys.line(self.session_id, record.raw.strip())
        return f"{key}:{n}" if n else key

    def event(
        self, record: Record, kind: EventKind, body: Mapping[str, Any], *, key: str = "", n: int = 0, **more: Any
    ) -> Event:
        """The n-th event of a record: only the first goes by the bare uuid, for a uuid names one event."""
        uuid = record.text("uuid")
        columns: dict[str, Any] = {
            "prompt_id": self.prompt_of(record),
            "uuid": f"{uuid}.{n}" if uuid and n else uuid,
            "agent_id": self.agent_of(record),
            **more,
        }
        return Event(
            key=key or self.key_of(record, n),
            kind=kind,
            session_id=self.session_id,
            at_ms=self.at_ms,
            source=self.source,
            body=body,
            cwd=self.cwd,
            branch=self.branch,
            transcript_path=self.path,
            ref=f"{record.ref}.{n}" if n else record.ref,
            **columns,
        )


def milliseconds(timestamp: object) -> int | None:
    """An ISO time as milliseconds; None for anything else. A time without a zone is UTC."""
    if not isinstance(timestamp, str):
        return None
    try:
        when = datetime.fromisoformat(timestamp)
        seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return round(seconds * 1000) if seconds > 0 else None


def _titled(state: Mapping[str, Any]) -> dict[str, str]:
    """Titles out of a state; an earlier version kept them in clear."""
    told: dict[str, str] = state.get("titled", {})
    return {sort: keys.words(text) for sort, text in state.get("titles", {}).items()} | told


def _only_text(record: Record) -> str | None:
    blocks = record.blocks if record.text("type") == "user" else []
    text = blocks[0].get("text") if len(blocks) == 1 else None
    return text if isinstance(text, str) else None


def _named_by(path: Path) -> tuple[str, str | None]:
    """Session and agent as the file's place names them; the records, where they say, know better."""
    if not path.stem.startswith("agent-"):
        return path.stem or "unknown", None
    above = next((part.name for part in path.parents if _SESSION_NAME.fullmatch(part.name)), "unknown")
    return above, path.stem.removeprefix("agent-")
