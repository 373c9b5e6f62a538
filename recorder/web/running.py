"""The HTTP server around the app, which ends its streams before it waits for them."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from recorder.config import Config
from recorder.web.app import make_app


class Server(uvicorn.Server):
    """uvicorn waits for open answers before it tells the app that it stops; a stream is told first."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.stopping.set()
        await super().shutdown(sockets)


def server_of(config: Config, clock_ms: Callable[[], int], grace_s: int) -> Server:
    """The server of a home, ready to run."""
    app = make_app(config, clock_ms)
    settings = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=grace_s
    )
    return Server(settings, app)
