"""Small runs of tau-bench and talks in LoCoMo's format, for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from foveate.lab.chat import call

SYSTEM = "You book trains. Classes are economy and business."


def run(task: int, *, trial: int = 0, actions: object = None, takes: bool = True) -> dict[str, Any]:
    """A customer who wants a train booked; the agent looks it up, is told to go on, and books or gives up."""
    train = f"ICE{700 + task}"
    gold = {"train": train, "class": "economy", "card": f"card_{task}55", "seats": 2}
    booked: dict[str, Any] = {"role": "assistant", "content": "I am sorry, I cannot."}
    if takes:
        booked = {"role": "assistant", "content": None, "tool_calls": [call("c2", "book", json.dumps(gold))]}
    found = f'[{{"train": "{train}", "at": "9:05"}}]'
    return {
        "task_id": task,
        "trial": trial,
        "reward": 1.0,
        "info": {"task": {"actions": [{"name": "book", "kwargs": gold}] if actions is None else actions}},
        "traj": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": f"I am customer {task}. A train to Bonn, please."},
            {"role": "assistant", "content": None, "tool_calls": [call("c1", "search", '{"to": "Bonn"}')]},
            {"role": "tool", "tool_call_id": "c1", "name": "search", "content": found},
            {"role": "assistant", "content": f"There is {train} at 9:05. Which card?"},
            {"role": "user", "content": f"Please take card_{task}55 for it."},
            booked,
            {"role": "user", "content": "Goodbye."},
            {"role": "assistant", "content": "Have a good trip."},
            {"role": "user", "content": "###STOP###"},
        ],
    }


def written(folder: Path, *runs: object, name: str = "trains.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(list(runs)))
    return path


def turn(id: str, speaker: str = "Ada", text: str = "I keep bees.", **more: object) -> dict[str, Any]:
    return {"speaker": speaker, "dia_id": id, "text": text, **more}


def sample(*turns: dict[str, Any], qa: list[Any] | None = None) -> dict[str, Any]:
    asked = [{"question": "Which animals?", "evidence": ["D1:1"], "category": 4}] if qa is None else qa
    return {
        "conversation": {"session_1": list(turns or (turn("D1:1"),)), "session_1_date_time": "noon on 3 May, 2023"},
        "qa": asked,
    }


def question(*evidence: object, category: object = 1, text: str = "What?") -> dict[str, Any]:
    return {"question": text, "evidence": list(evidence), "category": category}
