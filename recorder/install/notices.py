"""What in Claude Code's settings would keep our hooks silent, or run them twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from recorder.errors import SettingsError
from recorder.install import files
from recorder.install import text as json_text

WHOLE_FILE = "Claude Code ignores the whole file because of it, our hooks too: mend that entry"
UNKNOWN_EVENT = "Claude Code 2.1.197 knows no such event and passes it by, another version may ignore the whole file"

# Seen in 2.1.197: one entry that breaks a rule below makes the client drop its whole file, without a word under `-p`.
# Entries of an event it does not know are not looked at.
EVENTS = frozenset(
    "PreToolUse PostToolUse PostToolUseFailure PostToolBatch Notification UserPromptSubmit UserPromptExpansion"
    " SessionStart SessionEnd Stop StopFailure SubagentStart SubagentStop PreCompact PostCompact PermissionRequest"
    " PermissionDenied Setup TeammateIdle TaskCreated TaskCompleted Elicitation ElicitationResult ConfigChange"
    " WorktreeCreate WorktreeRemove InstructionsLoaded CwdChanged FileChanged MessageDisplay".split()
)
REQUIRED: Mapping[str, tuple[str, ...]] = {
    "command": ("command",),
    "http": ("url",),
    "mcp_tool": ("server", "tool"),
    "prompt": ("prompt",),
    "agent": ("prompt",),
}
FIELDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "command": (lambda value: isinstance(value, str), "a text"),
    "args": (lambda value: isinstance(value, list) and all(isinstance(word, str) for word in value), "a list of texts"),
    "timeout": (lambda value: type(value) in (int, float) and value > 0, "a number of seconds above 0"),
    "if": (lambda value: isinstance(value, str), "a text"),
    "async": (lambda value: isinstance(value, bool), "true or false"),
    "shell": (lambda value: value in ("bash", "powershell"), "bash or powershell"),
}


def of(paths: Sequence[Path]) -> tuple[str, ...]:
    """A sentence for each thing found in these settings files; files that are not there say nothing."""
    return tuple(sentence for path in paths for sentence in _of_file(path))


def _of_file(path: Path) -> Iterator[str]:
    try:
        raw = files.read(path)
        settings = json_text.parse(json_text.decode(raw, str(path))[1], str(path)).value if raw is not None else {}
    except SettingsError as error:
        yield str(error)
        return
    hooks = settings.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        effect = WHOLE_FILE if event in EVENTS else UNKNOWN_EVENT
        for place, why in _invalid(groups):
            yield f"{path}: hooks.{event}{place} {why}. {effect}"
    yield from _switches(path, settings)


def _switches(path: Path, settings: Mapping[str, Any]) -> Iterator[str]:
    if settings.get("disableAllHooks") is True:
        yield f"{path}: disableAllHooks is true, so no hook runs and nothing is captured until it is false or gone"
    if settings.get("allowManagedHooksOnly") is True:
        yield f"{path}: allowManagedHooksOnly is true, so only an administrator's hooks run and nothing is captured"
    plugins = settings.get("enabledPlugins")
    for name, on in plugins.items() if isinstance(plugins, dict) else ():
        if on and name.split("@")[0] == "recorder":
            yield f"{path}: the plugin {name} registers the same hooks again: disable it (claude plugin disable {name})"


def _invalid(groups: Any) -> Iterator[tuple[str, str]]:
    """Where under the event, and what is wrong there. An event that holds no list is passed by by the client."""
    for n, group in enumerate(groups if isinstance(groups, list) else ()):
        place = f"[{n}]"
        if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
            yield place, "has no inner list 'hooks'"
            continue
        if not isinstance(group.get("matcher", ""), str):
            yield f"{place}.matcher", f"is {json.dumps(group['matcher'])}, not a text"
        for m, hook in enumerate(group["hooks"]):
            yield from ((f"{place}.hooks[{m}]{field}", why) for field, why in _invalid_hook(hook))


def _invalid_hook(hook: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(hook, dict):
        yield "", "is not an object"
        return
    kind = hook.get("type")
    if not isinstance(kind, str) or kind not in REQUIRED:
        yield ".type", f"is {json.dumps(kind)}, not one of {', '.join(REQUIRED)}"
        return
    yield from ((f".{field}", "is missing") for field in REQUIRED[kind] if field not in hook)
    for field, (holds, says) in FIELDS.items():
        if field in hook and not holds(hook[field]):
            yield f".{field}", f"is {json.dumps(hook[field])}, not {says}"
