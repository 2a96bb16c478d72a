"""The working view: the policy by which an endless chat is reduced, worded by a template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from foveate.budget.window import TokenBudget
from foveate.chat.rendering import rendered
from foveate.chat.templates import Template
from foveate.compiler.policy import Origin, Policy
from foveate.log.items import Item, Line
from foveate.transforms import (
    Compose,
    Distil,
    Fold,
    Forget,
    Mask,
    Present,
    Repair,
    Summarise,
    Transparent,
    TrimCalls,
    Truncate,
    WhenFull,
)
from foveate.transforms.compose import Material, first_kept, folded_tokens, least_of
from foveate.views.draft import Shares
from foveate.views.ledger import BINDING
from foveate.views.timeline import Timeline

# Much of the window is for what is recalled: in a chat of months, nearly everything that matters was said long ago.
SHARES: Final = Shares(recall=0.30, tail_cap=0.50, digests=0.16, users=0.10, answers=0.03)
# Less than this share of the budget is not worth another summary.
_LEAST: Final = 0.10
_SERVED: Final = 0.02
# In a small budget a few digests may stay: a summary at every turn would be read anew at every turn.
_WORTH: Final = 200
_TOPIC: Final = 160
_PLAIN: Final = """
{% if constraints %}Asked for once and for all:
{{ constraints }}

{% endif %}
{% if ledger %}What was said and done:
{{ ledger }}

{% endif %}
{% if plan %}Plan:
{{ plan }}

{% endif %}
{% if reflections %}Learned:
{{ reflections }}

{% endif %}
{% if recent_turns %}Shortly before:
{{ recent_turns }}
{% endif %}
"""
_NOTHING: Final = "Earlier messages are not shown."


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """What of a chat stays as it was said, and when the rest is summarised anew.

    `runs` are finished turns that stay (None: all of them). `threshold` is the size in tokens below which nothing is
    summarised (None: where it is cheapest). With `every_turn` a summary is as new as the last turn.
    """

    runs: int | None = 3
    threshold: int | None = None
    every_turn: bool = False
    turns: int = 3
    results: int = 3


def endless_policy(template: Template, keeping: Keeping, *, computed: str = "") -> Policy:
    """The policy of an endless chat; `computed` is what is known for the newest input besides the chat itself."""
    least = 0.0 if keeping.every_turn else _LEAST
    return Policy(
        name=f"endless:{template.name}",
        passes=(
            Repair(),
            Forget(),  # before all that counts tokens
            Compose(runs=keeping.runs, above=keeping.threshold or 0, least=least),
            Distil(),
            Summarise(),
            Present(
                writer=TemplateWriter(template=template, turns=keeping.turns, computed=computed),
                results=keeping.results,
            ),
            # From here on only what does not fit: recent runs stay as they were said.
            WhenFull(stage=Mask()),
            WhenFull(stage=TrimCalls()),
            WhenFull(stage=Fold()),
            Truncate(),
        ),
        isolation=Transparent(),
        low=0.05,
        # With a threshold the user has said when; without, the cache's prices say it.
        patience=None if keeping.threshold is not None or keeping.every_turn else 1.0,
        shares=SHARES,
        when=Due(keeping=keeping),
        origin=Origin(template.source, template.sha256),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """Whether this call begins a turn whose view is to be made anew; within a turn it never is."""

    keeping: Keeping

    def __call__(self, timeline: Timeline, budget: TokenBudget, /) -> str | None:
        newest = timeline.position(timeline.newest_input) if timeline.newest_input is not None else None
        if newest is None or newest < timeline.sent_messages:
            return None
        return self._summary(timeline, budget) or _served(timeline, budget)

    def _summary(self, timeline: Timeline, budget: TokenBudget) -> str | None:
        keeping, items, tokens = self.keeping, timeline.mender.items, timeline.mender.tokens
        first = first_kept(items, keeping.runs)
        folded = folded_tokens(items)
        older = folded + sum(item.tokens for item in items if item.order < first and not item.is_digest)
        if keeping.every_turn:
            due = tokens > (keeping.threshold or 0) and older
            return "the template asks for a new summary at every turn" if due else None
        if older < budget.limit * least_of(_LEAST, folded):
            return None
        if keeping.threshold is not None:
            return f"more than the template's {keeping.threshold:,} tokens" if tokens > keeping.threshold else None
        if folded and older >= _WORTH:
            return "what an earlier turn had no room for becomes a part of the summary"
        # Within the turn no summary would be made, and tools may say as much as they did before.
        return "there is little room left for this turn" if tokens + _largest_turn(items) > budget.limit else None


def _largest_turn(items: Iterable[Item]) -> int:
    """The tokens of the largest turn that stands as it was."""
    sizes: dict[str | None, int] = {}
    for item in items:
        if not item.is_digest and item.fate != "recalled":
            turn = item.message.meta.execution_id
            sizes[turn] = sizes.get(turn, 0) + item.tokens
    return max(sizes.values(), default=0)


def _served(timeline: Timeline, budget: TokenBudget) -> str | None:
    """Whether what was recalled for earlier inputs takes more than what has to be read again without it."""
    items = timeline.mender.items
    first = next((index for index, item in enumerate(items) if item.fate == "recalled"), None)
    if first is None:
        return None
    tokens = sum(item.tokens for item in items[first:] if item.fate == "recalled")
    behind = sum(item.tokens for item in items[first:]) - tokens
    if tokens < max(behind, budget.limit * _SERVED):
        return None
    return f"{tokens:,} tokens that were recalled for earlier inputs have served"


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateWriter:
    """Fills a template with what a reduction kept, without a model."""

    template: Template
    turns: int = 3
    computed: str = ""

    @property
    def name(self) -> str:
        """The name of the template."""
        return self.template.name

    def write(self, material: Material, /) -> str:
        """The template with its placeholders filled; one that has none, or stays empty, tells nothing of the past."""
        values = values_of(material, turns=self.turns, computed=self.computed)
        text = rendered(self.template, values) if self.template.fills else ""
        return text or rendered(self.template, values, template_text=_PLAIN) or _NOTHING


def values_of(material: Material, *, turns: int, computed: str = "") -> dict[str, Any]:
    """The values of a template's placeholders; each line of the past stands in one of them only."""
    said = [line for line in material.lines if line.kind in ("user", "answer")]
    recent = _newest_turns(said, turns)
    binding = [line for line in said if line.kind == "user" and BINDING.search(line.text) and line not in recent]
    others = [line for line in material.lines if line not in recent and line not in binding]
    return {
        "topic": _topic([*(line.text for line in said if line.kind == "user"), material.latest_input]),
        "constraints": [f"{line.text} ({line.source})" for line in binding],
        "plan": material.plan or "",
        "recent_turns": [{"speaker": _SPEAKER[line.kind], "text": line.text} for line in recent],
        "tool_results": [{"tool": tool, "result": result} for tool, result in material.results],
        "reflections": [{"observation": one.observation, "adjustment": one.adjustment} for one in material.reflections],
        "latest_input": material.latest_input,
        "recalled": [f"{line.source}: {line.text}" for line in material.recalled],
        "ledger": list(_ledger(others)),
        "computed_context": computed,
    }


_SPEAKER: Final[Mapping[str, str]] = {"user": "user", "answer": "assistant"}
_SOURCED: Final[Mapping[str, str]] = {"user": "user ", "answer": "assistant ", "error": "open error ", "step": ""}


def _newest_turns(said: Iterable[Line], turns: int) -> list[Line]:
    """The newest lines of what was said, from a user's words on."""
    lines = list(said)
    begins = [index for index, line in enumerate(lines) if line.kind == "user"]
    return lines[begins[-turns] :] if turns and len(begins) >= turns else (lines if turns else [])


def _topic(said: list[str]) -> str:
    """The newest words of the user that are more than a nod, up to the end of their first sentence."""
    for text in reversed(said):
        words = " ".join(text.split())
        if len(words) > 24 or any(ord(one) > 0x2E80 for one in words):
            end = min((at for mark in ".?!。？！" if (at := words.find(mark)) > 0), default=len(words))
            return words[: min(end + 1, _TOPIC)]
    return ""


def _ledger(lines: Iterable[Line]) -> Iterator[str]:
    for line in lines:
        if line.kind in _SOURCED and line.source:
            yield f"{_SOURCED[line.kind]}{line.source}: {line.text}"
        elif line.kind == "evidence":
            yield f"{line.source}: {line.text}"
        else:
            yield line.text
