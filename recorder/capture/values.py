"""What a value looks like: drawn, an ordinary word, or a reference to something else."""

from __future__ import annotations

import re

REFERENCE = re.compile(
    r"\$|[<{(\[%]{1,2}[A-Za-z_.\[ ]|\.\.\.|[A-Za-z_][\w.]*[(\[]|[^A-Za-z0-9]*$"
    r"|(?:self|this|config|settings|process|os|env|args|opts|options|props|req|request|params|data|import|secrets|vars)\."
    r"|(?:your|my|the|an?|some|change|replace|insert|enter|example|dummy|fake|placeholder|redacted|x{3,})[_\- ]?"
    r"(?:$|your|my|key|secret|token|pass|api|me|here|[_\-])",
    re.IGNORECASE,
)
WORDS = frozenset(
    "string str text none null true false undefined required optional number integer int bytes bool boolean object any "
    "unknown never password passwd passphrase secret token apikey api_key hidden default function async await return "
    "value values field missing invalid expired bearer basic public private import export const static readonly "
    "enabled disabled username example incorrect changed wrong session_token access_token refresh_token".split()
)
_CLASSES = re.compile(r"[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]+")
_PLACE = re.compile(r"\.{0,2}/[\w./\-]*$|~/[\w./\-]+$|[A-Za-z][A-Za-z0-9+.\-]*://")
_IDENTITY = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$|(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})$"
    r"|(?:toolu|msg|req|call|chatcmpl|srvtoolu)_",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[\d.,:_\-]+(?:[A-Za-z]{1,3}|-\w+|[+%])?$|v?\d+(?:\.\d+)+|0x[0-9a-f]+$", re.IGNORECASE)
# What has digits in it and is known to everybody.
_TECHNICAL = re.compile(
    r"(?:sha|md|base|utf|aes|rsa|hs|rs|es|ps|ed|x|http|oauth|ipv?|pbkdf|argon|bcrypt|scrypt|ntlm|win|python|py|node)"
    r"[\-_]?\d{1,5}(?![A-Za-z]*\d)",
    re.IGNORECASE,
)
_HOST = re.compile(r"[a-z0-9\-]+(?:\.[a-z0-9\-]+)+(?::\d+)?(?:/\S*)?$|localhost\b|[^@\s]+@[\w\-]+(?:\.[\w\-]+)+$")
_IDENTIFIER = re.compile(r"[a-z]+(?:_[a-z0-9]+)+$|[A-Z]+(?:_[A-Z0-9]+)+$|[A-Z]{1,6}-\d+$|[a-z]+(?:-[a-z]+)+$")
_RELATIVE = re.compile(r"(?:[A-Za-z_.\-]+\d*/)+[A-Za-z_.\-]+\d*(?:\.\w+)?(?::\d+)*$")
_MEMBER = re.compile(r"[A-Za-z_]\w*(?:\??\.[A-Za-z_]\w*)+$")
_NAMESAKE = re.compile(r"[A-Za-z_]*token_?\d{1,2}$", re.IGNORECASE)
_UNSPOKEN = re.compile(r"[bcdfghjklmnpqrstvwxz]{6}|[aeiou]{5}", re.IGNORECASE)


def is_random(value: str) -> bool:
    """Does it look drawn and not written: long, letters with digits, the kind of character changing often."""
    if len(value) < 16 or not any(c.isdigit() for c in value) or not any(c.isalpha() for c in value):
        return False
    return changes(value) >= 0.28


def changes(value: str) -> float:
    """How often the kind of character changes, in shares of the length."""
    return len(_CLASSES.findall(value)) / max(len(value), 1)


def is_place(value: str) -> bool:
    """Is this a path or an address, none of its parts looking drawn?"""
    return _PLACE.match(value) is not None and not any(is_drawn_part(part) for part in re.split(r"[/?&=:@.]", value))


def is_drawn_part(part: str) -> bool:
    return len(part) >= 20 and is_random(part)


def is_identity(value: str) -> bool:
    """Is this what names a thing and opens nothing: a UUID, a digest, an id of the client's?"""
    return _IDENTITY.match(value) is not None


def is_number(value: str) -> bool:
    """Is this a number, a measure, a date or a version?"""
    return _NUMBER.match(value) is not None


def is_scrambled(value: str) -> bool:
    """Letters alone that nobody speaks: small and capital ones at random, or no vowel for long, or one endless word."""
    if not value.isalpha() or not value.isascii() or len(value) < 10:
        return False
    if value.islower() or value.isupper():
        return len(value) >= 20 or _UNSPOKEN.search(value) is not None
    return changes(value) >= 0.4


def is_mixed(value: str) -> bool:
    """Has it letters and digits as a short token has, and is no number, place, id, type or member of something?"""
    if len(value) < 7 or not re.search(r"[A-Za-z]", value) or not re.search(r"\d", value):
        return False
    if value.lower() in WORDS or is_number(value) or is_identity(value) or re.search(r"[(){}\[\]<>|]", value):
        return False
    if any(known.match(value) for known in (REFERENCE, _PLACE, _HOST, _IDENTIFIER, _RELATIVE, _MEMBER, _NAMESAKE)):
        return False
    technical = _TECHNICAL.match(value)
    return (
        technical is None or re.match(r"(?:[A-Z][a-z]{3,}|Key|[a-z]{5,})?$|[^A-Za-z]", value[technical.end() :]) is None
    )


def is_told(value: str, *, least: int = 6) -> bool:
    """Is this, said in a sentence, a password and no word of it? By its digits, its signs and its mixed case."""
    if len(value) < least or value.lower() in WORDS or REFERENCE.match(value):
        return False
    if _PLACE.match(value) or _HOST.match(value) or is_number(value) or is_identity(value):
        return False
    if _IDENTIFIER.match(value) or _TECHNICAL.match(value):
        return False
    if is_scrambled(value):
        return True
    if not any(c.isalnum() for c in value) or re.search(r"[(){}\[\]<>|=]", value.rstrip("=")):
        return False
    if re.search(r"[A-Za-z]", value) and re.search(r"\d", value):
        return True
    return re.search(r"[A-Za-z0-9][!@#$%^&*~+?]+[A-Za-z0-9]", value) is not None
