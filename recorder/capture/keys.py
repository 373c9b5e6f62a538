"""What is the same thing, whoever saw it: the key of an event."""

from __future__ import annotations

import hashlib

from recorder.models import PromptClass

_SHOWN_BY_HOOK = frozenset({None, PromptClass.TYPED, PromptClass.SDK, PromptClass.SLASH})


def group(klass: PromptClass | None) -> str:
    """`prompt` for everything UserPromptSubmit shows as plain text, else the class: one prompt id carries several."""
    return "prompt" if klass in _SHOWN_BY_HOOK else str(klass)


def tool_call(session_id: str, tool_use_id: str) -> str:
    return f"t:{session_id}:{tool_use_id}"


def prompt(session_id: str, prompt_id: str, klass: PromptClass | None) -> str:
    return f"p:{session_id}:{prompt_id}:{group(klass)}"


def queued(session_id: str, typed_ms: int, said: str) -> str:
    """A prompt typed while Claude worked: the queue and the attachment both say when, and neither has a prompt id.

    `said` is what `words` makes of its text.
    """
    return f"q:{session_id}:{typed_ms}:{said}"


def words(text: str) -> str:
    """What tells two texts apart, whatever space stands around them."""
    return _digest(text.strip())


def assistant(session_id: str, message_id: str, text: str) -> str:
    """By message and text: one response spans many records, and the client may log a block twice under new uuids."""
    return f"a:{session_id}:{message_id}:{_digest(text)}"


def api_error(session_id: str, prompt_id: str, text: str) -> str:
    """A turn ends with its error, so prompt and text name it for StopFailure and for the transcript alike."""
    return f"e:{session_id}:{prompt_id}:{_digest(text)}"


def turn_end(session_id: str, name: str) -> str:
    return f"s:{session_id}:{name}"


def hook(name: str) -> str:
    return f"h:{name}"


def record(session_id: str, uuid: str) -> str:
    return f"u:{session_id}:{uuid}"


def line(session_id: str, text: str | bytes) -> str:
    """For a record without a uuid: the same words again are the same thing."""
    return f"l:{session_id}:{_digest(text)}"


def _digest(text: str | bytes) -> str:
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()[:16]
