"""The comparison on the page: in short, by budget, and all numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from bench.added import added_later
from bench.behind import Behind, behind
from bench.blocks import (
    Block,
    Figure,
    Heading,
    Items,
    Paragraph,
    Row,
    Table,
    code,
    listed,
    literal,
    milliseconds,
    number,
    prose,
)
from bench.cells import cell_cost, cell_kept
from bench.figures import cost_name, front
from bench.outcome import ReplayOutcome, Run
from bench.standings import PROVIDER_NAMES, Contest, Standing, share
from bench.verdicts import Verdict, verdicts

FAMILIES: Final = {"foveate": "Foveate", "own": "own", "peer": "peer"}

Column = tuple[str, Callable[[Standing], str]]


def introduced(replay: ReplayOutcome) -> list[Block]:
    """What was compared, on what, when, and how to do it again."""
    peers = [peer for peer in replay.peers if not peer.reason]
    families = Counter(arm.family for arm in replay.arms)
    stamp = replay.stamp
    versions = ", ".join(f"{literal(name)} {literal(version)}" for name, version in stamp.versions.items())
    sessions = " ".join(map(_material, _materials(replay)))
    return [
        Paragraph(
            f"{len(replay.arms)} ways to make an agent's next request, replayed side by side: "
            f"{families['foveate']} settings of Foveate, {families['own']} simple arms of our own, and "
            f"{families['peer']} arms of {len(peers)} other packages at pinned versions. At every recorded model call "
            "each arm gets the messages so far and makes the request it would have sent. Nothing calls a model: this "
            "is about what requests hold and cost, not about whether an agent succeeds."
        ),
        Paragraph(
            f"Measured on {literal(stamp.date)} (commit {literal(stamp.commit)}; {versions}; "
            f"{literal(stamp.machine)}). {sessions} They are from {replay.files:,} logs; before splitting, what says "
            f"the same as another file or session was left out ({replay.duplicates:,}). Do it again: "
            f"{code(stamp.command)}. {added_later(stamp, replay.later)}".strip()
        ),
    ]


def in_short(
    held: Sequence[Contest], headline: Sequence[Block], further: Sequence[Verdict], elsewhere: Sequence[Behind]
) -> list[Block]:
    """The few lines for who reads no further."""
    claims = [*verdicts(held), *further]
    failed = [claim for claim in claims if not claim.holds]
    lines = [line for contest in held if (line := _short(contest))]
    if claims:
        lines.append(
            f"Of {len(claims)} claims about Foveate that this page tests, {len(claims) - len(failed)} hold and "
            f"{len(failed)} do not: [verdicts](#verdicts)."
        )
    measures = dict.fromkeys(
        [*(one.measure for one in behind(held)), *(f"{one.measure} ({one.where})" for one in elsewhere)]
    )
    if measures:
        lines.append(
            f"Measures by which Foveate as it comes is not best: {listed(measures, 20)}: "
            "[what remains behind](#what-remains-behind)."
        )
    return [Heading("In short"), *headline, Items(tuple(lines))]


def by_budget(held: Sequence[Contest], command: str) -> list[Block]:
    """For each budget a plot and the headline table."""
    return [block for contest in held for block in _budget(contest, command)]


def all_numbers(held: Sequence[Contest], command: str) -> list[Block]:
    """The full tables, with what their columns mean."""
    blocks: list[Block] = [Heading("All numbers"), Items(prose("page_columns.md"), title="What the columns mean")]
    for contest in held:
        due = contest.arms[0].total.references if contest.arms else 0
        blocks += [
            Heading(f"All numbers, {contest.where}", 3),
            Paragraph(
                f"{due:,} references were due at {contest.calls:,} calls. Arms with † are invalid, over, failed or "
                "refused at more than 1 % of calls."
            ),
            *(
                Table(
                    title=f"{title}, {contest.where}",
                    head=("arm", *(name for name, _ in columns)),
                    rows=tuple(_row(one, columns, dagger=True) for one in contest.arms),
                    command=command,
                )
                for title, columns in _FULL
            ),
        ]
    return blocks


def _materials(replay: ReplayOutcome) -> list[list[Run]]:
    """Runs on the same sessions together."""
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in replay.runs:
        groups.setdefault((run.material, run.split, run.left_out, run.sessions), []).append(run)
    return list(groups.values())


def _material(runs: Sequence[Run]) -> str:
    run = runs[0]
    sources = Counter(one.source for one in run.sessions)
    named = ", ".join(f"{literal(source)} {count}" for source, count in sources.most_common())
    budgets = " and ".join(f"{one.budget:,}" for one in runs)
    split = f"the split `{run.split}`" if run.split != "all" else "all of them, nothing split off"
    kind = "recorded" if run.material == "recorded" else "**generated**, not recorded"
    left_out = (
        f" {run.left_out} more were left out at this budget: instructions, tools and one message of the user alone "
        "exceed it."
        if run.left_out
        else ""
    )
    return (
        f"At {budgets} tokens: {len(run.sessions)} {kind} sessions with "
        f"{sum(one.calls for one in run.sessions):,} calls ({named}; {split}).{left_out}"
    )


def _short(contest: Contest) -> str:
    ours, peers = contest.default, contest.of("peer")
    raw = next((one for one in contest.arms if one.is_judged_when_over), None)
    said = []
    if ours is not None and ours.restorable:
        said.append(f"of what Foveate does not keep, {_percent(ours.restorable, 1 - (ours.kept or 0))} can be recalled")
    if peers:
        wrong = sum(not one.is_fit for one in peers)
        said.append(f"{wrong} of {len(peers)} peer arms are invalid, over, failed or refused at more than 1 % of calls")
    if raw is not None:
        said.append(f"the untouched history is over at {_percent(raw.total.over, raw.total.calls)} of calls")
    text = "; ".join(said)
    return f"**{contest.where}**: {text}." if said else ""


def _percent(part: float, whole: float) -> str:
    found = share(part, whole)
    return f"{number(100 * found, 0 if found >= 0.1 else 1)} %" if found is not None else number(None)


def _budget(contest: Contest, command: str) -> list[Block]:
    blocks: list[Block] = [
        Heading(contest.where),
        Figure(name=cost_name(contest.run), alt=_cost_alt(contest), caption=_cost_caption(contest), command=command),
    ]
    fit = [one for one in contest.arms if one.is_fit]
    apart = [one for one in contest.arms if not one.is_fit]
    groups = {
        "Valid and within the budget": fit,
        "Set apart: invalid, over, failed or refused at more than 1 % of calls": apart,
    }
    columns = _headline_columns(contest)
    blocks += [
        Table(
            title=f"{title}, {contest.where}",
            head=("arm", *(name for name, _ in columns)),
            rows=tuple(_row(one, columns) for one in arms),
            command=command,
            words=2,
        )
        for title, arms in groups.items()
        if arms
    ]
    bigger = [literal(one.name) for one in apart if one.is_judged_when_over]
    if bigger:
        blocks.append(
            Paragraph(
                f"{listed(bigger)}: judged as if the window were large enough. Of any other arm a request above 1.05 × "
                "the budget keeps nothing."
            )
        )
    return blocks


def _cost_alt(contest: Contest) -> str:
    best = listed((f"{one.name} at {number(one.cost(0))} and {number(one.kept)}" for one in front(contest.arms)), 9)
    return (
        f"Cost against references kept at {contest.where}, {len(contest.arms)} arms. "
        f"No other arm that is valid and within the budget beats: {best or 'none'}."
    )


def _cost_caption(contest: Contest) -> str:
    return (
        f"Cost of the input at Anthropic against references kept, {contest.where}. Further up and further left is "
        "better. The upright axis is logarithmic in what is lost; an arm with ↑ loses nothing and has no place on it."
    )


def _headline_columns(contest: Contest) -> list[Column]:
    cost = contest.best(lambda one: one.cost(0), is_least=True)
    kept = contest.best(lambda one: one.kept)
    time = contest.best(lambda one: one.p50, is_least=True)
    columns: list[Column] = [
        ("family", lambda one: FAMILIES[one.arm.family]),
        ("invalid", lambda one: f"{one.total.invalid:,}"),
        ("over budget", lambda one: f"{one.total.over:,}"),
        ("cost (95 %)", lambda one: _starred(cell_cost(one), one, is_best=one.cost(0) == cost)),
        ("references kept (95 %)", lambda one: _starred(cell_kept(one), one, is_best=one.kept == kept)),
        ("restorable", lambda one: number(one.restorable, 3)),
        ("ms, p50", lambda one: _starred(milliseconds(one.p50), one, is_best=one.p50 == time)),
    ]
    if any(one.total.refused or one.total.failed for one in contest.arms):
        columns.insert(3, ("refused / failed", lambda one: f"{one.total.refused:,} / {one.total.failed:,}"))
    return columns


def _starred(text: str, one: Standing, *, is_best: bool) -> str:
    return f"**{text}**" if is_best and one.is_fit else text


def _row(one: Standing, columns: Sequence[Column], *, dagger: bool = False) -> Row:
    name = literal(one.name) + (" †" if dagger and not one.is_fit else "")
    ours = one.arm.family == "foveate"
    return Row((f"**{name}**" if ours else name, *(show(one) for _, show in columns)), one.arm.family)


def _of(part: str, whole: str, digits: int = 3) -> Callable[[Standing], str]:
    return lambda one: number(share(getattr(one.total, part), getattr(one.total, whole)), digits)


def _times(which: str) -> Callable[[Standing], str]:
    return lambda one: (
        milliseconds(getattr(one.times, which)) if one.times is not None and one.total.sent else number(None)
    )


_FULL: Final[tuple[tuple[str, tuple[Column, ...]], ...]] = (
    (
        "Requests and cost",
        (
            ("calls", lambda one: f"{one.total.calls:,}"),
            ("refused", lambda one: f"{one.total.refused:,}"),
            ("failed", lambda one: f"{one.total.failed:,}"),
            ("not measured", lambda one: f"{one.total.unmeasured:,}"),
            ("invalid", lambda one: f"{one.total.invalid:,}"),
            ("made invalid", lambda one: f"{one.total.broken:,}"),
            ("over", lambda one: f"{one.total.over:,}"),
            ("input tokens, million", lambda one: number(one.total.tokens / 1e6)),
            ("of untouched", _of("tokens", "raw_tokens", 2)),
            ("prefix share", _of("prefix", "tokens", 2)),
            (f"cost, {PROVIDER_NAMES[0]} (95 %)", cell_cost),
            (f"cost, {PROVIDER_NAMES[1]}", lambda one: number(one.cost(1))),
            (f"cost, {PROVIDER_NAMES[2]}", lambda one: number(one.cost(2))),
            ("dollars, Anthropic", lambda one: number(one.total.cost[0])),
        ),
    ),
    (
        "References",
        (
            ("kept (95 %)", cell_kept),
            ("restorable", lambda one: number(one.restorable, 3)),
            ("lost", lambda one: number(one.lost, 3)),
            ("visible", _of("visible", "references")),
            ("kept within", _of("kept", "judged_references")),
            ("far: kept", _of("far_kept", "far")),
            ("far: restorable", _of("far_restorable", "far")),
            ("tool output only: kept", _of("observed_kept", "observed")),
            ("tool output only: restorable", _of("observed_restorable", "observed")),
            ("changed files: kept", _of("modified_kept", "modified")),
            ("changed files: restorable", _of("modified_restorable", "modified")),
        ),
    ),
    (
        "What else is kept, and time",
        (
            ("last three exchanges", _of("recent", "judged")),
            ("user messages", _of("users", "judged")),
            ("first request", _of("first", "judged")),
            ("open errors", _of("errors_kept", "errors")),
            ("ms, p50", _times("p50")),
            ("ms, p95", _times("p95")),
            ("ms, longest", _times("longest")),
        ),
    ),
)
