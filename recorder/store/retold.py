"""Forgotten values told again inside other text: known by keyed digests of their words, kept in no other form."""

from __future__ import annotations

import hmac
import json
import re
import secrets
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from recorder.canonical import canonical
from recorder.store.db import Connection
from recorder.store.texts import MARK

WHAT = "words"
MOST_WORDS = 99_999
MARK_BITS = 12
"""So much is kept of the longest word of a value, so that nearly every other word needs no digest."""
LEAST = 12
"""Characters from which on a value is looked for."""
KNOWN_PARTS = 200_000
SIGNS_BETWEEN = 8
"""Parts of a text without a letter that may stand between the words of a value."""

# Scripts without spaces: each sign is a word. Unseen signs do not end one.
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_UNSEEN = "\u00ad\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff"
_ASCII_WORD = re.compile(r"\w+", re.ASCII)
_WORD = re.compile(f"[{_UNSPACED}]|(?:[^\\W{_UNSPACED}]|[{_UNSEEN}])+")
_LETTER = re.compile(f"[\\w{_UNSEEN}]")
# A low line is a letter to a program and a mark to a reader (`_so_`, `so_it_is`): a text is looked at both ways.
_ASCII_PART = re.compile(r"[^\W_]+", re.ASCII)
_PART = re.compile(f"[{_UNSPACED}]|(?:[^\\W_{_UNSPACED}]|[{_UNSEEN}])+")

Rule = tuple[int, int, str, int]
"""Words of the value, place of the longest one, digest, when it was forgotten."""


def spelled(secret: bytes, value: str) -> list[tuple[str, str]]:
    """(what, hex digest) by which a value is known inside a text: `words:<how many>:<place of the longest>:<its
    mark>`."""
    found: dict[tuple[str, str], None] = {}
    for words in _ways(value):
        longest = _longest(words)
        what = f"{WHAT}:{len(words)}:{longest}:{_mark(_seed(secret), words[longest])}"
        found[what, _digest(secret, words)] = None
    return list(found)


def of_texts(texts: Iterable[str]) -> Retold | None:
    """What looks for texts that are at hand just as it does for those of which digests alone are kept; None where none
    is long enough to be looked for."""
    secret = secrets.token_bytes(32)
    told = {one for text in texts if is_telling(text) for one in spelled(secret, text)}
    return _built([(secret, what, f"0:{digest}", 0) for what, digest in sorted(told)]) if told else None


def rarest(value: str) -> set[str]:
    """Of each way to read a value, its longest word: a text with ASCII letters that holds none of them says it
    nowhere."""
    return {words[_longest(words)] for words in _ways(value)}


def beyond_ascii(text: str) -> bool:
    """Whether of the signs beyond ASCII one is a letter, which may look like another, or one that nobody sees."""
    return _LETTER.search(text) is not None


def is_telling(value: str) -> bool:
    """Whether a value has enough letters to be looked for inside other texts: marks are not looked at."""
    enough = any(sum(map(len, words)) + len(words) - 1 >= LEAST for words in _ways(value))
    return enough and len(canonical(value)) >= LEAST


def _ways(value: str) -> list[list[str]]:
    """The words of a value, in each way to read it."""
    found = []
    for form in (canonical(value), value):
        for pattern in _patterns(form):
            words = [_plain(word) for word in pattern.findall(form)]
            if words and len(words) <= MOST_WORDS and words not in found:
                found.append(words)
    return found


def _longest(words: Sequence[str]) -> int:
    return max(range(len(words)), key=lambda at: len(words[at]))


@dataclass(frozen=True, slots=True)
class Retold:
    """What looks for forgotten values in texts."""

    keys: tuple[_Key, ...]

    def spans(self, text: str) -> Iterator[tuple[int, int, int]]:
        """(start, end, when it was forgotten) of every place where a text holds one."""
        for key in self.keys:
            yield from key.spans(text)

    def since(self, text: str) -> list[int]:
        """When the values a text holds were forgotten."""
        return [at_ms for _, _, at_ms in self.spans(text)]

    def in_text(self, text: str) -> bool:
        """Whether a text holds one."""
        return any(True for _ in self.spans(text))

    def in_bytes(self, raw: bytes) -> bool:
        """Whether JSON, or any other text, holds one."""
        text = raw.decode("utf-8", "replace")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return self.in_text(text)
        return any(self.in_text(one) for one in strings(value))

    def blanked(self, value: Any) -> Any:
        """A body with `[forgotten]` in the place of every such value."""
        if isinstance(value, str):
            return self._blank(value)
        if isinstance(value, Mapping):
            return {key: self.blanked(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.blanked(one) for one in value]
        return value

    def _blank(self, text: str) -> str:
        for start, end in reversed(_joined([(start, end) for start, end, _ in self.spans(text)])):
            text = text[:start] + MARK + text[end:]
        return text


class _Key:
    """The rules under one key. `safe`: parts of texts, between white space, that hold no word with the mark of a
    rule."""

    def __init__(self, secret: bytes, rules: Mapping[int, Sequence[Rule]]) -> None:
        self.secret, self.rules = secret, rules
        self.seed = _seed(secret)
        self.safe: set[str] = set()

    def spans(self, text: str) -> Iterator[tuple[int, int, int]]:
        if len(text) < LEAST or not self._may_hold(text):
            return
        for pattern in _patterns(text):
            places = [found.span() for found in pattern.finditer(text)]
            words = [_plain(text[start:end]) for start, end in places]
            for at_ms, start, end in self._found(words):
                yield places[start][0], places[end - 1][1], at_ms

    def _may_hold(self, text: str) -> bool:
        """Whether one is there, told by looking closely around the few words that may be its longest one."""
        parts = text.split()
        marked = {part: found for part in set(parts) - self.safe if (found := self._marked(part))}
        if not marked:
            return False
        for part, rules in marked.items():
            around = max(count for count, _, _, _ in rules) + SIGNS_BETWEEN
            at = -1
            for _ in range(parts.count(part)):
                at = parts.index(part, at + 1)
                near = " ".join(parts[max(0, at - around) : at + around + 1])
                for pattern in _patterns(near):
                    if any(True for _ in self._found([_plain(word) for word in pattern.findall(near)])):
                        return True
        return False

    def _marked(self, part: str) -> list[Rule]:
        """The rules whose longest word may be in a part of a text."""
        found: list[Rule] = []
        for pattern in _patterns(part):
            for word in pattern.findall(part):
                found += self.rules.get(_mark(self.seed, _plain(word)), ())
        if not found:
            if len(self.safe) >= KNOWN_PARTS:
                self.safe.clear()
            self.safe.add(part)
        return found

    def _found(self, words: Sequence[str]) -> Iterator[tuple[int, int, int]]:
        """(when it was forgotten, its first word, the word after its last one)."""
        for at, word in enumerate(words):
            for count, before, digest, at_ms in self.rules.get(_mark(self.seed, word), ()):
                start = at - before
                if 0 <= start <= len(words) - count and _digest(self.secret, words[start : start + count]) == digest:
                    yield at_ms, start, start + count


def standing(db: Connection) -> Retold | None:
    """What is looked for now; None where nothing is."""
    rows = list(
        db.execute(
            "select k.secret, d.what, d.digest, d.created_ms from deny_rules d"
            " join keys k on k.id = cast(substr(d.digest, 1, instr(d.digest, ':') - 1) as integer)"
            " where d.what > 'words:' and d.what < 'words;' order by d.id"
        )
    )
    return _made(tuple(rows)) if rows else None


@lru_cache(maxsize=4)
def _made(rows: tuple[tuple[bytes, str, str, int], ...]) -> Retold:
    return _built(rows)


def _built(rows: Sequence[tuple[bytes, str, str, int]]) -> Retold:
    by_secret: dict[bytes, dict[int, list[Rule]]] = {}
    for secret, what, digest, at_ms in rows:
        _, count, before, mark = what.split(":")
        rule = (int(count), int(before), digest.partition(":")[2], at_ms)
        by_secret.setdefault(secret, {}).setdefault(int(mark), []).append(rule)
    return Retold(tuple(_Key(secret, rules) for secret, rules in by_secret.items()))


def strings(value: Any) -> list[str]:
    """Every string inside a value, names of fields left out."""
    found: list[str] = []
    _collect(value, found)
    return found


def _collect(value: Any, found: list[str]) -> None:
    # The kinds JSON is read into come first: to ask whether something is a Mapping takes ten times as long.
    if isinstance(value, str):
        found.append(value)
    elif isinstance(value, dict):
        for one in value.values():
            _collect(one, found)
    elif isinstance(value, list | tuple):
        for one in value:
            _collect(one, found)
    elif isinstance(value, Mapping):
        _collect(dict(value), found)


def _patterns(text: str) -> tuple[re.Pattern[str], ...]:
    """What finds its words: low lines as letters first, then as marks."""
    ascii_only = text.isascii()
    as_letter = _ASCII_WORD if ascii_only else _WORD
    return (as_letter, _ASCII_PART if ascii_only else _PART) if "_" in text else (as_letter,)


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _plain(word: str) -> str:
    """The word as it is compared."""
    return word.lower() if word.isascii() else canonical(word)


def _seed(secret: bytes) -> int:
    return int.from_bytes(hmac.digest(secret, b"mark", "sha256")[:4])


def _mark(seed: int, word: str) -> int:
    # Few bits of a checksum are as good here as those of a digest, in a tenth of the time.
    return zlib.crc32(word.encode("utf-8", "backslashreplace"), seed) >> (32 - MARK_BITS)


def _digest(secret: bytes, words: Sequence[str]) -> str:
    told = f"{WHAT}:{' '.join(words)}"
    return hmac.digest(secret, told.encode("utf-8", "backslashreplace"), "sha256").hex()
