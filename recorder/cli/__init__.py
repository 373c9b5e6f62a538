"""The command line."""

from __future__ import annotations

import sys

from recorder.cli import (
    capture,
    correct,
    lifecycle,
    links,
    memory,
    models,
    past,
    projects,
    recall,
    review,
    service,
    state,
    sync,
)
from recorder.cli.frame import app, guarded

__all__ = [
    "capture",
    "correct",
    "lifecycle",
    "links",
    "main",
    "memory",
    "models",
    "past",
    "projects",
    "recall",
    "review",
    "service",
    "state",
    "sync",
]


def main() -> None:
    """Run the command named on the command line; exit 0 ok, 1 failed, 2 wrong use."""
    sys.exit(guarded(lambda: app(prog_name="recorder")))
