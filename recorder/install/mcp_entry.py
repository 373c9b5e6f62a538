"""Our MCP server in the text of `.claude.json`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from recorder.errors import SettingsError
from recorder.install import text as json_text
from recorder.install.text import Node

NAME = "recorder"
# `-I`: a file of the session's folder must not be imported in our name.
ARGS = ["-I", "-m", "mcp_server"]


def entry(interpreter: str, home: Path, default_home: Path) -> dict[str, Any]:
    """What the client starts."""
    env = {} if home == default_home else {"RECORDER_HOME": str(home)}
    return {"type": "stdio", "command": interpreter, "args": list(ARGS), "env": env}


def is_ours(server: Any) -> bool:
    """Whether what stands under our name starts our server: by the very words we write, or as the program that was
    installed beside `recorder`."""
    if not isinstance(server, dict) or not isinstance(server.get("command"), str):
        return False
    command, args = Path(server["command"]), server.get("args") or []
    if not command.is_absolute():
        return False
    if args == ARGS:
        return True
    return args == [] and command.name == "recorder-mcp" and command.with_name("recorder").is_file()


def merge(text: str, keys: tuple[str, ...], wanted: Mapping[str, Any], where: str) -> str:
    """The text with our server under the keys. Somebody else's server of our name stays.

    Raises: SettingsError when something that is no object stands in the way.
    """
    root, at = json_text.parse(text, where), 0
    node = root
    while at < len(keys) and (child := node.child(keys[at])):
        node, at = child, at + 1
    if not isinstance(node.value, dict):
        raise SettingsError(f"{where}: '{'.'.join(keys[:at])}' is no object; {json_text.REMEDY}")
    if at < len(keys):
        value: dict[str, Any] = {NAME: dict(wanted)}
        for key in reversed(keys[at + 1 :]):
            value = {key: value}
        return json_text.insert(text, node, keys[at], value)
    server = node.child(NAME)
    if server is None:
        return json_text.insert(text, node, NAME, dict(wanted))
    if server.value == wanted or not is_ours(server.value):
        return text
    return json_text.replace(text, server, dict(wanted))


def strip(text: str, keys: tuple[str, ...], kept: Collection[str], where: str) -> str:
    """The text without our server and what held only it; containers named in `kept` stay, empty."""
    chain = _chain(json_text.parse(text, where), (*keys, NAME))
    if len(chain) < len(keys) + 2 or not is_ours(chain[-1].value):
        return text
    depth = len(keys)
    while depth > 0 and len(chain[depth].children) == 1 and ".".join(keys[:depth]) not in kept:
        depth -= 1
    holder = chain[depth]
    return json_text.remove(text, holder, holder.keys.index((*keys, NAME)[depth]))


def containers(text: str, keys: tuple[str, ...], where: str) -> tuple[str, ...]:
    """Those of the keys' objects that are there before we come."""
    chain = _chain(json_text.parse(text, where), keys)
    return tuple(".".join(keys[:depth]) for depth in range(1, len(chain)))


def standing(text: str, keys: tuple[str, ...], where: str) -> Any:
    """What stands under our name, or None."""
    node = json_text.find(json_text.parse(text, where), (*keys, NAME))
    return node.value if node else None


def _chain(root: Node, keys: tuple[str, ...]) -> list[Node]:
    chain = [root]
    for key in keys:
        child = chain[-1].child(key)
        if child is None:
            break
        chain.append(child)
    return chain
