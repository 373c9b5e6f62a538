"""What docs/trust.md says is what there is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from recorder.models import State, Trust

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\w+) \| `(\S+\.py)` \| `(\w+)` \| `(\S+\.py)::(\w+)` \|$", PAGE, re.MULTILINE)
ABOUT = {"scope", "trust", "time", "tombstone", "audit", "review", "negative"}


def names_in(path: Path) -> set[str]:
    """What a module defines at its top."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def test_every_row_of_the_table_was_read_and_everything_is_covered() -> None:
    table = PAGE.partition("| about | file |")[2].splitlines()[2:]
    assert len(ROWS) == len([line for line in table if line.startswith("|")])
    assert {row[0] for row in ROWS} == ABOUT


@pytest.mark.parametrize(("about", "file", "symbol", "test_file", "test"), ROWS)
def test_a_row_names_a_symbol_that_is_there_and_a_test_that_is_there(
    about: str, file: str, symbol: str, test_file: str, test: str
) -> None:
    assert symbol in names_in(ROOT / file)
    assert test in names_in(ROOT / test_file)


@pytest.mark.parametrize("one", [*Trust, *State])
def test_every_trust_and_state_is_explained(one: str) -> None:
    assert re.search(rf"^\| `{one}` \| \S", PAGE, re.MULTILINE)
