"""What in Claude Code's settings would keep our hooks silent, or run them twice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from recorder.errors import SettingsError
from recorder.install import files
from recorder.install import text as json_text

# Seen in 2.1.197: any of these makes the client drop the whole file, without a word under `-p`.
TYPES = ("command", "http", "mcp_tool", "prompt", "agent")
WHOLE_FILE = "Claude Code ignores the whole file because of it, our hooks too: mend that entry"


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
    yield from (f"{path}: {place} {why}. {WHOLE_FILE}" for place, why in _invalid(settings.get("hooks", {})))
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


def _invalid(hooks: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(hooks, dict):
        yield "hooks", "is not an object"
        return
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            yield f"hooks.{event}", "is not a list"
            continue
        for n, group in enumerate(groups):
            yield from _invalid_group(f"hooks.{event}[{n}]", group)


def _invalid_group(place: str, group: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        yield place, "has no inner list 'hooks'"
        return
    if not isinstance(group.get("matcher", ""), str):
        yield f"{place}.matcher", f"is {json.dumps(group['matcher'])}, not a string"
    for n, hook in enumerate(group["hooks"]):
        yield from _invalid_hook(f"{place}.hooks[{n}]", hook)


def _invalid_hook(place: str, hook: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(hook, dict):
        yield place, "is not an object"
        return
    if hook.get("type") not in TYPES:
        yield f"{place}.type", f"is {json.dumps(hook.get('type'))}, not one of {', '.join(TYPES)}"
    timeout = hook.get("timeout", 1)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0:
        yield f"{place}.timeout", f"is {json.dumps(timeout)}, not a number of seconds above 0"
