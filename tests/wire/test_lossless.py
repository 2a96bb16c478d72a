"""What goes in comes out byte for byte, in every format, with blocks and items that nobody knows yet."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import foveate
from foveate.wire import formats
from foveate.wire.format import Format, Request
from foveate.wire.formats import FORMATS

from .recorded import key_of, marks_in, pieces_of, sent_for

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
THOUGHT = {"type": "thinking", "thinking": "Load it.", "signature": "c2ln"}

CLAUDE: list[Any] = [
    {"role": "user", "content": [{"type": "text", "text": "<system-reminder>"}, {"type": "text", "text": "Go."}]},
    {"role": "system", "content": "# Environment", "output_config": {"effort": "medium"}},
    {
        "role": "assistant",
        "content": [THOUGHT, {"type": "tool_use", "id": "t1", "name": "ToolSearch", "input": {"b": 1, "a": [True, 1]}}],
    },
    {
        "role": "user",
        "content": [
            {
                "tool_use_id": "t1",
                "type": "tool_result",
                "content": [{"type": "tool_reference", "tool_name": "NotebookEdit"}],
            }
        ],
    },
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t2", "name": "Bash", "input": {}}]},
    {
        "role": "user",
        "content": [
            {"tool_use_id": "t2", "type": "tool_result", "content": "ok", "is_error": False},
            {"type": "hologram", "depth": {"z": 1, "a": 2}},
            {"type": "text", "text": "And?", "cache_control": MARK},
        ],
    },
]
CODEX: list[Any] = [
    {"type": "additional_tools", "id": "at_1", "role": "developer", "tools": [{"type": "namespace", "name": "f"}]},
    {"type": "message", "id": "msg_1", "role": "developer", "content": [{"type": "input_text", "text": "Be Codex."}]},
    {"type": "compaction", "encrypted_content": "gAAA"},
    {
        "type": "message",
        "id": "msg_2",
        "role": "user",
        "content": [{"type": "input_text", "text": "Go."}],
        "internal_chat_message_metadata_passthrough": {"turn_id": "1"},
    },
    {"type": "reasoning", "id": "rs_1", "summary": [], "content": None, "encrypted_content": "ENC"},
    {"type": "function_call", "status": "completed", "id": "fc_1", "name": "ls", "arguments": "{}", "call_id": "c1"},
    {"type": "function_call_output", "id": "fco_1", "call_id": "c1", "output": "a.py"},
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c2", "name": "exec", "input": "x", "namespace": "f"},
    {"type": "custom_tool_call_output", "id": "ctco_1", "call_id": "c2", "output": "half way"},
    {"type": "custom_tool_call_output", "id": "ctco_2", "call_id": "c2", "output": "done"},
    {"type": "next_years_item", "of": ["b", "a"]},
    {"role": "user", "content": "And?"},
    {"type": "configuration_update", "reasoning": {"effort": "high"}},
    {"type": "compaction_trigger"},
]
GEMINI: list[Any] = [
    {"parts": [{"text": "Go."}], "role": "user"},
    {
        "parts": [
            {"functionCall": {"id": "f1", "args": {}, "name": "ls"}, "thoughtSignature": "c2ln"},
            {"orb": {"a": 1}},
        ],
        "role": "model",
    },
    {
        "parts": [
            {"functionResponse": {"name": "ls", "response": {"output": "a.py"}, "id": "f1"}},
            {"functionResponse": {"name": "ls", "response": {"output": "a.py"}, "id": "f1"}},
        ],
        "role": "user",
    },
    {"role": "model", "parts": [{"text": "Done."}]},
    {"role": "user", "parts": [{"text": "And?"}, {"nextYears": [1, 2]}]},
]
CHAT: list[Any] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": [{"type": "text", "text": "Go."}, {"type": "video_url", "video_url": {"url": "u"}}]},
    {
        "role": "assistant",
        "content": "Next.",
        "tool_calls": [{"type": "function", "function": {"arguments": '{"a": 1}', "name": "ls"}, "id": "c1"}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "a.py"}]},
    {"content": "Done.", "role": "assistant", "next_years_field": {"b": 1, "a": 2}},
    {"role": "user", "content": "And?"},
]
CONVERSATIONS = {"anthropic": CLAUDE, "openai-responses": CODEX, "gemini": GEMINI, "openai": CHAT}


def session_with(name: str, raws: list[Any], **options: Any) -> foveate.Session:
    session = foveate.Session(**options)
    session.extend(raws, format=name)
    return session


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_what_goes_in_comes_out(name: str) -> None:
    """Keys in their order, texts as texts, ids, flags, marks, unknown blocks and items; the validator agrees."""
    raws = CONVERSATIONS[name]
    sent = session_with(name, raws, model="anthropic:claude-sonnet-4-5").compile().to(name)

    assert json.dumps(sent if isinstance(sent, list) else sent[key_of(name)]) == json.dumps(raws)
    assert FORMATS[name].problems(sent) == []


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_format_is_recognized_too(name: str) -> None:
    """Also where it is told by the messages alone, and one by one: what was read before says what comes next."""
    raws = CONVERSATIONS[name]
    session = foveate.Session()
    session.extend(raws)
    found = session.compile().to(name)

    assert json.dumps(found if isinstance(found, list) else found[key_of(name)]) == json.dumps(raws)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_original_survives_the_log(name: str) -> None:
    """Written, read and rebuilt, the request is the same, and so is its hash."""
    session = session_with(name, CONVERSATIONS[name])
    view = session.compile()
    again = foveate.Session.from_events(foveate.load_events(session.dump())).call(1)

    assert json.dumps(again.to(name)) == json.dumps(view.to(name))
    assert again.payload_sha256 == view.payload_sha256


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_an_original_is_not_stored_twice(name: str) -> None:
    """What it takes to write a message again is an order of keys, not the message."""
    session = session_with(name, CONVERSATIONS[name])
    notes = [extra for one in session.messages for extra in (one.extra, *(part.extra for part in one.parts))]

    assert not [
        fields
        for extra in notes
        for fields in extra.values()
        if isinstance(fields, dict) and {"raw", "@raw"} & set(fields)
    ]


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_no_other_format_is_sent_what_is_opaque(name: str) -> None:
    """Nor does one raise: what cannot be read is not there."""
    session = session_with(name, CONVERSATIONS[name])
    for other, format in FORMATS.items():
        sent = format.lower(session.compile().request)
        if other != name and not (name == "openai" and other == "openai-compatible"):
            assert "depth" not in json.dumps(sent)
            assert "next_years_item" not in json.dumps(sent)
            assert format.problems(sent) == []


def test_marks_are_counted_over_the_whole_request() -> None:
    """Two in the system prompt, one in the tools, and ours take the one that is left; those given stay as they are."""
    system = [
        {"type": "text", "text": "A", "cache_control": HOUR},
        {"type": "text", "text": "B", "cache_control": HOUR},
    ]
    tools = [{"name": "Bash", "input_schema": {"type": "object"}, "cache_control": HOUR}]
    session = foveate.Session(system=system, tools=tools, model="anthropic:claude-sonnet-4-5")
    session.extend(CLAUDE[:1])
    session.compile()
    session.extend(CLAUDE[1:5])
    session.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "ok"}]})
    sent = session.compile().to("anthropic")

    assert (sent["system"], sent["tools"]) == (system, tools)
    assert marks_in(sent) == 4
    assert FORMATS["anthropic"].problems(sent) == []


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_marks_stay_few_after_a_reduction(share: float) -> None:
    """However many a client has set since: its own stood on what has moved."""
    system = [
        {"type": "text", "text": "A", "cache_control": MARK},
        {"type": "text", "text": "B", "cache_control": MARK},
    ]
    session = foveate.Session(system=system, budget=int(8_000 * share))
    for turn in range(30):
        use = {"type": "tool_use", "id": f"t{turn}", "name": "Bash", "input": {"command": f"ls {turn}"}}
        answer = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": "line\n" * 120, "cache_control": MARK}
        session.extend([{"role": "user", "content": [{"type": "text", "text": f"{turn}"}]}] if not turn else [])
        session.extend([{"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}])
        view = session.compile()
        sent = view.to("anthropic")
        assert marks_in(sent) <= 4
        assert sent["system"] == system
        assert FORMATS["anthropic"].problems(sent) == []
    assert any(not item.is_unreduced for item in view.items)


def test_formats_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session knows its format: a hundred messages are no six hundred questions."""
    asked: list[str] = []

    def counting(format: Format) -> Format:
        def recognises(raw: object) -> bool:
            asked.append(format.name)
            return format.recognises(raw)

        return Format(
            name=format.name,
            recognises=recognises,
            decode=format.decode,
            encode=format.encode,
            lower=format.lower,
            problems=format.problems,
        )

    counted = {name: counting(format) for name, format in FORMATS.items()}
    monkeypatch.setattr(formats, "_TELLING", tuple(counted[one.name] for one in formats._TELLING))
    monkeypatch.setattr(formats, "_WITH_ROLES", tuple(counted[one.name] for one in formats._WITH_ROLES))
    session = foveate.Session()
    for turn in range(50):
        use = {"type": "tool_use", "id": f"t{turn}", "name": "Bash", "input": {}}
        session.append({"role": "assistant", "content": [use]})
        session.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{turn}", "content": "x"}]}
        )

    assert len(asked) <= 100 + len(FORMATS)


LOADED = {
    "anthropic": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "s", "name": "ToolSearch", "input": {}}]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "s",
                    "content": [{"type": "tool_reference", "tool_name": "Weigh"}],
                }
            ],
        },
    ],
    "anthropic, by the provider": [
        {
            "role": "assistant",
            "content": [
                {"type": "server_tool_use", "id": "s", "name": "tool_search_tool_regex", "input": {}},
                {"type": "tool_search_tool_result", "tool_use_id": "s", "content": {"tool_references": ["Weigh"]}},
            ],
        }
    ],
    "openai-responses": [
        {"type": "tool_search_call", "call_id": "s", "execution": "client", "arguments": {}},
        {"type": "tool_search_output", "call_id": "s", "execution": "client", "tools": [{"name": "Weigh"}]},
    ],
    "openai-responses, by the provider": [
        {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}},
        {"type": "tool_search_output", "call_id": None, "execution": "server", "tools": [{"name": "Weigh"}]},
    ],
}


@pytest.mark.parametrize("case", LOADED)
def test_a_tool_that_was_loaded_stays_loaded(case: str) -> None:
    """However much is reduced behind it: the model has the tool for as long as the request says so."""
    name = case.partition(",")[0]
    session = foveate.Session(budget=2_000)
    session.extend([{"role": "user", "content": "Go."}], format=name)
    session.extend(LOADED[case], format=name)
    for turn in range(20):
        text = f"gram {turn}\n" * 60
        if name == "anthropic":
            use = {"type": "tool_use", "id": f"t{turn}", "name": "Weigh", "input": {}}
            answer = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": text}
            session.append({"role": "assistant", "content": [use]}, format=name)
            session.append({"role": "user", "content": [answer]}, format=name)
        else:
            call = {"type": "function_call", "call_id": f"t{turn}", "name": "Weigh", "arguments": "{}"}
            session.append(call, format=name)
            session.append({"type": "function_call_output", "call_id": f"t{turn}", "output": text}, format=name)
        view = session.compile()
    sent = view.to(name)

    assert any(not item.is_unreduced for item in view.items)
    pieces = [piece for raw in sent[key_of(name)] for piece in pieces_of(raw)]
    assert all(piece in pieces for raw in LOADED[case] for piece in pieces_of(raw))
    assert FORMATS[name].problems(sent) == []


def test_a_search_for_tools_is_one_without_its_reasoning_too() -> None:
    """As a call of a function its output would say nothing."""
    call, output = ({**item, "id": f"ts_{at}"} for at, item in enumerate(LOADED["openai-responses"]))
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC"}
    asked, said, answer = FORMATS["openai-responses"].decode(
        [{"role": "user", "content": "Go."}, reasoning, call, output], lambda index: f"item {index}"
    )
    thoughtless = msgspec.structs.replace(said, parts=said.parts[1:])

    sent = FORMATS["openai-responses"].lower(Request(messages=(asked, thoughtless, answer)))

    assert sent["input"][1:] == [{key: value for key, value in call.items() if key != "id"}, output]
    assert FORMATS["openai-responses"].problems(sent) == []


# --- anything ---------------------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab☃", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("zyxab"), inner, max_size=3),
    max_leaves=5,
)
UNKNOWN = st.dictionaries(st.sampled_from(["z", "of", "data", "a", "ids"]), VALUES, max_size=3)
WORDS = st.text("abc \n☃", min_size=1, max_size=5).map(lambda text: f"x{text}x")


def shuffled(raw: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """An object with its keys in any order."""
    return st.permutations(list(raw)).map(lambda keys: {key: raw[key] for key in keys})


def blocks(text: str) -> st.SearchStrategy[list[Any]]:
    known = st.builds(lambda words: {"type": text, "text": words}, WORDS)
    unknown = st.builds(lambda more, kind: {**more, "type": kind}, UNKNOWN, st.sampled_from(["hologram", "orb"]))
    return st.lists((known | unknown).flatmap(shuffled), min_size=1, max_size=3).map(
        lambda found: [*found, {"type": text, "text": "end"}]
    )


def parts() -> st.SearchStrategy[list[Any]]:
    known = st.builds(lambda words: {"text": words}, WORDS)
    unknown = st.builds(lambda value, kind: {kind: value}, VALUES, st.sampled_from(["hologram", "orb"]))
    return st.lists(known | unknown, min_size=1, max_size=3).map(lambda found: [*found, {"text": "end"}])


def messages(name: str) -> st.SearchStrategy[list[Any]]:
    """A conversation that its provider takes: the two sides in turn, with anything beside the words."""
    match name:
        case "anthropic":
            content = WORDS | blocks("text")
            made = st.builds(lambda told, said: [("user", told), ("assistant", said)], content, content)
            turns = made.map(lambda run: [{"role": role, "content": one} for role, one in run])
        case "gemini":
            made = st.builds(lambda told, said: [("user", told), ("model", said)], parts(), parts())
            turns = made.map(lambda run: [{"parts": one, "role": role} for role, one in run])
        case "openai-responses":
            told = (WORDS | blocks("input_text")).map(lambda one: {"type": "message", "role": "user", "content": one})
            said = blocks("output_text").map(lambda one: {"role": "assistant", "content": one, "type": "message"})
            item = st.builds(lambda more: {**more, "type": "next_years_item"}, UNKNOWN)
            turns = st.tuples(told, item, said).map(list)
        case _:
            told, said = WORDS | blocks("text"), WORDS
            made = st.builds(lambda one, other: [("user", one), ("assistant", other)], told, said)
            turns = made.map(lambda run: [{"role": role, "content": one} for role, one in run])
    whole = st.lists(turns, min_size=1, max_size=4).map(lambda runs: [raw for run in runs for raw in run])
    return whole.flatmap(lambda raws: st.tuples(*map(shuffled, raws)).map(list))


@settings(deadline=None, max_examples=60)
@example(("openai-responses", [{"type": "next_years_item", "id": None}, {"type": "next_years_item", "id": None}]))
@given(st.sampled_from(list(CONVERSATIONS)).flatmap(lambda name: st.tuples(st.just(name), messages(name))))
def test_anything_comes_out_as_it_went_in(given: tuple[str, list[Any]]) -> None:
    """Unknown types, any order of keys, at any place."""
    name, raws = given
    if name == "anthropic":
        # A client that sets marks is left to it; one that does not gets ours.
        raws = [*raws, {"role": "user", "content": [{"type": "text", "text": "end", "cache_control": MARK}]}]
    sent = session_with(name, raws).compile().to(name)

    assert json.dumps(sent if isinstance(sent, list) else sent[key_of(name)]) == json.dumps(raws)
    assert FORMATS[name].problems(sent) == []


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(list(CONVERSATIONS)).flatmap(lambda name: st.tuples(st.just(name), messages(name))),
    st.integers(60, 600),
)
def test_what_is_kept_is_as_it_came_after_a_reduction(given: tuple[str, list[Any]], budget: int) -> None:
    """Whole or not at all: what is unreduced is among what came, byte for byte."""
    name, raws = given
    session = session_with(name, raws, budget=budget)
    session.extend([{"role": "user", "content": "long " * 60}] if name != "gemini" else [])
    try:
        view = session.compile()
    except foveate.BudgetError:
        return
    came = {json.dumps(piece) for raw in raws for piece in pieces_of(raw)}
    sent = sent_for(view, name)[key_of(name)]
    opaque = [piece for raw in sent for piece in pieces_of(raw) if "hologram" in json.dumps(piece)]

    assert all(json.dumps(piece) in came for piece in opaque)
    assert FORMATS[name].problems(view.to(name)) == []
