"""Who took part: how each arm is called, which peers could not run, what went wrong, and what was replayed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.blocks import Block, Figure, Heading, Items, Paragraph, Row, Table, code, literal
from bench.outcome import ArmInfo, ReplayOutcome, Run, SessionInfo
from bench.standings import Contest


def violations(held: Sequence[Contest], command: str) -> list[Block]:
    """The share of calls that went wrong, and examples."""
    if not held:
        return []
    examples = [
        f"**{literal(arm)}**, {contest.where}: {'; '.join(map(code, found))}"
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
    return [*blocks, Items(tuple(examples), title="Up to three examples for each arm")] if examples else blocks


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
            "measured: `tune` is for choosing settings, `report` for quoting. Raw results, session by session, are in "
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
    left_out = tuple(map(literal, replay.left_out))
    return [*blocks, Items(left_out, title=f"{len(left_out)} logs that were left out")] if left_out else blocks


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
