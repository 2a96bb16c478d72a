"""The report: results become a Markdown page, plots, an HTML page, and the table in the README."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import msgspec

from bench.behind import behind_elsewhere
from bench.blocks import Block, Paragraph, markdown, rows_of
from bench.chapters import all_numbers, by_budget, in_short, introduced
from bench.figures import figures
from bench.further_verdicts import further
from bench.headline import CAPPED, RULE, headline_note, headline_table, lighter_table, weight_note
from bench.judging import judged
from bench.limits import limits
from bench.measurements import grown, on_engine, recalled
from bench.outcome import EngineOutcome, GrowthOutcome, Outcome, RecallOutcome, ReplayOutcome, loaded
from bench.page import page
from bench.participants import material, participants, violations
from bench.standings import Contest, contests, families_of
from foveate.errors import ConfigError

TITLE: Final = "Foveate beside its peers"
BEGIN: Final = "<!-- benchmark:begin -->"
END: Final = "<!-- benchmark:end -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What was measured so far."""

    replay: ReplayOutcome | None = None
    growth: GrowthOutcome | None = None
    engine: EngineOutcome | None = None
    recall: RecallOutcome | None = None

    @classmethod
    def of(cls, folder: Path) -> Self:
        """The results in a folder; at least one of them must be there."""
        found = cls(
            replay=_read(folder / "replay.json", ReplayOutcome),
            growth=_read(folder / "growth.json", GrowthOutcome),
            engine=_read(folder / "engine.json", EngineOutcome),
            recall=_read(folder / "recall.json", RecallOutcome),
        )
        if found == cls():
            raise ConfigError(f"no results in {folder}; `foveate-bench replay` makes the first ones")
        return found


def written(folder: Path) -> list[Path]:
    """Write the pages of a folder from its `results`; the same results give the same bytes."""
    results = Results.of(folder / "results")
    held = contests(results.replay) if results.replay is not None else []
    blocks = _blocks(results, held)
    drawn = figures(held, results.growth, results.engine, results.recall)
    texts = {
        folder / "README.md": markdown(TITLE, blocks),
        folder / "index.html": page(TITLE, blocks, drawn),
        **{folder / "figures" / f"{name}.svg": svg for name, svg in drawn.items()},
    }
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    # A plot of what is no longer among the results would be taken for one of them.
    for old in set((folder / "figures").glob("*.svg")) - set(texts):
        old.unlink()
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8", newline="\n")
    return list(texts)


def headline(outcome: ReplayOutcome) -> str:
    """A short table in Markdown: Foveate, its best settings, the strongest peers and the untouched history."""
    held = contests(outcome)
    table = headline_table(held, outcome.stamp.command)
    return f"{rows_of(table.head, table.rows, words=table.words)}\n\n{headline_note(held)}"


def refreshed(readme: Path, outcome: ReplayOutcome) -> bool:
    """Put the headline between the marks of a README; whether that changed it."""
    text = readme.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ConfigError(f"{readme} must have {BEGIN} once and {END} once behind it; put both where the table belongs")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    changed = f"{before}{BEGIN}\n\n{headline(outcome)}\n\n{END}{after}"
    if changed != text:
        readme.write_text(changed, encoding="utf-8", newline="\n")
    return changed != text


def _read(path: Path, kind: type[Outcome]) -> Outcome | None:
    try:
        return loaded(path, kind)
    except msgspec.DecodeError as error:
        raise ConfigError(f"{path} is no result of this version: {error}; measure it again") from error


def _blocks(results: Results, held: Sequence[Contest]) -> list[Block]:
    replay, growth, engine, recall = results.replay, results.growth, results.engine, results.recall
    claims, elsewhere = further(growth, recall), behind_elsewhere(growth, engine, recall)
    blocks: list[Block] = []
    if replay is not None:
        command = replay.stamp.command
        blocks += introduced(replay)
        blocks += in_short(held, _headline(held, command), claims, elsewhere)
        blocks += by_budget(held, command)
        blocks += judged(held, claims, elsewhere, command)
        blocks += violations(held, command)
        blocks += all_numbers(held, command)
    blocks += grown(growth) if growth is not None else []
    blocks += on_engine(engine, families_of(held)) if engine is not None else []
    blocks += recalled(recall) if recall is not None else []
    if replay is not None:
        blocks += participants(replay)
        blocks += material(replay)
    return blocks + limits(replay, recall)


def _headline(held: Sequence[Contest], command: str) -> list[Block]:
    """The table for who reads no further, and how much of it one session decides."""
    blocks: list[Block] = [Paragraph(RULE), headline_table(held, command)]
    if any(one.name == "foveate-capped" for contest in held for one in contest.arms):
        blocks.append(Paragraph(CAPPED))
    lighter = lighter_table(held, command)
    return [*blocks, Paragraph(weight_note(held)), lighter] if lighter is not None else blocks
