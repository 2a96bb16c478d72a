"""Calibration: our token counts and our simulated cache beside what the provider reported.

The recorded agent's own requests are simulated and compared with the usage that was recorded for them. Two things are
learned: `overhead`, what every request holds that the log does not show, and `ratio`, the provider's tokens for each
of ours. Where the recorded input shrinks although nothing left the log, the agent rewrote its history: what is hidden
changes there, so a new stretch with an overhead of its own begins. A policy's requests are given the smallest overhead
of all stretches: the rest was history from before the log, which no policy can be judged by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import median
from typing import Final

from foveate.budget.profiles import ModelProfile
from foveate.lab.baselines import baseline
from foveate.lab.cache import PromptCache, Scale, finding_of, last_marks
from foveate.lab.causes import Compared, cause_of, is_silent
from foveate.lab.chat import Chat
from foveate.lab.contestants import Opening, Step
from foveate.lab.result import Calibration
from foveate.lab.script import ModelCall, Script

# With fewer calls, or where requests hardly grew, a slope would be noise.
_CALLS: Final = 4
_SPREAD: Final = 1.2
_LOWEST: Final = 0.5
_HIGHEST: Final = 3.0
# So many calls give 19,900 pairs; more would change the median by nothing.
_SAMPLE: Final = 200
# An input that shrinks by less is a matter of counting.
_SHRUNK: Final = 0.03


def calibrated(script: Script, opening: Opening, profile: ModelProfile) -> Calibration:
    """How a session's recorded usage compares with what we would have expected."""
    known = [call for call in script.calls if call.usage is not None and call.usage.input_tokens > 0]
    if not known:
        return Calibration()
    sent = list(_sent(script, opening))
    stretches = list(_stretches(sent))
    ratio = _ratio(stretches)
    scales = [_scale(stretch, ratio) for stretch in stretches]
    compared = list(_compared(script, opening, profile, stretches, scales))
    recorded, simulated = _shares(compared)
    stable = _stable(stretches, scales)
    return Calibration(
        overhead=stable.overhead,
        ratio=round(stable.ratio, 4),
        calls=len(known),
        input_error=_input_error(compared),
        recorded_share=recorded,
        simulated_share=simulated,
        cause=cause_of(compared, recorded, simulated),
    )


def warm_start(script: Script) -> int:
    """What the first call found in the cache: an earlier session left it there, and others keep it warm."""
    first = script.calls[0].usage if script.calls else None
    return (first.cached_tokens or 0) if first is not None else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """A request of the recorded agent: by our count, and by the provider's (0 if that is not known)."""

    request: list[Chat]
    counted: int
    call: ModelCall

    @property
    def recorded(self) -> int:
        return self.call.usage.input_tokens if self.call.usage is not None else 0


def _sent(script: Script, opening: Opening) -> Iterator[_Sent]:
    agent = baseline("recorded")
    if agent is None:
        raise AssertionError("the baseline `recorded` is one of ours")
    feed = agent.start(opening)
    done = 0
    for call in script.calls:
        step = Step(chats=script.chats[done : call.place], messages=script.messages[done : call.place], at=call.at)
        request = feed(step).chats
        yield _Sent(request=request, counted=opening.sizes.total(request), call=call)
        done = call.place


def _stretches(sent: Sequence[_Sent]) -> Iterator[list[_Sent]]:
    """Runs of calls between which the recorded agent did not rewrite its history."""
    stretch = [sent[0]]
    for before, after in pairwise(sent):
        if after.counted < before.counted or _shrank(stretch, after):
            yield stretch
            stretch = []
        stretch.append(after)
    yield stretch


def _shrank(stretch: Sequence[_Sent], after: _Sent) -> bool:
    last = next((one.recorded for one in reversed(stretch) if one.recorded), 0)
    return bool(after.recorded) and after.recorded < last * (1 - _SHRUNK)


def _ratio(stretches: Sequence[Sequence[_Sent]]) -> float:
    slopes: list[float] = []
    for stretch in stretches:
        seen = [one for one in stretch if one.recorded]
        counts = [one.counted for one in seen]
        if len(seen) < _CALLS or max(counts) < _SPREAD * min(counts):
            continue
        sample = seen[:: -(-len(seen) // _SAMPLE)]
        slopes += [
            (two.recorded - one.recorded) / (two.counted - one.counted)
            for one, two in combinations(sample, 2)
            if one.counted != two.counted
        ]
    return _bounded(median(slopes)) if slopes else 1.0


def _scale(stretch: Sequence[_Sent], ratio: float) -> Scale:
    seen = [one for one in stretch if one.recorded and one.counted]
    if not seen:
        return Scale(ratio=ratio)
    overhead = median(one.recorded - ratio * one.counted for one in seen)
    if overhead < 0:
        # Nothing hidden takes less than nothing: then each of our tokens is less of theirs.
        return Scale(ratio=_bounded(median(one.recorded / one.counted for one in seen)))
    return Scale(overhead=round(overhead), ratio=ratio)


def _stable(stretches: Sequence[Sequence[_Sent]], scales: Sequence[Scale]) -> Scale:
    """The scale with the overhead that was there all the time: the smallest of those that many calls had."""
    most = max(len(stretch) for stretch in stretches)
    long = [scale for stretch, scale in zip(stretches, scales, strict=True) if len(stretch) >= most / 4]
    return min(long, key=lambda scale: scale.overhead)


def _bounded(ratio: float) -> float:
    return min(_HIGHEST, max(_LOWEST, ratio))


def _compared(
    script: Script,
    opening: Opening,
    profile: ModelProfile,
    stretches: Sequence[Sequence[_Sent]],
    scales: Sequence[Scale],
) -> Iterator[Compared]:
    """What the simulated cache would have charged the recorded agent, beside what it was charged."""
    cache = PromptCache(
        profile.cache, opening.sizes.of, scale=scales[0], finding=finding_of(profile), warm=warm_start(script)
    )
    for stretch, scale in zip(stretches, scales, strict=True):
        cache.rescale(scale)
        for number, one in enumerate(stretch):
            usage = one.call.usage
            ttl = usage.ttl_seconds if usage is not None else None
            charge = cache.send(
                one.request, at=one.call.at, model=one.call.model, ttl=ttl, marks=last_marks(one.request)
            )
            if usage is not None and usage.input_tokens:
                yield Compared(
                    input_tokens=usage.input_tokens,
                    cached_tokens=usage.cached_tokens,
                    charge=charge,
                    rewrote=number == 0 and stretch is not stretches[0],
                    first=number == 0 and stretch is stretches[0],
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
