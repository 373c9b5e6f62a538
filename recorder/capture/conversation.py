"""What one transcript has said so far, and the events made against it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recorder.capture import keys
from recorder.models import Event, EventKind, Source

SIDECHAIN = "sidechain"
"""The agent of records that clients before 2.0.28 wrote into the parent's file without naming one."""

_QUEUE_KEPT = 1000
_ABSORBED_KEPT = 20
# The attachment of a queued prompt and its enqueue were up to 16 ms apart on a busy machine (seen in 2.1.197).
_SAME_MOMENT_MS = 2_000
_SESSION_NAME = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}")


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object of a transcript, its own text, and where it stood."""

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
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []

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
    queue: list[tuple[str, int]] = field(default_factory=list)
    """Prompts typed while Claude worked, not yet taken: text, when."""
    absorbed: list[tuple[str, int]] = field(default_factory=list)
    """Those that were taken into a running turn: text, when."""
    titles: dict[str, str] = field(default_factory=dict)
    """The last title of each sort: the client writes them again and again."""

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
            queue=[(text, at_ms) for text, at_ms in state.get("queue", [])],
            absorbed=[(text, at_ms) for text, at_ms in state.get("absorbed", [])],
            titles=dict(state.get("titles", {})),
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
            "queue": [list(waiting) for waiting in self.queue[-_QUEUE_KEPT:]],
            "absorbed": [list(taken) for taken in self.absorbed[-_ABSORBED_KEPT:]],
            "titles": self.titles,
        }

    def see(self, record: Record) -> None:
        """Take over what the record says of session, place and time; what it does not say stays as it was."""
        self.session_id = record.text("sessionId") or self.session_id
        self.cwd = record.text("cwd") or self.cwd
        self.branch = record.text("gitBranch") or self.branch
        self.at_ms = milliseconds(record.fields.get("timestamp")) or self.at_ms

    def typed_ms(self, text: str, about_ms: int | None) -> int | None:
        """When the queue says these words were typed, if that was about then; else what was given."""
        if about_ms is None:
            return None
        moments = [at_ms for words, at_ms in (*self.absorbed, *self.queue) if words == text]
        nearest = min(moments, key=lambda at_ms: abs(at_ms - about_ms), default=about_ms)
        return nearest if abs(nearest - about_ms) <= _SAME_MOMENT_MS else about_ms

    def agent_of(self, record: Record) -> str | None:
        """The subagent that wrote the record; None on the main thread."""
        named = record.text("agentId") or self.agent_id
        return named or (SIDECHAIN if record.in_sidechain else None)

    def key_of(self, record: Record, n: int = 0) -> str:
        """The key of the n-th event of a record that nothing but the record names."""
        uuid = record.text("uuid")
        key = keys.record(self.session_id, uuid) if uuid else keys.line(self.session_id, record.raw)
        return f"{key}:{n}" if n else key

    def event(
        self, record: Record, kind: EventKind, body: Mapping[str, Any], *, key: str = "", n: int = 0, **more: Any
    ) -> Event:
        """The n-th event of a record: only the first goes by the bare uuid, for a uuid names one event."""
        uuid = record.text("uuid")
        columns: dict[str, Any] = {
            "prompt_id": record.text("promptId") or self.prompt_id,
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


def _named_by(path: Path) -> tuple[str, str | None]:
    """Session and agent as the file's place names them; the records, where they say, know better."""
    if not path.stem.startswith("agent-"):
        return path.stem or "unknown", None
    above = next((part.name for part in path.parents if _SESSION_NAME.fullmatch(part.name)), "unknown")
    return above, path.stem.removeprefix("agent-")
