"""Generated sessions: the same for the same seed, whole, and roughly as recorded ones are."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from itertools import islice, pairwise

import pytest
from bench.arms import Measure
from bench.generated import conversation, generated_scripts
from bench.likeness import Traits, recorded_traits, traits
from bench.logs import data_root
from bench.tokens import message_tokens, request_tokens
from tests.validity import problems

from foveate.lab.chat import Chat, calls_of, content_of
from foveate.lab.contestants import Opening
from foveate.lab.policies import contestant
from foveate.lab.script import Script
from foveate.lab.walk import moments
from foveate.wire.openai_chat import encode


@pytest.fixture(scope="module")
def script() -> Script:
    return generated_scripts(count=1)[0]


@pytest.fixture(scope="module")
def generated() -> Traits:
    return traits(generated_scripts(count=2))


def results(script: Script) -> list[tuple[str, dict[str, object], str]]:
    """Tool, arguments and output of all calls, in order."""
    called = {item["id"]: item["function"] for chat in script.chats for item in calls_of(chat)}
    answered = ((called[chat["tool_call_id"]], chat) for chat in script.chats if chat["role"] == "tool")
    return [(one["name"], json.loads(one["arguments"]), content_of(chat)) for one, chat in answered]


def test_the_conversation_stays_as_it_is() -> None:
    """Times measured on it can be compared with those of other days."""
    said = json.dumps(list(islice(conversation(), 50))).encode()
    assert sha256(said).hexdigest() == "43d01186171bf7326f32c80ca1e6a174d880e0c85fae0374a949a5605d3f3601"


def test_the_same_seed_gives_the_same_sessions() -> None:
    one, other, further = (generated_scripts(count=2, tokens=9_000, seed=seed) for seed in (7, 7, 8))
    assert one == other
    assert one[0].chats != one[1].chats
    assert one[0].chats != further[0].chats


@pytest.mark.parametrize("tokens", [1, 5_000, 60_000])
def test_a_session_is_as_long_as_asked(tokens: int) -> None:
    for script in generated_scripts(count=3, tokens=tokens):
        assert tokens <= request_tokens(script.chats) < tokens + 40_000


def test_no_sessions_may_be_asked_for() -> None:
    assert generated_scripts(count=0) == []


@pytest.mark.parametrize(("count", "tokens"), [(-1, 400_000), (4, 0)])
def test_a_number_that_cannot_be_is_refused(count: int, tokens: int) -> None:
    with pytest.raises(ValueError, match=f"`count`.*`tokens`.*{count}.*{tokens}"):
        generated_scripts(count, tokens)


def test_a_session_is_whole(script: Script) -> None:
    """Any provider would take it, and messages are the chats."""
    assert problems([{"role": "system", "content": script.system}, *script.chats]) == []
    assert list(map(encode, script.messages)) == list(script.chats)
    assert len({call["id"] for chat in script.chats for call in calls_of(chat)}) == len(results(script))


def test_each_response_is_a_call(script: Script) -> None:
    places = [place for place, chat in enumerate(script.chats) if chat["role"] == "assistant"]
    assert [call.place for call in script.calls] == places
    assert all(call.answer is script.chats[call.place] for call in script.calls)


def test_time_passes_in_steps_and_breaks(script: Script) -> None:
    """Between steps of a turn 5 to 60 seconds, now and then more than ten minutes before the user is back."""
    asked = {place + 1 for place, chat in enumerate(script.chats) if chat["role"] == "user"}
    gaps = [(after.place in asked, (after.at or 0) - (before.at or 0)) for before, after in pairwise(script.calls)]

    assert all(4.9 <= gap <= 60.1 for is_asked, gap in gaps if not is_asked)
    assert any(gap >= 600 for is_asked, gap in gaps if is_asked)
    assert any(gap < 300 for is_asked, gap in gaps if is_asked)


def test_tests_that_fail_pass_later(script: Script) -> None:
    """Some at once, some after other work."""
    runs = [
        (args["command"], text.endswith("exit code 0")) for tool, args, text in results(script) if tool == "run_command"
    ]
    failed = [place for place, (_, is_passed) in enumerate(runs) if not is_passed]
    fixed = [
        next((later for later in range(place, len(runs)) if runs[later] == (runs[place][0], True)), None)
        for place in failed
    ]

    assert len(failed) > 10
    assert sum(later is not None for later in fixed) > 0.8 * len(failed)
    assert any(later is not None and later > place + 5 for place, later in zip(failed, fixed, strict=True))


def test_a_file_reads_as_it_was_edited(script: Script) -> None:
    """An edit replaces lines that were there, and what is read later has the new ones until the next edit."""
    edited: dict[str, list[str]] = {}
    checked = 0
    for tool, args, text in results(script):
        path = str(args.get("path"))
        if tool == "edit_file":
            edited[path] = str(args["new"]).splitlines()
        elif tool == "read_file" and "start_line" not in args and path in edited:
            read = "\n".join(line[5:] for line in text.splitlines())
            assert "\n".join(edited[path]) in read
            checked += 1
    assert checked > 3


def test_some_results_are_very_long() -> None:
    longest = [
        max(message_tokens(chat) for chat in script.chats if chat["role"] == "tool") for script in generated_scripts()
    ]
    assert max(longest) > 19_000
    assert min(longest) > 15_000


def test_a_budget_of_100k_is_reached_several_times(script: Script) -> None:
    opening = Opening(system=script.system, budget=100_000, sizes=Measure())
    feed = contestant("drop-steps").start(opening)
    requests: list[list[Chat]] = [feed(moment.step).chats for moment in moments(script, opening)]
    assert sum(len(after) < len(before) for before, after in pairwise(requests)) >= 3


def test_sessions_are_roughly_as_coding_sessions_are(generated: Traits) -> None:
    assert 0.7 < generated.observations < 0.9
    assert 3 < generated.references < 8
    assert 0.15 < generated.far[0] < 0.5
    assert 0.02 < generated.far[2] < 0.1
    assert 0.1 < generated.observed < 0.4


def test_sessions_are_roughly_as_recorded_ones_are(generated: Traits) -> None:
    """Each measure is within a factor of two of what recorded sessions have."""
    if data_root() is None and not os.environ.get("CI"):
        pytest.skip("no recorded logs: set FOVEATE_DATA to a directory of them")
    recorded = recorded_traits()
    assert recorded is not None
    assert recorded.sessions > 5
    pairs = [
        (generated.observations, recorded.observations),
        (generated.references, recorded.references),
        (generated.observed, recorded.observed),
        *zip(generated.far, recorded.far, strict=True),
        *zip(generated.results, recorded.results, strict=True),
    ]
    assert all(0.5 < ours / theirs < 2 for ours, theirs in pairs), pairs


def test_traits_of_nothing_are_nought() -> None:
    nothing = traits([])
    assert (nothing.sessions, nothing.references, nothing.far, nothing.results) == (0, 0.0, (0.0, 0.0, 0.0), (0, 0, 0))
