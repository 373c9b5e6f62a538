"""What a user-role text is: typed, sent, injected, or no prompt at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recorder.capture import keys, wording
from recorder.capture.conversation import Conversation, Record, milliseconds
from recorder.capture.queued import Typed
from recorder.models import Event, EventKind, PromptClass

_SOURCES = {
    "typed": PromptClass.TYPED,
    "sdk": PromptClass.SDK,
    "queued": PromptClass.QUEUED,
    "system": PromptClass.INJECTED,
}
_BY_HAND = frozenset({"typed", "queued", "sdk"})
_ORIGINS = {"task-notification": PromptClass.TASK_NOTIFICATION, "human": None}
_PEOPLE_SIT_AT = frozenset({None, "cli", "claude-vscode", "claude-desktop"})
_MODES = {"task-notification": PromptClass.TASK_NOTIFICATION, "bash": PromptClass.BASH}
_TYPED_IN_QUEUE = frozenset({None, PromptClass.SLASH, PromptClass.BASH})
_NAMED_BY_HOOK = frozenset({None, PromptClass.SLASH, PromptClass.TASK_NOTIFICATION, PromptClass.PLAN})


def of_record(conversation: Conversation, record: Record, blocks: list[dict[str, Any]], n: int = 0) -> Event | str:
    """The event in the user texts of a record, or the name of the rule that leaves them out."""
    asked = wording.side_question(_all_texts(blocks))
    if conversation.repeats:
        if asked is None and not wording.asks_for_summary(_all_texts(blocks)):
            return "copy"
        conversation.repeats, conversation.summarising = False, asked is None
    main = conversation.agent_of(record) is None
    if asked and not main:
        # Typed by a person, but the words come out of a text the client made: not enough to be a rule on its own.
        return conversation.event(record, EventKind.PROMPT, {"text": asked}, n=n, klass=PromptClass.QUEUED)
    if main and (prompt_id := record.text("promptId")):
        conversation.prompt_id = prompt_id
    text = wording.without_context(_texts(blocks))
    if record.fields.get("isCompactSummary") is True:
        return conversation.event(record, EventKind.SUMMARY, {"text": text}, n=n)
    meta = record.fields.get("isMeta") is True
    if record.text("promptSource") not in _BY_HAND:  # a person may well paste what the client writes elsewhere
        if rule := wording.left_out(text, meta=meta):
            return rule
        if notice := wording.notice(text):
            return conversation.event(record, EventKind.OTHER, {"type": notice, "text": text}, n=n)
    images = _images(blocks)
    if not text.strip() and not images:
        return "empty"
    return _prompt(conversation, record, text, images, n)


def of_queue(conversation: Conversation, record: Record) -> Event | str:
    """The prompt that a queue operation took into the running turn, else the rule.

    enqueue … dequeue: a user record follows. enqueue … remove: nothing else has the text, or an attachment that
    carries the time of the enqueue, give or take. popAll: it went back into the edit box and was not sent. Only since
    2.1.246 a remove says the words too.
    """
    operation = record.text("operation")
    content = record.fields.get("content")
    text = _texts(content) if isinstance(content, list) else content if isinstance(content, str) else ""
    if operation == "enqueue":
        conversation.queue.enqueue(text, conversation.at_ms, _images(content))
    elif operation == "popAll":
        conversation.queue.take_back()
    elif operation == "dequeue":
        conversation.queue.dequeue(text)
    elif operation == "remove":
        said = conversation.queue.absorb(text, conversation.at_ms)
        if said is not None and (said.text.strip() or said.images):
            return _queued(conversation, record, said, wording.class_of(said.text))
    return "queue_operation"


def left_in_queue(conversation: Conversation, record: Record) -> list[Event]:
    """What a person typed and nobody took when the session ended, told at the end of its file."""
    left = [item for item in conversation.queue.waiting if not item.sent and (item.text.strip() or item.images)]
    conversation.queue.take_back()
    return [
        _queued(conversation, record, item, wording.class_of(item.text), n)
        for n, item in enumerate(left)
        if wording.class_of(item.text) in _TYPED_IN_QUEUE
    ]


def of_attachment(conversation: Conversation, record: Record, attachment: Mapping[str, Any]) -> Event | str:
    """The prompt of a `queued_command` attachment."""
    given = attachment.get("prompt")
    blocks = given if isinstance(given, list) else [{"type": "text", "text": given}]
    text, images = _texts([block for block in blocks if isinstance(block, dict)]), _images(blocks)
    if not text.strip() and not images:
        return "empty"
    mode, origin = attachment.get("commandMode"), attachment.get("origin")
    klass = wording.class_of(text) or (_MODES.get(mode) if isinstance(mode, str) else None)
    if klass is None and (attachment.get("isMeta") is True or _origin(origin) not in (None, "human")):
        klass = PromptClass.INJECTED
    when_ms = conversation.queue.attached(text, milliseconds(attachment.get("timestamp")))
    return _queued(conversation, record, Typed(text, when_ms or 0, keys.words(text), images=images), klass)


def _queued(conversation: Conversation, record: Record, item: Typed, klass: PromptClass | None, n: int = 0) -> Event:
    """One prompt an enqueue: the queue and the attachment name it by when it was typed and by its words."""
    key = keys.queued(conversation.session_id, item.at_ms, item.words) if item.at_ms else ""
    klass = klass or PromptClass.QUEUED
    body: dict[str, Any] = {"text": wording.own_words(item.text, klass)}
    if item.images:
        body["images"] = item.images
    return conversation.event(record, EventKind.PROMPT, body, key=key, n=n, klass=klass)


def _prompt(conversation: Conversation, record: Record, text: str, images: int, n: int) -> Event:
    main = conversation.agent_of(record) is None
    words = wording.class_of(text)
    klass = _class(record, text, words, main=main)
    prompt_id, uuid = record.text("promptId"), record.text("uuid")
    key = ""
    if main and prompt_id and words in _NAMED_BY_HOOK and record.fields.get("isMeta") is not True:
        group = keys.group(words)
        if conversation.keyed.get(group) != prompt_id:
            conversation.keyed[group] = prompt_id
            key = keys.prompt(conversation.session_id, prompt_id, words)
    elif main and not prompt_id and klass is not PromptClass.INJECTED:
        conversation.prompt_id = uuid  # before 2.1.76 the record that opens a turn is all that names it
    body: dict[str, Any] = {"text": wording.own_words(text, klass)}
    if main:
        conversation.queue.told(body["text"])
    if images:
        body["images"] = images
    return conversation.event(record, EventKind.PROMPT, body, key=key, n=n, klass=klass)


def _class(record: Record, text: str, words: PromptClass | None, *, main: bool) -> PromptClass | None:
    """Who wrote it. None: the client says something we do not know."""
    if not main or (record.fields.get("isMeta") is True and words is not PromptClass.TASK_NOTIFICATION):
        return PromptClass.INJECTED
    if "planContent" in record.fields:
        return PromptClass.PLAN
    # A typed text may well begin with a path or a word after a slash: the client tags the real commands.
    if words and not (words is PromptClass.SLASH and not text.lstrip().startswith("<")):
        return words
    origin = _origin(record.fields.get("origin"))
    if origin is not None and origin != "human":
        return _ORIGINS.get(origin, PromptClass.INJECTED)
    source, entrypoint = record.text("promptSource"), record.text("entrypoint")
    if source:
        return _SOURCES.get(source)
    if entrypoint and entrypoint.startswith("sdk"):
        return PromptClass.SDK
    return PromptClass.TYPED if entrypoint in _PEOPLE_SIT_AT else None


def _origin(origin: object) -> str | None:
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return kind if isinstance(kind, str) else None


def _all_texts(blocks: list[dict[str, Any]]) -> str:
    return "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))


def _images(content: object) -> int:
    blocks = content if isinstance(content, list) else []
    return sum(isinstance(block, dict) and block.get("type") in ("image", "document") for block in blocks)


def _texts(blocks: list[Any]) -> str:
    """The text blocks, without the context an IDE or a hook put beside what was typed."""
    texts = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
    typed = [text for text in texts if not wording.is_context(text)]
    return "\n".join(typed or texts[-1:])
