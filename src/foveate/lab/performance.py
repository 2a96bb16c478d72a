"""Performances: one recorded session under every policy, calibrated by the usage that was recorded with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from foveate.budget.accounting import framing_tokens
from foveate.budget.profiles import ModelProfile
from foveate.budget.tokens import counter_for
from foveate.inspect.costs import (
    SessionCosts,
    calibrate_calls,
    count_calls,
    sent_costs,
    session_costs,
    untouched_costs,
    warm_start,
)
from foveate.inspect.prompt_cache import Scale
from foveate.inspect.rates import Rates, RequestCost, model_profile
from foveate.lab.calibration import compared_with_reports
from foveate.lab.contestants import Contestant, Opening
from foveate.lab.lanes import Runner, Terms
from foveate.lab.result import Calibration, RecordedUsage, SessionResult
from foveate.lab.script import Script
from foveate.lab.sizes import Sizes
from foveate.lab.walk import moments

_RESERVED_OUTPUT: Final = 16_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What sessions are replayed with; `profile` None takes that of each session's recorded model."""

    contestants: tuple[Contestant, ...]
    profile: ModelProfile | None = None
    budget: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What every policy finds in a session: its opening, the terms of its requests, what the session itself cost."""

    opening: Opening
    terms: Terms
    calibration: Calibration
    costs: SessionCosts
    # Under the terms, for each call.
    untouched: tuple[RequestCost, ...]
    # As it was sent, as far as the log tells.
    sent: tuple[RequestCost | None, ...]


def staged(script: Script, *, profile: ModelProfile | None = None, budget: int | None = None) -> Stage:
    """The stage of a session; without a profile or a budget, those of its recorded model."""
    recorded = Rates.of_calls(script.calls, None if model_profile(script.model) is not None else profile)
    rates = Rates.of_calls(script.calls, profile)
    opening = _opening(script, rates.profile())
    sizes = opening.sizes
    counted = count_calls(
        script.calls,
        [sizes.of(chat) for chat in script.chats],
        [(place, sizes.of({"role": "user", "content": text})) for place, text in script.compactions],
        framing=opening.reserved + sizes.total(opening.head()),
    )
    calibration = calibrate_calls(counted)
    # Another provider counts with another tokenizer, so the learned ratio is not its own.
    learned = calibration.scale
    scale = learned if rates.is_same_provider else Scale(overhead=round(learned.overhead / learned.ratio))
    terms = Terms(
        rates=rates,
        is_priced=rates.is_priced(call.model for call in script.calls),
        scale=replace(scale, base=opening.reserved),
        warm=min(warm_start(script.calls), scale.of(opening.reserved + sizes.total(opening.head()))),
    )
    return Stage(
        opening=replace(opening, budget=budget or _window(rates.profile(), scale)),
        terms=terms,
        calibration=compared_with_reports(script, opening, recorded, calibration),
        costs=session_costs(counted),
        untouched=tuple(untouched_costs(counted, rates, scale, is_priced=terms.is_priced)),
        sent=tuple(sent_costs(counted, rates, scale, is_priced=terms.is_priced)),
    )


def performed(script: Script, setting: Setting) -> SessionResult:
    """A session under every policy of a setting."""
    stage = staged(script, profile=setting.profile, budget=setting.budget)
    opening, terms = stage.opening, stage.terms
    runners = {one.name: Runner(one, opening, terms, script.chats, sent=stage.sent) for one in setting.contestants}
    for moment in moments(script, opening):
        for runner in runners.values():
            runner.take(moment)
    return SessionResult(
        name=script.name,
        source=script.source,
        format=script.format,
        model=script.model,
        priced_as=terms.rates.profile().name,
        limit=terms.scale.of(opening.room) if opening.room is not None else None,
        messages=script.recorded_messages,
        calls=len(script.calls),
        times=tuple(call.at for call in script.calls),
        usage=_usage(script, stage.costs),
        costs=stage.costs,
        calibration=stage.calibration,
        lanes={name: runner.lane() for name, runner in runners.items()},
    )


def _opening(script: Script, profile: ModelProfile) -> Opening:
    sizes = Sizes(counter_for(profile.name))
    sizes.prepare([{"role": "system", "content": script.system}, *script.chats])
    sizes.know(script.chats, script.messages)
    return Opening(
        system=script.system,
        tools=script.tools,
        reserved=framing_tokens(sizes.counter, system=None, tools=script.tools, response_format=None),
        sizes=sizes,
        profile=profile,
        compactions=script.compactions,
    )


def _window(profile: ModelProfile, scale: Scale) -> int | None:
    """What the model's window leaves for what the log shows, by our count."""
    if profile.window is None:
        return None
    room = profile.window - min(_RESERVED_OUTPUT, profile.window // 4) - scale.overhead
    return max(1, int(room / scale.ratio))


def _usage(script: Script, costs: SessionCosts) -> RecordedUsage | None:
    """What the provider reported of a session, and its costs where prices are known."""
    used = [call.usage for call in script.calls]
    known = [usage for usage in used if usage is not None]
    if not known:
        return None
    reported = RequestCost.total(call.sent for call in costs.calls if call.is_reported and call.sent is not None)
    return RecordedUsage(
        calls=len(known),
        input_tokens=sum(usage.input_tokens for usage in known),
        cached_tokens=sum(usage.cached_tokens or 0 for usage in known),
        output_tokens=sum(usage.output_tokens or 0 for usage in known),
        input_cost=reported.cost if costs.unit == "USD" else None,
        output_cost=_output_cost(script),
        inputs=tuple(usage.input_tokens if usage is not None else None for usage in used),
        cached=tuple(usage.cached_tokens if usage is not None else None for usage in used),
    )


def _output_cost(script: Script) -> float | None:
    rates = Rates.of_calls(script.calls)
    total = 0.0
    for call in script.calls:
        price = rates.profile(call.model).output_price
        if price is None:
            return None
        total += price / 1_000_000 * ((call.usage.output_tokens or 0) if call.usage is not None else 0)
    return total
