"""No secret of a memory file reaches the store, wherever in the file or its name it stands."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from recorder.config import Config
from recorder.store import events
from recorder.store.db import Connection
from tests.claude_auto.claude_home import counts, known_project, memory_folder, run, seen


def token() -> str:
    return "ghp_" + "".join(chr(ord("a") + (n * 7) % 26) + str(n % 10) for n in range(18))


def web_token() -> str:
    """A signed claim, as a browser carries it."""
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890", "name": "somebody", "iat": 1516239022})
    told = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*told, base64.urlsafe_b64encode(bytes(range(90, 122))).decode().rstrip("=")])


def access_key() -> str:
    return "AK" + "IA" + "Q3EGRTBN7WDZ5XKM"


def held(db: Connection, config: Config, words: str) -> list[str]:
    """Where the words stand: `table.column` of every table, events as they are read, and the files."""
    found = []
    for (table,) in list(db.execute("select name from sqlite_schema where type = 'table'")):
        names = [row[0] for row in db.execute("select name from pragma_table_info(?)", (table,))]
        columns = ", ".join(f'"{name}"' for name in names)
        for row in db.execute(f'select {columns} from "{table}"'):
            texts = [cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell) for cell in row]
            found += [
                f"{table}.{name}" for name, text in zip(names, texts, strict=True) if words.lower() in text.lower()
            ]
    ids = [row[0] for row in db.execute("select id from events")]
    found += [f"event {event.id}" for event in events.get(db, ids) if words in str(event)]
    db.execute("pragma wal_checkpoint(truncate)").get
    files = [path for path in config.home.rglob("*") if path.is_file()]
    return sorted({*found, *(path.name for path in files if words.encode() in path.read_bytes())})


PLACES: dict[str, Callable[[str], tuple[str, str]]] = {
    "file name": lambda s: (f"{s}.md", "What to push with.\n"),
    "file name in words": lambda s: (f"push with {s} again.md", "What to push with.\n"),
    "session": lambda s: ("fact.md", f"---\noriginSessionId: {s}\n---\nA fact.\n"),
    "nested session": lambda s: ("fact.md", f"---\nmetadata: \n  originSessionId: {s}\n---\nA fact.\n"),
    "name": lambda s: ("fact.md", f"---\nname: {s}\ntype: {s}\nmodified: {s}\n---\nA fact.\n"),
    "description": lambda s: ("fact.md", f"---\ndescription: use {s}\n---\nA fact.\n"),
    "heading": lambda s: ("MEMORY.md", f"# With {s}\n\n- Push to the mirror\n"),
    "body": lambda s: ("fact.md", f"The token is {s}.\n"),
    "index": lambda s: ("MEMORY.md", f"- {s} is what pushes\n"),
    "wikilink": lambda s: ("fact.md", f"As in [[{s}]] and [{s}]({s}.md).\n"),
    "link": lambda s: ("MEMORY.md", f"- [The {s}]({s}.md) — pushes\n"),
    "left out": lambda s: (f"{s}.md", "x" * (1024 * 1024 + 1)),
    "lines beyond": lambda s: ("MEMORY.md", "".join(f"- Line {n} is about animal{n}, not {s}\n" for n in range(202))),
}


@pytest.mark.parametrize("secret", [token(), web_token(), access_key()], ids=["token", "jwt", "key"])
@pytest.mark.parametrize("place", PLACES)
def test_a_secret_in_a_file_or_its_name_reaches_no_column(
    db: Connection, config: Config, own_home: Path, place: str, secret: str
) -> None:
    folder, _ = known_project(db, config, own_home)
    name, text = PLACES[place](secret)
    (memory_folder(config, folder) / name[:255]).write_text(text)
    first = run(db, config)
    assert first.files == 1 and (first.created > 0 or place == "left out")
    assert held(db, config, secret) == []
    assert counts(run(db, config)) == ({"unchanged": first.created} if first.created else {})


def test_files_with_secrets_for_names_are_known_again_and_go_when_they_go(
    db: Connection, config: Config, own_home: Path
) -> None:
    folder, project_id = known_project(db, config, own_home)
    memory = memory_folder(config, folder)
    for number, secret in enumerate((token(), access_key())):
        (memory / f"{secret}.md").write_text(f"Fact number {number}.")
    assert counts(run(db, config)) == {"created": 2}
    there = seen(db, project_id)
    assert all("[redacted" in one.source and one.source.endswith(".md") for one in there.values())
    (memory / f"{token()}.md").write_text("Another fact.")
    assert counts(run(db, config)) == {"changed": 1, "unchanged": 1}
    (memory / f"{token()}.md").unlink()
    assert counts(run(db, config)) == {"pruned": 1, "unchanged": 1}
    (memory / f"{token()}.md").write_text("Another fact.")
    assert counts(run(db, config)) == {"restored": 1, "unchanged": 1}
    assert held(db, config, token()) == held(db, config, access_key()) == []


def test_a_secret_in_the_name_of_a_folder_reaches_no_column(db: Connection, config: Config) -> None:
    memory = config.claude_dirs[0] / "projects" / f"-home-{access_key()}" / "memory"
    other = config.claude_dirs[0] / "projects" / f"-home-{access_key()[:-1]}P" / "memory"
    for folder in (memory, other):
        folder.mkdir(parents=True)
        (folder / "fact.md").write_text("A fact about the till.")
        (folder / "dangling.md").symlink_to("nowhere")
    assert counts(run(db, config)) == {"created": 2} and held(db, config, access_key()) == []
    assert counts(run(db, config)) == {"unchanged": 2}
    (memory / "fact.md").unlink()
    (memory / "dangling.md").unlink()
    memory.rmdir()
    assert counts(run(db, config)) == {"pruned": 1, "unchanged": 1} and held(db, config, access_key()) == []


def test_a_line_of_the_index_points_at_a_file_with_a_secret_for_its_name(
    db: Connection, config: Config, own_home: Path
) -> None:
    folder, project_id = known_project(db, config, own_home)
    memory = memory_folder(config, folder)
    (memory / f"{token()}.md").write_text("A fact.")
    (memory / "MEMORY.md").write_text(f"- [How to push]({token()}.md) — with care\n- A line of its own\n")
    assert counts(run(db, config)) == {"created": 2}
    assert {one.value for one in seen(db, project_id).values()} == {"A fact.", "- A line of its own"}
