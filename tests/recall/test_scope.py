"""Who may ask for what."""

from __future__ import annotations

import pytest

from recorder.errors import NotFound
from recorder.models import Scope
from recorder.recall import scope as scopes

APP = Scope("app-00000001")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (None, "project.app-00000001"),
        ("", "project.app-00000001"),
        ("project", "project.app-00000001"),
        ("project.app-00000001", "project.app-00000001"),
        ("project.app-00000001.db", "project.app-00000001.db"),
        ("user", "user"),
        ("user.editor", "user.editor"),
    ],
)
def test_an_address_inside_the_scope_is_understood(given: str | None, meant: str) -> None:
    assert scopes.address(APP, given) == meant


OUTSIDE = [
    "project.app-000000012",
    "project.app-0000000",
    "project.app-00000002",
    "PROJECT.app-00000001",
    "Project",
    "project.App-00000001",
    "project.",
    "project..app-00000001",
    "project.*",
    "project.%",
    "project._",
    "*",
    "%",
    "_",
    "?",
    ".",
    "..",
    "../app",
    "project.app-00000001/../app-00000002",
    "user/../project.app-00000002",
    "users",
    "user.",
    "user.*",
    "user.%",
    "User",
    "user ",
    " user",
    "user\n",
    "user\x00",
    "a/app",
    "a/app2",
    "all",
    "project.app-00000001 or 1=1",
    "user." + "x" * 400,
    "ｕｓｅｒ",
]


@pytest.mark.parametrize("given", OUTSIDE)
def test_an_address_outside_answers_like_one_that_does_not_exist(given: str) -> None:
    with pytest.raises(NotFound) as refused:
        scopes.address(APP, given)
    with pytest.raises(NotFound) as absent:
        scopes.address(APP, "project.nosuch-99999999")
    assert str(refused.value) == str(absent.value)


def test_outside_of_a_project_there_is_the_person_alone() -> None:
    assert scopes.address(Scope(None), None) == "user"
    assert scopes.namespaces(Scope(None)) == ("user",)
    with pytest.raises(NotFound):
        scopes.address(Scope(None), "project")
