"""How well recall finds what is asked for: transcripts in, questions asked, ranks scored beside the floor.

    python -m benchmarks.recall --models ~/.recorder/models [--evalset DIR] [--transcripts DIR] [--seeds 1 2 3]
    python -m benchmarks.recall --models ~/.recorder/models --questions FILE --transcripts DIR

Transcripts come in by `recorder backfill --commit` and `recorder drain`, each a process, into a fresh home. Questions
are asked by the code of `recorder search --batch`, in one process. With `--seeds` the coding questions are split by
transcript into halves, and each half is asked with weights that were fitted on the other half and on the LoCoMo
conversations for tuning. `--fit` prints weights fitted on all that tuning may see.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import fusion
from recorder.capture import transcript
from recorder.models import Hit, Scope
from recorder.recall import features, pool, rank, weights
from recorder.recall import scope as scopes
from recorder.store import db as store
from recorder.store.search import EVERYTHING
from worker.index import Model

SHARED = Path(__file__).resolve().parents[2] / "shared"
TUNED_ON = ("conv-26", "conv-30", "conv-41")
K = 20
LOST = 0.045
"""How many of the answerable the rule may turn away where it is fitted."""
ARMS = ("hybrid", "words alone")
TOLD = {"as ranked": True, "abstention counts as nothing": False}
Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """A question and what recall had to choose from, hybrid and by words alone."""

    asked: Line
    pools: tuple[pool.Pool, pool.Pool]


def bring_in(home: Path, transcripts: Path, models: Path, distil: bool) -> None:
    """The transcripts into a fresh home, by the commands a person would use."""
    home.mkdir(parents=True)
    (home / "models").symlink_to(models.resolve())
    environ = os.environ | {"RECORDER_HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / "claude")}
    for command in (["backfill", str(transcripts), "--commit"], ["drain", *([] if distil else ["--no-distil"])]):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-m", "recorder", *command], env=environ, check=True, stdout=subprocess.DEVNULL)
        print(f"recorder {command[0]}: {time.perf_counter() - begun:.1f} s", file=sys.stderr)


def lines(path: Path) -> list[Line]:
    with path.open(encoding="utf-8") as read:
        return [json.loads(line) for line in read if line.strip()]


def ask(home: Path, model: Model, questions: Sequence[Line]) -> list[Answer]:
    """Every question, in the scope of its project."""
    db = store.connect(home / "recorder.db")
    now_ms = time.time_ns() // 1_000_000
    known: dict[str, Scope] = {}
    answers = []
    for asked in questions:
        folder = asked["project"]
        if folder not in known:
            known[folder] = scopes.of_directory(db, folder, now_ms=now_ms)
        (vector,) = model.embed([asked["question"]], 60.0)
        both = [
            pool.gather(
                db,
                asked["question"],
                known[folder],
                vector=given,
                vector_status="turned off",
                now_ms=now_ms,
                only=EVERYTHING,
            )
            for given in (vector, None)
        ]
        answers.append(Answer(asked, (both[0], both[1])))
    db.close()
    return answers


def evidence_ids(hit: Hit) -> list[str]:
    """The ids that stand for a hit: an event has one, a memory those of its evidence."""
    named = hit.evidence if hit.type == "memory" else [hit.event or {}]
    return [one.get("tool_use_id") or one.get("uuid") or hit.id for one in named]


Rule = tuple[Mapping[str, float], float, Mapping[str, float]]
"""Weights of the ranking, then bias and weights of abstention."""


def shipped(arm: int) -> Rule:
    return weights.of(arm == 0), *weights.answers(arm == 0)


def ranks(answers: Sequence[Answer], arm: int, rule: Rule, *, misses: bool) -> list[Line]:
    """Lines for score.py. With `misses` the ranking stands there where recall abstains too, as in a line of a batch."""
    out = []
    for one in answers:
        found = one.pools[arm]
        abstained = not rank.is_answer(found, *rule[1:])
        hits = rank.diversify(rank.fold(rank.scored(found, rule[0], rank.ROOM * K)), K)
        listed = hits if misses or not abstained else ()
        out.append({"id": one.asked["id"], "ranked": [evidence_ids(hit) for hit in listed], "abstained": abstained})
    return out


def fit(sets: Sequence[Sequence[Answer]], abstain: tuple[Sequence[Answer], Sequence[Answer]], arm: int) -> Rule:
    """Weights of the ranking from sets of answerable questions, of abstention from (answerable, foreign) ones."""
    names = [name for name in features.NAMES if arm == 0 or name != weights.MEANING]
    fitted = fusion.ranking([[_known(one, arm, names) for one in answers if _counts(one)] for answers in sets])
    told = [[rank.evidence(one.pools[arm]) for one in part if one.pools[arm].candidates] for part in abstain]
    evidence = list(told[0][0])
    rows = [np.array([[line[name] for name in evidence] for line in part]) for part in told]
    bias, answer = fusion.answering(rows[0], rows[1], lost=LOST)
    return (
        dict(zip(names, map(float, fitted), strict=True)) | {"memory": weights.MEMORY},
        bias,
        dict(zip(evidence, map(float, answer), strict=True)),
    )


def _counts(one: Answer) -> bool:
    return bool(one.asked["gold"]) and one.asked["category"] != "adversarial" and bool(one.pools[0].candidates)


def _known(one: Answer, arm: int, names: Sequence[str]) -> fusion.Asked:
    found = one.pools[arm]
    gold = set(one.asked["gold"])
    other = {i for ids in one.asked.get("alternates") or [] for i in ([ids] if isinstance(ids, str) else ids)}
    ids = [set(evidence_ids(candidate.hit)) for candidate in found.candidates]
    return fusion.Asked(
        np.array([[row.get(name, 0.0) for name in names] for row in found.features]),
        np.array([1.0 if i & (gold | other) else 0.0 for i in ids]),
    )


class Scorer:
    """score.py and floor.py of an evaluation set, run as they are."""

    def __init__(self, evalset: Path, folder: Path) -> None:
        self.evalset, self.folder = evalset, folder

    def table(self, questions: Sequence[Line], ranked: Sequence[Line]) -> Line:
        asked, given = self.folder / "questions.jsonl", self.folder / "ranks.jsonl"
        for path, rows in ((asked, questions), (given, ranked)):
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return json.loads(self._run("score.py", str(asked), str(given), "--json"))  # type: ignore[no-any-return]

    def floor(self, transcripts: Path, questions: Sequence[Line]) -> list[Line]:
        asked = self.folder / "questions.jsonl"
        asked.write_text("".join(json.dumps(row) + "\n" for row in questions), encoding="utf-8")
        return [json.loads(line) for line in self._run("floor.py", str(transcripts), str(asked)).splitlines()]

    def _run(self, *command: str) -> str:
        script, *rest = command
        done = subprocess.run(
            [sys.executable, str(self.evalset / script), *rest], check=True, capture_output=True, text=True
        )
        return done.stdout


HEAD = "| what | n | recall@1 | @5 | @10 | nDCG@10 | temporal @10 | abstained on answerable | foreign | unanswerable |"


def row(name: str, table: Line) -> str:
    all_of, gone = table["ALL"], table["abstained"]

    def share(what: str) -> str:
        found = gone.get(what)
        if not found or found["share"] is None:
            return ""
        spread = " ({:.2f} – {:.2f})".format(*found["95%"]) if "95%" in found else ""
        return f"{found['share']:.3f}{spread}"

    numbers = [all_of[key] for key in ("recall@1", "recall@5", "recall@10", "ndcg@10")]
    temporal = table.get("temporal", {}).get("recall@10")
    cells = [f"{number:.3f}" for number in numbers] + ["" if temporal is None else f"{temporal:.3f}"]
    cells += [share(what) for what in ("answerable", "foreign", "unanswerable")]
    return f"| {name} | {all_of['n']} | {' | '.join(cells)} |"


def by_category(tables: Mapping[str, Line]) -> str:
    """recall@10 of each category in each table."""
    names = sorted({name for table in tables.values() for name in table} - {"abstained", "tokens"})
    head = f"| recall@10 | n | {' | '.join(tables)} |\n|---|---|{'---|' * len(tables)}"
    first = next(iter(tables.values()))
    return "\n".join(
        [
            head,
            *(
                f"| {name} | {first[name]['n']} | "
                + " | ".join(f"{table[name]['recall@10']:.3f}" for table in tables.values())
                + " |"
                for name in names
            ),
        ]
    )


def placed(questions: Sequence[Line], transcripts: Path) -> list[Line]:
    """Each question with its project: the first folder of its transcript, or of the one it is `asked_in`."""
    return [
        asked
        if "project" in asked
        else asked | {"project": first_cwd(transcripts / asked.get("transcript", asked.get("asked_in")))}
        for asked in questions
    ]


def first_cwd(path: Path) -> str | None:
    chunk = transcript.read(path, transcript.Cursor(), open_calls={}, final=True)
    return next((event.cwd for event in chunk.events if event.cwd), None)


def named(transcripts: Path, questions: Sequence[Line], into: Path) -> Path:
    """A folder with the transcripts the questions name; the given one when they name none."""
    wanted = sorted({asked["transcript"] for asked in questions if "transcript" in asked})
    for name in wanted:
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(transcripts / name, into / name)
    return into if wanted else transcripts


def split(answers: Sequence[Answer], seed: int) -> dict[str, int]:
    """Transcript → half."""
    names = sorted({one.asked["transcript"] for one in answers})
    random.Random(seed).shuffle(names)
    return {name: number % 2 for number, name in enumerate(names)}


def halves(
    coding: Sequence[Answer], foreign: Sequence[Answer], tuning: Sequence[Answer], seed: int, arm: int, misses: bool
) -> list[Line]:
    """Ranks of all coding questions, each by weights fitted without its transcript's half."""
    half = split(coding, seed)
    of_id = {one.asked["id"]: half[one.asked["transcript"]] for one in coding}
    of_foreign: Callable[[Answer], int] = lambda one: of_id[one.asked["id"].removeprefix("foreign-")]  # noqa: E731
    out: list[Line] = []
    for side in (0, 1):
        seen = [one for one in coding if of_id[one.asked["id"]] != side]
        rule = fit(
            [seen, tuning],
            ([one for one in seen if one.asked["gold"]], [one for one in foreign if of_foreign(one) != side]),
            arm,
        )
        out += ranks([one for one in coding if of_id[one.asked["id"]] == side], arm, rule, misses=misses)
        out += ranks([one for one in foreign if of_foreign(one) == side], arm, rule, misses=misses)
    return out


def mean(tables: Sequence[Line]) -> Line:
    """One table of the means of several, cell by cell; intervals of the first."""
    first = tables[0]
    if isinstance(first, dict):
        return {key: mean([table[key] for table in tables]) for key in first}
    return sum(tables) / len(tables) if isinstance(first, int | float) else first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, default=Path.home() / ".recorder" / "models")
    parser.add_argument("--evalset", type=Path, default=SHARED / "evalset")
    parser.add_argument("--transcripts", type=Path, default=SHARED / "corpus" / "transcripts")
    parser.add_argument("--questions", type=Path, help="another question file, over --transcripts")
    parser.add_argument("--ranks", type=Path, help="write the hybrid ranks of the shipped weights into this folder")
    parser.add_argument("--no-distil", action="store_true")
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--fit", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(given, Path(folder))


def run(given: argparse.Namespace, folder: Path) -> None:
    model = Model(given.models)
    scorer = Scorer(given.evalset, folder)
    if given.questions:
        sets = {given.questions.stem: (placed(lines(given.questions), given.transcripts), given.transcripts)}
    else:
        coding = lines(given.evalset / "coding" / "questions.jsonl")
        sets = {
            "coding": (coding, named(given.transcripts, coding, folder / "coding")),
            "locomo": (lines(given.evalset / "locomo" / "questions.jsonl"), given.evalset / "locomo" / "transcripts"),
        }
    answers: dict[str, list[Answer]] = {}
    foreign: list[Answer] = []
    for name, (questions, transcripts) in sets.items():
        home = folder / f"home-{name}"
        bring_in(home, transcripts, given.models, not given.no_distil)
        answers[name] = ask(home, model, questions)
        if name == "coding":
            foreign = ask(home, model, lines(given.evalset / "coding" / "foreign.jsonl"))
    model.close()
    if given.fit:
        print_fit(answers, foreign)
        return
    for name, (questions, transcripts) in sets.items():
        report(name, questions, transcripts, answers, foreign, scorer, given)


def report(
    name: str,
    questions: list[Line],
    transcripts: Path,
    answers: Mapping[str, list[Answer]],
    foreign: list[Answer],
    scorer: Scorer,
    given: argparse.Namespace,
) -> None:
    """The tables of one set of questions."""
    asked = questions + [one.asked for one in foreign if name == "coding"]
    mine = answers[name] + (foreign if name == "coding" else [])
    floor = scorer.floor(given.transcripts if name == "coding" else transcripts, questions)
    tables = {"floor": scorer.table(questions, floor)}
    for arm, arm_name in enumerate(ARMS):
        for told, misses in TOLD.items():
            ranked = ranks(mine, arm, shipped(arm), misses=misses)
            tables[f"shipped weights, {arm_name}, {told}"] = scorer.table(asked, ranked)
    if name == "coding" and given.seeds:
        tuning = [one for one in answers["locomo"] if _tuned_on(one.asked)]
        for arm, arm_name in enumerate(ARMS):
            for told, misses in TOLD.items():
                per_seed = [
                    scorer.table(asked, halves(mine[: len(questions)], foreign, tuning, seed, arm, misses))
                    for seed in given.seeds
                ]
                tables[f"untuned halves, {arm_name}, {told}"] = mean(per_seed)
    if name == "locomo":
        for told, inside in (("tuned on", True), ("not tuned on", False)):
            part = [one for one in mine if _tuned_on(one.asked) == inside]
            for arm, arm_name in enumerate(ARMS):
                tables[f"{told}, {arm_name}"] = scorer.table(
                    [one.asked for one in part], ranks(part, arm, shipped(arm), misses=True)
                )
            ids = {one.asked["id"] for one in part}
            tables[f"{told}, floor"] = scorer.table(
                [one.asked for one in part], [line for line in floor if line["id"] in ids]
            )
    print(f"\n{name}: {len(questions)} questions, seeds {given.seeds}, {'no ' if given.no_distil else ''}distil\n")
    print(f"{HEAD}\n|{'---|' * 10}")
    for label, table in tables.items():
        print(row(label, table))
    print("\n" + by_category({k: v for k, v in tables.items() if not k.startswith(("tuned", "not"))}))
    if given.ranks:
        given.ranks.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(line) + "\n" for line in ranks(mine, 0, shipped(0), misses=True))
        (given.ranks / f"{name}.jsonl").write_text(text, encoding="utf-8")


def _tuned_on(asked: Line) -> bool:
    return Path(asked["project"]).name in TUNED_ON


def print_fit(answers: Mapping[str, list[Answer]], foreign: list[Answer]) -> None:
    """Weights fitted on all coding questions and on the LoCoMo conversations for tuning."""
    coding = answers["coding"]
    tuning = [one for one in answers["locomo"] if _tuned_on(one.asked)]
    rules = [fit([coding, tuning], ([one for one in coding if one.asked["gold"]], foreign), arm) for arm in (0, 1)]
    for name in features.NAMES:
        print(f'    "{name}": ({rules[0][0][name]:.2f}, {rules[1][0].get(name, 0.0):.2f}),')
    print(f"BIAS = ({rules[0][1]:.3f}, {rules[1][1]:.3f})")
    for name, value in rules[0][2].items():
        print(f'    "{name}": ({value:.3f}, {rules[1][2].get(name, 0.0):.3f}),')


if __name__ == "__main__":
    main()
