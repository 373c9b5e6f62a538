"""A tool use and the result that comes later, as one event."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from recorder.capture import keys, persisted
from recorder.capture.conversation import Conversation, Record
from recorder.models import Event, EventKind

_ERROR_TAG = re.compile(r"\A\s*<tool_use_error>(.*?)(?:</tool_use_error>\s*)?\Z", re.DOTALL)


def opened(conversation: Conversation, record: Record, block: Mapping[str, Any], n: int) -> bool:
    """Keep a tool use until its result comes. False when the block has no id to wait under."""
    tool_use_id, tool = block.get("id"), block.get("name")
    if not isinstance(tool_use_id, str) or not tool_use_id:
        return False
    uuid = record.text("uuid")
    conversation.open_calls[tool_use_id] = conversation.event(
        record,
        EventKind.TOOL_CALL,
        {"input": block.get("input", {}), **({"use_uuid": uuid} if uuid else {})},
        key=keys.tool_call(conversation.session_id, tool_use_id),
        n=n,
        tool=tool if isinstance(tool, str) else None,
        tool_use_id=tool_use_id,
        message_id=_text(record.message.get("id")),
    )
    return True


def closed(
    conversation: Conversation, record: Record, block: Mapping[str, Any], n: int, *, alone: bool
) -> Event | None:
    """The whole call, now that its result is here; None when the block names no call.

    Where the result lies in a file beside the transcript, the body names it as `persisted`.

    `alone` says that the record carries one result only: then its `toolUseResult` is this call's.
    """
    tool_use_id = _text(block.get("tool_use_id"))
    if not tool_use_id:
        return None
    # None where the file begins in mid-session: then the result is all there is.
    use = conversation.open_calls.pop(tool_use_id, None)
    structured = record.fields.get("toolUseResult") if alone else None
    content = _plain(block.get("content"))
    body, ok = _outcome(block, content, structured)
    if file := persisted.name_in(content, structured):
        body["persisted"] = {"file": file}
    columns: dict[str, Any] = {"tool_use_id": tool_use_id, "ok": ok}
    if use is not None:
        body = {**use.body, **body}
        columns |= {"tool": use.tool, "message_id": use.message_id}
        columns["prompt_id"] = conversation.prompt_of(record) or use.prompt_id
        columns["agent_id"] = conversation.agent_of(record) or use.agent_id
    key = keys.tool_call(conversation.session_id, tool_use_id)
    return conversation.event(record, EventKind.TOOL_CALL, body, key=key, n=n, **columns)


def _outcome(block: Mapping[str, Any], content: Any, structured: object) -> tuple[dict[str, Any], bool]:
    """The body's `result` or `error`, and whether the call went well."""
    text = content if isinstance(content, str) else ""
    wrapped = _ERROR_TAG.match(text)
    # Clients before is_error say it in the structured result alone.
    said = isinstance(structured, str) and structured.startswith(("Error: ", "User rejected tool use"))
    said = said and not persisted.is_saved(text)
    if block.get("is_error") is True or wrapped or (said and block.get("is_error") is None):
        reason = wrapped[1].strip() if wrapped else text or structured
        return {"error": reason if isinstance(reason, str) and reason else "failed without a message"}, False
    return {"result": content if structured is None else structured}, True


def _plain(content: Any) -> Any:
    """A list of text blocks as one text; anything else as it is."""
    if isinstance(content, list) and all(isinstance(item, dict) and item.get("type") == "text" for item in content):
        return "\n".join(str(item.get("text", "")) for item in content)
    return content


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
