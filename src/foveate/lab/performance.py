"""Performances: one recorded session under every policy, calibrated by the usage that was recorded with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from foveate.budget.accounting import framing_tokens
from foveate.budget.profiles import ModelProfile
from foveate.budget.tokens import counter_for
from foveate.importers.entries import Usage
from foveate.lab.cache import Scale, finding_of
from foveate.lab.calibration import calibrated, warm_start
from foveate.lab.contestants import Contestant, Opening
from foveate.lab.lanes import Runner, Terms
from foveate.lab.result import Calibration, RecordedUsage, SessionResult
from foveate.lab.script import Script, profile_of
from foveate.lab.sizes import Sizes
from foveate.lab.walk import moments

_RESERVED_OUTPUT: Final = 16_000
# Anthropic's price of a write that stays for an hour.
_HOUR: Final = 3_600
_HOUR_WRITE: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What sessions are replayed with; `profile` None takes that of each session's recorded model."""

    contestants: tuple[Contestant, ...]
    profile: ModelProfile | None = None
    budget: int | None = None

    def profile_for(self, script: Script) -> ModelProfile | None:
        """Whose prices and rules a session is charged by; None if nobody knows."""
        return self.profile or profile_of(script)


def performed(script: Script, setting: Setting) -> SessionResult:
    """A session under every policy of a setting."""
    recorded = profile_of(script)
    profile = setting.profile_for(script) or ModelProfile(name="")
    same = recorded is None or recorded.provider == profile.provider
    # How long one provider keeps a prefix says nothing about another's cache.
    profile = _as_recorded(profile, script.ttl) if same else profile
    sizes = Sizes(counter_for(profile.name))
    sizes.prepare([{"role": "system", "content": script.system}, *script.chats])
    opening = _opening(script, sizes, profile)
    calibration = calibrated(script, opening, _as_recorded(recorded or profile, script.ttl))
    terms = _terms(script, opening, profile, calibration, same=same)
    opening = replace(opening, budget=setting.budget or _window(profile, terms.scale, opening.reserved))
    runners = {one.name: Runner(one, opening, terms, script.chats) for one in setting.contestants}
    for moment in moments(script, opening):
        for runner in runners.values():
            runner.take(moment)
    return SessionResult(
        name=script.name,
        source=script.source,
        format=script.format,
        model=script.model,
        priced_as=profile.name,
        limit=terms.scale.of(opening.room) if opening.room is not None else None,
        messages=script.recorded_messages,
        calls=len(script.calls),
        times=tuple(call.at for call in script.calls),
        usage=_usage(script, _as_recorded(recorded, script.ttl) if recorded is not None else None),
        calibration=calibration,
        lanes={name: runner.lane() for name, runner in runners.items()},
    )


def _terms(script: Script, opening: Opening, profile: ModelProfile, calibration: Calibration, *, same: bool) -> Terms:
    # What the log shows of tools is in the calibrated overhead already.
    overhead = calibration.overhead if calibration.calls else opening.reserved
    # Another provider counts with another tokenizer, so the learned ratio is not its own.
    ratio = calibration.ratio if same else 1.0
    overhead = overhead if same else round(overhead / calibration.ratio)
    return Terms(
        rules=profile.cache,
        price=1.0 if profile.input_price is None else profile.input_price / 1_000_000,
        scale=Scale(overhead=overhead, ratio=ratio),
        keeps_ttl=same,
        finding=finding_of(profile),
        warm=min(warm_start(script), overhead),
    )


def _opening(script: Script, sizes: Sizes, profile: ModelProfile) -> Opening:
    reserved = framing_tokens(sizes.counter, system=None, tools=script.tools, response_format=None)
    return Opening(
        system=script.system,
        tools=script.tools,
        reserved=reserved,
        sizes=sizes,
        profile=profile,
        compactions=script.compactions,
    )


def _as_recorded(profile: ModelProfile, ttl: int | None) -> ModelProfile:
    """A profile with the time that the recorded agent had its prefixes kept for."""
    if ttl is None:
        return profile
    is_dear = ttl >= _HOUR and profile.cache.breakpoints > 0
    write = _HOUR_WRITE if is_dear else profile.cache.write
    return replace(profile, cache=replace(profile.cache, ttl_seconds=ttl, write=write))


def _window(profile: ModelProfile, scale: Scale, reserved: int) -> int | None:
    """What the model's window leaves for what the log shows, by our count."""
    if profile.window is None:
        return None
    room = profile.window - min(_RESERVED_OUTPUT, profile.window // 4) - scale.overhead
    return max(1, reserved + int(room / scale.ratio))


def _usage(script: Script, profile: ModelProfile | None) -> RecordedUsage | None:
    used = [call.usage for call in script.calls]
    known = [usage for usage in used if usage is not None]
    if not known:
        return None
    return RecordedUsage(
        calls=len(known),
        input_tokens=sum(usage.input_tokens for usage in known),
        cached_tokens=sum(usage.cached_tokens or 0 for usage in known),
        output_tokens=sum(usage.output_tokens or 0 for usage in known),
        input_cost=_input_cost(known, profile),
        output_cost=_output_cost(known, profile),
        inputs=tuple(usage.input_tokens if usage is not None else None for usage in used),
        cached=tuple(usage.cached_tokens if usage is not None else None for usage in used),
    )


def _input_cost(used: Sequence[Usage], profile: ModelProfile | None) -> float | None:
    if profile is None or profile.input_price is None:
        return None
    cache = profile.cache
    weighed = 0.0
    for usage in used:
        cached, written = usage.cached_tokens or 0, usage.written_tokens or 0
        plain = max(0, usage.input_tokens - cached - written)
        weighed += cached * cache.read + written * cache.write + plain
    return weighed * profile.input_price / 1_000_000


def _output_cost(used: Sequence[Usage], profile: ModelProfile | None) -> float | None:
    if profile is None or profile.output_price is None:
        return None
    return sum(usage.output_tokens or 0 for usage in used) * profile.output_price / 1_000_000
