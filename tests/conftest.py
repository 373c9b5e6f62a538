"""A home of its own for every test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from recorder.config import Config, Worker
from recorder.store.db import Connection, connect
from tests.cli.terminal import Terminal, record

# How long an example takes depends on what else the machine does.
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the home of whoever runs it."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("RECORDER_HOME", "RECORDER_OFF", "CLAUDE_CONFIG_DIR", "CLAUDECODE", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    # Compiled once a checkout and not once a test: 6 s.
    monkeypatch.setenv("KF_RULE_CACHE_DIR", str(Path(__file__).parent.parent / ".pytest_cache" / "rules"))
    return home


@pytest.fixture
def config(own_home: Path) -> Config:
    # A worker inside the process of the tests finds all that they hold.
    return Config(home=own_home / ".recorder", worker=Worker(max_rss_mb=100_000))


@pytest.fixture
def db(config: Config) -> Iterator[Connection]:
    connection = connect(config.db_path)
    yield connection
    connection.close()


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
