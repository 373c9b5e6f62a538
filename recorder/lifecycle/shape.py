"""An export as it stands in its file."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from recorder.errors import FileRefused
from recorder.models import State
from recorder.store.decisions import Denial, Key, Rejection
from recorder.store.entries import Entry, Link, Ms, Short

FORMAT = 1
LIMIT_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class KnownProject:
    """A project, by what it is known by."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,80}$")]
    identity: Annotated[str, Field(pattern=r"^(remote|root|path):.", max_length=4_000)]
    aliases: list[Annotated[str, Field(pattern=r"^(remote|root|path):.", max_length=4_000)]]
    name: Short
    root: Short
    created_ms: Ms


@dataclass(frozen=True, slots=True)
class Content:
    """All that was exported. `project`: the only one it is of, or None for everything."""

    made_ms: Ms
    made_by: Short
    project: Short | None
    projects: list[KnownProject]
    memories: list[Entry]
    relations: list[Link]
    keys: list[Key]
    tombstones: list[Rejection]
    deny_rules: list[Denial]


@dataclass(frozen=True, slots=True)
class Seal:
    """What tells whether the content is as it was written (`sha256`), and by which home (`signature`, by a key that
    never leaves it)."""

    sha256: str
    signature: str


@dataclass(frozen=True, slots=True)
class Export:
    """The file."""

    recorder_export: Literal[1]
    content: Content
    seal: Seal


@dataclass(frozen=True, slots=True)
class Read:
    """An export that was read: its content, and the exact bytes its seal was made of."""

    content: Content
    canonical: bytes
    seal: Seal

    @property
    def intact(self) -> bool:
        return hmac.compare_digest(hashlib.sha256(self.canonical).hexdigest().encode(), self.seal.sha256.encode())


_FILE = TypeAdapter(Export)
_CONTENT = TypeAdapter(Content)


def as_json(content: Content) -> Any:
    """The content as plain JSON values."""
    return _CONTENT.dump_python(content, mode="json")


def canonical(plain: Any) -> bytes:
    """The one spelling of a content that its seal is made of."""
    return json.dumps(plain, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode()


def read(raw: bytes, name: str) -> Read:
    """The export in a file called `name`.

    Raises: FileRefused with the place of the first thing that is wrong.
    """
    if len(raw) > LIMIT_BYTES:
        raise FileRefused(f"{name} is larger than {LIMIT_BYTES // 2**20} MB: no export is")
    try:
        plain = json.loads(raw)
    except RecursionError as error:
        raise FileRefused(f"{name} is nested too deeply: no export is") from error
    except ValueError as error:
        raise FileRefused(f"{name} is no JSON: {str(error)[:200]}. `recorder export` writes such a file") from error
    if not isinstance(plain, dict) or "recorder_export" not in plain:
        raise FileRefused(f"{name} is no export of the recorder: it has no recorder_export at its top")
    if plain["recorder_export"] != FORMAT:
        said = str(plain["recorder_export"])[:40]
        raise FileRefused(f"{name}: recorder_export is {said}, and this recorder reads {FORMAT}: update it")
    try:
        found = _FILE.validate_json(raw, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise FileRefused(f"{name}: {place[:200]}: {first['msg'][:200]}. Nothing was imported") from error
    _check(found.content, name)
    return Read(found.content, canonical(plain["content"]), found.seal)


def _check(content: Content, name: str) -> None:
    """What types alone do not say: a memory has the version it stands in, once, at an address no other has."""
    seen: set[tuple[str, str]] = set()
    known = {project.id for project in content.projects}
    for number, entry in enumerate(content.memories):
        place = f"{name}: content.memories.{number}"
        versions = [version.version for version in entry.versions]
        if entry.current not in versions or len(set(versions)) < len(versions):
            raise FileRefused(f"{place}: its version {entry.current} is not there once. Nothing was imported")
        if entry.state is State.FORGOTTEN:
            raise FileRefused(f"{place}: what was forgotten is in no export. Nothing was imported")
        if (entry.namespace, entry.key) in seen:
            raise FileRefused(f"{place}: a second memory under {entry.key[:80]!r}. Nothing was imported")
        for project in (entry.project, entry.home_project or None):
            if project is not None and project not in known:
                raise FileRefused(f"{place}: there is no project {project[:80]!r} in it. Nothing was imported")
        seen.add((entry.namespace, entry.key))
