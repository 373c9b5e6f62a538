"""What the start of a user text says about who wrote it."""

from __future__ import annotations

import re

from recorder.models import PromptClass

# Only the start is looked at: people quote these tags in the middle of what they type.
# Seen in clients 1.0 to 2.1.220.
_STARTS: tuple[tuple[PromptClass, re.Pattern[str]], ...] = (
    (
        PromptClass.TASK_NOTIFICATION,
        re.compile(r'\s*(?:<(?:task|agent|bash)-notification>|\{"task_id":|Background agent ".{0,200}" was stopped)'),
    ),
    (
        PromptClass.TEAMMATE,
        re.compile(r"\s*(?:Another Claude session sent a message:\s*)?<teammate-message[\s>]|\s*<channel[\s>]"),
    ),
    (PromptClass.BASH, re.compile(r"\s*<bash-input>")),
    (PromptClass.PLAN, re.compile(r"\s*Implement the following plan:")),
    (PromptClass.SLASH, re.compile(r"\s*(?:<command-name>|<command-message>|/[A-Za-z][\w:.-]*(?:\s|$))")),
)

_TAG = {
    name: re.compile(rf"<{name}>(.*?)</{name}>", re.DOTALL) for name in ("command-name", "command-args", "bash-input")
}
_TRAILING_REMINDER = re.compile(r"\s*<system-reminder>(?:(?!<system-reminder>).)*</system-reminder>\s*\Z", re.DOTALL)


def class_of(text: str) -> PromptClass | None:
    """The class that the words alone give away; None when they could be anybody's."""
    for klass, start in _STARTS:
        if start.match(text):
            return klass
    return None


def own_words(text: str, klass: PromptClass | None) -> str:
    """What was typed: `/name args` out of the command's tags, the command out of `!cmd`, no trailing reminders."""
    if klass is PromptClass.SLASH and "<command-name>" in text:
        return f"{_inside(text, 'command-name')} {_inside(text, 'command-args')}".strip()
    if klass is PromptClass.BASH:
        return _inside(text, "bash-input") or text
    while (reminder := _TRAILING_REMINDER.search(text)) and reminder.start():
        text = text[: reminder.start()]
    return text


def _inside(text: str, tag: str) -> str:
    found = _TAG[tag].search(text)
    return found[1].strip() if found else ""
