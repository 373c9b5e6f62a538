"""What is to be forgotten and lies outside the database: spool, logs, briefs, exports; and who else holds it."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recorder import gate
from recorder.config import Config
from recorder.counted import many
from recorder.store import copies
from recorder.store.db import Connection
from recorder.store.holding import Words

_COUNTED = {
    "memories": ("memory that goes", "memories that go"),
    "versions": ("version of memories, past ones included", "versions of memories, past ones included"),
    "suppressed": ("memory drawn from them, hidden", "memories drawn from them, hidden"),
    "events": ("event that goes", "events that go"),
}

ALWAYS = (
    "conversations that say it again in other transcripts of Claude Code, its memory files and its history of prompts",
    "git, and files that were written with it",
    "exports and backups that somebody else made, moved or copied, snapshots and backups of this disk",
    "what Claude Code sent to its model provider",
)
"""What nobody here can change, or even see."""


@dataclass(frozen=True, slots=True)
class Cleared:
    """What was done outside the database: files taken away, and files from which the text was taken out."""

    removed: tuple[str, ...] = ()
    overwritten: tuple[str, ...] = ()


def everywhere(
    db: Connection, config: Config, planned: gate.Plan, writer: gate.Writer, *, reason: str | None = None
) -> tuple[gate.Forgotten, Cleared]:
    """Forget what was planned, in the database and outside it.

    Files go first: a crash in between leaves what the words are still known for, and the wish is made again. They are
    looked at once more afterwards, for a hook may have written meanwhile.

    Raises: Conflict, GateRefused.
    """
    ours = [path for path in copies.noted(db, "export") if _ours(config, path)]
    addresses = {(memory.namespace, memory.key) for memory in planned.memories}
    first = clear(config, planned.words, exports=ours, addresses=addresses)
    done = gate.carry_out(db, planned, writer, reason=reason, unreached=unreached(db, config, planned))
    then = clear(config, planned.words)
    return done, Cleared(
        tuple(dict.fromkeys((*first.removed, *then.removed))),
        tuple(dict.fromkeys((*first.overwritten, *then.overwritten))),
    )


def clear(
    config: Config, words: Words, *, exports: Sequence[str] = (), addresses: Collection[tuple[str, str]] = ()
) -> Cleared:
    """Take the words out of the files of this home. From an export every memory goes that holds them or stands at one
    of the addresses, and with it the seal: it is no whole export any more."""
    removed: list[str] = []
    overwritten: list[str] = []
    for path in holding(_spooled_and_shown(config), words):
        path.unlink(missing_ok=True)
        path.with_name(path.name + ".reason").unlink(missing_ok=True)
        removed.append(str(path))
    # In place and to the same length: whoever has the file open writes on behind it.
    for path in map(Path, exports):
        if _without_entries(path, words, addresses):
            overwritten.append(str(path))
    for path in holding([*_files(config.logs_dir), *map(Path, exports)], words):
        with suppress(OSError):
            _overwrite(path, words)
            overwritten.append(str(path))
    return Cleared(tuple(removed), tuple(overwritten))


def unreached(db: Connection, config: Config, planned: gate.Plan) -> list[str]:
    """What holds the same, or may, and is not changed, in words."""
    transcripts = [f"Claude Code's transcript {path}" for path in planned.transcripts if Path(path).exists()]
    written = [
        f"the {what} {path}, which brings nothing back when it is {used}"
        for what, used in (("backup", "restored"), ("export", "imported"))
        for path in copies.noted(db, what)
        if Path(path).exists() and not (what == "export" and _ours(config, path))
    ]
    return [*transcripts, *written, *ALWAYS]


def preview(db: Connection, config: Config, planned: gate.Plan) -> dict[str, Any]:
    """What would go, as JSON shows it: how much of what, the memories that go too, those that are hidden with them, and
    what cannot be reached."""
    return {
        "action": "preview",
        "reached": gate.reached(planned),
        **named(planned),
        "unreached": unreached(db, config, planned),
    }


def counted(reached: Mapping[str, int]) -> list[str]:
    """What a wish reaches, in lines: `2 events that go`, `2 of kind prompt`."""
    told = []
    for name, n in reached.items():
        one, more = _COUNTED.get(name) or (f"of kind {name.removeprefix('events.')}",) * 2
        told += [many(n, one, more)] if n else []
    return told


def named(planned: gate.Plan) -> dict[str, list[str]]:
    """The memories that go too, and those that are hidden with them, by their addresses."""
    return {
        "also": [f"{one.namespace}/{one.key}" for one in planned.memories if one != planned.memory],
        "suppressed": [f"{one.namespace}/{one.key}" for one in planned.derived],
    }


def holding(paths: Iterable[Path], words: Words) -> list[Path]:
    """The files that hold one of the texts."""
    return [path for path in paths if words.in_bytes(_content(path))]


def _ours(config: Config, path: str) -> bool:
    return Path(path).is_relative_to(config.home)


def _spooled_and_shown(config: Config) -> Iterator[Path]:
    for folder in (*(config.spool / name for name in ("new", "tmp", "bad")), config.brief_dir):
        yield from _files(folder)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # gone, or not ours to read
        return b""


def _without_entries(path: Path, words: Words, addresses: Collection[tuple[str, str]]) -> bool:
    """Whether memories were taken out of an export."""
    content = _content(path)
    less = less_export(content, words, addresses)
    if less is None:
        return False
    with suppress(OSError):
        _overwrite(path, words)  # where it lies on the disk
        part = path.with_name(f".{path.name}.part")
        with open(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
            file.write(less)
        os.replace(part, path)
        return True
    return False


def less_export(content: bytes, words: Words, addresses: Collection[tuple[str, str]]) -> bytes | None:
    """An export without the memories that hold the words or stand at one of the addresses, and without its seal; None
    where it holds none of them, or is no export."""
    try:
        file = json.loads(content)
        inside = file["content"]
        entries, links, rejections = inside["memories"], inside["relations"], inside["tombstones"]
        gone = {
            (one["namespace"], one["key"])
            for one in entries
            if (one["namespace"], one["key"]) in addresses or words.in_bytes(json.dumps(one).encode())
        }
        left = [
            one
            for one in links
            if not words.in_text(one["relation"])
            and not any((one[end]["namespace"], one[end]["key"]) in gone for end in ("source", "target"))
        ]
        if not gone and len(left) == len(links):
            return None
        for one in entries:
            with_whom = one["suppressed_with"]
            if with_whom and (with_whom["namespace"], with_whom["key"]) in gone:
                one["suppressed_with"] = None
        for one in rejections:
            if one["memory"] and (one["memory"]["namespace"], one["memory"]["key"]) in gone:
                one["memory"] = None
            one["reason"] = None if one["reason"] and words.in_text(one["reason"]) else one["reason"]
        inside["memories"] = [one for one in entries if (one["namespace"], one["key"]) not in gone]
        inside["relations"] = left
        file["seal"] = {"sha256": "", "signature": ""}
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    return json.dumps(file, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace")


def _overwrite(path: Path, words: Words) -> None:
    raw = _content(path)
    content = raw.lower()
    with path.open("r+b") as file:
        for spelled in words.spelled:
            start = content.find(spelled)
            while start >= 0:
                file.seek(start)
                file.write(b"x" * len(spelled))
                start = content.find(spelled, start + 1)
        text = raw.decode("utf-8", "surrogateescape")
        for begin, end in words.spans(text):
            file.seek(len(text[:begin].encode("utf-8", "surrogateescape")))
            file.write(b"x" * len(text[begin:end].encode("utf-8", "surrogateescape")))
