"""Output that shows several files in turn: searches, diffs, `head` and `tail`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Names = Callable[[str], bool]
"""Does this word name a file whose content is to be left out?"""

IGNORED = "[ignored path]"

_COLOUR = r"(?:\x1b\[[0-9;]*[mK])*"
_ANY_COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")
_FOUND_LINE = re.compile(r"^(?P<path>[^\s:][^:\n]{0,400}?)(?P<sep>[:\-]\d+[:\-]|:)(?P<rest>.+)$", re.MULTILINE)
_NUMBERED = re.compile(rf"{_COLOUR}\d+{_COLOUR}[:\-]")
_DIFF_PATH = r" \"?(?:[abciwo]/)?(?P<path>[^\t\"\x1b\r]+)"
_DIFF_OLD = re.compile(rf"{_COLOUR}---{_DIFF_PATH}")
_DIFF_NEW = re.compile(rf"{_COLOUR}\+\+\+{_DIFF_PATH}")
_DIFF_HEAD = re.compile(rf"{_COLOUR}(?:diff --|Index: |commit [0-9a-f]{{7}})")
_DIFF_BODY = re.compile(rf"{_COLOUR}[+\-@ \\]|{_COLOUR}$")
_SECTION = re.compile(r"==> (?P<path>.+) <==$")


def without_found(text: str, names: Names) -> str:
    """A search's output without the lines found in such files; their names stay."""

    def line(found: re.Match[str]) -> str:
        path = _ANY_COLOUR.sub("", found["path"])
        if names(path):
            return f"{found['path']}{found['sep']}{IGNORED}"
        # Behind a revision: `HEAD:.env:1:…`.
        inner, sep, _ = found["rest"].partition(":")
        return f"{found['path']}{found['sep']}{inner}{sep}{IGNORED}" if sep and names(inner) else found[0]

    return "\n".join(_without_headed(_FOUND_LINE.sub(line, text).split("\n"), names))


def _without_headed(lines: list[str], names: Names) -> Iterator[str]:
    """The lines without the numbered ones below the name of such a file."""
    hidden = False
    for line in lines:
        if hidden and (found := _NUMBERED.match(line)):
            yield f"{found[0]}{IGNORED}"
            continue
        plain = _ANY_COLOUR.sub("", line)
        hidden = hidden and plain == "--" or " " not in plain and names(plain)
        yield line


def without_sections(text: str, names: Names) -> str:
    """Output without the parts of such files: the hunks of a diff, what `head` and `tail` show of each."""
    if not any(names(word) for head in _heads(text) for word in head.split()):
        return text
    kept: list[str] = []
    in_diff = in_section = False
    lines = text.split("\n")
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        # Two heads stand together, which lines taken out of a file do not.
        old, new = _DIFF_OLD.match(line), _DIFF_NEW.match(following)
        if section := _SECTION.match(line):
            in_section, in_diff = names(section["path"]), False
        elif _DIFF_HEAD.match(line):
            in_diff = in_section = False
        elif old and new:
            in_diff = names(_path(old)) or names(_path(new))
        elif in_diff and kept[-1:] and _DIFF_OLD.match(kept[-1]) and _DIFF_NEW.match(line):
            pass
        elif in_section or (in_diff and _DIFF_BODY.match(line)):
            if kept[-1] != IGNORED:
                kept.append(IGNORED)
            continue
        else:
            in_diff = False
        kept.append(line)
    return "\n".join(kept)


def _heads(text: str) -> Iterator[str]:
    """What could name a part's file: each line with the mark of one, and the line before; found without a pattern,
    for most output has none in a megabyte."""
    for mark in ("+++ ", "==> "):
        at = text.find(mark)
        while at >= 0:
            line = text.rfind("\n", 0, at)
            end = text.find("\n", at)
            end = end if end >= 0 else len(text)
            lines = text[text.rfind("\n", 0, max(line, 0)) + 1 : end]
            yield _ANY_COLOUR.sub("", lines).replace('"', " ")
            at = text.find(mark, end)


def _path(found: re.Match[str]) -> str:
    return re.sub(r" \([^()]*\)$", "", found["path"]).strip()
