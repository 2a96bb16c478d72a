"""The record of summaries: in the log and in `context_summaries` it is told what wrote each, by what and from what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.chat.talking import Model, endless_chat, talk
from tests.store import engines

from foveate.chat.endless import Terms
from foveate.chat.recording import note_alias
from foveate.inspect.calls import read_calls
from foveate.inspect.session_costs import input_costs
from foveate.log.events import SummaryRecorded
from foveate.session import Session
from foveate.store import Store

store_url = engines.store_url

TERMS = Terms(threshold=800, reflect_every=0)
WRITTEN = "  Ada collects numbers.\n"


def rows_of(store: Store) -> list[dict[str, Any]]:
    with store.reading() as connection:
        found = connection.exec_driver_sql("SELECT * FROM context_summaries ORDER BY call").mappings().all()
    return [dict(row) for row in found]


def recorded(session: Session) -> list[SummaryRecorded]:
    return [event.body for event in session.events if isinstance(event.body, SummaryRecorded)]


def has_summary(row: dict[str, Any]) -> bool:
    return "summarised" in json.loads(row["fates"])


async def test_the_log_has_turn_call_budget_prompt_and_inputs_of_each_summary(tmp_path: Path) -> None:
    writer = Model(lambda _: WRITTEN, name="writer")
    chat = endless_chat(tmp_path, Model(), writer=writer, terms=TERMS)
    await talk(chat, 14)
    first, second, *_ = recorded(chat.session)
    assert (first.budget, first.raw, first.by_rules) == (3_000, WRITTEN.strip(), False)
    assert first.turn == first.call > 4, "a call to a turn"
    assert first.prompt is not None
    assert first.prompt.startswith(writer.asked[0].system or "-")
    assert first.prompt.endswith(writer.asked[0].messages[-1].text)
    assert first.inputs["first"] == 0
    assert first.inputs["room"] > 0
    assert second.inputs["earlier"] == first.through


async def test_a_summary_that_rules_made_is_in_the_log_too_and_changes_no_request(tmp_path: Path) -> None:
    model = Model()
    chat = endless_chat(tmp_path, model, terms=TERMS)
    await talk(chat, 20)
    made = recorded(chat.session)
    assert made
    assert {(one.summarizer, one.by_rules, one.template, one.prompt) for one in made} == {("none", True, "plain", None)}
    for one in made:
        shown = chat.session.call(one.call).messages[0].text
        assert shown == f"Context summary (compiled):\n{one.text}"
    assert chat.session.preview().previous_summary is None, "no model is told that it wrote it"
    again = Session.from_events(chat.session.events, budget=3_000)
    last = made[-1].call
    assert again.call(last).payload_sha256 == chat.session.call(last).payload_sha256


async def test_the_row_of_a_call_with_a_summary_is_about_that_summary(store_url: str, tmp_path: Path) -> None:
    writer = Model(lambda _: WRITTEN, name="writer")
    with Store(store_url) as store:
        with Session.open(store, "s", budget=3_000, model="gpt-4o") as session:
            await talk(endless_chat(tmp_path, Model(), writer=writer, terms=TERMS, session=session), 12)
            newest = recorded(session)[-1]
        *_, row = rows_of(store)
        calls = read_calls(store, store.session("s"))
        assert has_summary(row)
        assert (row["model_alias"], row["raw_output"]) == ("writer", WRITTEN.strip())
        assert (row["template_name"], row["template_source"]) == ("plain", "system")
        assert row["template_hash"] == newest.template_sha256
        assert json.loads(row["sections_included"]) == ["Template"], "a template without headings is one section"
        assert json.loads(row["budget"])["summary"] == newest.tokens
        assert "You are kind." in row["compiled_prompt"]
        assert "artifact://prompt/" in row["compiled_prompt"]
        inputs = json.loads(row["input_payload"])["summary"]
        assert (inputs["turn"], inputs["call"], inputs["through"]) == (newest.turn, newest.call, newest.through)
        assert row["parsed_output"] is None, "the template has no contract"
        assert row["output_id"], "the reply is named"
        assert {(one.strategy, one.model) for one in calls} == {("endless:plain", "gpt-4o")}
        (cost,) = input_costs(store, [store.session("s")]).values()
        assert cost is not None, "a call is paid at the price of the model that read it"


async def test_before_there_is_a_summary_the_row_is_about_the_call(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        with Session.open(store, "s", budget=3_000, model="gpt-4o") as session:
            await talk(endless_chat(tmp_path, Model(), terms=TERMS, session=session), 2)
        (_, row) = rows_of(store)
    assert (row["model_alias"], row["template_name"], row["sections_included"]) == ("gpt-4o", "plain", "[]")
    assert row["raw_output"].startswith("I see: Thing 1")


async def test_the_row_of_a_summary_by_rules_says_that_nobody_wrote_it(store_url: str, tmp_path: Path) -> None:
    with Store(store_url) as store:
        with Session.open(store, "s", budget=3_000) as session:
            await talk(endless_chat(tmp_path, Model(), terms=TERMS, session=session), 12)
            texts = {one.text for one in recorded(session)}
        rows = [row for row in rows_of(store) if has_summary(row)]
        assert rows
        assert {row["model_alias"] for row in rows} == {"none"}
        # All of its words once, and then where they are.
        whole = [row["raw_output"].strip() for row in rows if "… [all of it is at call " not in row["raw_output"]]
        assert sorted(whole) == sorted(texts)
        assert {row["template_name"] for row in rows} == {"plain"}


@pytest.mark.parametrize("writer", [Model(lambda _: WRITTEN, name="writer"), None], ids=["model", "rules"])
async def test_a_session_that_is_opened_again_still_knows_its_summary(
    store_url: str, tmp_path: Path, writer: Model | None
) -> None:
    columns = ("model_alias", "template_name", "template_hash", "sections_included")
    with Store(store_url) as store:
        with Session.open(store, "s", budget=3_000) as session:
            await talk(endless_chat(tmp_path, Model(), writer=writer, terms=TERMS, session=session), 12)
        before = rows_of(store)[-1]
        with Session.open(store, "s", budget=3_000) as session:
            terms = Terms(threshold=2_900, reflect_every=0)
            await endless_chat(tmp_path, Model(), writer=writer, terms=terms, session=session).say("And now?")
        after = rows_of(store)[-1]
    assert after["call"] == before["call"] + 1
    assert [after[name] for name in columns] == [before[name] for name in columns]
    # A long one is kept whole with the call that it was made for; later ones have its beginning.
    assert after["raw_output"][:400] == before["raw_output"][:400]


async def test_a_long_prompt_is_kept_once_beside_the_log(store_url: str, tmp_path: Path) -> None:
    writer = Model(lambda _: WRITTEN, name="writer")
    with Store(store_url) as store:
        with Session.open(store, "s", budget=8_000) as session:
            chat = endless_chat(
                tmp_path, Model(), writer=writer, terms=Terms(threshold=3_000, reflect_every=0), session=session
            )
            await talk(chat, 40)
            prompts = [one.prompt for one in recorded(session)]
        with Session.open(store, "s", budget=8_000) as session:
            assert [one.prompt for one in recorded(session)] == prompts
        assert max(len(one or "") for one in prompts) > 4_000
        with store.reading() as connection:
            longest = "SELECT max(length(body)) FROM events WHERE kind = 'summary_recorded'"
            assert connection.exec_driver_sql(longest).scalar_one() < 4_000


CONTRACT = """\
## Topic
{{ topic }}

## Plan
{{ ledger }}

```yaml
topic: text
open_questions: list
```
"""


@pytest.mark.parametrize(
    ("written", "parsed"),
    [
        (
            '{"topic": "numbers", "open_questions": ["which?"], "mood": "good"}',
            {"topic": "numbers", "open_questions": ["which?"]},
        ),
        ("Topic: numbers\nOpen questions:\n- which?", {"topic": "numbers", "open_questions": ["which?"]}),
        (
            "They talk.\n**Topic:** numbers\n\n**Open questions**\nwhich?",
            {"topic": "numbers", "open_questions": "which?"},
        ),
        ("## Topic\nnumbers\n## Mood\ngood", {"topic": "numbers"}),
        ("Nothing of the kind.", None),
    ],
)
async def test_a_row_has_the_contract_that_the_summary_fills_and_the_sections_of_its_template(
    store_url: str, tmp_path: Path, written: str, parsed: dict[str, Any] | None
) -> None:
    """Not the reply: that is a message of the log, which the row names."""
    writer = Model(lambda _: written, name="writer")
    with Store(store_url) as store:
        with Session.open(store, "s", budget=3_000) as session:
            chat = endless_chat(tmp_path, Model(), text=CONTRACT, writer=writer, terms=TERMS, session=session)
            await talk(chat, 9)
        without, *_ = rows_of(store)
        *_, row = rows_of(store)
    assert without["parsed_output"] is None
    assert (json.loads(row["parsed_output"]) if row["parsed_output"] else None) == parsed
    assert json.loads(row["sections_included"]) == ["Topic", "Plan"]


async def test_rows_of_summaries_by_rules_have_contract_and_sections_too(store_url: str, tmp_path: Path) -> None:
    with Store(store_url) as store:
        with Session.open(store, "s", budget=3_000) as session:
            await talk(endless_chat(tmp_path, Model(), text=CONTRACT, terms=TERMS, session=session), 9)
        rows = [row for row in rows_of(store) if has_summary(row)]
    assert {row["sections_included"] for row in rows} == {'["Topic","Plan"]'}
    assert {tuple(json.loads(row["parsed_output"])) for row in rows} == {("topic",)}


class Aliased(Model):
    """A model that was chosen by another name than its own."""

    alias = "fast"


async def test_the_alias_is_the_name_that_was_chosen(store_url: str, tmp_path: Path) -> None:
    """Of who answers and of who writes summaries, also in a session that is opened again; prices go by the model."""
    writer = Aliased(lambda _: WRITTEN, name="openai:gpt-4o-mini")
    with Store(store_url) as store:
        for turns in (2, 10):
            with Session.open(store, "s", budget=3_000, model="gpt-4o") as session:
                note_alias(session, "" if turns == 2 else "clever", "clever")
                await talk(endless_chat(tmp_path, Model(), writer=writer, terms=TERMS, session=session), turns)
        rows = rows_of(store)
        calls = read_calls(store, store.session("s"))
    assert {row["model_alias"] for row in rows if not has_summary(row)} == {"clever"}
    assert {row["model_alias"] for row in rows if has_summary(row)} == {"fast"}
    assert {one.model for one in calls} == {"gpt-4o"}
