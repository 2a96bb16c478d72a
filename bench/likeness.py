"""How like recorded sessions the generated ones are: `python -m bench.likeness`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from bench.arms import Measure
from bench.generated import generated_scripts
from bench.intervals import percentile
from bench.logs import data_root
from bench.material import collected
from bench.messages import calls_of
from bench.tokens import message_tokens, request_tokens
from foveate.lab.contestants import Opening
from foveate.lab.script import Script
from foveate.lab.walk import moments

# Half a budget of 8k, 32k and 100k: what was last seen so far back is likely to be gone.
FAR: Final = (4_000, 16_000, 50_000)
# Shorter ones have nothing that is far back.
LEAST_TOKENS: Final = 40_000


def main() -> int:
    recorded = recorded_traits()
    if recorded is None:
        print("no recorded logs: set `FOVEATE_DATA` to their folder", file=sys.stderr)
        return 1
    print(f"{'':<50}{'generated':>20}{'recorded':>20}")
    for name, *shown in beside(traits(generated_scripts()), recorded):
        print(f"{name:<50}" + "".join(f"{one:>20}" for one in shown))
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """Rough statistics of some sessions, each over all of them together.

    Args:
        turns: requests of the user for each 100,000 tokens.
        observations: share of tokens that tool results have.
        references: due at each action, on average.
        far: for each distance of `FAR`, the share of references last seen further back; at calls that have that much
            before them.
        observed: share of references that were seen in tool results only.
        results: tokens of a tool result: the median, what nine of ten do not exceed, the most.

    """

    sessions: int
    actions: int
    tokens: int
    turns: float
    observations: float
    references: float
    far: tuple[float, ...]
    observed: float
    results: tuple[int, int, int]


def traits(scripts: Iterable[Script]) -> Traits:
    """How some sessions are, in numbers."""
    tallied = [_tallied(script) for script in scripts]
    seen = [reference for one in tallied for reference in one.references]
    results = [size for one in tallied for size in one.results]
    tokens = sum(one.tokens for one in tallied)
    actions = sum(one.actions for one in tallied)
    return Traits(
        sessions=len(tallied),
        actions=actions,
        tokens=tokens,
        turns=_share(100_000 * sum(one.turns for one in tallied), tokens),
        observations=_share(sum(results), tokens),
        references=_share(len(seen), actions),
        far=tuple(
            _share(
                sum(distance > limit for distance, _, before in seen if before > limit),
                sum(before > limit for _, _, before in seen),
            )
            for limit in FAR
        ),
        observed=_share(sum(observed for _, observed, _ in seen), len(seen)),
        results=(int(percentile(results, 0.5)), int(percentile(results, 0.9)), max(results, default=0)),
    )


def recorded_traits() -> Traits | None:
    """Those of the recorded sessions that are long enough; None where there are no logs."""
    root = data_root()
    if root is None:
        return None
    found = (one.script for one in collected([root]).sessions)
    return traits(script for script in found if request_tokens(script.chats) >= LEAST_TOKENS)


def beside(generated: Traits, recorded: Traits) -> list[tuple[str, str, str]]:
    """A table: what is compared, and the two side by side."""
    return [(name, shown(generated), shown(recorded)) for name, shown in _ROWS]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tallied:
    """One session; each reference with its distance, whether only tools said it, and the tokens before its call."""

    tokens: int
    turns: int
    actions: int
    results: list[int]
    references: list[tuple[int, bool, int]]


def _tallied(script: Script) -> _Tallied:
    walked = list(moments(script, Opening(system=script.system, sizes=Measure())))
    return _Tallied(
        tokens=request_tokens(script.chats),
        turns=sum(chat["role"] == "user" for chat in script.chats),
        actions=sum(bool(calls_of(moment.call.answer or {})) for moment in walked),
        results=[message_tokens(chat) for chat in script.chats if chat["role"] == "tool"],
        references=[(one.distance, one.observed_only, moment.logged) for moment in walked for one in moment.references],
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


_ROWS: Final[tuple[tuple[str, Callable[[Traits], str]], ...]] = (
    ("sessions", lambda one: f"{one.sessions}"),
    ("actions", lambda one: f"{one.actions:,}"),
    ("tokens", lambda one: f"{one.tokens:,}"),
    ("requests of the user, each 100,000 tokens", lambda one: f"{one.turns:.1f}"),
    ("share of tokens in tool results", lambda one: f"{one.observations:.2f}"),
    ("references for each action", lambda one: f"{one.references:.1f}"),
    *(
        (f"of these last seen over {limit:,} tokens back", lambda one, place=place: f"{one.far[place]:.3f}")
        for place, limit in enumerate(FAR)
    ),
    ("of these seen in tool results only", lambda one: f"{one.observed:.2f}"),
    ("tokens of a tool result: median, p90, most", lambda one: ", ".join(f"{size:,}" for size in one.results)),
)


if __name__ == "__main__":
    sys.exit(main())
