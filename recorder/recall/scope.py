"""Who asks, and what they may see."""

from __future__ import annotations

import re

from recorder.capture import project
from recorder.errors import NotFound
from recorder.models import Scope
from recorder.store.db import Connection

# Whole dotted segments of letters, digits, `_` and `-`: no wildcard of SQL, glob or path can be written with these.
_ADDRESS = re.compile(r"[^\W_][\w-]*(?:\.[\w-]+)*")
LONGEST_ADDRESS = 240


def of_directory(db: Connection, cwd: str, *, now_ms: int, worktrees: str = "share", register: bool = False) -> Scope:
    """The scope of a caller that runs in `cwd`: the person's own namespace and that folder's project, if it is one."""
    found = project.resolve(db, cwd, now_ms=now_ms, worktrees=worktrees, register=register)
    return Scope(project_id=None if found is None else found.id)


def namespaces(scope: Scope) -> tuple[str, ...]:
    """The roots of what the caller may address: these and what lies below.

    `claude.<projectId>` is left to the rows: which of them belong to the project stands in `memories.scope_id`.
    """
    return ("user",) if scope.project_id is None else ("user", f"project.{scope.project_id}")


def default_namespace(scope: Scope) -> str:
    """Where a memory goes that names no namespace: the project's, outside of one the person's."""
    return namespaces(scope)[-1]


def within(namespace: str, root: str) -> bool:
    """Whether `namespace` is `root` or lies below it, by whole dotted segments."""
    return namespace == root or namespace.startswith(root + ".")


def may_read(scope: Scope, namespace: str) -> bool:
    """Whether the caller may ask for the namespace. Rows are filtered by scope all the same."""
    if not is_address(namespace):
        return False
    return within(namespace, "claude") or any(within(namespace, root) for root in namespaces(scope))


def is_address(namespace: str) -> bool:
    """Whether the text can name a namespace at all."""
    return len(namespace) <= LONGEST_ADDRESS and _ADDRESS.fullmatch(namespace) is not None


def address(scope: Scope, namespace: str | None) -> str:
    """The namespace meant: the default when none is given, `project` for the caller's own.

    Raises: NotFound when it is none of the caller's, in the words used for one that does not exist.
    """
    if namespace is None or namespace == "" or (namespace == "project" and scope.project_id is not None):
        return default_namespace(scope)
    if not may_read(scope, namespace):
        raise _absent(scope)
    return namespace


def _absent(scope: Scope) -> NotFound:
    roots = namespaces(scope)
    known, it = " or ".join(f"'{root}'" for root in roots), "it" if len(roots) == 1 else "one of them"
    return NotFound(f"There is no such namespace here. Use {known}, something below {it}, or leave it out.")
