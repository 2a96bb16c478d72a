"""Usage: what the usage objects of providers and frameworks mean, read from the real classes."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from anthropic.types import MessageDeltaUsage
from anthropic.types import Usage as AnthropicUsage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from openai.types import CompletionUsage
from openai.types.responses import ResponseUsage
from pydantic_ai.usage import RequestUsage, RunUsage

from foveate.errors import ConfigError
from foveate.wire.usage import ReportedUsage, read_usage, reported_usage

with warnings.catch_warnings():
    # Its file has an escape sequence that Python warns of when it is compiled for the first time.
    warnings.simplefilter("ignore")
    from google.genai.types import GenerateContentResponseUsageMetadata

CHAT = {
    "prompt_tokens": 5_000,
    "completion_tokens": 70,
    "total_tokens": 5_070,
    "prompt_tokens_details": {"cached_tokens": 4_096, "audio_tokens": 0},
}
RESPONSES = {
    "input_tokens": 5_000,
    "input_tokens_details": {"cached_tokens": 4_096, "cache_write_tokens": 0},
    "output_tokens": 70,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 5_070,
}
ANTHROPIC = {
    "input_tokens": 104,
    "cache_creation_input_tokens": 800,
    "cache_read_input_tokens": 4_096,
    "output_tokens": 70,
}
GEMINI = {"promptTokenCount": 5_000, "cachedContentTokenCount": 4_096, "candidatesTokenCount": 70}
LANGCHAIN = UsageMetadata(
    input_tokens=5_000,
    output_tokens=70,
    total_tokens=5_070,
    input_token_details=InputTokenDetails(cache_read=4_096, cache_creation=800),
)
# As LiteLLM 1.9x writes for an answer of Anthropic: the prompt includes both kinds of cached tokens.
LITELLM = {
    **CHAT,
    "prompt_tokens_details": {"cached_tokens": 4_096, "cache_creation_tokens": 800, "text_tokens": 104},
    "cache_creation_input_tokens": 800,
    "cache_read_input_tokens": 4_096,
    "cost": 0.012,
}
PYDANTIC_AI = {"input_tokens": 5_000, "cache_read_tokens": 4_096, "cache_write_tokens": 800, "output_tokens": 70}


@pytest.mark.parametrize(
    ("usage", "written"),
    [
        (CHAT, None),
        (CompletionUsage.model_validate(CHAT), None),
        (RESPONSES, 0),
        (ResponseUsage.model_validate(RESPONSES), 0),
        (ANTHROPIC, 800),
        (AnthropicUsage.model_validate(ANTHROPIC), 800),
        (MessageDeltaUsage.model_validate(ANTHROPIC), 800),
        (GEMINI, None),
        (GenerateContentResponseUsageMetadata.model_validate(GEMINI), None),
        (GenerateContentResponseUsageMetadata.model_validate(GEMINI).model_dump(), None),
        (LANGCHAIN, 800),
        (LITELLM, 800),
        (CompletionUsage.model_validate(LITELLM), 800),
        (PYDANTIC_AI, 800),
        (RequestUsage(**PYDANTIC_AI), 800),
        (RunUsage(requests=1, **PYDANTIC_AI), 800),
    ],
    ids=str,
)
def test_the_same_request_is_read_from_every_shape(usage: object, written: int | None) -> None:
    """5,000 tokens were sent, 4,096 of them read from the cache, whatever a provider leaves out of its number."""
    assert read_usage(usage) == ReportedUsage(
        input_tokens=5_000, cached_tokens=4_096, written_tokens=written, output_tokens=70
    )


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 900, "completion_tokens": 1},
        {"input_tokens": 900, "output_tokens": 1},
        AnthropicUsage(input_tokens=900, output_tokens=1),
        RequestUsage(input_tokens=900, output_tokens=1),
        GenerateContentResponseUsageMetadata(prompt_token_count=900, candidates_token_count=1),
        UsageMetadata(input_tokens=900, output_tokens=1, total_tokens=901),
    ],
    ids=str,
)
def test_what_was_cached_is_unknown_unless_it_is_said(usage: object) -> None:
    """Nothing said is not nothing cached: only the latter tells of a miss."""
    assert read_usage(usage) == ReportedUsage(input_tokens=900, output_tokens=1)


def test_deepseek_names_its_cache_otherwise() -> None:
    """Hits and misses together are the prompt."""
    usage = {"prompt_tokens": 900, "prompt_cache_hit_tokens": 600, "prompt_cache_miss_tokens": 300}

    assert read_usage(usage) == ReportedUsage(input_tokens=900, cached_tokens=600)


@pytest.mark.parametrize(
    ("empty", "written"),
    [
        ({"input_tokens": 0, "output_tokens": 0, "input_tokens_details": None}, None),
        ({"input_tokens": None, "output_tokens": None}, None),
        ({"promptTokenCount": 0, "candidatesTokenCount": 0}, None),
    ],
)
def test_a_name_that_a_proxy_left_at_0_hides_no_count(empty: dict[str, Any], written: int | None) -> None:
    """The shape whose count is not 0 is the one that is meant."""
    expected = ReportedUsage(input_tokens=5_000, cached_tokens=4_096, written_tokens=written, output_tokens=70)

    assert read_usage({**CHAT, **empty}) == expected
    assert read_usage({**empty, **GEMINI, "prompt_tokens": 0}) == expected
    assert read_usage({**RESPONSES, "prompt_tokens": 0, "completion_tokens": 0}).input_tokens == 5_000


def test_nothing_but_zeros_is_nothing() -> None:
    """It is said, so it is known."""
    assert read_usage({"input_tokens": 0, "prompt_tokens": 0}) == ReportedUsage(input_tokens=0)


LIFETIMES = {"ephemeral_5m_input_tokens": 500, "ephemeral_1h_input_tokens": 300}


@pytest.mark.parametrize(
    "usage",
    [
        {"input_tokens": 4_200, "output_tokens": 70, "cache_creation": LIFETIMES},
        {"input_tokens": 4_200, "output_tokens": 70, "cache_creation": LIFETIMES, "cache_creation_input_tokens": 800},
        AnthropicUsage.model_validate({"input_tokens": 4_200, "output_tokens": 70, "cache_creation": LIFETIMES}),
        {"input_tokens": 5_000, "output_tokens": 70, "input_token_details": {"cache_creation": 0, **LIFETIMES}},
        {"input_tokens": 5_000, "output_tokens": 70, "input_token_details": {"cache_creation": 800}},
    ],
    ids=str,
)
def test_what_was_written_for_each_lifetime_is_written(usage: object) -> None:
    """Also where the sum of them is not said, and once where it is; and what of it stays for an hour, where that is."""
    found = read_usage(usage)
    hour = 300 if "ephemeral" in str(usage) else None
    assert found == ReportedUsage(input_tokens=5_000, written_tokens=800, written_hour_tokens=hour, output_tokens=70)


@pytest.mark.parametrize(
    "usage",
    [
        {**GEMINI, "thoughtsTokenCount": 900},
        GenerateContentResponseUsageMetadata.model_validate({**GEMINI, "thoughtsTokenCount": 900}),
    ],
    ids=lambda usage: type(usage).__name__,
)
def test_what_gemini_thought_is_output(usage: object) -> None:
    """It is paid for as such."""
    assert read_usage(usage).output_tokens == 970


@pytest.mark.parametrize(
    ("usage", "total", "hosted"),
    [
        ({**ANTHROPIC, "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 0}}, 5_000, 5_000),
        ({**ANTHROPIC, "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0}}, 5_000, 0),
        ({**GEMINI, "toolUsePromptTokenCount": 700}, 5_700, 700),
        (RequestUsage(**PYDANTIC_AI, details={"web_search_requests": 1}), 5_000, 5_000),
    ],
    ids=str,
)
def test_what_the_providers_own_tools_put_in_is_told_apart(usage: object, total: int, hosted: int) -> None:
    """It is input that was paid for, but nothing that our count could be compared with."""
    found = read_usage(usage)

    assert (found.input_tokens, found.hosted_tokens) == (total, hosted)


def test_an_answer_that_the_sdk_went_on_with_counts_as_its_first_request() -> None:
    """Gemini's SDK adds up the requests; the first is the one that was sent."""
    usage = GenerateContentResponseUsageMetadata(prompt_token_count=1_700)
    usage._initial_prompt_token_count = 800
    found = read_usage(usage)

    assert (found.input_tokens, found.hosted_tokens) == (1_700, 900)


@pytest.mark.parametrize(
    "usage",
    [None, "many", {}, {"tokens": 5}, {"input_tokens": None}, {"prompt_tokens": "12"}, object(), [5], 5.5, print,
     RequestUsage(unmeasured_requests=1), GenerateContentResponseUsageMetadata()],
    ids=lambda usage: type(usage).__name__,
)  # fmt: skip
def test_an_unknown_shape_is_refused_with_what_is_known(usage: object) -> None:
    """It is never taken for nothing."""
    with pytest.raises(ConfigError, match=r"no count of input tokens.*OpenAI.*Anthropic.*Gemini.*LangChain.*LiteLLM"):
        read_usage(usage)


def test_the_error_does_not_quote_what_was_given() -> None:
    """A whole response given by mistake may be long, and private."""
    with pytest.raises(ConfigError) as error:
        read_usage({"choices": ["a secret"]})

    assert "'choices'" in str(error.value)
    assert "secret" not in str(error.value)


def test_the_sum_of_a_run_is_refused() -> None:
    """It says nothing of any one request."""
    with pytest.raises(ConfigError, match=r"sum of 12 requests.*report each one by itself"):
        read_usage(RunUsage(requests=12, input_tokens=90_000))


@pytest.mark.parametrize("usage", [-1, True, 2**60])
def test_a_number_that_is_no_count_is_refused(usage: Any) -> None:
    """Value and option are named."""
    with pytest.raises(ConfigError, match="`input_tokens` must be a number of tokens"):
        read_usage(usage)


def test_a_proxy_that_leaves_the_cache_out_is_refused() -> None:
    """A prompt smaller than what was cached of it is no prompt."""
    with pytest.raises(ConfigError, match="`cached_tokens` 4096 are more than `input_tokens` 104"):
        read_usage({"prompt_tokens": 104, "prompt_tokens_details": {"cached_tokens": 4_096}})


def test_recorded_json_may_have_floats() -> None:
    """3.0 is 3; half a token is nothing."""
    assert reported_usage({"prompt_tokens": 3.0}) == ReportedUsage(input_tokens=3)
    assert reported_usage({"prompt_tokens": 3.5}) is None


@pytest.mark.parametrize(
    ("counted", "total"),
    [
        ({"prompt_tokens": 1_000, "input_tokens": 1_000}, 1_000),
        ({"prompt_tokens": 1_000, "input_tokens": 100}, 1_000),
        ({"prompt_tokens": 100, "input_tokens": 100}, 1_000),
        ({"prompt_tokens": 0, "input_tokens": 100}, 1_000),
    ],
)
def test_a_gateway_that_fills_in_two_families_is_read_once(counted: dict[str, int], total: int) -> None:
    """What was cached is counted once, whichever of the names leaves it out."""
    found = read_usage({**counted, "completion_tokens": 5, "cache_read_input_tokens": 900})
    assert (found.input_tokens, found.cached_tokens) == (total, 900)
