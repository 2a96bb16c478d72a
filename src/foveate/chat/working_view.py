"""The working view: the policy by which an endless chat is reduced, worded by a template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Final

from foveate.budget.window import TokenBudget
from foveate.chat.rendering import rendered
from foveate.chat.templates import Template
from foveate.compile.draft import Shares
from foveate.compile.ledger import BINDING
from foveate.compile.passes import (
    Compose,
    Distil,
    Fold,
    Forget,
    Mask,
    Present,
    Repair,
    RestorePins,
    ShowErrors,
    Summarise,
    TrimCalls,
    Truncate,
    WhenFull,
)
from foveate.compile.passes.compose import (
    Material,
    first_kept,
    folded_tokens,
    has_room_for_turn,
    least_of,
    room_for_runs,
)
from foveate.compile.passes.digest import named, worded
from foveate.compile.policy import Origin, Policy
from foveate.compile.projection import Projection
from foveate.log.items import Line
from foveate.log.quoting import (
    flatten_text,
    label_text,
    neutralize_text,
    quote_claim,
    quote_lines,
    quote_name,
    quote_rest,
)

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
# Policies of so many chats at once.
_REMEMBERED: Final = 8
_NOTHING: Final = "Earlier messages are not shown."


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """What of a chat stays as it was said, and when the rest is summarised anew.

    `runs` are finished turns that stay (None: all of them), and with `fill` as many more as have that share of the
    budget together with the summary. `threshold` is the size in tokens below which nothing is summarised (None: until
    there is no room for another turn). With `every_turn` a summary is as new as the last turn.
    """

    runs: int | None = 3
    fill: float | None = None
    threshold: int | None = None
    every_turn: bool = False
    turns: int = 3
    results: int = 3
    recipe_name: ClassVar[str] = "keeping@2"


@lru_cache(maxsize=_REMEMBERED)
def endless_policy(template: Template, keeping: Keeping, *, computed: str = "") -> Policy:
    """The policy of an endless chat; `computed` is what is known for the newest input besides the chat itself.

    It is asked for at every turn and hardly ever another one.
    """
    # With a threshold the user has said when; without, what is little is not worth it.
    least = 0.0 if keeping.every_turn or keeping.threshold is not None else _LEAST
    return Policy(
        name=f"endless:{template.name}",
        passes=(
            RestorePins(),
            Repair(),
            Forget(),  # before all that counts tokens
            Compose(runs=keeping.runs, above=keeping.threshold or 0, least=least, fill=keeping.fill),
            Distil(),
            Summarise(),
            Present(
                writer=TemplateWriter(template=template, computed=computed),
                results=keeping.results,
                turns=keeping.turns,
            ),
            # From here on only what does not fit: recent runs stay as they were said.
            WhenFull(stage=Mask()),
            WhenFull(stage=TrimCalls()),
            WhenFull(stage=Fold()),
            Truncate(),
            ShowErrors(),
        ),
        low=0.05,
        # The cache's prices say when only if neither the user nor the room does.
        patience=None if keeping.threshold is not None or keeping.every_turn or keeping.fill is not None else 1.0,
        shares=SHARES,
        when=Due(keeping=keeping),
        origin=Origin(template.source, template.sha256, template.name),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """Whether this call begins a turn whose view is to be made anew; within a turn it never is."""

    keeping: Keeping
    recipe_name: ClassVar[str] = "due.template@1"

    def __call__(self, timeline: Projection, budget: TokenBudget, /) -> str | None:
        newest = timeline.position(timeline.newest_input) if timeline.newest_input is not None else None
        if newest is None or newest < timeline.sent_messages:
            return None
        return self._summary(timeline, budget) or _served(timeline, budget)

    def _summary(self, timeline: Projection, budget: TokenBudget) -> str | None:
        keeping, items, tokens = self.keeping, timeline.mender.items, timeline.mender.tokens
        room = room_for_runs(keeping.fill, budget.limit, SHARES) if keeping.fill is not None else 0
        first = first_kept(items, keeping.runs, room)
        folded = folded_tokens(items)
        older = folded + sum(item.tokens for item in items if item.order < first and not item.is_digest)
        if keeping.every_turn:
            due = tokens > (keeping.threshold or 0) and older
            return "the template asks for a new summary at every turn" if due else None
        if keeping.threshold is not None:
            due = tokens > keeping.threshold and older
            return f"more than the template's {keeping.threshold:,} tokens" if due else None
        if older < budget.limit * least_of(_LEAST, folded):
            return None
        if folded and older >= _WORTH:
            return "what an earlier turn had no room for becomes a part of the summary"
        # Within the turn no summary would be made, and tools may say as much as they did before.
        used = max(tokens, budget.used)
        return None if has_room_for_turn(items, used, budget.limit) else "there is little room left for this turn"


def _served(timeline: Projection, budget: TokenBudget) -> str | None:
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
    computed: str = ""
    recipe_name: ClassVar[str] = "writer.template@1"

    @property
    def name(self) -> str:
        """The name of the template."""
        return self.template.name

    def write(self, material: Material, /) -> str:
        """The template with its placeholders filled; one that has none, or stays empty, tells nothing of the past."""
        values = values_of(material, computed=self.computed)
        text = rendered(self.template, values) if self.template.fills else ""
        return text or rendered(self.template, values, template_text=_PLAIN) or _NOTHING


def values_of(material: Material, *, computed: str = "") -> dict[str, Any]:
    """The values of a template's placeholders; each line of the past stands in one of them only."""
    recent = {line.source for line in material.turns}
    older = [line for line in material.lines if line.kind not in ("user", "answer") or line.source not in recent]
    # What a program wrote in the user's place binds nobody, and is shown under its own name.
    binding = [line for line in older if _is_users(line) and BINDING.search(line.text)]
    others = [line for line in older if line not in binding]
    users = [line.text for line in (*older, *material.turns) if _is_users(line)]
    return {
        "topic": _topic([*users, material.latest_input]),
        "constraints": [_sourced(line) for line in binding],
        "plan": quote_lines(material.plan) if material.plan else "",
        "recent_turns": [
            {"speaker": line.speaker or _SPEAKER[line.kind], "text": _spoken(line)} for line in material.turns
        ],
        "tool_results": [{"tool": _tool(name), "result": flatten_text(text)} for name, text in material.results],
        "reflections": [
            {"observation": quote_claim(one.observation), "adjustment": quote_claim(one.adjustment)}
            for one in material.reflections
        ],
        "latest_input": quote_lines(material.latest_input) if material.latest_input else "",
        "recalled": list(map(_listed, material.recalled)),
        "ledger": list(map(_listed, others)),
        "computed_context": computed,
    }


# The dot of a file's name ends no sentence.
_SENTENCE_END: Final = re.compile(r"(?<!^)(?:[.?!](?=\s|$)|[。？！])")

_SPEAKER: Final[Mapping[str, str]] = {"user": "user", "answer": "assistant"}


def _is_users(line: Line) -> bool:
    return line.kind == "user" and line.speaker in ("", "user")


def _listed(line: Line) -> str:
    """A line as an item of a list, behind its label; what a tool said stands apart from it, with its mark."""
    words = line.kind == "evidence" and line.speaker in ("user", "assistant")
    return label_text(named(line), line.text) if words else worded(line)


def _tool(name: str) -> str:
    """Who gave a result: a tool, whatever it is called."""
    return f"tool {quote_name(name)}" if name else "tool"


def _spoken(line: Line) -> str:
    """What somebody said, behind a label: only its first line stands as it is."""
    cut = f" […{line.left_out:,} more characters in {flatten_text(line.source)}]" if line.left_out else ""
    return f"{quote_rest(line.text)}{cut}"


def _sourced(line: Line) -> str:
    """What somebody said, with its reference; of several lines all are quoted below it."""
    text = neutralize_text(line.text)
    if line.left_out or "\n" in text:
        return f"{flatten_text(line.source)}:\n{quote_lines(_spoken(line))}"
    return f"{text} ({flatten_text(line.source)})"


def _topic(said: list[str]) -> str:
    """The newest words of the user that are more than a nod, up to the end of their first sentence."""
    for text in reversed(said):
        words = " ".join(text.split())
        if len(words) > 24 or any(ord(one) > 0x2E80 for one in words):
            end = _SENTENCE_END.search(words)
            return words[: min(end.end() if end else len(words), _TOPIC)]
    return ""
