"""What goes in and out over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from recorder.models import Hit, Memory, MemoryKind, Trust
from recorder.store.relations import Relation


class Body(BaseModel):
    """A request's body: what it does not know it refuses, so that a misspelt field is told and not passed over."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Answer(BaseModel):
    """What comes back."""

    model_config = ConfigDict(frozen=True)


class Trouble(Answer):
    """What is wrong: a short word a program can branch on, and a sentence for a person."""

    code: str
    message: str


class Error(Answer):
    """Every answer that is none. `current`: what stands there, where that is what is wrong."""

    error: Trouble
    current: Memory | None = None


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds a NUL character, which is kept nowhere: take it out")
    return text


Words = Annotated[str, Field(max_length=20_000), AfterValidator(_without_nul)]
Short = Annotated[str, Field(max_length=200), AfterValidator(_without_nul)]
Tags = Annotated[list[Short], Field(max_length=20)]
Weight = Annotated[float, Field(ge=0, le=1)]
Version = Annotated[int, Field(ge=0, le=2**53)]
Id = Annotated[int, Field(ge=1, le=2**62)]


Digest = Annotated[
    str, Field(max_length=64, description="Of the words that were read: the header `X-Recorder-Digest` of an answer.")
]


class LookedAt(Body):
    """What was read before: where something else stands by now nothing is done."""

    expected_version: Version | None = None
    expected_digest: Digest | None = None


class Said(LookedAt):
    """What a memory is to say."""

    kind: MemoryKind | None = None
    tags: Tags | None = None
    importance: Weight | None = None
    valid_from: Annotated[
        Short | None, Field(description="2026, 2026-06, 2026-06-03, an instant, unknown, or open: it always held.")
    ] = None
    valid_to: Annotated[
        Short | None, Field(description="Until when; unknown: it ended some time; open: it still holds.")
    ] = None
    expires: Annotated[Short | None, Field(description="Not recalled after 12h, 30d, 8w; or never.")] = None
    expected_version: Annotated[Version | None, Field(description="0: nothing may stand there yet.")] = None


class NewMemory(Said):
    """A memory to write."""

    key: Annotated[str, Field(min_length=1, max_length=200)]
    value: Words
    namespace: Annotated[Short | None, Field(description="The project's when left out, outside one the user's.")] = None


class Change(Said):
    """What is to be different about a memory; what is left out stays as it is."""

    value: Words | None = None
    pinned: bool | None = None


class Reason(LookedAt):
    """Why, and for what that was read."""

    reason: Annotated[str, Field(max_length=2_000)] | None = None


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("say why: the reason is kept in the history")
    return text


Needed = Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(_said)]


class Because(Reason):
    """The same, where a reason is needed."""

    reason: Needed


class Back(Because):
    """Which version's words to put in force again."""

    version: Version


class Forget(Reason):
    """Whether to do it, or only to say what would go."""

    dry_run: bool = False


class Link(Body):
    """What a memory is linked to."""

    relation: Annotated[str, Field(min_length=1, max_length=60)]
    to_key: Annotated[str, Field(min_length=1, max_length=200)]
    to_namespace: Short | None = None


class Purge(Body):
    """What goes with age."""

    older_than_days: Annotated[int, Field(ge=0, le=36_500)] | None = None
    dry_run: bool = False


Verb = Literal[
    "approve", "reject", "edit", "delete", "lift", "keep_old", "keep_new", "keep_both", "remove_both", "manual"
]


class Decision(Body):
    """What a person decides about one thing that waits."""

    id: Annotated[str, Field(pattern=r"^[mf][0-9]{1,18}$", description="m12 a memory, f3 a finding.")]
    verb: Verb
    reason: Needed
    value: Words = ""
    expected_version: Annotated[Version | None, Field(description="Of the memory that it is about.")] = None
    expected_digest: Annotated[str, Field(max_length=64, description="Of the value that was looked at.")] = ""
    expected_new_digest: Annotated[
        str, Field(max_length=64, description="Of what came later, where there are two sides.")
    ] = ""


class Told(Answer):
    """What became of a write. `action`: created, superseded, corroborated, unchanged, finding, or the verb's word."""

    action: str
    reason: str = ""
    memory: Memory | None = None
    also: int = 0


class MemoryPage(Answer):
    """Memories, the latest first; `next` goes on behind them."""

    items: list[Memory]
    next: str | None = None


class Rows(Answer):
    """Rows of a list; `next` goes on behind them."""

    items: list[dict[str, Any]]
    next: str | None = None


class Found(Answer):
    """What recall found. `rows`: each hit in a line; `hits` whole, and `text` for a prompt, where it is not compact."""

    arms: dict[str, str]
    scope: list[str]
    rows: list[str]
    misses: list[str]
    hits: list[Hit] = []
    text: str = ""
    tokens: int = 0


class Cited(Answer):
    """A quote, and the event it comes from; of one outside the scope quote, kind and date alone."""

    event_id: int | None
    quote: str
    kind: str
    class_: Annotated[str | None, Field(alias="class")]
    at_ms: int
    session_id: str | None
    uuid: str | None
    tool_use_id: str | None


class Why(Answer):
    """What a memory stands on."""

    memory: Memory
    evidence: list[Cited]


class Near(Answer):
    """Memories around one, and the links between them."""

    links: list[Relation]
    memories: list[Hit]


class Seen(Answer):
    """When somebody did something with a memory, how, and who; of readers also in which session."""

    at_ms: int
    how: str
    who: str
    session_id: str | None = None


class Used(Answer):
    """Who wrote a memory, and who read it or was shown it."""

    wrote: list[Seen]
    read: list[Seen]


class Count(Answer):
    """How many memories of a kind and trust there are in a namespace."""

    namespace: str
    kind: MemoryKind
    trust: Trust
    count: int


class Counts(Answer):
    """How many memories there are."""

    total: int
    memories: list[Count]


class Erased(Answer):
    """What a forget reached, or would: `action` is forgotten or preview; `state` done, or pending while another program
    holds the store."""

    action: str
    state: str = ""
    reached: dict[str, int]
    also: list[str] = []
    suppressed: list[str] = []
    removed: list[str] = []
    overwritten: list[str] = []
    unreached: list[str] = []


class Recalled(Answer):
    """Whether recall and the brief say what was decided."""

    said: list[str]
    missing: list[str]
    lingering: list[str]
    holds: bool


class Decided(Answer):
    """What came of a decision."""

    action: str
    recall: Recalled | None


def says(model: type[Answer]) -> dict[int | str, dict[str, Any]]:
    """How the document describes an answer that is not looked at once more before it goes out."""
    return {200: {"model": model}}


class Taken(Answer):
    """How many hook inputs were put where the worker takes them in."""

    accepted: int


class Health(Answer):
    """`ok`, or `stuck` with the reason."""

    status: Literal["ok", "stuck"]
    reason: str | None
    version: str


class Me(Answer):
    """Who asks."""

    kind: Literal["person", "token"]
    rights: Literal["read", "write", "admin"]
    actor: str
    project: str | None
    everywhere: bool
    form: str | None
