"""The sample session: the main job is seen to run, and nothing of the person's is touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def play(own_home: Path, *words: str) -> dict[str, Any]:
    """What the command answers in an empty HOME with no network and no worker."""
    own = {
        "HOME": str(own_home),
        "PATH": os.environ["PATH"],
        "TMPDIR": str(own_home),
        "KF_RULE_CACHE_DIR": os.environ["KF_RULE_CACHE_DIR"],
    }
    run = subprocess.run(
        [sys.executable, "-m", "recorder", "demo", "--json", *words],
        cwd=ROOT,
        env=own,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


def test_the_sample_session_is_captured_distilled_recalled_and_gone(own_home: Path) -> None:
    played = play(own_home)
    assert played["home"] is None and list(own_home.iterdir()) == []
    assert "captured: 7 hook inputs through the real hook, 7 events" in played["story"]
    first = played["hits"][0]
    assert first["type"] == "memory" and "uv run pytest -q" in first["text"]
    assert any("uv run pytest -q" in cited["quote"] for cited in first["evidence"])
    assert played["arms"]["words"] == "ok"


def test_the_home_of_the_sample_session_is_kept_on_request(own_home: Path) -> None:
    home = Path(play(own_home, "--keep")["home"])
    assert (home / ".recorder" / "recorder.db").is_file() and list(own_home.iterdir()) == [home]
