"""Verdicts: what the numbers say about Foveate beside the others, worked out and not written by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.blocks import listed, literal, milliseconds, number
from bench.intervals import ratio_interval
from bench.outcome import PROVIDERS, EngineOutcome, GrowthOutcome, RecallOutcome, RecallTable, Run
from bench.standings import PROVIDER_NAMES, Contest, Standing, share

# A step at the longest history may take this much longer than one at a thousand messages and still be called flat.
FLAT: Final = 1.5
_SHORT: Final = 1_000
# Differences that vanish at three digits are none.
_SAME: Final = 5e-4

Value = Callable[[Standing], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One claim about Foveate: whether it holds, and by which numbers."""

    claim: str
    where: str
    holds: bool
    numbers: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """A peer as it comes, against the setting of Foveate that does best against it.

    Args:
        providers: at whose prices the setting is cheaper, in the order of `PROVIDERS`.

    """

    peer: Standing
    setting: Standing
    providers: tuple[bool, ...]

    @property
    def holds(self) -> bool:
        """Whether the setting is fit, cheaper by the first provider's prices, and keeps more."""
        return _beats(self.setting, self.peer, 0)

    @property
    def more(self) -> float:
        """How much more of all references the setting keeps."""
        return share(sum(gain for gain, _ in self._gains), sum(due for _, due in self._gains)) or 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Where that lies in 95 of 100 samples of the sessions; each session is compared with itself."""
        return ratio_interval(self._gains)

    @property
    def _gains(self) -> list[tuple[float, float]]:
        rows = zip(self.setting.rows, self.peer.rows, strict=True)
        return [(ours.kept - theirs.kept, theirs.references) for ours, theirs in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """A measure by which an arm of others, valid and within the budget, does better than Foveate as it comes."""

    where: str
    measure: str
    numbers: str


def verdicts(held: Sequence[Contest]) -> list[Verdict]:
    """Every claim, for each run."""
    found: list[Verdict] = []
    for contest in held:
        ours = contest.default
        if ours is None:
            continue
        found += [
            _sendable(contest),
            _answered(contest),
            *(_unbeaten(ours, contest, place) for place in range(len(PROVIDERS))),
        ]
        if _peers(contest):
            found += [_beating(contest, held, place) for place in range(len(PROVIDERS))]
        if _rivals(ours, contest):
            found.append(_beating_all(ours, contest, held))
    return found


def flatness(growth: GrowthOutcome) -> Verdict | None:
    """Whether the time for a request depends on the length of the history; None if too few lengths were measured."""
    curve = next((one for one in growth.curves if one.family == "foveate" and len(one.points) > 1), None)
    if curve is None:
        return None
    short = min(curve.points, key=lambda point: (abs(point.messages - _SHORT), point.messages))
    long = max(curve.points, key=lambda point: point.messages)
    ratio = share(long.p50_ms, short.p50_ms)
    if long.messages <= short.messages or ratio is None:
        return None
    return Verdict(
        claim=f"Foveate's time for a request is flat, at most {FLAT} × from {short.messages:,} to {long.messages:,} "
        "messages",
        where=f"{growth.budget:,} tokens, generated",
        holds=ratio <= FLAT and not curve.stopped,
        numbers=f"{milliseconds(short.p50_ms)} ms and {milliseconds(long.p50_ms)} ms, {number(ratio)} ×",
    )


def duels(contest: Contest, held: Sequence[Contest]) -> list[Duel]:
    """For each peer as it comes, the setting of Foveate that beats it, else Foveate as it comes."""
    settings = _settings(contest, held)
    return [_duel(settings, peer) for peer in _peers(contest)] if settings else []


def cheaper(one: Standing, other: Standing, provider: int) -> bool:
    """Whether one costs less than another."""
    a, b = one.cost(provider), other.cost(provider)
    return a is not None and b is not None and a < b


def keeps_more(one: Standing, other: Standing) -> bool:
    """Whether one keeps more than another."""
    return one.kept is not None and other.kept is not None and one.kept > other.kept


def is_rival(one: Standing, ours: Standing) -> bool:
    """Whether an arm is one to be compared with: it is fit, or at least no less so than Foveate is."""
    return one.is_fit or (not ours.is_fit and not one.is_judged_when_over)


def behind(held: Sequence[Contest]) -> list[Behind]:
    """Where Foveate as it comes is not best, run by run."""
    return [
        Behind(where=contest.where, measure=measure, numbers=numbers)
        for contest in held
        if (ours := contest.default) is not None
        for measure, value, sign in MEASURES
        if (numbers := _ahead(ours, _rivals(ours, contest), value, sign))
    ]


def behind_elsewhere(
    growth: GrowthOutcome | None, engine: EngineOutcome | None, recall: RecallOutcome | None
) -> list[Behind]:
    """The same for growth, the real engine and recall."""
    found = [_slower(growth)] if growth is not None else []
    found += [_reread(engine)] if engine is not None else []
    found += [_found_less(table) for table in (recall.tables if recall is not None else ())]
    return [one for one in found if one is not None]


def setting_name(setting: Standing, run: Run) -> str:
    """A setting of Foveate, with its budget if that is not the run's."""
    name = literal(setting.name)
    return name if setting.run.budget == run.budget else f"{name} at {setting.run.budget:,}"


def pair(one: Standing, provider: int = 0) -> str:
    """Cost and references kept."""
    return f"{number(one.cost(provider))} / {number(one.kept, 3)}"


def _users(one: Standing) -> float | None:
    return share(one.total.users, one.total.judged)


# What arms are compared by: a name, the value, and 1 if more is better.
MEASURES: Final[tuple[tuple[str, Value, int], ...]] = (
    ("cost at Anthropic", lambda one: one.cost(0), -1),
    ("cost at OpenAI", lambda one: one.cost(1), -1),
    ("cost at Gemini", lambda one: one.cost(2), -1),
    ("references kept", lambda one: one.kept, 1),
    ("references last seen far back", lambda one: share(one.total.far_kept, one.total.far), 1),
    ("references seen in tool output only", lambda one: share(one.total.observed_kept, one.total.observed), 1),
    ("references to files that were changed", lambda one: share(one.total.modified_kept, one.total.modified), 1),
    ("last three exchanges unchanged", lambda one: share(one.total.recent, one.total.judged), 1),
    ("user messages", _users, 1),
    ("first request", lambda one: share(one.total.first, one.total.judged), 1),
    ("open errors", lambda one: share(one.total.errors_kept, one.total.errors), 1),
    ("time for a request, ms at p50", lambda one: one.p50, -1),
)


def _sendable(contest: Contest) -> Verdict:
    ours = [one.total for one in contest.of("foveate")]
    invalid, over, failed, sent = (
        sum(getattr(total, name) for total in ours) for name in ("invalid", "over", "failed", "sent")
    )
    return Verdict(
        claim="Every request of Foveate is valid and within the budget",
        where=contest.where,
        holds=not (invalid or over or failed),
        numbers=f"{invalid:,} invalid, {over:,} over, {failed:,} failed; {sent:,} requests under {len(ours)} settings",
    )


def _answered(contest: Contest) -> Verdict:
    ours = contest.of("foveate")
    refused, calls = sum(one.total.refused for one in ours), sum(one.total.calls for one in ours)
    named = [f"{literal(one.name)} {one.total.refused:,}" for one in ours if one.total.refused]
    return Verdict(
        claim="Foveate refuses no call",
        where=contest.where,
        holds=not refused,
        numbers=f"{refused:,} of {calls:,} refused" + (f": {listed(named)}" if named else ""),
    )


def _unbeaten(ours: Standing, contest: Contest, provider: int) -> Verdict:
    ahead = [one for one in contest.arms if cheaper(one, ours, provider) and keeps_more(one, ours)]
    fit = [one for one in ahead if one.arm.family != "foveate" and is_rival(one, ours)]
    apart = [one for one in ahead if one.arm.family != "foveate" and not is_rival(one, ours)]
    own = [one for one in ahead if one.arm.family == "foveate" and is_rival(one, ours)]
    rivals = _rivals(ours, contest)
    nearest = max((one for one in rivals if cheaper(one, ours, provider)), key=_kept, default=None)
    said = [f"{literal(ours.name)} {pair(ours, provider)}"]
    if fit:
        said.append(f"ahead on both: {_pairs(fit, provider)}")
    elif nearest is not None:
        said.append(f"of those cheaper, {literal(nearest.name)} keeps most: {pair(nearest, provider)}")
    if ours.total.refused:
        said.append(f"Foveate's cost is that of {ours.total.sent:,} of {ours.total.calls:,} calls")
    if apart:
        said.append(f"ahead, but set apart: {_pairs(apart, provider)}")
    if own:
        said.append(f"ahead of it among Foveate's own settings: {_pairs(own, provider)}")
    return Verdict(
        claim="No other arm that is valid and within the budget is both cheaper and keeps more than Foveate as it "
        f"comes, at {PROVIDER_NAMES[provider]}",
        where=contest.where,
        holds=not fit,
        numbers="; ".join(said),
    )


def _rivals(ours: Standing, contest: Contest) -> list[Standing]:
    """The arms of others that Foveate has to compare with."""
    return [one for one in contest.arms if one.arm.family != "foveate" and is_rival(one, ours)]


def _pairs(arms: Sequence[Standing], provider: int = 0) -> str:
    return listed((f"{literal(one.name)} {pair(one, provider)}" for one in arms), 6)


def _kept(one: Standing) -> float:
    return one.kept if one.kept is not None else -1.0


def _beating(contest: Contest, held: Sequence[Contest], provider: int) -> Verdict:
    settings, peers = _settings(contest, held), _peers(contest)
    open_ones = [peer for peer in peers if not any(_beats(setting, peer, provider) for setting in settings)]
    numbers = f"{len(peers) - len(open_ones)} of {len(peers)}"
    if open_ones:
        numbers += f"; not: {_pairs(open_ones, provider)}"
    return Verdict(
        claim="For each peer as it comes there is a setting of Foveate that is cheaper and keeps more, at "
        f"{PROVIDER_NAMES[provider]}",
        where=contest.where,
        holds=not open_ones,
        numbers=numbers,
    )


def _beating_all(ours: Standing, contest: Contest, held: Sequence[Contest]) -> Verdict:
    settings, rivals = _settings(contest, held), _rivals(ours, contest)
    open_ones = [one for one in rivals if not any(_beats(setting, one, 0) for setting in settings)]
    numbers = f"{len(rivals) - len(open_ones)} of {len(rivals)}"
    if open_ones:
        numbers += f"; not: {_pairs(open_ones)}"
    return Verdict(
        claim="For each other arm at all that is valid and within the budget there is a setting of Foveate that is "
        f"cheaper and keeps more, at {PROVIDER_NAMES[0]}",
        where=contest.where,
        holds=not open_ones,
        numbers=numbers,
    )


def _settings(contest: Contest, held: Sequence[Contest]) -> list[Standing]:
    """All settings of Foveate that a user of this budget can choose, the one as it comes first."""
    run = contest.run
    # Who is free to choose a setting is free to choose a smaller budget.
    alike = [one for one in held if (one.run.material, one.run.sessions) == (run.material, run.sessions)]
    smaller = [one for one in alike if one.run.budget < run.budget]
    return sorted((one for each in (contest, *smaller) for one in each.of("foveate")), key=_preference(run))


def _peers(contest: Contest) -> list[Standing]:
    """The peers as they come."""
    return [one for one in contest.of("peer") if one.arm.is_default and one.total.sent]


def _beats(setting: Standing, other: Standing, provider: int) -> bool:
    return setting.is_fit and cheaper(setting, other, provider) and keeps_more(setting, other)


def _preference(run: Run) -> Callable[[Standing], tuple[bool, bool, int]]:
    """As it comes first, and rather at the run's own budget."""
    return lambda one: (one.run.budget != run.budget, not one.arm.is_default, -one.run.budget)


def _duel(settings: Sequence[Standing], peer: Standing) -> Duel:
    met = [_met(setting, peer) for setting in settings]
    return next((duel for duel in met if duel.holds and all(duel.providers)), None) or next(
        (duel for duel in met if duel.holds), met[0]
    )


def _met(setting: Standing, peer: Standing) -> Duel:
    providers = tuple(cheaper(setting, peer, place) for place in range(len(PROVIDERS)))
    return Duel(peer=peer, setting=setting, providers=providers)


def _ahead(ours: Standing, rivals: Sequence[Standing], value: Value, sign: int) -> str:
    own = value(ours)
    if own is None:
        return ""
    others = [(one, found) for one in rivals if (found := value(one)) is not None]
    ahead = sorted((pair for pair in others if sign * pair[1] > sign * own + _SAME), key=lambda pair: -sign * pair[1])
    if not ahead:
        return ""
    named = listed(f"{literal(one.name)} {number(found, 3)}" for one, found in ahead)
    return f"{literal(ours.name)} {number(own, 3)}, better {named}"


def _slower(growth: GrowthOutcome) -> Behind | None:
    ours = next((one for one in growth.curves if one.family == "foveate" and one.points), None)
    if ours is None:
        return None
    at = {point.messages: point.p50_ms for point in ours.points}
    length = max(at)
    faster = sorted(
        (point.p50_ms, curve.arm)
        for curve in growth.curves
        for point in curve.points
        if curve.family != "foveate" and point.messages == length and point.p50_ms < at[length]
    )
    if not faster:
        return None
    named = listed(f"{literal(arm)} {milliseconds(value)}" for value, arm in faster)
    return Behind(
        where=f"growth, {length:,} messages",
        measure="time for a request, ms at p50",
        numbers=f"{literal(ours.arm)} {milliseconds(at[length])}, better {named}",
    )


def _reread(engine: EngineOutcome) -> Behind | None:
    spent: dict[str, float] = {}
    calls: dict[str, int] = {}
    for row in engine.rows:
        spent[row.arm] = spent.get(row.arm, 0.0) + row.prompt_ms
        calls[row.arm] = calls.get(row.arm, 0) + row.calls
    means = {arm: spent[arm] / calls[arm] for arm in spent if calls[arm]}
    own = means.get("foveate")
    faster = sorted((mean, arm) for arm, mean in means.items() if own is not None and mean < own)
    if not faster:
        return None
    named = listed(f"{literal(arm)} {milliseconds(mean)}" for mean, arm in faster)
    return Behind(
        where="real engine", measure="time to read a prompt, ms", numbers=f"foveate {milliseconds(own)}, better {named}"
    )


def _found_less(table: RecallTable) -> Behind | None:
    ours = {row.budget: row.all for row in table.rows if row.method == "foveate"}
    others = [row for row in table.rows if row.budget in ours and not row.method.startswith("foveate")]
    best = {row.budget: row for row in sorted(others, key=lambda row: row.all)}
    ahead = [row for row in best.values() if row.all > ours[row.budget] + _SAME]
    if not ahead:
        return None
    named = ", ".join(
        f"{literal(row.method)} {number(row.all, 3)} against {number(ours[row.budget], 3)} at {row.budget:,}"
        for row in sorted(ahead, key=lambda row: row.budget)
    )
    return Behind(where=f"recall, {literal(table.name)}", measure="all evidence found", numbers=named)
