"""Somebody to install for."""

from __future__ import annotations

from pathlib import Path

import pytest
from install_person import Person


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path / "person")
