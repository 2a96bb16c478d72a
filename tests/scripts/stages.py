"""A vault with a workflow in it, a model on loopback that answers it, and a clock that tests turn."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from foveate.chat.finding import TemplateFolders
from foveate.chat.opening import Answering, ChatPlace
from foveate.chat.settings import ChatSettings
from foveate.integrations.pydantic_ai import PydanticAIDriver
from foveate.log.messages import ToolCall
from foveate.scripts.previewing import Preview, previewed
from foveate.scripts.reading import read_script
from foveate.scripts.running import Done, Run
from foveate.scripts.script import Step
from foveate.scripts.stage import Stage
from foveate.store import Store
from tests.scripted_model import Payload, ScriptedModel, scripted_model, text

NOON = 1_772_625_600.0  # 2026-03-04, a Wednesday, 12:00 UTC


@dataclass
class Watched:
    """What a run told."""

    began_steps: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def began(self, step: Step, /) -> None:
        self.began_steps.append(step.name)

    def noted(self, step: Step, note: str, /) -> None:
        self.notes.append(note)

    def called(self, call: ToolCall, /) -> None:
        self.notes.append(f"calls {call.name}")

    def ended(self, done: Done, /) -> None:
        """Nothing to remember: `run` returns it."""


@dataclass
class Setting:
    """A vault, a store, a model and a clock."""

    vault: Path
    store: Store
    model: ScriptedModel
    settings: ChatSettings = field(default_factory=ChatSettings)
    now: float = NOON
    watched: Watched = field(default_factory=Watched)
    aliases: dict[str, str] = field(default_factory=dict)

    @cached_property
    def answering(self) -> Answering:
        return Answering(driver=PydanticAIDriver("openai-chat:scripted"))

    def write(self, name: str, content: str) -> Path:
        path = self.vault / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    def read(self, name: str) -> str:
        return (self.vault / name).read_text(encoding="utf-8")

    def stage(self, script: str, name: str = "daily.md") -> Stage:
        path = self.write(name, script)
        folders = TemplateFolders(self.vault, self.vault.parent / "system")
        place = ChatPlace(store=self.store, folders=folders, settings=self.settings, clock=lambda: self.now)
        answering = self.answering
        return Stage(
            script=read_script(path, root=self.vault),
            place=place,
            root=self.vault,
            answering=lambda _alias: answering,
            called=lambda alias: self.aliases.get(alias or "", alias or "openai-chat:scripted"),
        )

    async def run(self, script: str, only: str | None = None) -> list[Done]:
        return await Run(self.stage(script), self.watched).run(only)

    async def previews(self, script: str, only: str | None = None) -> list[Preview]:
        return [one async for one in previewed(self.stage(script), only)]


@contextmanager
def setting(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    empty: Path,
    reply: Callable[[Payload], dict[str, Any]] | None = None,
) -> Iterator[Setting]:
    shutil.copy(empty, folder / "context.db")
    (folder / "vault").mkdir()
    numbers = iter(range(1, 1_000))
    with scripted_model(reply or (lambda _: text(f"answer {next(numbers)}"))) as model:
        for name, value in model.environment.items():
            monkeypatch.setenv(name, value)
        with Store(folder / "context.db") as store:
            yield Setting(folder / "vault", store, model)


def said(payload: Payload) -> list[tuple[str, str]]:
    """The messages of a request, each with its role and text."""
    found = []
    for message in payload["messages"]:
        content = message.get("content") or ""
        if not isinstance(content, str):
            content = "".join(part.get("text", "") for part in content)
        found.append((message["role"], content))
    return found


def whole(payload: Payload) -> str:
    return json.dumps(payload, ensure_ascii=False)
