"""One value in `config.toml`, and the rest of the file as it was."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

from recorder.errors import ConfigError


def set_value(path: Path, section: str, name: str, value: str) -> bool:
    """Let the file say `section.name = value`. False when it said so already.

    Raises: ConfigError when the file cannot be read, is not TOML, or says it in a way that cannot be changed safely.
    """
    path = Path(os.path.realpath(path))  # a link to where settings are kept stays one
    try:
        text = path.read_bytes().decode() if path.exists() else ""
        before = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read ({error}): mend or remove it") from error
    table = before.get(section, {})
    if isinstance(table, dict) and table.get(name) == value:
        return False
    draft = with_value(text, section, name, value)
    wanted: dict[str, Any] = {**before, section: {**(table if isinstance(table, dict) else {}), name: value}}
    if _parsed(draft) != wanted:
        raise ConfigError(
            f"{path} cannot be changed safely: write {section}.{name} = {json.dumps(value)} into it by hand"
        )
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
        stream.write(draft)
    if path.exists():
        os.chmod(beside, path.stat().st_mode & 0o777)
    os.replace(beside, path)
    return True


def with_value(text: str, section: str, name: str, value: str) -> str:
    """The TOML text with the value in its plain table; a comment behind the old value stays.

    `with_value("[embed]\\nmodel = 'a' # why\\n", "embed", "model", "b")` is `'[embed]\\nmodel = "b" # why\\n'`.
    """
    line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    head = re.search(rf"^[ \t]*\[[ \t]*{section}[ \t]*\][^\n]*(?:\n|$)", text, re.M)
    if head is None:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}[{section}]\n{line}\n"
    start, rest = head.end(), text[head.end() :]
    end = start + (following.start() if (following := re.search(r"^[ \t]*\[", rest, re.M)) else len(rest))
    inside = text[start:end]
    old = r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[^#\r\n]*?(?=[ \t]*(?:#|\r?\n|\Z))"
    assignment = re.compile(rf"^([ \t]*){name}[ \t]*=[ \t]*(?:{old})", re.M)
    changed, times = assignment.subn(lambda found: found.group(1) + line, inside, count=1)
    if not times:
        changed = f"{line}\n{inside}" if head.group().endswith("\n") else f"\n{line}\n"
    return text[:start] + changed + text[end:]


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
