"""The screen of a run: what happens, line by line, as it happens."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from foveate.agents import Answer
from foveate.cli.phrases import count
from foveate.log.events import DiagnosticRecorded, WorkRecorded
from foveate.log.messages import ToolCall
from foveate.log.text import printable, printable_lines
from foveate.work.models import Task
from foveate.workflow.activity import subject_of
from foveate.workflow.learning import describe_work
from foveate.workflow.progress import Progress

_MARKS = {"completed": ("✓", "green"), "failed": ("✗", "red"), "in_progress": ("▶", "cyan"), "pending": ("·", "dim")}


class Screen:
    """Tells what a run does, and asks before commands are run."""

    def __init__(self, run: str, *, yes: bool) -> None:
        self._run = run
        self._yes = yes
        self._console = Console(highlight=False, soft_wrap=True)
        self._midline = False

    def begin(self, progress: Progress, doing: Mapping[str, str]) -> None:
        """The first lines; of a run that was stopped, also what its agents were `doing` then."""
        begun = progress.begun
        if begun is not None:
            self._say(f"{self._run}: {begun.issue.title} · {begun.model_alias or begun.model} · {begun.repo}", "bold")
        if progress.plan is not None:
            self._plan(progress)
        for task, what in doing.items():
            self._say(f"  {task} was left in {what}" if what.startswith("round") else f"  {task}: {what}", "cyan")

    def end(self, progress: Progress) -> None:
        """The last lines."""
        self._plan(progress)
        if progress.spent:
            self._say(f"the calls of this run cost ${progress.spent:.4f} so far")
        if progress.is_planned_only:
            name = shlex.quote(self._run)
            self._say(
                f"planned, and nothing done yet; `foveate work plan {name}` prints the plan, `--edit` changes it, "
                f"`foveate work resume {name}` goes on",
                "bold",
            )
            return
        unverified = [task.id for task in _tasks(progress) if task.status == "completed" and progress.denied(task.id)]
        if unverified:
            self._say(f"approved though commands were denied: {', '.join(unverified)}; run them yourself", "yellow")
        style = "green" if progress.status == "completed" else "red"
        self._say(
            f"{progress.status}; `foveate work show {shlex.quote(self._run)}` has the sessions of its agents", style
        )

    def told(self, body: WorkRecorded, /) -> None:
        """A step was made."""
        match body.step:
            case "planned":
                self._say(f"planned: {count(len(body.payload.get('tasks', ())), 'task')}", "bold")
            case "started":
                self._say(f"▶ {body.task_id}, round {body.payload['round']}", "bold cyan")
            case "executed":
                summary = next((one.content for one in body.texts if one.name == "Summary"), "")
                self._say(f"  done: {_line(describe_work(summary), 300)}")
                for command in body.payload.get("denied", ()):
                    self._say(f"    denied, so nobody knows what it would show: {_line(command, 120)}", "yellow")
            case "reviewed":
                approved = body.payload["approved"]
                self._say(
                    f"  review by {body.payload.get('persona', '')}: {'approved' if approved else 'not approved'}",
                    "green" if approved else "yellow",
                )
                for comment in body.payload.get("comments", ()):
                    self._say(f"    - {_line(comment, 200)}")
            case "finished":
                denied = len(body.payload.get("denied", ()))
                mark = f", approved though {count(denied, 'command')} {'was' if denied == 1 else 'were'} denied"
                self._say(f"✓ {body.task_id}{mark if denied else ''}", "yellow" if denied else "green")
            case "retried":
                self._say(f"↻ {body.task_id} gets another chance", "cyan")
            case "failed":
                self._say(f"✗ {body.task_id}: {_line(body.payload.get('reason', ''), 200)}", "red")
            case _:
                return

    def called(self, agent: str, call: ToolCall, /) -> None:
        """An agent calls a tool."""
        if call.name != "run_command":
            self._say(f"  {agent} → {call.name} {_line(subject_of(call), 120)}", "dim")
            return
        # Of a command every line is shown as it is: somebody may have to answer for it.
        self._say(f"  {agent} → {call.name}")
        for line in subject_of(call).split("\n"):
            self._say(f"    │ {line}")

    def answered(self, agent: str, call: ToolCall, answer: Answer, /) -> None:
        """A tool answered; what went well needs no line."""
        if answer.outcome != "ok":
            self._say(f"    {answer.outcome}: {_line(answer.text, 160)}", "yellow")

    def noted(self, agent: str, diagnostic: DiagnosticRecorded, /) -> None:
        """A request had to be sent again, shorter or later; what else is noted stands in the agent's session."""
        if diagnostic.phase == "send":
            self._say(f"  {agent} ! call {diagnostic.subject}: {_line(diagnostic.text, 300)}", "yellow")

    def wrote(self, text: str, /) -> None:
        """A model wrote a piece of text."""
        if self._console.is_terminal:
            # Somebody may have to allow what is shown below it.
            self._console.print(Text(printable_lines(text), style="dim italic"), end="")
            self._midline = not text.endswith("\n")

    async def allows(self, command: str, /) -> bool:
        """Whether a command may be run: with `--yes` every one, else those that somebody at the terminal allows."""
        if self._yes:
            return True
        if not sys.stdin.isatty():
            self._say("    not run: nobody is here to ask; give `--yes` to allow commands", "yellow")
            return False
        # The loop would keep an interrupt for later, and nobody could leave this question.
        waiting = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            # Nothing else goes on while somebody decides.
            return input("    run it? [Y/n] ").strip().lower() in ("", "y", "yes")  # noqa: ASYNC250
        except EOFError:
            return False
        finally:
            signal.signal(signal.SIGINT, waiting)

    def _plan(self, progress: Progress) -> None:
        for task in _tasks(progress):
            mark, style = _MARKS[task.status]
            needs = f" (after {', '.join(task.dependencies)})" if task.dependencies else ""
            denied = " (commands were denied)" if task.status == "completed" and progress.denied(task.id) else ""
            self._say(f"{mark} {task.id}: {_line(task.description, 90)}{needs}{denied}", style)

    def _say(self, line: str, style: str = "") -> None:
        if self._midline:
            self._console.print()
            self._midline = False
        self._console.print(Text(printable(line), style=style))


def _tasks(progress: Progress) -> Sequence[Task]:
    return progress.plan.tasks if progress.plan is not None else ()


def _line(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
