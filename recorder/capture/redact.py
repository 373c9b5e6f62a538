"""Secrets, private spans and ignored content, out of text before anything is stored."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import sys
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recorder import config
from recorder.capture.commands import searches
from recorder.capture.ignored import IGNORED, PATH_KEYS, IgnoredPaths
from recorder.capture.secrets import JUDGES, NAMES, RULES_PATH, SEVERAL
from recorder.capture.spans import without_private
from recorder.models import Event, EventKind

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner

MAX_DEPTH = 64
MAX_ITEMS = 5_000
MAX_TEXT = 1024 * 1024
"""Characters one event keeps in all; what comes after is named by its length."""

_KEPT_BESIDE_PATH = PATH_KEYS | {"type", "description", "command", "pattern", "glob", "output_mode"}
_OWN_TEXT = ("cwd", "branch", "transcript_path", "agent_transcript_path", "tool", "ref")
_OWN_IDS = ("key", "session_id", "prompt_id", "uuid", "tool_use_id", "agent_id", "message_id")
_OWN_TEXTS, _OWN_ID_VALUES = attrgetter(*_OWN_TEXT), attrgetter(*_OWN_IDS)
_BASE64_KEYS = frozenset({"data", "base64", "blob", "image_data"})
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-\r\n]+={0,2}")
_CUT = re.compile(r"\n…\[omitted \d+ characters, sha256 [0-9a-f]{64}\]…\n")
_UNSEEN = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
_WITHOUT_UNSEEN = dict.fromkeys(map(ord, _UNSEEN))
_ROUNDS = 6
"""How often text is looked at again after a change: what one find uncovers, such as a value in a value."""

_loading = threading.Lock()
_loaded: list[Scanner] = []


class Redactor:
    """Takes out of text, events and bytes what must not be stored. Twice is the same as once; threads may share it.

    The first text of a process loads the rules: 0.5 s from `cache/` in the home (or `KF_RULE_CACHE_DIR`, which the
    engine knows too), 6 s where neither is there and they are compiled.
    """

    def __init__(self, capture: config.Capture, literals: Callable[[], Sequence[str]] = tuple) -> None:
        """`literals` gives what is a secret as it stands, asked again for every text."""
        self._literals = literals
        self._ignored = IgnoredPaths(capture.ignore_paths)
        self._head = max(capture.text_head, 0)
        self._tail = max(capture.text_tail, 0)

    def text(self, text: str) -> str:
        """The text with every secret as `[redacted:<kind>]` and every private span as `[private]`; never cut."""
        return self.texts([text])[0]

    def texts(self, texts: Sequence[str]) -> list[str]:
        """Several texts in one pass over the rules, each as `text` gives it."""
        return self._redacted([part for text in texts for part in (text, "\n")])[::2]

    def raw(self, data: bytes) -> bytes:
        """Bytes that could not be read as a hook input, without their secrets."""
        return self.text(data.replace(b"\0", b"").decode("latin-1")).encode("latin-1", "replace")

    def event(self, event: Event) -> Event:
        """The event as it may be stored: redacted, without ignored content and base64, every text within its caps."""
        draft = _Draft(self._ignored)
        own = _OWN_TEXTS(event)
        for value in own:
            if value:
                draft.parts += (value, "\n")
        tree = draft.body(event)
        parts = self._redacted(draft.parts)
        capped = _Caps(self._head, self._tail)
        fields = _ids_storable(event)
        if parts is not draft.parts or capped.needed(parts):
            texts = iter(parts[::2])
            fields |= {name: next(texts) for name, value in zip(_OWN_TEXT, own, strict=True) if value}
            tree = capped.rebuilt(tree, texts)
        elif not draft.changed and not fields:
            return event
        omitted = draft.omitted_bytes + capped.omitted_bytes
        return replace(
            event,
            body=tree,
            truncated=event.truncated or omitted > 0,
            omitted_bytes=event.omitted_bytes + omitted,
            **fields,
        )

    def _redacted(self, parts: list[str]) -> list[str]:
        """The parts, every other one a text to redact; the very same list when there was nothing to do."""
        known = self._literals()
        for _ in range(_ROUNDS):
            whole = "".join(parts)
            if known and any(literal in whole for literal in known):
                parts = [_without(part, known) for part in parts]
                whole = "".join(parts)
            try:
                raw = whole.encode()
            except UnicodeEncodeError:
                raw = None
            if raw is None or "\0" in whole:
                parts = [_storable(part) for part in parts]
                continue
            after = self._once(whole, raw, parts)
            if after is parts and not whole.isascii():
                after = self._seen(parts) if any(sign in whole for sign in _UNSEEN) else parts
            if after is parts:
                break
            parts = after
        return parts

    def _seen(self, parts: list[str]) -> list[str]:
        """The parts without signs of no width, where only those hid a secret from the rules; else as they are."""
        seen = [part.translate(_WITHOUT_UNSEEN) for part in parts]
        whole = "".join(seen)
        after = self._once(whole, whole.encode(), seen)
        return parts if after is seen else after

    def _once(self, whole: str, raw: bytes, parts: list[str]) -> list[str]:
        found = _candidates(_engine(), whole, raw)
        if not found:
            return parts
        starts = [0, *accumulate(map(len, parts))]
        private = {bisect_right(starts, start) - 1 for kind, start, _ in found if kind == "mark-private"}
        if private:
            return [without_private(part) if n in private else part for n, part in enumerate(parts)]
        spans = _merged(_judged(whole, found))
        return _replaced(parts, starts, spans) if spans else parts


class _Draft:
    """An event's strings side by side, as one text the rules can read, beside a bounded copy of its structure.

    `parts` alternates texts and what stands between them; a value stands behind its key as in JSON, so that a rule
    about names sees both.
    """

    def __init__(self, ignored: IgnoredPaths) -> None:
        self.parts: list[str] = []
        self.changed = False
        self.omitted_bytes = 0
        self._ignored = ignored

    def body(self, event: Event) -> dict[str, Any]:
        """A copy of the body, ignored content and base64 already left out."""
        body: Mapping[str, Any] = event.body
        given = body.get("input") if event.kind is EventKind.TOOL_CALL else None
        if isinstance(given, Mapping):
            body = self._without_ignored_call(event.tool, body, given)
        self.changed = body is not event.body
        return self._mapping(body, 0, hidden=False)

    def _without_ignored_call(
        self, tool: str | None, body: Mapping[str, Any], given: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        command = given.get("command")
        hidden = self._ignored.read_by(given)
        if isinstance(command, str):
            hidden = hidden or self._ignored.shown_by(command)
            written = self._ignored.without_written(command)
            if written is not command:
                body = {**body, "input": {**given, "command": written}}
        if hidden:
            return {key: value if key == "input" else _blank(value) for key, value in body.items()}
        if searches(tool, given):
            return {key: value if key == "input" else self._without_found(value) for key, value in body.items()}
        return body

    def _without_found(self, value: Any, depth: int = 0) -> Any:
        if isinstance(value, str):
            return self._ignored.without_found(value)
        if isinstance(value, Mapping) and depth < MAX_DEPTH:
            return {key: self._without_found(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list) and depth < MAX_DEPTH:
            return [self._without_found(item, depth + 1) for item in value]
        return value

    def _mapping(self, mapping: Mapping[Any, Any], depth: int, *, hidden: bool) -> dict[str, Any]:
        if not hidden and not PATH_KEYS.isdisjoint(mapping):
            hidden = self._ignored.names(mapping)
        if len(mapping) > MAX_ITEMS + 1:
            mapping = self._first_items(mapping)
        parts = self.parts
        copy: dict[str, Any] = {}
        for key, value in mapping.items():
            if type(key) is not str:
                key = self._instead(str(key))
            if type(value) is str:
                if hidden and key not in _KEPT_BESIDE_PATH:
                    value = self._instead(IGNORED)
                elif len(value) >= 24:
                    if len(value) >= 64 and _is_base64(key, value, mapping):
                        value = self._instead(_base64_marker(value))
                    elif "+++ " in value or "==> " in value:
                        value = self._without_sections(value)
                parts += (key, '": "', value, '"\n')
                copy[key] = value
            else:
                parts += (key, '":\n')
                copy[key] = self._value(value, depth + 1, hidden=hidden)
        return copy

    def _value(self, value: Any, depth: int, *, hidden: bool) -> Any:
        """A JSON value made of our own containers; what JSON does not have becomes text."""
        if type(value) is dict and depth < MAX_DEPTH:
            return self._mapping(value, depth, hidden=hidden)
        if isinstance(value, str):
            if hidden:
                value = self._instead(IGNORED)
            elif len(value) >= 1024 and _is_base64("", value, {}):
                value = self._instead(_base64_marker(value))
            elif "+++ " in value or "==> " in value:
                value = self._without_sections(value)
            return self._text(str(value))
        if value is None or value is True or value is False:
            return value
        if isinstance(value, (int, float)):
            fits = abs(value) < 2**63 if isinstance(value, int) else value - value == 0
            return value if fits else self._text(self._instead(_number_text(value)))
        if depth >= MAX_DEPTH:
            self._leave_out(value, 0)
            return self._text(f"[omitted: nested deeper than {MAX_DEPTH}]")
        if isinstance(value, Mapping):
            return self._mapping(value, depth, hidden=hidden)
        if isinstance(value, (list, tuple)):
            if len(value) > MAX_ITEMS + 1:
                self._leave_out(value, MAX_ITEMS)
                value = [*value[:MAX_ITEMS], f"[omitted {len(value) - MAX_ITEMS} items]"]
            return [self._value(item, depth + 1, hidden=hidden) for item in value]
        return self._text(self._instead(f"[{type(value).__name__}]"))

    def _first_items(self, mapping: Mapping[Any, Any]) -> Mapping[Any, Any]:
        self._leave_out(mapping, MAX_ITEMS)
        return dict(islice(mapping.items(), MAX_ITEMS)) | {"…": f"[omitted {len(mapping) - MAX_ITEMS} items]"}

    def _text(self, text: str) -> str:
        self.parts += (text, "\n")
        return text

    def _instead(self, text: str) -> str:
        self.changed = True
        return text

    def _without_sections(self, text: str) -> str:
        shorter = self._ignored.without_sections(text)
        return text if shorter == text else self._instead(shorter)

    def _leave_out(self, value: Any, kept: int) -> None:
        self.changed = True
        self.omitted_bytes += max(1, _size_bytes(value, kept))


class _Caps:
    """Head and tail of long texts, and an end to what one event may hold."""

    def __init__(self, head: int, tail: int) -> None:
        self._head = head
        self._tail = tail
        self._left = MAX_TEXT
        self.omitted_bytes = 0

    def needed(self, parts: list[str]) -> bool:
        total = sum(map(len, parts))
        limit = self._head + self._tail
        return total > limit and (total > MAX_TEXT or max(map(len, parts)) > limit)

    def rebuilt(self, tree: dict[str, Any], texts: Iterator[str]) -> dict[str, Any]:
        """The structure with these texts in place of its own, in order."""
        copy: dict[str, Any] = {}
        for value in tree.values():
            name = self._text(next(texts))
            while name in copy:
                name += "'"
            copy[name] = self._value(value, texts)
        return copy

    def _value(self, value: Any, texts: Iterator[str]) -> Any:
        if isinstance(value, str):
            return self._text(next(texts))
        if isinstance(value, dict):
            return self.rebuilt(value, texts)
        if isinstance(value, list):
            return [self._value(item, texts) for item in value]
        return value

    def _text(self, text: str) -> str:
        if len(text) > self._head + self._tail and not self._is_cut(text):
            head, tail = text[: self._head], text[len(text) - self._tail :]
            middle = text[self._head : len(text) - self._tail]
            self.omitted_bytes += len(middle.encode())
            digest = hashlib.sha256(text.encode()).hexdigest()
            text = f"{head}\n…[omitted {len(middle)} characters, sha256 {digest}]…\n{tail}"
        self._left -= len(text)
        if self._left < 0 and len(text) > 64:
            self.omitted_bytes += len(text.encode())
            return f"[omitted {len(text)} characters]"
        return text

    def _is_cut(self, text: str) -> bool:
        found = _CUT.match(text, self._head)
        return found is not None and len(text) - found.end() == self._tail


def _engine() -> Scanner:
    """The one scanner of this process, loaded when the first text comes."""
    if _loaded:
        return _loaded[0]
    with _loading:
        if not _loaded:
            # Imported here: 65 ms and 9 MB that a process which never redacts does not pay.
            from kingfisher_sdk import Rules, Scanner

            where = _cache_dir(os.environ)
            # Only rules of high confidence: 100 fewer, 8 MB less, and ours know names and values.
            rules = Rules([RULES_PATH], confidence="high", cache=where is not None, cache_dir=where)
            _loaded.append(Scanner(rules, base64=False))
            if rules.cache_status != "loaded":
                _give_back_memory()
        return _loaded[0]


def _give_back_memory() -> None:
    """Compiling leaves 10 MB free that glibc keeps; other allocators look after themselves."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _cache_dir(environ: Mapping[str, str]) -> str | None:
    """Where compiled rules are kept; None when there is no home yet, for nothing is written outside of it."""
    named = environ.get("KF_RULE_CACHE_DIR")
    home = config.home_of(environ)
    if not named and not home.is_dir():
        return None
    path = Path(named) if named else home / "cache"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return str(path)


def _candidates(engine: Scanner, whole: str, raw: bytes) -> list[tuple[str, int, int]]:
    """(kind, start, end) in characters of everything the rules point at."""
    found = []
    for finding in engine.scan(raw):
        origin, _, rest = finding.rule_id.partition(".")
        if not finding.visible:
            continue
        place = finding.location
        kind = rest if origin == "own" else re.sub(r"[^a-z0-9]+", "-", rest.rpartition("/")[2].lower())
        found.append((kind, place["start_offset"], place["end_offset"]))
    if found and len(raw) != len(whole):
        offsets = _characters(raw, {offset for _, start, end in found for offset in (start, end)})
        found = [(kind, offsets[start], offsets[end]) for kind, start, end in found]
    return found


def _characters(raw: bytes, offsets: set[int]) -> dict[int, int]:
    """Offset in UTF-8 → offset in characters."""
    where: dict[int, int] = {}
    last = count = 0
    for offset in sorted(offsets):
        count += len(raw[last:offset].decode("utf-8", "ignore"))
        where[offset] = count
        last = offset
    return where


def _judged(whole: str, found: list[tuple[str, int, int]]) -> Iterator[tuple[int, int, str]]:
    for kind, start, end in found:
        opened = whole.rfind("[redacted:", max(0, start - 60), start)
        if opened >= 0 and "]" not in whole[opened:start]:
            continue
        if kind in SEVERAL:
            yield from ((*span, kind) for span in SEVERAL[kind](whole, start, end))
            continue
        judge = JUDGES.get(kind)
        span = judge(whole, start, end) if judge else (start, end)
        if span is not None and span[0] < span[1]:
            yield (*span, kind)


def _merged(spans: Iterator[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """In order and without overlaps; the kind that says more stays."""
    merged: list[tuple[int, int, str]] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:
            first, last, named = merged[-1]
            merged[-1] = (first, max(last, end), kind if named in JUDGES and kind not in JUDGES else named)
        else:
            merged.append((start, end, kind))
    return merged


def _replaced(parts: list[str], starts: list[int], spans: list[tuple[int, int, str]]) -> list[str]:
    """The parts with each span's share in the texts replaced; what stands between them stays."""
    after = list(parts)
    for start, end, kind in reversed(spans):
        placeholder = _placeholder(kind, end - start)
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
        for n in range(first + first % 2, last + 1, 2):
            a, b = max(start - starts[n], 0), min(end - starts[n], len(parts[n]))
            if a < b:
                after[n] = after[n][:a] + placeholder + after[n][b:]
    return after


def _without(text: str, known: Sequence[str]) -> str:
    for literal in known:
        text = text.replace(literal, _placeholder("token", 0))
    return text


def _placeholder(kind: str, length: int) -> str:
    return f"[base64 {length * 3 // 4} bytes]" if kind == "mark-base64" else f"[redacted:{NAMES.get(kind, kind)}]"


def _blank(value: Any, depth: int = 0) -> Any:
    """The same shape without its words; names of files stay."""
    if isinstance(value, str):
        return IGNORED
    if isinstance(value, Mapping) and depth < MAX_DEPTH:
        return {
            key: item if key in PATH_KEYS and isinstance(item, str) else _blank(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)) and depth < MAX_DEPTH:
        return [_blank(item, depth + 1) for item in value[:MAX_ITEMS]]
    return value if value is None or isinstance(value, (bool, int, float)) else IGNORED


def _is_base64(name: str, text: str, beside: Mapping[Any, Any]) -> bool:
    """Is this an image or a document in letters, and not merely a long word?"""
    if len(text) < 1024 and not (
        name in _BASE64_KEYS
        and (name != "data" or beside.get("type") == "base64" or "mimeType" in beside or "media_type" in beside)
    ):
        return False
    sample = text[:256]
    if " " in sample or not _BASE64.fullmatch(text):
        return False
    return any(c.isupper() for c in sample) and any(c.islower() for c in sample) and any(c.isdigit() for c in text)


def _base64_marker(text: str) -> str:
    return f"[base64 {len(text.rstrip('=')) * 3 // 4} bytes]"


def _number_text(value: int | float) -> str:
    if isinstance(value, int) and value.bit_length() > 4096:
        return f"[integer of {value.bit_length()} bits]"
    return str(value)


def _ids_storable(event: Event) -> dict[str, Any]:
    """The ids of an event that a database could not hold as they are, made so."""
    ids = _OWN_ID_VALUES(event)
    if "".join(filter(None, ids)).isprintable():
        return {}
    return {name: _storable(value) for name, value in zip(_OWN_IDS, ids, strict=True) if value}


def _storable(text: str) -> str:
    """The text without what SQLite and UTF-8 cannot hold: NUL and lone halves of a pair become U+FFFD."""
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return paired.replace("\0", "\ufffd")


def _size_bytes(value: Any, kept: int) -> int:
    """About how many bytes of text lie in a container beyond its first `kept` items."""
    if isinstance(value, Mapping):
        stack = list(value.items())[kept:]
    elif isinstance(value, (list, tuple)):
        stack = list(value)[kept:]
    else:
        return 1
    size = 0
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, Mapping):
            stack += list(item.items())
        elif isinstance(item, (list, tuple)):
            stack += list(item)
        else:
            size += 1
    return size
