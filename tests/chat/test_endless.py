"""Endless mode: the view of each call comes from a template, and no failure costs a call."""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.chat.talking import TEMPLATE, Model, Tools, endless_chat, folders_in, look, talk

from foveate.agents.driver import DriverError
from foveate.agents.loop import Listening
from foveate.chat.endless import Terms
from foveate.errors import TemplateError
from foveate.log.events import (
    DiagnosticRecorded,
    RecallRecorded,
    ReductionRecorded,
    ReflectionRecorded,
    SummaryRecorded,
)
from foveate.session import Session
from foveate.session.transcript import transcript_text
from foveate.wire.format import Request

HEADING = "Context summary (compiled):"


def bodies(session: Session, kind: type[Any]) -> list[Any]:
    return [event.body for event in session.events if isinstance(event.body, kind)]


def codes(session: Session) -> list[str]:
    return [body.code for body in bodies(session, DiagnosticRecorded) if body.code != "reduction_declined"]


def summary_of(request: Request) -> str:
    return next((m.text for m in request.messages if m.text.startswith(HEADING)), "")


async def test_the_order_is_instructions_summary_recent_runs_newest_input(tmp_path: Path) -> None:
    model = Model()
    chat = endless_chat(tmp_path, model)
    await talk(chat, 40)
    sent = model.asked[-1]
    assert sent.system == "You are kind."
    assert sent.messages[0].role == "system"
    assert sent.messages[0].text.startswith(HEADING)
    assert sum(message.text.startswith(HEADING) for message in sent.messages) == 1
    assert sent.messages[-1].text.startswith("Thing 39")
    said = [message for message in sent.messages[1:] if message.meta.kind == "message"]
    assert said == list(chat.session.messages)[-1 - len(said) : -1], "recent runs are the original messages"
    assert len(said) >= 7, "three finished runs and the newest input"


async def test_the_topic_is_a_whole_sentence_whatever_dots_its_names_have(tmp_path: Path) -> None:
    model = Model()
    chat = endless_chat(tmp_path, model, text=TEMPLATE.replace("description: For tests.", "refresh: every-turn"))
    await talk(chat, 12)
    await chat.say("Run scripts/rotate_keys.py on v1.2 of the keys. Then tell me.")
    assert "Topic: Run scripts/rotate_keys.py on v1.2 of the keys.\n" in summary_of(model.asked[-1])


async def test_recency_counts_runs_however_many_messages_they_have(tmp_path: Path) -> None:
    def rule(request: Request) -> dict[str, Any] | str:
        last = request.messages[-1]
        return look(len(request.messages)) if last.role == "user" else "Done."

    model = Model(rule)
    text = TEMPLATE.replace("description: For tests.", "passthrough_runs: 2\nrefresh: every-turn")
    chat = endless_chat(tmp_path, model, text=text, tools=(Tools(),))
    await talk(chat, 12)
    first = next(request for request in reversed(model.asked) if request.messages[-1].role == "user")
    assert [m.role for m in first.messages if m.meta.kind == "message"] == [
        "user", "assistant", "tool", "assistant", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip


async def test_a_turn_with_twelve_tool_requests_compiles_once_and_persists_once(tmp_path: Path) -> None:
    def rule(request: Request) -> dict[str, Any] | str:
        looked = sum(message.role == "tool" for message in request.messages if message.meta.kind == "message")
        wants = request.messages and "look twelve times" in " ".join(m.text for m in request.messages)
        return look(looked + 1_000) if wants and looked < 12 else "Done."

    writer = Model(lambda _: "They talked about things.", name="writer")
    text = TEMPLATE.replace("description: For tests.", "refresh: every-turn")
    terms = Terms(reflect_every=0)
    chat = endless_chat(tmp_path, Model(rule), text=text, writer=writer, tools=(Tools(),), terms=terms)
    await talk(chat, 9)
    before = len(writer.asked), len(bodies(chat.session, ReductionRecorded))
    turn = await chat.say("Now look twelve times. " + "word " * 300)
    assert len(turn.calls) == 13
    assert len(writer.asked) - before[0] == 1
    assert len(bodies(chat.session, ReductionRecorded)) - before[1] == 1
    views = [chat.session.call(number) for number in turn.calls]
    assert len({summary_of(view.request) for view in views}) == 1, "the summary stays byte for byte"


@pytest.mark.parametrize(("budget", "calls", "words"), [(8_000, 6, 300), (4_000, 12, 80)])
async def test_tools_that_fill_the_window_cost_no_summary(tmp_path: Path, budget: int, calls: int, words: int) -> None:
    """Within a turn its summary stays; what had no room there is in the next one, which the model writes."""
    left = 0

    def rule(request: Request) -> dict[str, Any] | str:
        nonlocal left
        left -= 1
        return look(left) if left >= 0 else "Done. " + "word " * 30

    writer = Model(lambda _: "They looked at many things.", name="writer")
    tools = Tools(lambda number: f"result {number} " + " ".join(f"w{place * 7919 % 1_000}" for place in range(words)))
    chat = endless_chat(
        tmp_path, Model(rule), writer=writer, tools=(tools,), terms=Terms(reflect_every=0), budget=budget
    )
    chat.steps = 50
    written: set[str] = set()
    for number in range(16):
        left = calls
        turn = await chat.say(f"Thing {number}: look at chapter {number * 31}; never pay more than {number} euros.")
        views = [chat.session.call(one) for one in turn.calls]
        assert len({summary_of(view.request) for view in views}) == 1
        assert all(view.tokens <= budget for view in views)
        digests = [one for one in views[-1].messages if one.text.startswith("[earlier in")]
        assert len(digests) <= 6
        written.add(summary_of(views[-1].request))
    assert written > {""} and "They looked at many things." in "".join(written)
    assert 2 <= len(writer.asked) <= 16


async def test_a_summary_stays_byte_identical_until_the_next_is_due(tmp_path: Path) -> None:
    model = Model()
    chat = endless_chat(tmp_path, model, terms=Terms(threshold=1_500, reflect_every=0))
    await talk(chat, 60)
    summaries = [summary_of(request) for request in model.asked]
    changes = sum(one != other for one, other in pairwise(summaries))
    assert 2 <= changes <= 20
    assert len(set(summaries)) == changes + 1, "what was replaced never comes back"


async def test_lookups_beside_a_summary_take_their_share_and_rewrite_nothing(tmp_path: Path) -> None:
    """The summary stands for the past: what is looked up takes 30% of the budget at most, and makes no room."""
    model = Model(lambda request: f"Noted. {request.messages[-1].text} " + "word " * 30)
    chat = endless_chat(tmp_path, model, terms=Terms(reflect_every=0), budget=3_000)
    for number in range(40):
        await chat.say(
            f"What did I say of the rent of house {number * 7 % 40}? House {number} costs {number * 31} euros."
        )
    looked_up = [one.item.tokens for one in bodies(chat.session, RecallRecorded)]
    assert looked_up and max(looked_up) <= 0.3 * 3_000
    reasons = [one.reason for one in bodies(chat.session, ReductionRecorded)]
    assert len(reasons) < 20, reasons


async def test_every_turn_means_every_turn(tmp_path: Path) -> None:
    model = Model()
    text = TEMPLATE.replace("description: For tests.", "refresh: every-turn")
    chat = endless_chat(tmp_path, model, text=text)
    await talk(chat, 12)
    summaries = [summary_of(request) for request in model.asked]
    assert summaries[:4] == [""] * 4, "while all runs are recent there is nothing to summarise"
    assert len(set(summaries[4:])) == 8


async def test_below_the_threshold_nothing_is_summarised(tmp_path: Path) -> None:
    model = Model()
    chat = endless_chat(tmp_path, model, terms=Terms(threshold=2_500, reflect_every=0))
    await talk(chat, 12)
    assert not any(summary_of(request) for request in model.asked)
    assert not bodies(chat.session, ReductionRecorded)


async def test_the_model_writes_the_summary_and_its_words_are_kept_as_it_said_them(tmp_path: Path) -> None:
    model, writer = Model(), Model(lambda _: "  Ada collects numbers.\n", name="writer")
    chat = endless_chat(tmp_path, model, writer=writer, terms=Terms(threshold=800, reflect_every=0))
    await talk(chat, 12)
    recorded = bodies(chat.session, SummaryRecorded)
    assert recorded
    assert recorded[-1].template == "plain"
    assert recorded[-1].template_source == "system"
    assert len(recorded[-1].template_sha256) == 64
    assert recorded[-1].summarizer == "writer"
    assert "Ada collects numbers." in summary_of(model.asked[-1])
    asked = writer.asked[-1].messages[-1].text
    assert "Thing" in asked
    assert "=== BEGIN LATEST USER INPUT ===" in asked
    assert len(writer.asked[-1].messages) == 1, "it is asked without the chat's history"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (DriverError("the model is gone; try again"), "summary_failed"),
        ("", "summary_failed"),
        ("word " * 5_000, "summary_shortened"),
    ],
)
async def test_whatever_the_writer_does_the_reply_comes(tmp_path: Path, said: Any, code: str) -> None:
    model, writer = Model(), Model(lambda _: said, name="writer")
    chat = endless_chat(tmp_path, model, writer=writer, terms=Terms(threshold=800, reflect_every=0))
    await talk(chat, 12)
    assert code in codes(chat.session)
    assert summary_of(model.asked[-1])
    assert all(chat.session.call(number + 1).tokens <= 3_000 for number in range(12))


async def test_a_writer_that_takes_too_long_is_not_waited_for(tmp_path: Path) -> None:
    writer = Model(lambda _: "late", wait=5.0)
    chat = endless_chat(tmp_path, Model(), writer=writer, terms=Terms(threshold=800, timeout=0.01, reflect_every=0))
    await asyncio.wait_for(talk(chat, 10), 30)
    assert "summary_failed" in codes(chat.session)


async def test_a_missing_template_costs_no_call_and_is_said_at_every_turn(tmp_path: Path) -> None:
    """Who talks is told each time; the log has it once in a while."""
    model = Model()
    chat = endless_chat(tmp_path, model)
    (tmp_path / "ContextTemplates" / "plain.md").unlink()
    told: list[str] = []
    for number in range(40):
        turn = await chat.say(
            f"{number} " + "words " * 30, Listening(on_diagnostic=lambda one: told.append(one.subject or ""))
        )
        assert [one.code for one in turn.diagnostics] == ["template_failed"]
    assert len(model.asked) == 40
    assert told == ["plain"] * 40
    failed = [one for one in bodies(chat.session, DiagnosticRecorded) if one.code == "template_failed"]
    assert {one.phase for one in failed} == {"template_load"}
    assert len(failed) <= 4
    assert all(chat.session.call(number).tokens <= 3_000 for number in range(1, 41))


@pytest.mark.parametrize(
    "body", ["{% for one in ledger %}{{ one }}", "{{ ledger.__class__.__mro__ }}", "---\n: :\n---\n"]
)
async def test_a_broken_template_costs_no_call(tmp_path: Path, body: str) -> None:
    model = Model()
    chat = endless_chat(tmp_path, model, text=body)
    await talk(chat, 40)
    assert len(model.asked) == 40
    assert "template_failed" in codes(chat.session)


async def test_a_template_that_comes_back_is_used_again(tmp_path: Path) -> None:
    model = Model()
    chat = endless_chat(tmp_path, model, text="{% if %}", terms=Terms(threshold=500, reflect_every=0))
    await talk(chat, 12)
    folders_in(tmp_path)
    await talk(chat, 12, 12)
    assert summary_of(model.asked[-1])


async def test_a_broken_contract_is_reported_and_never_fatal(tmp_path: Path) -> None:
    text = TEMPLATE + "\n```yaml\nbudget: number\nmood: text\n```\n"
    writer = Model(lambda _: "Nothing of the kind.", name="writer")
    chat = endless_chat(tmp_path, Model(), text=text, writer=writer, terms=Terms(threshold=800, reflect_every=0))
    await talk(chat, 10)
    assert "contract_violated" in codes(chat.session)


async def test_the_transcript_is_the_one_without_endless_mode(tmp_path: Path) -> None:
    plain, endless = endless_chat(tmp_path, Model()), endless_chat(tmp_path, Model())
    plain.endless = None
    await talk(plain, 40)
    await talk(endless, 40)
    assert transcript_text(plain.session.events) == transcript_text(endless.session.events)


async def test_the_templates_instructions_end_the_system_prompt_from_the_first_call(tmp_path: Path) -> None:
    model = Model()
    chat = endless_chat(tmp_path, model, text="## Chat Instructions\n\nRhyme.\n\n## Rest\n\n{{ ledger }}")
    await talk(chat, 2)
    assert [request.system for request in model.asked] == ["You are kind.\n\nRhyme."] * 2
    assert chat.session.context.system == "You are kind.", "the session's own stay as they are"
    view = chat.session.call(1)
    assert (view.request.system, view.payload_sha256) == (
        "You are kind.\n\nRhyme.",
        chat.session.call(1).payload_sha256,
    )
    assert [one.name for one in view.explain().sections] == ["chat instructions"]


async def test_every_call_can_be_rebuilt_byte_for_byte(tmp_path: Path) -> None:
    model = Model()
    with Session.open(tmp_path / "a.db", "s", budget=3_000) as session:
        await talk(endless_chat(tmp_path, model, session=session), 30)
        hashes = [session.call(number).payload_sha256 for number in range(1, 31)]
    with Session.open(tmp_path / "a.db", "s", budget=3_000) as session:
        assert [session.call(number).payload_sha256 for number in range(1, 31)] == hashes
        assert tuple(session.call(30).messages) == model.asked[-1].messages


async def test_a_chat_goes_on_in_another_process_as_if_it_were_the_same(tmp_path: Path) -> None:
    whole, parted = Model(), Model()
    with Session.open(tmp_path / "a.db", "s", budget=3_000) as session:
        await talk(endless_chat(tmp_path, whole, session=session), 30)
    for first in (0, 10, 20):
        with Session.open(tmp_path / "b.db", "s", budget=3_000) as session:
            await talk(endless_chat(tmp_path, parted, session=session), 10, first)
    assert [request.messages for request in parted.asked] == [request.messages for request in whole.asked]


async def test_what_is_pinned_stays_beside_the_summary(tmp_path: Path) -> None:
    model = Model()
    chat = endless_chat(tmp_path, model)
    await talk(chat, 3)
    chat.session.pin("m1")
    await talk(chat, 40, 3)
    texts = [message.text for message in model.asked[-1].messages]
    assert texts[0].startswith(HEADING)
    assert chat.session.messages[0].text in texts


async def test_failed_tools_lead_to_a_reflection_that_the_template_shows(tmp_path: Path) -> None:
    def rule(request: Request) -> dict[str, Any] | str:
        last = request.messages[-1]
        return look(len(request.messages)) if "Thing 3" in last.text and last.role == "user" else "Done."

    model = Model(rule)
    tools = Tools(lambda _: "error: no such page")
    chat = endless_chat(tmp_path, model, tools=(tools,), terms=Terms(threshold=500, reflect_every=0))
    await talk(chat, 14)
    reflections = bodies(chat.session, ReflectionRecorded)
    assert len(reflections) == 1
    assert "no such page" in reflections[0].observation
    assert "no such page" in summary_of(model.asked[-1])


async def test_reflections_are_made_by_the_model_every_so_many_turns(tmp_path: Path) -> None:
    def write(request: Request) -> str:
        is_reflection = "Observation" in request.messages[-1].text
        return "Observation: too long answers\nAdjustment: be brief" if is_reflection else "They talked."

    chat = endless_chat(tmp_path, Model(), writer=Model(write, name="writer"), terms=Terms(reflect_every=5))
    await talk(chat, 20)
    made = bodies(chat.session, ReflectionRecorded)
    assert 2 <= len(made) <= 4
    assert (made[0].observation, made[0].adjustment, made[0].by) == ("too long answers", "be brief", "writer")


async def test_what_is_computed_for_an_input_stands_in_the_summary_and_may_fail(tmp_path: Path) -> None:
    model = Model()
    chat = endless_chat(
        tmp_path, model, text="{{ computed_context }}{{ ledger }}", terms=Terms(threshold=500, reflect_every=0)
    )
    assert chat.endless is not None
    chat.endless.computed = lambda text: f"known of {text[:8]}"
    await talk(chat, 10)
    assert "known of Thing" in summary_of(model.asked[-1])

    def fails(_: str) -> str:
        raise TemplateError("the knowledge is gone")

    chat.endless.computed = fails
    await talk(chat, 3, 10)
    assert "computed_failed" in codes(chat.session)


async def test_the_template_and_its_hash_are_recorded_with_each_call(tmp_path: Path) -> None:
    with Session.open(tmp_path / "a.db", "s", budget=3_000) as session:
        await talk(endless_chat(tmp_path, Model(), session=session), 2)
        view = session.call(2)
        assert view.strategy == "endless:plain"
    with sqlite3.connect(tmp_path / "a.db") as connection:
        row = connection.execute(
            "SELECT template_name, template_source, template_hash FROM context_summaries"
        ).fetchone()
    assert row[:2] == ("plain", "system")
    assert len(row[2]) == 64


async def test_a_template_may_name_the_model_that_writes(tmp_path: Path) -> None:
    other, writer = Model(lambda _: "By the other.", name="other"), Model(lambda _: "By the usual.", name="usual")
    text = TEMPLATE.replace("description: For tests.", "model: fast")
    model = Model()
    chat = endless_chat(tmp_path, model, text=text, writer=writer, terms=Terms(threshold=800, reflect_every=0))
    assert chat.endless is not None
    chat.endless.named = {"fast": other}.__getitem__
    await talk(chat, 12)
    assert "By the other." in summary_of(model.asked[-1])
    assert bodies(chat.session, SummaryRecorded)[-1].summarizer == "other"

    def unknown(name: str) -> Model:
        raise DriverError(f"the model {name!r} is not known; name another")

    chat.endless.named = unknown
    await talk(chat, 8, 12)
    assert "summary_model_failed" in codes(chat.session)
    assert "By the usual." in summary_of(model.asked[-1])


async def test_a_store_that_cannot_be_written_costs_no_call(tmp_path: Path) -> None:
    model = Model()
    with Session.open(tmp_path / "a.db", "s", budget=3_000) as session:
        chat = endless_chat(tmp_path, model, session=session)
        await talk(chat, 2)
        broken = "CREATE TRIGGER full BEFORE INSERT ON events WHEN NEW.kind = 'call_recorded' "
        with sqlite3.connect(tmp_path / "a.db") as connection:
            connection.execute(f"{broken} BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
        turn = await chat.say("Is anybody there?")
        assert turn.text.startswith("I see")
        with sqlite3.connect(tmp_path / "a.db") as connection:
            connection.execute("DROP TRIGGER full")
        await talk(chat, 1, 3)
        assert "store_failed" in codes(session)
        assert [message.text for message in session.messages][4] == "Is anybody there?"


async def test_a_preview_shows_what_would_be_sent_and_records_nothing(tmp_path: Path) -> None:
    model = Model()
    chat = endless_chat(tmp_path, model, text="## Chat Instructions\n\nRhyme.\n\n## Rest\n\n{{ ledger }}")
    await talk(chat, 30)
    chat.session.append({"role": "user", "content": "And now?"})
    length = chat.session.context.length
    again = endless_chat(
        tmp_path, model, text="## Chat Instructions\n\nRhyme.\n\n## Rest\n\n{{ ledger }}", session=chat.session
    )
    previewed = again.preview()
    assert chat.session.context.length == length
    assert (await chat.compiled()).payload == previewed.payload
    assert previewed.system_prompt == "You are kind.\n\nRhyme."


async def test_in_a_tiny_budget_the_summary_is_the_last_to_go_and_a_larger_one_is_no_error(tmp_path: Path) -> None:
    model = Model(lambda _: "Noted. " * 10)
    with Session.open(tmp_path / "a.db", "s", budget=500) as session:
        await talk(endless_chat(tmp_path, model, session=session), 14)
        assert summary_of(model.asked[-1])
    with Session.open(tmp_path / "a.db", "s", budget=16_000) as session:
        chat = endless_chat(tmp_path, model, session=session)
        chat.endless = None
        await talk(chat, 3, 14)


@pytest.mark.parametrize("text", ["## Context Instructions\nBe brief.\n", "Summarise all of it in three sentences.\n"])
async def test_a_form_without_placeholders_never_stands_for_the_past(tmp_path: Path, text: str) -> None:
    """Without a model, or with one that fails, what was kept is listed; a model gets the text as what to write."""
    failing = Model(lambda _: DriverError("out of order"), name="writer")
    chat = endless_chat(tmp_path, Model(), text=f"---\ntoken_threshold: 0\n---\n{text}", writer=failing)
    await talk(chat, 9)
    summary = summary_of(chat.session.call(9).request)
    assert "I must never be called number 3" in summary
    assert "three sentences" not in summary
    asked = " ".join(message.text for message in failing.asked[-1].messages)
    assert "three sentences" in asked or "Be brief." in (failing.asked[-1].system or "")


@pytest.mark.parametrize("results", [0, 1, 3])
async def test_a_template_gets_as_many_tool_results_as_are_set(tmp_path: Path, results: int) -> None:
    calls = 0

    def rule(request: Request) -> dict[str, Any] | str:
        nonlocal calls
        calls += 1
        return look(calls) if request.messages[-1].role == "user" else "Done."

    text = "---\nrefresh: every-turn\n---\n{{ ledger }}\nResults:\n{{ tool_results }}\n"
    terms = Terms(recent_results=results, reflect_every=0)
    chat = endless_chat(tmp_path, Model(rule), text=text, tools=(Tools(lambda _: "found it"),), terms=terms)
    await talk(chat, 9)
    _, _, shown = summary_of(chat.session.preview().request).partition("Results:")
    assert shown.count("found it") == results


async def test_a_model_without_reflections_is_not_asked_at_every_turn(tmp_path: Path) -> None:
    silent = Model(lambda _: "", name="writer")
    chat = endless_chat(tmp_path, Model(), budget=100_000, writer=silent, terms=Terms(reflect_every=4))
    await talk(chat, 20)
    assert 1 <= len(silent.asked) <= 5


async def test_whatever_others_raise_costs_no_call(tmp_path: Path) -> None:
    """A model that writes summaries and a computed context are somebody else's code."""

    def computed(_: str) -> str:
        raise ZeroDivisionError("by zero")

    broken = Model(lambda _: IndexError("list index out of range"), name="writer")
    model = Model()
    chat = endless_chat(tmp_path, model, writer=broken, terms=Terms(threshold=500, reflect_every=3))
    assert chat.endless is not None
    chat.endless.computed = computed
    await talk(chat, 12)
    assert len(model.asked) == 12
    assert {"summary_failed", "reflection_failed", "computed_failed"} <= set(codes(chat.session))


@pytest.mark.parametrize("refresh", ["every-turn", "when-needed"])
@pytest.mark.parametrize("turns", [0, 1, 5])
async def test_a_template_gets_as_many_recent_turns_as_were_asked_for(tmp_path: Path, refresh: str, turns: int) -> None:
    """However long they are, and however little room a digest has for words."""
    text = (
        f"---\nrefresh: {refresh}\ntoken_threshold: 500\npassthrough_runs: 1\n---\n"
        "{% for turn in recent_turns %}said by {{ turn.speaker }}: {{ turn.text }}\n{% endfor %}\n{{ ledger }}\n"
    )
    model = Model(lambda _: "The answer is long. " * 60)
    chat = endless_chat(tmp_path, model, text=text, terms=Terms(recent_turns=turns, reflect_every=0))
    await talk(chat, 12)
    summary = summary_of(model.asked[-1])

    assert (summary.count("said by user: "), summary.count("said by assistant: ")) == (turns, turns)


async def test_recent_turns_are_there_when_the_model_that_wrote_the_last_summary_fails(tmp_path: Path) -> None:
    """What it wrote holds no turns; the log does."""
    wrote: list[str] = []

    def rule(_request: Request) -> str | Exception:
        wrote.append("")
        return "They talked." if len(wrote) < 4 else DriverError("gone")

    text = "---\nrefresh: every-turn\n---\n{% for turn in recent_turns %}said by {{ turn.speaker }}\n{% endfor %}\n{{ ledger }}\n"
    model = Model()
    terms = Terms(recent_turns=4, reflect_every=0)
    chat = endless_chat(tmp_path, model, text=text, writer=Model(rule), terms=terms)
    await talk(chat, 10)

    assert summary_of(model.asked[-1]).count("said by user") == 4


async def test_a_threshold_of_nothing_is_a_summary_at_every_turn(tmp_path: Path) -> None:
    """As a setting, as in a template."""
    model = Model()
    chat = endless_chat(tmp_path, model, terms=Terms(threshold=0, reflect_every=0))
    await talk(chat, 6)

    assert len(bodies(chat.session, ReductionRecorded)) == 2


@pytest.mark.parametrize("threshold", [1, 200, 500, 1_000])
async def test_a_threshold_far_below_the_budget_is_obeyed(tmp_path: Path, threshold: int) -> None:
    """A summary is made as soon as the messages have more tokens and one of them is older than the runs that stay."""
    model = Model(lambda _: "The answer is long. " * 20)
    chat = endless_chat(tmp_path, model, terms=Terms(runs=1, threshold=threshold, reflect_every=0), budget=50_000)
    await talk(chat, 14)
    first = next(number for number, request in enumerate(model.asked) if summary_of(request))
    before = [chat.session.call(number).tokens for number in range(1, first + 1)]

    assert before[-1] <= max(threshold, before[1]), "the last one without a summary was below, or had nothing older"
    made = bodies(chat.session, ReductionRecorded)
    assert made[0].before > threshold
    assert {one.trigger for one in made} == {"due"}


async def test_recent_turns_stay_as_long_as_the_budget_has_room(tmp_path: Path) -> None:
    """A summary is made when there is no room for another turn, and then most turns of the window stay."""
    model = Model(lambda _: "The answer is long. " * 20)
    chat = endless_chat(tmp_path, model, terms=Terms(reflect_every=0), budget=6_000)
    await talk(chat, 120)
    made = [one for one in bodies(chat.session, ReductionRecorded) if "compose" in one.passes]
    assert not any("fold" in one.passes for one in bodies(chat.session, ReductionRecorded))
    sizes = [chat.session.call(number).tokens for number in range(1, len(model.asked) + 1)]

    assert 1 <= len(made) <= 14, "a batch of turns at once, though what is looked up takes room, too"
    assert made[0].before > 5_000
    assert statistics.median(sizes[len(sizes) // 2 :]) > 3_600, "the window is used"
    assert max(sizes) <= 6_000


async def test_a_number_of_runs_that_a_user_sets_is_obeyed(tmp_path: Path) -> None:
    """However much room there is, a summary leaves so many turns and no more."""
    model = Model(lambda _: "The answer is long. " * 20)
    chat = endless_chat(tmp_path, model, terms=Terms(runs=2, reflect_every=0), budget=6_000)
    await talk(chat, 80)
    numbers = [body.number for body in bodies(chat.session, ReductionRecorded)]
    assert len(numbers) > 2
    after = next(request for request in model.asked if summary_of(request))
    said = [one for one in after.messages if one.role == "user" and one.meta.kind == "message"]
    assert len(said) == 3, "two finished runs and the newest input"
