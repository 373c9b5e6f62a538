"""The distiller on labelled sessions: most of what it takes is worth keeping, and it takes no junk."""

from __future__ import annotations

import pytest

from benchmarks import distil as benchmark

pytestmark = pytest.mark.skipif(not benchmark.DEVELOPMENT.exists(), reason="needs ../shared")


def test_precision_and_junk_hold_on_the_development_set() -> None:
    result = benchmark.score(benchmark.read_lines(benchmark.DEVELOPMENT), {})
    taken = result.verdicts.total()
    assert taken >= 40
    assert result.verdicts["durable"] / taken >= 0.70
    assert result.verdicts["junk"] / taken <= 0.05
    junk = result.of(durable=False)
    assert len(junk & result.found) / len(junk) <= 0.05


@pytest.mark.parametrize("path", sorted(benchmark.LABELS.glob("heldout*.jsonl")), ids=lambda path: path.stem)
def test_sessions_the_rules_were_not_tuned_on_hold_it_too(path) -> None:  # type: ignore[no-untyped-def]
    result = benchmark.score(benchmark.read_lines(path), {})
    assert result.verdicts["durable"] / result.verdicts.total() >= 0.70
    assert result.verdicts["junk"] / result.verdicts.total() <= 0.05
