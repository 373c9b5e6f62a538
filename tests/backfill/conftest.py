"""A past that nobody has read yet."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.backfill.past import Past
from tests.cli.terminal import Terminal
from tests.makers import project_folder


@pytest.fixture
def past(own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Past:
    # The tests after these are not to run behind everything else.
    monkeypatch.setattr(os, "nice", lambda by: by)
    project = project_folder(own_home)
    monkeypatch.chdir(project)
    (own_home / ".claude" / "projects").mkdir(parents=True)
    terminal = Terminal(own_home / ".recorder", project, monkeypatch, capsys)
    return Past(own_home / ".claude", str(project), terminal)
