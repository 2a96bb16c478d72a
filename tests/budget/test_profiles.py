"""Profiles of models: known facts, never guesses."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from foveate.budget import DEFAULT_RULES, CacheRules, ModelProfile, profile_for
from foveate.errors import ConfigError, UnknownModelError


def test_a_known_model_has_window_and_prices() -> None:
    """Window, prices and cache multipliers of a common model are there."""
    profile = profile_for("gpt-4o")

    assert (profile.provider, profile.window) == ("openai", 128_000)
    assert (profile.input_price, profile.output_price) == (2.5, 10.0)
    assert (profile.cache.read, profile.cache.write) == (0.5, 1.0)
    assert profile.cache.breakpoints == 0


def test_claude_has_markers_and_dear_writes() -> None:
    """Anthropic's rules come with the model: four markers, twenty blocks, five minutes."""
    assert profile_for("claude-sonnet-4-5").cache == DEFAULT_RULES
    assert profile_for("claude-haiku-4-5").cache == replace(DEFAULT_RULES, minimum_tokens=4_096)


@pytest.mark.parametrize("model", ["bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0"])
def test_claude_keeps_its_rules_at_another_host(model: str) -> None:
    """The same model hosted elsewhere is cached by the same rules."""
    profile = profile_for(model)

    assert profile.provider == "aws"
    assert profile.cache == DEFAULT_RULES


@pytest.mark.parametrize("model", ["openai:gpt-4o", "openai/gpt-4o", "gpt-4o-2024-08-06"])
def test_spellings_mean_the_same_model(model: str) -> None:
    """Provider prefixes and dated names find the model, and keep the name they were given."""
    assert profile_for(model) == replace(profile_for("gpt-4o"), name=model)


def test_a_resellers_name_is_found_in_its_catalogue() -> None:
    """`organisation/model` as a router spells it is found without the router's name."""
    assert profile_for("meta-llama/llama-3.3-70b-instruct").provider == "openrouter"


def test_an_unknown_window_is_not_guessed() -> None:
    """A model that is listed without a window has none."""
    profile = profile_for("openai:text-davinci-003")

    assert profile.input_price == 20
    assert profile.window is None


def test_an_unknown_model_is_named_with_near_ones() -> None:
    """The error says which model, what was probably meant, and how to go on without."""
    with pytest.raises(UnknownModelError) as caught:
        profile_for("claude-sonet-4-5")

    for part in (
        "'claude-sonet-4-5'",
        "'anthropic:claude-sonnet-4-5'",
        "`Session(budget=…)`",
        "window=…",
    ):
        assert part in str(caught.value)


def test_overrides_come_first() -> None:
    """A profile of one's own wins over the list, and may name a model nobody knows."""
    mine = ModelProfile(name="house-model", window=32_000)

    assert profile_for("house-model", overrides={"house-model": mine}) is mine
    assert mine.cache == DEFAULT_RULES


def test_no_profile_touches_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices come from the installed list; no connection is opened."""

    def refuse(*_: object) -> None:
        pytest.fail("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)

    assert profile_for("gemini-2.5-flash").window == 1_048_576


def test_impossible_values_are_refused() -> None:
    """A window of nothing and a negative price are named."""
    with pytest.raises(ConfigError, match="`window` of 'x' must be 1 token or more, got 0"):
        ModelProfile(name="x", window=0)
    with pytest.raises(ConfigError, match="`read` of the cache rules"):
        CacheRules(minimum_tokens=0, ttl_seconds=0, breakpoints=0, lookback_blocks=0, write=1, read=-1)
