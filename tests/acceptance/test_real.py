"""The twenty, on the recorder itself, through its own doors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.cases import CASES
from tests.acceptance.real import Real


@pytest.mark.parametrize("name", CASES)
def test_it_holds(
    name: str, own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    CASES[name](Real(own_home, monkeypatch, capsys))
