"""The screen of a chat: what is said, what the tools do, what went wrong, and commands that begin with a slash."""

from __future__ import annotations

import asyncio
import select
import shlex
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.text import Text

from foveate.agents.driver import DriverError
from foveate.agents.loop import Listening
from foveate.agents.toolset import Answer, open_calls
from foveate.chat.conversation import Conversation
from foveate.chat.opening import Answering, ChatPlace
from foveate.cli.output import print_table
from foveate.cli.phrases import count, shown, with_options
from foveate.compile.compiled import CompiledContext
from foveate.errors import BudgetError, FoveateError, UnknownReferenceError
from foveate.log.events import DiagnosticRecorded
from foveate.log.messages import ToolCall
from foveate.log.text import printable, printable_lines
from foveate.recall.readable import readable

_LONGEST = 160
_ROWS = 30
# Seconds in which the next line of a paste is there; nobody types that fast.
_PASTING = 0.02
_HELP = """\
/context            what the model sees now, by what became of it
/why ID             what became of a message, in one sentence; of a summary, all of it
/pin ID, /unpin ID  keep a message in every request, or let it go
/recall ID|WORDS    a message as it was said, or the messages about something
/endless on|off     compile requests from a template, or send the history
/template [NAME]    the templates there are, or go on with one of them
/transcript         the whole conversation, and where its file is
/retry              ask again, if an answer failed
/quit               leave; the chat goes on where it was the next time

A line with a space before its slash is said, not done."""


class ChatScreen:
    """Reads what somebody types, and shows what comes of it."""

    def __init__(
        self,
        place: ChatPlace,
        chat: Conversation,
        answering: Answering,
        *,
        problems: Iterable[DiagnosticRecorded] = (),
    ) -> None:
        self._place = place
        self._chat = chat
        self._answering = answering
        # What went wrong when the chat was opened.
        self._problems = tuple(problems)
        self._is_answered = True
        self._console = Console(highlight=False, soft_wrap=True)
        self._midline = False
        # Whether the terminal says where a pasted text ends.
        self._pastes = False
        self._commands: dict[str, Callable[[str], None]] = {
            "/context": self._context,
            "/why": self._why,
            "/pin": self._pin,
            "/unpin": self._unpin,
            "/recall": self._recall,
            "/endless": self._endless,
            "/template": self._template,
            "/transcript": self._transcript,
            "/retry": self._retry,
            "/help": lambda _: self._console.print(_HELP, markup=False),
        }

    def run(self) -> bool:
        """Until somebody leaves; whether what was said last was answered."""
        if sys.stdin.isatty():
            self._pastes = _edit_lines()
        session = self._chat.session
        said = count(len(session.messages), "message")
        how = f"endless, {self._chat.endless.name}" if self._chat.endless is not None else "plain history"
        self._say(f"chat {session.id} · {said} · {how} · /help", "dim")
        for problem in self._problems:
            self._noted(problem)
        self._reopened()
        while (line := self._read()) is not None:
            text = line.strip()
            if text in ("/quit", "/exit"):
                break
            if not text:
                continue
            try:
                # Several lines were pasted, and are said whatever they begin with.
                self._do(text, is_command=line.startswith("/") and "\n" not in text)
            except FoveateError as error:
                self._say(f"✗ {with_options(str(error))}", "red")
        if not session.close():
            self._say(f"! record: the store still cannot be written; what it lacks is {session.held_in}", "red")
            self._say("it is written when the store is opened the next time", "dim")
        return self._is_answered

    def _reopened(self) -> None:
        """Say what somebody who comes back cannot know."""
        path = self._transcript_path()
        if path is not None and path != self._place.transcript_of(self._chat.session.id):
            self._say(f"the transcript goes on in {shlex.quote(str(path))}", "dim")
        if self._is_owed():
            self._say("what was said last has no answer yet; /retry asks for it", "yellow")

    def _is_owed(self) -> bool:
        """Whether an answer is missing."""
        messages = self._chat.session.messages
        return bool(messages) and (messages[-1].role != "assistant" or bool(open_calls(messages)))

    def _transcript_path(self) -> Path | None:
        # Not on top: it takes a while to import.
        from foveate.session.transcript import newest

        given = self._place.transcript_of(self._chat.session.id)
        return newest(given, self._chat.session.id) if given is not None else None

    def _do(self, text: str, *, is_command: bool) -> None:
        if not is_command:
            self._hear(text)
            return
        name, _, rest = text.partition(" ")
        command = self._commands.get(name)
        if command is None:
            self._say(f"✗ there is no {shown(name)}; /help lists what there is, a space before it says it", "red")
            return
        command(rest.strip())

    def _read(self) -> str | None:
        self._break()
        is_typed = sys.stdin.isatty()
        try:
            text = input("› " if is_typed else "")
            if is_typed and not self._pastes:
                text += _pasted()
        except (EOFError, KeyboardInterrupt) as error:
            # What comes after the chat has a line of its own; who knows where a paste ends has ended the line as well.
            if is_typed and not (self._pastes and isinstance(error, EOFError)):
                self._console.print()
            return None
        return text

    def _hear(self, text: str | None) -> None:
        listening = Listening(
            on_text=self._wrote, on_call=self._called, on_answer=self._answered, on_diagnostic=self._noted
        )
        streamed = self._console.is_terminal
        self._is_answered = False
        try:
            asked = self._chat.say(text, listening) if text is not None else self._chat.go_on(listening)
            turn = asyncio.run(asked)
        except KeyboardInterrupt:
            self._say("stopped; what was said is kept, /retry asks again", "yellow")
            return
        except BudgetError as error:
            self._say(f"✗ {error}", "red")
            # Asked again, it would be as large as it is.
            self._say("what was said is kept; say it shorter, or come back with a larger `--budget`", "dim")
            return
        except DriverError as error:
            self._say(f"✗ {error}", "red")
            self._say("what was said is kept; /retry asks again", "dim")
            return
        self._is_answered = True
        if not streamed:
            self._console.print(Text(printable_lines(turn.text)))
        self._break()

    def _wrote(self, text: str) -> None:
        if self._console.is_terminal:
            self._console.print(Text(printable_lines(text)), end="")
            self._midline = True

    def _called(self, call: ToolCall) -> None:
        self._say(f"→ {call.name} {_line(call.arguments)}", "dim")

    def _answered(self, call: ToolCall, answer: Answer) -> None:
        style = "dim" if answer.outcome == "ok" else "yellow"
        self._say(f"← {call.name}: {_line(answer.text)}", style)

    def _noted(self, diagnostic: DiagnosticRecorded) -> None:
        where = f" ({diagnostic.subject})" if diagnostic.subject else ""
        self._say(f"! {diagnostic.phase}{where}: {_line(diagnostic.text, 400)}", "yellow")

    # --- commands -----------------------------------------------------------------------------------------------------

    def _context(self, _: str) -> None:
        view = self._view()
        budget = f" of {view.budget.limit:,}" if view.budget is not None else ""
        self._say(f"{view.tokens:,} tokens{budget}; {view.framing.tokens:,} are instructions and tools", "bold")
        if not view.items:
            return
        rows = [[fate, str(many), f"{tokens:,}"] for fate, (many, tokens) in view.fates.items()]
        print_table({"fate": "name", "items": "number", "tokens": "number"}, rows)
        pins = self._chat.session.pins
        print_table(
            {"id": "name", "role": "name", "fate": "name", "tokens": "number", "text": "words"},
            [
                [
                    shown(item.id),
                    item.message.role,
                    f"{item.fate}, pinned" if item.id in pins else item.fate,
                    f"{item.tokens:,}",
                    _line(shown(readable(item.message))),
                ]
                for item in view.items[-_ROWS:]
            ],
        )
        if len(view.items) > _ROWS:
            self._say(f"and {count(len(view.items) - _ROWS, 'item')} before these", "dim")

    def _view(self) -> CompiledContext:
        return self._chat.preview()

    def _why(self, reference: str) -> None:
        if not self._names_one(reference, "/why"):
            return
        view = self._view()
        try:
            pinned = "; it is pinned" if reference in self._chat.session.pins else ""
            self._say(f"{view.why(reference)}{pinned}")
        except UnknownReferenceError:
            made = next((item for item in view.items if item.id == reference), None)
            if made is None:
                raise
            by = f" by {made.by}" if made.by else ""
            self._say(f"{reference} was made for the model{by}: {made.fate}, {made.tokens:,} tokens", "bold")
            self._console.print(Text(printable_lines(made.message.text)))

    def _pin(self, reference: str) -> None:
        if not self._names_one(reference, "/pin"):
            return
        self._chat.session.pin(reference)
        self._say(f"{shown(reference)} stands in every request from here on", "dim")

    def _unpin(self, reference: str) -> None:
        if not self._names_one(reference, "/unpin"):
            return
        self._chat.session.unpin(reference)
        self._say(f"{shown(reference)} may be reduced again", "dim")

    def _names_one(self, reference: str, command: str) -> bool:
        if not self._chat.session.messages:
            self._say("✗ nothing was said yet", "red")
        elif not reference:
            self._say(f"✗ which message? give its id, such as {command} m3; /context lists them", "red")
        return bool(reference and self._chat.session.messages)

    def _recall(self, wanted: str) -> None:
        if not wanted:
            self._say("✗ what? give an id or words, such as /recall m3 or /recall birthday", "red")
            return
        session = self._chat.session
        if " " not in wanted and (wanted.startswith("artifact:") or (wanted[0] == "m" and wanted[1:].isdigit())):
            self._console.print(Text(printable_lines(session.recall(wanted))))
            return
        hits = self._place.store.search(wanted, session=session.id, limit=5)
        for hit in hits:
            self._say(f"{hit.message_id}: {_line(hit.text, 300)}")
        if not hits:
            self._say("nothing was said about that", "dim")

    def _endless(self, wanted: str) -> None:
        if wanted not in ("on", "off"):
            self._say(f"endless mode is {'on' if self._chat.endless is not None else 'off'}; give on or off")
            return
        self._switch(self._place.template_of(self._chat.session) if wanted == "on" else None)

    def _template(self, name: str) -> None:
        if not name:
            for one in self._place.folders.available():
                mark = "•" if self._chat.endless is not None and self._chat.endless.name == one.name else " "
                self._say(f"{mark} {one.name} ({one.source})")
            return
        self._switch(name)

    def _switch(self, template: str | None) -> None:
        self._place.switch(self._chat, self._answering, template=template)
        how = f"endless, {template}" if template is not None else "the history is sent, reduced to its budget"
        self._say(how, "dim")

    def _transcript(self, _: str) -> None:
        # Not on top: most chats never ask for it.
        from foveate.session.transcript import transcript_text

        self._console.print(Text(printable_lines(transcript_text(self._chat.session.events))))
        path = self._transcript_path()
        if path is not None and not self._problems:
            self._say(f"it is in {shlex.quote(str(path))}", "dim")

    def _retry(self, _: str) -> None:
        if self._is_owed():
            self._hear(None)
        else:
            self._say("✗ there is nothing to be answered; say something", "red")

    def _say(self, line: str, style: str = "") -> None:
        self._break()
        self._console.print(Text(printable(line), style=style))

    def _break(self) -> None:
        if self._midline:
            self._console.print()
            self._midline = False


def _edit_lines() -> bool:
    """Have lines edited, and pasted whole, also several at once; whether the terminal says where a paste ends."""
    try:
        # Without it a terminal cuts lines at some 4,000 characters; some systems have none.
        readline = import_module("readline")
    except ImportError:
        return False
    # Python turns it off. What stands in for readline on some systems does not know it.
    readline.parse_and_bind("set enable-bracketed-paste on")
    return "libedit" not in (readline.__doc__ or "")


def _pasted() -> str:
    """The further lines of a paste, on a terminal that does not say where one ends: those that are there at once."""
    lines: list[str] = []
    while select.select([sys.stdin], [], [], _PASTING)[0]:
        try:
            lines.append("\n" + input())
        except EOFError:
            break
    return "".join(lines)


def _line(text: str, most: int = _LONGEST) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
