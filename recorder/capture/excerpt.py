"""The words of an event that search looks at."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from recorder.models import Event, EventKind, StoredEvent

EXCERPT_CHARS = 2000
INPUT_CHARS = 900
NARROW_CHARS = 400
IDS_KEPT = 200

_GAP = " … "
_OWN_TOOLS = ("mcp__recorder__", "mcp__plugin_recorder")
_OWN_ID = re.compile(r"\b[me]\d{1,18}\b")

_READS = frozenset({"read", "notebookread"})
_WRITES = frozenset({"write", "edit", "multiedit", "notebookedit"})
_PATH_FIELDS = ("file_path", "filePath", "notebook_path")
_NARROW_FIELDS = (*_PATH_FIELDS, "path", "command", "pattern", "url", "query", "skill", "subject")
_RESULT_FIELDS = ("stdout", "stderr", "content", "result", "output", "text", "message", "filenames")

_ERROR_WORD = re.compile(
    r"\berror\b|\w(?:Error|Exception)\b|failed|failure|fatal|panic|denied|not found|no such|cannot|refused",
    re.IGNORECASE,
)
NAMES_LOOKED_FOR_IN = 4000
"""Characters of prose searched for names: the narrow row is full long before."""

_WORD = re.compile(r"[^\s,;()\[\]{}<>|*!?\"'`]+")
_NAME = re.compile(
    r"--?[a-z][\w-]+\Z"  # flags
    r"|[^\W\d_][\w-]*\.[A-Za-z]\w{0,9}\Z"  # file.ext, module.attribute
    r"|\w+_\w+"  # snake_case
    r"|\S*\w/\S|[~.]{0,2}/\w"  # paths
    r"|[A-Za-z]*[a-z][A-Z]\w*\Z"  # camelCase, CamelCase
)


def excerpt(event: Event) -> str:
    """Head and tail of what the event says, at most 2,000 characters; empty for our own output."""
    if is_own(event):
        return ""
    return _clip(_WORDS.get(event.kind, _spoken)(event), EXCERPT_CHARS)


def narrow(event: Event) -> str:
    """Paths, command lines, identifiers and the error line, at most 400 characters; empty for our own output."""
    if is_own(event):
        return ""
    if event.kind is EventKind.TOOL_CALL:
        return _fit(_named_in_call(event), NARROW_CHARS)
    if mentioned := _mentioned(event):
        return mentioned[:NARROW_CHARS]
    if event.kind is EventKind.CWD_CHANGED:
        return _fit(_moved(event).split(" → "), NARROW_CHARS)
    return _fit(_names(_spoken(event)[:NAMES_LOOKED_FOR_IN]), NARROW_CHARS)


def files(event: Event | StoredEvent) -> list[tuple[str, str]]:
    """The paths a tool call or an `@path` read or wrote, as (path, `read` or `write`); none when the call failed."""
    if mentioned := _mentioned(event):
        return [(mentioned, "read")]
    if event.kind is not EventKind.TOOL_CALL or event.ok is False:
        return []
    name = (event.tool or "").lower()
    action = "write" if name in _WRITES else "read" if name in _READS else None
    given = event.body.get("input")
    if action is None or not isinstance(given, dict):
        return []
    paths = {given[field]: action for field in _PATH_FIELDS if isinstance(given.get(field), str) and given[field]}
    return list(paths.items())


def is_own(event: Event) -> bool:
    """True for what we said ourselves: results of our MCP tools and the brief."""
    return event.kind is EventKind.INJECTION or (event.tool or "").startswith(_OWN_TOOLS)


def own(event: Event) -> Event:
    """The event, its result replaced by the ids shown when the tool was ours: recall must not feed on itself."""
    if event.kind is not EventKind.TOOL_CALL or not is_own(event) or "result" not in event.body:
        return event
    shown = _OWN_ID.findall(_flat(event.body["result"]))
    kept = {field: value for field, value in event.body.items() if field != "result"}
    return replace(event, body={**kept, "ids": list(dict.fromkeys(shown))[:IDS_KEPT]})


def _spoken(event: Event) -> str:
    """The event's own words: `text`, else the message of an event we keep as it came."""
    for field in ("text", "message", "content"):
        found = event.body.get(field)
        if isinstance(found, str) and found:
            return found
    return ""


def _mentioned(event: Event | StoredEvent) -> str | None:
    """The file that an `@path` in a prompt brought in."""
    path = event.body.get("filename")
    named = event.kind is EventKind.OTHER and event.body.get("type") == "file" and isinstance(path, str)
    return _clean(str(path)) if named and path else None


def _other(event: Event) -> str:
    if mentioned := _mentioned(event):
        return f"@{mentioned}{_GAP}{_flat(event.body.get('content'))}"
    return _spoken(event)


def _called(event: Event) -> str:
    said = f"{event.tool}: {_clip(_given(event.body.get('input')), INPUT_CHARS)}"
    came = event.body.get("error")
    if not came and (event.tool or "").lower() not in _WRITES:  # the result of a write repeats its input
        came = event.body.get("result")
    room = EXCERPT_CHARS - len(said) - len(_GAP)
    back = _clip(_flat(came), room)
    return f"{said}{_GAP}{back}" if back else said


def _moved(event: Event) -> str:
    return f"{event.body.get('old_cwd', '')} → {event.body.get('new_cwd', '')}"


def _silent(event: Event) -> str:
    return ""


_WORDS: Mapping[EventKind, Callable[[Event], str]] = {
    EventKind.TOOL_CALL: _called,
    EventKind.CWD_CHANGED: _moved,
    EventKind.OTHER: _other,
    EventKind.SESSION_START: _silent,
    EventKind.SESSION_END: _silent,
}


def _given(given: Any) -> str:
    """A tool's input as one text: what names the act first, then the rest."""
    if not isinstance(given, dict):
        return _flat(given)
    first = [str(given[field]) for field in _NARROW_FIELDS if isinstance(given.get(field), str)]
    others = {field: _flat(value) for field, value in given.items() if field not in _NARROW_FIELDS}
    return "\n".join((*first, *(f"{field}: {value}" for field, value in others.items() if value)))


def _flat(value: Any, room: int = 4 * EXCERPT_CHARS) -> str:
    """The strings of a JSON value, those a reader would look at first; about `room` characters from each end."""
    if isinstance(value, str):
        return value if len(value) <= 2 * room else value[:room] + value[-room:]
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        return "\n".join(filter(None, (_flat(item, room) for item in value[:200])))
    if not isinstance(value, dict):
        return ""
    if isinstance(value.get("file"), dict):
        return _flat({key: item for key, item in value["file"].items() if key != "base64"}, room)
    chosen = [value[field] for field in _RESULT_FIELDS if value.get(field)]
    return "\n".join(filter(None, (_flat(item, room) for item in chosen or list(value.values()))))


def _named_in_call(event: Event) -> Iterable[str]:
    given = event.body.get("input")
    if isinstance(given, dict):
        yield from (given[field] for field in _NARROW_FIELDS if isinstance(given.get(field), str))
    error = event.body.get("error")
    if isinstance(error, str) and error:
        yield _error_line(error[: 8 * EXCERPT_CHARS])


def _error_line(error: str) -> str:
    """The first line that says what went wrong, else the last."""
    found = _ERROR_WORD.search(error)
    if found is None:
        return error.strip().split("\n")[-1]
    return error[error.rfind("\n", 0, found.start()) + 1 :].split("\n", 1)[0]


def _names(text: str) -> Iterable[str]:
    """The words that name something in code."""
    for word in _WORD.findall(text):
        if _NAME.match(word := word.rstrip(".:")):
            yield word


def _fit(parts: Iterable[str], room: int) -> str:
    """Distinct parts on lines of their own, as many as fit; a part too long for what is left is cut."""
    kept: dict[str, None] = {}
    left = room
    for part in parts:
        if left < 3:
            break
        part = _clean(part.strip())[:left]
        if not part or part in kept:
            continue
        kept[part] = None
        left -= len(part) + 1
    return "\n".join(kept)


def _clip(text: str, room: int) -> str:
    """Head and tail of a text longer than `room`: three quarters of the room from its start."""
    text = text if len(text) <= room else _cut(text, room)
    return _clean(text)


def _cut(text: str, room: int) -> str:
    tail = (room - len(_GAP)) // 4
    head = room - len(_GAP) - tail
    return text[:head] + _GAP + text[len(text) - tail :]


def _clean(text: str) -> str:
    # A NUL ends a text for parts of SQLite.
    return text.replace("\x00", "\ufffd")
