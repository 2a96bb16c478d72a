"""The scripted provider: four dialects over plain HTTP, requests kept as they came, and rules that refuse."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from bench.provider import Call, Received, Request, Script, ScriptedProvider, Shell, Step, serve

Json = dict[str, Any]

SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "why": {"type": "string"}, "wait": {"type": "boolean"}},
    "required": ["command", "why"],
}
STEPS = (Step("I look.", (Shell("ls"), Call("read", {"path": "a"})), thinking="First."), Step("Done: café."))

FUNCTION = {"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}
REQUESTS: dict[str, tuple[str, Json]] = {
    "anthropic": (
        "/v1/messages?beta=true",
        {
            "thinking": {"type": "adaptive"},
            "messages": [],
            "tools": [{"name": "bash", "input_schema": SCHEMA}, {"type": "web_search_20250305", "name": "search"}],
        },
    ),
    "openai": ("/v1/chat/completions", {"messages": [], "tools": [FUNCTION]}),
    "responses": (
        "/v1/responses",
        {
            "include": ["reasoning.encrypted_content"],
            "input": [],
            "tools": [{"type": "function", "name": "bash", "parameters": SCHEMA}, {"type": "web_search"}],
        },
    ),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {"contents": [], "tools": [{"functionDeclarations": [{"name": "bash", "parametersJsonSchema": SCHEMA}]}]},
    ),
}


def ask(
    provider: ScriptedProvider, path: str, body: bytes, *, method: str = "POST", **headers: str
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(provider.address.removeprefix("http://"), timeout=10)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def ask_json(provider: ScriptedProvider, dialect: str, *, stream: bool = False, **more: Any) -> tuple[int, Any]:
    path, body = REQUESTS[dialect]
    if stream and dialect == "gemini":
        path = path.replace("generate", "streamGenerate") + "?alt=sse"
    status, answer = ask(provider, path, json.dumps({**body, **({"stream": True} if stream else {}), **more}).encode())
    return status, list(events(answer)) if stream else json.loads(answer)


def events(stream: bytes) -> Iterator[Json]:
    for block in stream.decode().split("\n\n"):
        for line in block.splitlines():
            if line.startswith("data: ") and line != "data: [DONE]":
                yield json.loads(line.removeprefix("data: "))


def calls_of(dialect: str, answer: Json) -> list[tuple[str, Any]]:
    match dialect:
        case "anthropic":
            return [(one["name"], one["input"]) for one in answer["content"] if one["type"] == "tool_use"]
        case "openai":
            calls = [one["function"] for one in answer["choices"][0]["message"].get("tool_calls", [])]
            return [(one["name"], json.loads(one["arguments"])) for one in calls]
        case "responses":
            found = [one for one in answer["output"] if one["type"] == "function_call"]
            return [(one["name"], json.loads(one["arguments"])) for one in found]
        case _:
            parts = answer["candidates"][0]["content"]["parts"]
            found = [one["functionCall"] for one in parts if "functionCall" in one]
            return [(one["name"], one["args"]) for one in found]


def joined(dialect: str, found: list[Json]) -> Json:
    """The answer that the events of a stream make."""
    match dialect:
        case "anthropic":
            return joined_anthropic(found)
        case "openai":
            deltas = [one["choices"][0] for one in found if one["choices"]]
            calls = [
                {key: value for key, value in call.items() if key != "index"}
                for one in deltas
                for call in one["delta"].get("tool_calls", [])
            ]
            text = "".join(one["delta"].get("content", "") for one in deltas)
            message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
            choice = {"index": 0, "message": message, "finish_reason": deltas[-1]["finish_reason"]}
            head = {**found[0], "object": "chat.completion"}
            return {**head, "choices": [choice], "usage": found[-1]["usage"]}
        case "responses":
            done = [one["item"] for one in found if one["type"] == "response.output_item.done"]
            return {**found[-1]["response"], "output": done}
        case _:
            return found[0]


def joined_anthropic(found: list[Json]) -> Json:
    message = found[0]["message"]
    for event in found:
        match event["type"]:
            case "content_block_start":
                message["content"].append(event["content_block"])
            case "content_block_delta":
                block, delta = message["content"][event["index"]], event["delta"]
                if "partial_json" in delta:
                    block["input"] = json.loads(delta["partial_json"])
                else:
                    block.update({key: block[key] + value for key, value in delta.items() if key != "type"})
            case "message_delta":
                message.update(event["delta"], usage=event["usage"])
            case _:
                pass
    return message


@pytest.mark.parametrize("dialect", REQUESTS)
def test_a_stream_says_what_the_answer_at_once_says(dialect: str) -> None:
    """Ids and sizes aside, which differ by the number of the request and by the word `stream`."""
    with serve(Script(STEPS)) as provider:
        _, once = ask_json(provider, dialect)
    with serve(Script(STEPS)) as provider:
        _, streamed = ask_json(provider, dialect, stream=True)

    answer = joined(dialect, streamed)
    for one in (once, answer):
        one.pop("usage", None), one.pop("usageMetadata", None)
    assert answer == once


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", REQUESTS)
def test_a_step_may_say_what_only_one_provider_says(dialect: str, stream: bool) -> None:
    """Blocks, items, parts or fields: the one whose they are sends them as they are, before the text."""
    own: dict[str, list[Json]] = {
        "anthropic": [
            {"type": "server_tool_use", "id": "s", "name": "search", "input": {"query": "x"}},
            {"type": "orb"},
        ],
        "openai": [{"reasoning_content": "Hm."}],
        "responses": [{"type": "web_search_call", "id": "ws_1", "status": "completed"}],
        "gemini": [{"text": "Hm.", "thought": True}, {"orb": {}}],
    }
    with serve(Script([Step("I look.", own=own)])) as provider:
        _, answer = ask_json(provider, dialect, stream=stream)

    found: Any = joined(dialect, answer) if stream else answer
    match dialect:
        case "anthropic":
            said = found["content"]
        case "openai":
            message = found["choices"][0]["message"] if not stream else answer[0]["choices"][0]["delta"]
            said = [{"reasoning_content": message.get("reasoning_content")}, "the text"]
        case "responses":
            said = [one for one in found["output"] if one["type"] != "reasoning"]
        case _:
            said = found["candidates"][0]["content"]["parts"]
    said = [one for one in said if "thinking" not in one]
    assert said[:-1] == own[dialect]
    assert provider.errors == []


def test_an_agent_that_ends_is_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    """It resets the connection that it kept alive, and the recording goes on in silence."""
    with serve(Script(STEPS)) as provider:
        host, _, port = provider.address.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(b"POST /v1/messages HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        _, answer = ask_json(provider, "openai")

    assert calls_of("openai", answer)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("dialect", REQUESTS)
def test_a_shell_step_calls_the_shell_that_is_offered(dialect: str) -> None:
    """Under its own name, with every required argument filled in; the next request gets the next step."""
    with serve(Script(STEPS)) as provider:
        _, first = ask_json(provider, dialect)
        _, second = ask_json(provider, dialect)
        _, third = ask_json(provider, dialect)

    assert provider.errors == []
    assert calls_of(dialect, first) == [("bash", {"command": "ls", "why": "as scripted"}), ("read", {"path": "a"})]
    assert calls_of(dialect, second) == [] == calls_of(dialect, third)
    assert "Done: café." in json.dumps(second, ensure_ascii=False)
    assert "Everything is done." in json.dumps(third)


@pytest.mark.parametrize("dialect", REQUESTS)
def test_a_request_without_tools_takes_no_step(dialect: str) -> None:
    """Agents ask on the side for titles and summaries."""
    with serve(Script(STEPS)) as provider:
        _, side = ask_json(provider, dialect, tools=[])
        _, first = ask_json(provider, dialect)

    assert "A side answer." in json.dumps(side)
    assert calls_of(dialect, first)


def test_a_request_that_lacks_tools_of_the_first_takes_no_step() -> None:
    """An agent within the agent, without a header that says so; tools that are loaded later do not count."""
    note = {"type": "function", "function": {"name": "note", "parameters": {}}}
    with serve(Script(STEPS)) as provider:
        ask_json(provider, "openai")
        _, side = ask_json(provider, "openai", tools=[note])
        _, second = ask_json(provider, "openai", tools=[FUNCTION, note])

    assert "A side answer." in json.dumps(side)
    assert "Done: café." in json.dumps(second, ensure_ascii=False)


def test_a_schema_for_the_side_answer_is_kept() -> None:
    """Gemini CLI asks a smaller model which one is to answer, and tries again until it gets such an object."""
    properties = {"reason": {"type": "STRING"}, "score": {"type": "INTEGER"}, "more": {"type": "STRING"}}
    schema = {"type": "OBJECT", "properties": properties, "required": ["reason", "score"]}
    with serve(Script(STEPS)) as provider:
        _, side = ask_json(provider, "gemini", tools=[], generationConfig={"responseJsonSchema": schema})

    assert json.loads(side["candidates"][0]["content"]["parts"][0]["text"]) == {"reason": "as scripted", "score": 1}


def test_code_mode_gets_a_script_that_runs_the_command() -> None:
    """Codex with newer models: tools are an input item, and the shell is a function inside a custom tool."""
    exec_tool = {"type": "custom", "name": "exec"}
    tools = [{"type": "namespace", "name": "functions", "tools": [exec_tool]}]
    items = [{"type": "additional_tools", "role": "developer", "tools": tools}]
    with serve(Script([Step("", (Shell('echo "a"'),))])) as provider:
        _, answer = ask_json(provider, "responses", tools=None, input=items)

    call = next(one for one in answer["output"] if one["type"] == "custom_tool_call")
    assert (call["name"], call["namespace"]) == ("exec", "functions")
    assert 'tools.exec_command({cmd: "echo \\"a\\""})' in call["input"]


def test_a_compaction_trigger_gets_exactly_one_compaction() -> None:
    """Codex ends its turn with an error at anything else, a reasoning item included."""
    with serve(Script(STEPS)) as provider:
        _, answer = ask_json(provider, "responses", input=[{"type": "compaction_trigger"}], stream=True)

    assert [one["type"] for one in answer[-1]["response"]["output"]] == ["compaction"]


def test_subagents_have_steps_of_their_own() -> None:
    """Told apart by the headers that Claude Code and Codex send."""
    script = Script([Step("for the agent")], subagent_steps=[Step("for the sub-agent")])
    path, body = REQUESTS["anthropic"]
    with serve(script) as provider:
        _, inner = ask(provider, path, json.dumps(body).encode(), x_claude_code_agent_id="a1")
        _, outer = ask(provider, path, json.dumps(body).encode())

    assert b"for the sub-agent" in inner
    assert b"for the agent" in outer


@pytest.mark.parametrize(
    ("dialect", "stream", "told"),
    [
        ("anthropic", True, (400, "prompt is too long")),
        ("openai", True, (400, "context_length_exceeded")),
        ("responses", False, (400, "context_length_exceeded")),
        ("responses", True, (200, "response.failed")),
        ("gemini", False, (400, "INVALID_ARGUMENT")),
    ],
)
def test_an_overflow_is_the_error_of_the_provider(dialect: str, stream: bool, told: tuple[int, str]) -> None:
    """In a stream of Responses the error is an event; the step is still to come."""
    with serve(Script(STEPS, overflow_at=[1])) as provider:
        path, body = REQUESTS[dialect]
        status, answer = ask(provider, path, json.dumps({**body, "stream": stream}).encode())
        _, second = ask_json(provider, dialect)

    assert status == told[0]
    assert told[1] in answer.decode()
    assert calls_of(dialect, second)


@pytest.mark.parametrize("dialect", REQUESTS)
def test_a_rule_refuses_a_request_before_it_takes_a_step(dialect: str) -> None:
    """What enforces the rules of a real provider is told the parsed request, and names what is wrong."""

    def no_system(request: Request) -> str | None:
        return "system: not allowed" if "system" in request.body else None

    with serve(Script(STEPS), rules=[no_system]) as provider:
        status, refused = ask_json(provider, dialect, system="x")
        _, taken = ask_json(provider, dialect)

    assert (status, provider.complaints) == (400, [(1, "system: not allowed")])
    assert "system: not allowed" in json.dumps(refused)
    assert calls_of(dialect, taken)


def test_requests_are_kept_as_they_came(tmp_path: Path) -> None:
    """Odd spaces, the order of keys and broken JSON are kept to the byte; keys of the user are not kept at all."""
    odd = '{"b": 1.0,\n  "a":"caf\\u00e9 é", "messages":[], "tools":[]}'.encode()
    with serve(Script(STEPS), folder=tmp_path) as provider:
        ask(provider, "/v1/messages?key=secret-1&x=2", odd, x_api_key="secret-2", Authorization="Bearer secret-3")
        ask(provider, "/v1/messages", b'{"broken": ')

    assert (tmp_path / "001.json").read_bytes() == odd == provider.received[0].body
    assert (tmp_path / "002.json").read_bytes() == b'{"broken": '
    meta = json.loads((tmp_path / "001.meta.json").read_bytes())
    assert (meta["method"], meta["path"], meta["kind"]) == ("POST", "/v1/messages?key=&x=2", "anthropic")
    assert "secret" not in "".join(path.read_text() for path in tmp_path.iterdir())
    assert "request 2: JSONDecodeError" in provider.errors[0]


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_compressed_body_is_kept_both_ways(tmp_path: Path, encoding: str) -> None:
    """As it came, and as the JSON that is in it."""
    body = json.dumps(REQUESTS["responses"][1]).encode()
    packed = gzip.compress(body) if encoding == "gzip" else zstandard.compress(body)
    with serve(Script(STEPS), folder=tmp_path) as provider:
        status, _ = ask(provider, "/v1/responses", packed, Content_Encoding=encoding)

    assert status == 200
    assert (tmp_path / "001.json").read_bytes() == body
    assert (tmp_path / "001.encoded").read_bytes() == packed


def test_a_body_in_chunks_is_read_whole() -> None:
    """Some agents do not say how long a request is."""
    path, body = REQUESTS["openai"]
    sent = json.dumps(body).encode()
    with serve(Script(STEPS)) as provider:
        connection = http.client.HTTPConnection(provider.address.removeprefix("http://"), timeout=10)
        connection.request("POST", path, iter([sent[:10], sent[10:]]), encode_chunked=True)
        answer = json.loads(connection.getresponse().read())
        connection.close()

    assert provider.received[0].body == sent
    assert calls_of("openai", answer)


def test_what_is_no_request_for_an_answer_is_answered_as_a_provider_does() -> None:
    """Models, counts, a WebSocket (refused so that Codex goes on at once), a sign of life, and all else."""
    with serve(Script(STEPS), scale=2.0) as provider:
        models = ask(provider, "/v1/models?limit=1000", b"", method="GET")
        counted = ask(provider, "/v1/messages/count_tokens", b"x" * 400)
        upgrade = ask(provider, "/v1/responses", b"", method="GET", Upgrade="websocket", Connection="Upgrade")
        alive = ask(provider, "/api/hello", b"", method="HEAD")

    assert (models[0], counted[0], upgrade[0], alive) == (200, 200, 426, (404, b""))
    assert json.loads(counted[1])["input_tokens"] == 200
    assert [one.kind for one in provider.received] == ["models", "count", "websocket", "unknown"]
    assert provider.requests == []


def test_a_step_that_no_tool_fits_is_an_error_that_says_so() -> None:
    """Not an agent that waits, and not a step that is lost in silence."""
    path, body = REQUESTS["openai"]
    tools = [{"type": "function", "function": {"name": "read", "parameters": {}}}]
    with serve(Script(STEPS)) as provider:
        status, _ = ask(provider, path, json.dumps({**body, "tools": tools}).encode())

    assert status == 500
    assert provider.errors == [
        "request 1: LookupError: no tool of ['read'] is a shell; name the tool with Call instead of Shell"
    ]


def test_received_requests_stand_in_the_order_of_their_numbers() -> None:
    """So that a test can say which one it means."""
    with serve(Script([])) as provider:
        for _ in range(3):
            ask_json(provider, "openai")

    received: list[Received] = provider.received
    assert [one.number for one in received] == [1, 2, 3]
