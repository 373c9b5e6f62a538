"""All that was remembered, as one JSON file."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import tempfile
from pathlib import Path

import recorder
from recorder.errors import FileRefused
from recorder.lifecycle.shape import FORMAT, Content, KnownProject, as_json, canonical
from recorder.store import copies, decisions, digests, dump, projects
from recorder.store.db import Connection, transaction

PURPOSE = "export"


def content(db: Connection, *, project_id: str | None, now_ms: int) -> Content:
    """What an export holds: of one project, with what Claude's own memory says of it, or of everywhere.

    What is never taken in again is nobody's project: it goes along with everything only.
    """
    entries = [dump.read(db, memory_id) for memory_id in dump.ids(db, project_id)]
    named = {name for entry in entries for name in (entry.project, entry.home_project) if name}
    rejected = decisions.rejections(db, project_id)
    named |= {one.scope for one in rejected}
    denied = decisions.denials_made(db) if project_id is None else []
    used = {digest.partition(":")[0] for one in rejected for digest in (one.key_digest, one.value_digest)}
    used |= {one.digest.partition(":")[0] for one in denied}
    return Content(
        made_ms=now_ms,
        made_by=f"recorder {recorder.__version__}",
        project=project_id,
        projects=[
            KnownProject(one["id"], one["identity"], one["aliases"], one["name"], one["root"], one["created_ms"])
            for one in projects.listing(db)
            if one["id"] in named
        ],
        memories=entries,
        relations=dump.links(db, project_id),
        keys=[key for key in decisions.keys(db) if key.name in used],
        tombstones=rejected,
        deny_rules=denied,
    )


def write(db: Connection, path: Path, *, project_id: str | None, now_ms: int) -> Content:
    """What was written to the file, which is for its owner alone and is there whole or not at all.

    Raises: FileRefused where no file can stand there.
    """
    if path.is_dir():
        raise FileRefused(f"{path} is a folder: name a file to export into")
    found, file = sealed(db, project_id=project_id, now_ms=now_ms, noted=path)
    _write(path, file)
    return found


def sealed(db: Connection, *, project_id: str | None, now_ms: int, noted: Path | None = None) -> tuple[Content, bytes]:
    """An export and its file, signed. `noted`: where it is going to stand, for whoever forgets something later."""
    with transaction(db):
        # One moment, and the key that signs it.
        found = content(db, project_id=project_id, now_ms=now_ms)
        plain = as_json(found)
        signed = canonical(plain)
        signature = digests.of(db, PURPOSE, _signed(signed), now_ms)
        if noted is not None:
            copies.note(db, noted, "export", now_ms)
    seal = {"sha256": hashlib.sha256(signed).hexdigest(), "signature": signature.partition(":")[2]}
    file = {"recorder_export": FORMAT, "content": plain, "seal": seal}
    return found, json.dumps(file, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace")


def is_ours(db: Connection, signed: bytes, signature: str) -> bool:
    """Whether a key of this home signed these very bytes."""
    known = digests.under_every_key(db, PURPOSE, [_signed(signed)])
    return any(hmac.compare_digest(one.partition(":")[2].encode(), signature.encode()) for one in known)


def canonical_dump(db: Connection) -> str:
    """The digest of all that an export holds: the same in a home that took it over."""
    plain = as_json(content(db, project_id=None, now_ms=0))
    return hashlib.sha256(canonical(plain)).hexdigest()


def _signed(content: bytes) -> str:
    return f"export:{hashlib.sha256(content).hexdigest()}"


def _write(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}-{secrets.token_hex(2)}")
    try:
        with os.fdopen(handle, "wb") as file:  # mkstemp: 0600
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
