"""A terminal in a project that was recorded once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal, record


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `home` and `project`, in which a session was recorded and distilled. Nobody writes into it."""
    root = tmp_path_factory.mktemp("recorded")
    record(root)
    return root


@pytest.fixture
def terminal(
    recorded: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    """A person's terminal in the recorded project, over a copy of the recorded home."""
    shutil.copytree(recorded / "home", own_home / ".recorder")
    monkeypatch.chdir(recorded / "project")
    return Terminal(own_home / ".recorder", recorded / "project", monkeypatch, capsys)
