"""What is a secret as it stands: the token of this home's own service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path


def of_home(home: Path) -> Callable[[], Sequence[str]]:
    """Gives the token of the service, none where it was never started; the file is read again when it was replaced."""
    path = home / "token"
    seen: tuple[int, int] | None = None
    known: tuple[str, ...] = ()

    def literals() -> Sequence[str]:
        nonlocal seen, known
        try:
            state = path.stat()
            if (state.st_mtime_ns, state.st_ino) != seen:
                token = path.read_text(encoding="ascii", errors="replace").strip()
                known = (token,) if len(token) >= 16 else ()
                seen = (state.st_mtime_ns, state.st_ino)
        except OSError:
            return known
        return known

    return literals
