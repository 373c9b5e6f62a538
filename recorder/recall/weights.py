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
    "own": (2.47, 2.60),
    "dense": (2.15, 2.40),
    "words": (1.02, 1.61),
    "near": (2.11, 0.00),
    "previous": (3.68, 3.74),
    "next": (1.18, 1.59),
    "earlier": (3.09, 3.26),
    "answers": (2.78, 2.96),
    "named": (0.18, 0.33),
    "inside": (1.89, 2.55),
    "speaker": (1.52, 1.54),
    "session": (2.33, 2.67),
    "dated": (2.01, 1.81),
    "tells_when": (1.28, 1.29),
    "own_prompt": (2.03, 2.13),
    "our_prompt": (0.87, 1.01),
    "late": (1.42, 1.42),
    "shell": (1.07, 1.21),
    # 0.4 and 0.3 by the fit, over 60 memories that all had their event beside them; a memory is what was made of it.
    "memory": (1.40, 1.40),
    "tool_call": (-1.28, -1.26),
    "tool_own": (1.13, 0.95),
    "looking": (-1.05, -1.08),
    "announces": (-1.23, -1.30),
    "length": (1.33, 1.04),
    "says_when": (0.41, 0.25),
    "repeats": (-0.93, -0.95),
}


def of(by_meaning: bool) -> Mapping[str, float]:
    """What each feature is worth in a ranking, in logits."""
    return {name: pair[0 if by_meaning else 1] for name, pair in RANK.items()}


# (hybrid, words alone); a sum below 0 is no answer.
ANSWER: Mapping[str, tuple[float, float]] = {
    "own": (1.517, 1.646),
    "own_five": (2.793, 7.636),
    "dense": (2.820, 4.392),
    "near": (7.673, 0.000),
    "near_five": (5.395, 0.000),
    "both": (5.144, 0.000),
}
BIAS = (-6.894, -2.946)


def answers(by_meaning: bool) -> tuple[float, Mapping[str, float]]:
    """The bias and what each piece of evidence is worth for there being an answer at all."""
    at = 0 if by_meaning else 1
    return BIAS[at], {name: pair[at] for name, pair in ANSWER.items()}
