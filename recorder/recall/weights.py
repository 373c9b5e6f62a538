"""The constants of ranking, and the numbers that chose them.

Fitted by `python -m benchmarks.recall --fit` (a softmax over each question's candidates, l2 0.1) on 201 questions about
24 coding sessions and on three LoCoMo conversations, each set counting the same. What recall@10 and nDCG@10 become
without a feature, all fitted anew: coding, where each half was fitted without its transcripts (4 splits), and the two
LoCoMo conversations nothing was fitted on.

| without | coding | LoCoMo | without | coding | LoCoMo |
|---|---|---|---|---|---|
| (nothing) | .930 .699 | .787 .656 | inside | .929 .701 | .784 .655 |
| dense | .927 .697 | .783 .656 | speaker | .928 .694 | .776 .636 |
| words | .927 .691 | .792 .656 | session | .923 .695 | .777 .657 |
| near | .904 .662 | .787 .653 | dated | .922 .694 | .767 .634 |
| previous | .923 .692 | .767 .642 | tells_when | .930 .699 | .783 .653 |
| next | .931 .701 | .786 .657 | own_prompt | .916 .687 | .785 .657 |
| earlier | .924 .693 | .772 .643 | our_prompt | .925 .698 | .785 .656 |
| answers | .930 .695 | .769 .632 | late | .934 .694 | .785 .656 |
| named | .929 .702 | .785 .657 | shell | .923 .697 | .785 .656 |
| tool_call | .918 .684 | .786 .648 | looking | .917 .690 | .785 .655 |
| tool_own | .929 .692 | .786 .653 | announces | .928 .684 | .787 .656 |

Left out because they did not carry over to other sessions: reciprocal ranks, recency, context inside the embedded
text, whether a row is a question, cosines as they are, why-, where- and how-many-questions, the turn's prompt as
context, words of the first 220 characters.
"""

from __future__ import annotations

from collections.abc import Mapping

MEANING = "near"
"""The feature that is there only when the vector arm could look."""

# (hybrid, words alone)
RANK: Mapping[str, tuple[float, float]] = {
    "own": (2.46, 2.60),
    "dense": (2.18, 2.42),
    "words": (0.97, 1.54),
    "near": (2.03, 0.00),
    "previous": (3.75, 3.81),
    "next": (1.40, 1.83),
    "earlier": (3.15, 3.35),
    "answers": (2.80, 2.98),
    "named": (0.11, 0.25),
    "inside": (1.63, 2.31),
    "speaker": (1.53, 1.56),
    "session": (2.37, 2.70),
    "dated": (1.99, 1.79),
    "tells_when": (1.27, 1.31),
    "own_prompt": (2.02, 2.12),
    "our_prompt": (0.80, 0.87),
    "late": (1.19, 1.19),
    "shell": (1.10, 1.24),
    # 0.4 by the fit, over 60 memories that all had their event beside them; a memory is what was made of it.
    "memory": (1.40, 1.40),
    "tool_call": (-1.15, -1.11),
    "tool_own": (1.21, 1.01),
    "looking": (-0.98, -1.01),
    "announces": (-1.09, -1.18),
    "concludes": (0.69, 0.85),
    "length": (1.09, 0.79),
    "says_when": (0.42, 0.26),
    "repeats": (-1.01, -1.01),
}


def of(by_meaning: bool) -> Mapping[str, float]:
    """What each feature is worth in a ranking, in logits."""
    return {name: pair[0 if by_meaning else 1] for name, pair in RANK.items()}


# (hybrid, words alone); a sum below 0 is no answer.
ANSWER: Mapping[str, tuple[float, float]] = {
    "own_five": (3.508, 7.050),
    "around": (2.070, 2.391),
    "likeness": (4.656, 3.976),
    "known": (1.231, 1.843),
}
BIAS = (-6.888, -4.640)


def answers(by_meaning: bool) -> tuple[float, Mapping[str, float]]:
    """The bias and what each piece of evidence is worth for there being an answer at all."""
    at = 0 if by_meaning else 1
    return BIAS[at], {name: pair[at] for name, pair in ANSWER.items()}
