"""The command line."""

from __future__ import annotations

import sys

from recorder.cli import capture, correct, lifecycle, memory, projects, service, state
from recorder.cli.frame import app, guarded

__all__ = ["capture", "correct", "lifecycle", "main", "memory", "projects", "service", "state"]


def main() -> None:
    """Run the command named on the command line; exit 0 ok, 1 failed, 2 wrong use."""
    sys.exit(guarded(lambda: app(prog_name="recorder")))
