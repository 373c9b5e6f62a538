"""Who asks, in tests: a browser that a person let in, and tokens."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from starlette.testclient import TestClient

from recorder.config import Config
from recorder.store.db import Connection
from recorder.store.tokens import Rights
from recorder.web import access, serve
from recorder.web.running import server_of
from recorder.web.tokens import mint
from tests.makers import T0

BASE = "http://127.0.0.1:7377"


def enter(client: TestClient, config: Config) -> None:
    """Let the client in as a person's browser, by a link as `recorder up` prints it."""
    link = serve.login_url(config.home, serve.Running(os.getpid(), 7377))
    assert client.get(link, follow_redirects=False).status_code == 303


def form_token(client: TestClient) -> str:
    """What every form of the person's pages carries."""
    return str(client.get("/api/me").json()["form"])


def bearer(config: Config) -> dict[str, str]:
    """The headers of who has the home's own token."""
    return {"Authorization": f"Bearer {access.token(config.home)}"}


def minted(db: Connection, rights: Rights, project_id: str | None) -> dict[str, str]:
    """The headers of who has a token of a project."""
    return {"Authorization": f"Bearer {mint(db, rights, project_id, T0)}"}


def routes(app: FastAPI) -> Iterator[tuple[str, str]]:
    """(method, address) of everything the router lists, with something in place of every parameter."""
    for route in iter_route_contexts(app.routes):
        path = re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: "1" if found[1] == "id" else "user", route.path or "")
        for method in sorted(getattr(route, "methods", None) or {"GET"}):
            yield method, path if path != "/static" else "/static/recorder.css"


@contextmanager
def serving(config: Config) -> Iterator[int]:
    """The service on a port of its own, and which; it has ended afterwards."""
    listener = serve.bind(0)
    server = server_of(config, lambda: time.time_ns() // 1_000_000, serve.GRACE_S)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        deadline = time.monotonic() + 20
        while not server.started:
            assert time.monotonic() < deadline and thread.is_alive()
            time.sleep(0.01)
        yield int(listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
