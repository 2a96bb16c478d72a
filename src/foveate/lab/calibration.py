"""Comparison of our token counts and our simulated cache with what the provider reported.

The recorded agent's own requests are simulated on the scale that its reports give (`foveate.inspect.calibration`), and
put beside the usage that was recorded for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from foveate.inspect import calibration as reports
from foveate.inspect.costs import warm_start
from foveate.inspect.rates import Rates
from foveate.lab.baselines import baseline
from foveate.lab.cache import Charge, PromptCache, last_marks
from foveate.lab.causes import Compared, cause_of, is_silent
from foveate.lab.chat import Chat
from foveate.lab.contestants import Opening, Step
from foveate.lab.result import Calibration
from foveate.lab.script import Script


def compared_with_reports(
    script: Script, opening: Opening, rates: Rates, calibration: reports.Calibration
) -> Calibration:
    """How a session's recorded usage compares with what we would have expected."""
    known = [call for call in script.calls if call.usage is not None and call.usage.input_tokens > 0]
    if not known:
        return Calibration()
    compared = list(_compared(script, opening, rates, calibration))
    recorded, simulated = _shares(compared)
    return Calibration(
        overhead=calibration.scale.overhead,
        ratio=round(calibration.scale.ratio, 4),
        calls=len(known),
        input_error=_input_error(compared),
        recorded_share=recorded,
        simulated_share=simulated,
        cause=cause_of(compared, recorded, simulated),
    )


def _recorded_requests(script: Script, opening: Opening) -> Iterator[list[Chat]]:
    """The requests of the recorded agent, as far as the log shows them."""
    agent = baseline("recorded")
    if agent is None:
        raise AssertionError("the baseline `recorded` is one of ours")
    feed = agent.start(opening)
    done = 0
    for call in script.calls:
        step = Step(chats=script.chats[done : call.place], messages=script.messages[done : call.place], at=call.at)
        yield feed(step).chats
        done = call.place


def _compared(script: Script, opening: Opening, rates: Rates, calibration: reports.Calibration) -> Iterator[Compared]:
    """What the simulated cache would have charged the recorded agent, beside what it was charged."""
    scales = [replace(scale, base=opening.reserved) for scale in calibration.scales]
    cache = PromptCache(rates.profile().cache, opening.sizes.of, scale=scales[0], warm=warm_start(script.calls))
    requests = list(_recorded_requests(script, opening))
    for stretch, scale in zip(calibration.stretches, scales, strict=True):
        cache.rescale(scale)
        for place in stretch:
            call = script.calls[place]
            usage, request = call.usage, call.request
            if request is not None:
                # Recorded as it was sent, with what was expected in the cache.
                cached = calibration.scale.of(request.predicted_cached) if request.predicted_cached else 0
                charge = Charge(request.tokens, calibration.scale.of(request.tokens), cached, 0, 0, None)
            else:
                charge = cache.send(
                    requests[place],
                    at=call.at,
                    model=call.model,
                    ttl=usage.ttl_seconds if usage is not None else None,
                    marks=last_marks(requests[place]),
                    profile=rates.profile(call.model),
                )
            if usage is not None and usage.input_tokens > 0:
                yield Compared(
                    input_tokens=usage.input_tokens,
                    cached_tokens=usage.cached_tokens,
                    charge=charge,
                    rewrote=place == stretch.start and place > 0,
                    first=place == 0,
                )


def _shares(compared: Sequence[Compared]) -> tuple[float | None, float | None]:
    told = [one for one in compared if one.cached_tokens is not None]
    if not told or is_silent(told):
        return None, None
    return (
        sum(one.cached_tokens or 0 for one in told) / sum(one.input_tokens for one in told),
        sum(one.charge.cached for one in told) / max(1, sum(one.charge.tokens for one in told)),
    )


def _input_error(compared: Sequence[Compared]) -> float:
    return round(median(abs(one.charge.tokens - one.input_tokens) / one.input_tokens for one in compared), 4)
