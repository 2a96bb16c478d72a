"""Replay: numbers that can be checked by hand, and contestants that go wrong."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as given_
from hypothesis import settings
from hypothesis import strategies as st
from tests.lab.conversations import MODEL, Chat, answer, call, recording, result, user, words

from foveate.errors import ConfigError, LogError, UnknownModelError
from foveate.importers.entries import Usage
from foveate.importers.recording import Recording
from foveate.lab.config import Config, config_at
from foveate.lab.example import example_recording
from foveate.lab.replay import replay
from foveate.lab.result import Break, Lane, Problem, Result, Totals, as_dict, loaded
from foveate.lab.sources import Source, given, sources_in
from foveate.lab.table import recorded_table, table
from foveate.log.messages import Message, Text, Thinking

# In dollars for a token: the price list's 3 for a million, written to the cache and read from it.
WRITE, READ = 1.25 * 3e-6, 0.1 * 3e-6
# A request takes three tokens besides its messages.
FRAME = 3

OWN = """
import itertools
import foveate

clock = itertools.count()
def dated(messages, budget):
    return [{"role": "user", "content": f"call {next(clock)}"}, *messages]
def changing(messages, budget):
    for message in messages:
        message["content"] = "gone"
    return messages
def orphaned(messages, budget):
    return [{"role": "tool", "tool_call_id": "x", "content": "?"}]
def lazy(messages, budget):
    return messages[-1:]
def raising(messages, budget):
    if len(messages) > 1:
        raise LookupError("no such thing")
    return messages
def refusing(messages, budget):
    raise foveate.BudgetError("too much", needed=9, limit=budget or 0)
def wordy(messages, budget):
    return "everything"
def strange(messages, budget):
    return [{"role": "user", "content": [3, {"text": 4}], "tool_calls": [{"id": 3}], "x": {"deep": [None]}}]
def unwritable(messages, budget):
    return [{"role": "user", "content": object()}]
class Compiler:
    def compile(self, state):
        return foveate.PragmaticCompiler().compile(state)
compiler = Compiler()
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"own_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


def ran(recorded: Recording, *policies: str, **options: Any) -> Result:
    options = {"model": MODEL, "budget": 100_000, "jobs": 1, **options}
    return replay([given(recorded)], policies=policies, **options)


def lane(recorded: Recording, policy: str, **options: Any) -> Lane:
    return ran(recorded, policy, **options).sessions[0].lanes[policy]


TALK: list[Chat] = [user(2_000), answer(), user(500), answer(2), user(100), answer()]


def test_tokens_cached_and_cost_are_those_of_the_rules() -> None:
    """Requests of 2,007, 2,516 and 2,626 tokens; each finds the one before."""
    totals, series = (found := lane(recording(TALK), "raw")).totals, found.series

    assert series.tokens == (FRAME + 2_004, FRAME + 2_004 + 5 + 504, FRAME + 2_004 + 5 + 504 + 6 + 104)
    assert series.cached == (0, 2_007, 2_516)
    assert series.cost == pytest.approx((2_007 * WRITE, 2_007 * READ + 509 * WRITE, 2_516 * READ + 110 * WRITE))
    assert (totals.calls, totals.sent, totals.tokens, totals.cached) == (3, 3, 7_149, 4_523)
    assert totals.cost == pytest.approx(sum(series.cost))
    assert series.breaks == () and series.problems == ()
    assert series.fates == {"overhead": (3, 3, 3), "verbatim": (2_004, 2_513, 2_623), "left out": (0, 0, 0)}


def test_a_pause_longer_than_the_cache_lives_is_paid_for() -> None:
    """The third request comes 301 seconds after the second."""
    found = lane(recording(TALK, times=[1_000, 1_005, 1_010, 1_020, 1_311, 1_312]), "raw").series

    assert found.cached == (0, 2_007, 0)
    assert found.breaks == (Break(call=2, message=3, role="assistant", reference="a a", cause="expired", lost=2_516),)


def test_the_recorded_time_to_live_is_taken_and_writing_for_an_hour_is_dearer() -> None:
    usages = [Usage(input_tokens=tokens, ttl_seconds=3_600) for tokens in (2_007, 2_516, 2_626)]
    found = lane(recording(TALK, times=[0, 5, 3_000, 3_005, 6_500, 6_505], usages=usages), "raw").series

    assert found.cached[1:] == found.tokens[:2]
    assert found.cost[0] == pytest.approx(found.tokens[0] * 2 * 3e-6)


def test_at_the_prices_of_another_provider_its_own_lifetime_counts() -> None:
    """An hour that Anthropic was paid for says nothing about OpenAI's cache."""
    usages = [Usage(input_tokens=2 * tokens, ttl_seconds=3_600) for tokens in (2_007, 2_516, 2_626)]
    models = ["claude-sonnet-4-5"] * 3
    recorded = recording(TALK, times=[0, 5, 3_000, 3_005, 6_500, 6_505], usages=usages, models=models)
    here, there = lane(recorded, "raw").series, lane(recorded, "raw", model="openai:gpt-5").series

    assert here.cached[1:] == here.tokens[:2]
    assert there.cached == (0, 0, 0)


def test_calls_that_were_not_made_are_no_saving(own: str) -> None:
    """A policy that fails at some calls has no cost beside one that made them all."""
    result = ran(recording(TALK), "raw", f"{own}:raising")
    (raw, failing) = table(result).rows

    assert (raw[4], failing[4]) == ("1.00", "-")


def test_another_model_begins_with_a_cold_cache() -> None:
    found = lane(recording(TALK, models=["claude-a", "claude-b", "claude-b"]), "raw").series

    assert found.cached == (0, 0, 2_516)
    assert [(one.call, one.cause) for one in found.breaks] == [(1, "model")]


def test_a_policy_that_changes_its_beginning_pays_for_everything_each_time(own: str) -> None:
    found = lane(recording(TALK), f"{own}:dated").series

    assert found.cached == (0, 0, 0)
    assert [(one.call, one.message, one.role, one.reference[:4], one.cause) for one in found.breaks] == [
        (1, 0, "user", "call", "rewritten"),
        (2, 0, "user", "call", "rewritten"),
    ]


def test_requests_over_budget_and_invalid_ones_are_counted(own: str) -> None:
    result = ran(recording(TALK), "raw", f"{own}:orphaned", budget=2_300)
    raw, orphaned = result.totals["raw"], result.totals[f"{own}:orphaned"]

    assert (raw.over, raw.invalid) == (2, 0)
    assert result.sessions[0].lanes["raw"].series.over == (0, 1, 1)
    assert (orphaned.over, orphaned.invalid) == (0, 3)
    assert result.sessions[0].lanes[f"{own}:orphaned"].series.problems[0] == Problem(
        call=0, kind="invalid", text="message 0: result 'x' without its call"
    )


def test_a_contestant_that_raises_fails_at_that_call_and_the_run_goes_on(own: str) -> None:
    result = ran(recording(TALK), f"{own}:raising", f"{own}:refusing", f"{own}:wordy", f"{own}:unwritable", "raw")
    raising, refusing = result.totals[f"{own}:raising"], result.totals[f"{own}:refusing"]

    assert (raising.sent, raising.failed) == (1, 2)
    assert result.sessions[0].lanes[f"{own}:raising"].series.problems == (
        Problem(call=1, kind="failed", text="LookupError: no such thing"),
        Problem(call=2, kind="failed", text="LookupError: no such thing"),
    )
    assert result.sessions[0].lanes[f"{own}:raising"].series.tokens == (2_007, 0, 0)
    assert (refusing.sent, refusing.refused, refusing.failed) == (0, 3, 0)
    assert result.totals[f"{own}:wordy"].failed == 3
    assert "got 'everything'" in result.sessions[0].lanes[f"{own}:wordy"].series.problems[0].text
    assert result.totals[f"{own}:unwritable"].failed == 3
    assert result.totals["raw"].sent == 3


def test_messages_of_any_shape_are_counted_as_invalid_and_do_no_harm(own: str) -> None:
    totals = lane(recording(TALK), f"{own}:strange").totals

    assert (totals.sent, totals.invalid) == (3, 3)


def test_a_contestant_cannot_change_what_the_others_get(own: str) -> None:
    result = ran(recording(TALK), f"{own}:changing", "raw")

    assert result.totals["raw"].tokens == 7_149
    assert result.sessions[0].lanes[f"{own}:changing"].series.fates["rewritten"][0] > 0


def test_a_function_that_leaves_out_is_told_from_one_that_rewrites(own: str) -> None:
    """The newest message alone: 104 tokens verbatim at the last call, 2,519 left out."""
    fates = lane(recording(TALK), f"{own}:lazy").series.fates

    assert {name: column[-1] for name, column in fates.items()} == {
        "overhead": FRAME,
        "verbatim": 104,
        "left out": 2_519,
    }


READING: list[Chat] = [
    user(5),
    call("c1", "src/harbor.py"),
    result("c1", "def release_berth(ship):\n" + words(3_000)),
    call("c2", "src/tides.py"),
    result("c2", words(3_000, "b")),
    {"role": "assistant", "content": "Now the berth.", "tool_calls": call("c3", "release_berth")["tool_calls"]},
]


def test_a_reference_is_kept_or_lost() -> None:
    """`release_berth`, read two calls ago, is asked for: a mask without a preview lost it, one with a preview did not."""
    result = ran(recording(READING), "raw", "mask-1", "mask", budget=5_000)
    found = {name: (one.references, one.kept, one.restorable, one.lost) for name, one in result.totals.items()}

    assert found == {"raw": (1, 1, 0, 0), "mask-1": (1, 0, 0, 1), "mask": (1, 1, 0, 0)}


def test_a_masked_output_is_restorable_where_its_reference_is_shown() -> None:
    """The name stands in the middle of the output, out of reach of the preview."""
    hidden = [*READING]
    hidden[2] = result_("c1", f"{words(1_500)}\n{words(200)}\ndef release_berth(ship):\n{words(200)}\n{words(1_500)}")
    totals = ran(recording(hidden), "mask", budget=5_000).totals["mask"]

    assert (totals.references, totals.kept, totals.restorable, totals.lost) == (1, 0, 1, 0)


def result_(call_id: str, text: str) -> Chat:
    lines = text.split("\n")
    padded = ["start"] * 8 + lines + ["end"] * 8
    return result(call_id, "\n".join(padded))


def test_user_messages_are_looked_for() -> None:
    """Too large at the first call; then one of two is shown, then two of three, never the first."""
    spoken = [user(2_000), answer(), user(500, "b"), answer(2), user(100, "c"), answer()]
    totals = ran(recording(spoken), "raw", "drop-exact", budget=1_000).totals

    assert (totals["raw"].user_share, totals["raw"].first_kept) == (1.0, 3)
    assert totals["drop-exact"].judged == 2
    assert totals["drop-exact"].user_kept == pytest.approx(1 / 2 + 2 / 3)
    assert totals["drop-exact"].first_kept == 0


def test_thinking_is_left_out_for_everybody() -> None:
    recorded = recording(TALK)
    thought = Message(id="", role="assistant", parts=(Thinking(text=words(900)), Text(text="a")))
    recorded.messages[1] = thought

    assert lane(recorded, "raw").series.tokens == (2_007, 2_516, 2_626)


def test_an_answer_that_is_nothing_but_thinking_is_a_call_and_no_message() -> None:
    recorded = recording(TALK)
    recorded.messages[1] = Message(id="", role="assistant", parts=(Thinking(text="hm"),))
    found = lane(recorded, "raw")

    assert found.totals.calls == 3
    assert found.totals.invalid == 0


def test_calibration_applies_to_all_policies() -> None:
    """10,000 hidden tokens are in every request, and stay cached when the messages are rewritten."""
    usages = [Usage(input_tokens=10_000 + tokens, cached_tokens=0) for tokens in (2_004, 2_513, 2_623)]
    session = ran(recording(TALK, usages=usages), "raw", "drop-exact", budget=600).sessions[0]

    assert session.calibration.overhead == 10_000 - FRAME, "three tokens around the messages are in our count"
    assert session.lanes["raw"].series.tokens == (12_004, 12_513, 12_623)
    assert min(session.lanes["drop-exact"].series.cached[1:]) >= 10_000
    assert session.limit == 10_000 + 600 - FRAME
    assert session.usage is not None
    assert session.usage.inputs == (12_004, 12_513, 12_623)


def test_recorded_cost_is_what_was_charged() -> None:
    usages = [Usage(input_tokens=10_000, cached_tokens=4_000, written_tokens=5_000, output_tokens=200)]
    recorded = recording(TALK[:2], usages=usages, models=["claude-sonnet-4-5"])
    usage = ran(recorded, "raw").sessions[0].usage

    assert usage is not None
    assert usage.input_cost == pytest.approx((4_000 * 0.1 + 5_000 * 1.25 + 1_000) * 3e-6)
    assert usage.output_cost == pytest.approx(200 * 15e-6)


def test_without_a_model_each_session_has_the_prices_of_its_own() -> None:
    """A session whose model has no price is left out where others have one, and said so."""
    priced = recording(TALK, models=["claude-sonnet-4-5"] * 3, session="priced")
    unknown = recording(TALK, session="unknown")
    result = replay([given(priced), given(unknown)], policies=["raw"], jobs=1)

    assert [session.name for session in result.sessions] == ["priced"]
    assert (result.cost_unit, result.model, result.sessions[0].priced_as) == ("USD", "", "claude-sonnet-4-5")
    assert [(one.name, "--model" in one.reason) for one in result.left_out] == [("unknown", True)]

    alone = replay([given(unknown)], policies=["raw"], jobs=1)
    assert (alone.cost_unit, alone.totals["raw"].tokens) == ("input tokens", 7_149)


def test_sessions_without_calls_and_broken_logs_are_left_out_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('[{"role": "user", "content": ')
    silent = recording([user(3)], session="silent")

    def unreadable() -> list[Recording]:
        raise LogError("bad.jsonl, line 3: not JSON")

    result = replay(
        [given(silent), Source(name="bad", load=unreadable), given(recording(TALK))],
        policies=["raw"],
        model=MODEL,
        jobs=1,
    )
    assert [(one.name, one.reason) for one in result.left_out] == [
        ("silent", "no model call was recorded"),
        ("bad", "bad.jsonl, line 3: not JSON"),
    ]
    assert len(result.sessions) == 1


def test_nothing_to_replay_is_an_empty_result() -> None:
    result = replay([], policies=["raw"], model=MODEL)

    assert (result.sessions, result.calls, result.share_error) == ((), 0, None)
    assert result.totals == {"raw": Totals()}


def test_sessions_of_one_name_stay_apart() -> None:
    result = replay([given(recording(TALK))] * 3, policies=["raw"], model=MODEL, jobs=1)

    assert [session.name for session in result.sessions] == ["s", "s (2)", "s (3)"]


def test_the_numbers_do_not_depend_on_the_number_of_processes(own: str) -> None:
    """Sessions of different lengths, also with a policy of one's own; progress is told for each."""
    recordings = [replace_name(example_recording(60), "short"), replace_name(example_recording(160), "long")]
    sources = [given(one) for one in (*recordings, recording(TALK))]
    told: list[tuple[int, int]] = []
    options: dict[str, Any] = {"policies": ["foveate", "mask-3", f"{own}:lazy"], "model": MODEL, "budget": 4_000}
    alone = replay(sources, jobs=1, progress=lambda done, total, _: told.append((done, total)), **options)
    together = replay(sources, jobs=2, progress=lambda done, total, _: told.append((done, total)), **options)

    assert timeless(alone) == timeless(together)
    assert told == [(1, 3), (2, 3), (3, 3)] * 2
    assert alone.calls > 50


def replace_name(recorded: Recording, name: str) -> Recording:
    recorded.session = name
    return recorded


def timeless(result: Result) -> dict[str, Any]:
    """A result without what the clock said."""
    plain = as_dict(result)
    for totals in (
        *plain["totals"].values(),
        *(lane["totals"] for one in plain["sessions"] for lane in one["lanes"].values()),
    ):
        del totals["seconds"]
    for one in plain["sessions"]:
        for found in one["lanes"].values():
            del found["series"]["milliseconds"]
    return plain


def test_a_result_is_plain_data_and_back() -> None:
    result = ran(recording(TALK, usages=[Usage(input_tokens=5_000, cached_tokens=100)] * 3), "foveate", "raw")

    assert loaded(as_dict(result)) == result


def test_tables_have_a_row_for_each_policy_and_each_recorded_session() -> None:
    result = ran(recording(TALK, usages=[Usage(input_tokens=5_000, cached_tokens=100)] * 3), "raw", "drop-exact")
    shown = table(result)

    assert [row[0] for row in shown.rows] == ["raw", "drop-exact"]
    assert all(len(row) == len(shown.columns) for row in shown.rows)
    assert dict(zip(shown.columns, shown.rows[0], strict=True))["vs raw"] == "1.00"
    (row,) = recorded_table(result).rows
    assert (row[0], row[1], row[2]) == ("s", "3", "15,000")


def test_the_configuration_says_what_is_not_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "foveate.toml"
    path.write_text(f'[replay]\nmodel = "{MODEL}"\nbudget = 2300\npolicies = ["raw", "drop-exact"]\n')
    result = replay([given(recording(TALK))], config=config_at(path), jobs=1)

    assert (result.model, result.budget) == (MODEL, 2_300)
    assert [info.name for info in result.policies] == ["raw", "drop-exact"]
    assert result.totals["drop-exact"].over == 0


def test_without_a_budget_the_window_of_the_model_is_one() -> None:
    """128,000 tokens, less the 16,000 that an answer may need."""
    assert ran(recording(TALK), "raw", model="openai:gpt-4o", budget=None).sessions[0].limit == 112_000


@pytest.mark.parametrize(
    ("options", "error", "wanted"),
    [
        ({"policies": ["nobody"]}, ConfigError, "unknown `--policy` 'nobody'"),
        ({"model": "no-such-model"}, UnknownModelError, "'no-such-model' is not in the price list"),
        ({"budget": 0}, ConfigError, "`--budget` must be 1 or more, got 0"),
        ({"jobs": -1}, ConfigError, "`--jobs` must be 1 or more, got -1"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_read(
    options: dict[str, Any], error: type[Exception], wanted: str
) -> None:
    def untouched() -> list[Recording]:
        raise AssertionError("a log was read")

    with pytest.raises(error, match=wanted):
        replay([Source(name="x", load=untouched)], config=Config(), **options)


def test_logs_of_a_folder_are_sources(tmp_path: Path) -> None:

    (tmp_path / "chat.json").write_text(json.dumps(TALK))
    (found,) = sources_in([tmp_path])
    result = replay([found], policies=["raw"], model=MODEL, jobs=1)

    assert result.totals["raw"].tokens == 7_149
    assert result.sessions[0].source == found.name


SAID: list[Chat] = [
    user(3),
    user(400, "b"),
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "x"}}]},
    answer(),
    {"role": "assistant", "content": ""},
    call("c1", "src/harbor.py"),
    call("c2", "docs/tides.md"),
    call("c2", "[" * 20_000),
    result("c1", "def release_berth(ship):\n" + words(300)),
    result("c2", words(100) + "\nsrc/harbor.py"),
    result("nobody", "?"),
]


@settings(max_examples=40, deadline=None)
@given_(
    chats=st.lists(st.sampled_from(SAID), max_size=14),
    budget=st.sampled_from([60, 500, 100_000]),
    gap=st.sampled_from([1, 400]),
    counts=st.lists(st.integers(-1, 9_000) | st.just(10**30), min_size=14, max_size=14),
)
def test_whatever_was_recorded_the_sums_are_right(chats: list[Chat], budget: int, gap: int, counts: list[int]) -> None:
    """Any order of messages, calls without results, usage that cannot be: no error, and every token is accounted for."""
    usages = [Usage(input_tokens=count, cached_tokens=count // 2) for count in counts]
    recorded = recording(chats, times=[gap * float(number) for number in range(len(chats))], usages=usages)
    outcome = ran(
        recorded, "foveate", "raw", "recorded", "mask-1", "drop-exact", "drop-steps", "mask-steps", budget=budget
    )
    for session in outcome.sessions:
        for found in session.lanes.values():
            totals, series = found.totals, found.series
            assert totals.failed == 0
            assert totals.sent + totals.refused == totals.calls == session.calls
            assert totals.kept + totals.restorable + totals.lost == totals.references
            for number, tokens in enumerate(series.tokens):
                shown = sum(column[number] for fate, column in series.fates.items() if fate != "left out")
                assert shown == tokens
                assert 0 <= series.cached[number] <= tokens


def test_other_scripts_and_half_characters_go_through() -> None:
    odd: list[Chat] = [
        {"role": "user", "content": "请修复 \ud800 港口 🚢"},
        answer(),
        {"role": "user", "content": "\x00"},
        answer(),
    ]
    result = ran(recording(odd), "foveate", "raw", "mask-10", "drop-steps", "recorded", budget=500)

    assert all(totals.failed == 0 for totals in result.totals.values())
    assert replace(result, model="x").model == "x"
