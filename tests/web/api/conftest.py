"""The service over a home of its own, and who asks it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from recorder.config import Config
from recorder.recall import scope as scopes
from recorder.store.db import Connection
from recorder.web import asking
from recorder.web.app import make_app
from tests.makers import project_folder
from tests.web.asking import BASE, bearer, enter, form_token


def clock_ms() -> int:
    """The clock of these tests: a link is good for ten minutes of it."""
    return time.time_ns() // 1_000_000


@pytest.fixture
def ours(db: Connection, own_home: Path) -> str:
    """The id of a project."""
    return registered(db, own_home, "project")


@pytest.fixture
def theirs(db: Connection, own_home: Path) -> str:
    """The id of another one."""
    return registered(db, own_home, "elsewhere")


def registered(db: Connection, own_home: Path, name: str) -> str:
    found = scopes.of_directory(db, str(project_folder(own_home, name)), now_ms=clock_ms(), register=True)
    assert found.project_id is not None
    return found.project_id


@pytest.fixture
def client(config: Config, db: Connection) -> Iterator[TestClient]:
    """Nobody in particular."""
    with TestClient(make_app(config, clock_ms), base_url=BASE, follow_redirects=False) as client:
        yield client


@pytest.fixture
def home(client: TestClient, config: Config) -> TestClient:
    """Who has the home's own token."""
    client.headers.update(bearer(config))
    return client


@pytest.fixture
def person(config: Config, db: Connection) -> Iterator[TestClient]:
    """A browser that a person let in, whose page sends along what its forms carry."""
    with TestClient(make_app(config, clock_ms), base_url=BASE, follow_redirects=False) as client:
        enter(client, config)
        client.headers.update({asking.FORM_HEADER: form_token(client), "Origin": BASE})
        yield client
