"""Stored text as a page may show it: whole, readable, and with no effect on its reader."""

from __future__ import annotations

import difflib
import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from recorder.counted import many

SHOWN_CHARS = 4_000
DIFF_CHARS = 20_000
"""Beyond this, a difference is told line by line and not word by word."""

# Controls but tab and newline; marks that turn the direction of text; what takes no room; tags; halves of characters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff\ud800-\udfff]"
)
_MARKED = re.compile(
    rf"(?P<redacted>\[redacted:[\w.-]{{1,60}}\]|\[private\]|\[ignored path\]|\[base64 \d+ bytes\])|{_UNSEEN.pattern}"
)
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")


def part(text: object) -> str:
    """A text as one part of an address, its slashes too."""
    return quote(str(text), safe="")


def seen(text: object, most: int = SHOWN_CHARS) -> Markup:
    """Text as HTML: what cannot be seen is named, redactions are marked, and what is beyond `most` is counted."""
    whole = str(text)
    parts, at = [], 0
    shown = whole[:most]
    for found in _MARKED.finditer(shown):
        parts.append(escape(shown[at : found.start()]))
        parts.append(_redacted(found[0]) if found["redacted"] else _named(found[0]))
        at = found.end()
    parts.append(escape(shown[at:]))
    if len(whole) > most:
        parts.append(Markup('<span class="cut"> … {} more characters</span>').format(f"{len(whole) - most:,}"))
    return Markup("").join(parts)


def sentence(text: str) -> str:
    """A message as a sentence of its own: with a capital, and its code in quotes."""
    said = text.replace("`", "“", 1).replace("`", "”", 1) if text.count("`") == 2 else text
    return said[:1].upper() + said[1:] + ("" if said.endswith((".", "!", "?", "”")) else ".")


def line(text: object, most: int = 160) -> Markup:
    """The start of a text on one line."""
    return seen(short(text, most), most + 1)


def short(text: object, most: int) -> str:
    """The start of a text on one line, as text."""
    flat = " ".join(str(text)[: 8 * most].split())
    return flat if len(flat) <= most else f"{flat[: most - 1].rstrip()}…"


def plain(text: object, most: int = 200) -> str:
    """A text for an attribute or a title: one line, what cannot be seen left out."""
    return short(_UNSEEN.sub("", str(text)[: 8 * most]), most)


def _redacted(text: str) -> Markup:
    return Markup('<mark class="redacted" title="taken out before it was stored">{}</mark>').format(text)


def _named(character: str) -> Markup:
    code = ord(character)
    name = chr(0x2400 + code) if code < 0x20 else f"U+{code:04X}"
    return Markup('<span class="unseen" title="U+{}">{}</span>').format(f"{code:04X}", name)


def when(at_ms: int | None) -> str:
    """Local date and time, to the minute."""
    if at_ms is None:
        return "–"
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_ms / 1000))
    except (ValueError, OverflowError, OSError):  # a time no calendar has
        return "unknown"


def day(at_ms: int | None) -> str:
    """Local date."""
    return when(at_ms)[:10]


def clock(at_ms: int) -> str:
    """Local time, to the second."""
    return when(at_ms)[-5:] + time.strftime(":%S", time.localtime(at_ms / 1000)) if when(at_ms) != "unknown" else "–"


def moment(at_ms: int, now_ms: int) -> str:
    """Local time, to the second; with its date where that is another than today's."""
    return clock(at_ms) if day(at_ms) == day(now_ms) else f"{day(at_ms)} {clock(at_ms)}"


def span(ms: int) -> str:
    """How long: `45 s`, `12 min`, `3 h`, `5 d`."""
    seconds = max(ms, 0) // 1000
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {name}"
    return f"{seconds} s"


def number(value: float) -> str:
    """A number with its thousands apart."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def difference(old: str, new: str) -> Markup:
    """What was taken out and put in, word by word; line by line where it is long."""
    before, after = _tokens(old), _tokens(new)
    parts = []
    for verb, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if verb == "equal":
            parts.append(seen("".join(before[a:b]), DIFF_CHARS))
        if verb in ("replace", "delete"):
            parts.append(Markup("<del>{}</del>").format(seen("".join(before[a:b]), DIFF_CHARS)))
        if verb in ("replace", "insert"):
            parts.append(Markup("<ins>{}</ins>").format(seen("".join(after[c:d]), DIFF_CHARS)))
    return Markup("").join(parts)


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text) if len(text) <= DIFF_CHARS else text[: 50 * DIFF_CHARS].splitlines(keepends=True)


def fields(value: Any) -> Iterator[tuple[str, str]]:
    """(name, text) of what stands in a body: strings as they are, anything else as JSON."""
    if isinstance(value, str):
        yield "", value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if inner is not None and inner != "" and inner is not False and inner != []:
                yield str(name), inner if isinstance(inner, str) else _json(inner)
    elif value is not None:
        yield "", _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def unseen(text: str) -> int:
    """How many characters of a text cannot be seen."""
    return len(_UNSEEN.findall(text))


FILTERS = {
    "seen": seen,
    "sentence": sentence,
    "line": line,
    "plain": plain,
    "when": when,
    "clock": clock,
    "moment": moment,
    "span": span,
    "number": number,
    "many": many,
    "part": part,
    "day": day,
    "fields": fields,
    "unseen": unseen,
}
