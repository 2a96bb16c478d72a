"""Verdicts: what the numbers say about Foveate beside the others, worked out and not written by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.blocks import listed, literal, number
from bench.intervals import difference_interval, ratio_interval
from bench.outcome import PROVIDERS, Run, Tally
from bench.standings import PROVIDER_NAMES, Contest, Standing, share


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
    def cost_interval(self) -> tuple[float, float]:
        """Where the setting's cost less the peer's lies in 95 of 100 samples, at the first provider's prices."""
        pairs = [
            ((ours.cost[0], ours.raw_cost[0]), (theirs.cost[0], theirs.raw_cost[0])) for ours, theirs in self._rows
        ]
        return difference_interval(pairs)

    @property
    def _gains(self) -> list[tuple[float, float]]:
        return [(ours.kept - theirs.kept, theirs.references) for ours, theirs in self._rows]

    @property
    def _rows(self) -> list[tuple[Tally, Tally]]:
        """The sessions that both have gone through to the end."""
        rows = zip(self.setting.rows, self.peer.rows, strict=True)
        return [pair for pair in rows if not any(one.unmeasured for one in pair)]


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
        if rivals_of(ours, contest):
            found.append(_beating_all(ours, contest, held))
    return found


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


def rivals_of(ours: Standing, contest: Contest) -> list[Standing]:
    """The arms of others that Foveate has to compare with."""
    return [one for one in contest.arms if one.arm.family != "foveate" and is_rival(one, ours)]


def setting_name(setting: Standing, run: Run) -> str:
    """A setting of Foveate, with its budget if that is not the run's."""
    name = literal(setting.name)
    return name if setting.run.budget == run.budget else f"{name} at {setting.run.budget:,}"


def pair(one: Standing, provider: int = 0) -> str:
    """Cost and references kept."""
    return f"{number(one.cost(provider))} / {number(one.kept, 3)}"


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
    rivals = rivals_of(ours, contest)
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
    settings, rivals = _settings(contest, held), rivals_of(ours, contest)
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
