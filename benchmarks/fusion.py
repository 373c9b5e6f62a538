"""Weights fitted to questions with known answers: how `recorder/recall/weights.py` came about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's candidates: a row of features each, and how much of an answer each is, 0 to 1."""

    features: Floats
    gain: Floats


def ranking(sets: Sequence[Sequence[Asked]], *, l2: float = 0.1, steps: int = 200, rate: float = 0.15) -> Floats:
    """The weights under which the answers' share of a softmax over each question's candidates is the largest; every
    set of questions counts the same, however many it has. Adam, from zero, no chance in it."""
    packed = [_packed([one for one in asked if one.gain.sum() > 0]) for asked in sets]
    spread = np.sqrt(np.mean([features.var(0) for features, *_ in packed], axis=0)) + 1e-6
    weights = np.zeros_like(spread)
    mean, square = np.zeros_like(spread), np.zeros_like(spread)
    for step in range(1, steps + 1):
        slope = l2 * weights
        for features, gain, group, start in packed:
            scaled = features / spread
            points = scaled @ weights
            raised = np.exp(points - np.maximum.reduceat(points, start)[group])
            share = raised / np.add.reduceat(raised, start)[group]
            slope = slope + scaled.T @ (share - gain) / len(start) / len(packed)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        weights = weights - rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    fitted: Floats = weights / spread
    return fitted


def _packed(asked: Sequence[Asked]) -> tuple[Floats, Floats, NDArray[np.int64], NDArray[np.int64]]:
    sizes = [len(one.gain) for one in asked]
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    gain = np.concatenate([one.gain / one.gain.sum() for one in asked])
    return np.concatenate([one.features for one in asked]), gain, np.repeat(np.arange(len(asked)), sizes), start


def answering(answered: Floats, foreign: Floats, *, lost: float, l2: float = 0.01) -> tuple[float, Floats]:
    """(bias, weights) of a logistic rule that tells questions with an answer from those without; the bias such that it
    turns away `lost` of those with one."""
    rows = np.concatenate([answered, foreign])
    truth = np.concatenate([np.ones(len(answered)), np.zeros(len(foreign))])
    mean, spread = rows.mean(0), rows.std(0) + 1e-6
    scaled = (rows - mean) / spread
    weights, bias = np.zeros(rows.shape[1]), 0.0
    for _ in range(1500):
        error = 1 / (1 + np.exp(-(scaled @ weights + bias))) - truth
        weights = weights - 0.2 * (scaled.T @ error / len(truth) + l2 * weights)
        bias -= 0.2 * float(error.mean())
    fitted: Floats = weights / spread
    points = np.sort(answered @ fitted)
    return -float(points[int(lost * len(points))]), fitted
