"""A repository as its files say; no git runs."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

_LONGEST_BYTES = 1024 * 1024
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.\-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_SCP = re.compile(r"(?:[^@/\s]+@)?(\[[^\]/]+\]|[^:/\s]{2,}):(?!/?/?$)(.+)", re.DOTALL)
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/?#]*)([^?#]*)", re.DOTALL)
_LOCAL_HOPS = 3


@dataclass(frozen=True, slots=True)
class Repository:
    """Where a working tree stands, and where what all its worktrees share lies."""

    root: str
    common: str | None
    """The folder with `config`; None when `.git` cannot be followed."""
    linked: bool = False
    """A worktree beside the main one."""

    @property
    def main_root(self) -> str:
        """The root of the main worktree; of a bare repository the repository itself."""
        if not self.linked or self.common is None:
            return self.root
        return os.path.dirname(self.common) if os.path.basename(self.common) == ".git" else self.common


def above(path: str) -> list[str]:
    """The path and every folder above it, deepest first."""
    found = [path]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return found


def find(path: str) -> Repository | None:
    """The repository whose working tree holds the path; the innermost one."""
    for folder in above(path):
        found = at(folder)
        if found is not None:
            return found
    return None


def at(folder: str) -> Repository | None:
    """The repository whose working tree begins at this folder."""
    mark = os.path.join(folder, ".git")
    try:
        if os.path.isdir(mark):
            # An empty `.git` is no repository for git either, which looks further up.
            found = any(os.path.exists(os.path.join(mark, name)) for name in ("HEAD", "config", "commondir"))
            return Repository(folder, os.path.realpath(mark)) if found else None
        if os.path.isfile(mark):
            return _linked(folder, mark)
    except (OSError, ValueError):
        return None
    return None


def _linked(folder: str, mark: str) -> Repository:
    """A worktree or submodule: `.git` is a file that says `gitdir: <path>`.

    Source: https://git-scm.com/docs/gitrepository-layout
    """
    text = _read(mark) or ""
    if not text.startswith("gitdir:"):
        return Repository(folder, None)
    own = os.path.realpath(os.path.join(folder, text[len("gitdir:") :].strip()))
    shared = _read(os.path.join(own, "commondir"))
    if shared:
        return Repository(folder, os.path.realpath(os.path.join(own, shared.strip())), linked=True)
    parent = os.path.dirname(own)
    if os.path.basename(parent) == "worktrees" and os.path.isdir(os.path.dirname(parent)):
        # Pruned: the worktree's own folder is gone, the repository is not.
        return Repository(folder, os.path.dirname(parent), linked=True)
    return Repository(folder, own if os.path.isdir(own) else None)


def remote(repository: Repository, hops: int = _LOCAL_HOPS) -> str | None:
    """`host/path` of `origin`, else of the only remote.

    A remote on this machine stands for what it names: a clone of a clone is one project.
    """
    urls = _remotes(repository)
    url = urls.get("origin") or (next(iter(urls.values())) if len(urls) == 1 else None)
    if not url:
        return None
    named = normal(url)
    if named is not None or hops == 0:
        return named
    target = local_path(url, repository.root)
    behind = at(target) or (Repository(target, target) if os.path.isfile(os.path.join(target, "HEAD")) else None)
    if behind is None or behind.root == repository.root:
        return None
    return remote(behind, hops - 1) or f"localhost{_plain(behind.main_root)}"


def normal(url: str) -> str | None:
    """`host/path` of a remote's address without scheme, credentials, port and `.git`; None for a path of this machine.

    `git@Example.com:team/app.git` and `https://user:word@example.com:443/team/app/` are the same.
    """
    text = url.strip()
    whole = _URL.match(text)
    if whole:
        scheme, authority, path = whole.groups()
        if scheme.lower() == "file":
            return None
        host = re.sub(r":\d*$", "", authority.rpartition("@")[2])
    else:
        short = _SCP.fullmatch(text)
        if short is None or text.startswith((".", "/", "~")) or "\\" in text:
            return None
        host, path = short.groups()
    host = host.lower().rstrip(".")
    path = _plain(unquote(path)).strip("/")
    return f"{host}/{path}" if host and path else None


def local_path(url: str, root: str) -> str:
    """The folder an address on this machine names, seen from the repository."""
    whole = _URL.match(url.strip())
    path = unquote(whole.group(3)) if whole else url.strip()
    return os.path.realpath(os.path.join(root, os.path.expanduser(path)))


def _plain(path: str) -> str:
    path = re.sub(r"/{2,}", "/", path.strip()).rstrip("/")
    return path[: -len(".git")].rstrip("/") if path.endswith(".git") else path


def _remotes(repository: Repository) -> dict[str, str]:
    text = _read(os.path.join(repository.common, "config")) if repository.common else None
    urls: dict[str, str] = {}
    section: str | None = None
    for line in re.sub(r"\\\r?\n", "", text or "").splitlines():
        line = line.strip()
        head = _SECTION.match(line)
        if head:
            section = re.sub(r"\\(.)", r"\1", head.group(2) or "") if head.group(1).lower() == "remote" else None
            line = line[head.end() :].strip()
        key, equals, value = line.partition("=")
        if section and equals and key.strip().lower() == "url":
            urls.setdefault(section, _value(value))
    return urls


def _value(text: str) -> str:
    """A value of git's config without its quotes and trailing comment.

    Source: https://git-scm.com/docs/git-config, "Syntax"
    """
    kept: list[str] = []
    quoted = False
    signs = iter(text.strip())
    for sign in signs:
        if sign == "\\":
            kept.append(next(signs, ""))
        elif sign == '"':
            quoted = not quoted
        elif sign in "#;" and not quoted:
            break
        else:
            kept.append(sign)
    return "".join(kept).strip()


def _read(path: str) -> str | None:
    try:
        with Path(path).open("rb") as file:
            return file.read(_LONGEST_BYTES).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return None
