"""Results of made-up replays, with numbers that can be checked by hand."""

from __future__ import annotations

from foveate.inspect.costs import SessionCosts
from foveate.lab.result import (
    Break,
    Calibration,
    Lane,
    LeftOut,
    PolicyInfo,
    RecordedUsage,
    Result,
    Series,
    SessionResult,
    Totals,
)


def lane(calls: int, step: int, *, limit: int = 5_000, broken: range = range(0)) -> Lane:
    """A request that grows by `step` each call and is cut in half, with half the cache, at the calls in `broken`."""
    tokens: list[int] = []
    cached: list[int] = []
    for call in range(calls):
        before = tokens[-1] if tokens else 0
        tokens.append((before + step) // (2 if call in broken else 1))
        cached.append(before // 2 // (2 if call in broken else 1))
    cost = [(new - old) * 3e-6 + old * 3e-7 for new, old in zip(tokens, cached, strict=True)]
    fates = {
        "masked": tuple(size // 4 for size in tokens),
        "verbatim": tuple(size - size // 4 for size in tokens),
        "left out": tuple(call * 10 for call in range(calls)),
        "folded": (0,) * calls,
    }
    breaks = [Break(call=one, message=3, role="tool", reference="m7", cause="rewritten", lost=one) for one in broken]
    totals = Totals(
        calls=calls, sent=calls, tokens=sum(tokens), cached=sum(cached), cost=sum(cost), judged=calls,
        over=sum(size > limit for size in tokens), references=100, kept=100 - step // 10, restorable=step // 20,
        lost=step // 10 - step // 20, user_kept=calls * 0.5, seconds=calls * step / 1e5,
    )  # fmt: skip
    series = Series(
        tokens=tuple(tokens), cached=tuple(cached), cost=tuple(cost), fates=fates, breaks=tuple(breaks),
        over=tuple(int(size > limit) for size in tokens), milliseconds=(1.0,) * calls,
    )  # fmt: skip
    return Lane(totals=totals, series=series)


def session(name: str, calls: int, policies: tuple[str, ...], *, usage: bool = True) -> SessionResult:
    lanes = {
        policy: lane(calls, 100 * (place + 1), broken=range(2, calls, 3) if place == 0 else range(0))
        for place, policy in enumerate(policies)
    }
    inputs = tuple(tokens + 50 for tokens in lanes[policies[0]].series.tokens)
    recorded = RecordedUsage(
        calls=calls, input_tokens=sum(inputs), cached_tokens=0, output_tokens=9, input_cost=None, output_cost=None,
        inputs=inputs, cached=(None,) * calls,
    )  # fmt: skip
    calibration = Calibration(calls=calls, recorded_share=0.9, simulated_share=0.8, cause="the cache had expired")
    return SessionResult(
        name=name, source=f"/logs/{name}.jsonl", format="codex", model="gpt-5", priced_as="openai:gpt-5", limit=5_000,
        messages=2 * calls, calls=calls, times=(None,) * calls, usage=recorded if usage else None, costs=SessionCosts(),
        calibration=calibration if usage else Calibration(), lanes=lanes,
    )  # fmt: skip


def replayed(*sessions: SessionResult, unit: str = "USD", left_out: tuple[LeftOut, ...] = ()) -> Result:
    names = tuple(sessions[0].lanes) if sessions else ("foveate", "raw")
    return Result(
        model="openai:gpt-5",
        budget=5_000,
        cost_unit="USD" if unit == "USD" else "input tokens",
        prices_from="prices of 2026-01-31",
        policies=tuple(PolicyInfo(name=name, kind="policy", description=f"does {name}") for name in names),
        sessions=sessions,
        totals={name: Totals.of(one.lanes[name].totals for one in sessions) for name in names},
        left_out=left_out,
    )


def example() -> Result:
    policies = ("foveate", "raw", "mask-10")
    return replayed(
        session("alpha", 4, policies), session("beta", 30, policies), session("gamma", 12, policies, usage=False)
    )
