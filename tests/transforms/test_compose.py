"""Compose and its neighbours: everything before the recent runs becomes one summary, as a writer words it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.dialogue import drafted, exchange, lines, says, session_of, user

from foveate.compile.draft import Draft, PassContext
from foveate.compile.passes import Compose, Distil, Forget, Mask, Present, Summarise, WhenFull
from foveate.compile.passes.compose import HEADING, Material
from foveate.compile.policy import POLICIES
from foveate.log.events import RecallRecorded


@dataclass(frozen=True)
class Plain:
    """Writes every line, and what is beside them."""

    name: str = "plain"

    def write(self, material: Material, /) -> str:
        said = [f"{line.kind} {line.source}: {line.text}" for line in material.lines]
        return "\n".join([*said, *(f"{tool} said {text}" for tool, text in material.results), material.latest_input])


@dataclass(frozen=True)
class Endless:
    """Never stops."""

    name: str = "endless"

    def write(self, material: Material, /) -> str:
        return "word " * 20_000


def turns(count: int) -> list[dict[str, Any]]:
    return [
        message
        for turn in range(count)
        for message in (
            user(f"Question {turn}?"),
            *exchange(f"c{turn}", "Read", lines(6, f"file{turn}"), file_path=f"src/file{turn}.py"),
            says(f"Answer {turn}."),
        )
    ]


def composed(messages: list[dict[str, Any]], runs: int | None = 2, **options: Any) -> tuple[Draft, PassContext]:
    draft, ctx = drafted(session_of(messages), limit=8_000)
    return Compose(runs=runs, **options)(draft, ctx), ctx


def test_all_but_the_running_turn_and_the_recent_runs_is_one_item() -> None:
    after, _ = composed([*turns(6), user("And now?")])
    assert [item.id for item in after.items] == ["r1.summary", *(f"m{number}" for number in range(17, 26))]
    assert after.items[0].covers == ((0, 15),)


@pytest.mark.parametrize(("runs", "kept"), [(0, ["m25"]), (None, [f"m{number}" for number in range(1, 26)])])
def test_no_run_or_every_run_may_be_recent(runs: int | None, kept: list[str]) -> None:
    after, _ = composed([*turns(6), user("And now?")], runs)
    assert [item.id for item in after.items if not item.is_digest] == kept


def test_leading_instructions_stay_before_it() -> None:
    after, _ = composed([{"role": "system", "content": "Be brief."}, *turns(5), user("And now?")])
    assert [item.id for item in after.items][:2] == ["m1", "r1.summary"]


def test_it_is_not_needed_for_little_unless_there_is_no_room() -> None:
    draft, ctx = drafted(session_of([*turns(6), user("And now?")]), limit=20_000)
    assert not Compose(runs=2, least=0.5).needed(draft, ctx)
    assert Compose(runs=2, least=0.0).needed(draft, ctx)
    assert not Compose(runs=2, least=0.0, above=draft.tokens).needed(draft, ctx)
    draft, ctx = drafted(session_of([*turns(6), user("And now?")]), limit=draft.tokens - 1)
    assert Compose(runs=2, least=0.9).needed(draft, ctx)


def test_the_summary_is_a_system_message_in_the_writers_words() -> None:
    draft, ctx = composed([*turns(6), user("And now?")])
    for stage in (Distil(), Summarise(), Present(writer=Plain(), results=2)):
        draft = stage(draft, ctx)
    item = draft.items[0]
    assert (item.message.role, item.fate) == ("system", "summarised")
    assert item.message.text.startswith(f"{HEADING}\n")
    assert "user m1: Question 0?" in item.message.text
    assert "Read said file3 0:" in item.message.text
    assert item.message.text.endswith("And now?")
    assert item.tokens == ctx.count_message(item.message)


def test_a_writer_that_finds_no_end_is_cut() -> None:
    draft, ctx = composed([*turns(6), user("And now?")])
    item = Present(writer=Endless())(draft, ctx).items[0]
    assert item.tokens < ctx.limit / 2
    assert "has no room" in item.message.text


def test_what_was_recalled_for_answered_inputs_is_forgotten() -> None:
    # Under a policy that does not forget by itself.
    kept = tuple(stage for stage in POLICIES["chat"].passes if not isinstance(stage, Forget))
    session = session_of(turns(30), budget=2_000, policy=replace(POLICIES["chat"], passes=kept))
    session.compile()
    for number in range(3):
        session.append(user(f"What was in file{number} and src/file{number}.py?"))
        session.compile()
        session.append(says("That."))
    session.append(user("And file7, src/file7.py?"))
    session.compile()
    found = [event.body.item for event in session.events if isinstance(event.body, RecallRecorded)]
    recalled = [item.id for item in found]
    assert len(recalled) > 3
    draft, ctx = drafted(session, limit=8_000)
    # With the earlier ones that had to make room.
    draft = draft.with_items((*found[:-1], *(item for item in draft.items if item not in found[:-1])))
    assert Forget().needed(draft, ctx)
    after = Forget()(draft, ctx)
    assert [item.id for item in after.items if item.fate == "recalled"] == recalled[-1:]
    assert not Forget().needed(after, ctx)


def test_a_pass_for_when_it_is_full_leaves_all_else_alone() -> None:
    draft, ctx = drafted(session_of([user("go"), *exchange("1", "Read", lines(200), file_path="a.py"), *turns(3)]))
    careful = WhenFull(stage=Mask(), share=0.9)
    assert careful.name == "mask"
    assert not careful.needed(draft, ctx)
    _, tight = drafted(session_of(turns(1)), limit=draft.tokens)
    assert careful.needed(draft, tight)
