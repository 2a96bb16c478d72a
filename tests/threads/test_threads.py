"""Threads: a history finds its session, and none disturbs another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import foveate
from foveate.threads import HistoryRequest, Threads
from foveate.threads.matching import canonical, item_key, item_keys
from foveate.threads.originals import with_originals


def asked(*texts: str, system: str | None = None, thread: str | None = None) -> HistoryRequest:
    roles = ("user", "assistant")
    items = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    return HistoryRequest(format="anthropic", items=items, keys=item_keys(items), system=system, thread=thread)


def said(compiled: Any) -> list[str]:
    return [message.text for message in compiled.view.messages]


def test_marks_and_spelling_make_no_other_item() -> None:
    marked = {"content": [{"text": "Hello", "type": "text", "cache_control": {"type": "ephemeral"}}], "role": "user"}

    assert canonical(marked) == canonical({"role": "user", "content": "Hello"})
    assert item_key(marked) != item_key({"role": "user", "content": "Hello."})
    assert item_key({"role": "user", "content": "\ud800"}) == item_key({"role": "user", "content": "\ud800"})


def test_a_history_that_goes_on_is_appended() -> None:
    threads = Threads(budget=4_000)
    first = threads.compile(asked("One."))
    second = threads.compile(asked("One.", "Yes.", "Two."))

    assert second.session is first.session
    assert said(second) == ["One.", "Yes.", "Two."]
    assert second.view.number == 2


def test_a_retry_is_the_same_view() -> None:
    threads = Threads(budget=4_000)
    first = threads.compile(asked("One."))

    assert threads.compile(asked("One.")).view is first.view
    # Framed otherwise it is another request.
    assert threads.compile(asked("One.", system="Be brief.")).view.number == 2


def test_an_edit_begins_a_branch_and_both_go_on() -> None:
    threads = Threads(budget=4_000)
    threads.compile(asked("One."))
    base = threads.compile(asked("One.", "Yes.", "Two."))
    edited = threads.compile(asked("One.", "Yes.", "Three."))
    on = threads.compile(asked("One.", "Yes.", "Two.", "Yes.", "Four."))

    assert edited.session.id == f"{base.session.id}~2"
    assert said(edited) == ["One.", "Yes.", "Three."]
    assert on.session is base.session
    assert said(on) == ["One.", "Yes.", "Two.", "Yes.", "Four."]
    # What both share was recorded with its calls.
    assert edited.view.number == 2


def test_an_earlier_request_again_is_sent_as_it_was() -> None:
    """Asked once more for another answer, the provider finds all of it in its cache."""
    threads = Threads(budget=4_000)
    first = threads.compile(asked("One."))
    threads.compile(asked("One.", "Yes.", "Two."))
    again = threads.compile(asked("One."))

    assert again.session.id.endswith("~2")
    assert again.view.number == 1
    assert again.view.to("anthropic") == first.view.to("anthropic")


def test_histories_that_take_turns_begin_no_further_branches() -> None:
    """One that ends where both part goes on in the branch that ends there, whichever was used last."""
    threads = Threads(budget=4_000)
    history = ["One.", "Yes.", "Two.", "Yes."]
    short = []
    for number in range(4):
        history += [f"Further {number}.", "Yes."]
        threads.compile(asked(*history))
        short.append(threads.compile(asked("One.", "Yes.", "Two.")))

    assert len({one.session.id for one in short}) == 1
    assert {one.view.payload for one in short} == {short[0].view.payload}
    assert threads.compile(asked(*history)).session.calls == 4


def test_a_branch_has_the_reductions_of_what_it_shares() -> None:
    """The prefix that was sent for the shared items stays byte for byte."""
    threads = Threads(budget=1_500)
    texts = [f"{number} " + "word " * 300 for number in range(21)]
    for end in range(1, len(texts) + 1, 2):
        last = threads.compile(asked(*texts[:end]))
    assert last.view.request.rewritten
    again = threads.compile(asked(*texts[:19], texts[19], "Something else."))

    before, after = ([one["content"] for one in one.view.to("anthropic")["messages"]] for one in (last, again))
    assert again.session is not last.session
    assert str(before[0]) == str(after[0])


def test_threads_by_name_by_block_and_by_how_they_begin() -> None:
    threads = Threads(budget=4_000)
    with foveate.thread("block"):
        threads.compile(asked("One."))
        threads.compile(asked("Two.", thread="named"))
    threads.compile(asked("One."))

    assert [threads.session(name).id for name in ("block", "named")] == ["block", "named"]
    assert threads.session().id.startswith("anthropic-")
    with pytest.raises(foveate.UnknownReferenceError, match="no thread 'other'; there are block, named"):
        threads.session("other")
    assert Threads(budget=4_000).answer_recall({"reference": "m1"}).startswith("recall: no thread")
    assert threads.answer_recall({"reference": "m1"}, thread="block") == "One."


def test_a_store_keeps_branches_too(tmp_path: Path) -> None:
    with Threads(budget=4_000, store=tmp_path / "a.db", thread="task") as threads:
        threads.compile(asked("One."))
        threads.compile(asked("One.", "Yes.", "Two."))
        edited = threads.compile(asked("One.", "Yes.", "Three."))
        sent = edited.view.to("anthropic")
    with Threads(budget=4_000, store=tmp_path / "a.db", thread="task") as threads:
        again = threads.compile(asked("One.", "Yes.", "Three."))
        assert again.session.id == "task~2"
        assert again.view.to("anthropic") == sent
        assert again.view.number == edited.view.number
        assert threads.compile(asked("One.", "Yes.", "Two.", "Yes.", "Four.")).session.id == "task"


@pytest.mark.parametrize("second", [("Other.",), ("One.", "No.", "Mine.")], ids=["thread", "branch"])
def test_recall_never_answers_from_another_conversation(second: tuple[str, ...]) -> None:
    """The one used last may be somebody else's: where several are recorded, one has to be named."""
    threads = Threads(budget=4_000)
    threads.compile(asked("One."))
    threads.compile(asked("One.", "Yes.", "Secret."))
    assert "Secret." in threads.answer_recall({"reference": "m3"})

    threads.compile(asked(*second))
    assert "none is named" in threads.answer_recall({"reference": "m3"})
    with foveate.thread("task-42"):
        threads.compile(asked("Named."))
        assert "Named." in threads.answer_recall({"reference": "m1"})


def test_options_are_refused_at_once() -> None:
    with pytest.raises(foveate.ConfigError, match="`tools` comes with each request"):
        Threads(budget=4_000, tools=[])
    with pytest.raises(foveate.ConfigError, match="`thread` '' is not a name"):
        Threads(budget=4_000, thread="")
    with pytest.raises(foveate.ConfigError, match="unknown `policy`"):
        Threads(budget=4_000, policy="no such")
    with pytest.raises(foveate.ConfigError, match="is not a name"), foveate.thread(" "):
        pass


def test_what_cannot_fit_is_refused_and_the_thread_goes_on() -> None:
    threads = Threads(budget=200)
    with pytest.raises(foveate.BudgetError):
        threads.compile(asked("word " * 2_000))
    assert said(threads.compile(asked("Hello.")))[-1] == "Hello."


def test_a_report_that_nobody_can_read_costs_no_call() -> None:
    threads = Threads(budget=4_000)
    compiled = threads.compile(asked("One."))
    compiled.branch.report(compiled.view.number, {"something": 1})

    assert [event.body.code for event in compiled.session.events if hasattr(event.body, "code")] == ["usage_unread"]


def test_originals_are_used_once_and_in_order() -> None:
    items = [{"role": "user", "content": text} for text in ("a", "b", "a")]
    own = ["first", "second", "third"]

    assert with_originals(items, own, item_keys(items), str) == own
    assert with_originals([items[1], items[0]], own, item_keys(items), str) == ["second", "third"]
    assert with_originals([{"role": "user", "content": "new"}], own, item_keys(items), lambda one: one["content"]) == [
        "new"
    ]


class _Writes:
    name = "writes"

    async def summarise(self, request: foveate.SummaryRequest, /) -> str:
        return f"Summary through {request.through}."


async def test_a_summarizer_may_write_in_an_event_loop() -> None:
    threads = Threads(budget=1_500, summarizer=_Writes())
    texts = [f"{number} " + "word " * 300 for number in range(21)]
    for end in range(1, len(texts) + 1, 2):
        last = await threads.acompile(asked(*texts[:end]))
    assert any(type(event.body).__name__ == "SummaryRecorded" for event in last.session.events)
