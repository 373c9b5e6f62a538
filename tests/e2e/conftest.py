"""The client, fetched once; skipped by name where npm cannot give it, unless `RECORDER_E2E_REQUIRED` is set."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.client import ClientMissing, Machine, fetch


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def client() -> Path:
    """The pinned client's binary."""
    if sys.platform != "linux":
        pytest.skip("THE REAL CLIENT IS NOT DRIVEN HERE: a network of its own needs Linux (unshare)")
    try:
        return fetch(os.environ)
    except ClientMissing as error:
        if os.environ.get("RECORDER_E2E_REQUIRED"):
            pytest.fail(str(error))
        pytest.skip(f"THE REAL CLIENT IS NOT DRIVEN HERE: {error}")


@pytest.fixture(scope="session")
def new_machine(client: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Machine]:
    """Makes machines; keyword arguments are their environment."""

    def make(**environ: str) -> Machine:
        return Machine(client, tmp_path_factory.mktemp("machine"), environ).prepare()

    return make


@pytest.fixture
def machine(new_machine: Callable[..., Machine]) -> Machine:
    return new_machine()
