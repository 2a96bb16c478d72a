"""The verdicts on the page, duel by duel, and what remains behind."""

from __future__ import annotations

from collections.abc import Sequence

from bench.behind import Behind, behind
from bench.blocks import NOTHING, Block, Heading, Items, Paragraph, Row, Table, listed, literal, number
from bench.outcome import Run
from bench.standings import MOST_WRONG, PROVIDER_NAMES, Contest
from bench.verdicts import Duel, Verdict, duels, pair, setting_name, verdicts


def judged(
    held: Sequence[Contest], further: Sequence[Verdict], elsewhere: Sequence[Behind], command: str
) -> list[Block]:
    """The verdicts, and what remains behind."""
    blocks: list[Block] = [
        Heading("Verdicts"),
        Paragraph(
            "Worked out from the numbers below. A pair is cost relative to the untouched history / share of references "
            "kept, at all calls; a call that was refused keeps nothing. Other arms count as valid and within the "
            "budget if no kind of trouble befalls more than 1 % of their calls; of Foveate's own requests none may be "
            f"invalid or over. Whoever is ahead of Foveate but set apart is named. {_nearly(held)}"
        ),
        _claims(verdicts(held), command),
    ]
    if further:
        blocks.append(Items(tuple(f"{one.claim}: {_yes(one.holds)} ({one.numbers}; {one.where})." for one in further)))
    for contest in held:
        met = duels(contest, held)
        blocks += [_duel_table(met, contest, command), Paragraph(_doubtful(met))] if met else []
    return [*blocks, *_remaining(behind(held), elsewhere, command)]


def _nearly(held: Sequence[Contest]) -> str:
    """How much hangs on where the line between fit and set apart is drawn."""
    said = [
        f"{sum(MOST_WRONG < one.wrong <= 2 * MOST_WRONG for one in contest.arms)} at {contest.where}"
        for contest in held
    ]
    return f"So many arms are set apart that a line at 2 % would not: {', '.join(said)}." if said else ""


def _claims(found: Sequence[Verdict], command: str) -> Table:
    """One row for each claim, one column for each run."""
    places = list(dict.fromkeys(one.where for one in found))
    rows: dict[str, dict[str, Verdict]] = {}
    for one in found:
        rows.setdefault(one.claim, {})[one.where] = one
    return Table(
        title="Claims",
        head=("claim", *places),
        rows=tuple(
            Row(
                (claim, *(_held(held.get(place)) for place in places)),
                "" if all(one.holds for one in held.values()) else "no",
            )
            for claim, held in rows.items()
        ),
        command=command,
        words=1 + len(places),
    )


def _held(verdict: Verdict | None) -> str:
    return f"{_yes(verdict.holds)}: {verdict.numbers}" if verdict is not None else number(None)


def _remaining(found: Sequence[Behind], elsewhere: Sequence[Behind], command: str) -> list[Block]:
    """What others do better: a row for each measure, a column for each run, and the rest as a list."""
    title = Heading("What remains behind")
    if not found and not elsewhere:
        none = "By no measure on this page does another arm that is valid and within the budget do better than Foveate"
        return [title, Paragraph(f"{none} as it comes.")]
    said = "Measures by which another arm that is valid and within the budget does better than Foveate as it comes"
    blocks: list[Block] = [title, Paragraph(f"{said}, with the best of those arms.")]
    places = list(dict.fromkeys(one.where for one in found))
    rows: dict[str, dict[str, str]] = {}
    for one in found:
        rows.setdefault(one.measure, {})[one.where] = one.numbers
    if rows:
        blocks.append(
            Table(
                title="Foveate as it comes, and who does better",
                head=("measure", *places),
                rows=tuple(
                    Row((measure, *(told.get(place, NOTHING) for place in places))) for measure, told in rows.items()
                ),
                command=command,
                words=1 + len(places),
            )
        )
    lines = tuple(f"**{one.where}**, {one.measure}: {one.numbers}." for one in elsewhere)
    blocks += [Items(lines)] if lines else []
    return [*blocks, Paragraph("Why that is so:"), Items(_reasons((*found, *elsewhere)))]


def _reasons(found: Sequence[Behind]) -> tuple[str, ...]:
    """Each reason once, with all that it is the reason of."""
    groups: dict[str, dict[str, None]] = {}
    for one in found:
        groups.setdefault(one.why, {})[one.measure] = None
    return tuple(f"**{listed(measures, len(measures))}**: {why}" for why, measures in groups.items() if why)


def _doubtful(met: Sequence[Duel]) -> str:
    """How many of those duels the sessions do not settle."""
    won = [duel for duel in met if duel.holds]
    open_ones = [literal(duel.peer.name) for duel in won if duel.interval[0] <= 0 or duel.cost_interval[1] >= 0]
    if not open_ones:
        return "In each of them that is won, the 95 % intervals of both differences lie on the setting's side of 0."
    return (
        f"In {len(open_ones)} of {len(met)} the 95 % interval of the difference in cost or in references kept reaches "
        f"0 or beyond, so that other sessions might turn it round: {listed(open_ones, len(met))}."
    )


def _duel_table(met: Sequence[Duel], contest: Contest, command: str) -> Table:
    return Table(
        title=f"Each peer as it comes, against the setting of Foveate that does best against it, {contest.where}",
        head=(
            "peer",
            "setting",
            "beaten",
            "cheaper at",
            "peer: cost / kept",
            "setting: cost / kept",
            "difference in cost (95 %)",
            "keeps more by (95 %)",
        ),
        rows=tuple(_duel_row(duel, contest.run) for duel in met),
        command=command,
        words=4,
    )


def _duel_row(duel: Duel, run: Run) -> Row:
    names = [name for name, is_cheaper in zip(PROVIDER_NAMES, duel.providers, strict=True) if is_cheaper]
    at = "all three" if all(duel.providers) else ", ".join(names)
    return Row(
        (
            literal(duel.peer.name),
            setting_name(duel.setting, run),
            _yes(duel.holds),
            at or "none",
            pair(duel.peer),
            pair(duel.setting),
            _between((duel.setting.cost(0) or 0.0) - (duel.peer.cost(0) or 0.0), duel.cost_interval),
            _between(duel.more, duel.interval),
        ),
        "" if duel.holds else "no",
    )


def _between(value: float, interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{_signed(value)} ({_signed(low)} to {_signed(high)})"


def _signed(value: float) -> str:
    # Adding nothing makes a zero of what would be shown as a negative one.
    return f"{round(value, 3) + 0.0:+.3f}"


def _yes(holds: bool) -> str:
    return "yes" if holds else "**no**"
