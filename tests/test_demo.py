"""The sample session: the main job is seen to run, and nothing of the person's is touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def played(own_home: Path) -> Iterator[dict[str, Any]]:
    """What the command answers in an empty HOME with no network and no worker."""
    own = {
        "HOME": str(own_home),
        "PATH": os.environ["PATH"],
        "TMPDIR": str(own_home),
        "KF_RULE_CACHE_DIR": os.environ["KF_RULE_CACHE_DIR"],
    }
    run = subprocess.run(
        [sys.executable, "-m", "recorder", "demo", "--json"],
        cwd=ROOT,
        env=own,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    answer = json.loads(run.stdout)
    yield answer
    shutil.rmtree(answer["home"])


def test_the_sample_session_is_captured_distilled_and_recalled(played: dict[str, Any], own_home: Path) -> None:
    assert "captured: 7 hook inputs through the real hook, 7 events" in played["story"]
    first = played["hits"][0]
    assert first["type"] == "memory" and "uv run pytest -q" in first["text"]
    assert any("uv run pytest -q" in cited["quote"] for cited in first["evidence"])
    assert played["arms"]["words"] == "ok"
    assert not (own_home / ".recorder").exists() and not (own_home / ".claude").exists()
