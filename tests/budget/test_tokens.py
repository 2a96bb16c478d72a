"""Counting tokens: exact with a vocabulary, safe on any text."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from splintr import Tokenizer

from foveate.budget import EstimatingCounter, SplintrCounter, counter_for, image_tokens
from foveate.errors import ConfigError

SOURCE = Path(__file__).read_text(encoding="utf-8")
DIGESTS = b"".join(hashlib.sha256(bytes([each])).digest() for each in range(200))

EXACT = SplintrCounter()
ESTIMATE = EstimatingCounter()
ANY_TEXT = st.text(alphabet=st.characters(codec=None, exclude_categories=()))


def test_known_texts_have_known_counts() -> None:
    """The vocabulary is the real o200k_base."""
    assert EXACT.count("hello world") == 2
    assert EXACT.count("") == 0
    assert EXACT.name == "o200k_base"


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base", "llama3", "deepseek_v3", "kimi"])
def test_special_tokens_are_ordinary_text(encoding: str) -> None:
    """A special token that a user spells out is counted by its characters, alone or in a batch."""
    counter = SplintrCounter(encoding=encoding)
    texts = ["<|endoftext|>", "<think>", "[EOS]", "<\uff5cUser\uff5c>", "a <|im_start|> b"]
    counts = [counter.count(text) for text in texts]

    assert min(counts) > 1
    assert counter.count_many(texts) == counts


def test_lone_surrogates_are_counted() -> None:
    """Broken Unicode from a tool never stops a count."""
    assert EXACT.count("a\ud800b") >= 3
    assert EXACT.count_many(["plain", "a\ud800b"]) == [1, EXACT.count("a\ud800b")]
    assert ESTIMATE.count("a\ud800b") >= 3


@given(st.lists(ANY_TEXT, max_size=8))
def test_any_text_can_be_counted(texts: list[str]) -> None:
    """No text raises, no non-empty text is free, and a batch says what single counts say."""
    for counter in (EXACT, ESTIMATE):
        counts = [counter.count(text) for text in texts]
        assert counter.count_many(texts) == counts
    for text in texts:
        assert (EXACT.count(text) > 0) == bool(text)


def test_long_text_is_counted_as_one() -> None:
    """Cutting a long text for speed changes the count by less than one in a thousand."""
    text = SOURCE * 60
    whole = len(Tokenizer.from_pretrained("o200k_base").encode_ordinary(text))

    assert len(text) > 300_000
    assert EXACT.count(text) == pytest.approx(whole, rel=1e-3)
    assert EXACT.count_many([text, "hello"]) == [EXACT.count(text), 1]


@pytest.mark.parametrize(
    "text",
    [
        "a" * 5_000_000,
        " " * 5_000_000,
        "\n" * 5_000_000,
        "的" * 1_500_000,
        base64.b64encode(DIGESTS * 500).decode(),
        "=-" * 10**6,
    ],
    ids=["letter", "space", "newline", "han", "base64", "marks"],
)
def test_unbroken_runs_stay_fast(text: str) -> None:
    """A run without spaces takes about as long as prose, not the square of its length."""
    begin = time.perf_counter()

    assert EXACT.count(text) > 0
    assert time.perf_counter() - begin < 4


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4o", "o200k_base"),
        ("openai:gpt-4.1-mini", "o200k_base"),
        ("gpt-5", "o200k_base"),
        ("o3", "o200k_base"),
        ("openai/gpt-4", "cl100k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("meta-llama/llama-3.3-70b-instruct", "llama3"),
        ("deepseek-chat", "deepseek_v3"),
        ("qwen3-coder", "qwen3"),
        ("claude-sonnet-4-5", "o200k_base"),
        ("gemini-2.5-pro", "o200k_base"),
        (None, "o200k_base"),
    ],
)
def test_a_model_is_counted_with_its_vocabulary(model: str | None, name: str) -> None:
    """The model's name picks the vocabulary, and the counter says which one it is."""
    counter = counter_for(model)

    assert counter.name == name
    assert counter.count("hello") == 1


def test_an_unknown_vocabulary_is_named() -> None:
    """A wrong `encoding` says what it was."""
    with pytest.raises(ConfigError, match="`encoding` 'nope'"):
        SplintrCounter(encoding="nope").count("hello")


def test_without_the_tokenizer_the_counter_says_so() -> None:
    """Where splintr cannot be imported, counts are estimates and visibly so."""
    script = (
        "import sys; sys.modules['splintr'] = None\n"
        "from foveate.budget import counter_for\n"
        "print(counter_for('gpt-4o').name)"
    )
    assert _python(script) == "estimate"


def test_importing_is_light() -> None:
    """Neither the tokenizer nor the price list is loaded before it is needed."""
    script = "import sys, foveate.budget\nprint({'splintr', 'genai_prices'} & set(sys.modules) or 'nothing')"
    assert _python(script) == "nothing"


def test_images_have_a_price() -> None:
    """A small icon, a page and an image of unknown size all cost something sane."""
    assert image_tokens(10, 10) == 85
    assert image_tokens(1000, 750) == 1_000
    assert image_tokens(8000, 8000) == 1_600
    assert image_tokens(None, 500) == image_tokens(0, -1) == 1_200


def _python(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.strip()
