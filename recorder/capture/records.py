"""One record of a transcript → the events in it, or the rule that leaves it out.

Record types seen in clients 1.0 to 2.1.220; an unknown one is kept whole as `other`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from recorder.capture import calls, hook_times, keys, prompts, wording
from recorder.capture.conversation import Conversation, Record
from recorder.models import Event, EventKind, PromptClass

Taken = list[Event] | str

LEFT_OUT_TYPES: Mapping[str, str] = {
    "progress": "progress",  # repeats tool output and whole subagent messages
    "file-history-snapshot": "snapshot",
    "last-prompt": "last_prompt",  # a copy of a prompt that stands elsewhere
    "mode": "mode",
    "permission-mode": "mode",
    "file-history-delta": "snapshot",
    "started": "journal",  # of a workflow, beside its agents' transcripts
    "launched": "journal",
    "result": "journal",
    "failed": "journal",
}
LEFT_OUT_SYSTEM: Mapping[str, str] = {
    "turn_duration": "turn_duration",
    "stop_hook_summary": "hook_output",  # holds our own command line
}
LEFT_OUT_BLOCKS = frozenset({"thinking", "redacted_thinking", "fallback"})
# What the client put before the model: context, not something that happened. An `@path` (`file`) is a person's act.
LEFT_OUT_ATTACHMENTS = frozenset(
    "agent_listing_delta auto_mode auto_mode_exit batching_reminder_sent budget_usd command_permissions"
    " compact_file_reference companion_intro date_change deferred_tools_delta diagnostics dynamic_skill"
    " edited_text_file goal_status invoked_skills mcp_instructions_delta memory_update nested_memory"
    " plan_file_reference plan_mode plan_mode_exit plan_mode_reentry read_truncation_notice relevant_memories"
    " silent_turn_reminder"
    " skill_listing task_reminder task_status todo_reminder total_tokens_reminder ultra_effort_enter"
    " ultra_effort_exit ultrathink_effort".split()
)
_SPOKEN_BLOCKS = frozenset({"text", "image", "document"})
_USER_BLOCKS = _SPOKEN_BLOCKS | {"tool_result"}

_COLUMNS = frozenset(
    "uuid parentUuid timestamp sessionId cwd version gitBranch userType entrypoint isSidechain agentId promptId".split()
)


def take(conversation: Conversation, record: Record) -> Taken:
    """The events of the record, none when it only opened a call; or the name of the rule that leaves it out."""
    conversation.see(record)
    kind = record.text("type") or ""
    if conversation.hangs_on_warmup(record):
        return "warmup"
    if rule := LEFT_OUT_TYPES.get(kind):
        return rule
    return _TYPES.get(kind, _other)(conversation, record)


def _user(conversation: Conversation, record: Record) -> Taken:
    blocks = record.blocks
    results = [block for block in blocks if _sort(block) == "tool_result"]
    said = [block for block in blocks if _sort(block) in _SPOKEN_BLOCKS]
    found: list[Event] = []
    for block in results:
        done = calls.closed(conversation, record, block, len(found), alone=len(results) == 1)
        found += [done] if done else []
    rule = "tool_result_without_id" if results else "empty"
    if said:
        heard = prompts.of_record(conversation, record, said, len(found))
        found += [heard] if isinstance(heard, Event) else []
        rule = heard if isinstance(heard, str) and not results else rule
    for block in blocks:
        if _sort(block) not in _USER_BLOCKS:
            found.append(_block(conversation, record, block, len(found)))
    return found or rule


def _assistant(conversation: Conversation, record: Record) -> Taken:
    if record.fields.get("isApiErrorMessage") is True:
        return [_api_error(conversation, record)]
    if record.message.get("model") == "<synthetic>":
        return "synthetic"
    found: list[Event] = []
    opened, rule = 0, "empty"
    for block in record.blocks:
        sort, n = _sort(block), len(found) + opened
        if sort in LEFT_OUT_BLOCKS:
            rule = "thinking"
        elif sort == "text":
            said = block.get("text")
            found += [_said(conversation, record, said, n)] if isinstance(said, str) and said.strip() else []
        elif sort == "tool_use" and calls.opened(conversation, record, block, n):
            opened += 1
        else:
            found.append(_block(conversation, record, block, n))
    return found if found or opened else rule


def _sort(block: Mapping[str, Any]) -> str:
    sort = block.get("type")
    return sort if isinstance(sort, str) else ""


def _block(conversation: Conversation, record: Record, block: Mapping[str, Any], n: int) -> Event:
    """A block of a sort we do not know, kept as it came."""
    return conversation.event(record, EventKind.OTHER, {"type": "block", "block": block}, n=n)


def _said(conversation: Conversation, record: Record, text: str, n: int) -> Event:
    message_id = record.message.get("id")
    named = message_id if isinstance(message_id, str) and message_id else None
    key = keys.assistant(conversation.session_id, named, text) if named else ""
    kind = EventKind.SUMMARY if conversation.summarising else EventKind.ASSISTANT
    return conversation.event(record, kind, {"text": text}, key=key, n=n, message_id=named)


def _api_error(conversation: Conversation, record: Record) -> Event:
    text = "\n".join(block["text"] for block in record.blocks if isinstance(block.get("text"), str))
    body = {"text": text, "error": record.text("error") or "", **_rest(record, "message", "error", "isApiErrorMessage")}
    prompt_id = conversation.prompt_id
    named = prompt_id and conversation.agent_of(record) is None
    key = keys.api_error(conversation.session_id, str(prompt_id), text) if named else ""
    return conversation.event(record, EventKind.API_ERROR, body, key=key)


def _system(conversation: Conversation, record: Record) -> Taken:
    subtype = record.text("subtype") or ""
    content = record.text("content") or ""
    if rule := LEFT_OUT_SYSTEM.get(subtype):
        _timed(conversation, record)
        return rule
    if subtype == "local_command":
        if wording.class_of(content) is not PromptClass.SLASH:
            return "local_output"
        body = {"text": wording.own_words(content, PromptClass.SLASH)}
        return [conversation.event(record, EventKind.PROMPT, body, klass=PromptClass.SLASH)]
    if subtype == "away_summary":
        return [conversation.event(record, EventKind.SUMMARY, {"text": content})]
    kind = EventKind.API_ERROR if subtype == "api_error" else EventKind.OTHER
    return [conversation.event(record, kind, _rest(record))]


def _attachment(conversation: Conversation, record: Record) -> Taken:
    attachment = record.fields.get("attachment")
    sort = attachment.get("type") if isinstance(attachment, dict) else None
    if not isinstance(attachment, dict) or not isinstance(sort, str):
        return _other(conversation, record)
    if sort == "queued_command":
        return _one(prompts.of_attachment(conversation, record, attachment))
    if sort.startswith(("hook_", "async_hook")):  # our own brief among it
        _timed(conversation, record)
        return "hook_output"
    if sort in LEFT_OUT_ATTACHMENTS:
        return "attachment"
    return [conversation.event(record, EventKind.OTHER, attachment)]


def _timed(conversation: Conversation, record: Record) -> None:
    """Keep how long our own hooks took, of a record that is left out."""
    if conversation.at_ms:
        place = record.text("uuid") or record.ref
        conversation.hook_times += hook_times.of_record(record.fields, place, conversation.at_ms)


def _queue(conversation: Conversation, record: Record) -> Taken:
    return _one(prompts.of_queue(conversation, record))


def _title(field: str) -> Callable[[Conversation, Record], Taken]:
    def title(conversation: Conversation, record: Record) -> Taken:
        text, sort = record.text(field), str(record.fields.get("type"))
        if text is None:
            return _other(conversation, record) if _rest(record, "type") else "empty"
        words = keys.words(text)
        if conversation.titled.get(sort) == words:
            return "title_again"
        conversation.titled[sort] = words
        body = {"text": text, "type": sort}
        if leaf := record.text("leafUuid"):
            body["leaf_uuid"] = leaf
        key = keys.line(conversation.session_id, f"{sort}\n{leaf or ''}\n{text}")
        return [conversation.event(record, EventKind.TITLE, body, key=key)]

    return title


def _other(conversation: Conversation, record: Record) -> Taken:
    return [conversation.event(record, EventKind.OTHER, _rest(record))]


def _rest(record: Record, *taken: str) -> dict[str, Any]:
    """The record without what stands in columns and without what was taken by name."""
    return {key: value for key, value in record.fields.items() if key not in _COLUMNS and key not in taken}


def _one(found: Event | str) -> Taken:
    return [found] if isinstance(found, Event) else found


_TYPES: Mapping[str, Callable[[Conversation, Record], Taken]] = {
    "user": _user,
    "assistant": _assistant,
    "system": _system,
    "attachment": _attachment,
    "queue-operation": _queue,
    "summary": _title("summary"),
    "ai-title": _title("aiTitle"),
    "custom-title": _title("customTitle"),
    "agent-name": _title("agentName"),
}
