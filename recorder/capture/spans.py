"""Secrets that reach over lines: keys, letters for bytes, cookies, Kubernetes secrets, private spans."""

from __future__ import annotations

import re
from collections.abc import Iterator

from recorder.capture.values import REFERENCE, is_random

Span = tuple[int, int]

# A key block, also numbered by a file viewer, behind diff signs, or with its line ends escaped; torn ones end with the
# last line that looks like key material.
_KEY_LINE = r"(?:\\+[nrt]|[\s\"',+\-|>→:\\]|\b\d{1,5}[→:|\t])*"
_KEY = re.compile(
    r"-----BEGIN ([A-Z0-9 ]{0,40})PRIVATE KEY[A-Z ]{0,8}-----"
    r"(?:[^-]{0,20000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,8}-----"
    rf"|(?:{_KEY_LINE}(?:(?:Proc-Type|DEK-Info|Version|Comment): ?[^\n\\]{{0,100}}|[A-Za-z0-9+/=]{{16,}}))*"
    rf"(?:{_KEY_LINE}[A-Za-z0-9+/=]{{1,15}}(?![A-Za-z]))?)"
)
_PUTTY = re.compile(r"Private-Lines: ?\d+(?:\\+[nr]|\s|[A-Za-z0-9+/=]{40,64})*(?:[A-Za-z0-9+/=]+)?")
_BASE64 = re.compile(r"[A-Za-z0-9+/=_\-]*(?:(?:\\n|\s)[A-Za-z0-9+/=]{40,})*")
_PRIVATE = re.compile(
    r"(?:<|&lt;|&#0?60;|\\u003c)\s{0,3}(/?)\s{0,3}private(?:\s[^<>]{0,80}?)?\s{0,3}(?:>|&gt;|&#0?62;|\\u003e)",
    re.IGNORECASE,
)
_COOKIE = re.compile(r"(?P<name>[A-Za-z0-9_.\-]+)=(?P<value>[^\s;,\"'\\]{6,})")
_SESSION_NAME = re.compile(r"sess|sid$|auth|token|jwt|csrf|xsrf|remember|login|credential|identity|_id$", re.IGNORECASE)
_ATTRIBUTES = frozenset("path domain expires max-age samesite version priority comment".split())
_DOCUMENT_END = re.compile(r"\n---|(?:\b|(?<=\\n))kind[\"'\\]{0,4}: {0,2}|(?:\b|(?<=\\n))apiVersion")
_DATA = re.compile(r"(?:\b|(?<=\\n))(?:stringData|data)[\"'\\]{0,4}:(?P<open>[ \t]{0,4}\{)?(?:\\+n|\s)*")
_ENTRY = re.compile(
    r"(?:\\+n|[\s,])*[\"'\\]{0,4}(?P<name>[A-Za-z0-9_.\-]+)[\"'\\]{0,4}:[ \t]{0,4}[\"'\\]{0,4}"
    r"(?P<value>[^\s\"'\\,{}]{2,})[\"'\\]{0,4}"
)
_REACH = 20_000


def key_block(text: str, start: int, end: int) -> Span | None:
    """The whole key from its BEGIN line on."""
    found = _KEY.match(text, start)
    return found.span() if found else None


def putty_lines(text: str, start: int, end: int) -> Span | None:
    """The private lines of a PuTTY key file."""
    found = _PUTTY.match(text, start)
    return found.span() if found else None


def base64_run(text: str, start: int, end: int) -> Span | None:
    """What follows `data:…;base64,`, without that."""
    found = _BASE64.match(text, end)
    return found.span() if found and found.end() - found.start() >= 16 else None


def cookies(text: str, start: int, end: int) -> Iterator[Span]:
    """The values of a cookie header that look drawn or carry a session's name."""
    line = re.compile(r"[^\n\"'\\]{0,4000}").match(text, end)
    for pair in _COOKIE.finditer(text, end, line.end() if line else end):
        if pair["name"].lower() in _ATTRIBUTES or REFERENCE.match(pair["value"]):
            continue
        if is_random(pair["value"]) or _SESSION_NAME.search(pair["name"]):
            yield pair.span("value")


def kubernetes_values(text: str, start: int, end: int) -> Iterator[Span]:
    """Every value under `data` and `stringData` of the secret this `kind` belongs to, before it or behind it."""
    after = _DOCUMENT_END.search(text, end, end + _REACH)
    behind = list(_data(text, end, after.start() if after else end + _REACH))
    if behind:
        yield from behind
        return
    ends = [found.end() for found in _DOCUMENT_END.finditer(text, max(0, start - _REACH), start)]
    yield from _data(text, ends[-1] if ends else max(0, start - _REACH), start)


def _data(text: str, start: int, end: int) -> Iterator[Span]:
    for block in _DATA.finditer(text, start, end):
        position = block.end()
        indent = _indent(text, position)
        while (entry := _ENTRY.match(text, position, end)) is not None:
            if not block["open"] and _indent(text, entry.start("name")) < indent:
                break
            if entry["value"][0] not in "[$<|>":
                yield entry.span("value")
            position = entry.end()


def _indent(text: str, position: int) -> int:
    """How far the place is from the start of its line; quotes do not count."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return len(line.rstrip("\"'"))


def without_private(text: str) -> str:
    """The text with every private span as `[private]`; nested ones are one, an unclosed one reaches the end."""
    kept: list[str] = []
    depth = position = 0
    for tag in _PRIVATE.finditer(text):
        closing = bool(tag.group(1))
        if depth == 0 and closing:
            continue
        if depth == 0:
            kept += [text[position : tag.start()], "[private]"]
        depth += -1 if closing else 1
        position = tag.end()
    return "".join(kept) + ("" if depth else text[position:])
