"""Exchanges with blocks, parts and items of types that nobody knows, anywhere: opaque and atomic, no error, no text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import foveate
from foveate.wire.formats import FORMATS

from .recorded import key_of, pieces_of, problems_of, sent_for, unmarked

Raw = dict[str, Any]

MARK = {"type": "ephemeral"}
UNHEARD = "quasar"
"""In everything that is unknown, and in nothing else."""

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(0, 1) | st.sampled_from([UNHEARD, "", "☃ "]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("zyxab"), inner, max_size=3),
    max_leaves=4,
)
FIELDS = st.dictionaries(st.sampled_from(["z", "of", "data", "a", "content"]), VALUES, max_size=3)
WORDS = st.sampled_from(["so", "x ☃\n y", " begins", "line\n" * 40])


def shuffled(raw: Raw) -> st.SearchStrategy[Raw]:
    """An object with its keys in any order."""
    return st.permutations(list(raw)).map(lambda keys: {key: raw[key] for key in keys})


def unknown(kind: str) -> st.SearchStrategy[Raw]:
    return FIELDS.map(lambda fields: {**fields, "type": kind, "secret": UNHEARD}).flatmap(shuffled)


def mixed(known: st.SearchStrategy[Raw], odd: st.SearchStrategy[Raw]) -> st.SearchStrategy[list[Raw]]:
    return st.lists(known | odd, max_size=3)


def results(calls: int, one: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(one, min_size=calls, max_size=calls)


@st.composite
def anthropic(draw: st.DrawFn, turns: int) -> list[Raw]:
    """Unknown blocks beside words and calls, inside results, and behind them."""
    text = WORDS.map(lambda words: {"type": "text", "text": words})
    odd = unknown("hologram")
    raws: list[Raw] = []
    for turn in range(turns):
        raws.append({"role": "user", "content": [*draw(mixed(text, odd)), {"type": "text", "text": "Go."}]})
        if draw(st.booleans()):
            raws.append({"role": "system", "content": draw(WORDS)})
        ids = [f"t{turn}{at}" for at in range(draw(st.integers(1, 3)))]
        thought = {"type": "thinking", "thinking": draw(st.sampled_from(["", "Hm."])), "signature": "c2ln"}
        uses = [{"type": "tool_use", "id": one, "name": "ls", "input": {"b": 1, "a": [True]}} for one in ids]
        raws.append({"role": "assistant", "content": [thought, *draw(mixed(text, odd)), *uses]})
        inner = draw(
            results(len(ids), WORDS | st.lists(text | odd | unknown("tool_reference"), min_size=1, max_size=3))
        )
        answers = [
            draw(shuffled({"type": "tool_result", "tool_use_id": one, "content": content}))
            for one, content in zip(ids, inner, strict=True)
        ]
        raws.append({"role": "user", "content": [*answers, *draw(mixed(text, odd))]})
        raws.append({"role": "assistant", "content": [*draw(mixed(text, odd)), {"type": "text", "text": "Done."}]})
    # A client that sets marks is left to it; one that does not gets Foveate's.
    return [*raws, {"role": "user", "content": [{"type": "text", "text": "And?", "cache_control": MARK}]}]


@st.composite
def responses(draw: st.DrawFn, turns: int) -> list[Raw]:
    """Unknown items between all others, unknown blocks in messages and outputs, and calls of unknown types."""
    block = WORDS.map(lambda words: {"type": "input_text", "text": words})
    odd = unknown("hologram")
    raws: list[Raw] = []
    for turn in range(turns):
        content = [*draw(mixed(block, odd)), {"type": "input_text", "text": "Go."}]
        raws.append({"type": "message", "role": "user", "content": content})
        raws.append({"type": "reasoning", "id": f"rs_{turn}", "summary": [], "encrypted_content": "c2VhbA=="})
        ids = [f"c{turn}{at}" for at in range(draw(st.integers(1, 3)))]
        kinds = [draw(st.sampled_from(["function", "orb"])) for _ in ids]
        asked: dict[str, Raw] = {
            "function": {"name": "ls", "arguments": '{"a":  1}'},
            "orb": {"spin": 1, "of": [UNHEARD]},
        }
        raws += [
            {"type": f"{kind}_call", "id": f"fc_{one}", "call_id": one, **asked[kind]}
            for one, kind in zip(ids, kinds, strict=True)
        ]
        raws += draw(st.lists(unknown("next_years_item"), max_size=2))
        for one, kind in zip(ids, kinds, strict=True):
            ending = draw(st.sampled_from(["_call_output", "_output"])) if kind == "orb" else "_call_output"
            told = draw(WORDS | st.lists(block | odd, min_size=1, max_size=3))
            answer = {"output": told} if kind == "function" else {"of": told, "secret": UNHEARD}
            raws.append(draw(shuffled({"type": f"{kind}{ending}", "call_id": one, "id": f"o_{one}", **answer})))
        said = [{"type": "output_text", "text": "Done."}, *draw(st.lists(odd, max_size=2))]
        raws.append({"type": "message", "role": "assistant", "content": said})
    return [
        *raws,
        {"type": "message", "role": "user", "content": "And?"},
        *draw(st.lists(unknown("orb_state"), max_size=1)),
    ]


@st.composite
def gemini(draw: st.DrawFn, turns: int) -> list[Raw]:
    """Unknown parts beside words and calls, pictures and unknown parts behind each response, responses again."""
    text = WORDS.map(lambda words: {"text": words})
    odd = FIELDS.map(lambda fields: {"hologram": {**fields, "secret": UNHEARD}})
    picture = st.just({"inlineData": {"data": "AAAA", "mimeType": "image/png"}})
    raws: list[Raw] = []
    for turn in range(turns):
        raws.append({"parts": [*draw(mixed(text, odd)), {"text": "Go."}], "role": "user"})
        ids = [f"f{turn}{at}" for at in range(draw(st.integers(1, 3)))]
        calls = [{"functionCall": {"id": one, "args": {}, "name": "ls"}} for one in ids]
        calls[0]["thoughtSignature"] = "c2ln"  # type: ignore[assignment]
        raws.append({"parts": [*draw(mixed(text, odd)), *calls], "role": "model"})
        answers: list[Raw] = []
        for one in ids:
            inner = {"name": "ls", "response": draw(st.sampled_from([{"output": "x"}, {"error": "y"}, {"z": [1]}]))}
            answers += [{"functionResponse": {**inner, "id": one}}, *draw(st.lists(picture | odd, max_size=2))]
        again = answers if draw(st.booleans()) else []
        raws.append({"parts": [*answers, *again], "role": "user"})
        raws.append({"parts": [{"text": "Done."}, *draw(st.lists(odd, max_size=2))], "role": "model"})
    return [*raws, {"parts": [{"text": "And?"}], "role": "user"}]


@st.composite
def chat(draw: st.DrawFn, turns: int) -> list[Raw]:
    """Unknown blocks in messages of the user and in results, unknown fields anywhere."""
    text = WORDS.map(lambda words: {"type": "text", "text": words})
    odd = unknown("hologram")
    raws: list[Raw] = [{"role": "system", "content": "Be kind."}]
    for turn in range(turns):
        raws.append({"role": "user", "content": [*draw(mixed(text, odd)), {"type": "text", "text": "Go."}]})
        ids = [f"c{turn}{at}" for at in range(draw(st.integers(1, 3)))]
        calls = [{"function": {"arguments": '{"a":  1}', "name": "ls"}, "id": one, "type": "function"} for one in ids]
        fields: list[Raw] = [{}, {"content": None}, {"content": ""}, {"reasoning_content": "Hm."}]
        more = draw(st.sampled_from(fields))
        raws.append(draw(shuffled({"role": "assistant", "tool_calls": calls, **more, "__secret": UNHEARD})))
        raws += [
            {"role": "tool", "tool_call_id": one, "content": told}
            for one, told in zip(
                ids, draw(results(len(ids), WORDS | st.lists(text, min_size=1, max_size=2))), strict=True
            )
        ]
        raws.append(draw(shuffled({"role": "assistant", "content": "Done."})))
    return [*raws, {"role": "user", "content": "And?"}]


MADE = {"anthropic": anthropic, "openai-responses": responses, "gemini": gemini, "openai-compatible": chat}
EXCHANGES = st.sampled_from(sorted(MADE)).flatmap(
    lambda name: st.tuples(st.just(name), st.integers(1, 3).flatmap(MADE[name]))
)
BEHIND_A_RESPONSE: list[Raw] = [
    {"parts": [{"text": "Go."}], "role": "user"},
    {"parts": [{"functionCall": {"id": one, "args": {}, "name": "ls"}} for one in "ab"], "role": "model"},
    {
        "parts": [
            {"functionResponse": {"name": "ls", "response": {"output": "x"}, "id": "a"}},
            {"hologram": {"secret": UNHEARD}},
            {"functionResponse": {"name": "ls", "response": {"output": "x"}, "id": "b"}},
        ],
        "role": "user",
    },
    {"parts": [{"text": "And?"}], "role": "user"},
]


def session_of(name: str, raws: list[Raw], **options: Any) -> foveate.Session:
    session = foveate.Session(**options)
    session.extend(raws, format=name)
    return session


def body_of(name: str, raws: list[Raw]) -> Raw:
    return {key_of(name): raws, **({"system": []} if name == "anthropic" else {})}


@settings(deadline=None, max_examples=70)
@example(("gemini", BEHIND_A_RESPONSE))
@given(EXCHANGES)
def test_an_exchange_comes_out_as_it_went_in(given: tuple[str, list[Raw]]) -> None:
    """At once, rebuilt from the log, and the validator has nothing to say."""
    name, raws = given
    session = session_of(name, raws)
    sent = sent_for(session.compile(), name)
    again = foveate.Session.from_events(foveate.load_events(session.dump())).call(1)

    assert json.dumps(sent[key_of(name)]) == json.dumps(raws)
    assert json.dumps(sent_for(again, name)) == json.dumps(sent)
    assert problems_of(sent, body_of(name, raws)) == []


@settings(deadline=None, max_examples=70)
@given(EXCHANGES, st.floats(0, 1))
def test_what_is_unknown_is_kept_whole_or_left_out_whole(given: tuple[str, list[Raw]], share: float) -> None:
    """At any budget; what is left is a valid request."""
    name, raws = given
    most = session_of(name, raws).compile().tokens
    try:
        view = session_of(name, raws, budget=max(1, int(most * share))).compile()
    except foveate.BudgetError:
        return
    sent = sent_for(view, name)
    came = {json.dumps(piece) for raw in raws for piece in pieces_of(unmarked(raw))}

    shown = [json.dumps(piece) for raw in sent[key_of(name)] for piece in pieces_of(unmarked(raw))]
    assert {piece for piece in shown if '"hologram"' in piece and "secret" in piece} <= came
    assert problems_of(sent, body_of(name, raws)) == []


@settings(deadline=None, max_examples=50)
@given(EXCHANGES, st.sampled_from([None, 400]))
def test_what_is_unknown_is_said_in_no_other_format(given: tuple[str, list[Raw]], budget: int | None) -> None:
    """Not as a block that is refused there, and not as words that nobody said."""
    name, raws = given
    try:
        view = session_of(name, raws, budget=budget).compile()
    except foveate.BudgetError:
        return
    for other in FORMATS:
        if other != name and not {other, name} <= {"openai", "openai-compatible"}:
            sent = FORMATS[other].lower(view.request)
            assert "hologram" not in str(sent)
            assert FORMATS[other].problems(sent) == []


@pytest.mark.parametrize("name", sorted(MADE))
def test_every_kind_is_drawn(name: str) -> None:
    """A strategy that never drew anything unknown would let all of the above pass."""
    found: list[bool] = []

    @settings(deadline=None, max_examples=30, database=None)
    @given(MADE[name](2))
    def look(raws: list[Raw]) -> None:
        found.append(UNHEARD in json.dumps(raws))

    look()
    assert any(found)
