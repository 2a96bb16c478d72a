"""Recorded sessions of several agents, read as OpenAI chat messages."""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from bench.messages import Call, Message, call

Record = dict[str, Any]
Split = Literal["tune", "report"]

MINIMUM_MESSAGES = 4

# Text the recording program wrote in the user's name; taken for a request, it would
# make `/clear` the task of a session.
_PROGRAM_TEXT = (
    "<command-name>",
    "<local-command-",
    "Caveat: The messages below were generated",
)
_ENVIRONMENT = "<environment_context>"
_BASH_BLOCK = re.compile(r"```bash\s*\n(.*?)\n?```", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSession:
    """One agent run: the messages that reached or left the model, system prompt apart."""

    name: str
    source: str
    system: str
    messages: tuple[Message, ...]
    timestamps: tuple[float | None, ...]

    @property
    def split(self) -> Split:
        """Trials of one task and subagents of one session fall on the same side."""
        group = self.name.split("/")[0]
        # The byte was picked by call counts, before any result: it puts the longest session
        # into `report` and otherwise halves most sources.
        return "report" if sha256(group.encode()).digest()[7] % 2 else "tune"


def data_root() -> Path | None:
    """The folder of recorded logs: `FOVEATE_DATA`, else a sibling of the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    root = Path(os.environ.get("FOVEATE_DATA", beside))
    return root if root.is_dir() else None


def long_sessions() -> Path | None:
    """The folder of long sessions beside the recorded logs, if there is one."""
    root = data_root()
    folder = root.parent / "study" / "long_sessions" if root is not None else None
    return folder if folder is not None and folder.is_dir() else None


def load_sessions(root: Path) -> list[RecordedSession]:
    found = (
        session
        for pattern, read in _READERS
        for path in sorted(root.glob(pattern))
        if path.name != "checkpoints_metadata.jsonl"
        for session in read(path)
    )
    return [session for session in found if len(session.messages) >= MINIMUM_MESSAGES]


def calls(session: RecordedSession) -> Iterator[int]:
    """Indices of the recorded responses; each answered a request made of all before it."""
    for index, message in enumerate(session.messages):
        if index and message["role"] == "assistant":
            yield index


@dataclass(slots=True)
class _Transcript:
    """Collects messages; not frozen, because one response may arrive in several records."""

    messages: list[Message] = field(default_factory=list)
    times: list[float | None] = field(default_factory=list)
    responses: dict[str, Message] = field(default_factory=dict)

    def say(self, text: str, at: float | None) -> None:
        if text and not text.startswith(_PROGRAM_TEXT):
            self._add({"role": "user", "content": text}, at)

    def observe(self, call_id: object, text: str, at: float | None) -> None:
        self._add({"role": "tool", "tool_call_id": str(call_id), "content": text}, at)

    def respond(self, response: str | None, text: str, called: list[Call], at: float | None) -> None:
        """Append a response, or complete the one that has the same id."""
        if not text and not called:
            return
        known = self.responses.get(response) if response else None
        if known is None:
            known = {"role": "assistant", "content": ""}
            self._add(known, at)
            if response:
                self.responses[response] = known
        known["content"] = "\n".join(filter(None, (known["content"], text)))
        if called:
            known["tool_calls"] = [*known.get("tool_calls", []), *called]

    def session(self, *, name: str, source: str, system: str) -> RecordedSession:
        return RecordedSession(
            name=name,
            source=source,
            system=system,
            messages=tuple(self.messages),
            timestamps=tuple(self.times),
        )

    def _add(self, message: Message, at: float | None) -> None:
        self.messages.append(message)
        self.times.append(at)


def _read_tau_bench(path: Path) -> Iterator[RecordedSession]:
    for run in _json(path, list):
        transcript = _Transcript()
        system = ""
        for item in run["traj"]:
            match item["role"]:
                case "system":
                    system = _text(item["content"])
                case "user":
                    transcript.say(_text(item["content"]), None)
                case "tool":
                    transcript.observe(item["tool_call_id"], _text(item["content"]), None)
                case "assistant":
                    called = [
                        call(c["id"], c["function"]["name"], c["function"]["arguments"])
                        for c in item.get("tool_calls") or []
                    ]
                    transcript.respond(None, _text(item["content"]), called, None)
        name = f"{path.stem}-{run['task_id']}/{run['trial']}"
        yield transcript.session(name=name, source="openai_chat", system=system)


def _read_claude_code(path: Path) -> Iterator[RecordedSession]:
    is_subagent = path.parent.name == "subagents"
    transcript = _Transcript()
    for record in _records(path):
        body = record.get("message")
        skipped = record.get("isSidechain", False) and not is_subagent
        # A compaction summary is the recorded agent's own context policy, not history.
        if not isinstance(body, dict) or skipped or record.get("isCompactSummary"):
            continue
        at = _time(record.get("timestamp"))
        blocks = _blocks(body.get("content"))
        if record.get("type") == "assistant":
            called = [
                call(str(b.get("id")), str(b.get("name")), _dumps(b.get("input")))
                for b in blocks
                if b.get("type") == "tool_use"
            ]
            transcript.respond(body.get("id"), _text(blocks), called, at)
        elif record.get("type") == "user":
            for block in blocks:
                if block.get("type") == "tool_result":
                    transcript.observe(block.get("tool_use_id"), _text(block.get("content")), at)
            transcript.say(_text(blocks), at)
    name = f"{path.parents[1].name}/{path.stem}" if is_subagent else path.stem
    source = "claude_code" if path.parent.name == "claude_code" else "claude_code_subagents"
    yield transcript.session(name=name, source=source, system="")


def _read_codex(path: Path) -> Iterator[RecordedSession]:
    transcript = _Transcript()
    system = ""
    for record in _records(path):
        item = record.get("payload", record)
        if "payload" in record and record.get("type") != "response_item":
            continue
        at = _time(record.get("timestamp"))
        # Items belong to one response as long as no output or user message intervenes.
        response = str(sum(m["role"] != "assistant" for m in transcript.messages))
        match item.get("type"):
            case "message" if item.get("role") == "assistant":
                transcript.respond(response, _text(item.get("content")), [], at)
            case "message" if item.get("role") == "user":
                text = _text(item.get("content"))
                if text.startswith(_ENVIRONMENT) and not system:
                    system = text
                else:
                    transcript.say(text, at)
            case "function_call" | "custom_tool_call" | "local_shell_call":
                transcript.respond(response, "", [_codex_call(item)], at)
            case "function_call_output" | "custom_tool_call_output":
                transcript.observe(item.get("call_id"), _codex_output(item.get("output")), at)
    yield transcript.session(name=path.stem, source="codex", system=system)


def _codex_call(item: Record) -> Call:
    match item["type"]:
        case "function_call":
            arguments = str(item.get("arguments", ""))
        case "custom_tool_call":
            arguments = _dumps({"input": item.get("input", "")})
        case _:
            arguments = _dumps(item.get("action", {}))
    return call(str(item.get("call_id")), str(item.get("name", "local_shell")), arguments)


def _codex_output(output: object) -> str:
    if isinstance(output, str) and output.startswith('{"output"'):
        try:
            wrapped = json.loads(output)
        except ValueError:
            return _text(output)
        exit_code = wrapped.get("metadata", {}).get("exit_code")
        return _text(f"Process exited with code {exit_code}\nOutput:\n{wrapped['output']}")
    return _text(output)


def _read_mini_swe_agent(path: Path) -> Iterator[RecordedSession]:
    transcript = _Transcript()
    system, pending = "", ""
    for number, item in enumerate(_json(path, dict).get("messages", [])):
        text = _text(item.get("content"))
        if item["role"] == "system":
            system = text
        elif item["role"] == "assistant":
            at = item.get("extra", {}).get("response", {}).get("created")
            commands = _BASH_BLOCK.findall(text)
            pending = f"call-{number}" if len(commands) == 1 else ""
            called = [call(pending, "bash", _dumps({"command": commands[0]}))] if pending else []
            prose = _BASH_BLOCK.sub("", text).strip() if pending else text
            transcript.respond(None, prose, called, float(at) if at else None)
        elif pending:
            transcript.observe(pending, text, None)
            pending = ""
        else:
            transcript.say(text, None)
    name = path.name.removesuffix(".traj.json")
    yield transcript.session(name=name, source="mini_swe_agent", system=system)


_READERS: tuple[tuple[str, Callable[[Path], Iterator[RecordedSession]]], ...] = (
    ("openai_chat/*.json", _read_tau_bench),
    ("claude_code/*.jsonl", _read_claude_code),
    ("claude_code_subagents/**/*.jsonl", _read_claude_code),
    ("codex/*.jsonl", _read_codex),
    ("mini_swe_agent/*.traj.json", _read_mini_swe_agent),
)
SOURCES = tuple(pattern.split("/")[0] for pattern, _ in _READERS)


def _records(path: Path) -> Iterator[Record]:
    """The objects of a JSONL file; several on a line are split, a broken rest is skipped."""
    decoder = json.JSONDecoder()
    for line in path.read_text("utf-8", errors="replace").split("\n"):
        rest = line.strip()
        while rest:
            try:
                record, end = decoder.raw_decode(rest)
            except ValueError:
                break
            if isinstance(record, dict):
                yield record
            rest = rest[end:].lstrip()


def _json(path: Path, kind: type[Any]) -> Any:
    try:
        decoded = json.loads(path.read_text("utf-8", errors="replace"))
    except ValueError:
        decoded = None
    return decoded if isinstance(decoded, kind) else kind()


def _blocks(content: object) -> list[Record]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _text(content: object) -> str:
    """The readable text of a content string or of a list of blocks."""
    parts = (
        "[image]" if "image" in str(block.get("type")) else str(block.get("text") or "")
        for block in _blocks(content)
        if block.get("type") not in ("thinking", "tool_use", "tool_result")
    )
    # Logs hold halves of surrogate pairs, which no tokenizer accepts.
    return "\n".join(filter(None, parts)).encode("utf-8", "replace").decode()


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()


def _time(stamp: object) -> float | None:
    if not isinstance(stamp, str):
        return None
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return None
