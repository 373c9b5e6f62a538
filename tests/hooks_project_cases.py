"""Which root holds a path: cases for the resolver and for the hook, which may import nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """Roots bound to projects, a folder, and the project it belongs to; the folders need not exist."""

    name: str
    roots: Mapping[str, str]
    cwd: str
    expected: str | None


ONE = {"/srv/team/app": "app-1"}
NESTED = {"/srv/team/app": "app-1", "/srv/team/app/vendor/lib": "lib-2"}
TWINS = {"/srv/alpha/app": "app-1", "/srv/beta/app": "app-2"}

CASES = (
    Case("the root itself", ONE, "/srv/team/app", "app-1"),
    Case("a trailing slash", ONE, "/srv/team/app/", "app-1"),
    Case("a folder below", ONE, "/srv/team/app/src/deep", "app-1"),
    Case("dots in the path", ONE, "/srv/team/other/../app/./src", "app-1"),
    Case("a sibling that begins alike", ONE, "/srv/team/app-two", None),
    Case("a sibling with a dot", ONE, "/srv/team/app.bak/src", None),
    Case("the folder above", ONE, "/srv/team", None),
    Case("somewhere else", ONE, "/opt/app", None),
    Case("the longest root wins", NESTED, "/srv/team/app/vendor/lib/src", "lib-2"),
    Case("beside the inner root", NESTED, "/srv/team/app/vendor/library", "app-1"),
    Case("the same last name, first", TWINS, "/srv/alpha/app/src", "app-1"),
    Case("the same last name, second", TWINS, "/srv/beta/app", "app-2"),
    Case("a name with spaces and signs", {"/srv/a b/c[1]": "c-3"}, "/srv/a b/c[1]/d", "c-3"),
    Case("wildcards are letters", {"/srv/%": "p-4", "/srv/_": "p-5"}, "/srv/x/y", None),
    Case("letters beyond ASCII", {"/srv/größe": "g-6"}, "/srv/größe/src", "g-6"),
    Case("another case is another folder", ONE, "/srv/Team/App", None),
    Case("no roots at all", {}, "/srv/team/app", None),
)
