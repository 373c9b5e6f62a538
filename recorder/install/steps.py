"""Into Claude Code's settings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from recorder.install import content, files, mcp_entry, notices, places, record, wake
from recorder.install import home as home_folder
from recorder.install import text as json_text
from recorder.install.content import Aim
from recorder.install.places import Target
from recorder.install.record import Mark
from recorder.install.report import Change, Report


def install(
    environ: Mapping[str, str],
    *,
    interpreter: str,
    source_root: Path,
    now_ms: int,
    scope: str = "user",
    project_dir: Path | None = None,
    config_dirs: Sequence[Path] = (),
    managed: Path = places.MANAGED,
    dry_run: bool = False,
) -> Report:
    """What was done. Everything is checked before the first write; a second run changes no byte.

    Raises: SettingsError when a file cannot be merged safely (nothing is changed then) or the disk refuses.
    """
    goal = content.aim(environ, interpreter=interpreter, source_root=source_root)
    home, source = goal.home, source_root / "hooks"
    home_folder.check(home, environ)
    marks = {mark.target: mark for mark in record.load(home)}
    targets = places.targets(environ, scope, project_dir, config_dirs)
    planned = tuple(_plan(goal, target) for target in targets)
    watched = places.deciding(environ, targets, project_dir, managed)
    warnings = (*_foreign_servers(targets), *notices.of(watched))
    if dry_run:
        return Report(home, planned, warnings, home_folder.stale_hooks(home, source), dry_run=True)
    home_folder.prepare(home)
    hooks = home_folder.copy_hooks(home, source)
    files.put(home / "wake", wake.script(home, os.path.abspath(interpreter)).encode(), 0o700)
    done = tuple(_merge(goal, change, marks, now_ms) for change in planned)
    return Report(home, done, warnings, hooks)


def _plan(goal: Aim, target: Target) -> Change:
    files.check_writable(target.path)
    old = files.read(target.path)
    new = content.merged(goal, target, old)
    return Change(target.path, target.keys, "created" if old is None else "unchanged" if new == old else "merged")


def _merge(goal: Aim, planned: Change, marks: dict[Target, Mark], now_ms: int) -> Change:
    target = Target(planned.path, planned.keys)
    made = _make_folders(target.path.parent)
    backup: str | None = None

    def change(old: bytes | None) -> bytes:
        nonlocal backup
        new = content.merged(goal, target, old)
        if new != old:
            mark = marks.get(target)
            foreign = old is not None and (mark is None or sha256(old).hexdigest() != mark.written)
            backup = record.back_up(goal.home, target.path, old, now_ms) if foreign and old is not None else None
            marks[target] = _mark(goal.home, target, mark, old, new, made, backup)
            # Before the file: a crash in between leaves a record of nothing, never a change without a record.
            record.save(goal.home, tuple(marks.values()))
        return new

    files.edit(target.path, change, lock=bool(target.keys))
    return replace(planned, backup=goal.home / backup if backup else None)


def _mark(
    home: Path,
    target: Target,
    mark: Mark | None,
    old: bytes | None,
    new: bytes,
    made: tuple[str, ...],
    backup: str | None,
) -> Mark:
    written = sha256(new).hexdigest()
    if mark and old is not None and backup is None:  # an upgrade over our own last version
        return replace(mark, written=written)
    clean = not target.keys and content.without(home, target, None, old) == old
    return Mark(
        path=str(target.path),
        keys=target.keys,
        existed=mark.existed if mark else old is not None,
        written=written,
        original=backup if clean else None,
        kept=mark.kept if mark else content.containers(target, old),
        made=mark.made if mark else made,
    )


def _make_folders(folder: Path) -> tuple[str, ...]:
    """The folders that had to be made, outermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
    return tuple(str(path) for path in reversed(missing))


def _foreign_servers(targets: Iterable[Target]) -> Iterable[str]:
    for target in targets:
        raw = files.read(target.path) if target.keys else None
        if raw is None:
            continue
        server = mcp_entry.standing(json_text.decode(raw, str(target.path))[1], target.keys, str(target.path))
        if server is not None and not mcp_entry.is_ours(server):
            yield f"{target.path}: another MCP server is called 'recorder'; it stays, and ours is not registered there"
