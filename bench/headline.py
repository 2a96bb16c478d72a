"""The headline: ten arms side by side, chosen by rule so that nobody picks the peers that look worst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.blocks import Row, Table, literal
from bench.cells import cell_cost, cell_kept
from bench.heaviest import heaviest, without
from bench.intervals import pareto
from bench.outcome import Tally
from bench.standings import Contest, Standing
from bench.verdicts import pair

_PEERS: Final = 4
_TITLE: Final = "The strongest arms on recorded sessions"
# The rule in words, for those who look at the table.
RULE: Final = (
    "Foveate as it comes, its setting that keeps most on average over the budgets and its cheapest, one arm of each of "
    "the four strongest peers, the cheapest peer arm, the best simple arm of our own, and the untouched history. "
    "Whoever is valid and within the budget comes first; of those peers, the ones that no other beats on both cost and "
    "references kept, then those that keep most. *Not made*: calls at which an arm refused or failed. *Cost* is "
    "relative to the untouched history. *References kept* is the share of what the next recorded action refers to that "
    "the request still shows, with what stood around it. Behind both stands the 95 % interval over sessions."
)
# Said wherever it took part, since at small budgets it may be ahead of Foveate as it comes.
CAPPED: Final = (
    "`foveate-capped`, which may be cheaper and keep more at a small budget, shows of a large tool output only the "
    "beginning and the end from its first call on. That is not the default, since an output that the model has just "
    "asked for should be shown whole (decision 016)."
)


def headline_table(held: Sequence[Contest], command: str) -> Table:
    """Foveate beside the strongest of the others, on recorded sessions."""
    recorded = [contest for contest in held if contest.run.material == "recorded"]
    arms = _met_everywhere(recorded)
    columns = ("invalid / over / not made", "cost (95 %)", "references kept (95 %)")
    return Table(
        title=_TITLE,
        head=("", *(f"{contest.run.budget:,}: {column}" for contest in recorded for column in columns)),
        rows=tuple(_row(arms[name]) for name in _chosen(arms)),
        command=command,
    )


def lighter_table(held: Sequence[Contest], command: str) -> Table | None:
    """The same arms without the session that weighs most at each budget; None if no session can be left out."""
    recorded = [contest for contest in held if contest.run.material == "recorded"]
    found = [(contest, one) for contest in recorded if (one := heaviest(contest)) is not None]
    if not found or len(found) < len(recorded):
        return None
    arms = _met_everywhere([without(contest, one.place) for contest, one in found])
    rows = [
        Row(
            (_bold(arms[name][0]), *(cell for one in arms[name] for cell in (cell_cost(one), cell_kept(one)))),
            arms[name][0].arm.family,
        )
        for name in _chosen(_met_everywhere(recorded))
    ]
    columns = ("cost (95 %)", "references kept (95 %)")
    return Table(
        title="The same arms without the session that weighs most",
        head=("", *(f"{contest.run.budget:,}: {column}" for contest in recorded for column in columns)),
        rows=tuple(rows),
        command=command,
    )


def weight_note(held: Sequence[Contest]) -> str:
    """How much of the numbers is those of one session, and what Foveate and the strongest peer have without it."""
    recorded = [contest for contest in held if contest.run.material == "recorded"]
    strongest = [name for name in _chosen(_met_everywhere(recorded)) if _family(name, recorded) == "peer"][:1]
    said = []
    for contest in recorded:
        found = heaviest(contest)
        if found is None:
            continue
        rest = {one.name: one for one in without(contest, found.place).arms}
        names = [one.name for one in (contest.default,) if one is not None] + strongest
        told = ", ".join(f"{literal(name)} {pair(rest[name])}" for name in names if name in rest)
        said.append(
            f"At {contest.run.budget:,} tokens one session of {found.session.calls:,} calls has "
            f"{100 * found.cost:.0f} % of the untouched cost and {100 * found.references:.0f} % of the references; "
            f"without it cost / references kept are: {told}."
        )
    return " ".join(said)


def headline_note(held: Sequence[Contest]) -> str:
    """What the table stands on, for who sees nothing else of the page."""
    recorded = [contest for contest in held if contest.run.material == "recorded"]
    material = " and ".join(
        f"{len(contest.run.sessions)} sessions with {contest.calls:,} calls at {contest.run.budget:,} tokens"
        for contest in recorded
    )
    peers = sum(arm.family == "peer" for arm in {one.name: one.arm for each in recorded for one in each.arms}.values())
    return (
        f"Recorded: {material}. *Invalid*: requests that a provider would reject; *over*: more than 5 % above the "
        "budget, and thus keeping nothing; *not made*: calls at which an arm refused or failed. The untouched history "
        f"is judged as if its window were large enough. The strongest of {peers} peer arms are shown, chosen by rule. "
        f"In parentheses: 95 % intervals over sessions. {weight_note(held)}"
    ).strip()


def _family(name: str, held: Sequence[Contest]) -> str:
    return next((one.arm.family for contest in held for one in contest.arms if one.name == name), "")


def _met_everywhere(held: Sequence[Contest]) -> dict[str, list[Standing]]:
    """The arms that took part in all of them."""
    found: dict[str, list[Standing]] = {}
    for contest in held:
        for one in contest.arms:
            found.setdefault(one.name, []).append(one)
    return {name: listed for name, listed in found.items() if len(listed) == len(held)}


def _chosen(arms: dict[str, list[Standing]]) -> list[str]:
    ranked = sorted(arms, key=lambda name: (-_times_fit(arms[name]), -_kept(arms[name]), name))
    family = {name: listed[0].arm.family for name, listed in arms.items()}
    ours = [name for name in arms if family[name] == "foveate"]
    default = [name for name in ours if arms[name][0].arm.is_default][:1] or ours[:1]
    settings = [name for name in ranked if family[name] == "foveate"]
    simple = [name for name in ranked if family[name] == "own" and name != "untouched"][:1]
    peers = [name for name in ranked if family[name] == "peer"]
    # The baseline of all costs stands last.
    untouched = [name for name in arms if name == "untouched"]
    return list(
        dict.fromkeys(
            [
                *default,
                *settings[:1],
                *_cheapest(settings, arms),
                *_strongest(peers, arms),
                *_cheapest(peers, arms),
                *simple,
                *untouched,
            ]
        )
    )


def _strongest(names: Sequence[str], arms: dict[str, list[Standing]]) -> list[str]:
    """One arm for each package: of those that are fit, first the ones that no other beats on both counts."""
    front = _front(names, arms)
    packages: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (-_times_fit(arms[name]), name not in front)):
        packages.setdefault(arms[name][0].arm.peer or name, name)
    return sorted(list(packages.values())[:_PEERS], key=names.index)


def _cheapest(names: Sequence[str], arms: dict[str, list[Standing]]) -> list[str]:
    """Of those that are fit most often, the one that costs least."""
    return sorted(_fittest(names, arms), key=lambda name: (_cost(arms[name]), name))[:1]


def _fittest(names: Sequence[str], arms: dict[str, list[Standing]]) -> list[str]:
    most = max((_times_fit(arms[name]) for name in names), default=0)
    return [name for name in names if _times_fit(arms[name]) == most]


def _front(names: Sequence[str], arms: dict[str, list[Standing]]) -> set[str]:
    """Of those that are fit most often, the ones that no other beats on both cost and references kept."""
    fit = _fittest(names, arms)
    found = pareto([(_cost(arms[name]), _kept(arms[name])) for name in fit])
    return {name for name, is_best in zip(fit, found, strict=True) if is_best}


def _times_fit(listed: Sequence[Standing]) -> int:
    return sum(one.is_fit for one in listed)


def _kept(listed: Sequence[Standing]) -> float:
    return sum(one.kept or 0.0 for one in listed) / len(listed)


def _cost(listed: Sequence[Standing]) -> float:
    return sum(one.cost(0) or 0.0 for one in listed) / len(listed)


def _row(listed: Sequence[Standing]) -> Row:
    arm = listed[0].arm
    cells = [cell for one in listed for cell in (_troubles(one.total), cell_cost(one), cell_kept(one))]
    return Row((_bold(listed[0]), *cells), arm.family)


def _bold(one: Standing) -> str:
    name = literal(one.name)
    return f"**{name}**" if one.arm.family == "foveate" else name


def _troubles(total: Tally) -> str:
    return f"{total.invalid:,} / {total.over:,} / {total.refused + total.failed:,}"
