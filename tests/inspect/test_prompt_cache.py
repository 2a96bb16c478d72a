"""The cache of a history that only grows: the simulated cache of the lab in numbers alone."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from foveate.budget.profiles import profile_for
from foveate.inspect.prompt_cache import CachedRequest, GrowingHistoryCache, Scale
from foveate.lab.cache import PromptCache

MODELS = ("anthropic:claude-sonnet-4-5", "openai:gpt-5.1", "google:gemini-2.5-pro", "deepseek:deepseek-chat")
Calls = list[tuple[int, float | None, str]]

calls = st.lists(
    st.tuples(
        st.integers(1, 20_000),
        st.one_of(st.none(), st.floats(0, 900, allow_nan=False)),
        st.sampled_from(["one", "other"]),
    ),
    min_size=1,
    max_size=25,
)


@given(calls, st.sampled_from(MODELS), st.integers(0, 30_000), st.integers(0, 8_000), st.sampled_from([0.7, 1.0, 1.6]))
@example([(5_000, 0.0, "one"), (300, 301.0, "one"), (300, 2.0, "one")], MODELS[0], 0, 0, 1.0)
@example([(5_000, 0.0, "one"), (300, 2.0, "other"), (300, 2.0, "one")], MODELS[1], 2_000, 900, 1.6)
def test_it_charges_what_the_simulated_cache_charges(
    sent: Calls, name: str, overhead: int, warm: int, ratio: float
) -> None:
    """With the marks that agents usually set, on any provider, after any pauses, back and forth between two models."""
    profile, scale = profile_for(name), Scale(overhead=overhead, ratio=ratio)
    sizes: dict[int, int] = {}
    simulated = PromptCache(profile.cache, lambda chat: sizes[id(chat)], scale=scale, warm=warm)
    numbers = GrowingHistoryCache(scale, warm=warm)
    history: list[dict[str, Any]] = []
    counted, moment = 0, 0.0
    for size, pause, model in sent:
        history.append({"role": "user", "content": f"{len(history)}"})
        sizes[id(history[-1])] = size
        counted += size
        moment += pause or 0.0
        at = None if pause is None else moment
        charge = simulated.send(list(history), at=at, model=model, profile=profile)
        assert numbers.send(counted, profile, model=model, at=at) == CachedRequest(charge.tokens, charge.cached)
