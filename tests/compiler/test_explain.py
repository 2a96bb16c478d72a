"""Explain: every message has one fate, every token is accounted for."""

import pytest
from inline_snapshot import snapshot
from tests.dialogue import call, calls, exchange, lines, reading, result, says, session_of, user, work

from foveate import UnknownReferenceError
from foveate.log.events import RecallRecorded
from foveate.log.items import Item, Line
from foveate.log.messages import MessageMeta, text_message

DEFECTS = [
    {"role": "system", "content": "House rules."},
    user("go"),
    result("ghost", "who asked?"),
    calls(call("a", "Read", file_path="x"), call("a", "Read", file_path="y")),
    result("a", lines(30)),
    says(""),
    *exchange("e", "Edit", "Error: no match", file_path="a.py"),
    *work(5),
    calls(call("open", "Bash", command="sleep")),
]


@pytest.mark.parametrize("policy", ["default", "transparent", "mask"])
@pytest.mark.parametrize("budget", [1_200, 4_000, 60_000])
def test_every_message_has_exactly_one_fate_and_every_token_is_counted(policy: str, budget: int) -> None:
    """Items' tokens and the framing's are the request's."""
    session = session_of([], budget=budget, policy=policy, system="Be kind.")
    for message in DEFECTS:
        session.append(message)
        explanation = session.compile().explain()
        assert [record.id for record in explanation.fates] == [one.id for one in session.messages]
        assert sum(item.tokens for item in explanation.items) + explanation.framing == explanation.used <= budget


def test_the_fates_of_a_reduced_session() -> None:
    """What was folded says by whom, at which call and how much is left."""
    session = session_of([*work(8), user("and now?")], budget=4_000)
    view = session.compile()

    assert view.why("m1") == snapshot("m1 is verbatim (14 → 14 tokens)")
    folded = next(record for record in view.explain().fates if record.fate == "folded")
    assert view.why(folded.id).startswith(f"{folded.id} is folded in r1.")
    assert " at call 1: " in view.why(folded.id)
    assert view.why("m81").startswith("m81 is verbatim")


def test_a_fate_keeps_the_call_at_which_it_was_made() -> None:
    """Later calls still say when."""
    session = session_of([*work(8), user("and now?")], budget=4_000)
    before = {record.id: record.call for record in session.compile().explain().fates}
    session.append(says("Fine."))
    after = {record.id: record.call for record in session.compile().explain().fates}

    assert {id: after[id] for id in before} == before


def test_an_unknown_message_is_an_error_with_the_known_range() -> None:
    """Not a silent None."""
    with pytest.raises(UnknownReferenceError, match="no message 'm9' in this log; ids run from m1 to m1"):
        session_of([user("hi")]).compile().why("m9")


def test_diagnostics_are_said() -> None:
    """Defects that were mended are in the account."""
    explanation = session_of([user("go"), result("ghost", "boo")]).compile().explain()

    assert explanation.diagnostics == ("orphan_tool_return: result for unknown call 'ghost' (m2)",)


def test_the_account_as_data_is_the_account_as_text() -> None:
    """JSON and table come from one record."""
    view = session_of([*work(4), user("now")], budget=3_000).compile()
    data = view.explain(json=True)
    text = str(view.explain())

    assert data["used"] == view.tokens
    assert data["budget"] == 3_000
    assert data["trigger"] == "must"
    assert [stage["name"] for stage in data["stages"]] == [record.name for record in view.records]
    assert f"{view.tokens:,}" in text or str(view.tokens) in text


def test_each_compiled_message_names_what_it_came_from() -> None:
    """A digest lists the messages it stands for, any other item itself."""
    view = session_of([*work(8), user("now")], budget=4_000).compile()
    items = {item.id: item for item in view.explain().items}
    digests = [item for item in view.items if item.is_digest]

    assert digests
    for digest in digests:
        assert len(items[digest.id].sources) == sum(last - first + 1 for first, last in digest.covers)
    assert items["m1"].sources == ("m1",)


def test_a_message_of_which_a_line_is_shown_anywhere_is_not_called_dropped() -> None:
    """Lines of older messages can stand in a newer digest."""
    session = session_of([], budget=3_000)
    for turn in range(10):
        session.extend([user(f"look at src/file{turn}.py again"), *reading(6, first=turn * 3)])
        view = session.compile()
        quoted = {line.source for item in view.items for line in item.lines if line.source}
        dropped = {record.id for record in view.explain().fates if record.fate == "dropped"}
        assert not quoted & dropped, turn


def test_a_recalled_message_is_called_recalled() -> None:
    """It was evicted and is shown again, in part."""
    session = session_of([user("go"), *exchange("x", "Read", lines(30), file_path="doc.md"), *work(8)], budget=2_500)
    session.compile()
    anchor = session.append(user("What did doc.md say?"))
    quoted = Line(kind="evidence", text="line 0: the quick brown fox", source="m3", order=2)
    shown = text_message(f"{anchor}.recall", "user", f"[recalled]\n{quoted.text}", MessageMeta(kind="recall"))
    item = Item(
        id=shown.id, message=shown, tokens=20, order=83, group=shown.id, fate="recalled", by="recall", lines=(quoted,)
    )
    session.record(RecallRecorded(anchor=anchor, item=item, references=("m3",)))
    view = session.compile()

    assert quoted.text in view.to("text")
    assert {record.id: record.fate for record in view.explain().fates}["m3"] == "recalled"


def test_the_cached_part_is_marked() -> None:
    """Where the cached prefix ends can be seen."""
    session = session_of([user("a"), says("b")])
    session.compile()
    session.append(user("c"))

    assert [item.cached for item in session.compile().explain().items] == [True, True, False]
