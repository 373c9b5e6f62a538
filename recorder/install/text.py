"""A JSON text and where each value of it stands, so that one value can go in or out and the rest keeps its bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from recorder.errors import SettingsError

REMEDY = "nothing was changed; Claude Code ignores such a file whole: mend it or move it away, then try again"

# RFC 8259: the four characters between tokens. `\s` would also skip what no JSON reader skips.
SPACE = re.compile(r"[ \t\r\n]*")
MARK = "\ufeff"
CLOSE = {"{": "}", "[": "]"}
DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Node:
    """A value, from `start` to `end`; `at` is where its key begins, or `start` when it has none."""

    at: int
    start: int
    end: int
    value: Any
    keys: tuple[str, ...] = ()
    children: tuple[Node, ...] = ()

    def child(self, key: str) -> Node | None:
        return self.children[self.keys.index(key)] if key in self.keys else None


@dataclass(frozen=True, slots=True)
class Layout:
    """How a text is written: the indentation of one level (None: all on one line) and the end of a line."""

    unit: str | None
    newline: str
    colon: str
    comma: str


def decode(raw: bytes, where: str) -> tuple[str, str]:
    """The byte order mark, if any, and the text behind it.

    Raises: SettingsError when the bytes are not UTF-8.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        _refuse(where, line, f"not UTF-8 ({error.reason})", error)
    return (MARK, text[1:]) if text.startswith(MARK) else ("", text)


def parse(text: str, where: str) -> Node:
    """The text as a tree. White space alone is an empty object, as the client reads it.

    Raises: SettingsError with `where` and the line, when it is no JSON, names a key twice, or is no object.
    """
    if not text.strip(" \t\r\n"):
        return Node(0, 0, len(text), {})
    try:
        json.loads(text, parse_constant=_no_constant)
        root = _node(text, SPACE.match(text).end(), None, where)  # type: ignore[union-attr]  # the pattern matches ""
    except json.JSONDecodeError as error:
        _refuse(where, error.lineno, f"not valid JSON ({error.msg})", error)
    except (ValueError, RecursionError) as error:
        _refuse(where, None, f"not JSON that can be read ({error})", error)
    if not isinstance(root.value, dict):
        _refuse(where, 1, f"the top is {type(root.value).__name__}, not an object", None)
    return root


def insert(text: str, container: Node, key: str | None, value: Any) -> str:
    """The text with `value` as the last of the container, laid out as its neighbours are."""
    if not text.strip(" \t\r\n"):
        return json.dumps({key: value}, indent=2, ensure_ascii=False) + "\n"
    layout = layout_of(text)
    lead = "" if key is None else json.dumps(key, ensure_ascii=False) + layout.colon
    if container.children:
        last = container.children[-1]
        prefix = _own_line(text, last.at)
        glue = layout.comma if prefix is None else "," + layout.newline + prefix
        return text[: last.end] + glue + lead + _render(value, layout, prefix) + text[last.end :]
    if layout.unit is None:
        inside = lead + _render(value, layout, None)
    else:
        outer = _indent(text, container.start)
        inner = outer + layout.unit
        inside = layout.newline + inner + lead + _render(value, layout, inner) + layout.newline + outer
    return text[: container.start + 1] + inside + text[container.end - 1 :]


def replace(text: str, node: Node, value: Any) -> str:
    """The text with another value in the node's place."""
    prefix = _indent(text, node.at) if "\n" in text else None
    return text[: node.start] + _render(value, layout_of(text), prefix) + text[node.end :]


def remove(text: str, container: Node, index: int) -> str:
    """The text without one child and its comma: what `insert` undone looks like."""
    child, last = container.children[index], len(container.children) - 1
    if last == 0:
        return text[: container.start + 1] + text[container.end - 1 :]
    if index == last:
        return text[: container.children[index - 1].end] + text[child.end :]
    return text[: child.at] + text[container.children[index + 1].at :]


def find(root: Node, keys: Iterable[str]) -> Node | None:
    """What stands under the keys, one a level, or None."""
    node: Node | None = root
    for key in keys:
        node = node.child(key) if node else None
    return node


def layout_of(text: str) -> Layout:
    """How the text is written; an empty container gives two spaces, as the client writes."""
    newline = "\r\n" if "\r\n" in text else "\n"
    first = re.match(r'[ \t\r\n]*\{[ \t]*\r?\n([ \t]*)"', text)
    if first:
        return Layout(first[1] or "  ", newline, ": ", ", ")
    if re.fullmatch(r"[ \t\r\n]*\{[ \t\r\n]*\}[ \t\r\n]*", text):
        return Layout("  ", newline, ": ", ", ")
    wide = '": ' in text
    return Layout(None, newline, ": " if wide else ":", ", " if wide else ",")


def _node(text: str, start: int, at: int | None, where: str) -> Node:
    """The value that starts here, of a text known to be valid."""
    mark = text[start]
    at = start if at is None else at
    if mark not in CLOSE:
        value, end = DECODER.raw_decode(text, start)
        return Node(at, start, end, value)
    keys: list[str] = []
    children: list[Node] = []
    end = _skip(text, start + 1)
    while text[end] != CLOSE[mark]:
        if text[end] == ",":
            end = _skip(text, end + 1)
        begin = end
        if mark == "{":
            key, end = DECODER.raw_decode(text, end)
            if key in keys:
                _refuse(where, text.count("\n", 0, begin) + 1, f"the key {key!r} stands twice in one object", None)
            keys.append(key)
            end = _skip(text, _skip(text, end) + 1)
        children.append(_node(text, end, begin, where))
        end = _skip(text, children[-1].end)
    values = [child.value for child in children]
    value = dict(zip(keys, values, strict=True)) if mark == "{" else values
    return Node(at, start, end + 1, value, tuple(keys), tuple(children))


def _skip(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at


def _indent(text: str, at: int) -> str:
    """The white space at the start of the line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _own_line(text: str, at: int) -> str | None:
    """The white space before a value that starts its line; None when something stands before it."""
    line_start = text.rfind("\n", 0, at) + 1
    line = text[line_start:at]
    return line if line_start and not line.strip(" \t") else None


def _render(value: Any, layout: Layout, prefix: str | None) -> str:
    if prefix is None or layout.unit is None:
        return json.dumps(value, ensure_ascii=False, separators=(layout.comma, layout.colon))
    text = json.dumps(value, ensure_ascii=False, indent=layout.unit)
    # A line break inside a string is written as \n, so every real one is ours.
    return text.replace("\n", layout.newline + prefix)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _refuse(where: str, line: int | None, why: str, cause: BaseException | None) -> NoReturn:
    place = where if line is None else f"{where}, line {line}"
    raise SettingsError(f"{place}: {why}; {REMEDY}") from cause
