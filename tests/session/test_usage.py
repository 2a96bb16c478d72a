"""Reported usage: what providers count, with the real classes, and what it does to later requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from anthropic.types import Usage as AnthropicUsage
from openai.types import CompletionUsage
from pydantic_ai.usage import RequestUsage
from tests.dialogue import reading, says, session_of, user

from foveate import CompiledContext, ConfigError, Session, TokenBudget, UnknownReferenceError
from foveate.log.events import DiagnosticRecorded, UsageReported
from foveate.sample import coding_session, tools
from foveate.session.session import Session as SessionClass

Report = Callable[[CompiledContext, int], object]


def odd(session: Session) -> list[DiagnosticRecorded]:
    """The diagnostics about usage."""
    bodies = (event.body for event in session.events)
    return [body for body in bodies if isinstance(body, DiagnosticRecorded) and body.phase == "usage"]


def counted_by_provider(
    report: Report, ratio: float, calls: int = 200, budget: int = 8_000, hidden: int = 0
) -> tuple[list[int], Session]:
    """The provider's own count of each request of a session, whose usage is reported after each."""
    session, sizes = Session(budget=budget, tools=tools()), []
    for message in coding_session():
        if message["role"] == "assistant":
            view = session.compile()
            sizes.append(hidden - -int(view.tokens * ratio * 1_000) // 1_000)
            session.report_usage(report(view, sizes[-1]))
            if len(sizes) == calls:
                break
        session.append(message)
    return sizes, session


def anthropic_usage(view: CompiledContext, counted: int) -> AnthropicUsage:
    """As Anthropic counts a request with cache marks: apart what was read, what was written, and the rest."""
    read = min(view.predicted_cached, counted)
    fresh = min(12, counted - read)
    return AnthropicUsage(
        input_tokens=fresh,
        cache_read_input_tokens=read,
        cache_creation_input_tokens=counted - read - fresh,
        output_tokens=9,
    )


def test_anthropics_usage_over_200_calls_keeps_every_request_in_the_budget() -> None:
    """What was read from or written to the cache is input like the rest."""
    sizes, session = counted_by_provider(anthropic_usage, 1.0)

    assert len(sizes) == 200
    assert max(sizes) <= 8_000
    assert odd(session) == []


@pytest.mark.parametrize("ratio", [0.5, 0.75, 0.9, 1.1, 1.3, 1.6, 2.0])
def test_whatever_a_tokenizer_counts_no_request_exceeds_the_budget_by_it(ratio: float) -> None:
    """Once the first report is in, over 200 calls; and where it counts less, nothing grows beyond our own count."""
    sizes, session = counted_by_provider(lambda _, counted: CompletionUsage.model_validate(chat(counted)), ratio)

    assert len(sizes) == 200
    assert max(sizes[1:]) <= 8_000
    assert max(session.call(number).tokens for number in (50, 120, 200)) <= 8_000


@pytest.mark.parametrize("hidden", [346, 2_000, 5_000])
@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.3, 2.0])
def test_whatever_a_provider_adds_no_request_exceeds_the_budget_by_it(ratio: float, hidden: int) -> None:
    """Over 200 calls, none of which is refused; what it adds is no tokenizer's, so the room for the rest is used."""
    sizes, session = counted_by_provider(lambda _, counted: counted, ratio, hidden=hidden)

    assert len(sizes) == 200
    assert max(sizes[1:]) <= 8_000
    assert max(sizes) >= min(7_900, 7_900 * ratio + hidden)
    assert odd(session) == []


@pytest.mark.parametrize("hidden", [0, 346, 450, 2_000, 5_000])
@pytest.mark.parametrize("ratio", [1.0, 1.3, 2.0])
@pytest.mark.parametrize("first", [20, 118, 900])
def test_an_input_that_fits_by_the_providers_count_is_never_refused(first: int, ratio: float, hidden: int) -> None:
    """After a single report, which does not tell what a provider adds from what it counts."""
    session = Session(budget=8_000)
    session.append(user("word " * first))
    before = session.compile().tokens
    session.report_usage(int(before * ratio) + hidden)
    size = int((8_000 - hidden) / ratio) - before - 50
    if size > 0:
        session.extend([{"role": "assistant", "content": "ok"}, user("word " * size)])

        assert session.compile().tokens >= size


@pytest.mark.parametrize("hidden", [0, 1_000, 5_000])
@pytest.mark.parametrize("ratio", [0.5, 0.75])
def test_an_input_is_not_refused_by_a_provider_that_counts_less(ratio: float, hidden: int) -> None:
    """Once requests of two sizes were reported, inputs within a twentieth of the budget are sent."""
    session = Session(budget=8_000)
    for size in (500, 700):
        session.append(user("word " * size))
        session.report_usage(int(session.compile().tokens * ratio) + hidden)
        session.append({"role": "assistant", "content": "ok"})
    size = min(7_600, int((7_600 - hidden) / ratio))
    session.append(user("word " * size))

    assert size <= session.compile().tokens <= 8_000


def test_what_is_far_above_our_count_is_learned_or_said() -> None:
    """Six times of it may be what the provider adds; a report beyond that corrects nothing, and a diagnostic says so."""
    for factor, is_learned in ((5.9, True), (7.5, True), (12, False)):
        session = Session(budget=16_000)
        session.append(user("word " * 1_000))
        tokens = session.compile().tokens
        session.report_usage(int(tokens * factor))
        session.extend([{"role": "assistant", "content": "ok"}, user("word " * 10)])
        view = session.compile()

        assert view.budget is not None
        assert (view.budget.used > view.tokens) == is_learned, factor
        assert [body.code for body in odd(session)] == ([] if is_learned else ["usage_implausible"])


def chat(counted: int) -> dict[str, int]:
    """As OpenAI says it."""
    return {"prompt_tokens": counted, "completion_tokens": 5, "total_tokens": counted + 5}


def test_even_numbers_that_leave_the_cache_out_carry_nothing_over_the_budget() -> None:
    """Anthropic's bare `input_tokens`: nothing is corrected by them, and a diagnostic names the remedy, once."""
    sizes, session = counted_by_provider(lambda view, counted: anthropic_usage(view, counted).input_tokens, 1.0)

    assert max(sizes) <= 8_000
    (said,) = odd(session)
    assert said.code == "usage_implausible"
    assert "report_usage(response.usage)" in said.text


def test_the_usage_object_is_recorded_as_what_was_sent() -> None:
    """All input tokens, those cached among them."""
    session = session_of([user("go"), *reading(5)], budget=16_000)
    tokens = session.compile().tokens
    session.report_usage(AnthropicUsage(input_tokens=10, cache_read_input_tokens=tokens, output_tokens=1))

    assert session.events[-1].body == UsageReported(call=1, input_tokens=tokens + 10, cached_tokens=tokens)


def test_more_cached_than_sent_is_refused_with_the_remedy() -> None:
    """Plain numbers have one meaning: all input, and what of it was cached."""
    session = session_of([user("go"), *reading(5)])
    session.compile()

    with pytest.raises(ConfigError, match=r"`cached_tokens` 4000 are more than `input_tokens` 12.*report_usage\(resp"):
        session.report_usage(12, 4_000)
    assert not any(isinstance(event.body, UsageReported) for event in session.events)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"usage": {"input_tokens": 5}, "cached_tokens": 3}, "`cached_tokens` stand in the usage object already"),
        ({"usage": 5, "input_tokens": 5}, "say the same"),
        ({}, "no count of input tokens"),
    ],
)
def test_what_would_be_ambiguous_is_refused(given: dict[str, Any], problem: str) -> None:
    """One way to say it at a time."""
    session = session_of([user("go")])
    session.compile()

    with pytest.raises(ConfigError, match=problem):
        session.report_usage(**given)


def test_the_sum_of_a_run_given_as_a_number_corrects_nothing() -> None:
    """Twenty times what was sent is no tokenizer; the room stays, and a diagnostic says so."""
    session = session_of([user("go"), *reading(5)], budget=16_000)
    tokens = session.compile().tokens
    session.report_usage(tokens * 20)
    session.append(user("more"))
    view = session.compile()

    assert view.budget is not None
    assert view.budget.used == view.tokens
    assert [body.code for body in odd(session)] == ["usage_implausible"]


def test_what_a_search_of_the_provider_put_in_corrects_nothing() -> None:
    """It was paid for, but not sent."""
    session = session_of([user("go"), *reading(5)], budget=16_000)
    tokens = session.compile().tokens
    usage = {"input_tokens": tokens * 3, "output_tokens": 1, "server_tool_use": {"web_search_requests": 1}}
    session.report_usage({**usage, "cache_read_input_tokens": 0})
    session.append(user("more"))
    view = session.compile()

    assert view.budget is not None
    assert view.budget.used == view.tokens
    assert odd(session) == []


def test_what_is_reserved_for_others_is_not_taken_for_ours() -> None:
    """A provider counts the parts that the session was not given; the budget has room for them already."""
    session = session_of([user("go"), *reading(5)], budget=TokenBudget(window=20_000, reserved_system=6_000))
    tokens = session.compile().tokens
    session.report_usage(tokens + 6_000)
    session.append(user("more"))
    view = session.compile()

    assert view.budget is not None
    assert view.budget.used == view.tokens


def test_images_that_a_provider_counts_low_are_nothing_odd() -> None:
    """Some count a fifth of our count for one."""
    picture = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    session = session_of([{"role": "user", "content": [{"type": "text", "text": "See."}, *[picture] * 5]}])
    session.compile()
    session.report_usage(5 * 258 + 10)

    assert odd(session) == []


def test_several_open_calls_are_told_apart_by_their_numbers() -> None:
    """Each report is compared with its own request, in whatever order they come."""
    session = session_of([user("go"), *reading(5)], budget=16_000)
    first = session.compile()
    session.extend(reading(5, first=50))
    second = session.compile()
    session.report_usage(RequestUsage(input_tokens=second.tokens * 3 // 2), call=second.number)
    session.report_usage(RequestUsage(input_tokens=first.tokens * 3 // 2), call=first.number)
    view = session.compile()

    assert view.budget is not None
    assert view.tokens * 3 // 2 <= view.budget.used <= view.tokens * 3 // 2 + 10


@pytest.mark.parametrize("call", [0, 2, -1])
def test_a_call_that_was_not_made_is_refused(call: int) -> None:
    """The numbers that there are, are named."""
    session = session_of([user("go")])
    session.compile()

    with pytest.raises(
        UnknownReferenceError, match=r"no call .* to report usage for; the session has 1 call, the first is 1"
    ):
        session.report_usage(100, call=call)


@pytest.mark.parametrize("call", ["1", True, 1.0, [1]])
def test_what_is_no_number_of_a_call_is_refused(call: Any) -> None:
    """With the value and what to give instead; nothing is recorded, and `True` is not call 1."""
    session = session_of([user("go")])
    session.compile()
    before = session.events

    with pytest.raises(
        ConfigError, match=r"`call` must be the number of a call, got .*; give `view.number`"
    ) as refused:
        session.report_usage(100, call=call)
    assert repr(call) in str(refused.value)
    assert session.events == before


def test_a_resumed_session_corrects_as_the_one_before() -> None:
    """From its events alone."""
    session = session_of([user("go"), *reading(5)], budget=16_000)
    view = session.compile()
    session.report_usage(CompletionUsage.model_validate(chat(view.tokens * 2)))
    session.append(user("more"))
    again = SessionClass.from_events(session.events, budget=16_000)
    used = session.preview().budget, again.preview().budget

    assert used[0] is not None
    assert used[0] == used[1]


@pytest.mark.parametrize("as_override", [False, True])
def test_a_request_that_may_be_over_the_budget_says_so(as_override: bool) -> None:
    """Reports of one size do not tell a ratio from an overhead: the input is sent, and the doubt is in the log."""
    session = Session(budget=8_000)
    session.append(user("word " * 2_500))
    session.report_usage({"prompt_tokens": session.compile().tokens * 18 // 10, "completion_tokens": 1})
    larger = [user("more words " * 2_500)]
    if not as_override:
        session.extend([says("ok"), *larger])
    view = session.compile(override=larger if as_override else None)

    assert view.tokens < 8_000
    said = [event.body for event in session.events if isinstance(event.body, DiagnosticRecorded)]
    assert [one.code for one in said] == ["budget_in_doubt"]
    assert "more than the 8000 of `budget`" in said[0].text
