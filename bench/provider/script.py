"""Scripts: what the provider answers to each request, whatever dialect the request speaks."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

Json = dict[str, Any]

# In order of preference: some agents offer several tools that sound like a shell.
_SHELLS: Final = ("Bash", "bash", "exec_command", "shell", "run_shell_command", "shell_command", "terminal", "exec")
# Headers that Claude Code and Codex send with the requests of a sub-agent.
_SUBAGENT_HEADERS: Final = ("x-claude-code-agent-id", "x-openai-subagent")
# Claude Code asks for the summary of a compaction with all its tools still offered.
_TEXT_ONLY: Final = "Respond with TEXT ONLY"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. The arguments of a custom tool are one text."""

    name: str
    arguments: Json | str = field(default_factory=dict)
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Shell:
    """A command for the shell tool that the request offers, under whatever name."""

    command: str


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the model. Without calls it ends the turn.

    `own` is what only one provider says, by its dialect, and what the agent sends back later: blocks, items, parts, or
    for OpenAI chat fields of the message. It stands behind the thinking, before the text.
    """

    text: str = ""
    calls: tuple[Call | Shell, ...] = ()
    thinking: str = ""
    own: Mapping[str, Sequence[Json]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error in place of an answer: too many tokens, or a request that breaks a rule."""

    message: str
    is_overflow: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a request offers; `schema` is None for custom tools, whose input is text."""

    name: str
    schema: Json | None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """A request for an answer.

    Attributes:
        number: of the request among all that the provider received, from 1.
        dialect: `anthropic`, `openai`, `responses` or `gemini`.
        path: with its query.
        headers: by their names in lower case.
        body: parsed; the bytes are in `ScriptedProvider.received`.
        tools: that it offers, those of namespaces included.
        tokens: to report as its size.
        cached: those of them to report as read from the cache.

    """

    number: int
    dialect: str
    path: str
    headers: Mapping[str, str]
    body: Json
    tools: tuple[Tool, ...]
    tokens: int = 0
    cached: int = 0

    @property
    def is_from_subagent(self) -> bool:
        """Whether a sub-agent of the agent sent it."""
        return any(name in self.headers for name in _SUBAGENT_HEADERS)

    @property
    def wants_text(self) -> bool:
        """Whether it is a side call, such as for a title or a summary."""
        messages = self.body.get("messages")
        asked_last = json.dumps(messages[-3:]) if isinstance(messages, list) else ""
        return not self.tools or _TEXT_ONLY in asked_last


class Script:
    """Steps in their order: one list for the agent, one for its sub-agents.

    Agents talk to models on the side: for a title, a summary, or, as Qwen Code does between turns, to keep notes. A
    request without tools, or without some that the first request offered, is such a one and takes no step. After the
    last step every answer is a short text. Requests are answered in threads, so taking a step is atomic.

    Args:
        steps: of the agent.
        subagent_steps: of all its sub-agents together.
        overflow_at: requests of the agent, counted from 1, that are refused as too long; they take no step.

    """

    def __init__(
        self, steps: Sequence[Step], *, subagent_steps: Sequence[Step] = (), overflow_at: Sequence[int] = ()
    ) -> None:
        self._lists = (list(steps), list(subagent_steps))
        self._overflow_at = frozenset(overflow_at)
        self._asked = 0
        self._first_tools: frozenset[str] | None = None
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Step | Refusal:
        """The next step of the agent, or of the sub-agent, that sent the request."""
        if request.wants_text:
            return Step(text=_side_answer(request.body))
        with self._lock:
            if not request.is_from_subagent:
                names = frozenset(tool.name for tool in request.tools)
                self._first_tools = self._first_tools or names
                if not self._first_tools <= names:
                    return Step(text=_side_answer(request.body))
                self._asked += 1
                if self._asked in self._overflow_at:
                    return Refusal("prompt is too long: 205000 tokens > 200000 maximum", is_overflow=True)
            remaining = self._lists[request.is_from_subagent]
            return remaining.pop(0) if remaining else Step(text="Everything is done.")


def resolved(step: Step, tools: Sequence[Tool]) -> Step:
    """The step with each `Shell` turned into a call of the shell tool among `tools`."""
    return replace(step, calls=tuple(_shell_call(one, tools) if isinstance(one, Shell) else one for one in step.calls))


def _shell_call(shell: Shell, tools: Sequence[Tool]) -> Call:
    by_name = {tool.name: tool for tool in tools}
    tool = next((by_name[name] for name in _SHELLS if name in by_name), None)
    if tool is None:
        raise LookupError(f"no tool of {sorted(by_name)} is a shell; name the tool with Call instead of Shell")
    if tool.schema is None:
        # Codex's code mode: the one custom tool runs JavaScript, and the shell is a function in it.
        source = f"const r = await tools.exec_command({{cmd: {json.dumps(shell.command)}}});\ntext(r.output);\n"
        return Call(tool.name, source, tool.namespace)
    arguments = sample(tool.schema)
    for name, schema in tool.schema.get("properties", {}).items():
        if name in {"command", "cmd"}:
            arguments[name] = ["bash", "-lc", shell.command] if _type(schema) == "array" else shell.command
    return Call(tool.name, arguments, tool.namespace)


def sample(schema: Json) -> Any:
    """The smallest value that a JSON schema describes: only what is required is in it."""
    if schema.get("enum"):
        return schema["enum"][0]
    match _type(schema):
        case "object":
            properties = schema.get("properties") or {}
            return {name: sample(properties.get(name, {})) for name in schema.get("required") or ()}
        case "array":
            return []
        case "number" | "integer":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case _:
            return "as scripted"


def _type(schema: Json) -> str:
    kind = schema.get("type", "string")
    return str(kind[0] if isinstance(kind, list) else kind).lower()


def _side_answer(body: Json) -> str:
    """A text, or a JSON value where the request gives a schema for it (Gemini CLI asks so which model is to answer)."""
    schema = (body.get("generationConfig") or {}).get("responseJsonSchema")
    return json.dumps(sample({"type": "object", **schema})) if schema else "A side answer."
