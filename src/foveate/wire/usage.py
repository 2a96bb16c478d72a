"""Reported usage: what the usage objects of providers and frameworks mean, told apart by the names of their fields.

| usage of | input tokens | what is cached of them |
|---|---|---|
| OpenAI chat completions, LiteLLM, DeepSeek | `prompt_tokens` | included |
| OpenAI Responses | `input_tokens`, with `input_tokens_details` | included |
| Anthropic | `input_tokens` | left out: reads and writes are added |
| Gemini | `prompt_token_count`, plus `tool_use_prompt_token_count` | included |
| pydantic-ai | `input_tokens`, with `cache_read_tokens` | included |
| LangChain | `input_tokens`, with `input_token_details` | included |

No framework is imported: objects are read by attribute and dicts by key. Fields not named here, such as costs, are
ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from foveate.errors import ConfigError

# More tokens than anybody will ever send.
_MOST_TOKENS: Final = 2**53
_KNOWN: Final = (
    "OpenAI (`prompt_tokens`, or `input_tokens` with `input_tokens_details`), Anthropic (`input_tokens` with "
    "`cache_read_input_tokens`), Gemini (`prompt_token_count`), pydantic-ai (`input_tokens` with `cache_read_tokens`), "
    "LangChain (`input_tokens` with `input_token_details`), LiteLLM (`prompt_tokens`)"
)
# Counts that show that tools of the provider put something into the request.
_HOSTED: Final = ("web_search_requests", "web_fetch_requests", "tool_use_prompt_tokens")

# Anthropic's counts of what was written to the cache, by how long it stays there; LangChain passes them on.
_LIFETIMES: Final = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedUsage:
    """What a provider counted for one request: `input_tokens` are all of its input, cached or not.

    `cached_tokens` were read from the cache and are among them; None is unknown. `hosted_tokens` are among them too,
    but were not sent: the provider's own tools, such as a web search, put them in. Of the `written_tokens` that it put
    into its cache, `written_hour_tokens` stay there for an hour.
    """

    input_tokens: int
    cached_tokens: int | None = None
    written_tokens: int | None = None
    written_hour_tokens: int | None = None
    output_tokens: int | None = None
    hosted_tokens: int = 0


def read_usage(usage: object) -> ReportedUsage:
    """What a usage object, a dict of one, or a plain number of input tokens says; `ConfigError` if that is unknown."""
    if isinstance(usage, int):
        return checked_usage(ReportedUsage(input_tokens=usage))
    if (requests := _count(usage, "requests")) is not None and requests > 1:
        raise ConfigError(
            f"`usage` is the sum of {requests} requests, {_named(usage)}; report each one by itself, such "
            "as `report_usage(response.usage, call=view.number)`"
        )
    found = reported_usage(usage)
    if found is None or _count(usage, "unmeasured_requests"):
        raise ConfigError(
            f"`usage` has no count of input tokens that is known here, it is {_named(usage)}; give `response.usage` or "
            f"`response.usage_metadata` as it is, an object or a dict, of {_KNOWN}; or plain numbers, `input_tokens` "
            "being all that the provider counted as input, cached or not"
        )
    return checked_usage(found)


def reported_usage(usage: object) -> ReportedUsage | None:
    """The counts of a usage object or a dict of one; None where no count of input tokens is known."""
    found = [one for one in (_prompt_usage(usage), _input_usage(usage), _gemini_usage(usage)) if one is not None]
    # Proxies that fill in the names of several providers leave 0 in those that they do not know, or put the count of
    # one provider under the name of another: then less was sent than was cached of it.
    whole = (one for one in found if one.input_tokens and (one.cached_tokens or 0) <= one.input_tokens)
    return next(whole, next((one for one in found if one.input_tokens), found[0] if found else None))


def checked_usage(usage: ReportedUsage) -> ReportedUsage:
    """The usage, if its counts are possible."""
    for name, value in (("input_tokens", usage.input_tokens), ("cached_tokens", usage.cached_tokens)):
        if value is not None and not _is_count(value):
            raise ConfigError(f"`{name}` must be a number of tokens, 0 or more, got {value!r}")
    if usage.cached_tokens is not None and usage.cached_tokens > usage.input_tokens:
        raise ConfigError(
            f"`cached_tokens` {usage.cached_tokens} are more than `input_tokens` {usage.input_tokens}, which are all "
            "that the provider counted as input, cached or not (Anthropic's own `input_tokens` leave out what was "
            "read from or written to its cache); pass the usage object itself, `report_usage(response.usage)`, or the "
            "sum"
        )
    return usage


def _prompt_usage(usage: object) -> ReportedUsage | None:
    """OpenAI's chat completions, and the many that speak like them: the prompt is all of it."""
    total = _count(usage, "prompt_tokens")
    if total is None:
        return None
    details = _field(usage, "prompt_tokens_details")
    cached = _first_count(details, "cached_tokens")
    written = _first_count(details, "cache_write_tokens", "cache_creation_tokens")
    if cached is None:
        # As LiteLLM passes on Anthropic's, and as DeepSeek names it.
        cached = _first_count(usage, "cache_read_input_tokens", "cache_read_tokens", "prompt_cache_hit_tokens")
    if written is None:
        written = _first_count(usage, "cache_creation_input_tokens", "cache_write_tokens")
    return ReportedUsage(
        input_tokens=total,
        cached_tokens=cached,
        written_tokens=written,
        written_hour_tokens=_hour_count(written, _field(details, "cache_creation_token_details")),
        output_tokens=_first_count(usage, "completion_tokens", "output_tokens"),
        hosted_tokens=_unknown_share(usage, total),
    )


def _input_usage(usage: object) -> ReportedUsage | None:
    """Those with `input_tokens`: which of them are meant shows in the names of what was cached."""
    total, output = _count(usage, "input_tokens"), _first_count(usage, "output_tokens", "completion_tokens")
    if total is None:
        return None
    lifetimes: object = None
    responses, langchain = _field(usage, "input_tokens_details"), _field(usage, "input_token_details")
    if responses is not None:
        cached, written = _count(responses, "cached_tokens"), _count(responses, "cache_write_tokens")
    elif langchain is not None:
        lifetimes = langchain
        cached, written = _count(langchain, "cache_read"), _written_count(langchain, "cache_creation", langchain)
    elif (anthropic := _anthropic_caches(usage)) is not None:
        cached, written = anthropic
        lifetimes = _field(usage, "cache_creation")
        total += (cached or 0) + (written or 0)
    else:
        cached, written = _set_count(usage, "cache_read_tokens"), _set_count(usage, "cache_write_tokens")
    return ReportedUsage(
        input_tokens=total,
        cached_tokens=cached,
        written_tokens=written,
        written_hour_tokens=_hour_count(written, lifetimes),
        output_tokens=output,
        hosted_tokens=_unknown_share(usage, total),
    )


def _anthropic_caches(usage: object) -> tuple[int | None, int | None] | None:
    read = _count(usage, "cache_read_input_tokens")
    written = _written_count(usage, "cache_creation_input_tokens", _field(usage, "cache_creation"))
    return None if read is None and written is None else (read, written)


def _written_count(usage: object, name: str, lifetimes: object) -> int | None:
    """What was written to the cache: as one count, else as the sum of those for each lifetime."""
    return _first_sum((_count(usage, name),), [_count(lifetimes, one) for one in _LIFETIMES])


def _hour_count(written: int | None, lifetimes: object) -> int | None:
    """What of it stays for an hour; None if that was not told of all that was written."""
    minutes, hour = (_count(lifetimes, one) for one in _LIFETIMES)
    return min(hour or 0, written) if written and (minutes or 0) + (hour or 0) >= written else None


def _gemini_usage(usage: object) -> ReportedUsage | None:
    total = _first_count(usage, "prompt_token_count", "promptTokenCount")
    if total is None:
        return None
    tools = _first_count(usage, "tool_use_prompt_token_count", "toolUsePromptTokenCount") or 0
    # The SDK adds up the requests of an answer that it had to go on with; only the first is the one that was sent.
    first = _count(usage, "initial_prompt_token_count")
    hosted = tools + (total - first if first is not None and first < total else 0)
    return ReportedUsage(
        input_tokens=total + tools,
        cached_tokens=_first_count(usage, "cached_content_token_count", "cachedContentTokenCount"),
        # What the model thought is paid for as output, but is not among its candidates.
        output_tokens=_first_sum(
            (
                _first_count(usage, "candidates_token_count", "candidatesTokenCount"),
                _first_count(usage, "thoughts_token_count", "thoughtsTokenCount"),
            )
        ),
        hosted_tokens=hosted,
    )


def _unknown_share(usage: object, total: int) -> int:
    """Where a provider's own tools ran, nobody says how much of the input was theirs: all of it may be."""
    # Anthropic's own, and where pydantic-ai puts it for each provider.
    ran = any(_first_count(_field(usage, name), *_HOSTED) for name in ("server_tool_use", "details"))
    return total if ran else 0


def _first_count(usage: object, *names: str) -> int | None:
    """The first of these counts that is not 0, else 0 if one was set."""
    return _first_sum(*((_count(usage, name),) for name in names))


def _first_sum(*groups: Iterable[int | None]) -> int | None:
    """The sum of the first group of counts that is not 0, else 0 if one count was set."""
    sums = [sum(counts) for group in groups if (counts := [one for one in group if one is not None])]
    return next(filter(None, sums), sums[0] if sums else None)


def _set_count(usage: object, name: str) -> int | None:
    """A count that was set: the objects of pydantic-ai read 0 by default where the provider said nothing."""
    return _count(usage, name) if isinstance(usage, Mapping) or name in getattr(usage, "__dict__", {}) else None


def _count(usage: object, name: str) -> int | None:
    value = _field(usage, name)
    # Recorded JSON may have 3.0 for 3.
    count = int(value) if isinstance(value, float) and value.is_integer() else value
    return int(count) if _is_count(count) else None


def _field(usage: object, name: str) -> Any:
    return usage.get(name) if isinstance(usage, Mapping) else getattr(usage, name, None)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS


def _named(usage: object) -> str:
    """What a value is, without what it holds: that may be long, and nobody's business in a log of errors."""
    if isinstance(usage, Mapping):
        return f"a dict with {', '.join(repr(name) for name in list(usage)[:12]) or 'nothing in it'}"
    return "None" if usage is None else f"a {type(usage).__module__}.{type(usage).__qualname__}"
