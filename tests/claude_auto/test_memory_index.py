"""MEMORY.md: what no file holds becomes a memory of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from recorder.config import Config
from recorder.models import MemoryKind, Scope
from recorder.recall import rank
from recorder.store.db import Connection
from tests.claude_auto.claude_home import counts, known_project, memory_folder, run, seen
from tests.makers import T0


@pytest.fixture
def place(db: Connection, config: Config, own_home: Path) -> tuple[Path, str]:
    folder, project_id = known_project(db, config, own_home)
    return memory_folder(config, folder), project_id


def values(db: Connection, config: Config, place: tuple[Path, str], text: str) -> dict[str, str]:
    """Key → value of what a MEMORY.md gives."""
    (place[0] / "MEMORY.md").write_text(text)
    run(db, config)
    return {key: memory.value for key, memory in seen(db, place[1]).items()}


def test_lines_of_the_index_whose_file_is_there_are_no_memories(
    db: Connection, config: Config, place: tuple[Path, str]
) -> None:
    for name in ("a.md", "b c.md"):
        (place[0] / name).write_text(f"What {name} says.\n")
    text = (
        "# Memory Index\n\n"
        "- [First](a.md) — the hook\n"
        "  that goes on here\n"
        "* [Second, (odd)](b%20c.md) - another\n"
        "- [Gone](gone.md) — nobody knows any more\n"
    )
    found = values(db, config, place, text)
    assert set(found) == {"a", "b c", "MEMORY#gone-nobody-knows-any-more"}
    assert found["MEMORY#gone-nobody-knows-any-more"] == "Memory Index\n- [Gone](gone.md) — nobody knows any more"
    (place[0] / "gone.md").write_text("It is back.\n")
    assert counts(run(db, config)) == {"created": 1, "unchanged": 2, "pruned": 1}
    assert set(seen(db, place[1])) == {"a", "b c", "gone"}


def test_an_old_index_is_the_memory_itself(db: Connection, config: Config, place: tuple[Path, str]) -> None:
    text = """# Till

## Rounding
Amounts are in cents.
They are never floats.

**WRONG:**
```python
# not a heading
price = 1.10

price += 2
```

## Habits
- Run the tests first
  - also on a branch

  and after a merge
- Ask before a release

| who | what |
|---|---|
| Ann | till |

---
"""
    found = values(db, config, place, text)
    assert found == {
        "MEMORY#amounts-are-in-cents-they-are": "Till › Rounding\nAmounts are in cents.\nThey are never floats.",
        "MEMORY#wrong-python-not-a-heading-price": "Till › Rounding\n**WRONG:**\n```python\n# not a heading\n"
        "price = 1.10\n\nprice += 2\n```",
        "MEMORY#run-the-tests-first-also-on": "Till › Habits\n- Run the tests first\n  - also on a branch\n\n"
        "  and after a merge",
        "MEMORY#ask-before-a-release": "Till › Habits\n- Ask before a release",
        "MEMORY#who-what-ann-till": "Till › Habits\n| who | what |\n|---|---|\n| Ann | till |",
    }
    assert all(memory.kind is MemoryKind.SEMANTIC for memory in seen(db, place[1]).values())


def test_code_that_follows_a_blank_line_stays_with_its_paragraph(
    db: Connection, config: Config, place: tuple[Path, str]
) -> None:
    found = values(db, config, place, "Start it so:\n\n~~~\nmake up\n~~~\n\nAnd stop it.\n\n```\nnever closed\n")
    assert list(found.values()).count("And stop it.\n\n```\nnever closed") == 1
    assert "Start it so:\n\n~~~\nmake up\n~~~" in found.values()


@pytest.mark.parametrize("text", ["# Claude Code Memory\n\n", "# Memory\n\n## Notes\n", "", "\n\n---\n<!-- none -->\n"])
def test_a_template_gives_nothing(db: Connection, config: Config, place: tuple[Path, str], text: str) -> None:
    assert values(db, config, place, text) == {}


def test_entries_that_begin_alike_are_numbered_and_do_not_slide(
    db: Connection, config: Config, place: tuple[Path, str]
) -> None:
    alike = [f"- The very same six words begin {what}" for what in ("one", "two", "three")]
    stem = "MEMORY#the-very-same-six-words-begin"
    first = values(db, config, place, "\n".join(alike))
    assert first == {stem: alike[0], f"{stem}-2": alike[1], f"{stem}-3": alike[2]}
    second = values(db, config, place, "\n".join([*alike[1:], f"{alike[2]} and more"]))
    assert (second.pop(f"{stem}-2"), second.pop(f"{stem}-3")) == (alike[1], alike[2])
    assert list(second.values()) == [f"{alike[2]} and more"]
    assert values(db, config, place, "\n".join([alike[1], alike[1]])) == {f"{stem}-2": alike[1]}


def test_a_line_beyond_what_claude_loads_is_recalled_and_reported(
    db: Connection, config: Config, place: tuple[Path, str]
) -> None:
    path = place[0] / "MEMORY.md"
    path.write_text("".join(f"- Line {n} is about animal{n}\n" for n in range(1, 239)))
    for _ in range(2):
        report = run(db, config)
        assert report.beyond_limit == 38 and report.beyond_files == {str(path): 38}
    assert len(seen(db, place[1])) == 238
    found = rank.recall(db, "animal238", Scope(place[1]), k=1, vector=None, vector_status="unavailable: x", now_ms=T0)
    assert found.hits[0].text.startswith("- Line 238")
    path.write_text("- " + "long " * 5_500 + "\n- the last line\n")
    assert run(db, config).beyond_limit == 2


def test_an_inline_entry_that_goes_on_differently_is_the_same_memory(
    db: Connection, config: Config, place: tuple[Path, str]
) -> None:
    values(db, config, place, "- Ask Ann about the till before each release\n")
    (place[0] / "MEMORY.md").write_text("- Ask Ann about the till before lunch\n")
    assert counts(run(db, config)) == {"changed": 1}
