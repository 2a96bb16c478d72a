"""The compile: from a state to a request that is valid and within budget."""

from contextlib import suppress

import msgspec
import pytest
from inline_snapshot import snapshot
from tests.dialogue import call, calls, exchange, lines, reading, result, says, session_of, user, work

from foveate import (
    PASSES,
    AgentState,
    BudgetAwareCompiler,
    BudgetError,
    ContextSection,
    Draft,
    InvariantError,
    PassContext,
    PipelineCompiler,
    PragmaticCompiler,
    TokenBudget,
    Transparent,
)
from foveate.compile.pass_protocol import reducing_pass
from foveate.compile.passes import Cap, Repair, RestorePins, Truncate
from foveate.log.events import ReductionRecorded
from foveate.log.messages import Message, Text, Thinking


def test_without_a_budget_nothing_is_reduced() -> None:
    """The pragmatic compiler sends the whole history."""
    log = work(6)

    assert session_of(log).compile().to("openai") == log


def test_the_framing_stands_around_the_history() -> None:
    """System prompt first, stable sections behind it, volatile ones after the history."""
    session = session_of([user("hi")], system="Be kind.")
    sections = [
        ContextSection(name="Now", content="12:00"),
        ContextSection(name="Rules", content="No tabs.", tier="stable"),
        ContextSection(name="Empty", content="  "),
    ]

    assert session.compile(sections=sections).to("openai") == snapshot(
        [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "## Rules\nNo tabs."},
            {"role": "user", "content": "hi"},
            {"role": "user", "content": "## Now\n12:00"},
        ]
    )


@pytest.mark.parametrize("policy", ["default", "patient", "transparent", "mask", "drop"])
@pytest.mark.parametrize("budget", [500, 2_000, 6_000])
def test_every_policy_keeps_within_budget_at_every_step(policy: str, budget: int) -> None:
    """No request above the budget, and the newest input always verbatim."""
    session = session_of([], budget=budget, policy=policy, system="Be kind.")
    for message in work(5):
        session.append(message)
        view = session.compile()
        assert view.tokens <= budget
        if message["role"] == "user":
            assert view.to("openai")[-1] == message


def test_without_a_reduction_the_last_request_is_a_prefix_of_the_next() -> None:
    """Byte for byte, so that the provider's cache holds."""
    session = session_of([], budget=4_000)
    before: list[dict] = []
    reductions = 0
    for message in work(8):
        session.append(message)
        view = session.compile()
        request = view.to("openai")
        if view.proposed:
            reductions += 1
        elif not (before and before[-1].get("content") == "[no result was recorded for this call]"):
            assert request[: len(before)] == before
        before = request
    assert reductions


def test_a_compile_is_pure() -> None:
    """Same state, same bytes; and the compiler appends nothing itself."""
    session = session_of(work(6))
    compiler = PipelineCompiler(budget=TokenBudget(window=3_000))
    state = AgentState(context=session.context)
    first, second = compiler.compile(state), compiler.compile(state)

    assert first.payload == second.payload
    assert first.proposed == second.proposed
    assert len(session.events) == session.context.length


def test_the_three_compilers_have_one_contract() -> None:
    """compile(state) -> CompiledContext, each with its name."""
    state = AgentState(context=session_of(work(6)).context)
    budget = TokenBudget(window=3_000)

    views = [
        c.compile(state)
        for c in (PragmaticCompiler(), BudgetAwareCompiler(budget=budget), PipelineCompiler(budget=budget))
    ]
    assert [view.strategy for view in views] == ["pragmatic", "budget-aware", "pipeline:default"]
    assert [view.tokens <= 3_000 for view in views] == [False, True, True]


def test_a_plain_function_is_a_pass() -> None:
    """It gets a draft and what it may know, and its name is in the trace."""

    @reducing_pass
    def shout(draft: Draft, ctx: PassContext) -> Draft:
        assert ctx.limit > ctx.low
        return draft.with_items(
            msgspec.structs.replace(
                item,
                message=msgspec.structs.replace(item.message, parts=(Text(text="LOOKED AT"),)),
                tokens=6,
                fate="masked",
                by="shout",
                why="too quiet",
            )
            if item.message.role == "assistant" and not item.message.calls
            else item
            for item in draft.items
        )

    session = session_of(
        [*work(4), user("now")], budget=3_000, passes=(Cap(), RestorePins(), Repair(), shout, *PASSES[3:])
    )
    view = session.compile()

    (record,) = (record for record in view.records if record.name == "shout")
    assert "m10" in record.rewritten
    assert record.tokens_after < record.tokens_before


def test_passes_can_be_left_out() -> None:
    """A tuple of two is enough."""
    view = session_of([*work(4), user("now")], budget=3_000, passes=(Repair(), Transparent(), Truncate())).compile()

    assert view.tokens <= 3_000
    assert [record.name for record in view.records] == ["repair", "isolate", "truncate"]


def test_a_pass_that_breaks_a_pair_is_an_invariant_error_and_nothing_is_recorded() -> None:
    """A broken request is never handed out."""

    @reducing_pass
    def lose_results(draft: Draft, ctx: PassContext) -> Draft:
        return draft.with_items(item for item in draft.items if item.message.role != "tool")

    session = session_of([user("go"), *reading(12)], budget=3_000, passes=(lose_results,))
    events = len(session.events)

    with pytest.raises(InvariantError, match="pairing") as caught:
        session.compile()
    assert any("unanswered" in what for what in caught.value.violations)
    assert len(session.events) == events


def test_passes_that_do_not_fit_are_a_budget_error_that_says_what_to_do() -> None:
    """Leaving out the last resort is allowed, an overflow is not."""
    session = session_of([*work(4), user("now")], budget=2_000, passes=(Repair(),))

    with pytest.raises(BudgetError, match=r"end `passes` with `Truncate\(\)` or raise `budget`") as caught:
        session.compile()
    assert caught.value.needed > caught.value.limit == 2_000


def test_the_floor_is_found_before_any_work_with_its_parts() -> None:
    """System, pins and newest input are named with their numbers."""
    session = session_of([*work(3), user("question " * 50)], budget=200, system="rule " * 200)

    with pytest.raises(BudgetError) as caught:
        session.compile()
    assert str(caught.value) == snapshot(
        "what must be sent needs 263 tokens (system, tools and sections 208, newest input 55) but `budget` is 200; "
        "raise `budget`, or shorten system prompt, tools or input"
    )
    assert caught.value.parts == {
        "system, tools and sections": 208,
        "leading system messages": 0,
        "pinned": 0,
        "newest input": 55,
    }
    assert (caught.value.needed, caught.value.limit) == (263, 200)


def test_leading_system_messages_and_pins_are_told_apart() -> None:
    """Nobody pinned the instructions of an agent that sends them as its first messages, and nobody can unpin them."""
    instructions = {"role": "system", "content": "rule " * 200}
    session = session_of([instructions, *work(3), user("question")], budget=150)

    with pytest.raises(BudgetError) as caught:
        session.compile()
    assert "(system, tools and sections 3, leading system messages 205, newest input 5)" in str(caught.value)
    assert str(caught.value).endswith(
        "raise `budget`, or shorten system prompt, tools, leading system messages or input"
    )
    session.pin("m2")
    with pytest.raises(BudgetError, match=r"pinned \d+, newest input 5\).*raise `budget`, unpin, or shorten") as caught:
        session.compile()
    assert caught.value.parts["leading system messages"] == 205


def test_tools_and_response_format_count() -> None:
    """The whole request is counted."""
    tool = {"type": "function", "function": {"name": "f", "description": "word " * 500, "parameters": {}}}
    bare = session_of([user("hi")]).compile().tokens

    assert session_of([user("hi")], tools=[tool]).compile().tokens > bare + 490
    assert (
        session_of([user("hi")], response_format={"type": "json_schema", "x": "word " * 500}).compile().tokens
        > bare + 490
    )


def test_chinese_is_not_counted_low_and_fits() -> None:
    """A Chinese session keeps within budget like any other."""
    session = session_of([], budget=1_500)
    for turn in range(12):
        session.extend(
            [
                user(f"请看第{turn}个文件，必须保留订单表。"),
                *exchange(f"c{turn}", "Read", "订单处理模块的内容。" * 60, file_path=f"src/订单{turn}.py"),
                says("看完了。"),
            ]
        )
        assert session.compile().tokens <= 1_500


def test_images_count_and_go_with_their_message() -> None:
    """An image is not free."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    session = session_of(
        [m for n in range(6) for m in (user([{"type": "text", "text": f"picture {n}"}, image]), says(f"seen {n}"))],
        budget=4_000,
    )
    view = session.compile()

    assert session_of([user([image])]).compile().tokens > 1_000
    assert view.tokens <= 4_000
    assert any(record.fate != "verbatim" for record in view.explain().fates)


def test_thinking_is_untouched_or_gone_whole() -> None:
    """Its signature binds its text."""
    thought = Thinking(text=lines(20), signature="sig")
    log = [
        m
        for n in range(8)
        for m in (
            user(f"q{n}"),
            Message(id="", role="assistant", parts=(thought, Text(text=f"answer {n} " + lines(10)))),
        )
    ]
    view = session_of([*log, user("now")], budget=3_000).compile()

    shown = [part for message in view.messages for part in message.parts if isinstance(part, Thinking)]
    assert all(part == thought for part in shown)
    assert view.tokens <= 3_000


@pytest.mark.parametrize("where", ["user", "answer", "output", "arguments"])
def test_a_message_of_a_megabyte_does_no_harm(where: str) -> None:
    """Wherever it stands, the next request is small and valid."""
    huge = "some_word_1 " * 85_000
    messages = {
        "user": [user(huge), says("ok")],
        "answer": [user("go"), says(huge)],
        "output": [user("go"), *exchange("1", "Bash", huge, command="cat")],
        "arguments": [user("go"), *exchange("1", "Write", "ok", file_path="x", content=huge)],
    }[where]
    session = session_of([*messages, user("and now?")], budget=4_000)
    view = session.compile()

    assert view.tokens <= 4_000
    assert view.to("openai")[-1] == user("and now?")


def test_half_a_character_does_no_harm() -> None:
    """A tool cut an emoji in two; json.loads gives such strings."""
    assert session_of([user("cut \ud83d here")], budget=4_000).compile().tokens > 0


def test_an_open_error_keeps_a_line_when_truncate_drops_its_exchange() -> None:
    """Open errors yield to one line each, not to nothing while sixty later messages stand."""
    session = session_of(
        [user("hi"), *exchange("zz", "Bash", "Error: make failed", command="make"), *work(12)],
        budget=4_000,
        policy="mask",
    )

    assert "make failed" in session.compile().to("text")


@pytest.mark.parametrize("late", [False, True])
def test_a_failed_result_apart_from_its_call_survives_a_reduction(late: bool) -> None:
    """A call that came back too late with an error, or an error without its call, is no reason to fail."""
    session = session_of([user("hi")], budget=4_000)
    if late:
        session.append(calls(call("slow", "Bash", command="make")))
        session.compile()
    session.append(result("slow", "Error: it failed"))
    session.extend(work(8))

    assert session.compile().tokens <= 4_000


def test_the_drop_policy_survives_an_open_error() -> None:
    """A built-in policy never breaks a rule."""
    session = session_of(
        [user("hi"), *exchange("zz", "Bash", "Error: make failed", command="make"), *work(8)],
        budget=4_000,
        policy="drop",
    )

    assert session.compile().tokens <= 4_000


def test_open_errors_on_both_sides_of_the_newest_input_fit_any_budget() -> None:
    """Either the request fits or a BudgetError says why it cannot."""
    for budget in range(100, 600, 4):
        session = session_of(
            [
                user("first"),
                *exchange("zz", "Bash", "Error: make failed", command="make"),
                user("second " + lines(5)),
                *exchange("yy", "Edit", "Error: edit failed " + lines(20), file_path="a.py"),
                *reading(5),
            ],
            budget=budget,
        )
        with suppress(BudgetError):
            assert session.compile().tokens <= budget


def test_open_errors_in_a_rare_script_fit_any_budget() -> None:
    """A line is short in characters, not in tokens."""
    failed = [m for n in range(8) for m in exchange(f"z{n}", "Bash", "Error: " + "𓀀𓁀𒀀" * 60, command=f"make{n}")]
    for budget in range(300, 3_000, 150):
        view = session_of([user("first"), *failed, user("second"), *reading(5)], budget=budget).compile()
        assert view.tokens <= budget


def test_a_pinned_result_does_not_hold_its_huge_sibling() -> None:
    """A BudgetError only if system, tools, pins and newest input alone do not fit."""
    session = session_of(
        [
            user("hi"),
            calls(call("a", "Read", file_path="x"), call("b", "Read", file_path="y")),
            result("a", "short"),
            result("b", lines(2_000)),
            user("go"),
        ],
        budget=4_000,
    )
    session.pin("m3")

    assert session.compile().tokens <= 4_000


def test_late_results_leave_the_prefix_alone_under_a_budget_too() -> None:
    """A result that comes after its call was sent is appended, not inserted."""
    session = session_of(
        [user("go"), calls(call("a", "Bash", command="make"), call("b", "Bash", command="ls"))], budget=8_000
    )
    first = session.compile().to("openai")
    session.extend([result("b", "files"), result("a", "built")])
    second = session.compile()

    assert second.to("openai")[: len(first)] == first
    assert not second.proposed
    assert "built" in second.to("text")


def test_a_reduction_goes_from_the_high_mark_well_below_it() -> None:
    """In one rewrite, not by a message per call."""
    session = session_of([], budget=4_000, policy="patient")
    made = []
    for message in work(10):
        session.append(message)
        view = session.compile()
        made += [body for body in view.proposed if isinstance(body, ReductionRecorded)]

    assert 1 <= len(made) <= 12
    assert all(one.after < 0.75 * 4_000 for one in made)
