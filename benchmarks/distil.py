"""The rules distiller against labelled sessions: precision, junk and recall.

Run `python benchmarks/distil.py [--show]` with the shared corpus beside the repository.

A transcript is read by the real reader, cut into turns and distilled; what has one namespace and key is one memory, as
the gate would keep it. A memory and a label match when they share an evidence id and words: the label's quote lies in
the memory's quotes or the other way round, or they share two content words. The best label counts; of equals, the junk.

strict   matched durable / all memories: an unlabelled memory counts as wrong
judged   (matched durable + unlabelled judged right) / all; the judgements stand in labels/judged.jsonl by transcript,
         key and digest of the value; an unlabelled memory without judgement counts as wrong
junk     memories matching junk / all memories, and junk labels matched / junk labels
recall   durable labels matched / durable labels
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from recorder.capture.transcript import Cursor, read
from recorder.models import Event, EventKind, StoredEvent
from worker.distil import Proposed, distil
from worker.distil.subjects import content_words
from worker.distil.turns import turns

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
CORPUS = SHARED / "corpus" / "transcripts"
DEVELOPMENT = SHARED / "evalset" / "coding" / "memories.jsonl"
LABELS = ROOT / "benchmarks" / "labels"
# The part of the development set that was looked at while the rules were written; the rest of it was not.
TUNED = ("entireio+cli/06", "entireio+cli/14", "entireio+cli/63", "entireio+cli/70", "entireio+cli/5d",
         "handgemacht-ai+claude-code-log/real_projects/-Users-dev-workspace-coderabbit",
         "handgemacht-ai+claude-code-log/real_projects/-src-deep-manifest", "obra+", "thedotmack+")  # fmt: skip
SHARED_FIELDS = {f.name for f in fields(Event)} & {f.name for f in fields(StoredEvent)}

Label = Mapping[str, Any]


@dataclass
class Kept:
    """A memory as it stands at the end of a session."""

    proposed: Proposed
    ids: set[str] = field(default_factory=set)
    quotes: list[str] = field(default_factory=list)


def stored(event: Event, number: int) -> StoredEvent:
    columns = {name: getattr(event, name) for name in SHARED_FIELDS}
    return StoredEvent(id=number, project_id="bench-00000000", excerpt="", healed=False, **columns)


def events_of(path: Path) -> list[StoredEvent]:
    """Every event of the transcript, read to its end."""
    cursor = Cursor()
    calls: dict[str, Event] = {}
    found: list[Event] = []
    while True:
        chunk = read(path, cursor, open_calls=calls, final=True)
        found += chunk.events
        cursor, calls = chunk.cursor, chunk.open_calls
        if chunk.at_end:
            return [stored(event, number) for number, event in enumerate(found, 1)]


def ids_of(event: StoredEvent) -> set[str]:
    use = event.body.get("use_uuid") if event.kind is EventKind.TOOL_CALL else None
    return {name for name in (event.uuid, event.tool_use_id, use) if isinstance(name, str)}


def memories(path: Path) -> list[Kept]:
    """What the distiller leaves of a session, one a namespace and key."""
    events = events_of(path)
    by_id = {event.id: event for event in events}
    kept: dict[tuple[str, str], Kept] = {}
    before: list[StoredEvent] = []
    for turn in turns(events):
        for one in distil(turn, project_id="bench-00000000", typed_verified=True, before=before):
            place = (one.proposal.namespace, one.proposal.key)
            old = kept.get(place)
            now = old if old and old.proposed.proposal.value == one.proposal.value else Kept(one)
            for evidence in one.proposal.evidence:
                now.ids |= ids_of(by_id[evidence.event_id])
                now.quotes.append(evidence.quote)
            kept[place] = now
        before = turn
    return list(kept.values())


def likeness(memory: Kept, label: Label) -> int:
    """Shared words, plus 100 for a quote in common; 0 for no match."""
    if not memory.ids & set(label["evidence"]):
        return 0
    quote = label["evidence_quote"]
    same = any(quote in own or own in quote for own in memory.quotes)
    said = {word for text in (memory.proposed.proposal.value, *memory.quotes) for word in content_words(text)}
    shared = len(said & set(content_words(f"{label['statement']} {quote}")))
    return 100 * same + shared if same or shared >= 2 else 0


def digest(memory: Kept) -> str:
    return hashlib.sha256(memory.proposed.proposal.value.encode()).hexdigest()[:12]


def best_of(memory: Kept, labels: Iterable[Label]) -> Label | None:
    scored = [(likeness(memory, label), not label["durable"], label) for label in labels]
    found = max(scored, key=lambda entry: entry[:2], default=None)
    return found[2] if found and found[0] else None


def read_lines(path: Path) -> list[Label]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def share(part: int, whole: int) -> str:
    return f"{part / whole:.2f} ({part}/{whole})" if whole else "– (0)"


@dataclass
class Score:
    """The figures of one set of labels."""

    labels: list[Label]
    verdicts: Counter[str] = field(default_factory=Counter)
    rules: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    found: set[str] = field(default_factory=set)
    """Ids of durable labels that some memory matches, and of junk labels that some memory matches best."""
    lines: list[str] = field(default_factory=list)

    def of(self, durable: bool, kind: str | None = None) -> set[str]:
        """Ids of the labels of one sort."""
        return {one["id"] for one in self.labels if one["durable"] is durable and kind in (None, one["kind"])}


def score(labels: list[Label], judged: Mapping[tuple[str, str, str], bool]) -> Score:
    """Distil every transcript the labels speak of and compare."""
    result = Score(labels)
    by_transcript: dict[str, list[Label]] = defaultdict(list)
    for label in labels:
        by_transcript[label["transcript"]].append(label)
    for transcript, own in by_transcript.items():
        for memory in memories(CORPUS / transcript):
            proposal = memory.proposed.proposal
            best = best_of(memory, own)
            result.found |= {other["id"] for other in own if other["durable"] and likeness(memory, other)}
            result.found |= {best["id"]} if best else set()
            judgement = judged.get((transcript, proposal.key, digest(memory)))
            unlabelled = {True: "right", False: "wrong", None: "unjudged"}[judgement]
            verdict = ("durable" if best["durable"] else "junk") if best else unlabelled
            result.verdicts[verdict] += 1
            result.rules[re.split("[:@]", proposal.source)[1]][verdict] += 1
            name = best["id"] if best else digest(memory)
            result.lines.append(f"{verdict:8} {name} {transcript[:24]} {proposal.key} | {proposal.value[:160]!r}")
    return result


def report(name: str, result: Score, show: bool) -> None:
    """Print the figures of one set."""
    for line in result.lines if show else []:
        print(f"  {line}")
    verdicts, everything = result.verdicts, result.verdicts.total()
    good, junk = result.of(durable=True), result.of(durable=False)
    right = verdicts["durable"] + verdicts["right"]
    print(f"{name}: {len({label['transcript'] for label in result.labels})} transcripts, {everything} memories")
    print(f"  precision strict {share(verdicts['durable'], everything)}  judged {share(right, everything)}")
    tempted = share(len(junk & result.found), len(junk))
    print(f"  junk {share(verdicts['junk'], everything)} of the memories, {tempted} of the junk")
    print(f"  recall {share(len(good & result.found), len(good))}")
    for kind in ("preference", "procedural", "semantic", "episodic"):
        ids = result.of(durable=True, kind=kind)
        print(f"    {kind:11} {share(len(ids & result.found), len(ids))}")
    print(
        "  by rule "
        + ", ".join(f"{rule}: {dict(sorted(counts.items()))}" for rule, counts in sorted(result.rules.items()))
    )


def judgements() -> dict[tuple[str, str, str], bool]:
    return {(j["transcript"], j["key"], j["value"]): j["right"] for j in read_lines(LABELS / "judged.jsonl")}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    arguments.add_argument("--show", action="store_true", help="print every memory with its verdict")
    show = arguments.parse_args().show
    if not DEVELOPMENT.exists():
        print(f"needs {DEVELOPMENT}", file=sys.stderr)
        return 2
    judged = judgements()
    development = read_lines(DEVELOPMENT)
    tuned = [label for label in development if label["transcript"].startswith(TUNED)]
    sets = {
        "development, tuned on": tuned,
        "development, rest": [label for label in development if label not in tuned],
        "development, all": development,
        **{f"held out, {path.stem}": read_lines(path) for path in sorted(LABELS.glob("heldout*.jsonl"))},
    }
    for name, own in sets.items():
        report(name, score(own, judged), show and name != "development, all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
