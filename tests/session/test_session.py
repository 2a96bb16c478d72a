"""The session: the log and a fresh view of it for every call."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.dialogue import exchange, lines, reading, says, session_of, user, work

from foveate import (
    PASSES,
    RECALL_TOOL,
    BudgetError,
    ConfigError,
    Message,
    MessageError,
    ModelProfile,
    PipelineCompiler,
    Session,
    SummaryRequest,
    TokenBudget,
    UnknownModelError,
    UnknownReferenceError,
    load_events,
)
from foveate.budget.tokens import SplintrCounter
from foveate.log.events import CallRecorded, DiagnosticRecorded, Event, Pinned, SummaryRecorded, UsageReported
from foveate.log.messages import Text

# --- append and extend ------------------------------------------------------------------------------------------------


def test_the_quick_start_works() -> None:
    """The API we promise."""
    session = Session(budget=8_000)
    assert session.extend([user("Hello")]) == ["m1"]
    view = session.compile()

    assert view.to("openai") == [user("Hello")]
    assert "verbatim" in str(view.explain())


@pytest.mark.parametrize(
    "bad", [{"role": "robot"}, {"role": "tool", "content": "x"}, 7, {"role": "user", "content": 5}]
)
def test_extend_takes_all_or_nothing(bad: object) -> None:
    """One malformed message and the log stays as it was; the error says which."""
    session = session_of([user("before")])
    events = session.events

    with pytest.raises(MessageError, match=r"^message 1: "):
        session.extend([user("good"), bad, user("good too")])  # type: ignore[list-item]
    assert session.events == events
    assert session.append(user("after")) == "m2"


def test_a_known_id_is_refused() -> None:
    """Ids are unique in a log."""
    session = session_of([user("x")])

    with pytest.raises(MessageError, match="`id` 'm1' is in the log already; leave it empty"):
        session.append(Message(id="m1", role="user", parts=(Text(text="y"),)))


def test_the_same_id_twice_in_one_extend_is_refused() -> None:
    """Before anything is appended."""
    session = Session()
    twice = Message(id="x", role="user", parts=(Text(text="y"),))

    with pytest.raises(MessageError, match="'x'"):
        session.extend([twice, twice])
    assert len(session.messages) == 0


def test_a_given_id_never_meets_one_of_ours() -> None:
    """An id that looks like one of the session's own is refused."""
    with pytest.raises(MessageError, match="looks like one of ours"):
        session_of([Message(id="m2", role="user", parts=(Text(text="a"),)), user("b")])


def test_the_log_keeps_every_message_as_it_was_said() -> None:
    """Whatever requests show of it."""
    session = session_of([*work(8), user("now")], budget=2_000)
    before = [message.text for message in session.messages]
    session.compile()

    assert [message.text for message in session.messages] == before
    assert session.recall("m3") == session.messages[2].text


# --- compile and preview ----------------------------------------------------------------------------------------------


def test_a_compile_records_the_call() -> None:
    """With time, strategy, budget, tokens and the hash of what was sent."""
    session = session_of([user("hi")], budget=8_000)
    view = session.compile(now=7.0)

    body = session.events[-1].body
    assert isinstance(body, CallRecorded)
    assert (body.number, body.strategy, body.strategy_source, body.now) == (1, "pipeline:default", "builtin", 7.0)
    assert (body.budget, body.window, body.reserved, body.tokens) == (8_000, 8_000, 0, view.tokens)
    assert (body.turn, body.messages, body.fates) == (1, 1, {"verbatim": (1, view.items[0].tokens)})
    assert (body.payload_sha256, body.predicted_cached) == (view.payload_sha256, 0)
    assert len(body.strategy_sha256) == 64
    assert session.events[-1].time == 7.0


def test_the_hash_of_a_strategy_tells_its_options_apart() -> None:
    """Two sessions with the same options have the same, and any other option gives another."""

    def hashed(**options: Any) -> str:
        session = session_of([user("hi")], **options)
        session.compile()
        body = session.events[-1].body
        assert isinstance(body, CallRecorded)
        return body.strategy_sha256

    same = [hashed(budget=8_000) for _ in range(2)]
    others = [
        hashed(budget=9_000),
        hashed(budget=8_000, policy="drop"),
        hashed(budget=8_000, passes=[PASSES[-1]]),
        hashed(budget=8_000, compact_when=lambda *_: False),
        hashed(),
    ]
    assert len({*same, *others}) == 6


def test_preview_appends_nothing_and_gives_what_compile_gives() -> None:
    """It serves explain, files on the command line and dry runs."""
    session = session_of([*work(8), user("now")], budget=3_000)
    events = session.events
    previews = [session.preview(now=1.0), session.preview(now=1.0)]

    assert session.events == events
    assert {view.payload for view in previews} == {session.compile(now=1.0).payload}


@pytest.mark.parametrize("budget", [None, 1_500, 6_000])
def test_a_session_rebuilt_from_its_events_gives_the_same_bytes(budget: int | None) -> None:
    """And goes on to give the same."""
    live = session_of([], budget=budget, system="Be kind.", tools=[RECALL_TOOL])
    for turn in range(5):
        live.extend([user(f"look at file{turn}"), *reading(3, first=turn * 3)])
        live.compile(now=float(turn))
    rebuilt = Session.from_events(load_events(live.dump()), budget=budget)
    for session in (live, rebuilt):
        session.extend(work(2))

    assert rebuilt.compile(now=9.0).payload == live.compile(now=9.0).payload
    assert rebuilt.dump() == live.dump()


def test_rebuilding_with_a_model_keeps_the_system_prompt() -> None:
    """Framing that is not given is taken from the events."""
    session = session_of([user("hi")], model="openai:gpt-4o", system="Be kind.")
    rebuilt = Session.from_events(load_events(session.dump()), model="openai:gpt-4o")

    assert rebuilt.compile().to("openai") == session.compile().to("openai")


def test_rebuilding_without_options_keeps_the_model() -> None:
    """The model is part of the framing."""
    session = session_of([user("hi")], model="openai:gpt-4o")
    rebuilt = Session.from_events(load_events(session.dump()))

    assert rebuilt.preview().budget == session.preview().budget


def test_a_floor_above_the_budget_is_an_error_with_the_numbers_and_leaves_the_session_usable() -> None:
    """Unpinning mends it."""
    session = session_of([user("go"), *exchange("1", "Read", lines(200), file_path="x"), user("next")], budget=1_000)
    session.pin("m3")

    with pytest.raises(
        BudgetError, match=r"needs \d+ tokens .*pinned \d+.*`budget` is 1000; raise `budget`, unpin"
    ) as caught:
        session.compile()
    assert caught.value.needed == sum(caught.value.parts.values()) > caught.value.limit == 1_000
    session.unpin("m3")
    assert session.compile().tokens <= 1_000


# --- pin, resolve, recall, usage, turns, framing ----------------------------------------------------------------------


def test_unknown_references_are_errors_that_say_what_is_known() -> None:
    """For every verb that takes one."""
    session = session_of([user("x")], session_id="s1")

    for verb in (session.pin, session.resolve, session.recall):
        with pytest.raises(UnknownReferenceError, match="no message 'm7' in session 's1'; it has 1, named like m1"):
            verb("m7")
    with pytest.raises(UnknownReferenceError, match="'m1' is not pinned"):
        session.unpin("m1")


@pytest.mark.parametrize("reference", ["m0", "m01", "m\u00b2", "m\u0661", "m-1", "m" + "9" * 5_000, "m1_0", 1, None])
@pytest.mark.parametrize("stored", [False, True], ids=["memory", "store"])
def test_only_its_own_id_names_a_message(tmp_path: Path, reference: Any, stored: bool) -> None:
    """What only looks like an id is no alias, and nothing of it gets into the log."""
    session = Session.open(tmp_path / "a.db", "s", budget=8_000) if stored else Session(budget=8_000)
    session.extend([user("Hello."), says("Hi.")])
    session.compile()
    length = len(session.events)

    for refuses in (session.recall, session.pin, session.resolve):
        with pytest.raises(UnknownReferenceError, match="named like m1"):
            refuses(reference)
    assert session.answer_recall({"reference": reference}).startswith("recall: ")
    assert len(session.events) == length
    session.close()


def test_a_recorded_pin_that_names_no_message_keeps_none_and_is_told_of_once() -> None:
    """An earlier version took such a pin, and no request of that session could be compiled any more."""
    session = Session(budget=8_000)
    session.extend([user("Hello."), says("Hi.")])
    session.record(Pinned(message_id="m01"))
    codes = []
    for _ in range(2):
        view = session.compile()
        codes.append([line.partition(":")[0] for line in view.explain().diagnostics])

    assert session.pins == ()
    assert codes == [["stray_pin"], ["stray_pin"]]
    assert sum(isinstance(one.body, DiagnosticRecorded) for one in load_events(session.dump())) == 1


def test_a_resolved_error_needs_no_place_any_more() -> None:
    """Until then it is shown through every reduction."""
    log = [user("go"), *exchange("1", "Bash", "Exit code: 2\nmake: *** failed", command="make"), *work(6), user("now")]
    open_, settled = session_of(log, budget=3_000), session_of(log, budget=3_000)
    settled.resolve("m3")

    assert "open error m3" in open_.compile().to("text")
    assert "open error m3" not in settled.compile().to("text")


def test_recall_gives_content_back_whole_by_lines_and_by_query() -> None:
    """Nothing is ever lost."""
    text = "alpha\nbeta port 4711\ngamma"
    session = session_of([user("go"), *exchange("1", "Read", text, file_path="x")])

    assert session.recall("m3") == text
    assert "beta port 4711" in session.recall("m3", lines=(2, 2))
    assert "gamma" not in session.recall("m3", lines=(2, 2))
    assert "4711" in session.recall("m3", query="port")


@pytest.mark.parametrize(
    "asked", ["{broken", "[]", "{}", '{"reference": 5}', '{"reference": "m99"}', {"reference": "m99"}]
)
def test_a_wrong_recall_of_the_model_is_answered_not_raised(asked: object) -> None:
    """The model is told what was wrong."""
    assert session_of([user("x")]).answer_recall(asked).startswith("recall: ")  # type: ignore[arg-type]


def test_the_recall_tool_is_answered_with_content() -> None:
    """A ready definition and its handler."""
    session = session_of([user("the content")], tools=[RECALL_TOOL])

    assert "the content" in session.answer_recall('{"reference": "m1"}')


def test_placeholders_point_to_the_recall_tool_only_where_the_model_has_it() -> None:
    """Nothing may point to a tool that is not there."""
    log = [*work(8), user("now")]

    assert "recall" not in session_of(log, budget=3_000).compile().to("text")
    assert "recall" in session_of(log, budget=3_000, tools=[RECALL_TOOL]).compile().to("text")


def test_reported_usage_corrects_later_counts() -> None:
    """A provider that counts twice as much halves the room."""
    session = session_of([user("go"), *reading(5)], budget=6_000)
    view = session.compile()
    session.report_usage(view.tokens * 2, 0)
    session.append(user("more"))

    assert session.compile().tokens <= 3_000
    assert UsageReported(call=1, input_tokens=view.tokens * 2, cached_tokens=0) in [
        event.body for event in session.events
    ]


@pytest.mark.parametrize("usage", [(-1, None), (10, -5)])
def test_impossible_usage_is_refused(usage: tuple) -> None:
    """Value and option are named."""
    session = session_of([user("x")])
    session.compile()

    with pytest.raises(ConfigError, match=r"`(input|cached)_tokens` must be .* tokens.*, got"):
        session.report_usage(*usage)


def test_usage_before_any_call_is_refused() -> None:
    """There is nothing it could be about."""
    with pytest.raises(ConfigError, match=r"before any call; `compile\(\)` first"):
        Session().report_usage(5)


def test_reframing_changes_the_next_request_only() -> None:
    """And unknown parts are refused."""
    session = session_of([user("hi")], system="One.")
    first = session.compile().to("openai")
    session.reframe(system="Two.")

    assert session.compile().to("openai") == [{"role": "system", "content": "Two."}, *first[1:]]
    with pytest.raises(TypeError, match="budget"):
        session.reframe(budget=5)  # type: ignore[call-arg]


def test_switching_models_back_restores_the_first_profile() -> None:
    """Window and prices are those of the model in use."""
    session = session_of([user("hi")], model="openai:gpt-4o")
    window = session.preview().budget
    session.reframe(model="anthropic:claude-sonnet-4-5")
    assert session.preview().budget != window
    session.reframe(model="openai:gpt-4o")

    assert session.preview().budget == window


def test_switching_to_a_profile_can_be_recorded() -> None:
    """What the constructor takes, reframe takes."""
    session = session_of([user("hi")], budget=8_000)
    session.reframe(model=ModelProfile(name="mine", window=9_000))
    session.compile()

    assert tuple(load_events(session.dump())) == session.events


# --- subscribers ------------------------------------------------------------------------------------------------------


def test_a_subscriber_sees_every_event_in_order_until_it_stops() -> None:
    """From the moment it subscribed."""
    session = session_of([user("before")])
    seen: list[Event] = []
    stop = session.subscribe(seen.append)
    session.append(user("a"))
    session.compile()
    stop()
    session.append(user("b"))

    assert [event.seq for event in seen] == list(range(seen[0].seq, seen[-1].seq + 1))
    assert isinstance(seen[-1].body, CallRecorded)


def test_a_subscriber_may_append_events() -> None:
    """They are told after the event it is being told of."""
    session = Session()
    order: list[str] = []

    def noting(event: Event) -> None:
        order.append(type(event.body).__name__)
        if isinstance(event.body, CallRecorded):
            session.record(DiagnosticRecorded(code="noted", phase="observe", text="a call"))

    session.subscribe(noting)
    session.append(user("x"))
    session.compile()

    assert order[-2:] == ["CallRecorded", "DiagnosticRecorded"]
    assert [event.seq for event in session.events] == list(range(len(session.events)))


def test_a_subscriber_that_fails_costs_nothing_but_a_diagnostic() -> None:
    """The watched go on."""
    session = session_of([])

    def broken(event: Event) -> None:
        raise RuntimeError("no disk")

    session.subscribe(broken)
    session.append(user("x"))

    assert session.messages[0].text == "x"
    assert any(
        isinstance(e.body, DiagnosticRecorded) and e.body.code == "subscriber_failed" and "no disk" in e.body.text
        for e in session.events
    )


# --- summaries --------------------------------------------------------------------------------------------------------


class Fixed:
    """Answers with one text and keeps what it was asked."""

    name = "fixed"

    def __init__(self, text: object) -> None:
        self.text = text
        self.asked: list[SummaryRequest] = []

    async def summarise(self, request: SummaryRequest, /) -> str:
        self.asked.append(request)
        return self.text  # type: ignore[return-value]


class Failing:
    name = "failing"

    async def summarise(self, request: SummaryRequest, /) -> str:
        raise ConnectionError("no route to model")


class Slow:
    name = "slow"

    async def summarise(self, request: SummaryRequest, /) -> str:
        await asyncio.sleep(30)
        return "too late"


LOG = [*work(8), user("and now?")]
PLAIN = session_of(LOG, budget=3_000).compile().to("openai")


def said(session: Session) -> list[str]:
    return [
        e.body.text
        for e in session.events
        if isinstance(e.body, DiagnosticRecorded) and e.body.code == "summary_failed"
    ]


async def test_a_good_summary_stands_in_the_digest_and_is_recorded() -> None:
    """In place of folded steps and answers."""
    summarizer = Fixed("All eight modules were read and are fine.")
    session = session_of(LOG, budget=3_000, summarizer=summarizer)
    view = await session.acompile()

    assert "All eight modules were read and are fine." in view.to("text")
    assert view.tokens <= 3_000
    (recorded,) = (e.body for e in session.events if isinstance(e.body, SummaryRecorded))
    assert recorded.summarizer == "fixed"
    assert said(session) == []


async def test_a_summary_request_is_a_prefix_of_the_live_conversation() -> None:
    """So that the provider finds it in its cache."""
    summarizer = Fixed("Short.")
    session = session_of(LOG, budget=3_000, summarizer=summarizer, system="Be kind.")
    await session.acompile()
    (request,) = summarizer.asked

    assert request.system == "Be kind."
    assert list(request.messages) == list(session.messages)[: len(request.messages)]
    assert request.previous is None


async def test_a_later_summary_updates_the_one_before() -> None:
    """Iterative, never restarted."""
    summarizer = Fixed("So far so good.")
    session = session_of(LOG, budget=3_000, summarizer=summarizer)
    await session.acompile()
    session.extend([*work(8), user("and then?")])
    await session.acompile()

    assert [request.previous for request in summarizer.asked] == [None, "So far so good."]


@pytest.mark.parametrize(
    ("summarizer", "why"),
    [
        (Failing(), "failing failed: ConnectionError('no route to model')"),
        (Slow(), "slow gave no summary within 0.05 s"),
        (Fixed("  \n"), "fixed: the summary is empty"),
        (Fixed("word " * 5_000), "fixed: the summary has 5001 tokens, more than the"),
    ],
)
async def test_whatever_goes_wrong_with_a_summary_the_call_proceeds_and_a_diagnostic_says_so(
    summarizer, why: str
) -> None:
    """With the digest that needs no model."""
    session = session_of(LOG, budget=3_000, summarizer=summarizer)
    view = await session.acompile(timeout=0.05)

    assert view.to("openai") == PLAIN
    (text,) = said(session)
    assert text.startswith(why)


async def test_a_summarizer_that_returns_no_text_costs_nothing_but_a_diagnostic() -> None:
    """A model that answered with a tool call gives None."""
    session = session_of(LOG, budget=3_000, summarizer=Fixed(None))
    view = await session.acompile()

    assert view.to("openai") == PLAIN
    assert len(said(session)) == 1


async def test_without_a_pending_reduction_no_summarizer_is_asked() -> None:
    """A model is called only when a summary is due."""
    summarizer = Fixed("x")
    session = session_of([user("hi")], budget=3_000, summarizer=summarizer)
    await session.acompile()

    assert summarizer.asked == []


# --- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"budget": 0}, "`budget` must be 1 token or more, got 0"),
        ({"budget": -5}, "`budget` must be 1 token or more, got -5"),
        ({"budget": True}, "`budget` is a number of tokens, got True"),
        ({"budget": "8k"}, "`budget` is a number of tokens or a `TokenBudget`, got '8k'"),
        ({"budget": 8_000, "policy": "fast"}, "unknown `policy` 'fast'; known are default"),
        ({"policy": "mask"}, "`policy` has no effect without a `budget` or `model`; give one"),
        ({"passes": ()}, "`passes` has no effect without a `budget` or `model`; give one"),
        (
            {"compiler": PipelineCompiler(budget=TokenBudget(window=9)), "budget": 5},
            "`compiler` decides for itself; give `budget` to the compiler",
        ),
        (
            {"compiler": PipelineCompiler(budget=TokenBudget(window=9)), "counter": SplintrCounter()},
            "`compiler` decides for itself; give `counter` to the compiler",
        ),
        ({"budget": TokenBudget(window=900, used=5)}, "`used` of `budget` is what the session counts itself, got 5"),
        ({"summarizer": object()}, "`summarizer` has no effect without a `budget` or `model`; give one"),
        ({"model": ModelProfile(name="mine")}, r"no context window is known for `model` 'mine'; give `budget`"),
    ],
)
def test_options_that_cannot_work_are_refused_with_value_option_and_remedy(options: dict, said: str) -> None:
    """At construction, not thousands of messages later."""
    with pytest.raises(ConfigError, match=said):
        Session(**options)


def test_an_unknown_model_says_how_to_give_a_window() -> None:
    """Never a silent guess."""
    with pytest.raises(
        UnknownModelError, match=r"`model` 'gpt-99-ultra' is not in the price list.*Session\(budget=…\)"
    ):
        Session(model="gpt-99-ultra")


@pytest.mark.parametrize("stage", ["fold", 7])
def test_a_pass_that_cannot_work_is_refused_at_construction(stage: object) -> None:
    """Not in the middle of a long session."""
    with pytest.raises(ConfigError, match="pass"):
        Session(budget=8_000, passes=(stage,))  # type: ignore[arg-type]


def test_a_system_prompt_that_is_no_text_is_refused_at_construction() -> None:
    """With value and option."""
    with pytest.raises(ConfigError, match="`system`"):
        Session(system=123)  # type: ignore[arg-type]


def test_all_options_are_keyword_only() -> None:
    """Positions carry no meaning."""
    with pytest.raises(TypeError):
        Session(8_000)  # type: ignore[misc]


def test_a_model_gives_window_minus_reserved_output() -> None:
    """No request above window − reserved output."""
    session = session_of([user("hi")], model=ModelProfile(name="mine", window=10_000, output_limit=2_000))
    budget = session.compile().budget

    assert budget is not None
    assert budget.limit == 8_000


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    """`view.to` is the one lowering."""
    with pytest.raises(ConfigError, match=r"unknown `format` 'morse'; known are openai, .*, text"):
        session_of([says("x")]).compile().to("morse")


def _nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": _nested(5_000)},
        {"role": _nested(5_000), "content": "x"},
        {"role": "tool", "tool_call_id": _nested(5_000), "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": _nested(5_000), "type": "function"}]},
    ],
    ids=["content", "role", "result", "call"],
)
def test_what_is_nested_too_deep_is_refused(message: dict[str, Any]) -> None:
    """Python objects can be nested deeper than anything can look at; the message is named."""
    session = Session()
    with pytest.raises(MessageError, match=r"message 1\b.*(nested deeper|recursion)"):
        session.extend([user("Hello."), message])
    with pytest.raises(MessageError, match=r"message 0\b"):
        session.compile(override=[message])
    assert len(session.messages) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"session_id": "\ud800"}, "`session_id` .* is no name"),
        ({"session_id": 5}, "`session_id` 5 is no name"),
        ({"budget": 10**400}, "`window` is more than 2"),
        ({"budget": 10**5_000}, "`window` is more than 2"),
        ({"tools": [{"name": _nested(5_000)}]}, "`tools` must be plain JSON"),
        ({"system": _nested(5_000)}, "`system` must be plain JSON"),
    ],
)
def test_options_that_nothing_can_be_done_with_are_refused(options: dict[str, Any], said: str) -> None:
    """With the option and a remedy, before anything is recorded."""
    with pytest.raises(ConfigError, match=said):
        Session(**options)


@pytest.mark.parametrize("value", ["x", [], {}, b"x", 1.5, object()])
def test_values_of_a_wrong_type_are_refused_where_they_are_given(value: Any) -> None:
    """Each by an error of our own."""
    session = session_of([user("Hello.")], budget=8_000)
    view = session.compile()

    with pytest.raises(ConfigError, match="`most` must be 1 token or more"):
        session.narrow(value)
    with pytest.raises(UnknownReferenceError, match=r"no call .* to tag"):
        session.tag(call=value, outcome="passed")
    with pytest.raises(UnknownReferenceError, match="is not pinned"):
        session.unpin(value)
    with pytest.raises(UnknownReferenceError, match="no message"):
        view.why(value)
    with pytest.raises(ConfigError, match="unknown `format`"):
        view.to(value)


def test_narrowing_what_has_no_budget_is_refused() -> None:
    """It would have no effect."""
    with pytest.raises(ConfigError, match="`narrow` has no effect without a `budget` or `model`"):
        Session().narrow(500)
    with pytest.raises(ConfigError, match="`narrow` has no effect beside a `compiler`"):
        Session(compiler=PipelineCompiler(budget=TokenBudget(window=900))).narrow(500)
    with pytest.raises(ConfigError, match="`most` must be 1 token or more, got 0"):
        Session(budget=8_000).narrow(0)
    Session().narrow(None)
