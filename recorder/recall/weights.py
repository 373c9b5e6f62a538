"""The constants of ranking, and the numbers that chose them."""

from __future__ import annotations

from collections.abc import Mapping

MEANING = "near"
"""The feature that is there only when the vector arm could look."""

# (hybrid, words alone)
RANK: Mapping[str, tuple[float, float]] = {
    "own": (2.19, 2.42),
    "dense": (2.30, 2.50),
    "words": (1.12, 1.70),
    "near": (2.11, 0.0),
    "previous": (3.72, 3.79),
    "next": (1.15, 1.59),
    "earlier": (3.15, 3.35),
    "answers": (2.82, 2.99),
    "named": (0.17, 0.31),
    "inside": (1.90, 2.48),
    "speaker": (1.53, 1.56),
    "session": (2.25, 2.53),
    "dated": (3.51, 3.54),
    "tells_when": (1.28, 1.29),
    "own_prompt": (2.05, 2.14),
    "our_prompt": (0.87, 1.01),
    "late": (1.40, 1.40),
    "shell": (1.08, 1.22),
    "memory": (0.39, 0.31),
    "tool_call": (-1.30, -1.28),
    "tool_own": (1.18, 0.98),
    "looking": (-1.04, -1.07),
    "announces": (-1.23, -1.29),
    "length": (1.38, 1.07),
    "says_when": (0.43, 0.27),
    "repeats": (-0.94, -0.96),
}


def of(by_meaning: bool) -> Mapping[str, float]:
    """What each feature is worth in a ranking, in logits."""
    return {name: pair[0 if by_meaning else 1] for name, pair in RANK.items()}


# (hybrid, words alone); a sum below 0 is no answer.
ANSWER: Mapping[str, tuple[float, float]] = {
    "own": (1.511, 1.696),
    "own_five": (2.741, 7.750),
    "dense": (2.857, 4.352),
    "near": (7.725, 0.0),
    "near_five": (5.499, 0.0),
    "both": (4.975, 0.0),
}
BIAS = (-6.917, -2.971)


def answers(by_meaning: bool) -> tuple[float, Mapping[str, float]]:
    """The bias and what each piece of evidence is worth for there being an answer at all."""
    at = 0 if by_meaning else 1
    return BIAS[at], {name: pair[at] for name, pair in ANSWER.items()}
