"""A home of its own for every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recorder.config import Config, Worker
from recorder.store.db import Connection, connect


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
