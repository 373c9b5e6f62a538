"""Whether any text is a question: hostile ones and random ones, none may raise or take long.

    python -m benchmarks.questions [--random 10000] [--events 2000]

Asks for each by words, trigrams and with a vector, inside a scope of a small synthetic store; prints a markdown table
of times in milliseconds. The random ones are hypothesis' own: every kind of character, controls and lone surrogates.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from benchmarks.recall_speed import NOW_MS, Writer, fill
from recorder.models import Scope
from recorder.recall import rank
from recorder.store import db as store

KINDS: dict[str, Sequence[str]] = {
    "the eight": ["sqlite-vec", "foo:bar", "C++", '"unbalanced', "what?", "AND", "src/app.py", ""],
    "CJK of 1, 2 and many characters": [
        "語",
        "記憶",
        "昨日決めたデータベースは何ですか",
        "한국어",
        "ภาษาไทย",
        "語" * 5_000,
    ],
    "code": [
        "for i in range(10): print(f'{i:>3}')",
        "SELECT * FROM t WHERE a='b' OR 1=1; --",
        "std::vector<int>&&",
        "${x:-y}",
    ],
    "paths": ["/home/user/project/../a b/c.py", "C:\\Users\\x\\y.txt", "~/.config/*/**.toml", "./a" * 3_000],
    "regexes": [r"^(\w+)\s*=\s*(.*?)$", "(a+)+$", "[", "*", "\\", "NEAR(a b, 5)", "a* OR b^2", "{excerpt scope}: x"],
    "100 KB": ["word " * 20_000, "x" * 100_000, '"' * 100_000, "a.b/c-" * 17_000, "語 " * 50_000, "%_\\" * 33_000],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=2_000)
    asked = parser.parse_args()
    writer, dice = Writer(7), random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        db = store.connect(Path(folder) / "recorder.db")
        fill(db, asked.events, ["project-0", "project-1"], writer)
        vectors = writer.vectors(16)

        def took_ms(question: str) -> float:
            begun = time.perf_counter()
            answer = rank.recall(
                db, question, Scope("project-0"), k=10, vector=dice.choice(vectors), vector_status="ok", now_ms=NOW_MS
            )
            assert set(answer.arms.values()) == {"ok"}, (question[:80], answer.arms)
            return (time.perf_counter() - begun) * 1000

        times = {kind: [took_ms(question) for question in questions] for kind, questions in KINDS.items()}
        of_random: list[float] = []

        @settings(
            max_examples=asked.random,
            database=None,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(question=st.text(max_size=400))
        def ask(question: str) -> None:
            of_random.append(took_ms(question))

        ask()
        times["random"] = of_random
        db.close()
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {asked.events} events\n")
    print("| questions | n | median, ms | slowest, ms | raised |\n|---|---|---|---|---|")
    for kind, took in times.items():
        print(f"| {kind} | {len(took)} | {statistics.median(took):.1f} | {max(took):.1f} | 0 |")


if __name__ == "__main__":
    main()
