"""Tool output that the client put into a file beside the transcript, because it was too large for the model.

Source: `<session>/tool-results/<name>` since client 2.1.2, a subagent's in its parent's folder. The model saw a
preview of 2 KB, or of an MCP tool only where its result was saved; `toolUseResult` holds nothing, 30,000 characters,
or all of it.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from recorder.capture import lenient
from recorder.models import Event

WHOLE_BYTES = 1024 * 1024
"""A larger file is read at its ends alone: far more than an event keeps of one text."""
EDGE_BYTES = 64 * 1024

_BLOCK = 1024 * 1024
_PREVIEW = re.compile(r"<persisted-output>\s*Output too large[^\n]{0,40}Full output saved to: ([^\n]{1,4096})")
_SAVED = re.compile(
    r"Error: result \([^)\n]{1,80}\) exceeds maximum allowed tokens\."
    r" Output has been saved to ([^\n]{1,4096}?\.\w{1,8})\.?(?:\s|\Z)"
)
_SESSION_NAME = re.compile(r"[0-9a-zA-Z-]{1,64}")
_TEXT_FIELDS = ("stdout", "content", "output", "result", "text")


@dataclass(frozen=True, slots=True)
class _Output:
    text: str
    size_bytes: int
    sha256: str
    unread_bytes: int


def is_saved(text: str) -> bool:
    """True where the client says that it saved a result: it begins with `Error:` and is none."""
    return bool(_SAVED.match(text))


def name_in(content: object, structured: object) -> str | None:
    """The name of the file that holds the whole output; None when the record itself does.

    `content` is what the model saw, `structured` the `toolUseResult`. The path is one of the writer's machine: only its
    last part counts.
    """
    if isinstance(structured, dict) and isinstance(structured.get("persistedOutputPath"), str):
        return _base_name(structured["persistedOutputPath"])
    if not isinstance(content, str):
        return None
    found = _PREVIEW.match(content) or _SAVED.match(content)
    if found is None or _longest(structured) > len(content):
        return None
    return _base_name(found[1])


def filled(event: Event, transcript: Path) -> Event:
    """The event with its output from the file that `persisted` names in its body; without that mark if there is none.

    The mark then tells the file's size and its hash: of a very large one both ends are read.
    """
    kept = {name: value for name, value in event.body.items() if name != "persisted"}
    name = str(event.body["persisted"]["file"])
    output = _read(_folder(transcript, event.session_id), name)
    field = "error" if "error" in kept else "result"
    if output is None or output.size_bytes <= len(_shown(kept.get(field))):
        return replace(event, body=kept)
    kept[field] = _with(kept.get(field), output.text)
    kept["persisted"] = {"file": name, "size_bytes": output.size_bytes, "sha256": output.sha256}
    return replace(
        event,
        body=kept,
        truncated=event.truncated or output.unread_bytes > 0,
        omitted_bytes=event.omitted_bytes + output.unread_bytes,
    )


def _folder(transcript: Path, session_id: str) -> Path | None:
    """Where the session's files lie: `<session>/` beside its transcript, above those of its subagents."""
    if "subagents" in transcript.parts:
        above = next(part for part in transcript.parents if part.name == "subagents")
        return above.parent
    if not transcript.stem.startswith("agent-"):
        return transcript.with_suffix("")
    return transcript.parent / session_id if _SESSION_NAME.fullmatch(session_id) else None


def _read(folder: Path | None, name: str) -> _Output | None:
    """The file's text; None unless it is a regular file right inside, and no link leads there."""
    if folder is None:
        return None
    path = folder / "tool-results" / name
    try:
        if path.resolve() != folder.parent.resolve() / folder.name / "tool-results" / name:
            return None
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with path.open("rb") as file:
            return _ends(file, path.stat().st_size)
    except (OSError, ValueError):  # gone, not ours to read, or a name no file can have: the preview is what there is
        return None


def _ends(file: BinaryIO, size_bytes: int) -> _Output:
    digest, first, last = sha256(), b"", b""
    while block := file.read(_BLOCK):
        digest.update(block)
        first = first or block
        last = (last + block)[-_BLOCK:]
    if size_bytes <= WHOLE_BYTES:
        return _Output(lenient.text_of(first), size_bytes, digest.hexdigest(), 0)
    # Whole lines: half a secret is not known for one.
    head = first[:EDGE_BYTES].rpartition(b"\n")[0] or first[:EDGE_BYTES]
    tail = last[-EDGE_BYTES:].partition(b"\n")[2] or last[-EDGE_BYTES:]
    unread = size_bytes - len(head) - len(tail)
    text = f"{lenient.text_of(head)}\n…[{unread} bytes not read]…\n{lenient.text_of(tail)}"
    return _Output(text, size_bytes, digest.hexdigest(), unread)


def _with(shown: Any, text: str) -> Any:
    """What was shown, its text replaced."""
    if not isinstance(shown, dict):
        return text
    field = next((field for field in _TEXT_FIELDS if isinstance(shown.get(field), str)), "stdout")
    return {**shown, field: text}


def _shown(value: Any) -> str:
    """The text that a result holds already."""
    if isinstance(value, dict):
        return next((value[field] for field in _TEXT_FIELDS if isinstance(value.get(field), str)), "")
    if isinstance(value, str) and not _SAVED.match(value):
        return value if not _PREVIEW.match(value) else ""
    return ""


def _longest(value: object) -> int:
    """Characters of the longest text in a `toolUseResult`, which has few levels."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return max((_longest(item) for item in value.values()), default=0)
    return max((_longest(item) for item in value), default=0) if isinstance(value, list) else 0


def _base_name(path: str) -> str | None:
    name = re.split(r"[\\/]", path.strip())[-1]
    return name if name not in ("", ".", "..") else None
