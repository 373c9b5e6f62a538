"""The client in a terminal, typed at through a private tmux."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.client import Machine, wait_for
from tests.e2e.model import Model

READY = r"\? for shortcuts|❯"


@dataclass(frozen=True)
class Terminal:
    """A screen and a keyboard."""

    socket: Path
    machine: Machine

    def screen(self) -> str:
        """What stands there now; empty when the client has left."""
        return self._tmux("capture-pane", "-p", "-t", "t")

    def see(self, pattern: str, *, seconds: float = 60) -> None:
        """Return when the screen shows the pattern.

        Raises: TimeoutError with the screen when it does not come.
        """
        try:
            wait_for(lambda: re.search(pattern, self.screen()), pattern, seconds=seconds)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.screen()}") from error

    def type(self, text: str) -> None:
        """Type a line, see it stand there, and send it."""
        self._tmux("send-keys", "-t", "t", "-l", text)
        self.see(re.escape(text[:40]))
        self.press("Enter")

    def press(self, key: str) -> None:
        self._tmux("send-keys", "-t", "t", key)

    def leave(self) -> None:
        """`/exit`, and return when the client is gone."""
        self.type("/exit")
        wait_for(lambda: not self.screen(), "end of the client")

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", str(self.socket), "-f", "/dev/null", *arguments]
        return subprocess.run(command, env=self.machine.env(), capture_output=True, text=True).stdout


@contextmanager
def terminal(machine: Machine, model: Model, *arguments: str, **env: str) -> Iterator[Terminal]:
    """An interactive session, ready for the first prompt."""
    with tempfile.TemporaryDirectory() as short:  # tmux's socket path must be short (unix(7))
        socket = Path(short) / "s"
        tmux = ["tmux", "-S", str(socket), "-f", "/dev/null", "-D"]
        with machine.staged(tmux, model, **env) as server:
            opened = Terminal(socket, machine)
            try:
                wait_for(socket.exists, "tmux")
                client = [str(machine.binary), *arguments]
                opened._tmux(
                    "new-session", "-d", "-x", "150", "-y", "50", "-s", "t", "-c", str(machine.project), *client
                )
                opened.see(READY)
                yield opened
            finally:
                opened._tmux("kill-server")
                server.wait(10)
