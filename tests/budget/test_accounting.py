"""What a request takes: whatever is sent is counted, whichever format it came in and goes out in."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foveate.budget import EstimatingCounter
from foveate.budget.accounting import message_tokens
from foveate.log.messages import Message, Text, Thinking
from foveate.wire.format import Request
from foveate.wire.formats import FORMATS

COUNTER = EstimatingCounter()
WORDS = ("read", "the", "file", "and", "say", "what", "changed", "in", "it", "文件", "now")


def prose(size: int) -> str:
    """Words without end that look like none of ours."""
    return " ".join(random.Random(size).choice(WORDS) for _ in range(size // 4))


def sealed(size: int) -> str:
    return f"{random.Random(size).getrandbits(max(8, size * 4)):x}"[:size]


def place(index: int) -> str:
    return f"message {index}"


def tokens(messages: list[Message]) -> int:
    return sum(message_tokens(message, COUNTER) for message in messages)


def told(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": list(blocks)}


def raws(size: int) -> list[tuple[str, list[dict[str, Any]]]]:
    """Messages of every format with a field of a size that only this format knows."""
    long, code = prose(size), sealed(size)
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]}
    document = {"type": "document", "source": {"type": "url", "url": "https://x.org/a.pdf"}, "context": long}
    inline = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}, "title": long}
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "a", "content": [inline, {"type": "text", "text": "y"}]}
    click = {"type": "computer_call", "id": "cu_1", "call_id": "d", "action": {"type": "wait"}}
    search = {"type": "tool_search_call", "id": "tsc_1", "call_id": "e", "execution": "client"}
    shot = {"type": "computer_screenshot", "image_url": "https://x.org/a.png"}
    items = [
        [{"type": "reasoning", "summary": [], "encrypted_content": code}, said],
        [
            {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": long}]},
            said,
        ],
        [{"type": "compaction", "encrypted_content": code}, said],
        [{"type": "image_generation_call", "id": "ig_1", "result": code}, said],
        [{"type": "code_interpreter_call", "id": "ci_1", "code": "x", "outputs": [{"type": "logs", "logs": long}]}],
        [{"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "queries": [long], "sources": [long]}}],
        [{"type": "mcp_call", "id": "mcp_1", "name": "f", "server_label": "s", "arguments": long, "unknown": long}],
        [{**said, "content": [{"type": "output_text", "text": "so", "logprobs": [{"token": long}], "odd": long}]}],
        [{**said, "odd": long, "id": f"msg_{code}"}],
        [told({"type": "input_audio", "input_audio": {"data": code, "format": "wav"}})],
        [told({"type": "hologram", "of": long}, {"type": "input_file", "file_id": "file-1", "filename": long})],
        [
            {**search, "arguments": {"query": "x"}},
            {"type": "tool_search_output", "call_id": "e", "tools": [{"type": "function", "name": "f", "odd": long}]},
        ],
        [
            {**click, "pending_safety_checks": [{"id": "1", "message": long}]},
            {"type": "computer_call_output", "call_id": "d", "output": shot, "acknowledged_safety_checks": [long]},
        ],
    ]
    contents = [
        [{"role": "model", "parts": [{"text": "hm", "thought": True, "thoughtSignature": code}, {"text": "so"}]}],
        [
            {
                "role": "model",
                "parts": [{"text": "", "thoughtSignature": code}, {"text": "so", "thoughtSignature": code}],
            }
        ],
        [{"role": "model", "parts": [{"hologram": long}, {"text": "so", "odd": long}]}],
        [{"role": "model", "parts": [{"executableCode": {"code": "1", "language": long, "odd": long}}]}],
        [
            {
                "role": "model",
                "parts": [{"functionCall": {"name": "f", "args": {}, "odd": long}, "partMetadata": long}],
            },
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"x": long}, "odd": long}}]},
        ],
    ]
    blocks = [
        [{"role": "user", "content": [document, inline]}],
        [{"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}],
        [
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": code}, use]},
            answered(),
        ],
        [{"role": "assistant", "content": [{"type": "redacted_thinking", "data": code}, use]}, answered()],
        [{"role": "assistant", "content": [{"type": "text", "text": "so", "citations": [{"cited_text": long}]}]}],
    ]
    prompt = {"part_kind": "user-prompt", "content": "go"}
    requests = [[{"kind": "request", "parts": [prompt], "instructions": long}]]
    return [
        *(("openai-responses", some) for some in items),
        *(("gemini", some) for some in contents),
        *(("anthropic", some) for some in blocks),
        *(("pydantic-ai", some) for some in requests),
    ]


def answered() -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "ok"}]}


KINDS = len(raws(8))
NOT_CHARGED = (7, 8)
"""What was noted beside the words of an answer, and goes back with them: it tells the model nothing."""


@settings(max_examples=60, deadline=None)
@example([11], 60_000)
@given(
    st.lists(st.integers(0, KINDS - 1).filter(lambda kind: kind not in NOT_CHARGED), min_size=1, max_size=4),
    st.sampled_from([10, 3_000, 60_000]),
)
def test_what_is_sent_is_counted(kinds: list[int], size: int) -> None:
    """The characters of a request are bounded by its tokens, in every format that it can go out in."""
    found: list[Message] = []
    for kind in dict.fromkeys(kinds):
        name, some = raws(size)[kind]
        found += FORMATS[name].decode(some, place)
    counted = tokens(found)
    for format in FORMATS.values():
        sent = json.dumps(format.lower(Request(messages=tuple(found))), ensure_ascii=False)
        assert len(sent) <= 9 * counted + 1_500 * len(kinds), format.name


@pytest.mark.parametrize("kind", NOT_CHARGED)
def test_what_is_not_charged_is_not_counted(kind: int) -> None:
    """Half a million characters that no model reads must not push anything out."""
    name, some = raws(500_000)[kind]

    assert tokens(FORMATS[name].decode(some, place)) < 200


def test_instructions_are_not_counted_with_every_result() -> None:
    """A run repeats them in each request, and the provider is sent them once."""
    call = {
        "kind": "response",
        "parts": [{"part_kind": "tool-call", "tool_name": "f", "tool_call_id": "a", "args": {}}],
    }
    back = {"part_kind": "tool-return", "tool_name": "f", "tool_call_id": "a", "content": "x"}
    prompt = {"part_kind": "user-prompt", "content": "go"}
    run = [
        {"kind": "request", "parts": [prompt], "instructions": prose(8_000)},
        *(raw for _ in range(20) for raw in (call, {"kind": "request", "parts": [back], "instructions": prose(8_000)})),
    ]

    assert tokens(FORMATS["pydantic-ai"].decode(run, place)) < 2 * COUNTER.count(prose(8_000))


def test_ordinary_messages_cost_no_more_to_count() -> None:
    """A hundred thousand of them are counted within a few seconds."""
    messages = [Message(id="m", role="user", parts=(Text(text="read the file"), Thinking(text="hm")))] * 100_000
    begun = time.perf_counter()

    assert tokens(messages) > 100_000
    assert time.perf_counter() - begun < 10
