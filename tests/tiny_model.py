"""A model small enough to be made in a test: letters have vectors, and a text has their mean. No torch, no onnx."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

from worker import shelf

LETTERS = [chr(n) for n in range(32, 127)]
FLOAT, INT64 = 1, 7


def make(
    models_dir: Path,
    name: str,
    dimension: int = 16,
    *,
    named: int | None = None,
    built_ms: int = 1,
    source: str = "tiny",
) -> shelf.Built:
    """A folder as `recorder models build` leaves it; `named` is the dimension its manifest claims."""
    import tokenizers

    folder = models_dir / name
    folder.mkdir(parents=True)
    (folder / shelf.NETWORK).write_bytes(network(dimension, seed=name))
    model = tokenizers.models.WordLevel({letter: n for n, letter in enumerate(LETTERS)}, unk_token=" ")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex("."), "isolated")
    tokenizer.save(str(folder / shelf.TOKENIZER))
    manifest = {
        "id": name,
        "source": source,
        "dimension": named or dimension,
        "precision": "fp32",
        "built_ms": built_ms,
        "sha256": {file: shelf.digest_of(folder / file) for file in (shelf.NETWORK, shelf.TOKENIZER)},
    }
    (folder / shelf.MANIFEST).write_text(json.dumps(manifest))
    found = shelf.read(folder)
    assert found is not None
    return found


def network(dimension: int, *, seed: str) -> bytes:
    """Gather the letters' vectors, take their mean. Source: onnx.proto of ONNX 1.17, opset 13."""
    dice = random.Random(seed)
    values = [dice.uniform(-1, 1) for _ in range(len(LETTERS) * dimension)]
    table = (
        _number(1, len(LETTERS)) + _number(1, dimension) + _number(2, FLOAT) + _text(8, "table")
        + _bytes(9, struct.pack(f"<{len(values)}f", *values))
    )  # fmt: skip
    axis = _text(1, "axis") + _number(3, 0) + _number(20, 2)
    axes = _text(1, "axes") + _number(8, 1) + _number(20, 7)
    keep = _text(1, "keepdims") + _number(3, 0) + _number(20, 2)
    gather = _text(1, "table") + _text(1, "input_ids") + _text(2, "letters") + _text(4, "Gather") + _bytes(5, axis)
    mean = _text(1, "letters") + _text(2, "vector") + _text(4, "ReduceMean") + _bytes(5, axes) + _bytes(5, keep)
    graph = (
        _bytes(1, gather) + _bytes(1, mean) + _text(2, "tiny") + _bytes(5, table)
        + _bytes(11, _value("input_ids", INT64, "texts", "tokens"))
        + _bytes(11, _value("attention_mask", INT64, "texts", "tokens"))
        + _bytes(12, _value("vector", FLOAT, "texts", "parts"))
    )  # fmt: skip
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _text(1, "") + _number(2, 13))


def _value(name: str, kind: int, *dimensions: str) -> bytes:
    shape = b"".join(_bytes(1, _text(2, dimension)) for dimension in dimensions)
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, shape)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
