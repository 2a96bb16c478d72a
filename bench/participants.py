"""Who took part: how each arm is called, which peers could not run, what went wrong, and what was replayed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from textwrap import shorten
from typing import Final

from bench.blocks import NOTHING, Block, Figure, Heading, Items, Paragraph, Row, Table, code, literal, number
from bench.outcome import ArmInfo, ReplayOutcome, Run, SessionInfo, Tally
from bench.standings import Contest, Standing, share

# An error that is longer is cut in a table; it is whole among the examples.
_LONGEST: Final = 120
# Recorded sessions that are shorter say nothing about long ones.
_LONG_SESSION: Final = 40_000


def violations(held: Sequence[Contest], command: str) -> list[Block]:
    """The share of calls that went wrong, and examples."""
    if not held:
        return []
    examples = [
        f"**{literal(arm)}**, {contest.where}: {'; '.join(map(code, _distinct(found)))}"
        for contest in held
        for arm, found in contest.run.problems.items()
        if found
    ]
    blocks: list[Block] = [
        Heading("Violations"),
        Figure(
            name="violations",
            alt="Share of calls at which requests are invalid, over the budget, failed or refused, by arm and budget.",
            caption="Calls that went wrong, by arm and budget. A request can be both invalid and over, so a bar can be "
            "longer than 100 %.",
            command=command,
        ),
    ]
    rows = [row for contest in held for one in contest.arms if (row := _unmade(one))]
    if rows:
        blocks += [
            Paragraph(
                "Calls at which an arm made no request: it failed with an error, or refused since what must be sent "
                "does not fit. Such a call keeps nothing; cost and times are those of the calls that were sent. An arm "
                "that takes more than a quarter of an hour for one session is given up there: the calls that are left "
                "are not measured and count for neither side."
            ),
            Table(
                title="Calls without a request",
                head=("arm", "budget", "example", "failed", "refused", "of calls", "not measured"),
                rows=tuple(rows),
                command=command,
                words=3,
            ),
        ]
    return [*blocks, Items(tuple(examples), title="Examples of what went wrong")] if examples else blocks


def participants(replay: ReplayOutcome) -> list[Block]:
    """How each arm is called, and who could not take part."""
    versions = {peer.name: peer.versions for peer in replay.peers}
    missing = [f"**{literal(peer.name)}**: {literal(peer.reason)}" for peer in replay.peers if peer.reason]
    return [
        Heading("How each arm is called"),
        Paragraph(
            "`B` is the budget. Peers run in environments of their own with these versions, as their documentation "
            "tells an agent's author to use them before each model call. An arm that *knows no budget* takes a number "
            "of messages or turns instead, with its default."
        ),
        Items(tuple(_called(arm, versions.get(arm.peer, {})) for arm in replay.arms)),
        Heading("Peers that could not run"),
        Items(tuple(missing)) if missing else Paragraph("None: all peers that have an adapter ran."),
    ]


def material(replay: ReplayOutcome) -> list[Block]:
    """The sessions, and the prices."""
    prices = [f"**{literal(name)}**: {literal(text)}" for name, text in replay.prices.items()]
    blocks: list[Block] = [
        Heading("Material and prices"),
        Paragraph(
            "Tokens are those of o200k, the same for all arms. Sessions are divided by task before anything is "
            "measured: `tune` is for choosing settings, `report` for quoting. The side is a byte of the hash of the "
            "task's name; which byte was chosen by numbers of calls, before there was any result: byte 7 puts the "
            "longest session into `report` and halves most sources. Raw results, session by session, are in "
            "[results](results/replay.json)."
        ),
        Items(tuple(prices)) if prices else Paragraph("No prices were recorded."),
        Table(
            title="Sessions by source",
            head=("source", "replayed at", "sessions", "messages", "calls", "tokens"),
            rows=tuple(row for runs in _by_sessions(replay.runs) for row in _sources(runs)),
            command=replay.stamp.command,
            words=2,
        ),
    ]
    blocks += _alike(replay)
    left_out = tuple(map(literal, replay.left_out))
    return [*blocks, Items(left_out, title=f"Logs that were left out ({len(left_out)})")] if left_out else blocks


def _distinct(examples: Iterable[str]) -> list[str]:
    """Of examples that say the same of several calls, the first."""
    return list({text.partition(": ")[2]: text for text in reversed(list(examples))}.values())[::-1]


def _unmade(one: Standing) -> Row | None:
    """An arm that made no request at some calls."""
    total = one.total
    if not total.failed and not total.refused and not total.unmeasured:
        return None
    told = (re.search(r"(?:failed|refused|not measured): .*", text) for text in one.run.problems.get(one.name, ()))
    example = next((found[0] for found in told if found), "")
    return Row(
        (
            literal(one.name),
            f"{one.run.budget:,}, {one.run.material}",
            literal(shorten(example, _LONGEST, placeholder=" …")) or NOTHING,
            f"{total.failed:,}",
            f"{total.refused:,}",
            f"{total.calls:,}",
            f"{total.unmeasured:,}",
        ),
        one.arm.family,
    )


def _called(arm: ArmInfo, versions: dict[str, str]) -> str:
    said = f"**{literal(arm.name)}**"
    if versions:
        said += f" ({', '.join(f'{literal(name)} {literal(version)}' for name, version in versions.items())})"
    said += f": {code(arm.call) if arm.family == 'peer' else _with_code(arm.call)}" if arm.call else ""
    traits = [] if arm.is_default or arm.family == "own" else ["not its default"]
    traits += [] if arm.knows_budget else ["knows no budget"]
    said += f" ({', '.join(traits)})" if traits else ""
    return f"{said}. {_with_code(arm.note)}".strip() if arm.note else said


def _with_code(note: str) -> str:
    """Text that was written for this page, in which code between backticks is meant."""
    parts = note.split("`")
    if len(parts) % 2 == 0:
        return literal(note)
    return "".join(code(part) if place % 2 else _keeping_spaces(part) for place, part in enumerate(parts)).strip()


def _keeping_spaces(part: str) -> str:
    before = " " if part[:1].isspace() else ""
    after = " " if part[-1:].isspace() and part.strip() else ""
    return f"{before}{literal(part)}{after}"


def _alike(replay: ReplayOutcome) -> list[Block]:
    """Generated sessions beside the longer recorded ones."""
    kinds = [_untouched(replay.runs, "generated", 0), _untouched(replay.runs, "recorded", _LONG_SESSION)]
    if not all(kinds):
        return []
    totals = [Tally.of(tally for _, tally in found) for found in kinds]
    tokens = [[one.tokens for one, _ in found] for found in kinds]
    messages = [sum(one.messages for one, _ in found) for found in kinds]
    rows = [
        ("sessions", *(f"{len(found):,}" for found in kinds)),
        ("tokens of a session, mean", *(number(sum(found) / len(found), 0) for found in tokens)),
        ("tokens of a message, mean", *(number(share(sum(a), b), 0) for a, b in zip(tokens, messages, strict=True))),
        *((name, *(number(value(total)) for total in totals)) for name, value in _TRAITS),
    ]
    return [
        Table(
            title="How like recorded sessions the generated ones are",
            head=("", "generated", f"recorded, from {_LONG_SESSION:,} tokens on"),
            rows=tuple(map(Row, rows)),
            command=replay.stamp.command,
        ),
        Paragraph(
            "More of it, such as how far back references reach and how large tool results are, over all recorded "
            "sessions of that length: `uv run --group bench python -m bench.likeness`."
        ),
    ]


_TRAITS: Final[tuple[tuple[str, Callable[[Tally], float | None]], ...]] = (
    ("references due at a call", lambda total: share(total.references, total.calls)),
    ("of these seen in tool output only", lambda total: share(total.observed, total.judged_references)),
    ("of these in files that the session had changed", lambda total: share(total.modified, total.judged_references)),
    ("open errors at a call", lambda total: share(total.errors, total.judged)),
)


def _untouched(runs: Iterable[Run], material: str, least: int) -> list[tuple[SessionInfo, Tally]]:
    """The sessions of a kind at its largest budget, with what was due in them."""
    found = [run for run in runs if run.material == material and "untouched" in run.tallies]
    run = max(found, key=lambda run: run.budget, default=None)
    pairs = zip(run.sessions, run.tallies["untouched"], strict=True) if run is not None else ()
    return [(one, tally) for one, tally in pairs if one.tokens >= least]


def _by_sessions(runs: Iterable[Run]) -> list[list[Run]]:
    """Runs on the same sessions together."""
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.material, run.sessions), []).append(run)
    return list(groups.values())


def _sources(runs: Sequence[Run]) -> list[Row]:
    run = runs[0]
    budgets = " and ".join(f"{one.budget:,}" for one in runs)
    groups: dict[str, list[SessionInfo]] = {}
    for session in run.sessions:
        groups.setdefault(session.source, []).append(session)
    groups = dict(sorted(groups.items()))
    groups["all"] = list(run.sessions)
    return [
        Row(
            (
                literal(source),
                f"{budgets}, {run.material}",
                f"{len(found):,}",
                f"{sum(one.messages for one in found):,}",
                f"{sum(one.calls for one in found):,}",
                f"{sum(one.tokens for one in found):,}",
            )
        )
        for source, found in groups.items()
    ]
