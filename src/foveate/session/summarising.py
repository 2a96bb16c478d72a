"""Summarising: asking a summarizer, and living with whatever comes of it."""

from __future__ import annotations

from foveate.budget.tokens import TokenCounter
from foveate.compiler.summaries import Summarizer, SummaryRequest, refused
from foveate.log.events import Body, SummaryRecorded
from foveate.log.text import encodable
from foveate.session.records import summary_failed


async def summarised(summarizer: Summarizer, request: SummaryRequest, timeout: float, counter: TokenCounter) -> Body:
    """The summary that a summarizer wrote, or the diagnostic that says why there is none."""
    # Only who has a summarizer pays for the event loop's import.
    import asyncio  # noqa: PLC0415

    try:
        text = encodable(str(await asyncio.wait_for(summarizer.summarise(request), timeout) or ""))
    except TimeoutError:
        return summary_failed(f"{summarizer.name} gave no summary within {timeout:g} s", request)
    except Exception as error:  # noqa: BLE001  a summary that fails must not cost the call
        return summary_failed(f"{summarizer.name} failed: {error!r}", request)
    tokens = counter.count(text)
    problem = refused(text, tokens, request)
    if problem is not None:
        return summary_failed(f"{summarizer.name}: {problem}", request)
    return SummaryRecorded(text=text, through=request.through, summarizer=summarizer.name, tokens=tokens)
