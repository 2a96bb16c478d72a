"""Writes a session down: what is said, what is called, what comes back."""

from __future__ import annotations

import json
import random
import string
from typing import TypeAlias

from foveate.sample.calls import Call
from foveate.sample.workspace import Workspace

Message: TypeAlias = dict[str, object]

_ID_ALPHABET = string.ascii_letters + string.digits
_ID_LENGTH = 24


class Recorder:
    """Runs a script's calls against the workspace and keeps the messages of both sides."""

    def __init__(self, workspace: Workspace, rng: random.Random) -> None:
        self.workspace = workspace
        self.rng = rng
        self.messages: list[Message] = []
        self._ids: set[str] = set()

    def system(self, text: str) -> None:
        self.messages.append({"role": "system", "content": text})

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def answer(self, text: str) -> None:
        """The assistant's last word on a request."""
        self.messages.append({"role": "assistant", "content": text})

    def step(self, text: str, *calls: Call) -> None:
        """One assistant message, its calls (several are a parallel batch) and their results."""
        ids = [self._new_id() for _ in calls]
        self.messages.append(
            {
                "role": "assistant",
                "content": text or None,
                "tool_calls": [_tool_call(call, call_id) for call, call_id in zip(calls, ids, strict=True)],
            }
        )
        for call, call_id in zip(calls, ids, strict=True):
            result = call.run(self.workspace)
            self.messages.append({"role": "tool", "tool_call_id": call_id, "content": result})

    def _new_id(self) -> str:
        while True:
            new = "call_" + "".join(self.rng.choices(_ID_ALPHABET, k=_ID_LENGTH))
            if new not in self._ids:
                self._ids.add(new)
                return new


def _tool_call(call: Call, call_id: str) -> Message:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }
