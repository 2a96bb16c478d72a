"""What a real model's prompt cache says about our predictions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bench.local_model import LocalModel, start
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import foveate
from foveate.integrations.pydantic_ai import PydanticAISummarizer


@pytest.fixture(scope="module")
def model() -> Iterator[LocalModel]:
    """One server for all tests of this file."""
    yield start()


def _say(session: foveate.Session, step: int) -> None:
    words = " ".join(f"item{step}x{number} costs {number * 7} cents." for number in range(6))
    session.append({"role": "user", "content": f"Note {step}: {words} Reply with OK."})


def test_the_model_finds_in_its_cache_what_was_predicted(model: LocalModel) -> None:
    """Without a reduction nearly all of the previous request is reused; a reduction keeps the frozen beginning."""
    session = foveate.Session(budget=700, system="You answer with one word.", policy="patient")
    plain, reduced = [], []
    for step in range(9):
        _say(session, step)
        view = session.compile()
        reply = model.chat(view.to("openai"), most=2)
        usage = reply["usage"]
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        session.report_usage(usage["prompt_tokens"], cached)
        if step:
            (reduced if view.decision else plain).append((cached, usage["prompt_tokens"], view.tokens))
        session.append({"role": "assistant", "content": reply["choices"][0]["message"]["content"] or "OK"})
    assert plain, "no call without a reduction"
    assert reduced, "no call with a reduction"
    # All but the newest exchange, and the few tokens that the chat template puts behind it, come from the cache.
    assert all(cached > 0.5 * total for cached, total, _ in plain), plain
    assert all(abs(counted - total) < 0.45 * total for _, total, counted in plain), plain


async def test_a_real_model_writes_a_summary_or_the_call_goes_on_without(model: LocalModel) -> None:
    """Whatever a small model makes of it, the call goes out, and the log says which of the two happened."""
    async with AsyncOpenAI(base_url=f"{model.address}/v1", api_key="none") as client:
        local = OpenAIChatModel("local", provider=OpenAIProvider(openai_client=client))
        session = foveate.Session(budget=500, summarizer=PydanticAISummarizer(model=local), policy="patient")
        for step in range(10):
            _say(session, step)
            view = await session.acompile(timeout=120)
            assert view.budget is not None
            assert view.budget.used <= 500
            session.append({"role": "assistant", "content": "OK"})
    kinds = [type(event.body).__name__ for event in session.events]
    failed = [event.body.text for event in session.events if getattr(event.body, "code", "") == "summary_failed"]
    assert "SummaryRecorded" in kinds or failed, kinds
