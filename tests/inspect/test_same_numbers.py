"""One session has the same calls, tokens, cached share and costs on every surface: commands, HTTP, pages and lab."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from foveate.api import Place, create_app
from foveate.budget.profiles import profile_for
from foveate.cli.main import app
from foveate.importers.recording import recording_of
from foveate.inspect.call_history import CallHistory, read_call_history
from foveate.inspect.rates import RequestCost
from foveate.inspect.session_costs import read_session_costs
from foveate.lab.lanes import LEFT_OUT
from foveate.lab.replay import replay
from foveate.lab.result import Lane, Result
from foveate.lab.sources import given
from foveate.sample import coding_session, tools
from foveate.session import Session
from foveate.store import Store
from foveate.store.arrivals import import_lines
from foveate.web.replaying import Lens, Replayed, replayed

SONNET, HAIKU = "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001"
LENS = Lens(policy="foveate", budget=3_000)
T0 = 1_760_000_000


@pytest.fixture(scope="module")
def store_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the log of another agent, and with a session that Foveate compiled for."""
    folder = tmp_path_factory.mktemp("numbers")
    log = folder / "claude.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in claude_code_log()), encoding="utf-8")
    path = folder / "agent.db"
    imported = CliRunner().invoke(app, ["import", str(log), "--store", str(path)])
    assert imported.exit_code == 0, imported.output
    with Store(path) as store:
        import_lines(store, compiled_session().dump().splitlines())
    return path


@pytest.fixture(scope="module")
def store(store_file: Path) -> Iterator[Store]:
    with Store(store_file) as opened:
        yield opened


@pytest.fixture(scope="module")
def client(store_file: Path) -> Iterator[TestClient]:
    with TestClient(
        create_app(Place(store=store_file, system=store_file.parent)), base_url="http://127.0.0.1:8417"
    ) as made:
        yield made


@pytest.fixture(scope="module")
def lens_replay(store_file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Replayed, CallHistory]:
    """The log of the other agent as the timeline shows it."""
    aside = tmp_path_factory.mktemp("aside")
    place, checkpoints = str(aside / "replays.db"), str(aside / "checkpoints")
    made = replayed(lambda *_: None, str(store_file), "claude", LENS, place, "replay", checkpoints)
    with Store(place) as replays:
        return made, read_call_history(replays, replays.session("replay"), made.costs)


@pytest.mark.parametrize("session", ["claude", "compiled"])
def test_commands_http_and_lab_agree_on_what_a_session_cost(
    store_file: Path, store: Store, client: TestClient, session: str
) -> None:
    costs = read_session_costs(store, store.session(session))
    shown = as_json("show", session, "--json", "--store", str(store_file))
    told = client.get(f"/api/sessions/{session}/costs").json()
    lab = replayed_in_lab(store, session).sessions[0].costs

    assert costs.unit == "USD"
    assert costs.sent.cost > 0.01
    assert 0 < costs.reported_calls <= costs.known_calls == len(costs.calls)
    assert shown["costs"] == told == costs.as_dict()
    assert lab == costs


@pytest.mark.parametrize("session", ["claude", "compiled"])
def test_a_list_and_a_text_have_the_cost_of_the_detail(
    store_file: Path, store: Store, client: TestClient, session: str
) -> None:
    costs = read_session_costs(store, store.session(session))
    commanded = {one["session_id"]: one for one in as_json("sessions", "--json", "--store", str(store_file))}
    listed = {one["session_id"]: one for one in client.get("/api/sessions?sort=cost").json()["sessions"]}
    text = run("show", session, "--store", str(store_file))

    assert commanded[session]["cost"] == listed[session]["cost"]
    assert listed[session]["cost"] == pytest.approx(costs.sent.cost)
    assert client.get(f"/api/sessions/{session}").json()["cost"] == pytest.approx(costs.sent.cost)
    for cost in (costs.sent, costs.untouched):
        assert f"{cost.tokens:,} tokens, {100 * (cost.cached_share or 0):.1f}% cached, ${cost.cost:,.4f}" in text


def test_recorded_calls_cost_the_same_one_by_one(store_file: Path, store: Store, client: TestClient) -> None:
    """Commands, HTTP and the timeline price every recorded call alike."""
    history = read_call_history(store, store.session("compiled"))
    shown = as_json("show", "compiled", "--json", "--store", str(store_file))["calls"]
    told = client.get("/api/sessions/compiled/calls?limit=1000").json()["calls"]
    alone = client.get("/api/sessions/compiled/calls/3").json()["record"]
    names = ("call", "event", "turn", "strategy", "tokens", "budget", "window", "predicted_cached", "reported_input",
             "reported_cached", "messages", "logged", "cost", "fates", "reductions", "tags", "payload_sha256")  # fmt: skip

    assert history.sent == read_session_costs(store, store.session("compiled")).sent
    assert [one["cost"] for one in shown] == [entry.sent.cost for entry in history.entries]
    assert [{name: one[name] for name in names} for one in shown] == [
        {name: one[name] for name in names} for one in told
    ]
    assert alone == told[2]


def test_a_past_call_is_explained_alike(store_file: Path, store: Store, client: TestClient) -> None:
    """The account of a call that was compacted: budget, decision, stages and cache marks, as command and over HTTP."""
    history = read_call_history(store, store.session("compiled"))
    number = next(entry.number for entry in history.entries if entry.call.reductions)
    told = client.get(f"/api/sessions/compiled/calls/{number}").json()
    account = as_json("explain", "compiled", "--call", str(number), "--json", "--store", str(store_file))
    names = ("call", "strategy", "budget", "predicted_cached", "corrected", "cache_marks", "unrecorded", "trigger",
             "reason", "stages", "diagnostics")  # fmt: skip

    assert told["stages"] and told["cache_marks"] and told["trigger"] == history.get(number).call.reductions[-1].trigger  # type: ignore[union-attr]
    assert {name: told[name] for name in names} == {name: account[name] for name in names}
    assert (told["tokens"], told["framing_tokens"]) == (account["used"], account["framing"])
    assert told["counts"] == dict(Counter(one["fate"] for one in account["fates"]))


def test_the_lab_and_the_timeline_replay_a_log_alike(store: Store, lens_replay: tuple[Replayed, CallHistory]) -> None:
    """Under one policy and budget: the same calls, each with the same tokens, cached tokens and cost."""
    made, history = lens_replay
    lanes = replayed_in_lab(store, "claude").sessions[0].lanes

    assert made.refused == 0
    assert [entry.sent for entry in history.entries] == requests_of(lanes["foveate"])
    assert [entry.untouched for entry in history.entries] == requests_of(lanes["raw"])
    assert any(entry.call.reductions for entry in history.entries)
    assert made.recorded == read_session_costs(store, store.session("claude"))


def test_the_raw_policy_is_the_untouched_history(store: Store) -> None:
    """The simulated lane of the lab and the number of all other surfaces are one, for logs of both kinds."""
    for session in ("claude", "compiled"):
        result = replayed_in_lab(store, session).sessions[0]
        assert requests_of(result.lanes["raw"]) == [call.untouched for call in result.costs.calls], session


def test_the_recorded_policy_is_what_was_sent(store: Store, store_file: Path) -> None:
    """Call by call what the provider reported, or what was predicted: the number of all other surfaces."""
    for session in ("claude", "compiled"):
        result = replayed_in_lab(store, session).sessions[0]
        lane = result.lanes["recorded"]

        assert requests_of(lane) == [call.sent for call in result.costs.calls], session
        assert lane.totals.cost == pytest.approx(result.costs.sent.cost)
        for number in range(result.calls):
            parts = sum(one[number] for name, one in lane.series.fates.items() if name != LEFT_OUT)
            assert parts == lane.series.tokens[number], (session, number)
    totals = as_json("replay", "claude", "--policy", "recorded", "--store", str(store_file), "--json")["totals"]
    shown = as_json("show", "claude", "--json", "--store", str(store_file))["costs"]["sent"]
    assert totals["recorded"]["cost"] == pytest.approx(shown["cost"])
    assert totals["recorded"]["tokens"] == shown["tokens"]


def test_another_provider_is_charged_what_is_simulated(store: Store) -> None:
    """What one provider counted and cached says nothing about another's request."""
    info = store.session("claude")
    recording = recording_of("claude", store.reader(info).events(0, info.events))
    result = replay([given(recording)], policies=["recorded"], budget=3_000, model="openai:gpt-4o", jobs=1).sessions[0]
    assert result.lanes["recorded"].totals.tokens != result.costs.sent.tokens


def test_recorded_usage_is_charged_as_it_was_reported(store: Store) -> None:
    """Reads, writes that stay for an hour, and the rest, at the prices of each call's own model."""
    costs = read_session_costs(store, store.session("claude"))
    usages = [line["message"]["usage"] for line in claude_code_log() if line["type"] == "assistant"]
    models = [line["message"]["model"] for line in claude_code_log() if line["type"] == "assistant"]
    expected = 0.0
    for usage, model in zip(usages, models, strict=True):
        profile = profile_for(model)
        read, written = usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]
        weighed = usage["input_tokens"] + read * profile.cache.read + written * 2.0
        expected += weighed * (profile.input_price or 0) / 1e6

    assert len({*models}) == 2
    assert costs.sent.cost == pytest.approx(expected)
    assert costs.sent.tokens == sum(
        sum(count for name, count in one.items() if name.endswith("input_tokens")) for one in usages
    )
    assert costs.scale.overhead == pytest.approx(12_000, rel=0.02)


@pytest.mark.parametrize(
    ("written", "minutes", "hour", "dollars"),
    [(0, 0, 0, 0.03), (10_000, 10_000, 0, 0.0375), (10_000, 0, 10_000, 0.06), (10_000, 6_000, 4_000, 0.0465)],
)
def test_what_was_written_to_the_cache_is_charged_alike(
    tmp_path: Path, written: int, minutes: int, hour: int, dollars: float
) -> None:
    """A usage costs the same reported to a session as recorded in the log of another agent, on every surface."""
    usage = {
        "input_tokens": 10_000 - written,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": written,
        "output_tokens": 50,
        "cache_creation": {"ephemeral_5m_input_tokens": minutes, "ephemeral_1h_input_tokens": hour},
    }
    lines = claude_code_log()[:2]
    lines[1]["message"]["usage"] = usage
    log, path = tmp_path / "claude.jsonl", tmp_path / "agent.db"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run("import", str(log), "--store", str(path))
    with Session.open(path, "own", model="claude-sonnet-4-5") as session:
        session.append({"role": "user", "content": "word " * 9_900})
        session.compile()
        session.report_usage(usage)

    listed = {one["session_id"]: one["cost"] for one in as_json("sessions", "--json", "--store", str(path))}
    assert listed == {"claude": pytest.approx(dollars), "own": pytest.approx(dollars)}
    with Store(path) as store:
        for name in ("claude", "own"):
            costs = read_session_costs(store, store.session(name))
            assert costs.sent.cost == pytest.approx(dollars), name
            assert replayed_in_lab(store, name).sessions[0].costs == costs


def test_usage_that_does_not_say_what_was_written_was_all_written(tmp_path: Path) -> None:
    """As before it was recorded: plain numbers, and reports of earlier versions."""
    with Session.open(tmp_path / "a.db", "s", model="claude-sonnet-4-5") as session:
        session.append({"role": "user", "content": "word " * 9_900})
        session.compile()
        session.report_usage(input_tokens=10_000, cached_tokens=0)
    with Store(tmp_path / "a.db") as store:
        assert read_session_costs(store, store.session("s")).sent.cost == pytest.approx(0.0375)


# --- sessions -----------------------------------------------------------------------------------------------------


def claude_code_log() -> list[dict[str, Any]]:
    """Twenty calls with thinking, a pause longer than the cache is kept, and two calls of another model."""
    lines: list[dict[str, Any]] = []
    moment, size, before = T0, 12_000, 0

    def add(kind: str, message: dict[str, Any]) -> None:
        number = len(lines)
        place = {"sessionId": "claude", "cwd": "/src", "version": "2.1.0", "isSidechain": False}
        stamp = f"2025-10-09T{8 + moment // 3600 % 12:02d}:{moment // 60 % 60:02d}:{moment % 60:02d}.000Z"
        parent = f"u{number - 1}" if number else None
        lines.append({"uuid": f"u{number}", "parentUuid": parent, "timestamp": stamp, **place, "type": kind, "message": message})  # fmt: skip

    for number in range(20):
        text = f"Question {number}: " + "why does the refund test fail " * 30 if number % 4 == 0 else ""
        content: Any = text or [
            {"type": "tool_result", "tool_use_id": f"t{number - 1}", "content": f"line {number} of a file\n" * 60}
        ]
        add("user", {"role": "user", "content": content})
        moment += 4_000 if number == 12 else 20
        size += 190 if number % 4 == 0 else 430
        blocks: list[dict[str, Any]] = [{"type": "thinking", "thinking": "Let me think.", "signature": "c2ln"}]
        blocks += [{"type": "text", "text": f"Answer {number}."}]
        if number % 4 != 3:
            tool = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": f"src/f{number}.py"}}
            blocks.append(tool)
        cached = 0 if number in (12, 9) else before
        usage = {
            "input_tokens": 4,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": size - cached - 4,
            "output_tokens": 90,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": size - cached - 4},
        }
        model = HAIKU if number in (9, 10) else SONNET
        add("assistant", {"id": f"msg{number}", "role": "assistant", "model": model, "usage": usage, "content": blocks})
        before = size
        moment += 10
    return lines


def compiled_session() -> Session:
    """The sample under a small budget; the provider reported two calls of three."""
    session = Session(budget=6_000, model="claude-sonnet-4-5", tools=tools(), session_id="compiled")
    moment = float(T0)
    for index, message in enumerate(coding_session(2)):
        moment += 600 if index and message["role"] == "user" else 9
        if index and message["role"] == "assistant":
            view = session.compile(now=moment)
            if view.number % 3:
                cached = view.predicted_cached * 21 // 20
                session.report_usage(view.tokens * 21 // 20 + 300, cached, call=view.number)
        session.extend([message], time=moment)
    return session


# --- surfaces -----------------------------------------------------------------------------------------------------


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.stdout


def as_json(*arguments: str) -> Any:
    return json.loads(run(*arguments))


def replayed_in_lab(store: Store, session: str) -> Result:
    info = store.session(session)
    recording = recording_of(session, store.reader(info).events(0, info.events))
    return replay([given(recording)], policies=["foveate", "raw", "recorded"], budget=LENS.budget, jobs=1)


def requests_of(lane: Lane) -> list[RequestCost]:
    series = lane.series
    columns = zip(series.tokens, series.cached, series.cost, strict=True)
    return [RequestCost(tokens=tokens, cached=cached, cost=cost) for tokens, cached, cost in columns]
