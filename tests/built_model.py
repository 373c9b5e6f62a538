"""Where the tests find a model that `recorder models build` made; building one takes torch and a minute."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from worker import shelf

# Read before any test moves HOME.
MODELS = Path(os.environ.get("RECORDER_TEST_MODEL") or Path.home() / ".cache" / "recorder-test-model")

RUNTIME = all(importlib.util.find_spec(name) for name in ("onnxruntime", "tokenizers", "numpy"))

needs_runtime = pytest.mark.skipif(not RUNTIME, reason="needs the extra `semantic`")
needs_model = pytest.mark.skipif(
    not RUNTIME or shelf.chosen(MODELS) is None,
    reason=f"needs a built model in {MODELS} (RECORDER_TEST_MODEL) and the extra `semantic`",
)
