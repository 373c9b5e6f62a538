"""The embedding model, in a process of its own: one JSON line in, one out, until stdin closes."""

from __future__ import annotations

import argparse
import base64
import json
import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy
import onnxruntime
import tokenizers

from recorder.errors import ConfigError, RecorderError
from worker import shelf

MOST_TOKENS = 256
NICENESS = 10
REBUILD = "build it anew (`recorder models build --force`)"


class Encoder:
    """A model in memory, on one thread. One text at a time: with int8 a text's neighbours would change its vector."""

    def __init__(self, network: Path, tokenizer: Path) -> None:
        self.tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MOST_TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # The arena keeps the memory of the longest text for good.
        options.enable_cpu_mem_arena = False
        self.session = onnxruntime.InferenceSession(str(network), options, providers=["CPUExecutionProvider"])

    def encode(self, text: str) -> Any:
        """The text's vector, float32, of length one."""
        ids = self.tokenizer.encode(text.encode("utf-8", "replace").decode()).ids
        tokens = numpy.array([ids], dtype=numpy.int64)
        (vectors,) = self.session.run(None, {"input_ids": tokens, "attention_mask": numpy.ones_like(tokens)})
        return vectors[0]


def opened(folder: Path) -> Encoder:
    """The model in a folder, whole, and making vectors as long as it says.

    Raises: ConfigError when it is not; whatever the libraries raise when they cannot read it.
    """
    built = shelf.read(folder)
    if built is None:
        raise ConfigError(f"{folder} holds no model: {REBUILD}")
    damaged = shelf.unsound(built)
    if damaged:
        raise ConfigError(f"damaged, {', '.join(damaged)} is not what was built: {REBUILD}")
    encoder = Encoder(folder / shelf.NETWORK, folder / shelf.TOKENIZER)
    length = len(encoder.encode("ready"))
    if length != built.dimension:
        raise ConfigError(f"its vectors have {length} dimensions and not the {built.dimension} it names: {REBUILD}")
    return encoder


def as_int8(vector: Any) -> bytes:
    """The vector in one byte a dimension, its largest part being 127.

    Only the direction is kept: cosine does not see length, and a fixed factor of 127 would leave most parts of a
    vector of 384 dimensions with three bits.
    """
    largest = float(numpy.abs(vector).max())
    scaled = vector * (127.0 / largest) if largest > 0 else vector
    return bytes(numpy.rint(scaled).astype(numpy.int8).tobytes())


def rss_mb() -> int:
    """Memory in use now, in MB; where there is no /proc, the most there ever was (getrusage(2): bytes on macOS)."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") // (1 << 20)
    except (OSError, ValueError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak // (1 << 20) if sys.platform == "darwin" else peak // 1024


def serve(encoder: Encoder, asked: IO[str], answers: IO[str]) -> None:
    """Answer `{"text": …}` with `{"vector": base64, "rss_mb": …}`, or `{"error": …}` for a text that cannot be read."""
    for line in asked:
        try:
            vector = as_int8(encoder.encode(json.loads(line)["text"]))
            answer = {"vector": base64.b64encode(vector).decode("ascii"), "rss_mb": rss_mb()}
        except Exception as error:  # one text must not end the rest; the parent hears of it
            answer = {"error": repr(error)}
        print(json.dumps(answer), file=answers, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Load the model, say so, and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="a folder that `recorder models build` made")
    folder = parser.parse_args(argv).model
    os.nice(NICENESS)
    onnxruntime.disable_telemetry_events()
    try:
        encoder = opened(folder)
    except Exception as error:  # onnxruntime and tokenizers raise what they like for a broken file
        print(json.dumps({"error": str(error) if isinstance(error, RecorderError) else repr(error)}), flush=True)
        return 1
    print(json.dumps({"ready": folder.name, "rss_mb": rss_mb()}), flush=True)
    serve(encoder, sys.stdin, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
