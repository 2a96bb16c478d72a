"""Activity: what the agents of a run were doing when it was last heard of, read from their sessions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from foveate.agents.toolset import open_calls
from foveate.log.events import CallRecorded, MessageAppended
from foveate.log.messages import Message, ToolCall
from foveate.store import Store
from foveate.workflow.progress import Attempt, Progress

PLANNING: Final = "plan"
"""The key of what the architect is doing, which belongs to no task."""
_LONGEST: Final = 80
_DENIED: Final = "Not permitted by policy:"
_COMMAND: Final = "run_command"


def describe_activity(store: Store, run: str, progress: Progress) -> dict[str, str]:
    """For each task that was begun and is not over, one sentence on how far it is; under `plan`, the architect's."""
    if progress.begun is None or progress.status != "running":
        return {}
    if progress.plan is None:
        return {PLANNING: f"the architect {_describe_agent(store, f'{run}/architect')}"}
    found: dict[str, str] = {}
    for task in progress.plan.tasks:
        if task.status == "in_progress":
            attempt = progress.attempt_at(task.id)
            found[task.id] = _describe_attempt(store, run, progress, attempt) if attempt else "about to begin"
    return found


def denied_commands(messages: Sequence[Message], *, before: Iterable[str] = ()) -> tuple[str, ...]:
    """The commands that the user denied in a session or `before` it and that did not run since, each once, in order."""
    asked = {call.id: subject_of(call) for message in messages for call in message.calls if call.name == _COMMAND}
    denied = dict.fromkeys(before)
    for message in messages:
        result = message.result
        if result is None or (command := asked.get(result.call_id)) is None:
            continue
        # By how it begins: what a command printed may say anything, but stands behind its exit code.
        if result.text.startswith(_DENIED):
            denied[command] = None
        else:
            denied.pop(command, None)
    return tuple(denied)


def subject_of(call: ToolCall) -> str:
    """What a call is about: its first text argument."""
    try:
        given = msgspec.json.decode(call.arguments or "{}")
    except msgspec.DecodeError:
        given = call.arguments
    if isinstance(given, dict):
        given = next((value for value in given.values() if isinstance(value, str)), "")
    return str(given)


def _describe_attempt(store: Store, run: str, progress: Progress, attempt: Attempt) -> str:
    base = f"{run}/{attempt.task_id}"
    if attempt.diff is None:
        doing = _describe_agent(store, f"{base}/developer/{attempt.round}")
        return f"round {attempt.round}: the developer {doing}"
    if attempt.review is not None:
        return f"round {attempt.round}: reviewed, and about to be settled"
    personas = progress.begun.personas if progress.begun is not None else ()
    reviews = (
        f"the reviewer ({persona}) {_describe_agent(store, f'{base}/reviewer-{persona}/{attempt.round}')}"
        for persona in personas
    )
    return f"round {attempt.round}: {'; '.join(reviews)}"


def _describe_agent(store: Store, name: str) -> str:
    """What the agent of a session was doing; one that came to no result was asked anew in another session."""
    info, number = store.find(name), 2
    if info is None:
        return "was about to be asked"
    while (newer := store.find(f"{name}+{number}")) is not None:
        info, number = newer, number + 1
    messages: list[Message] = []
    calls = 0
    for event in store.reader(info).events():
        match event.body:
            case MessageAppended(message=message):
                messages.append(message)
            case CallRecorded(number=calls):
                pass
            case _:
                continue
    if open_calls(messages):
        return f"was doing {_describe_call(open_calls(messages)[0])} (request {calls})"
    if calls == 0:
        return "was about to be asked"
    last = next((call for message in reversed(messages) for call in reversed(message.calls)), None)
    after = f", after {_describe_call(last)}" if last is not None else ""
    answered = sum(message.role == "assistant" for message in messages)
    waiting = f"waited for the answer to request {calls}" if answered < calls else f"had the answer to request {calls}"
    return f"{waiting}{after}"


def _describe_call(call: ToolCall) -> str:
    about = " ".join(subject_of(call).split())
    about = about if len(about) <= _LONGEST else about[: _LONGEST - 1] + "…"
    return f"`{call.name} {about}`" if about else f"`{call.name}`"
