"""Request passes: what they take out of a message is in no request, whatever becomes of the message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.dialogue import exchange, lines, reading, says, session_of, user, work

from foveate import (
    PASSES,
    POLICIES,
    RECALL_TOOL,
    ConfigError,
    ContextSection,
    Draft,
    PassContext,
    Policy,
    Session,
    SummaryRequest,
    load_events,
    reducing_pass,
    request_pass,
)
from foveate.log.events import CallRecorded, ReductionRecorded
from foveate.log.messages import Text
from foveate.log.rewriting import rewrite_arguments
from foveate.wire.formats import FORMATS

KEY = "sk-live-4711"


@request_pass
def redact(draft: Draft, ctx: PassContext) -> Draft:
    """Take out the key."""
    return draft.with_text(lambda text: text.replace(KEY, "[redacted]"))


def leaking(turns: int = 6) -> list[dict]:
    """A conversation with the key in words, calls, results, errors, plans and decisions."""
    failed = exchange("e", "bash", f"fatal: {KEY} was refused\nexit code 1", command=f"curl -H {KEY} api.test/orders")
    return [
        user(f"Never commit {KEY}; we will use vault.py."),
        *failed,
        *exchange("k", "Read", f"{lines(20)}\nAPI_KEY = {KEY}\n{lines(20)}", file_path=f"conf/{KEY}.py"),
        *work(turns),
        user(f"Which key is in vault.py and API_KEY, {KEY}?"),
    ]


def shown(view) -> str:
    """All that could be sent of a view."""
    return "\n".join(
        [view.to("text"), *(json.dumps(one.lower(view.request), default=repr) for one in FORMATS.values())]
    )


@pytest.mark.parametrize("options", [{}, {"budget": 100_000}, {"budget": 2_000}], ids=["none", "large", "small"])
def test_no_request_shows_what_a_request_pass_takes_out(options: dict) -> None:
    """Reduced or not, with a budget or without, in previews and calls, and where nothing else was recorded."""
    passes = (redact, *PASSES) if options else (redact,)
    session = session_of(leaking(), passes=passes, **options)

    assert KEY not in shown(session.preview())
    assert KEY not in shown(session.compile(now=0.0))
    session.extend([*work(3), user(f"and {KEY}?")])
    view = session.compile(now=10_000.0)
    assert KEY not in shown(view)
    assert "[redacted]" in shown(view)
    assert KEY in session.messages[0].text


@pytest.mark.parametrize("policy", POLICIES)
def test_it_runs_in_every_policy_that_a_session_changes_to(policy: str) -> None:
    """What every request needs is no part of how the past is reduced."""
    session = session_of(leaking(3), budget=1_500, passes=(redact, *PASSES))
    session.use(policy)
    session.compile()
    session.extend([*work(4), user(f"now {KEY}")])

    assert KEY not in shown(session.compile())


def test_a_past_call_is_rebuilt_without_the_pass() -> None:
    """What it changed is recorded, like a reduction."""
    session = session_of(leaking(), budget=2_000, passes=(redact, *PASSES), system=f"Hide {KEY}.")
    section = ContextSection(name="env", content=f"KEY={KEY}", tier="stable")
    views = [session.compile(sections=[section]), session.compile(override=[user(f"just {KEY}")])]
    session.extend([*reading(3), user("next")])
    views.append(session.compile())
    again = Session.from_events(load_events(session.dump()), budget=2_000)

    assert [again.call(view.number).payload for view in views] == [view.payload for view in views]
    assert not any(KEY in shown(view) for view in views)
    assert again.preview().payload == session.preview().payload


def test_a_pass_is_asked_about_each_message_once() -> None:
    """What was sent stays as it is, so the prefix is cached; a resumed session goes on where the last one stopped."""
    seen: list[str] = []

    @request_pass
    def watch(draft: Draft, ctx: PassContext) -> Draft:
        seen.extend(item.id for item in draft.items)
        return draft

    session = session_of([user("a"), says("b"), user("c")], passes=(watch,))
    session.compile()
    session.extend([says("d"), user("e")])
    first = session.compile()
    assert seen == ["m1", "m2", "m3", "m4", "m5"]
    assert [record.name for record in first.records] == ["watch"]
    assert first.proposed == ()

    resumed = Session.from_events(load_events(session.dump()), passes=(watch,))
    resumed.append(user("f"))
    resumed.compile()
    assert seen[5:] == ["m6"]


def test_a_pass_that_comes_later_is_asked_about_all_that_was_said() -> None:
    """Also about digests that were made before it came; what it changes there is a rewrite of what was sent."""
    session = session_of(leaking(), budget=2_000)
    assert KEY in shown(session.compile())
    later = Session.from_events(load_events(session.dump()), budget=2_000, passes=(redact, *PASSES))
    later.append(user("and now?"))

    view = later.compile()
    assert KEY not in shown(view)
    later.extend([*work(5), user(f"what was API_KEY in vault.py? {KEY}")])
    assert KEY not in shown(later.compile())
    assert view.explain(json=True)["stages"][0]["name"] == "redact"


@pytest.mark.parametrize("policy", ["default", "lines"])
def test_a_pass_that_comes_as_much_is_evicted_hides_what_was_evicted_before(policy: str) -> None:
    """The lines that digests quote were read when nobody took anything out of them."""
    conf = exchange("a", "Read", f"rotation_key = '{KEY}'\n{lines(60)}", file_path="conf/vault.py")
    session = session_of([user("Begin."), *conf, *work(8)], budget=8_000, policy=policy)
    session.compile()
    passes = (redact, *POLICIES[policy].passes)
    later = Session.from_events(load_events(session.dump()), budget=8_000, policy=policy, passes=passes)
    for number in range(4):
        later.extend(exchange(f"e{number}", "Grep", lines(2), pattern="rotation_key"))
    later.extend([*work(8), user("Go on.")])
    view = later.compile()
    assert any(body.trigger == "must" for body in view.proposed if isinstance(body, ReductionRecorded))
    assert policy == "default" or "rotation_key = '[redacted]'" in shown(view)
    assert KEY not in shown(view)


def test_errors_stay_open_in_a_digest_whose_words_alone_are_rewritten() -> None:
    """Its other lines are not shown again, as nobody knows what of them was to be taken out."""

    @request_pass
    def relabel(draft: Draft, ctx: PassContext) -> Draft:
        return draft.with_text(lambda text: text.replace("[earlier in this session", "[before"))

    failed = exchange("e", "bash", "fatal: no such remote\nexit code 1", command="git push")
    session = session_of([user("Begin."), *failed, *work(12)], budget=4_000, policy="lines")
    assert "open error m3" in session.compile().to("text")
    later = Session.from_events(load_events(session.dump()), budget=8_000, passes=(relabel, *PASSES))
    view = later.compile()
    assert "open error m3" in view.to("text")
    digests = [item for item in view.items if item.is_digest and item.fate != "recalled"]
    assert [(line.kind, line.source) for item in digests for line in item.lines] == [("error", "m3")]


def test_what_comes_back_was_rewritten_too(tmp_path: Path) -> None:
    """Pins, recalled passages and the answers of the recall tool, in this process and in the next."""
    options = {"budget": 2_000, "passes": (redact, *PASSES), "tools": [RECALL_TOOL]}
    with Session.open(tmp_path / "a.db", "s", **options) as session:
        session.extend(leaking())
        session.compile()
        assert KEY not in session.recall("m5")
        assert "API_KEY = [redacted]" in session.answer_recall({"reference": "m5", "query": "API_KEY"})
        session.pin("m5")
        assert KEY not in shown(session.compile())
    with Session.open(tmp_path / "a.db", "s", **options) as session:
        session.unpin("m5")
        session.extend([*work(4), user("What is API_KEY in vault.py, and which commit was refused?")])
        view = session.compile()
        assert KEY not in shown(view)
        assert KEY not in session.recall("m3")
        session.pin("m3")
        assert KEY not in shown(session.compile())


async def test_a_summarizer_is_given_what_requests_show() -> None:
    """Or it would write down what was taken out."""

    class Writer:
        name = "writer"
        given = ""

        async def summarise(self, request: SummaryRequest, /) -> str:
            self.given = "\n".join(str(msgspec.to_builtins(message)) for message in request.messages)
            return "They worked on orders."

    writer = Writer()
    session = session_of(leaking(), budget=2_000, passes=(redact, *PASSES), summarizer=writer)
    view = await session.acompile()

    assert "[redacted]" in writer.given
    assert KEY not in writer.given
    assert KEY not in shown(view)


def test_explain_and_the_log_say_what_was_rewritten() -> None:
    """By which pass, at which call, in the reduction it became a part of."""
    session = session_of([user(f"use {KEY}"), says("ok")], passes=(redact,))
    view = session.compile()
    record, body = view.explain().fates[0], session.events[-2].body

    assert (record.fate, record.by, record.call) == ("rewritten", "redact", 1)
    assert view.why("m1").startswith("m1 is rewritten by redact at call 1: rewritten before any request showed it")
    assert isinstance(body, ReductionRecorded)
    assert (body.trigger, body.reason, len(body.layout)) == ("request", "redact rewrote 1 message", 1)
    assert isinstance(session.events[-1].body, CallRecorded)


def test_an_event_of_a_long_session_has_only_what_is_new() -> None:
    """What was sent is not listed again at each call: storage grows with the log."""
    session = session_of([user("go"), *reading(30)], passes=(redact,))
    session.compile()
    session.append(user(f"hide {KEY}"))
    (body,) = session.compile().proposed

    assert isinstance(body, ReductionRecorded)
    assert [entry.id if hasattr(entry, "id") else entry.item.id for entry in body.layout] == ["m62"]
    assert body.behind == "m61"


def test_thinking_that_would_be_rewritten_is_left_out_whole() -> None:
    """Its signature binds it to its text."""
    thinks = {"type": "thinking", "thinking": f"They use {KEY}.", "signature": "sig"}
    reply = {"role": "assistant", "content": [thinks, {"type": "text", "text": "Yes."}]}
    view = session_of([user("go"), reply, user("next")], passes=(redact,)).compile()

    assert KEY not in shown(view)
    assert [type(part) for part in view.items[1].message.parts] == [Text]


def _losing(draft: Draft, ctx: PassContext) -> Draft:
    return draft.with_items(item for item in draft.items if item.message.role != "user")


def _emptying(draft: Draft, ctx: PassContext) -> Draft:
    return draft.with_text(lambda text: "")


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        (_losing, r"`_losing` runs on every request and gave back other items than it was given \(m1\)"),
        (_emptying, r"`_emptying` left nothing of m1.*put a word such as \[redacted\]"),
    ],
)
def test_a_request_pass_rewrites_messages_one_for_one(stage, said: str) -> None:
    """Which messages a request has is decided by reductions, under the rules."""
    session = session_of([user("go")], passes=(request_pass(stage),))
    events = len(session.events)
    with pytest.raises(ConfigError, match=said):
        session.compile()
    assert len(session.events) == events


def test_it_stands_where_nothing_is_cut_yet() -> None:
    """Behind a pass that leaves a part of a message, half a key may be left, which nobody finds."""
    first, *rest = PASSES
    with pytest.raises(ConfigError, match=r"`redact` rewrites messages and stands behind `cap`.*put it before `cap`"):
        Policy(name="x", passes=(first, redact, *rest))


def test_without_a_budget_only_request_passes_are_taken() -> None:
    """There are no reductions that the others could run in."""
    quiet = reducing_pass(lambda draft, ctx: draft)
    quiet.__name__ = "quiet"
    with pytest.raises(ConfigError, match=r"`passes` has no effect without a `budget`.*as `quiet` does"):
        Session(passes=(redact, quiet))


UNKNOWN_TYPES: dict[str, list[dict[str, Any]]] = {
    "anthropic": [
        {
            "role": "user",
            "content": [{"type": "text", "text": "key s3cret"}, {"type": "next_year", "v": {"a": "s3cret"}}],
        },
        {"content": [{"id": "t1", "name": "Bash", "input": {"c": "s3cret"}, "type": "tool_use"}], "role": "assistant"},
        {
            "role": "user",
            "content": [{"is_error": False, "content": "s3cret", "tool_use_id": "t1", "type": "tool_result"}],
        },
        {"role": "system", "content": "a s3cret reminder"},
    ],
    "openai-responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "s3cret"}], "id": "msg_1"},
        {"type": "agent_message", "author": "s3cret", "content": "s3cret"},
        {"type": "function_call", "call_id": "c", "name": "x", "arguments": '{"a": "s3cret"}', "id": "fc_1"},
        {"type": "function_call_output", "call_id": "c", "output": "s3cret", "id": "fco_1"},
    ],
    "gemini": [{"parts": [{"text": "s3cret"}, {"zork": {"a": "s3cret"}}], "role": "user"}],
}


@pytest.mark.parametrize("format", UNKNOWN_TYPES)
def test_what_only_one_format_understands_is_rewritten_too(format: str) -> None:
    """Neither a block of an unknown type nor the original of a message brings back what a pass took out."""

    @request_pass
    def without_secrets(draft: Draft, ctx: PassContext) -> Draft:
        return draft.with_text(lambda text: text.replace("s3cret", "[gone]"))

    session = Session(passes=(without_secrets, *PASSES), budget=8_000)
    session.extend(UNKNOWN_TYPES[format])
    sent = json.dumps(session.compile().to(format))

    assert "s3cret" not in sent and "[gone]" in sent
    assert json.dumps(session.call(1).to(format)) == sent


PROMPTS = {
    "text": f"the key {KEY}",
    "anthropic": [{"text": f"the key {KEY}", "type": "text", "cache_control": {"type": "ephemeral"}}],
    "gemini": {"role": "user", "parts": [{"text": f"the key {KEY}"}, {"text": "and more"}]},
}


@pytest.mark.parametrize("given", PROMPTS.values(), ids=PROMPTS)
def test_a_system_prompt_is_rewritten_in_whatever_form_it_was_given(given: Any) -> None:
    """As text, as blocks, as an instruction: in every format, in the payload, and in later and past calls."""
    session = Session(system=given, passes=(redact,))
    session.append(user("Hello."))
    first = session.compile()
    session.append(user("Hello again."))
    second = session.compile()

    for view in (first, second, session.call(1), session.call(2)):
        assert KEY not in shown(view) and KEY.encode() not in view.payload
        assert "the key [redacted]" in view.to("text")
    assert second.payload.startswith(first.payload.removesuffix(b"null]}"))


def test_a_rewritten_system_prompt_keeps_its_form() -> None:
    """Blocks stay blocks, in the order of their fields, with their cache marks; an instruction keeps its role."""
    sent = {}
    for form in ("anthropic", "gemini"):
        session = Session(system=PROMPTS[form], passes=(redact,))
        session.append(user("Hello."))
        sent[form] = session.compile().to(form)

    assert json.dumps(sent["anthropic"]["system"]) == json.dumps(PROMPTS["anthropic"]).replace(KEY, "[redacted]")
    assert json.dumps(sent["gemini"]["systemInstruction"]) == json.dumps(PROMPTS["gemini"]).replace(KEY, "[redacted]")


def test_a_section_is_rewritten_with_its_name_and_source() -> None:
    """The name heads the section in the request, the source stands in the account of it."""
    session = session_of([user("Hello.")], passes=(redact,))
    view = session.compile(sections=[ContextSection(name=f"n {KEY}", content=f"c {KEY}", source=f"vault/{KEY}")])

    assert KEY not in shown(view) + json.dumps(view.explain(json=True))
    assert "## n [redacted]\nc [redacted]" in view.to("text")


@pytest.mark.parametrize("budget", [None, 2_000], ids=["whole", "reduced"])
def test_an_account_shows_what_requests_may_show(budget: int | None) -> None:
    """The previews of messages are of what the passes left of them, also of those that were folded at once."""
    passes = (redact,) if budget is None else (redact, *PASSES)
    session = session_of(leaking(), passes=passes, **({} if budget is None else {"budget": budget}))

    for view in (session.preview(), session.compile(), session.call(1), session.compile()):
        account = view.explain()
        assert KEY not in json.dumps(account.as_dict()) + str(account)
        assert "[redacted]" in account.fates[0].preview


def test_names_of_fields_and_types_stay() -> None:
    """A word that is taken out may be one that a format or a tool uses."""

    @request_pass
    def without_words(draft: Draft, ctx: PassContext) -> Draft:
        return draft.with_text(lambda text: text.replace("type", "[x]").replace("text", "[y]").replace("thinking", "-"))

    session = Session(passes=(without_words,))
    session.extend(
        [
            {"role": "user", "content": [{"type": "hologram", "text": "a text"}, {"type": "text", "text": "my type"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "redacted_thinking", "data": "c2ln"},
                    {"type": "tool_use", "id": "t1", "name": "Note", "input": {"text": "a text", "type": "text"}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a text"}]},
        ],
        format="anthropic",
    )
    sent = session.compile().to("anthropic")["messages"]

    assert [block["type"] for message in sent for block in message["content"]] == [
        "hologram",
        "text",
        "redacted_thinking",
        "tool_use",
        "tool_result",
    ]
    assert sent[0]["content"][0] == {"type": "hologram", "text": "a [y]"}
    assert sent[1]["content"][1]["input"] == {"text": "a [y]", "type": "[y]"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"card": 4711, "ok": true}', '{"card":"[gone]","ok":true}'),
        ('{"4711": "4711"}', '{"4711":"[gone]"}'),
        ('{"a": ["4711", {"b": "x"}]}', '{"a":["[gone]",{"b":"x"}]}'),
        ('{"a":  1}', '{"a":  1}'),
        ('{"a": "4711', '{"a": "[gone]'),
    ],
)
def test_values_of_arguments_are_rewritten_and_names_stay(arguments: str, expected: str) -> None:
    """Arguments that were JSON are JSON afterwards, for the same parameters."""
    assert rewrite_arguments(arguments, lambda text: text.replace("4711", "[gone]")) == expected


def test_a_system_block_of_an_unknown_type_is_rewritten_too() -> None:
    """It has no text that anybody here knows of, and stays what it is."""
    blocks = [{"type": "text", "text": f"the key {KEY}"}, {"type": "hologram", "value": {"note": KEY}}]
    session = Session(system=blocks, passes=(redact,))
    session.append(user("Hello."))
    sent = session.compile().to("anthropic")["system"]

    assert json.dumps(sent) == json.dumps(blocks).replace(KEY, "[redacted]")
