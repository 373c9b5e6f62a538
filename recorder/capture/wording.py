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

# Texts that nobody typed and that say nothing of their own.
_LEFT_OUT: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("caveat", re.compile(r"\s*(?:<local-command-caveat>|Caveat: The messages below were generated)")),
    ("local_output", re.compile(r"\s*<local-command-(?:stdout|stderr)>")),
    ("hook_output", re.compile(r"\s*Operation stopped by hook:")),
    ("command_error", re.compile(r"\s*Unknown (?:skill|slash command):")),
)
_LEFT_OUT_META: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("continued", re.compile(r"\s*Continue from where you left off\.?\s*\Z")),
    ("hook_output", re.compile(r"\s*[A-Z]\w+(?::\S+)? hook (?:feedback|success|error|additional|blocking)")),
)
_NOTICES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("interruption", re.compile(r"\s*\[Request interrupted by user")),
    ("bash_output", re.compile(r"\s*<bash-(?:stdout|stderr)>")),
)
_CONTEXT = re.compile(r"\s*<(ide_opened_file|ide_selection|ide_diagnostics)>.*?</\1>\s*", re.DOTALL)
_ONLY_REMINDERS = re.compile(r"\s*(?:<system-reminder>(?:(?!<system-reminder>).)*?</system-reminder>\s*)+\Z", re.DOTALL)
_SIDE_QUESTION = re.compile(
    r"\s*<system-reminder>\s*This is a side question from the user(?P<given>.*?)</system-reminder>\s*(?P<asked>.*)",
    re.DOTALL,
)
_SUMMARISE = re.compile(
    r"(?:\s*CRITICAL: Respond with TEXT ONLY\..{0,2000}?)?\s*Your task is to create a detailed summary", re.DOTALL
)

_TAG = {
    name: re.compile(rf"<{name}>(.*?)</{name}>", re.DOTALL)
    for name in ("command-name", "command-args", "bash-input", "user-memory-input")
}
_TRAILING_REMINDER = re.compile(r"\s*<system-reminder>(?:(?!<system-reminder>).)*</system-reminder>\s*\Z", re.DOTALL)


def class_of(text: str) -> PromptClass | None:
    """The class that the words alone give away; None when they could be anybody's."""
    for klass, start in _STARTS:
        if start.match(text):
            return klass
    return None


def left_out(text: str, *, meta: bool) -> str | None:
    """The name of the rule that leaves the text out; None when it stays. `meta`: the client marks it as its own."""
    for rule, start in (*_LEFT_OUT, *(_LEFT_OUT_META if meta else ())):
        if start.match(text):
            return rule
    return "reminder" if _ONLY_REMINDERS.match(text) and not _SIDE_QUESTION.match(text) else None


def notice(text: str) -> str | None:
    """What a user-role text is that is no prompt and still happened; None for prompts."""
    for name, start in _NOTICES:
        if start.match(text):
            return name
    return None


def side_question(text: str) -> str | None:
    """What a person asked beside the running turn with `/btw`; None for any other text.

    Source: clients 2.1.23 to 2.1.220 put the instructions into a reminder and the question behind it.
    """
    found = _SIDE_QUESTION.match(text)
    return (found["asked"] or found["given"]).strip() if found else None


def asks_for_summary(text: str) -> bool:
    """True for the client's own request for the summary that replaces a long conversation."""
    return bool(_SUMMARISE.match(text))


def is_context(text: str) -> bool:
    """True for a block that an editor or a hook put beside what was typed."""
    return not without_context(text).strip() or bool(_ONLY_REMINDERS.match(text))


def without_context(text: str) -> str:
    """The text after the editor's blocks at its start."""
    while block := _CONTEXT.match(text):
        text = text[block.end() :]
    return text


def own_words(text: str, klass: PromptClass | None) -> str:
    """What was typed: `/name args` out of the command's tags, the command out of `!cmd`, no trailing reminders."""
    if klass is PromptClass.SLASH and "<command-name>" in text:
        return f"{_inside(text, 'command-name')} {_inside(text, 'command-args')}".strip()
    if klass is PromptClass.BASH:
        return _inside(text, "bash-input") or text
    if text.lstrip().startswith("<user-memory-input>"):
        return _inside(text, "user-memory-input")
    while (reminder := _TRAILING_REMINDER.search(text)) and reminder.start():
        text = text[: reminder.start()]
    return text


def _inside(text: str, tag: str) -> str:
    found = _TAG[tag].search(text)
    return found[1].strip() if found else ""
