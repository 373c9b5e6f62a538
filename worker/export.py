"""The embedding model, built once from its weights into what runs without torch."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.resources
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# Before the libraries are read: what is not on this machine is not fetched.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy
import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.shape_inference import quant_pre_process
from sentence_transformers import SentenceTransformer

from recorder.errors import ConfigError
from worker.child import MOST_TOKENS, Encoder, as_int8
from worker.shelf import MANIFEST, NETWORK, PACKAGE, TOKENIZER, Built, digest_of, listing, read, unsound

NAME = "minilm-l6-v2"
# Of sentence-transformers/all-MiniLM-L6-v2, which the package carries unchanged.
PINNED = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
LEFT_FLOAT = 3
"""Multiplications kept in float: those whose input has the widest outliers, for one scale has to fit all of an input.

MiniLM-L6 on AVX2 without VNNI, mean (least) cosine to fp32 over SAMPLES with 0, 2, 3, 4, 6 left: .9909 (.973),
.9931 (.976), .9943 (.981), .9946 (.982), .9951 (.983); over other prose .9899 with none, below what is asked for.
"""
CLOSE_TO_FP32 = 0.99
CLOSE_TO_ORIGINAL = 0.9999
CLOSE_IN_BATCH = 0.999
BUILD_LIBRARIES = ("torch", "sentence-transformers", "onnx", "onnxscript", "onnxruntime", "tokenizers", "numpy")

SAMPLES = (
    "use uv to install packages, never pip",
    "which queue did we choose for the ingest workers, and why?",
    "[2026-03-02] user: remember that the staging database is read only on Fridays",
    "[2026-03-02] assistant: The test fails because the fixture opens the file twice; I close it in a finally block.",
    "[2026-03-02] tool: Bash: pytest -q tests/test_store.py … 14 passed in 2.31s",
    "[2026-03-03] tool: Read: src/server/routes.ts … export function mount(app: Express) { app.get('/health', ok) }",
    "[2026-03-03] tool: Bash: cargo build … error[E0382]: borrow of moved value: `config`",
    "decision queue backend: we keep SQLite because one file is easy to back up and no server has to run",
    "preference editor: four spaces, no tabs, line length 100",
    "command test: npm run test:unit -- --watch=false",
    "Deployments go out on Tuesday; the rollback is `make rollback VERSION=previous`.",
    "Der Nutzer möchte Antworten auf Deutsch, den Code aber englisch.",
    "The migration adds a nullable column, fills it in batches of a thousand rows, and only then makes it required.",
    "TypeError: unsupported operand type(s) for +: 'int' and 'str' in report.py line 88",
    "git rebase --onto main feature~3 feature",
    "What port does the dashboard listen on?",
    "We measured the parser at 565 MB/s; the regular expressions over every line were what was slow, not the JSON.",
    "lesson: never run the seed script against a database that holds real customers",
    "ok",
    "import { useState } from 'react'; const [open, setOpen] = useState(false);",
    "The colour of the header is too dark on small screens; use the token surface-2 in place of the literal.",
    "curl -s localhost:8080/metrics | grep http_requests_total",
    "Caroline went to the support group on the seventh of May and said how much it had helped her.",
    "the retry waits 2, 4, 8 seconds and gives up after five tries, then the job is dead and shown to a person",
)


@dataclass(frozen=True, slots=True)
class Closeness:
    """Cosines between what was built and what it was built from, over the built-in texts."""

    fp32_to_original_min: float
    int8_to_fp32_mean: float
    int8_to_fp32_min: float
    bytes_to_original_mean: float
    """Of the stored one-byte vectors of what is shipped."""
    alone_to_batch_min: float


class Pooled(torch.nn.Module):  # type: ignore[misc, unused-ignore]  # Any where torch is not installed
    """Token ids to one vector of length one: every layer of the model as sentence-transformers runs them."""

    def __init__(self, model: SentenceTransformer) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(list(model))

    def forward(self, input_ids: Any, attention_mask: Any) -> Any:
        features = {"input_ids": input_ids, "attention_mask": attention_mask}
        for layer in self.layers:
            features = layer(features)
        return torch.nn.functional.normalize(features["sentence_embedding"], dim=-1)


def build(models_dir: Path, *, source: str | None = None) -> Built:
    """A model ready to run, in a folder of its own under `models_dir`. One that was built before is left as it is.

    `source` is a folder of a sentence-transformers model, or its hub name where the hub's files lie in the local
    cache already; None is the one that comes as a package. Nothing is downloaded.

    Raises: ConfigError when the weights are not there, not those we know, or lose their meaning on the way.
    """
    started = time.monotonic()
    name, origin = (NAME, str(packaged())) if source is None else (_readable(source), source)
    models_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        model = original(origin)
    except (OSError, ValueError) as error:
        raise ConfigError(f"no model can be read from {origin} ({error}); give a folder that holds one") from error
    with tempfile.TemporaryDirectory(dir=models_dir, prefix=".build-") as room:
        draft = Path(room) / "draft"
        draft.mkdir(mode=0o700)
        model.tokenizer.backend_tokenizer.save(str(draft / TOKENIZER))
        export(model, Path(room) / "fp32.onnx")
        quantize(Path(room) / "fp32.onnx", Path(room) / "int8.onnx", draft / TOKENIZER)
        precision, closeness = choose(model, Path(room), draft / TOKENIZER)
        shutil.move(Path(room) / f"{precision}.onnx", draft / NETWORK)
        digests = {file: digest_of(draft / file) for file in (NETWORK, TOKENIZER)}
        model_id = f"{name}-{precision}-{digests[NETWORK][:8]}"
        manifest = {
            "id": model_id,
            "source": PACKAGE if source is None else source,
            "dimension": int(model.get_embedding_dimension() or 0),
            "precision": precision,
            "most_tokens": MOST_TOKENS,
            "sha256": digests,
            "closeness": asdict(closeness),
            "versions": {library: importlib.metadata.version(library) for library in BUILD_LIBRARIES},
            "machine": f"{platform.system()} {platform.machine()}",
            "built_ms": time.time_ns() // 1_000_000,
            "build_s": round(time.monotonic() - started, 1),
        }
        (draft / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        _put(draft, models_dir / model_id)
    return next(built for built in listing(models_dir) if built.id == model_id)


def packaged() -> Path:
    """The folder of the model that comes as a package.

    Raises: ConfigError when the package is not installed, or its files are not the ones we know.
    """
    try:
        folder = Path(str(importlib.resources.files(PACKAGE))) / "model"
    except ModuleNotFoundError as error:
        raise ConfigError(f"{PACKAGE} is not installed: pip install 'claude-recorder[embed-build]'") from error
    for name, digest in PINNED.items():
        if not (folder / name).is_file() or digest_of(folder / name) != digest:
            raise ConfigError(f"{folder / name} is not the file we know ({digest[:12]}…): install the package anew")
    return folder


def original(origin: str) -> SentenceTransformer:
    """The model in a folder, its attention spelled out: what torch fuses becomes more and slower steps in ONNX."""
    return SentenceTransformer(
        origin, device="cpu", local_files_only=True, model_kwargs={"attn_implementation": "eager"}
    )


def export(model: SentenceTransformer, network: Path) -> None:
    """Write the model as one ONNX file, free in the number of texts and of tokens."""
    ids = torch.tensor([[101, 7592, 2088, 102], [101, 2088, 7592, 102]])
    free = {0: torch.export.Dim("texts"), 1: torch.export.Dim("tokens", max=MOST_TOKENS)}
    with torch.no_grad():
        torch.onnx.export(
            Pooled(model).eval(),
            (ids, torch.ones_like(ids)),
            str(network),
            input_names=["input_ids", "attention_mask"],
            output_names=["vector"],
            dynamic_shapes={"input_ids": free, "attention_mask": free},
            dynamo=True,
            external_data=False,
            verbose=False,
        )


def quantize(fp32: Path, int8: Path, tokenizer: Path) -> None:
    """Write the network with its weights in one byte each, a scale per channel; activations are scaled as they come."""
    plain = fp32.with_name("plain.onnx")
    quant_pre_process(str(fp32), str(plain), skip_symbolic_shape=True)
    quantize_dynamic(
        str(plain),
        str(int8),
        per_channel=True,
        weight_type=QuantType.QInt8,
        nodes_to_exclude=widest(plain, tokenizer)[:LEFT_FLOAT],
    )


def widest(network: Path, tokenizer: Path) -> list[str]:
    """The names of the multiplications by weights, the one whose input is widest for its spread first."""
    graph = onnx.load(str(network))
    weights = {constant.name for constant in graph.graph.initializer}
    inputs = {
        node.name: node.input[0]
        for node in graph.graph.node
        if node.op_type == "MatMul" and any(name in weights for name in node.input)
    }
    names = list(dict.fromkeys(inputs.values()))
    graph.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
    probe = network.with_name("probe.onnx")
    onnx.save(graph, str(probe))
    encoder = Encoder(probe, tokenizer)
    width = dict.fromkeys(names, 0.0)
    for text in SAMPLES:
        ids = numpy.array([encoder.tokenizer.encode(text).ids])
        seen = encoder.session.run(names, {"input_ids": ids, "attention_mask": numpy.ones_like(ids)})
        for name, values in zip(names, seen, strict=True):
            width[name] += float((values.max() - values.min()) / values.std())
    return sorted(inputs, key=lambda node: -width[inputs[node]])


def choose(model: SentenceTransformer, room: Path, tokenizer: Path) -> tuple[str, Closeness]:
    """The precision to ship and how close it came: int8, or fp32 where int8 strays.

    Raises: ConfigError when even fp32 does not say what the original says.
    """
    original = numpy.asarray(model.encode(list(SAMPLES), batch_size=1, normalize_embeddings=True))
    encoders = {precision: Encoder(room / f"{precision}.onnx", tokenizer) for precision in ("fp32", "int8")}
    vectors = {
        precision: numpy.stack([encoder.encode(text) for text in SAMPLES]) for precision, encoder in encoders.items()
    }
    to_original = _cosines(vectors["fp32"], original)
    if to_original.min() < CLOSE_TO_ORIGINAL:
        raise ConfigError(
            f"the exported model is not the original: cosine {to_original.min():.4f}, at least {CLOSE_TO_ORIGINAL}"
            " is asked for. It may pool or prompt in a way that cannot be exported"
        )
    to_fp32 = _cosines(vectors["int8"], vectors["fp32"])
    precision = "int8" if to_fp32.mean() >= CLOSE_TO_FP32 else "fp32"
    stored = numpy.stack([numpy.frombuffer(as_int8(vector), numpy.int8) for vector in vectors[precision]])
    closeness = Closeness(
        fp32_to_original_min=_rounded(to_original.min()),
        int8_to_fp32_mean=_rounded(to_fp32.mean()),
        int8_to_fp32_min=_rounded(to_fp32.min()),
        bytes_to_original_mean=_rounded(_cosines(stored.astype(numpy.float32), original).mean()),
        alone_to_batch_min=_rounded(_in_batch(encoders["fp32"], vectors["fp32"])),
    )
    return precision, closeness


def _in_batch(encoder: Encoder, alone: Any) -> float:
    """The least cosine between a text alone and the same text in a padded batch with all others, in fp32."""
    rows = [encoder.tokenizer.encode(text).ids for text in SAMPLES]
    longest = max(len(row) for row in rows)
    ids = numpy.array([row + [0] * (longest - len(row)) for row in rows])
    mask = numpy.array([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    (batch,) = encoder.session.run(None, {"input_ids": ids, "attention_mask": mask})
    return float(_cosines(batch, alone).min())


def _cosines(left: Any, right: Any) -> Any:
    norms = numpy.linalg.norm(left, axis=1) * numpy.linalg.norm(right, axis=1)
    return (left * right).sum(axis=1) / norms


def _rounded(value: Any) -> float:
    return round(float(value), 5)


def _readable(source: str) -> str:
    """A model's name out of its path or hub name: `intfloat/e5-small` is `e5-small`."""
    last = source.rstrip("/").split("/")[-1].lower()
    return "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in last).strip("-.") or "model"


def _put(draft: Path, folder: Path) -> None:
    """Move the finished folder to its place at once. What stands there whole is the same and is left."""
    for file in draft.iterdir():
        file.chmod(0o600)
    there = read(folder)
    if there is not None and not unsound(there):
        return
    if folder.exists():
        os.rename(folder, draft.with_name("damaged"))  # in the room, which is cleared
    os.rename(draft, folder)


def main(argv: Sequence[str] | None = None) -> int:
    """Build, and print the manifest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True, help="where models are kept, such as ~/.recorder/models")
    parser.add_argument("--source", help="a model's folder, or its hub name when it is in the local cache")
    chosen = parser.parse_args(argv)
    try:
        built = build(chosen.models, source=chosen.source)
    except ConfigError as error:
        print(f"recorder: {error}", file=sys.stderr)
        return 1
    print(json.dumps(built.manifest))
    return 0


if __name__ == "__main__":
    sys.exit(main())
