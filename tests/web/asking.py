"""Who asks, in tests: a browser that a person let in, and tokens."""

from __future__ import annotations

import os
import re

from starlette.testclient import TestClient

from recorder.config import Config
from recorder.web import access, serve

BASE = "http://127.0.0.1:7377"


def enter(client: TestClient, config: Config) -> None:
    """Let the client in as a person's browser, by a link as `recorder up` prints it."""
    link = serve.login_url(config.home, serve.Running(os.getpid(), 7377))
    assert client.get(link, follow_redirects=False).status_code == 303


def form_token(client: TestClient) -> str:
    """What a form of the person's pages carries."""
    found = re.search(r'name="form_token" value="([^"]+)"', client.get("/").text)
    assert found is not None
    return found[1]


def bearer(config: Config) -> dict[str, str]:
    return {"Authorization": f"Bearer {access.token(config.home)}"}
