"""Path to project: the one resolver."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from recorder.capture import git
from recorder.models import Project
from recorder.store import projects
from recorder.store.db import Connection


@dataclass(frozen=True, slots=True)
class Place:
    """What the files at a path say: the folder to bind, and the identity it goes by."""

    root: str
    identity: str
    name: str


def resolve(
    db: Connection,
    cwd: str,
    *,
    now_ms: int,
    first_cwd: str | None = None,
    worktrees: str = "share",
    register: bool = False,
) -> Project | None:
    """The project the path belongs to; None for the home folder, `/`, and a plain folder nobody registered.

    A repository is bound when it is first seen, a plain folder only with `register`: a session starts there. Where
    the connection cannot write, the answer is the same and nothing is bound.
    """
    path = real(cwd)
    if path is None:
        return None
    known = projects.bindings(db)
    bound = _longest(path, known)
    if not os.path.isdir(path):
        first = real(first_cwd) if first_cwd else None
        if first is not None and path != first and inside(path, first) and (bound is None or len(bound) <= len(first)):
            return resolve(db, first, now_ms=now_ms, worktrees=worktrees, register=register)
    home = real(os.path.expanduser("~"))
    place = identity(path, home=home, worktrees=worktrees)
    pinned = _longest(path, [binding for binding in known if binding[2]])
    if pinned is not None and (place is None or len(pinned) >= len(place.root)):
        return projects.by_root(db, pinned)
    if place is not None:
        return _of_place(db, place, _longest(place.root, known, exact=True), now_ms)
    if bound is not None:
        return projects.by_root(db, bound)
    if path == home or os.path.dirname(path) == path or not register:
        return None
    return _of_place(db, Place(path, f"path:{path}", os.path.basename(path)), None, now_ms)


def identity(path: str, *, home: str | None, worktrees: str = "share") -> Place | None:
    """What git's files say about a real path; None where it lies in no repository but the home folder itself.

    `remote:<host>/<path>` where there is a remote, else `root:<real path>` of the main worktree. Separate worktrees
    carry their own root in it.
    """
    repository = git.find(path)
    if repository is None or repository.root in (home, os.path.dirname(repository.root)):
        return None
    root = _text(repository.root)
    remote = git.remote(repository)
    main = _text(repository.main_root)
    found = f"remote:{_text(remote)}" if remote else f"root:{main}"
    name = remote.rsplit("/", 1)[-1] if remote else os.path.basename(main)
    if repository.linked and worktrees == "separate":
        return Place(root, f"{found}@{root}", os.path.basename(root))
    return Place(root, found, _text(name))


def project_id(name: str, found: str) -> str:
    """Readable and stable: `recorder-1f3c9a2b`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].strip("-") or "project"
    return f"{slug}-{hashlib.sha256(found.encode()).hexdigest()[:8]}"


def own(root: str) -> Project:
    """A project for this folder alone, as `split` makes it."""
    found = f"root:{root}"
    return Project(project_id(os.path.basename(root), found), found, root, os.path.basename(root))


def real(path: str) -> str | None:
    """The real path as it is written in the store; None for what is not an absolute path here."""
    try:
        return _text(os.path.realpath(path)) if os.path.isabs(path) else None
    except (OSError, ValueError):
        return None


def inside(path: str, folder: str) -> bool:
    """Is the path the folder or below it, by whole segments?"""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _longest(path: str, known: Sequence[tuple[str, str, bool]], *, exact: bool = False) -> str | None:
    """The bound folder that holds the path, as it is written there.

    Where a file system takes two spellings for one folder (case, composed letters), so does this.
    """
    by_text = {root for root, _, _ in known}
    folded: dict[str, list[str]] = {}
    for root in by_text:
        folded.setdefault(_fold(root), []).append(root)
    for folder in [path] if exact else git.above(path):
        if folder in by_text:
            return folder
        for other in folded.get(_fold(folder), ()):
            if _same(folder, other):
                return other
    return None


def _of_place(db: Connection, place: Place, bound: str | None, now_ms: int) -> Project:
    """The project of a place, bound from now on. The first binding of a root sticks; a new identity is an alias."""
    writes = not (db.pragma("query_only") or db.readonly("main"))
    if bound is not None:
        held = projects.by_root(db, bound)
        if held is not None:
            if writes and held.identity != place.identity and projects.by_identity(db, place.identity) is None:
                projects.add_identity(db, place.identity, held.id)
            return held
    known = projects.by_identity(db, place.identity)
    if known is not None:
        if writes:
            projects.bind_root(db, place.root, known.id, now_ms)
        return known
    made = Project(project_id(place.name, place.identity), place.identity, place.root, place.name)
    if writes:
        projects.bind(db, made, now_ms)
    return made


def _fold(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def _text(path: str) -> str:
    """The path as text a database can hold; bytes that are not UTF-8 show as `\\udcff`."""
    return path.encode("utf-8", "backslashreplace").decode()
