"""Steps as they are carried out: what a model on the other end of a connection gets, and what is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from foveate.agents.driver import DriverError
from foveate.errors import BudgetError, ConfigError
from foveate.integrations.pydantic_ai import PydanticAIDriver
from foveate.log.events import DiagnosticRecorded, WorkRecorded
from foveate.session.durable import recorded_call
from tests.scripted_model import Payload, ScriptError, call, text
from tests.scripts.stages import NOON, Setting, said, setting, whole

DAY = 86_400.0
TEMPLATE = "---\nrefresh: every-turn\n---\n## Kept in view\n{{ recent_turns }}\n{{ ledger }}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty: Path) -> Iterator[Setting]:
    with setting(tmp_path, monkeypatch, empty) as made:
        yield made


TWO = """\
## Instructions
Be brief.

## Gather
@input file:notes/{yesterday}.md
@input file:notes/long.md (head=2)
@input file:notes/other.md (refs_only)
@input file:notes/props.md (properties)
@input file:notes/none.md
@output variable:facts

List the facts.

## 写计划
@input variable:facts (required)
@output file:plans/{today}.md
@header {day-name}

写一个计划。
"""


async def test_a_step_gets_instructions_inputs_and_its_text_and_nothing_else(here: Setting) -> None:
    """Steps share what they declare; each request can be looked at like any other call."""
    here.write("notes/2026-03-03.md", "昨天下雨\n## a heading\n```\ncode\n```\n")
    here.write("notes/long.md", "1\n2\n3\n4\n")
    here.write("notes/other.md", "NOT-SHOWN")
    here.write("notes/props.md", "---\ntags: [x]\n---\nNOT-SHOWN")

    done = await here.run(TWO)

    first, second = here.model.received
    assert [one.status for one in done] == ["done", "done"]
    inputs = (
        "## notes/2026-03-03.md\n````\n昨天下雨\n## a heading\n```\ncode\n```\n````\n\n"
        "## notes/long.md\n```\n1\n2\n[the first 2 of 4 lines]\n```\n\n"
        "## notes/props.md\n```\ntags: [x]\n```\n\n"
        "## notes/other.md\nNot shown; only its name is given."
    )
    assert said(first) == [("system", "Be brief."), ("user", inputs), ("user", "List the facts.")]
    assert said(second) == [("system", "Be brief."), ("user", "## facts\n```\nanswer 1\n```"), ("user", "写一个计划。")]
    assert here.read("plans/2026-03-04.md") == "# Wednesday\n\nanswer 2\n"
    assert here.watched.notes == ["there is no file:notes/none.md; the step goes on without"]
    assert done[1].delivered == ("file:plans/2026-03-04.md",)
    info = here.store.session("workflow:daily/写计划")
    assert info.tags.items() > {"workflow": "daily", "step": "写计划"}.items()
    assert "写一个计划" in str(recorded_call(here.store, info, 1).to("openai"))


async def test_a_variable_of_the_session_is_there_in_the_next_run(here: Setting) -> None:
    """Whether its output or an input says so; a run of its own forgets the others."""
    script = (
        "## Look back\n@input variable:diary\n@input variable:mood (scope=session)\n@input variable:plan\n\nWhat was?"
        "\n\n## Write\n@output variable:diary (scope=session)\n\nWrite."
        "\n\n## Feel\n@output variable:mood\n\nHow?"
        "\n\n## Plan\n@output variable:plan\n\nPlan."
    )
    with pytest.raises(ConfigError, match="`@input variable:plan`: earlier steps give diary, mood"):
        await here.run(script)
    script = script.replace("@input variable:plan\n", "")

    await here.run(script)
    assert said(here.model.received[0]) == [("user", "What was?")]
    assert here.watched.notes == [
        "there is no variable:diary; the step goes on without",
        "there is no variable:mood; the step goes on without",
    ]

    await here.run(script)
    shown = "## diary\n```\nanswer 2\n```\n\n## mood\n```\nanswer 3\n```"
    assert said(here.model.received[4])[0] == ("user", shown)


async def test_context_reaches_all_later_steps_and_variables_only_those_that_ask(here: Setting) -> None:
    """And none of it reaches a later run."""
    script = (
        "## A\n@output context\n@output variable:a\nx\n## B\n@input variable:a\ny\n## C\nz\n## D\n@model none\n@input variable:a\n"
        "@output file:d.md\n"
    )

    await here.run(script)
    await here.run(script)

    assert [dict(said(one)).get("user") for one in here.model.received[:3]] == ["x", "y", "z"]
    b, c = (whole(here.model.received[place]) for place in (1, 2))
    assert "## Output of A" in b and "## a\\n" in b
    assert "## Output of A" in c and "## a\\n" not in c
    assert "answer 1" not in whole(here.model.received[3])
    assert here.read("d.md") == "answer 1\n\nanswer 4\n"


async def test_recent_runs_are_shown_as_they_were(here: Setting) -> None:
    """By default none, else the newest so many, whatever there were before them; or all."""
    shown = []
    for runs in ("", "@recent_runs 2\n", "@recent_runs all\n"):
        script = f"## Step{len(runs)}\n{runs}Say it.\n"
        for _ in range(5):
            here.now += DAY
            await here.run(script)
        shown.append([content for role, content in said(here.model.received[-1]) if role == "assistant"])

    assert shown == [[], ["answer 8", "answer 9"], ["answer 11", "answer 12", "answer 13", "answer 14"]]


async def test_a_tool_that_failed_in_an_earlier_run_is_not_mentioned(here: Setting) -> None:
    """A run begins anew."""
    script = "## A\n@tools vault\nRead it.\n"
    stage = here.stage(script)
    name = stage.script.session_of(stage.script.steps[0])
    with stage.opened(stage.script.steps[0]) as session:
        session.append({"role": "user", "content": "Read it."})
        session.append(call("read_file", path="SECRET.md"))
        session.append({"role": "tool", "tool_call_id": "call_read_file_1", "content": "Error: no SECRET.md"})

    await here.run(script)

    assert "SECRET" not in whole(here.model.received[-1])
    assert here.store.session(name).calls == 1


async def test_a_helper_keeps_older_runs_in_view(here: Setting) -> None:
    """As its template says, behind the instructions; runs that the step asks for stay as they were."""
    here.write("AssistantMD/ContextTemplates/keep.md", TEMPLATE)
    script = "## Instructions\nBe brief.\n## A\n@context-helper keep\n@recent_runs 1\nSay it.\n"
    for _ in range(4):
        here.now += DAY
        await here.run(script)

    messages = said(here.model.received[-1])
    assert messages[0] == ("system", "Be brief.")
    assert messages[1][0] == "system" and messages[1][1].startswith("Context summary (compiled):\n## Kept in view\n")
    assert "answer 1" in messages[1][1] and "answer 2" in messages[1][1]
    assert [content for role, content in messages if role == "assistant"] == ["answer 3"]
    assert messages[-1] == ("user", "Say it.")


@pytest.mark.parametrize(
    ("template", "code"),
    [
        (None, "template_failed"),
        ("---\na: [\n---\nx", "template_failed"),
        ("{{ 1/0 }}", "template_failed"),
        ("## Chat Instructions\n" + "Obey. " * 4_000 + "\n## View\nx", "helper_dropped"),
    ],
)
async def test_a_helper_that_fails_or_has_no_room_costs_no_step(here: Setting, template: str | None, code: str) -> None:
    """The step goes out with what it says itself, and a diagnostic says so."""
    if template is not None:
        here.write("AssistantMD/ContextTemplates/keep.md", template)
    here.settings = replace(here.settings, budget=1_000, reserve=0)
    script = "## Instructions\nBe brief.\n## A\n@context-helper keep\n@recent_runs 1\nSay it.\n"

    for _ in range(3):
        here.now += DAY
        (done,) = await here.run(script)
        assert done.status == "done"

    last = said(here.model.received[-1])
    assert "Obey" not in str(last)
    assert [content for role, content in last if role == "assistant"] == ["answer 2"]
    info = here.store.session("workflow:daily/A")
    bodies = [event.body for event in here.store.reader(info).events()]
    assert code in {body.code for body in bodies if isinstance(body, DiagnosticRecorded)}
    assert len(here.watched.notes) >= 3, "it is said at every run"
    (preview,) = await here.previews(script)
    assert preview.notes or code == "helper_dropped"


async def test_an_output_is_used_again_while_it_is_good(here: Setting) -> None:
    """The same text and inputs within the time; nothing is asked, and files that have it are left alone."""
    script = "## A\n@input file:in.md\n@output file:{today}.md\n@output variable:a\n@cache weekly\nSay it.\n## B\n@input variable:a\nGo on.\n"
    here.write("in.md", "one")
    statuses = []
    for change in (None, None, "day", "input", None, "text", "week"):
        if change == "day":
            here.now += DAY
        elif change == "week":
            here.now += 7 * DAY
        elif change == "input":
            here.write("in.md", "two")
        elif change == "text":
            script = script.replace("Say it.", "Say it well.")
        statuses.append((await here.run(script))[0].status)

    assert statuses == ["done", "cached", "cached", "done", "cached", "done", "done"]
    # B is asked in each run.
    assert len(here.model.received) == 7 + statuses.count("done")
    assert here.read("2026-03-04.md") == "answer 1\n"
    assert here.read("2026-03-05.md").count("answer") == 3
    assert ("user", "## a\n```\nanswer 1\n```") in said(here.model.received[2])


async def test_a_changed_template_or_model_makes_an_output_anew(here: Setting) -> None:
    """They are part of what it was made from."""
    statuses = []
    for template, model in (("one", "a"), ("one", "a"), ("two", "a"), ("two", "b")):
        here.write("AssistantMD/ContextTemplates/keep.md", template)
        script = f"## A\n@model {model}\n@context-helper keep\n@cache session\nSay it.\n"
        statuses.append((await here.run(script))[0].status)

    assert statuses == ["done", "cached", "done", "done"]


async def test_a_failure_ends_the_run_and_is_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty: Path
) -> None:
    """Files of steps before it stay; the next run begins with the first step again."""

    def reply(payload: Payload) -> dict[str, object]:
        if "fail" in whole(payload):
            raise ScriptError("no")
        return text("fine")

    with setting(tmp_path, monkeypatch, empty, reply) as here:
        script = "## A\n@output file:a.md\nx\n## B\n@output file:b.md\nfail\n## C\ny\n"

        done = await here.run(script)

        assert [(one.step.name, one.status) for one in done] == [("A", "done"), ("B", "failed")]
        assert isinstance(done[1].error, DriverError)
        assert here.read("a.md") == "fine\n"
        assert not (here.vault / "b.md").exists()
        info = here.store.session("workflow:daily/B")
        bodies = [event.body for event in here.store.reader(info).events()]
        assert [body.step for body in bodies if isinstance(body, WorkRecorded)] == ["failed"]
        assert [one.status for one in await here.run(script.replace("fail", "works"))] == ["done"] * 3


async def test_an_empty_answer_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty: Path) -> None:
    """Least of all over something."""
    with setting(tmp_path, monkeypatch, empty, lambda _: text("  \n")) as here:
        here.write("a.md", "mine")

        (done,) = await here.run("## A\n@output file:a.md\n@write_mode replace\nx\n")

        assert done.status == "failed"
        assert "gave no text" in str(done.error)
        assert here.read("a.md") == "mine"


async def test_what_cannot_be_done_fails_with_its_reason(here: Setting) -> None:
    """A required input that is not there, inputs that do not fit, a file that is a folder."""
    here.settings = replace(here.settings, budget=500, reserve=0)
    here.write("big.md", "word " * 5_000)
    here.write("folder/x.md", "")
    for directive, kind, problem in [
        ("@input file:none.md (required)", ConfigError, "`@input file:none.md` is required"),
        ("@input file:big.md", BudgetError, "sections"),
        ("@input file:folder", Exception, "no regular file"),
        ("@output file:folder", Exception, "name a file"),
    ]:
        (done,) = await here.run(f"## A\n{directive}\nx\n")
        assert done.status == "failed"
        assert isinstance(done.error, kind)
        assert problem in str(done.error)


async def test_tools_read_the_vault_and_recall_reads_earlier_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty: Path
) -> None:
    """And without `@tools` there are none."""

    def reply(payload: Payload) -> dict[str, object]:
        names = [tool["function"]["name"] for tool in payload.get("tools", ())]
        last = payload["messages"][-1]
        if last["role"] == "tool":
            return text(f"read: {last['content']}")
        if "read_file" in names:
            return call("read_file", path="a.md")
        return call("recall", reference="m2") if "recall" in names else text("EARLIER")

    with setting(tmp_path, monkeypatch, empty, reply) as here:
        here.write("a.md", "苹果")

        (plain,) = await here.run("## A\nx\n")
        (vault,) = await here.run("## B\n@tools vault\nx\n")
        (recall,) = await here.run("## A\n@tools recall\nx\n")

    assert plain.output == "EARLIER"
    assert vault.output == "read: 苹果"
    assert len(vault.calls) == 2
    assert recall.output.startswith("read: ") and "EARLIER" in recall.output


async def test_one_step_alone_gets_what_earlier_steps_gave_last_time(here: Setting) -> None:
    """Those are not carried out again; of one that never was, it is said."""
    script = "## A\n@output variable:a\nx\n## B\n@input variable:a\ny\n"

    await here.run(script, only="b")
    await here.run(script)
    (done,) = await here.run(script, only="b")

    assert done.step.name == "B"
    assert here.watched.notes == [
        "it has not been carried out yet, so what it gives is missing",
        "there is no variable:a; the step goes on without",
    ]
    assert "answer 2" in whole(here.model.received[-1])
    with pytest.raises(ConfigError, match="there are 'A', 'B'"):
        await here.run(script, only="C")


@pytest.mark.parametrize("other", ["other/vault", "elsewhere"])
async def test_a_vault_has_sessions_of_its_own(here: Setting, other: str) -> None:
    """Its notes are nobody's business in another one, be it of the same name, and each finds its own again."""
    script = "## A\n@output variable:a (scope=session)\n@recent_runs 2\nx\n## B\n@input variable:a (scope=session)\ny\n"
    here.write("secret.md", "")
    await here.run(script)
    first = here.vault
    here.vault = here.vault.parent / other
    await here.run(script)

    assert said(here.model.received[2]) == [("user", "x")]
    assert "answer 1" not in whole(here.model.received[3])
    names = {info.session_id for info in here.store.sessions()}
    assert {"workflow:daily/A", "workflow:daily/B"} < names and len(names) == 4
    await here.run(script)
    assert "answer 3" in whole(here.model.received[4])
    here.vault = first
    await here.run(script)
    assert "answer 1" in whole(here.model.received[6])
    assert {info.session_id for info in here.store.sessions()} == names


async def test_a_template_of_a_helper_may_name_its_own_model(here: Setting) -> None:
    """It writes the summaries; the step is answered by the step's model."""
    here.write("AssistantMD/ContextTemplates/keep.md", f"---\nmodel: small\n---\n{TEMPLATE}")
    small = PydanticAIDriver("openai-chat:small")
    here.answering = replace(here.answering, writer=here.answering.driver, named=lambda name: {"small": small}[name])
    script = "## A\n@context-helper keep\n@recent_runs 1\nSay it.\n"
    for _ in range(3):
        here.now += DAY
        await here.run(script)

    assert "small" in {payload["model"] for payload in here.model.received}
    assert here.model.received[-1]["model"] == "scripted"


async def test_an_alias_that_means_another_model_makes_an_output_anew(here: Setting) -> None:
    """An answer is used again only for the model that gave it, whatever the workflow calls it."""
    script = "## A\n@model fast\n@cache session\nSay it.\n"
    statuses = []
    for model in ("first", "first", "second"):
        here.aliases["fast"] = model
        statuses.append((await here.run(script))[0].status)

    assert statuses == ["done", "cached", "done"]


async def test_a_preview_says_what_would_not_be_sent(here: Setting) -> None:
    """An output that is still good, until it is not."""
    script = "## A\n@cache daily\nSay it.\n"
    (before,) = await here.previews(script)
    await here.run(script)
    (same_day,) = await here.previews(script)
    here.now += DAY
    (next_day,) = await here.previews(script)

    assert (before.made, next_day.made) == (None, None)
    assert same_day.made is not None


async def test_a_preview_is_the_request_and_writes_nothing(here: Setting) -> None:
    """The same messages as are sent then, with what earlier steps gave."""
    here.write("notes/long.md", "1\n2\n3\n")
    (before, later) = await here.previews(TWO)
    assert here.store.sessions() == []
    assert here.model.received == []
    assert later.view is not None
    assert "(what Gather gives, once it is carried out)" in later.view.to("text")

    await here.run(TWO)
    events = [info.events for info in here.store.sessions()]
    await here.run(TWO)
    assert before.view is not None
    assert [message["content"] for message in before.view.to("openai")] == [
        content for _, content in said(here.model.received[0])
    ]

    again = await here.previews(TWO)
    await here.previews(TWO, only="Gather")
    assert "answer 3" in again[1].view.to("text")
    assert [info.events for info in here.store.sessions()] != events
    counts = [info.events for info in here.store.sessions()]
    await here.previews(TWO)
    assert [info.events for info in here.store.sessions()] == counts


async def test_many_runs_stay_quick_and_small(here: Setting) -> None:
    """Requests do not grow with the runs before them."""
    script = "## A\nSay it.\n"
    sizes = []
    for _ in range(12):
        here.now += DAY
        await here.run(script)
        sizes.append(len(whole(here.model.received[-1])))

    assert max(sizes[2:]) - min(sizes[2:]) < 10
    assert here.now == NOON + 12 * DAY


async def test_where_nothing_can_be_written_nobody_is_asked(here: Setting) -> None:
    """A link out of the vault is found before a model is paid."""
    (here.vault / "out").symlink_to(here.vault.parent)
    (done,) = await here.run("## A\n@output file:out/a.md\nSay it.\n")

    assert done.status == "failed" and "name a file inside the vault" in str(done.error)
    assert here.model.received == []
