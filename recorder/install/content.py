"""The bytes of a file with ours in them, and without."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from recorder.config import home_of
from recorder.install import mcp_entry, places, settings
from recorder.install import text as json_text
from recorder.install.places import Target
from recorder.install.record import Mark


@dataclass(frozen=True, slots=True)
class Aim:
    """What shall stand in the settings."""

    home: Path
    entries: tuple[settings.Entry, ...]
    server: Mapping[str, object]


def aim(environ: Mapping[str, str], *, interpreter: str, source_root: Path) -> Aim:
    """The entries of this version, for the home of this environment."""
    home = absolute_home(environ)
    python = os.path.abspath(interpreter)
    default_home = Path(os.path.abspath(places.user_dir(environ) / ".recorder"))
    entries = settings.entries(source_root / "hooks" / "hooks.json", home, python)
    return Aim(home, entries, mcp_entry.entry(python, home, default_home))


def absolute_home(environ: Mapping[str, str]) -> Path:
    """The home under the name that entries carry: absolute, symlinks unresolved."""
    return Path(os.path.abspath(home_of(environ)))


def merged(goal: Aim, target: Target, raw: bytes | None) -> bytes:
    """The bytes with ours in them; the same bytes when they are.

    Raises: SettingsError when the file cannot be merged safely.
    """
    where = str(target.path)
    mark, text = json_text.decode(raw or b"", where)
    if target.keys:
        new = mcp_entry.merge(text, target.keys, goal.server, where)
    else:
        new = settings.merge(text, goal.entries, settings.recognise(goal.home), where)
    return raw if raw is not None and new == text else (mark + new).encode()


def without(home: Path, target: Target, mark: Mark | None, raw: bytes | None) -> bytes | None:
    """The bytes as they were before us, or at least without us; None when nothing is left of a file that we made.

    Raises: SettingsError when the file cannot be read as JSON.
    """
    before = original(home, mark, raw)
    if raw is None or before is not None:
        return before
    where = str(target.path)
    bom, text = json_text.decode(raw, where)
    kept = mark.kept if mark else ()
    if target.keys:
        new = mcp_entry.strip(text, target.keys, kept, where)
    else:
        new = settings.strip(text, settings.recognise(home), kept, where)
    if mark and not mark.existed and new != text and not json_text.parse(new, where).value:
        return None
    return raw if new == text else (bom + new).encode()


def original(home: Path, mark: Mark | None, raw: bytes | None) -> bytes | None:
    """The file as it was before us, when it still is what we wrote and its backup is there."""
    if raw is None or mark is None or mark.original is None or sha256(raw).hexdigest() != mark.written:
        return None
    backup = home / mark.original
    return backup.read_bytes() if backup.is_file() else None


def containers(target: Target, raw: bytes | None) -> tuple[str, ...]:
    """Objects and lists that would hold ours and are there before: uninstall leaves them."""
    where = str(target.path)
    text = json_text.decode(raw or b"", where)[1]
    return mcp_entry.containers(text, target.keys, where) if target.keys else settings.empty_containers(text, where)
