"""What a developer sees of a plan of 30 tasks, beside everything that was said up to then.

A scripted developer reads a module, writes one, runs it and finishes, task after task, through the whole workflow; the
largest request of each task stands beside the requests that one shared conversation would have made.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from bench.messages import Message
from foveate.agents import Answer, Reply, Schema
from foveate.agents.driver import OnText
from foveate.log.events import DiagnosticRecorded, WorkRecorded
from foveate.log.messages import ToolCall
from foveate.session import Session
from foveate.store import Store
from foveate.wire.format import Request
from foveate.work import FileOperation, Issue, Task, TaskDAG, TaskStep
from foveate.workflow.progress import Begun
from foveate.workflow.running import Workflow
from foveate.workflow.setting import setting_in

TASKS: Final = 30


class Scripted:
    """A model that does each task in four calls, and approves everything."""

    name = "scripted"

    async def generate(self, messages: Request, schema: Schema | None, *, on_text: OnText | None = None) -> Reply:
        done = sum(message.role == "tool" for message in messages.messages)
        if "reviewer" in (messages.system or ""):
            return _call("finish", approved=True)
        name = messages.messages[0].text.split("module_")[1].split(".py")[0]
        content = f"def part_{name}():\n    return {name!r}\n" * 20
        steps = (
            ("read_file", {"path": "base.py"}),
            ("write_file", {"path": f"module_{name}.py", "content": content}),
            ("run_command", {"command": f"python3 module_{name}.py"}),
        )
        return (
            _call(steps[done][0], **steps[done][1]) if done < len(steps) else _call("finish", summary=f"wrote {name}")
        )


class Silent:
    """Watches without a word, and allows everything."""

    def told(self, body: WorkRecorded, /) -> None:
        return

    def called(self, agent: str, call: ToolCall, /) -> None:
        return

    def answered(self, agent: str, call: ToolCall, answer: Answer, /) -> None:
        return

    def noted(self, agent: str, diagnostic: DiagnosticRecorded, /) -> None:
        return

    def wrote(self, text: str, /) -> None:
        return

    async def allows(self, command: str, /) -> bool:
        return True


def plan(tasks: int) -> TaskDAG:
    """Modules that are all alike."""
    return TaskDAG(
        tasks=tuple(
            Task(
                id=f"T{number:02}",
                description=f"Write module_{number:02}.py in the manner of base.py.",
                dependencies=(f"T{number - 1:02}",) if number > 1 else (),
                files=(FileOperation(operation="create", path=f"module_{number:02}.py"),),
                steps=(TaskStep(description="write it", command=f"python3 module_{number:02}.py"),),
                acceptance_criteria=(f"module_{number:02}.py runs",),
            )
            for number in range(1, tasks + 1)
        )
    )


def sizes(folder: Path, tasks: int = TASKS) -> list[tuple[str, int, int]]:
    """For each task the tokens of the largest request of its developer, and of all that was said up to then."""
    repo = folder / "repo"
    repo.mkdir()
    (repo / "base.py").write_text("".join(f"def base_{number}():\n    return {number}\n\n\n" for number in range(150)))
    everything: Session | None = None
    rows: list[tuple[str, int, int]] = []
    with Store(folder / "store.db") as store, Session.open(store, "plan") as session:
        begun = Begun(issue=Issue(title="Thirty modules"), repo=str(repo), personas=("General",))
        # What a project knows is shown within limits of its own: see `bench.knowledge`.
        setting = replace(setting_in(store, "plan", begun, Scripted(), Silent()), learning=None)
        workflow = Workflow(session, setting)
        workflow.begin(begun, plan(tasks))
        asyncio.run(workflow.run())
        for task in plan(tasks).tasks:
            for name in (f"plan/{task.id}/developer/1", f"plan/{task.id}/reviewer-General/1"):
                with Session.open(store, name, budget=10_000_000) as part:
                    calls = [part.call(number) for number in range(1, store.session(name).calls + 1)]
                    # The shared conversation has the same instructions and tools, and everybody's task and diff.
                    everything = everything or Session(system=part.context.system, tools=part.context.tools)
                    everything.extend([*_sections(calls[0].to("openai")), *_relabelled(part)])
                if "developer" in name:
                    rows.append((task.id, max(view.tokens for view in calls), 0))
            rows[-1] = (*rows[-1][:2], everything.preview().tokens if everything is not None else 0)
    return rows


def _sections(request: list[Message]) -> list[Message]:
    return [message for message in request if message["role"] == "user"][:1]


def _relabelled(part: Session) -> list[Message]:
    """What was said in a session, with calls that no other session has."""
    said = json.dumps(part.preview().to("openai"))
    messages: list[Message] = json.loads(said.replace('"call_', f'"{part.id}_'))
    return [message for message in messages if message["role"] in ("assistant", "tool")]


def _call(name: str, **arguments: Any) -> Reply:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{name}", "type": "function", "function": function}
    return Reply(message={"role": "assistant", "content": None, "tool_calls": [call]})


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print("task  developer's largest request  everything said so far")
        for task_id, seen, whole in sizes(Path(place)):
            print(f"{task_id}   {seen:>27,}  {whole:>22,}")
