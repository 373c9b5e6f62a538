"""What the docs list is what there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from recorder import config
from recorder.cli.frame import app

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
SETTINGS = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def commands(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command


ALL = dict(commands(typer.main.get_command(app), "recorder"))


@pytest.mark.parametrize("name", ALL)
def test_a_command_is_listed_with_its_options_and_has_a_help_text(name: str) -> None:
    (row,) = [line for line in COMMANDS.splitlines() if re.match(rf"\| `{name}[ `]", line)]
    options = {p.opts[0] for p in ALL[name].params if p.param_type_name == "option" and p.name != "help"}
    assert options == set(re.findall(r"`(--[a-z-]+)`", row.rpartition(" | ")[2]))
    assert ALL[name].help


def test_no_command_is_listed_that_does_not_exist() -> None:
    listed = re.findall(r"^\| `(recorder [a-z -]+[a-z])", COMMANDS, re.MULTILINE)
    assert sorted(listed) == sorted(ALL)


def test_every_setting_is_listed_and_nothing_else() -> None:
    listed = re.findall(r"^\| `([a-z]+\.[a-z_]+)`", SETTINGS, re.MULTILINE)
    assert sorted(listed) == sorted(
        f"{name}.{field}" for name, section in config.SECTIONS.items() for field in section.model_fields
    )


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name)
def test_a_link_between_pages_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
