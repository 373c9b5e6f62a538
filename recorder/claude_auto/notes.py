"""What one file says: entries with a name, a value and a kind."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from recorder.claude_auto import index, matter
from recorder.gate import VALUE_LIMIT
from recorder.models import MemoryKind

KINDS = {
    "user": MemoryKind.PREFERENCE,
    "feedback": MemoryKind.PREFERENCE,
    "project": MemoryKind.SEMANTIC,
    "reference": MemoryKind.PROCEDURAL,
}
LONGEST_NAME = 180
TELLING = 24
"""Characters from which on a description says something of its own: a shorter one (`testing`) stands anywhere."""

# Headings that a text begins with.
_ABOVE = re.compile(r"\A(?:#{1,6}[ \t]+[^\n]*\n\s*)+")

# What the client names a session by (2.1.197); anything else there may be a secret.
_SESSION = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory a file asks for."""

    name: str
    """Its key: the file's name, `<name>#2` for what did not fit, `MEMORY#…` for what stands in the index."""
    value: str
    kind: MemoryKind
    parts: tuple[str, ...] = ()
    """What the value was put together from, as it stands in the file, what is said first; none where it stands there
    itself."""

    @property
    def hash(self) -> str:
        """Of what it says: front matter the client rewrites, and the file's dates, are not in it."""
        return sha256(json.dumps([self.value, self.kind.value]).encode()).hexdigest()


def of_file(name: str, text: str, others: Collection[str]) -> list[Entry]:
    """The entries of a file `name`, of its text, beside the files `others`."""
    fields, body = matter.split(text)
    if name == "MEMORY":
        asked = [(one, value, said, "", MemoryKind.SEMANTIC) for one, value, said in index.entries(body, others)]
    else:
        kind = KINDS.get((fields.get("type") or fields.get("metadata.type") or "").lower(), MemoryKind.SEMANTIC)
        about, said = fields.get("description", "").strip(), body.strip()
        asked = [(name, _value(about, said), _ABOVE.sub("", said) or said or about, about, kind)]
    return [
        Entry(_name(one, number), piece, kind, _from(piece, value, said, about) if number == 1 else ())
        for one, value, said, about, kind in asked
        for number, piece in enumerate(_pieces(value), 1)
    ]


def _from(piece: str, value: str, said: str, about: str) -> tuple[str, ...]:
    """What the first piece of a value was put together from: its end is what is said, and that may be `about`
    something."""
    told = piece[len(value) - len(said) :].strip()
    found = [one for one in (told, about if len(about) >= TELLING else "") if one]
    return () if found == [piece] else tuple(dict.fromkeys(found))


def origin(text: str) -> tuple[str | None, int | None]:
    """(session that wrote it, when it was changed last in ms), as the client noted them."""
    fields, _ = matter.split(text)
    named = fields.get("originSessionId") or fields.get("metadata.originSessionId") or ""
    session = named if _SESSION.fullmatch(named) else None
    try:
        at = datetime.fromisoformat(fields.get("modified") or fields.get("metadata.modified") or "")
    except ValueError:
        return session, None
    at_ms = int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    return session, at_ms if at_ms > 0 else None


def _value(description: str, body: str) -> str:
    if _folded(description) in _folded(body):
        return body
    return f"{description}\n\n{body}".strip()


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _name(name: str, number: int) -> str:
    """A key the gate takes: printable, not too long."""
    plain = re.sub(r"[\x00-\x1f\x7f]", "-", name).strip() or "-"
    if len(plain) > LONGEST_NAME:
        plain = f"{plain[:LONGEST_NAME]}-{sha256(name.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"
    return plain if number == 1 else f"{plain}#{number}"


def _pieces(value: str) -> list[str]:
    """The value in pieces the gate takes: cut before a heading, else between paragraphs, else lines, else anywhere."""
    pieces = []
    rest = value.strip()
    while len(rest) > VALUE_LIMIT:
        head = rest[: VALUE_LIMIT + 1]
        cut = next((at for mark in ("\n#", "\n\n", "\n", " ") if (at := head.rfind(mark)) > VALUE_LIMIT // 4), 0)
        pieces.append(rest[: cut or VALUE_LIMIT].rstrip())
        rest = rest[cut or VALUE_LIMIT :].lstrip()
    return [*pieces, rest] if rest else pieces
