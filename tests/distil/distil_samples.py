"""Turns made by hand, as the store gives them back."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from recorder.models import EventKind, PromptClass, StoredEvent
from worker.distil import Proposed, distil

T0 = 1_790_000_000_000
CWD = "/home/user/project"
_ids = itertools.count(1)

REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). "
)


def event(kind: EventKind, body: Mapping[str, Any], **columns: Any) -> StoredEvent:
    number = next(_ids)
    base: dict[str, Any] = {
        "id": number, "key": f"k{number}", "session_id": "s1", "at_ms": T0 + number, "project_id": "shop-0a1b2c3d",
        "excerpt": "", "cwd": CWD, "prompt_id": "p1", "uuid": f"u{number}", "tool_use_id": None, "agent_id": None,
        "klass": None, "tool": None, "ok": None, "branch": None, "healed": False, "truncated": False,
        "omitted_bytes": 0,
    }  # fmt: skip
    return StoredEvent(kind=kind, body=body, **(base | columns))


def said(text: str, klass: PromptClass | None = PromptClass.TYPED, **columns: Any) -> StoredEvent:
    return event(EventKind.PROMPT, {"text": text}, klass=klass, **columns)


def told(text: str, **columns: Any) -> StoredEvent:
    return event(EventKind.ASSISTANT, {"text": text}, **columns)


def call(tool: str, given: Mapping[str, Any], result: Any = "", **columns: Any) -> StoredEvent:
    body = {"input": dict(given), "result": result}
    return event(
        EventKind.TOOL_CALL, body, **({"tool": tool, "ok": True, "tool_use_id": f"toolu_{next(_ids)}"} | columns)
    )


def failed(tool: str, given: Mapping[str, Any], error: str, **columns: Any) -> StoredEvent:
    body = {"input": dict(given), "error": error}
    named = {"tool": tool, "ok": False, "tool_use_id": f"toolu_{next(_ids)}"} | columns
    return event(EventKind.TOOL_CALL, body, **named)


def ran(command: str, output: str = "", **columns: Any) -> StoredEvent:
    return call("Bash", {"command": command}, {"stdout": output, "stderr": "", "interrupted": False}, **columns)


def broke(command: str, error: str, **columns: Any) -> StoredEvent:
    return failed("Bash", {"command": command}, f"Exit code 1\n{error}", **columns)


def edited(path: str, old: str, new: str, **columns: Any) -> StoredEvent:
    return call("Edit", {"file_path": f"{CWD}/{path}", "old_string": old, "new_string": new}, "updated", **columns)


def distilled(*turn: StoredEvent, before: tuple[StoredEvent, ...] = (), typed_verified: bool = True) -> list[Proposed]:
    return distil(list(turn), project_id="shop-0a1b2c3d", typed_verified=typed_verified, before=before)


def values(*turn: StoredEvent, before: tuple[StoredEvent, ...] = ()) -> dict[str, str]:
    """Key → value of what the turn proposes."""
    return {one.proposal.key: one.proposal.value for one in distilled(*turn, before=before)}
