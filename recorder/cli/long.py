"""What a long command shows while it runs, and how it is stopped."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from recorder.cli.frame import err


@contextmanager
def bar(total: int, does: str = "reading", *, size: bool = True) -> Iterator[Callable[[int], None]]:
    """A bar of bytes, or of events, on a person's terminal, and nothing anywhere else."""
    if not err.is_terminal:
        yield lambda n: None
        return
    amount = (DownloadColumn(), TransferSpeedColumn()) if size else (MofNCompleteColumn(),)
    columns = (TextColumn(does), BarColumn(), *amount, TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda n: progress.advance(task, n)


@contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C or SIGTERM came. The second one ends at once."""
    came = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        signal.signal(number, before[signal.Signals(number)])

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: came
    finally:
        for number, was in before.items():
            signal.signal(number, was)
