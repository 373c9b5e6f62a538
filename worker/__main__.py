"""The worker as a process: one per user, held by a file lock."""

from __future__ import annotations

import logging
import logging.handlers
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from recorder import config
from recorder.errors import RecorderError, StoreError
from worker.desk import Desk, as_text
from worker.held import lock, make_loop
from worker.loop import Loop, Wish

logger = logging.getLogger("worker")

EMBED_TIMEOUT_S = 5.0
DRAIN_PATIENCE_S = 600.0


def answers(loop: Loop, settings: config.Config) -> dict[str, Any]:
    """What can be asked for at the socket."""

    def embed(asked: Mapping[str, Any]) -> Mapping[str, Any]:
        texts = [str(text) for text in asked.get("texts", [])][:64]
        built = loop.model.chosen
        found = loop.model.embed(texts, EMBED_TIMEOUT_S, built)
        return {"vectors": as_text(found), "model": built.id if built else None}

    def choose(asked: Mapping[str, Any]) -> Mapping[str, Any]:
        loop.model.choose(config.load(os.environ).embed.model)
        loop.wake.set()
        return {"model": loop.model.chosen.id if loop.model.chosen else None}

    def drain(asked: Mapping[str, Any]) -> Mapping[str, Any]:
        wish = Wish(distil=bool(asked.get("distil", True)))
        loop.wishes.put(wish)
        loop.wake.set()
        done = wish.done.wait(DRAIN_PATIENCE_S)
        if wish.error:
            raise StoreError(wish.error)
        return {"done": done, "taken": wish.taken}

    def redact(asked: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"texts": loop.redactor.texts([str(text) for text in asked.get("texts", [])][:64])}

    def status(asked: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"pid": os.getpid(), **loop.status()}

    def stop(asked: Mapping[str, Any]) -> Mapping[str, Any]:
        loop.stop.set()
        loop.wake.set()
        return {}

    return {"embed": embed, "choose": choose, "redact": redact, "drain": drain, "status": status, "stop": stop}


def main() -> int:
    """Run until there is nothing to do. 0 also when another worker runs already; 1 with a reason on stderr else."""
    try:
        settings = config.load(os.environ)
        held = lock(settings.home)
        if held is None:
            return 0
        _log_to(settings.logs_dir)
        for warning in settings.warnings:
            logger.warning("%s", warning)
        loop = make_loop(settings)
        _stop_on_signals(loop)
        desk = Desk(settings.home, answers(loop, settings))
        desk.open()
        try:
            loop.run()
        finally:
            desk.close()
    except (RecorderError, OSError) as error:
        logger.error("the worker cannot run: %s", error)
        print(f"recorder: the worker cannot run: {error}", file=sys.stderr)
        return 1
    return 0


def _stop_on_signals(loop: Loop) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        loop.stop.set()
        loop.wake.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def _log_to(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.umask(0o077)
    keeper = logging.handlers.RotatingFileHandler(
        folder / "worker.log", maxBytes=2_000_000, backupCount=2, encoding="utf-8", delay=True
    )
    keeper.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[keeper])


if __name__ == "__main__":
    sys.exit(main())
