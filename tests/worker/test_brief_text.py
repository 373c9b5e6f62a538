"""What the worker prepares for the start of a session."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from recorder.config import Config
from recorder.models import Channel, EventKind
from recorder.recall import fence
from recorder.store.db import Connection
from tests.memory_samples import NOW_MS, A, add_event, add_memory, opened
from worker import brief

RULES = {f"rule.{n}": f"Rule number {n} says to do the {n}th thing first" for n in range(40)}


def written(db: Connection, home: Path) -> bytes:
    config = Config(home=home)
    brief.write_all(db, config, NOW_MS + 1)
    return (config.brief_dir / f"{A.project_id}.txt").read_bytes()


def test_the_brief_is_fenced_within_300_tokens_and_names_how_many_it_left_out(tmp_path: Path) -> None:
    db = opened(tmp_path)
    for key, value in RULES.items():
        add_memory(db, A, key, value)
    text = written(db, tmp_path).decode()
    lines = text.rstrip("\n").split("\n")
    assert fence.tokens(text) <= 300
    assert lines[0].startswith("<recorder-memory") and lines[-1].startswith("</recorder-memory")
    told = sum(value in text for value in RULES.values())
    assert told > 3 and f"{len(RULES) - told} more" in text
    db.close()


def test_only_what_is_verified_is_told_and_nothing_of_what_sessions_that_are_open_said(tmp_path: Path) -> None:
    db = opened(tmp_path)
    add_memory(db, A, "rule.verified", "a person confirmed this")
    add_memory(db, A, "rule.candidate", "an agent proposed this", channel=Channel.AGENT)
    for number, kind in enumerate((EventKind.PROMPT, EventKind.ASSISTANT, EventKind.TOOL_CALL)):
        add_event(db, A, f"another window works on this, {kind}", session=f"open-{number}", kind=kind)
    text = written(db, tmp_path).decode()
    assert "a person confirmed this" in text
    assert "an agent proposed" not in text and "another window" not in text and "open-" not in text
    db.close()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_same_memories_give_the_same_bytes_in_whatever_order_they_came(tmp_path: Path, seed: int) -> None:
    texts = []
    for name in ("one", "other"):
        db = opened(tmp_path / name)
        keys = list(RULES)[:8]
        random.Random(seed if name == "one" else 0).shuffle(keys)
        for key in keys:
            add_memory(db, A, key, RULES[key])
        texts.append(written(db, tmp_path / name))
        assert brief.write_all(db, Config(home=tmp_path / name), NOW_MS + 86_400_000) == 0, (
            "a day later nothing changed"
        )
        db.close()
    assert texts[0] == texts[1]
