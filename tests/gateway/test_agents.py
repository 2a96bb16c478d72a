"""Real agents through the gateway, against a provider that enforces its rules."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from bench.agent_steps import SUBAGENT_STEPS, steps_for
from bench.agents import AGENTS, Agent, AgentError, Recording, find_program, record
from bench.gateway_rules import FORMATS, Enforcing
from bench.gateway_trial import BUDGET, BUDGETS, LOST, gateway_at, trial
from bench.provider import Call, Script, Shell, Step

from foveate.gateway.matching import canonical
from foveate.log.events import ReductionRecorded
from foveate.session.session import Session
from foveate.store import Store

FOLDER = os.environ.get("FOVEATE_AGENTS")
pytestmark = pytest.mark.skipif(FOLDER is None, reason="needs agents: FOVEATE_AGENTS names the folder they are in")
OVERFLOWING = ("codex", "gemini-cli", "mini-swe-agent", "opencode")


def installed(name: str) -> Agent:
    assert FOLDER is not None
    try:
        find_program(AGENTS[name], Path(FOLDER))
    except AgentError as missing:
        pytest.skip(str(missing))
    return AGENTS[name]


@contextmanager
def watched(address: str, bodies: list[bytes], **options: Any) -> Iterator[str]:
    """A gateway that notes every body that an agent sends."""
    with gateway_at(address, options.pop("store", None), **options) as (gateway, at):
        answer = gateway.answer

        async def noted(asked: Any) -> Any:
            bodies.append(asked.body)
            return await answer(asked)

        gateway.answer = noted  # type: ignore[method-assign]
        yield at


def run(name: str, tmp_path: Path, **options: Any) -> tuple[Recording, list[bytes]]:
    bodies: list[bytes] = []
    more = {key: options.pop(key) for key in ("answer", "rules", "tasks", "scale", "model") if key in options}
    through: Callable[[str], Any] = lambda address: watched(  # noqa: E731
        address, bodies, store=tmp_path / "s.db", **options
    )
    recording = record(installed(name), to=None, agents=Path(str(FOLDER)), through=through, **more)
    return recording, bodies


@pytest.mark.parametrize("name", AGENTS)
def test_what_an_agent_sends_is_what_its_provider_gets(name: str, tmp_path: Path) -> None:
    """Each request of two tasks, byte for byte; and both are in the store."""
    recording, bodies = run(name, tmp_path, tasks=2, mode="shadow", budget=20_000)
    assert set(recording.exits) == {0}
    assert [one.wire for one in recording.provider.received if one.wire] == [body for body in bodies if body]
    assert len(recording.provider.requests) >= 7
    with Store(tmp_path / "s.db") as store:
        assert sum(info.calls for info in store.sessions()) == len(recording.provider.requests)


@pytest.mark.parametrize("name", AGENTS)
def test_a_long_run_is_valid_and_within_its_budget(name: str) -> None:
    """And a fact that was read first is there when it is asked for 25 calls later."""
    one = trial(installed(name), Path(str(FOLDER)), budget=BUDGETS.get(name, BUDGET))
    assert one.rules.invalid == {}
    assert (one.recording.exits, one.recording.provider.errors, one.over_budget) == ((0,), [], 0)
    assert one.script.answered not in (None, LOST)
    assert max(one.raw) > 75_000, "without a gateway it would not have fit"
    assert one.gateway is not None and one.gateway.seen["fell back"] == 0


@pytest.mark.parametrize("name", OVERFLOWING)
def test_an_agent_that_dies_of_an_overflow_comes_to_its_end(name: str) -> None:
    """Where its provider takes less than the budget."""
    one = trial(installed(name), Path(str(FOLDER)), budget=BUDGET, window=22_000)
    assert one.rules.invalid == {}
    assert (one.recording.exits, one.recording.provider.errors) == ((0,), [])
    assert one.script.answered is not None
    assert one.gateway is not None and one.gateway.seen["retried shorter"] >= 1


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-5-5"])
def test_claude_code_keeps_what_it_loaded_and_its_sub_agents_apart(model: str, tmp_path: Path) -> None:
    """A deferred tool, a sub-agent, parallel calls, and twenty long outputs behind them."""
    long = [
        Step("", (Shell(f"seq {at}000 {at}250 | sed 's/^/unit {at} line /'"), Shell(f"echo {at}")))
        for at in range(1, 21)
    ]
    edit = Call("NotebookEdit", {"notebook_path": "/tmp/none.ipynb", "new_source": "1", "cell_id": "a"})
    first = steps_for("claude-code")[:5]
    rules = Enforcing()
    recording, bodies = run(
        "claude-code",
        tmp_path,
        answer=Script([*first, *long, Step("", (edit,)), Step("Done.")], subagent_steps=SUBAGENT_STEPS),
        rules=(rules,),
        model=model,
        mode="compile",
        budget=45_000,
    )
    assert (recording.exits, rules.invalid, recording.provider.errors) == ((0,), {}, [])
    assert len(recording.provider.requests) == len(bodies)
    sent = [json.loads(one.body) for one in recording.provider.requests]
    assert any("NotebookEdit" in json.dumps(body["messages"]) for body in sent[-2:])
    if "opus" in model:
        assert any(message["role"] == "system" for message in sent[-1]["messages"])
    with Store(tmp_path / "s.db") as store:
        assert len(store.sessions()) == 2


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_a_session_that_is_resumed_after_a_restart_keeps_its_bytes(name: str, tmp_path: Path) -> None:
    """The gateway ends between two tasks, and another one goes on at its address."""
    stack, running = ExitStack(), ExitStack()
    address: list[str] = []

    @contextmanager
    def through(upstream: str) -> Iterator[str]:
        _, at = running.enter_context(gateway_at(upstream, tmp_path / "s.db", mode="compile", budget=40_000))
        address.extend((upstream, at))
        with stack, running:
            yield at

    def between() -> None:
        running.close()
        port = int(address[1].rsplit(":", 1)[1])
        stack.enter_context(gateway_at(address[0], tmp_path / "s.db", mode="compile", budget=40_000, port=port))

    long = [Step("", (Shell(f"seq {at}000 {at}400 | sed 's/^/unit {at} line /'"),)) for at in range(1, 9)]
    script = Script([*long, Step("Done."), Step("", (Shell("git status --short"),)), Step("Done again.")])
    recording = record(
        installed(name),
        to=None,
        agents=Path(str(FOLDER)),
        tasks=2,
        answer=script,
        rules=(Enforcing(),),
        through=through,
        between=between,
    )
    assert (recording.exits, recording.provider.complaints) == ((0, 0), [])
    requests = recording.provider.requests
    last = next(at for at, one in enumerate(requests) if "git status" in one.body.decode()) - 1
    before, after = (_items(requests[at]) for at in (last - 1, last))
    assert after[: len(before)] == before or len(after) < len(before), "appended to, or rewritten within its rules"
    assert _items(requests[last])[0] == _items(requests[0])[0]


def _items(request: Any) -> list[bytes]:
    _, key = FORMATS[request.kind]
    return [canonical(item) for item in json.loads(request.body)[key]]


@pytest.mark.parametrize(("name", "scale"), [("claude-code", 2.6), ("codex", 3.6)])
def test_an_agents_own_compaction_is_recorded_as_an_epoch(name: str, scale: float, tmp_path: Path) -> None:
    """It is told a size at which it compacts; what it dropped is in the log."""
    long = [Step("", (Shell(f"seq {at}000 {at}200 | sed 's/^/unit {at} line /'"),)) for at in range(1, 13)]
    recording, _ = run(name, tmp_path, answer=Script([*long, Step("Done.")]), scale=scale, mode="shadow")
    assert recording.exits == (0,)
    with Store(tmp_path / "s.db") as store:
        bodies = [one.body for info in store.sessions() for one in Session.open(store, info.session_id).events]
    dropped = [body for body in bodies if isinstance(body, ReductionRecorded)]
    assert dropped
    assert all("of its own history" in body.reason for body in dropped)


def test_codex_starts_at_once(tmp_path: Path) -> None:
    """It tries WebSocket first, and with 426 goes on over HTTP without a second try."""
    recording, _ = run("codex", tmp_path, answer=Script([Step("Done.")]), mode="shadow")
    assert recording.exits == (0,)
    assert "Reconnecting" not in recording.output
