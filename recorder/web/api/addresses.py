"""Keys inside paths: a slash of a key is written `%2F`, and stays apart from those between the parts."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Path

PREFIX = b"/api/memory/"
INSIDE = "\x1f"
"""Stands for a slash of a key until the route is found: no key can hold it."""


def route_path(raw: bytes) -> str | None:
    """The path that routes are matched with; None where there is nothing to keep apart.

    A server decodes the whole path first, and then `a%2Fhistory` and `a/history` are the same.
    """
    if not raw.startswith(PREFIX) or b"%2f" not in raw.lower():
        return None
    parts = raw.decode("ascii", "replace").split("/")
    return "/".join(unquote(part).replace("/", INSIDE) for part in parts)


def _key(key: Annotated[str, Path(description="What it is about; a slash in it is written %2F.")]) -> str:
    return key.replace(INSIDE, "/")


def _namespace(namespace: Annotated[str, Path(description="user, user.<name>, project.<id> or claude.<id>.")]) -> str:
    return namespace.replace(INSIDE, "/")


Key = Annotated[str, Depends(_key)]
Namespace = Annotated[str, Depends(_namespace)]
