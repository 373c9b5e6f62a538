"""What stands between the two lines of dashes at the top of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from frontmatter.default_handlers import YAMLHandler

_BLOCK = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"( *)([A-Za-z_][\w-]*):(?:[ \t]+(.*))?")
_QUOTED = re.compile(r"""(["'])(.*)\1""")

# An anchor or alias makes small YAML large, brackets and dashes deep; a block as people write it has few of them.
_COSTLY = re.compile(r"(?:^|[\s\[{,:-])[&*][\w-]|<<|(?:[-?] ){3}", re.MULTILINE)
LONGEST_BLOCK = 16_384
MOST_BRACKETS = 64


def split(text: str) -> tuple[dict[str, str], str]:
    """(fields, body). Fields of a nested mapping are `metadata.type`; without front matter, none and the whole text.

    YAML where it is YAML; else line by line, as Claude reads it.
    """
    block = _BLOCK.match(text)
    if block is None:
        return {}, text
    fields = dict(_lines(block[1]))
    if not fields:
        return {}, text
    return fields | dict(_yaml(block[1])), text[block.end() :]


def _lines(block: str) -> Iterator[tuple[str, str]]:
    """Each `key: rest of line`; two spaces below a key without a rest are its own keys."""
    outer = ""
    for line in block.splitlines():
        found = _LINE.fullmatch(line.rstrip())
        if found is None:
            continue
        indent, key, rest = found[1], found[2], (found[3] or "").strip()
        quoted = _QUOTED.fullmatch(rest)
        if not indent:
            outer = "" if rest else f"{key}."
            yield key, quoted[2] if quoted else rest
        elif len(indent) == 2 and outer:
            yield outer + key, quoted[2] if quoted else rest


def _yaml(block: str) -> Iterator[tuple[str, str]]:
    """The texts in the block, one level down; what YAML takes for a date, a number or a truth is left to the lines."""
    if len(block) > LONGEST_BLOCK or _COSTLY.search(block) or block.count("[") + block.count("{") > MOST_BRACKETS:
        return
    try:
        found: Any = YAMLHandler().load(block)
    except Exception:  # whatever a YAML parser raises at what people write: the lines stand
        return
    for key, value in found.items() if isinstance(found, dict) else ():
        for name, text in (
            ((f"{key}.{inner}", v) for inner, v in value.items()) if isinstance(value, dict) else ((str(key), value),)
        ):
            if isinstance(text, str):
                yield name, text
