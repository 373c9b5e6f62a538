"""What the engine's candidates are worth: which part of the text is a secret, if any."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from recorder.capture import spans
from recorder.capture.values import (
    REFERENCE,
    WORDS,
    changes,
    is_drawn_part,
    is_identity,
    is_mixed,
    is_number,
    is_place,
    is_random,
    is_scrambled,
    is_told,
)

RULES_PATH = Path(__file__).with_name("secrets.yaml")

Span = tuple[int, int]
Judge = Callable[[str, int, int], Span | None]
"""(text, start, end of a candidate) → the span to take out, None when it is not a secret."""

_STRONG = re.compile(
    r"passw(?:or)?[dt]|kennwort|passphrase|(?:^|[_\-.])pass$|[a-z](?-i:Pass)$|pwd|psk$|creds?$|(?:^|[_-])pw$|secret"
    r"|(?:api|access|private|auth|signing|encryption|account|master|service|deploy|subscription)[_. -]?key",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"token[_\-]?\d*$", re.IGNORECASE)
# Names that speak about a secret, and hold none: the last word of them, wherever a word may begin.
_ABOUT = re.compile(
    r"(?:^|[_.\-]|(?-i:(?<=[a-z])(?=[A-Z]))|(?<=token)|(?<=secret)|(?<=password)|(?<=passwd)|(?<=key)|(?<=pwd)|(?<=auth))"
    r"(?:name|file|path|url|uri|dir|type|kind|count|limit|len|length|size|ids?|exp|expir\w*|ttl|at|in|header|field|input"
    r"|label|prefix|regex|pattern|algo\w*|version|budget|usage|used|arn|ref|hint|min|max|policy|manager|store|provider"
    r"|hash|scope|scopes|enabled|required|rotation|endpoint|index|placeholder|message|error|text|title|help|mode|method"
    r"|domain|server|backends?|strategy|realm|audience|issuer)$"
    r"|\.(?:py|[jt]sx?|go|rs|rb|java|kt|cs|c|h|cpp|php|sh|md|rst|txt|html|css|sql|toml|ini|lock|log)$",
    re.IGNORECASE,
)
# Names that count tokens, when their value is short: a session token is none.
_COUNTER = re.compile(
    r"^(?:max|min|input|output|total|prompt|completion|read|creation|thinking|num|n)[_\-]?tokens?$|tokens$",
    re.IGNORECASE,
)
_KEY_OF_DATA = re.compile(
    r"(?:public|primary|foreign|sort|cache|partition|idempotency|composite|dict|map|object|row|group)[_-]?key",
    re.IGNORECASE,
)
# Read backwards from the value: anchored there, or every candidate costs a search.
_NAME_BACKWARDS = re.compile(r"((?:[a-fA-F0-9]{2}%|[^A-Za-z0-9_]){1,20})([A-Za-z0-9_.\-]+)")
_CUT = re.compile(r"[,;&<>]")
_TAIL = re.compile(r"[^\s\"'`\\]*")
_SPOKEN = re.compile(r"[^\s]+")
_LINKS = frozenset("is was be are to as now with equals = : -> =>".split())


def mixed(text: str, start: int, end: int) -> Span | None:
    """The candidate itself when it looks drawn: `sk-…` is also a prefix of style sheets."""
    return (start, end) if is_random(text[start:end]) else None


def any_digit(text: str, start: int, end: int) -> Span | None:
    """The candidate itself when it is more than words: `basic authentication` is prose."""
    value = text[start:end]
    cased = len(value) >= 16 and changes(value) >= 0.3
    return (start, end) if cased or any(c.isdigit() for c in value) or value.endswith("=") else None


def literal(text: str, start: int, end: int) -> Span | None:
    """The candidate unless it is a reference or a placeholder (`$TOKEN`, `<password>`, `{pw}`, `***`)."""
    return None if REFERENCE.match(text[start:end]) else (start, end)


def worded(text: str, start: int, end: int) -> Span | None:
    """The candidate unless it is a reference, or a word that programs and forms put in such a place."""
    value = text[start:end]
    return None if value.lower() in WORDS or REFERENCE.match(value) or is_number(value) else (start, end)


def told(text: str, start: int, end: int) -> Span | None:
    """The candidate when it has the digits, signs or mixed case of a password."""
    return (start, end) if is_told(text[start:end]) else None


def in_table(text: str, start: int, end: int) -> Span | None:
    """The cell beside the one with a secret's name."""
    return told(text, start, end) if re.search(r"\|[^|\n]*\|[ \t*`]*$", text[max(0, start - 200) : start]) else None


def beside(text: str, start: int, end: int) -> Span | None:
    """The value of a pair such as `"name": "DB_PASSWORD", "value": "…"`."""
    named = re.search(
        r"(?i)(?:name|key|id|property)[\"'\\]{0,8}\s?[:=]\s?[\"'\\]{0,8}[\w.:\-]*[\"'\\]{0,8},?\s{1,20}"
        r"[\"'\\]{0,8}value\W*$",
        text[max(0, start - 200) : start],
    )
    return literal(text, start, end) if named else None


def in_pgpass(text: str, start: int, end: int) -> Span | None:
    """The last field of `host:port:database:user:password`."""
    line = text[max(text.rfind("\n", 0, start), start - 260) + 1 : start]
    host = re.search(r"(?:[A-Za-z0-9.\-]+|\*)(?::[^\s:]+){3}:$", line)
    return told(text, start, end) if host else None


def flagged(text: str, start: int, end: int) -> Span | None:
    """The value of a command-line flag; another flag is none, nor is what a sentence about the flag goes on with."""
    value = text[start:end]
    if REFERENCE.match(value) or re.match(r"--?[A-Za-z]", value):
        return None
    if text[start - 1] in "=\"'\n" or not value.rstrip(".,;:)").isalpha():
        return (start, end)
    return None if value.lower().rstrip(".,;:)") in _AFTER_FLAG else (start, end)


_AFTER_FLAG = WORDS | frozenset(
    "flag flags option options argument arguments parameter parameters switch when with from instead that which this "
    "then should must will does have been were must only also because file prompt takes into unless works".split()
)


def spaced(text: str, start: int, end: int) -> Span | None:
    """What stands after the name of a secret and a space, when it looks drawn and does not merely name something."""
    value = text[start:end].rstrip(".")
    if not any(is_drawn_part(part) for part in re.split(r"[/.:=]", value)):
        return None
    name, _ = _name_before(text, start)
    if is_identity(value) and (value[:6].lower() in ("toolu_", "srvtoo") or not re.search(r"[_-]|^[A-Z]+$", name)):
        return None
    return (start, start + len(value))


def spoken(text: str, start: int, end: int) -> Span | None:
    """The password a sentence tells: right behind the word, or behind an `is`, a `to`, a colon."""
    line = text[end : end + 200].split("\n", 1)[0]
    password = text[start:end].lower().lstrip("\"'`* ").startswith(("pass", "pw", "kenn"))
    linked = not password
    for count, found in enumerate(_SPOKEN.finditer(line)):
        word = found[0]
        value = word.strip("\"'`*.,;:!?()“”")
        least = 6 if password else 12
        drawn = is_told(value, least=least if linked else 8) and (password or re.search(r"\d", value) is not None)
        if count < 7 and (linked or count == 0) and drawn:
            at = end + found.start() + word.index(value)
            return (at, at + len(value))
        if linked and password and value.isdigit() and len(value) >= 6:
            at = end + found.start() + word.index(value)
            return (at, at + len(value))
        if count >= 6 or not password or (word[-1] in ".,;!?" and len(word) > 1):
            return None
        linked = word.rstrip(":=").lower() in _LINKS or word[-1] in ":="
    return None


def in_element(text: str, start: int, end: int) -> Span | None:
    """The text of an XML element whose name speaks of a secret."""
    names = re.findall(r"(?:<|&lt;)([A-Za-z][\w:.\-]*)", text[max(0, start - 300) : start])
    name = names[-1].rpartition(":")[2] if names else ""
    if _ABOUT.search(name) or worded(text, start, end) is None:
        return None
    return (start, end) if _STRONG.search(name) or is_random(text[start:end]) else None


def argument(text: str, start: int, end: int) -> Span | None:
    """The string given behind the name of a secret, as in `define('DB_PASSWORD', '…')`."""
    value = text[start:end]
    name, _ = _name_before(text, start)
    if _ABOUT.search(name) or _KEY_OF_DATA.search(name):
        return None
    defined = re.search(r"(?i)(?:define|setenv|putenv|setproperty)\(\s*\\?[\"']?[\w.\-]*\W{1,8}$", text[:start][-100:])
    return worded(text, start, end) if defined else (start, end) if is_told(value) else None


def in_quotes(text: str, start: int, end: int) -> Span | None:
    """What a statement to a database takes as a password: anything in quotes, else what is no word."""
    return literal(text, start, end) if text[start - 1] in "\"'" else told(text, start, end)


def credentials(text: str, start: int, end: int) -> Span | None:
    """Letters that hold `user:password`, or look drawn."""
    value = text[start:end]
    try:
        inside = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return (start, end) if b":" in inside or is_random(value) else None


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
    if len(value) < 4 or REFERENCE.match(value) or value.lower() in WORDS:
        return None
    random = is_random(value) and not is_place(value)
    strong = _STRONG.search(name) is not None
    if _speaks_about(name, value, random=random, strong=strong):
        return None
    listed = not (quoted or shouted) and _is_listed(text, start, end, name)
    token = _TOKEN.search(name) is not None and is_mixed(value)
    if not (random or token or _is_literal(value, strong=strong, quoted=quoted or listed, shouted=shouted)):
        return None
    if name == "PASS" and ":" in before:
        return None
    if quoted and not random and re.match(r"[ \t]", text[end : end + 1]):
        return None
    if (quoted or shouted) and not before.startswith("%"):
        found = _TAIL.match(text, end)
        return (start, max(start + len(value), found.end() if found else end))
    return (start, start + len(value))


def phrase(text: str, start: int, end: int) -> Span | None:
    """What stands in quotes behind the name of a password, with spaces in it; a path, a template or a label is none."""
    opened = re.search(r"\\*[\"']$", text[start:end])
    line = text[end : end + 210].split("\n", 1)[0]
    at = line.find(opened[0]) if opened else -1
    value = line[: max(at, 0)]
    if not 6 <= len(value) <= 200 or " " not in value or "[redacted:" in value:
        return None
    if _TEMPLATE.search(value) or re.match(r"[/~]|[A-Za-z]:\\", value):
        return None
    label = value[-1] in ".!?:…" or _LABEL.search(value) is not None
    return None if label and not any(is_told(word.rstrip(".,;:!?")) for word in value.split()) else (end, end + at)


_TEMPLATE = re.compile(r"^\$\w|[$#]\{|\$\(|\{\{|%[(s]|\{[A-Za-z_][\w.]*\}|<[A-Za-z][\w \-]*>")
_LABEL = re.compile(
    r"passw|passphrase|\b(?:required|enter|must|invalid|incorrect|wrong|missing|too short|too long|at least|characters"
    r"|forgot|reset|change|cannot|should|please|optional|your|here|placeholder|example|confirm|match|field)\b",
    re.IGNORECASE,
)


def _speaks_about(name: str, value: str, *, random: bool, strong: bool) -> bool:
    """Is this a name that holds no secret? Not when the value looks drawn, unless that is what such names hold."""
    if _KEY_OF_DATA.search(name) or re.search(r"tokeni[sz]", name, re.IGNORECASE):
        return not (random and strong)
    if _COUNTER.search(name):
        return not random and (value.isdigit() or len(value) < 16)
    return _ABOUT.search(name) is not None and not (random and (strong or not is_identity(value)))


def _is_listed(text: str, start: int, end: int, name: str) -> bool:
    """Does it stand in a connection string, `Server=db;Password=…;`?"""
    at = text.rfind(name, max(0, start - 60), start)
    return re.search(r"=[^\s=;]{1,200};\s?(?:\w+ )?$", text[max(0, at - 220) : at]) is not None


def _name_before(text: str, start: int) -> tuple[str, str]:
    found = _NAME_BACKWARDS.match(text[max(0, start - 120) : start][::-1])
    return (found.group(2)[::-1], found.group(1)[::-1]) if found else ("", "")


def _is_literal(value: str, *, strong: bool, quoted: bool, shouted: bool) -> bool:
    if value.isdigit():
        return strong and (quoted or shouted) and len(value) >= 6
    if is_place(value) or (is_number(value) and not quoted):
        return False
    if re.fullmatch(r"[A-Z]{2,}(?:_[A-Z]+)+" if strong else r"[A-Z]{2,}(?:_[A-Z]+)+|[a-z]+(?:-[a-z]+)+", value):
        return False
    digits = any(c.isdigit() for c in value)
    symbols = re.search(r"[^A-Za-z0-9_.\-/:]", value) is not None
    if shouted:
        return len(value) >= (6 if strong else 12)
    if strong and quoted:
        return len(value) >= 6 and not re.fullmatch(r"[a-z]+(?:[._\-][a-z]+)+", value)
    if strong:
        return is_scrambled(value) or (len(value) >= 6 and (digits or symbols) and not re.search(r"[(){}\[\]|]", value))
    return quoted and len(value) >= 20 and digits and not re.fullmatch(r"[a-z0-9]+(?:[._\-/][a-z0-9]+)+", value)


JUDGES: Mapping[str, Judge] = {
    "assign": assigned,
    "short-name": assigned,
    "phrase": phrase,
    "next-line": told,
    "named-value": beside,
    "argument": argument,
    "spaced": spaced,
    "spoken": spoken,
    "table": in_table,
    "element": in_element,
    "default": worded,
    "sql": in_quotes,
    "flag": flagged,
    "short-flag": literal,
    "glued-flag": literal,
    "htpasswd": literal,
    "openssl": literal,
    "piped": literal,
    "here-string": literal,
    "sqlplus": literal,
    "pgpass": in_pgpass,
    "curl-user": literal,
    "sshpass": literal,
    "netrc": literal,
    "authorization": literal,
    "docker-auth": credentials,
    "bearer": any_digit,
    "basic": any_digit,
    "url-password": literal,
    "url-user": mixed,
    "sk": mixed,
    "mark-key": spans.key_block,
    "mark-putty": spans.putty_lines,
    "mark-base64": spans.base64_run,
}
"""Kinds whose candidates need a second look; every other rule's find is a secret as it is."""

SEVERAL: Mapping[str, Callable[[str, int, int], Iterator[Span]]] = {
    "mark-cookie": spans.cookies,
    "mark-kubernetes": spans.kubernetes_values,
}
"""Kinds whose candidate stands before any number of secrets."""

NAMES: Mapping[str, str] = {
    "assign": "secret",
    "short-name": "secret",
    "phrase": "password",
    "next-line": "secret",
    "named-value": "secret",
    "argument": "secret",
    "spaced": "secret",
    "spoken": "password",
    "table": "secret",
    "element": "secret",
    "default": "secret",
    "sql": "password",
    "flag": "secret",
    "short-flag": "password",
    "glued-flag": "password",
    "htpasswd": "password",
    "openssl": "password",
    "piped": "password",
    "here-string": "password",
    "sqlplus": "password",
    "pgpass": "password",
    "curl-user": "password",
    "sshpass": "password",
    "netrc": "password",
    "docker-auth": "password",
    "url-password": "password",
    "url-user": "token",
    "bearer": "authorization",
    "basic": "authorization",
    "sk": "api-key",
    "mark-key": "private-key",
    "mark-putty": "private-key",
    "mark-cookie": "cookie",
    "mark-kubernetes": "secret",
}
"""Kind of rule → the word in the placeholder, where it is another one."""
