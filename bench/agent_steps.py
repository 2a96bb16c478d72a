"""What the scripted model does in a recording: everything of which an agent may make something else in a request."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Final

from bench.provider import Call, Shell, Step

PICTURE: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
"""A picture of one point, for the tools that show pictures to the model."""

_QUERY: Final = {"query": "multiply in Python"}
_FOUND: Final = {
    "type": "web_search_result",
    "title": "Operators",
    "url": "https://example.com/operators",
    "encrypted_content": "c2VhbGVk",
    "page_age": None,
}
# What each provider does by itself, or says to nobody but itself.
_BY_ITSELF: Final = {
    "anthropic": (
        {"type": "redacted_thinking", "data": "c2VhbGVk"},
        {"type": "server_tool_use", "id": "srvtoolu_01", "name": "web_search", "input": _QUERY},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_01", "content": [_FOUND]},
    ),
    "responses": (
        {"type": "web_search_call", "id": "ws_01", "status": "completed", "action": {"type": "search", **_QUERY}},
    ),
    "gemini": (
        {"text": "Is there an operator?", "thought": True},
        {"executableCode": {"language": "PYTHON", "code": "print(2 * 3)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "6\n"}},
    ),
    "openai": ({"reasoning_content": "Is there an operator?"},),
}
_TOOL_SEARCH: Final = {
    "type": "tool_search_call",
    "id": "tsc_01",
    "call_id": "call_search",
    "status": "completed",
    "execution": "client",
    "arguments": {"query": "goal", "limit": 2},
}
_PATCH: Final = (
    "*** Begin Patch\n*** Update File: calc.py\n@@\n-def add(a, b):\n+def add(a, b):  # a sum\n*** End Patch\n"
)

OWN_STEPS: Final[Mapping[str, tuple[Step, ...]]] = {
    "claude-code": (
        Step("A tool is missing.", (Call("ToolSearch", {"query": "select:NotebookEdit", "max_results": 5}),)),
        Step("", (Call("Read", {"file_path": "plot.png"}), Call("Read", {"file_path": "missing.py"}))),
        Step(
            "Someone else may look.",
            (
                Call(
                    "Agent",
                    {"description": "Look", "prompt": "Look at calc.py.", "subagent_type": "general-purpose"},
                ),
            ),
        ),
    ),
    "codex": (
        Step("", (Call("view_image", {"path": "plot.png"}), Call("apply_patch", _PATCH))),
        Step("A tool is missing.", own={"responses": (_TOOL_SEARCH,)}),
    ),
    "gemini-cli": (
        Step(
            "",
            (
                Call("read_file", {"file_path": "plot.png"}),
                Call("read_file", {"file_path": "plot.png"}),
                Call("read_file", {"file_path": "missing.py"}),
            ),
        ),
    ),
    "opencode": (Step("", (Call("read", {"filePath": "plot.png"}),)),),
    "qwen": (Step("", (Call("read_file", {"file_path": "plot.png"}),)),),
    "copilot": (Step("", (Call("view", {"path": "plot.png"}),)),),
    "pi": (Step("", (Call("read", {"path": "plot.png"}),)),),
}
"""Steps by tools that only one agent has: pictures, errors, tools that are loaded, sub-agents."""

SUBAGENT_STEPS: Final = (Step("", (Shell("cat calc.py"),)), Step("There is one function in it."))


def steps_for(agent: str, *, tasks: int = 1) -> list[Step]:
    """What the model does: single and parallel calls, a failure, an empty result, odd characters; then other turns."""
    done = (Shell("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),) if agent == "mini-swe-agent" else ()
    steps = [
        Step("I look around.", (Shell("ls && cat calc.py"),), thinking="First the files."),
        Step("Both at once.", (Shell("cat test_calc.py"), Shell("wc -l calc.py"), Shell("true"))),
        *OWN_STEPS.get(agent, ()),
        Step("", (Shell("printf '\\n\\ndef multiply(a, b):\\n    return a * b\\n' >> calc.py"),)),
        Step("Now it should fail.", (Shell("python3 -c 'import calc; assert calc.multiply(2, 3) == 7'"),)),
        Step("", (Shell(r"printf 'caf\303\251 \342\200\250 \360\237\230\200 \033[31mred\033[0m\n'"),), own=_BY_ITSELF),
        Step("The function multiply is there.", done),
    ]
    turn: Sequence[Step] = (
        Step("", (Shell("seq 1 300 | sed 's/^/build line /'"),), thinking="The build."),
        Step("", (Shell("git status --short"), Shell("git diff"))),
        Step("That is all that changed.", done),
    )
    return [*steps, *(step for _ in range(tasks - 1) for step in turn)]
