"""MEMORY.md cut into what it says."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

# What the client loads of it (2.1.197; https://code.claude.com/docs/en/memory).
MOST_LINES = 200
MOST_BYTES = 25_000

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*")
_BULLET = re.compile(r" ?(?:[-*+]|\d{1,3}[.)])[ \t]+(.*)")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_RULE = re.compile(r"\s*(?:(?:[-*_][ \t]*){3,}|<!--.*-->)\s*")
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(\s*<?([^()<>\s]+\.md)(?:#[^)>]*)?>?\s*\)", re.IGNORECASE)
_NESTED = re.compile(r"\s+(?:[-*+]|\d{1,3}[.)])[ \t]|\s*(?:`{3,}|~{3,}|\|)")


@dataclass(slots=True)
class Block:
    """Lines that belong together, and the headings they stand under."""

    path: tuple[str, ...]
    lines: list[str] = field(default_factory=list)
    bullet: bool = False

    @property
    def value(self) -> str:
        """The lines below their headings."""
        text = "\n".join(self.lines).strip("\n")
        return f"{' › '.join(self.path)}\n{text}" if self.path else text

    @property
    def said(self) -> str:
        """The end of the value: without the headings, and without the mark of a bullet."""
        text = "\n".join(self.lines).strip("\n")
        bullet = _BULLET.match(text) if self.bullet else None
        return text[bullet.start(1) :] if bullet else text


def entries(text: str, files: Collection[str]) -> list[tuple[str, str, str]]:
    """(name, value, what it says without headings) of everything that stands in no file of its own. `files`: the names
    of those there are.

    Names are the first words, numbered where they repeat; what is said twice in one place is there once.
    """
    found: dict[str, tuple[str, str]] = {}
    for block in _blocks(text):
        if _points_at_files(block, files):
            continue
        value = block.value, block.said
        stem = name = f"MEMORY#{_slug(block.lines)}"
        number = 1
        while found.get(name, value) != value:
            number += 1
            name = f"{stem}-{number}"
        found[name] = value
    return [(name, value, said) for name, (value, said) in found.items()]


def lines_beyond(text: str) -> int:
    """How many lines with something on them the client does not load."""
    beyond = size = 0
    for number, line in enumerate(text.strip().split("\n"), 1):
        size += len(line.encode("utf-8", "replace")) + 1
        if (number > MOST_LINES or size - 1 > MOST_BYTES) and line.strip():
            beyond += 1
    return beyond


def _blocks(text: str) -> Iterator[Block]:
    path: dict[int, str] = {}
    block: Block | None = None  # what is being read
    last: Block | None = None  # what was read before it in the same section: a code fence may belong to it
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            assert block is not None
            block.lines.append(line)
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if mark:
            if block is None:
                block, last = last or Block(_headings(path)), None
                block.lines += [""] if block.lines else []
            block.lines.append(line)
            fence = mark[1]
            continue
        heading = _HEADING.fullmatch(line)
        bullet = _BULLET.fullmatch(line)
        if not line.strip() or _RULE.fullmatch(line):
            if last is not None and block is not None and _says_something(last):
                yield last
            block, last = None, block or last
            continue
        if block is None and last is not None and last.bullet and line[:2].isspace() and not heading:
            block, last = last, None
            block.lines.append("")
        if heading or bullet or block is None:
            for done in (last, block):
                if done is not None and _says_something(done):
                    yield done
            block = last = None
        if heading:
            level = len(heading[1])
            path = {n: title for n, title in path.items() if n < level} | {level: heading[2].strip()}
            continue
        block = block or Block(_headings(path), bullet=bullet is not None)
        block.lines.append(line.rstrip())
    for done in (last, block):
        if done is not None and _says_something(done):
            yield done


def _headings(path: dict[int, str]) -> tuple[str, ...]:
    return tuple(title for _, title in sorted(path.items()) if title)


def _says_something(block: Block) -> bool:
    return any(re.search(r"\w", line) for line in block.lines)


def _points_at_files(block: Block, files: Collection[str]) -> bool:
    """Whether the block is a line of the index, `- [Title](file.md) — hook`, and nothing but the hook goes on below."""
    bullet = _BULLET.fullmatch(block.lines[0]) if block.bullet else None
    if bullet is None or not _LINK.match(bullet[1]) or any(_NESTED.match(line) for line in block.lines[1:]):
        return False
    return all(unquote(name).removeprefix("./") in files for _, name in _LINK.findall(bullet[1]))


def _slug(lines: list[str]) -> str:
    words = re.findall(r"\w+", _LINK.sub(r"\1", " ".join(lines)).lower())
    return "-".join(words[:6])[:60].strip("-")
