"""How fast texts become vectors: int8 beside fp32, both ONNX on one thread, and what a question costs.

    python benchmarks/embed.py --models ~/.recorder/models [--fp32 model.onnx] [--rounds 5]

The comparison needs the same network in fp32; `worker.export.export` writes it, and so does `--export` here where torch
is installed: `python benchmarks/embed.py --export fp32.onnx`.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from worker import shelf
from worker.child import Encoder
from worker.index import Model

WORDS = (
    "the worker takes a job under a lease and completes it after the commit so that a crash in between loses nothing"
    " while the hook writes one file and returns at once whatever the store does at that moment"
).split()
TEXTS = [f"[2026-01-{n % 28 + 1:02d}] user: {n} " + " ".join(WORDS[n % 9 : n % 9 + 24] * 2) for n in range(40)]
QUESTIONS = [f"which queue did we choose for service {n} and why?" for n in range(40)]


def texts_a_second(encoders: Mapping[str, Encoder], clock: Callable[[], float]) -> dict[str, float]:
    """Each text by each encoder in turn, so that a busy machine slows all alike."""
    spent = dict.fromkeys(encoders, 0.0)
    for text in TEXTS:
        for name, encoder in encoders.items():
            started = clock()
            encoder.encode(text)
            spent[name] += clock() - started
    return {name: len(TEXTS) / seconds for name, seconds in spent.items()}


def question_ms(ask: Callable[[str], object], clock: Callable[[], float] = time.perf_counter) -> list[float]:
    found = []
    for question in QUESTIONS:
        started = clock()
        ask(question)
        found.append((clock() - started) * 1000)
    return found


def spread(values: list[float]) -> str:
    """`median (least … most)`."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} … {max(values):.2f})"


def run(models: Path, fp32: Path | None, rounds: int) -> None:
    """Measure and print a table."""
    built = shelf.chosen(models)
    if built is None:
        sys.exit(f"no model in {models}: run `recorder models build`")
    tokenizer = built.folder / shelf.TOKENIZER
    encoders = {built.precision: Encoder(built.folder / shelf.NETWORK, tokenizer)}
    if fp32 is not None and built.precision != "fp32":
        encoders["fp32"] = Encoder(fp32, tokenizer)
    model = Model(models)
    texts_a_second(encoders, time.perf_counter)
    question_ms(lambda question: model.embed([question], 30.0))
    speed: dict[str, list[dict[str, float]]] = {"wall": [], "processor": []}
    through_child: list[float] = []
    alone: list[float] = []
    for _ in range(rounds):
        speed["wall"].append(texts_a_second(encoders, time.perf_counter))
        # One thread does all the work, so its own processor time is what others on the machine take least from.
        speed["processor"].append(texts_a_second(encoders, time.thread_time))
        through_child += question_ms(lambda question: model.embed([question], 30.0))
        alone += question_ms(encoders[built.precision].encode, time.thread_time)
    tokens = statistics.mean(len(encoders[built.precision].tokenizer.encode(text).ids) for text in TEXTS)
    model.embed(["word " * 400] * 5, 60.0)
    print(
        f"{built.id}, {platform.machine()}, load {os.getloadavg()[0]:.1f}, one thread, texts of {tokens:.0f} tokens\n"
    )
    print("| what | n | median (least … most) | budget |\n|---|---|---|---|")
    for clock, rows in speed.items():
        for name in encoders:
            print(
                f"| {name}, texts/s of {clock} time | {rounds} × {len(TEXTS)} | {spread([r[name] for r in rows])} | |"
            )
        if len(encoders) == 2:
            ratios = [row[built.precision] / row["fp32"] for row in rows]
            print(f"| {built.precision} / fp32, {clock} time | {rounds} | {spread(ratios)} | ≥ 1.3 |")
    print(f"| one question through the child, ms | {len(through_child)} | {spread(through_child)} | ≤ 5 |")
    print(f"| one question, ms of processor time | {len(alone)} | {spread(alone)} | |")
    print(f"| child, MB after texts of 256 tokens | 1 | {model.rss_mb} | ≤ 250 |")
    model.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=Path.home() / ".recorder" / "models")
    parser.add_argument("--fp32", type=Path, help="the same network in fp32")
    parser.add_argument("--export", type=Path, help="write the packaged model in fp32 there and end (needs torch)")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    if chosen.export is None:
        run(chosen.models, chosen.fp32, chosen.rounds)
        return
    from worker.export import export, original, packaged  # here, because the measuring itself runs without torch

    export(original(str(packaged())), chosen.export)


if __name__ == "__main__":
    main()
