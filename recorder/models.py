"""Every noun of the recorder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class EventKind(StrEnum):
    """What happened. `OTHER` keeps whatever a newer client sends, whole."""

    PROMPT = "prompt"
    TOOL_CALL = "tool_call"
    ASSISTANT = "assistant"
    TURN_END = "turn_end"
    SUBAGENT_END = "subagent_end"
    SESSION_START = "session_start"
    SESSION_END = "session_end"
    API_ERROR = "api_error"
    CWD_CHANGED = "cwd_changed"
    SUMMARY = "summary"
    TITLE = "title"
    STATEMENT = "statement"
    INJECTION = "injection"
    OTHER = "other"


class PromptClass(StrEnum):
    """Who wrote a prompt. None on an event means: the source could not tell."""

    TYPED = "typed"
    SLASH = "slash"
    BASH = "bash"
    SDK = "sdk"
    QUEUED = "queued"
    TASK_NOTIFICATION = "task_notification"
    TEAMMATE = "teammate"
    INJECTED = "injected"
    PLAN = "plan"


class Source(StrEnum):
    """Where an event was seen: the kinds of sighting. `GATE` is a statement made to us."""

    HOOK = "hook"
    TRANSCRIPT = "transcript"
    BACKFILL = "backfill"
    GATE = "gate"


class MemoryKind(StrEnum):
    """What sort of thing a memory says."""

    PREFERENCE = "preference"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    EPISODIC = "episodic"


class Trust(StrEnum):
    """May this be acted on."""

    CANDIDATE = "candidate"
    VERIFIED = "verified"
    DISPUTED = "disputed"
    REJECTED = "rejected"


class State(StrEnum):
    """Whether a memory is there, apart from whether it is right. All but the first hide it."""

    ACTIVE = "active"
    DELETED = "deleted"
    SUPPRESSED = "suppressed"
    """It derives from one that was rejected or forgotten."""
    FORGOTTEN = "forgotten"


class Order(StrEnum):
    """In which order recall answers."""

    RELEVANCE = "relevance"
    NEWEST = "newest"
    OLDEST = "oldest"


class Precision(StrEnum):
    """How exact a date is. `UNKNOWN` at the end of validity: it ended, nobody knows when; no precision and no date:
    it still holds."""

    MS = "ms"
    DAY = "day"
    MONTH = "month"
    YEAR = "year"
    UNKNOWN = "unknown"


class Channel(StrEnum):
    """The door a write came through, read from the door and never from the payload."""

    PERSON = "person"
    USER_SAID = "user_said"
    OBSERVED = "observed"
    AGENT = "agent"
    API = "api"
    IMPORT = "import"
    CLAUDE_AUTO = "claude_auto"


class Origin(StrEnum):
    """What a memory's evidence is made of."""

    USER_SAID = "user_said"
    OBSERVED = "observed"
    ASSISTANT_SAID = "assistant_said"
    TOOL_OUTPUT = "tool_output"
    FILE_CONTENT = "file_content"
    IMPORT = "import"


@dataclass(frozen=True, slots=True)
class Event:
    """A thing that happened. Immutable once stored.

    `key` says what is the same thing whoever saw it. `body` has one shape a kind:

    prompt       {"text": str}
    tool_call    {"input": {...}, "result": any JSON value or absent, "error": str or absent}
    assistant    {"text": str}
    turn_end     {"text": last assistant message or "", "background_tasks": [...], "error": str or absent}
    subagent_end {"text": last assistant message or "", "agent_type": str}
    cwd_changed  {"old_cwd": str, "new_cwd": str}
    summary      {"text": str}
    title        {"text": str}
    others       the foreign object without the fields that stand in columns
    """

    key: str
    kind: EventKind
    session_id: str
    at_ms: int
    source: Source
    body: Mapping[str, Any]
    cwd: str | None = None
    prompt_id: str | None = None
    uuid: str | None = None
    tool_use_id: str | None = None
    agent_id: str | None = None
    message_id: str | None = None
    klass: PromptClass | None = None
    tool: str | None = None
    ok: bool | None = None
    branch: str | None = None
    transcript_path: str | None = None
    agent_transcript_path: str | None = None
    ref: str = ""
    """Where exactly it was seen: the spool file's name, or `<transcript>:<offset>`."""
    truncated: bool = False
    omitted_bytes: int = 0


@dataclass(frozen=True, slots=True)
class HookTime:
    """How long one of our hooks took, as Claude Code wrote it down."""

    id: int
    """Of the place it stands at."""
    at_ms: int
    hook: str
    took_ms: int


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event as read back from the store."""

    id: int
    key: str
    kind: EventKind
    session_id: str
    at_ms: int
    project_id: str | None
    body: Mapping[str, Any]
    excerpt: str
    cwd: str | None
    prompt_id: str | None
    uuid: str | None
    tool_use_id: str | None
    agent_id: str | None
    klass: PromptClass | None
    tool: str | None
    ok: bool | None
    branch: str | None
    healed: bool
    truncated: bool
    omitted_bytes: int

    @property
    def text(self) -> str:
        """The event's own words: of prompts, assistant text, turn ends, summaries and titles; else empty."""
        text = self.body.get("text")
        return text if isinstance(text, str) else ""


@dataclass(frozen=True, slots=True)
class Project:
    """What a path is bound to. `id` reads well and is stable: `recorder-1f3c9a2b`."""

    id: str
    identity: str
    """`remote:<host>/<path>`, `root:<real path>` or `path:<real path>`: what the id was made from."""
    root: str
    name: str


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of the store a caller may see, resolved by the server and never taken from a payload.

    `project_id` None means the person's own namespace only.
    """

    project_id: str | None
    undecided: bool = False
    """Whether what is named is seen too where it has no scope: of Claude's files whose project nobody knows, and what
    was proposed about the person outside every project. Of a person alone, who names the address; no list, search or
    brief looks at it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The scope rows this covers: `user` and the project's."""
        return ("user",) if self.project_id is None else ("user", self.project_id)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A verbatim quote and the event it stands in."""

    event_id: int
    quote: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a writer wants a memory to say. The gate decides."""

    namespace: str
    key: str
    value: str
    kind: MemoryKind
    origin: Origin
    source: str
    """`dashboard:…`, `task:<session>`, `api:<fingerprint>`, `claude-auto:<path>`, `distil:<rule>@<version>`."""
    evidence: tuple[Evidence, ...] = ()
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 0.5
    occurred_ms: int | None = None
    session_id: str | None = None
    valid_from_ms: int | None = None
    valid_to_ms: int | None = None
    valid_from_precision: Precision | None = None
    valid_to_precision: Precision | None = None
    expires_ms: int | None = None
    explicit: bool = False
    """The words are an outright rule ("always", "never", "remember", "I prefer") and not a passing remark."""
    parts: tuple[str, ...] = ()
    """What the value was put together from, what is said first; none where somebody wrote it as it is."""
    opened: tuple[str, ...] = ()
    """The dates said to be open, of `valid_from`, `valid_to` and `expires`: of the same words a date that is not given
    stays as it was."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A value under a key inside a namespace, as it stands now."""

    id: int
    version_id: int
    version: int
    namespace: str
    key: str
    value: str
    kind: MemoryKind
    trust: Trust
    origin: Origin
    source: str
    tags: tuple[str, ...]
    importance: float
    confidence: float
    project_id: str | None
    """The project whose scope holds it; None in the person's own namespace."""
    home_project_id: str | None
    """The project an agent's `user.*` proposal came from: until a person verifies it, recalled there only."""
    recorded_ms: int
    valid_from_ms: int | None
    valid_to_ms: int | None
    deleted: bool
    """Hidden in any way: `state` says why."""
    sessions: int
    """In how many distinct sessions it was seen."""
    access_count: int = 0
    state: State = State.ACTIVE
    valid_from_precision: Precision | None = None
    valid_to_precision: Precision | None = None
    expires_ms: int | None = None
    pinned: bool = False

    @property
    def begins(self) -> tuple[int | None, Precision | None]:
        return self.valid_from_ms, self.valid_from_precision

    @property
    def ends(self) -> tuple[int | None, Precision | None]:
        return self.valid_to_ms, self.valid_to_precision


@dataclass(frozen=True, slots=True)
class Job:
    """Work a worker takes under a lease."""

    id: int
    kind: str
    subject: str
    attempts: int
    due_ms: int
    behind: bool = False
    """Nothing live waits for it."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer of recall."""

    type: str
    """`memory` or `event`."""
    id: str
    """`m<id>` or `e<id>`: what `memory_get` takes."""
    score: float
    text: str
    kind: str
    occurred_ms: int
    trust: str | None = None
    session_id: str | None = None
    namespace: str | None = None
    key: str | None = None
    stale: bool = False
    event: Mapping[str, str | None] | None = None
    """`{"uuid", "tool_use_id", "prompt_id"}` of an event."""
    evidence: tuple[Mapping[str, Any], ...] = ()
    """`{"event_id", "uuid", "tool_use_id", "quote"}` each."""


@dataclass(frozen=True, slots=True)
class Recall:
    """What recall found, and which arms could look."""

    hits: tuple[Hit, ...]
    arms: Mapping[str, str] = field(default_factory=dict)
    """Arm → `ok`, or `unavailable: <reason>`."""
    scope: tuple[str, ...] = ()
    misses: tuple[Hit, ...] = ()
    """The nearest of what was found, where none of it is an answer; then there are no hits."""
    ranked: tuple[Hit, ...] = ()
    """The page in its order, whether or not it answers: what a ranking is measured by."""
