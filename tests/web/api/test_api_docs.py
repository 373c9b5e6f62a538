"""The lines of the documentation, as they are written, against a service that runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recorder.config import Config
from recorder.store.db import Connection
from tests.web.asking import serving

ROOT = Path(__file__).resolve().parents[3]
PAGES = ("README.md", "docs/http.md")


def scripts(page: str) -> list[str]:
    """The blocks of a page that call the API."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    return [block for block in blocks if "curl" in block]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("page", PAGES)
def test_every_line_of_curl_works_as_written(page: str, config: Config, db: Connection, tmp_path: Path) -> None:
    command = tmp_path / "bin" / "recorder"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\ncd "{ROOT}" && exec "{sys.executable}" -m recorder "$@"\n')
    command.chmod(0o755)
    environ = os.environ | {"RECORDER_HOME": str(config.home), "PATH": f"{command.parent}:{os.environ['PATH']}"}
    found = scripts(page)
    assert found
    with serving(config) as port:
        for script in found:
            told = subprocess.run(
                ["/bin/sh", "-ec", script.replace(":7377", f":{port}")],
                cwd=tmp_path,
                env=environ,
                capture_output=True,
                text=True,
                timeout=120,
            )
            assert told.returncode == 0, (script, told.stdout[-800:], told.stderr)
