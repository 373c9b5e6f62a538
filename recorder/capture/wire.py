"""Hook input exactly as Claude Code writes it.

Source: https://code.claude.com/docs/en/hooks, and every event of client 2.1.197.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from recorder.capture import keys, lenient, wording
from recorder.errors import HookInputError
from recorder.models import Event, EventKind, Source

UNKNOWN_SESSION = "unknown"

_COLUMNS = ("session_id", "transcript_path", "cwd", "prompt_id", "agent_id", "agent_transcript_path")


class _Input:
    """One hook input, the name of the spool file it stood in, and when that came."""

    __slots__ = ("columns", "fields", "name", "received_ms")

    def __init__(self, fields: Mapping[str, Any], name: str, received_ms: int) -> None:
        self.fields, self.name, self.received_ms = fields, name, received_ms
        self.columns = {field: text for field in _COLUMNS if isinstance(text := fields.get(field), str) and text}

    def text(self, field: str) -> str | None:
        found = self.fields.get(field)
        return found if isinstance(found, str) and found else None

    @property
    def session_id(self) -> str:
        return self.columns.get("session_id", UNKNOWN_SESSION)

    def rest(self, *taken: str) -> dict[str, Any]:
        """What stands in no column and was not taken by name; a field of a wrong type stays here."""
        return {key: value for key, value in self.fields.items() if key not in self.columns and key not in taken}

    def event(self, kind: EventKind, body: Mapping[str, Any], key: str | None = None, **more: Any) -> Event:
        columns: dict[str, Any] = {"session_id": UNKNOWN_SESSION, **self.columns}
        return Event(
            key=key or keys.hook(self.name),
            kind=kind,
            at_ms=self.received_ms,
            source=Source.HOOK,
            body=body,
            ref=self.name,
            **columns,
            **more,
        )


def parse(raw: bytes, *, name: str, received_ms: int) -> Event | None:
    """The event in one hook input, or None for a kind we leave out (none so far).

    An event name we do not know, or a known one whose fields have wrong types, is kept whole as `other`.

    Raises: HookInputError when raw is not a JSON object.
    """
    found = _Input(_object(raw, name), name, received_ms)
    event_name = found.text("hook_event_name")
    shape = _SHAPES.get(event_name) if event_name else None
    return (shape(found) if shape else None) or found.event(EventKind.OTHER, found.rest())


def _object(raw: bytes, name: str) -> dict[str, Any]:
    try:
        value = lenient.loads(raw)
    except ValueError:
        value = _mended(lenient.text_of(raw).strip(), name)
    if not isinstance(value, dict):
        raise HookInputError(f"spool file {name} holds a JSON {type(value).__name__}, not an object")
    return value


def _mended(text: str, name: str) -> Any:
    """The one JSON value of a text that has some fault in it."""
    if not text:
        raise HookInputError(f"spool file {name} is empty: the hook was given nothing on stdin")
    try:
        value, end = lenient.decode(text)
    except ValueError as error:
        raise HookInputError(f"spool file {name} is not JSON: {_reason(error)}") from None
    if text[end:].strip():
        raise HookInputError(f"spool file {name} holds more than one JSON value: the first ends at character {end}")
    return value


def _reason(error: ValueError) -> str:
    """The decoder's complaint without the document, which may hold anything."""
    return f"{getattr(error, 'msg', error)} at character {getattr(error, 'pos', 0)}"


def _prompt(found: _Input) -> Event | None:
    text = found.fields.get("prompt")
    if not isinstance(text, str):
        return None
    # Typed or sent by a program: the hook cannot tell, the transcript can.
    klass = wording.class_of(text)
    prompt_id = found.text("prompt_id")
    key = None
    if prompt_id and not found.text("agent_id"):
        key = keys.prompt(found.session_id, prompt_id, klass)
    body = {"text": wording.own_words(text, klass), **found.rest("prompt", "hook_event_name")}
    return found.event(EventKind.PROMPT, body, key, klass=klass)


def _tool_call(found: _Input, *, ok: bool) -> Event | None:
    tool, tool_use_id = found.text("tool_name"), found.text("tool_use_id")
    if tool is None or tool_use_id is None:
        return None
    body: dict[str, Any] = {"input": found.fields.get("tool_input", {})}
    if "tool_response" in found.fields:
        body["result"] = found.fields["tool_response"]
    if not ok:
        body["error"] = str(found.fields.get("error", ""))
    rest = found.rest("tool_name", "tool_use_id", "tool_input", "tool_response", "error", "hook_event_name")
    key = keys.tool_call(found.session_id, tool_use_id)
    return found.event(EventKind.TOOL_CALL, {**body, **rest}, key, tool=tool, tool_use_id=tool_use_id, ok=ok)


def _succeeded(found: _Input) -> Event | None:
    return _tool_call(found, ok=True)


def _failed(found: _Input) -> Event | None:
    return _tool_call(found, ok=False)


def _last_words(found: _Input) -> dict[str, Any]:
    """The last assistant message as the text, and the rest."""
    return {
        "text": found.text("last_assistant_message") or "",
        **found.rest("last_assistant_message", "hook_event_name"),
    }


def _stop(found: _Input) -> Event:
    tasks = found.fields.get("background_tasks")
    body = {**_last_words(found), "background_tasks": tasks if isinstance(tasks, list) else []}
    return found.event(EventKind.TURN_END, body, keys.turn_end(found.session_id, found.name))


def _stop_failure(found: _Input) -> Event:
    body = _last_words(found)
    prompt_id = found.text("prompt_id")
    key = (
        keys.api_error(found.session_id, prompt_id, body["text"]) if prompt_id and not found.text("agent_id") else None
    )
    return found.event(EventKind.API_ERROR, body, key)


def _subagent_stop(found: _Input) -> Event:
    body = _last_words(found)
    return found.event(EventKind.SUBAGENT_END, {**body, "agent_type": found.text("agent_type") or ""})


def _plain(kind: EventKind) -> Callable[[_Input], Event]:
    return lambda found: found.event(kind, found.rest("hook_event_name"))


_SHAPES: Mapping[str, Callable[[_Input], Event | None]] = {
    "UserPromptSubmit": _prompt,
    "PostToolUse": _succeeded,
    "PostToolUseFailure": _failed,
    "Stop": _stop,
    "StopFailure": _stop_failure,
    "SubagentStop": _subagent_stop,
    "SessionStart": _plain(EventKind.SESSION_START),
    "SessionEnd": _plain(EventKind.SESSION_END),
    "CwdChanged": _plain(EventKind.CWD_CHANGED),
    # Written by our own brief, so that what Claude was shown is on record.
    "RecorderInjection": _plain(EventKind.INJECTION),
}
