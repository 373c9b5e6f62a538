"""What the engine's candidates are worth: which part of the text is a secret, if any."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

RULES_PATH = Path(__file__).with_name("secrets.yaml")

Span = tuple[int, int]
Judge = Callable[[str, int, int], Span | None]
"""(text, start, end of a candidate) → the span to take out, None when it is not a secret."""

_STRONG = re.compile(
    r"passw(?:or)?d|passphrase|_pass$|pwd|[_-]pw$|secret"
    r"|(?:api|access|private|auth|signing|encryption|account|master|service|deploy)[_. -]?key",
    re.IGNORECASE,
)
# Names that speak about a secret, and hold none.
_ABOUT = re.compile(
    r"(?:name|file|path|url|uri|dir|type|kind|count|limit|len|length|size|ids?|exp|expir\w*|ttl|at|in|header|field|input"
    r"|label|prefix|regex|pattern|algo\w*|version|budget|usage|used|arn|ref|hint|min|max|policy|manager|store|provider"
    r"|hash|scope|scopes|enabled|required|rotation|endpoint|index|placeholder|message|error|text|title|help)$"
    r"|tokeni[sz]|(?:max|min|input|output|total|prompt|completion|read|creation|thinking|num|n)_?tokens?$"
    r"|(?:public|primary|foreign|sort|cache|partition|idempotency|composite|dict|map|object|row|group)[_-]?key",
    re.IGNORECASE,
)
# Read backwards from the value: anchored there, or every candidate costs a search.
_NAME_BACKWARDS = re.compile(r"((?:[a-fA-F0-9]{2}%|[^A-Za-z0-9_]){1,20})([A-Za-z0-9_.\-]+)")
_REFERENCE = re.compile(
    r"\$|[<{(\[%]{1,2}[A-Za-z_.\[ ]|\.\.\.|[A-Za-z_][\w.]*[(\[]|[^A-Za-z0-9]*$"
    r"|(?:self|this|config|settings|process|os|env|args|opts|options|props|req|request|params|data|import|secrets|vars)\."
    r"|(?:your|my|the|an?|some|change|replace|insert|enter|example|dummy|fake|placeholder|redacted|x{3,})[_\- ]?"
    r"(?:$|your|my|key|secret|token|pass|api|me|here|[_\-])",
    re.IGNORECASE,
)
_WORDS = frozenset(
    "string str text none null true false undefined required optional number integer int bytes bool boolean object any "
    "unknown never password passwd passphrase secret token apikey api_key hidden default function async await return "
    "value values field missing invalid expired bearer basic public private import export const static readonly "
    "enabled disabled username example incorrect changed wrong session_token access_token refresh_token".split()
)
_CLASSES = re.compile(r"[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]+")
_CUT = re.compile(r"[,;&<>]")
_TAIL = re.compile(r"[^\s\"'`\\]*")


def is_random(value: str) -> bool:
    """Does it look drawn and not written: long, letters with digits, the kind of character changing often."""
    if len(value) < 16 or not any(c.isdigit() for c in value) or not any(c.isalpha() for c in value):
        return False
    return len(_CLASSES.findall(value)) >= 0.28 * len(value)


def mixed(text: str, start: int, end: int) -> Span | None:
    """The candidate itself when it looks drawn: `sk-…` is also a prefix of style sheets."""
    return (start, end) if is_random(text[start:end]) else None


def any_digit(text: str, start: int, end: int) -> Span | None:
    """The candidate itself when it is more than words: `basic authentication` is prose."""
    value = text[start:end]
    return (start, end) if any(c.isdigit() for c in value) or value.endswith("=") or _is_cased(value) else None


def literal(text: str, start: int, end: int) -> Span | None:
    """The candidate unless it is a reference or a placeholder (`$TOKEN`, `<password>`, `{pw}`, `***`)."""
    return None if _REFERENCE.match(text[start:end]) else (start, end)


def assigned(text: str, start: int, end: int) -> Span | None:
    """The value of a name that speaks of a secret, judged by name, form and value together.

    `PASSWORD=hunter22`, `"api_key": "…"` and `foo_token: <40 random>` are; `password: string`, `token=next_token()`
    and `max_tokens: 4096` are not.
    """
    name, before = _name_before(text, start)
    shouted = name.upper() == name and not re.search(r"[ \t]$", before)
    quoted = bool(re.search(r"[\"'`]$|%22$", before))
    value = text[start:end].rstrip(".)]}:,;")
    if not (quoted or shouted):
        value = _CUT.split(value, maxsplit=1)[0].rstrip(".)]}:")
    if value[:1] in ",;&<>)|":
        return None
    if len(value) < 4 or _REFERENCE.match(value) or value.lower() in _WORDS:
        return None
    random = is_random(value)
    if _ABOUT.search(name):
        return (start, start + len(value)) if random and _STRONG.search(name) else None
    strong = _STRONG.search(name) is not None
    if not (random or _is_literal(value, strong=strong, quoted=quoted, shouted=shouted)):
        return None
    if quoted and not random and re.match(r"[ \t]", text[end : end + 1]):
        return None
    if (quoted or shouted) and not before.startswith("%"):
        found = _TAIL.match(text, end)
        return (start, max(start + len(value), found.end() if found else end))
    return (start, start + len(value))


def _name_before(text: str, start: int) -> tuple[str, str]:
    found = _NAME_BACKWARDS.match(text[max(0, start - 120) : start][::-1])
    return (found.group(2)[::-1], found.group(1)[::-1]) if found else ("", "")


def _is_literal(value: str, *, strong: bool, quoted: bool, shouted: bool) -> bool:
    if value.isdigit():
        return strong and (quoted or shouted) and len(value) >= 6
    if re.fullmatch(r"\.{0,2}/[\w./\-]*|~/[\w./\-]+|[a-z]+://\S*", value):
        return False
    digits = any(c.isdigit() for c in value)
    symbols = re.search(r"[^A-Za-z0-9_.\-/:]", value) is not None
    if shouted:
        return len(value) >= (6 if strong else 12)
    if strong and quoted:
        return len(value) >= 6 and not re.fullmatch(r"[a-z]+(?:[._\-][a-z]+)+", value)
    if strong:
        return len(value) >= 6 and (digits or symbols) and not re.search(r"[(){}\[\]|]", value)
    return quoted and len(value) >= 20 and digits and not re.fullmatch(r"[a-z0-9]+(?:[._\-/][a-z0-9]+)+", value)


def _is_cased(value: str) -> bool:
    return len(value) >= 16 and len(_CLASSES.findall(value)) >= 0.3 * len(value)


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
_PRIVATE = re.compile(r"<(/?)private(?:\s[^<>]{0,80})?>", re.IGNORECASE)


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


JUDGES: Mapping[str, Judge] = {
    "assign": assigned,
    "named-value": literal,
    "flag": literal,
    "curl-user": literal,
    "sshpass": literal,
    "netrc": literal,
    "authorization": literal,
    "bearer": any_digit,
    "basic": any_digit,
    "url-password": literal,
    "url-user": mixed,
    "sk": mixed,
    "mark-key": key_block,
    "mark-putty": putty_lines,
    "mark-base64": base64_run,
}
"""Kinds whose candidates need a second look; every other rule's find is a secret as it is."""

NAMES: Mapping[str, str] = {
    "assign": "secret",
    "named-value": "secret",
    "flag": "secret",
    "curl-user": "password",
    "sshpass": "password",
    "netrc": "password",
    "url-password": "password",
    "url-user": "token",
    "bearer": "authorization",
    "basic": "authorization",
    "sk": "api-key",
    "mark-key": "private-key",
    "mark-putty": "private-key",
}
"""Kind of rule → the word in the placeholder, where it is another one."""
