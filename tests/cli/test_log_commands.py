"""Commands on recorded logs, run as a stranger runs them: on files of any format, on sessions, on standard input."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from foveate.cli.main import app
from tests.dialogue import call, calls, exchange, lines, result, says, user

T0 = 1_767_225_600


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


def good(*arguments: str, stdin: str = "") -> Result:
    done = run(*arguments, stdin=stdin)
    assert done.exit_code == 0, done.output
    return done


def bad(code: int, *arguments: str, stdin: str = "") -> str:
    done = run(*arguments, stdin=stdin)
    assert done.exit_code == code, (done.exit_code, done.output)
    assert "Traceback" not in done.output
    return done.output


def as_json(*arguments: str, stdin: str = "") -> Any:
    return json.loads(good(*arguments, stdin=stdin).stdout)


def stamp(seconds: int) -> str:
    return f"2026-01-01T00:{seconds // 60:02}:{seconds % 60:02}.000Z"


def claude_lines(steps: int) -> list[str]:
    """A Claude Code session of one's own making: a request, then files that are read one after the other."""
    common = {"sessionId": "5e55", "version": "2.1.0", "cwd": "/work", "isSidechain": False}
    records: list[dict[str, Any]] = [
        {"type": "user", "uuid": "u0", "message": {"role": "user", "content": "Find the fault."}, "timestamp": stamp(0)}
    ]
    for step in range(steps):
        usage = {"input_tokens": 5, "cache_creation_input_tokens": 400, "cache_read_input_tokens": 400 * step}
        block = {"type": "tool_use", "id": f"t{step}", "name": "Read", "input": {"file_path": f"/work/part_{step}.py"}}
        said = {"id": f"msg{step}", "role": "assistant", "model": "claude-sonnet-4-5-20250929", "content": [block]}
        records.append(
            {
                "type": "assistant",
                "uuid": f"a{step}",
                "timestamp": stamp(2 * step + 1),
                "message": {**said, "usage": usage},
            }
        )
        output = [{"type": "tool_result", "tool_use_id": f"t{step}", "content": lines(40, f"part {step}")}]
        records.append(
            {
                "type": "user",
                "uuid": f"r{step}",
                "timestamp": stamp(2 * step + 2),
                "message": {"role": "user", "content": output},
            }
        )
    parents = [None, *(record["uuid"] for record in records)]
    return [
        json.dumps({**common, **record, "parentUuid": parent}) for record, parent in zip(records, parents, strict=False)
    ]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own, with one log in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOVEATE_STORE", str(tmp_path / "agent.db"))
    (tmp_path / "5e55.jsonl").write_text("\n".join(claude_lines(30)) + "\n", encoding="utf-8")
    return tmp_path


# --- import -------------------------------------------------------------------------------------------------------


def test_a_log_is_recognised_and_comes_in_whole() -> None:
    """Messages, times and usage come along."""
    assert "imported '5e55' (61 messages" in good("import", "5e55.jsonl").stdout
    (session,) = as_json("sessions", "--json")
    assert (session["session_id"], session["messages"]) == ("5e55", 61)
    events = [json.loads(line) for line in good("export", "5e55").stdout.splitlines()]
    said = [event for event in events if event["body"]["kind"] == "message_appended"]
    assert [event["time"] for event in said[:3]] == [T0, T0 + 1, T0 + 2]
    usage = said[3]["body"]["message"]["meta"]["extra"]["usage"]
    assert (usage["input_tokens"], usage["cached_tokens"]) == (805, 400)


def test_a_log_that_grew_is_taken_in_where_it_was_left(place: Path) -> None:
    """Importing a folder every night brings what is new, and nothing twice."""
    whole = claude_lines(40)
    good("import", "5e55.jsonl")
    assert "nothing is new" in good("import", "5e55.jsonl").stdout
    (place / "5e55.jsonl").write_text("\n".join(whole), encoding="utf-8")
    assert "has grown" in good("import", "5e55.jsonl").stdout
    assert as_json("sessions", "--json")[0]["messages"] == 81
    grown = good("export", "5e55").stdout
    good("import", "5e55.jsonl", "--store", "fresh.db")
    assert good("export", "5e55", "--store", "fresh.db").stdout == grown


def test_a_broken_log_is_named_by_line_and_nothing_of_it_comes_in(place: Path) -> None:
    """All or nothing; `--lenient` brings the rest, and counts what it left out."""
    rows = claude_lines(30)
    rows[11] = rows[11][:-30]
    (place / "5e55.jsonl").write_text("\n".join(rows), encoding="utf-8")
    said = bad(1, "import", "5e55.jsonl")
    assert "5e55.jsonl, line 12: not JSON" in said and "nothing of it was imported" in said
    assert as_json("sessions", "--json") == []
    done = good("import", "5e55.jsonl", "--lenient")
    assert "left out 1 broken place" in done.stderr and "line 12" in done.stderr
    assert as_json("sessions", "--json")[0]["messages"] == 60


def test_a_folder_brings_all_its_logs_and_one_bad_one_stops_no_other(place: Path) -> None:
    """What is no log is left out; a broken one is refused, the others come in."""
    (place / "more").mkdir()
    (place / "more" / "chat.json").write_text(json.dumps([user("hello"), says("hi")]), encoding="utf-8")
    (place / "more" / "notes.md").write_text("# just notes\n", encoding="utf-8")
    (place / "more" / "broken.jsonl").write_text("\n".join(claude_lines(3)) + '\n{"type": "us', encoding="utf-8")
    done = run("import", ".", "--json")
    assert done.exit_code == 1
    facts = {Path(one["log"]).name: one for one in json.loads(done.stdout)}
    assert set(facts) == {"5e55.jsonl", "chat.json", "broken.jsonl"}
    assert "line 8" in facts["broken.jsonl"]["error"]
    assert {one["session_id"] for one in as_json("sessions", "--json")} == {"5e55", "chat"}


def test_a_log_comes_through_a_pipe_and_under_another_name(place: Path) -> None:
    text = (place / "5e55.jsonl").read_text(encoding="utf-8")
    assert "'night' (61 messages" in good("import", "-", "--as", "night", stdin=text).stdout


def test_what_is_wrong_with_one_path_stops_no_other(place: Path) -> None:
    """Every log is reported, the good ones came in, and the exit code says that not all did."""
    (place / "noise.jsonl").write_bytes(bytes(range(256)) * 10)
    done = run("import", "nowhere.jsonl", "noise.jsonl", "5e55.jsonl", "--json")
    assert done.exit_code == 1
    errors = {Path(one["log"]).name: one["error"] for one in json.loads(done.stdout)}
    assert "cannot read" in errors["nowhere.jsonl"] and "no known log format" in errors["noise.jsonl"]
    assert errors["5e55.jsonl"] is None


def test_a_broken_file_in_a_folder_is_named_and_a_foreign_one_left_out(place: Path) -> None:
    """Broken JSON may have been a log; a file of another kind was none."""
    (place / "package.json").write_text('{"name": "x"}', encoding="utf-8")
    assert "package.json" in good("import", ".").stderr
    (place / "cut.json").write_text('[{"role": "user", "content": "x', encoding="utf-8")
    assert "cut.json, line 1: not JSON" in bad(1, "import", ".")


def event(number: int, body: dict[str, Any]) -> str:
    return json.dumps({"id": f"e{number}", "timestamp": "2026-01-01T00:00:00", "source": "user", **body})


def test_a_broken_event_file_refuses_its_log_and_no_other(place: Path) -> None:
    """A folder of events is one log; `--lenient` leaves out the broken event."""
    events = place / "run" / "events"
    events.mkdir(parents=True)
    for number, text in enumerate(("first", "second")):
        said = {"role": "user", "content": [{"type": "text", "text": text}]}
        body = event(number, {"kind": "MessageEvent", "llm_message": said})
        (events / f"event-0000{number}-e{number}.json").write_text(body, encoding="utf-8")
    (events / "event-00002-e2.json").write_text('{"kind": "Mess', encoding="utf-8")
    said = bad(1, "import", ".")
    assert "event-00002" in said and "1 file refused" in said
    assert {one["session_id"] for one in as_json("sessions", "--json")} == {"5e55"}
    assert "left out 1 broken place" in good("import", "run", "--lenient").stderr


def test_one_name_is_for_one_log(place: Path) -> None:
    (place / "chat.json").write_text(json.dumps([user("hello"), says("hi")]), encoding="utf-8")
    assert "`--as` names one session, and these are 2 logs" in bad(2, "import", ".", "--as", "x")
    assert not (place / "agent.db").exists() or as_json("sessions", "--json") == []


def test_an_imported_session_has_the_dates_of_its_log() -> None:
    good("import", "5e55.jsonl")
    (session,) = as_json("sessions", "--json")
    assert session["created_at"].startswith("2026-01-01T00:00:00")
    assert session["last_activity_at"].startswith("2026-01-01T00:01:00")


def test_a_session_has_the_same_name_from_wherever_its_log_is_named(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a path with `..`, or from the folder itself."""
    chat = place / "shop" / ".aider.chat.history.md"
    (place / "shop" / "inner").mkdir(parents=True)
    chat.write_text("# aider chat started at 2026-01-01 10:00:00\n\n#### hello\n\nHi!\n", encoding="utf-8")
    for folder, name in (("shop/inner", "../.aider.chat.history.md"), ("shop", ".aider.chat.history.md")):
        monkeypatch.chdir(place / folder)
        good("import", name)
    assert [one["session_id"] for one in as_json("sessions", "--json")] == ["shop/1"]


def test_an_empty_path_is_not_the_working_directory() -> None:
    """A variable of a shell that is not set must not bring in everything around."""
    for command in ("import", "compile", "replay", "check"):
        assert "an empty SOURCE was given" in bad(2, command, "")


def test_a_log_may_come_from_another_command(place: Path) -> None:
    """`<(…)` of a shell is a pipe; to import it, it is piped in."""
    pipe = place / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=lambda: pipe.write_bytes((place / "5e55.jsonl").read_bytes()))
    writer.start()
    assert "61 messages, no defects" in good("check", str(pipe)).stdout
    writer.join()
    assert "pipe it in and give - instead" in bad(1, "import", str(pipe))


def test_a_pipe_in_a_folder_is_not_waited_for(place: Path) -> None:
    os.mkfifo(place / "pipe.jsonl")
    (place / "loop").symlink_to(place, target_is_directory=True)
    good("import", ".")


def test_a_response_that_was_half_written_is_completed(place: Path) -> None:
    """The newest response may have been written in part when its log was imported."""
    rows = claude_lines(5)
    last = json.loads(rows[-2])
    said = {**last, "uuid": "x", "message": {**last["message"], "content": [{"type": "text", "text": "Reading."}]}}
    path = place / "5e55.jsonl"
    path.write_text("\n".join([*rows[:-2], json.dumps(said)]), encoding="utf-8")
    good("import", "5e55.jsonl")
    path.write_text("\n".join([*rows[:-2], json.dumps(said), *rows[-2:]]), encoding="utf-8")
    assert "has grown" in good("import", "5e55.jsonl").stdout
    assert as_json("sessions", "--json")[0]["messages"] == 11
    good("db", "check")


# --- what a model sees --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["openai", "openai-responses", "anthropic", "gemini", "pydantic-ai", "langchain"])
def test_a_log_of_one_provider_is_compiled_for_any_other(target: str) -> None:
    """What is printed passes the target's own rules."""
    from foveate.wire.formats import FORMATS

    request = as_json("compile", "5e55.jsonl", "--budget", "4000", "--to", target)
    assert FORMATS[target].problems(request) == []


def test_compile_at_a_step_is_the_request_that_response_answered() -> None:
    """The first response saw the user's message and nothing else."""
    assert [message["role"] for message in as_json("compile", "5e55.jsonl", "--at", "1")] == ["user"]
    assert len(as_json("compile", "5e55.jsonl", "--at", "3")) == 5
    assert len(as_json("compile", "5e55.jsonl", "--at", "31")) == 61
    assert "`--at` 32 is behind the end; the log has 30 responses" in bad(2, "compile", "5e55.jsonl", "--at", "32")


def test_a_file_and_the_session_it_became_give_the_same_request() -> None:
    good("import", "5e55.jsonl")
    for extra in ((), ("--replay",), ("--at", "20"), ("--policy", "drop")):
        options = ("--budget", "3000", *extra)
        assert good("compile", "5e55", *options).stdout == good("compile", "5e55.jsonl", *options).stdout


def test_an_export_is_a_source_like_any_log(place: Path) -> None:
    good("import", "5e55.jsonl")
    (place / "export.jsonl").write_bytes(good("export", "5e55").stdout_bytes)
    for options in (("compile", "--budget", "3000"), ("explain", "--budget", "3000", "--json"), ("check",)):
        command, *rest = options
        assert good(command, "export.jsonl", *rest).stdout == good(command, "5e55", *rest).stdout
    assert good("recall", "export.jsonl", "m3").stdout == good("recall", "5e55", "m3").stdout


def test_a_step_and_a_call_of_the_same_number_are_the_same_request() -> None:
    compiled = as_json("compile", "5e55.jsonl", "--budget", "3000", "--at", "25", "--json")
    explained = as_json("explain", "5e55.jsonl", "--budget", "3000", "--call", "25", "--json")
    assert (compiled["call"], compiled["tokens"]) == (explained["call"], explained["used"]) == (25, explained["used"])


def test_what_a_log_says_does_not_steer_the_terminal(place: Path) -> None:
    (place / "e.json").write_text(json.dumps([user("\x1b[31mRED\x1b]0;title\x07")]), encoding="utf-8")
    assert "\x1b" not in good("explain", "e.json", "--budget", "500").stdout


def test_a_session_may_have_a_name_no_file_can_have() -> None:
    name = "n" * 300
    good("import", "5e55.jsonl", "--as", name)
    assert len(as_json("compile", name, "--at", "1")) == 1


def test_explain_shows_a_call_of_a_log_by_replaying_it() -> None:
    record = as_json("explain", "5e55.jsonl", "--budget", "3000", "--call", "25", "--json")
    assert (record["call"], record["budget"]) == (25, 3000)
    assert len(record["fates"]) == 49


def test_explain_shows_a_call_that_a_session_recorded() -> None:
    good("import", "--sample")
    record = as_json("explain", "sample", "--call", "7", "--json")
    assert record["call"] == 7
    sent = as_json("show", "sample", "--call", "7", "--json")
    assert sent["tokens"] == record["used"]


def test_diff_tells_what_entered_left_and_broke() -> None:
    made = as_json("diff", "5e55.jsonl", "--budget", "3000", "--call", "1", "--call", "2", "--json")
    assert [one["id"] for one in made["entered"]] == ["m2", "m3"]
    assert made["broke_at"] is None
    table = good("diff", "5e55.jsonl", "--budget", "3000", "--call", "29", "--call", "5").stdout
    assert "call 5 → call 29" in table and "cached prefix: broke at" in table and "left:" in table
    assert "give two different calls" in bad(2, "diff", "5e55.jsonl", "--call", "1")
    assert "no call 99; a replay of this log makes 31" in bad(1, "diff", "5e55.jsonl", "--call", "1", "--call", "99")


def test_diff_of_recorded_calls_is_that_of_the_same_calls_replayed() -> None:
    """Rebuilt from the log, calls have other objects with the same words."""
    good("import", "--sample")
    recorded = as_json("diff", "sample", "--call", "3", "--call", "4", "--json")
    assert recorded == as_json("diff", "--sample", "--budget", "8000", "--call", "3", "--call", "4", "--json")
    assert recorded["broke_at"] is None


def test_check_finds_defects_and_says_so_by_its_exit_code(place: Path) -> None:
    """Codes for machines, sentences for people; 0 for a sound log."""
    assert "61 messages, no defects" in good("check", "5e55.jsonl").stdout
    log = [user("go"), calls(call("a", "run"), call("b", "run")), result("b", "ok"), result("z", "?"), says("done")]
    (place / "odd.json").write_text(json.dumps(log), encoding="utf-8")
    done = run("check", "odd.json", "--json")
    assert done.exit_code == 4
    codes = [one["code"] for one in json.loads(done.stdout)["findings"]]
    assert codes == ["orphan_tool_return", "orphan_tool_call"]
    assert "a call that never got a result" in bad(4, "check", "odd.json")


def test_check_reports_what_cannot_be_read_as_a_finding(place: Path) -> None:
    rows = claude_lines(3)
    rows[2] = rows[2][:40]
    (place / "cut.jsonl").write_text("\n".join(rows), encoding="utf-8")
    done = run("check", "cut.jsonl", "--json")
    assert done.exit_code == 4
    assert json.loads(done.stdout)["findings"][0]["code"] == "invalid_message_payload"


def test_recall_gives_back_what_a_reference_stands_for() -> None:
    """Whole, some lines, or what matches a query; from a file or a session."""
    good("import", "5e55.jsonl")
    whole = good("recall", "5e55.jsonl", "m3").stdout
    assert whole == good("recall", "5e55", "m3").stdout
    assert len(whole.splitlines()) >= 40
    assert "part 0 10" in good("recall", "5e55", "m3", "--lines", "10-12").stdout
    assert "m999" in bad(1, "recall", "5e55", "m999")
    assert "`--lines` 'x' is no range" in bad(2, "recall", "5e55", "m3", "--lines", "x")


def test_a_log_with_several_sessions_asks_which(place: Path) -> None:
    runs = [{"task_id": n, "trial": 0, "reward": 1.0, "info": {}, "traj": [user("hi"), says("yes")]} for n in range(3)]
    (place / "runs.json").write_text(json.dumps(runs), encoding="utf-8")
    said = bad(2, "compile", "runs.json")
    assert "has 3 sessions; choose one with `--session`" in said
    assert len(as_json("compile", "runs.json", "--session", "runs-1/0")) == 2
    assert "no `--session` 'x'" in bad(2, "compile", "runs.json", "--session", "x")


# --- names --------------------------------------------------------------------------------------------------------


def test_policies_and_formats_are_listed(place: Path) -> None:
    (place / "foveate.toml").write_text('[policies.careful]\nbase = "patient"\nlow = 0.5\n', encoding="utf-8")
    names = {one["name"]: one["kind"] for one in as_json("policies", "--json")}
    assert names["foveate"] == "policy" and names["mask-10"] == "baseline" and names["careful"] == "own"
    assert as_json("explain", "5e55.jsonl", "-b", "3000", "--policy", "careful", "--json")["strategy"].endswith(
        "careful"
    )
    formats = as_json("formats", "--json")
    assert "claude-code" in {one["name"] for one in formats["logs"]}
    assert "anthropic" in formats["requests"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["compile", "nobody"], 1, "cannot read 'nobody': there is no such file, and no store at"),
        (["compile", "nowhere.jsonl"], 1, "cannot read 'nowhere.jsonl'"),
        (["compile", "."], 1, "is a folder"),
        (["compile", "5e55.jsonl", "--format", "word"], 2, "unknown `--format` 'word'"),
        (["compile", "5e55.jsonl", "--policy", "nobody"], 2, "unknown `--policy` 'nobody'"),
        (["compile", "5e55.jsonl", "-b", "900", "--policy", "mask-10"], 2, "can be replayed"),
        (["compile", "5e55.jsonl", "-b", "5"], 3, "`budget` is 5"),
        (["compile", "5e55.jsonl", "--model", "nobody"], 2, "is not in the price list"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: list[str], code: int, says: str) -> None:
    assert says in bad(code, *arguments)


def test_other_scripts_and_long_outputs_survive(place: Path) -> None:
    log = [user("订单总额是多少？"), *exchange("c1", "lookup", "总额 " * 5_000, key="订单")]
    (place / "订单.json").write_text(json.dumps(log), encoding="utf-8")
    good("import", "订单.json")
    assert as_json("sessions", "--json")[0]["session_id"] == "订单"
    assert as_json("compile", "订单", "--budget", "600")[0]["content"] == "订单总额是多少？"
