"""A model that chats by a script, and everything that can go wrong in an endless chat with it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

from tests.scripted_model import Payload, ScriptError, call, text

from foveate.log.events import DiagnosticRecorded
from foveate.store import Store

SUMMARY = "## Topic\nCats.\n## Constraints and preferences\nno onions\n## Decisions\nnone"
SUMMARISED = """\
---
passthrough_runs: 0
token_threshold: 0
---
Topic: {{ topic }}

{{ ledger }}
"""
"""A template that has a model write a summary for every input but the first."""


def reply(payload: Payload) -> dict[str, Any]:
    """Say what was said, read what is asked for, write the summary that is asked for, or fail if told so."""
    last = payload["messages"][-1]
    said = said_in(payload)
    if last["role"] == "tool":
        return text(f"It says: {said.strip()}")
    if asks_for_summary(payload):
        return text(SUMMARY)
    if "fail" in said:
        raise ScriptError("the script fails")
    if "note" in said:
        return call("read_file", path="note.md", number=len(payload["messages"]))
    return text(f"You said: {said[:60]}")


def said_in(payload: Payload) -> str:
    content = payload["messages"][-1]["content"]
    return content if isinstance(content, str) else str(content[0]["text"])


def asks_for_summary(payload: Payload) -> bool:
    return "=== BEGIN" in said_in(payload)


@dataclass
class Scene:
    """Where a chat is that something goes wrong in."""

    vault: Path
    store: Path
    fault: str = ""
    # Set at the end, for a server must not wait for what nobody waits for any more.
    over: Event = field(default_factory=Event)

    @property
    def template(self) -> Path:
        return self.vault / "AssistantMD" / "ContextTemplates" / "mine.md"

    def write_template(self, words: str) -> None:
        self.template.parent.mkdir(parents=True, exist_ok=True)
        self.template.write_text(words, encoding="utf-8")

    def reply(self, payload: Payload) -> dict[str, Any]:
        if asks_for_summary(payload) and self.fault == "error":
            raise ScriptError("the writer is on strike")
        if asks_for_summary(payload) and self.fault == "slow":
            self.over.wait(30)
        if self.fault == "full":
            # Somebody makes room while the model thinks.
            self.fault = ""
            with closing(sqlite3.connect(self.store)) as connection, connection:
                connection.execute("DROP TRIGGER full")
        return reply(payload)

    def diagnostics(self, session_id: str) -> list[DiagnosticRecorded]:
        """What the store has of it."""
        # Once there is room again, the next that opens the store writes what was held.
        with closing(sqlite3.connect(self.store)) as connection, connection:
            connection.execute("DROP TRIGGER IF EXISTS full")
        with Store(self.store) as store:
            info = store.session(session_id)
            bodies = [event.body for event in store.reader(info).events(0, info.events)]
        return [body for body in bodies if isinstance(body, DiagnosticRecorded)]


class Failure(NamedTuple):
    """Something that goes wrong between two inputs, and what must be said of it."""

    name: str
    cause: Callable[[Scene], None]
    code: str
    phase: str
    # What is to blame; a store that is full is nobody's fault.
    subject: str | None
    said: str
    template: str = SUMMARISED
    environment: Mapping[str, str] = {}


def _faulty(fault: str) -> Callable[[Scene], None]:
    def cause(scene: Scene) -> None:
        scene.fault = fault

    return cause


def _full(scene: Scene) -> None:
    with sqlite3.connect(scene.store) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON events WHEN NEW.kind = 'call_recorded' "
            "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        )


def _full_for_a_while(scene: Scene) -> None:
    """Nothing at all can be written, what is said included, until the model was asked."""
    scene.fault = "full"
    with closing(sqlite3.connect(scene.store)) as connection, connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        )


FAILURES = (
    Failure(
        "missing template", lambda scene: scene.template.unlink(), "template_failed", "template_load", "mine", "mine"
    ),
    Failure(
        "broken template",
        lambda scene: scene.write_template(SUMMARISED.replace("topic }}", "topic")),
        "template_failed",
        "render",
        "vault:mine",
        "expected token",
    ),
    Failure("model error", _faulty("error"), "summary_failed", "summarise", "vault:mine", "the writer is on strike"),
    Failure(
        "timeout",
        _faulty("slow"),
        "summary_failed",
        "summarise",
        "vault:mine",
        "wrote no summary within 4 s",
        environment={"FOVEATE_CONTEXT_COMPILER_TIMEOUT": "4"},
    ),
    Failure(
        "bad contract",
        lambda scene: scene.write_template(f"{SUMMARISED}\n```yaml\nmood: text\n```\n"),
        "contract_violated",
        "contract",
        "vault:mine",
        "`mood` is not mentioned",
    ),
    Failure("store write of what is said", _full_for_a_while, "store_failed", "record", None, "the disk is full"),
    Failure("store write", _full, "store_failed", "record", None, "the disk is full"),
)
