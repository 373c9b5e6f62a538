"""Our hook entries in the text of a settings file."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recorder.errors import SettingsError
from recorder.install import text as json_text
from recorder.install.text import Node

PLUGIN_ROOT = "${CLAUDE_PLUGIN_ROOT}"
SCRIPT = re.compile(r"hooks/(capture\.sh|capture\.py|brief\.py|lessons\.py)")
ENTRY = re.compile(r"(/.*)/hooks/(?:capture\.sh|capture\.py|brief\.py|lessons\.py)", re.DOTALL)

# A missing interpreter (an upgrade took it away) must not show as an error of ours at every start of a session.
RUN_PYTHON = 'for python in "$1" "$2"; do [ -x "$python" ] && exec "$python" -I -S "$0"; done; exit 0'

IsOurs = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Entry:
    """One hook of ours under one event."""

    event: str
    matcher: str | None
    hook: Mapping[str, Any]

    @property
    def name(self) -> str:
        return json.dumps([self.event, self.matcher, self.hook], sort_keys=True)


@dataclass(frozen=True, slots=True)
class Found:
    """A hook of ours in a text, and what it stands in."""

    entry: Entry
    hooks: Node
    groups: Node
    group: int
    inner: Node
    hook: int


def entries(hooks_json: Path, home: Path, interpreter: str) -> tuple[Entry, ...]:
    """What `install` registers: the entries of the plugin, pointing at the copies in the home."""
    plugin = json.loads(hooks_json.read_text(encoding="utf-8"))
    return tuple(
        Entry(event, group.get("matcher"), _at_home(hook, home, interpreter))
        for event, groups in plugin["hooks"].items()
        for group in groups
        for hook in group["hooks"]
    )


def recognise(home: Path) -> IsOurs:
    """Whether a hook is ours: it runs one of our scripts beneath a recorder home, this one or an older one."""

    def is_home(path: str) -> bool:
        named = path == str(home) or os.path.basename(path) == ".recorder"
        return named or os.path.isdir(os.path.join(path, "spool", "new"))

    def is_ours(hook: Any) -> bool:
        if not isinstance(hook, dict):
            return False
        words = [hook.get("command"), *(hook["args"] if isinstance(hook.get("args"), list) else ())]
        matches = [ENTRY.fullmatch(word) for word in words if isinstance(word, str)]
        return any(is_home(match[1]) for match in matches if match)

    return is_ours


def merge(text: str, wanted: Sequence[Entry], is_ours: IsOurs, where: str) -> str:
    """The text with each wanted entry once and no other of ours; the same text when that holds already.

    Raises: SettingsError when the text is not a settings file that entries can be added to.
    """
    have = Counter(found.entry.name for found in _own(_checked(text, wanted, where), is_ours))
    missing = [entry for entry in wanted if not have[entry.name]]
    for event, matcher in dict.fromkeys((entry.event, entry.matcher) for entry in missing):
        hooks = [dict(entry.hook) for entry in missing if (entry.event, entry.matcher) == (event, matcher)]
        group = {"hooks": hooks} if matcher is None else {"matcher": matcher, "hooks": hooks}
        text = _append(text, event, group, where)
    while stale := _surplus(json_text.parse(text, where), wanted, is_ours):
        text = _drop(text, json_text.parse(text, where), stale, frozenset())
    return text


def strip(text: str, is_ours: IsOurs, kept: Collection[str], where: str) -> str:
    """The text without our entries and what held only them; containers named in `kept` stay, empty.

    Raises: SettingsError when the text cannot be read.
    """
    while True:
        root = json_text.parse(text, where)
        found = next(_own(root, is_ours), None)
        if found is None:
            return text
        text = _drop(text, root, found, kept)


def empty_containers(text: str, where: str) -> tuple[str, ...]:
    """Containers that are empty before we come: `hooks`, and `hooks.<event>`."""
    hooks = json_text.parse(text, where).value.get("hooks")
    if not isinstance(hooks, dict):
        return ()
    return ("hooks",) if not hooks else tuple(f"hooks.{event}" for event, groups in hooks.items() if groups == [])


def events(text: str, is_ours: IsOurs, where: str) -> tuple[Entry, ...]:
    """Our entries that stand there."""
    return tuple(found.entry for found in _own(json_text.parse(text, where), is_ours))


def _at_home(hook: Mapping[str, Any], home: Path, interpreter: str) -> dict[str, Any]:
    script = SCRIPT.search(json.dumps(hook))
    if script is None:
        raise SettingsError(f"the entry {json.dumps(hook)} of hooks.json runs none of our hooks")
    path = str(home / "hooks" / script[1])
    if path.endswith(".py"):
        real = os.path.realpath(interpreter)
        return {**hook, "command": "/bin/sh", "args": ["-c", RUN_PYTHON, path, real, interpreter]}
    args = [word.replace(f"{PLUGIN_ROOT}/hooks", str(home / "hooks")) for word in hook["args"]]
    return {**hook, "command": hook["command"].replace(f"{PLUGIN_ROOT}/hooks", str(home / "hooks")), "args": args}


def _checked(text: str, wanted: Sequence[Entry], where: str) -> Node:
    root = json_text.parse(text, where)
    hooks = root.value.get("hooks", {})
    if not isinstance(hooks, dict):
        raise SettingsError(f"{where}: 'hooks' is {json.dumps(hooks)[:60]}, not an object; {json_text.REMEDY}")
    for event in dict.fromkeys(entry.event for entry in wanted):
        if not isinstance(hooks.get(event, []), list):
            raise SettingsError(f"{where}: 'hooks.{event}' is not a list of groups; {json_text.REMEDY}")
    return root


def _own(root: Node, is_ours: IsOurs) -> Iterator[Found]:
    hooks = root.child("hooks")
    for event, groups in zip(hooks.keys, hooks.children, strict=True) if hooks else ():
        for n, group in enumerate(groups.children):
            inner = group.child("hooks")
            if inner is None or not isinstance(inner.value, list):
                continue
            matcher = group.value.get("matcher")
            for m, hook in enumerate(inner.children):
                if is_ours(hook.value):
                    yield Found(Entry(event, matcher, hook.value), hooks, groups, n, inner, m)  # type: ignore[arg-type]


def _surplus(root: Node, wanted: Sequence[Entry], is_ours: IsOurs) -> Found | None:
    """The first of ours that is of another version, or stands twice."""
    room = Counter(entry.name for entry in wanted)
    for found in _own(root, is_ours):
        room[found.entry.name] -= 1
        if room[found.entry.name] < 0:
            return found
    return None


def _append(text: str, event: str, group: Mapping[str, Any], where: str) -> str:
    root = json_text.parse(text, where)
    hooks = root.child("hooks")
    if hooks is None:
        return json_text.insert(text, root, "hooks", {event: [group]})
    groups = hooks.child(event)
    if groups is None:
        return json_text.insert(text, hooks, event, [group])
    return json_text.insert(text, groups, None, group)


def _drop(text: str, root: Node, found: Found, kept: Collection[str]) -> str:
    if len(found.inner.children) > 1:
        return json_text.remove(text, found.inner, found.hook)
    if len(found.groups.children) > 1 or f"hooks.{found.entry.event}" in kept:
        return json_text.remove(text, found.groups, found.group)
    if len(found.hooks.children) > 1 or "hooks" in kept:
        return json_text.remove(text, found.hooks, found.hooks.keys.index(found.entry.event))
    return json_text.remove(text, root, root.keys.index("hooks"))
