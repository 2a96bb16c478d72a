"""Logs for tests of the reading test: made-up sessions, each with edits far behind what they replace."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from bench.agent import Agent
from bench.messages import Message

RULE = "the tariff of Oslo is seven"


def write_logs(folder: Path, sessions: int = 3, exchanges: int = 24) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(sessions):
        (folder / f"{number}.json").write_text(json.dumps(session(number, exchanges)))
    return folder


def session(number: int, exchanges: int) -> list[Message]:
    agent = Agent(Random(f"reading {number}"))
    messages: list[Message] = [{"role": "user", "content": f"{agent.request()} Mind: {RULE}."}]
    for place in range(exchanges):
        if place == exchanges // 2:
            messages.append({"role": "user", "content": f"Go on, number {number}. {agent.request()}"})
        messages += agent.exchange()
    return [*messages, {"role": "assistant", "content": agent.answer()}]
