"""What the page does not show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench.blocks import Block, Heading, Items, Paragraph, prose
from bench.outcome import RecallOutcome, ReplayOutcome, Run


def limits(replay: ReplayOutcome | None, recall: RecallOutcome | None) -> list[Block]:
    """The concerns, the heaviest first."""
    said = [*prose("page_limits.md"), *(_of_material(replay) if replay is not None else ())]
    return [
        Heading("What this does not show"),
        Paragraph("Read this before you quote a number."),
        Items((*said, _RECALL) if recall is not None else tuple(said)),
    ]


_RECALL: Final = (
    "**Memory in conversations.** The tables on recall ask whether evidence is in the request, not whether an answer "
    "would be right. Joined and generated conversations are labelled so, and generated ones are easy for methods that "
    "match words; who chose the shares of the policy `chat` did so on talks of the same making. Labels of public sets "
    "such as LoCoMo are partly wrong."
)


def _of_material(replay: ReplayOutcome) -> list[str]:
    recorded = {one for run in replay.runs if run.material == "recorded" for one in run.sessions}
    generated = [run for run in replay.runs if run.material == "generated"]
    said = []
    if recorded:
        sources = sorted({one.source for one in recorded})
        said.append(
            f"**Other agents.** {len(recorded)} recorded sessions in {len(sources)} kinds of logs "
            f"({', '.join(sources)}) do not speak for others: the share of tool output, the length of turns and the "
            "habit of reading a file again differ from agent to agent. Long sessions weigh most: "
            f"{_heaviest(replay.runs)}. The intervals are taken over sessions, and are wide for that reason. Sessions "
            "of one task are on the same side of the split, but the same few models made all of them."
        )
    if generated:
        budgets = " and ".join(f"{run.budget:,}" for run in generated)
        said.append(
            f"**Real work at {budgets} tokens.** These sessions are generated, since too few recorded ones are as "
            "long. Who refers to what in them was decided by a program, which was set to be roughly like the recorded "
            "sessions ([material](#material-and-prices) has both). Take them for a check that nothing breaks at that "
            "size, not for evidence."
        )
    return said


def _heaviest(runs: Sequence[Run]) -> str:
    """How much of all references is due in the one session that has most of them."""
    said = []
    for run in runs:
        due = [tally.references for tally in next(iter(run.tallies.values()), ())]
        if run.material == "recorded" and any(due):
            said.append(f"{100 * max(due) / sum(due):.0f} % at {run.budget:,} tokens")
    return f"of all references due, a single one has {' and '.join(said)}" if said else "a single one can have most"
