"""`foveate chat`: a conversation in the terminal, and a look at what the model sees of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foveate.cli.models import ModelName
from foveate.cli.output import say
from foveate.cli.source import BAD_INPUT, reported
from foveate.cli.store import StorePlace, SystemPlace, opened
from foveate.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foveate.integrations.chats import Chats
    from foveate.log.events import DiagnosticRecorded

Vault = Annotated[
    Path | None,
    typer.Option(
        "--vault",
        metavar="DIR",
        envvar="FOVEATE_VAULT",
        help="A folder of notes: the model may read it, transcripts and templates of your own are in its AssistantMD.",
        show_default=False,
    ),
]
Reserve = Annotated[
    str | None,
    typer.Option("--reserve", metavar="TOKENS", help="What is left of a model's window for its answer."),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        "--threshold", metavar="TOKENS", help="Below this nothing is summarised; `auto` is where it pays, 0 is always."
    ),
]
RecentTurns = Annotated[
    str | None,
    typer.Option("--recent-turns", metavar="N", help="Older turns that a template gets."),
]
RecentToolResults = Annotated[
    str | None,
    typer.Option("--recent-tool-results", metavar="N", help="Older tool results that a template gets."),
]
Further = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any other setting of chats, such as steps=40; may be repeated."),
]


def chat_command(
    session: Annotated[
        str, typer.Argument(metavar="[SESSION]", help="The chat to go on with, or its new name.")
    ] = "chat",
    endless: Annotated[
        bool | None,
        typer.Option("--endless/--no-endless", help="Compile each request from a template.", show_default=False),
    ] = None,
    template: Annotated[
        str | None, typer.Option("--template", "-t", metavar="NAME", help="What an endless chat keeps in view.")
    ] = None,
    vault: Vault = None,
    model: ModelName = None,
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="TOKENS", min=500, help="The most input tokens of a request.")
    ] = None,
    reserve: Reserve = None,
    threshold: Threshold = None,
    recent_turns: RecentTurns = None,
    recent_tool_results: RecentToolResults = None,
    further: Further = None,
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="NAME", help="Also show the model what this project knows for an input."),
    ] = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Chat in the terminal; nothing of it is ever lost, however little of it a request shows.

    Type /help in the chat for what else can be done.

    Example: foveate chat --endless --template chat --vault ~/notes
    """
    named = {
        "model": model,
        "budget": budget,
        "template": template,
        "reserve": reserve,
        "context_compiler_token_threshold": threshold,
        "context_compiler_recent_turns": recent_turns,
        "context_compiler_recent_tool_results": recent_tool_results,
    }
    is_answered = True
    with reported(), opened(store, system, create=True, is_interactive=True) as found:
        if template is not None and endless is False:
            raise ConfigError("`--template` is for endless chats; leave out `--no-endless`, or the template")
        # Before a model is started that nobody can talk to.
        found.require_writing()
        # Not on top: `--help` need not wait for it.
        from foveate.chat.settings import pairs_of
        from foveate.integrations.chats import chats_of

        given = pairs_of(further or ()) | {name: value for name, value in named.items() if value is not None}
        chats = chats_of(found, vault=vault, system=Path(system) if system else None, given=given, project=project)
        idle = [option for option, value in _of_endless(threshold, recent_turns, recent_tool_results) if value]
        is_answered = _held(chats, session, endless=endless, template=template, of_endless=idle)
    if not is_answered and not sys.stdin.isatty():
        # A program that asks by a pipe has no other way to know.
        raise typer.Exit(BAD_INPUT)


def _of_endless(*values: str | None) -> Iterable[tuple[str, str | None]]:
    """The options that only endless chats heed, as they were given."""
    return zip(("--threshold", "--recent-turns", "--recent-tool-results"), values, strict=True)


def _held(
    chats: Chats, session: str, *, endless: bool | None, template: str | None, of_endless: Sequence[str] = ()
) -> bool:
    """Hold a chat until somebody leaves; whether what was said last was answered."""
    # Not on top, as above.
    from foveate.cli.chat_screen import ChatScreen

    with chats.answering() as (chosen, by):
        say(f"{chosen.name} answers: {chosen.why}")
        problems: list[DiagnosticRecorded] = []
        chat = chats.place.opened(session, by, problems.append)
        with chat.session:
            if endless is False:
                chats.place.switch(chat, by, template=None)
            elif template is not None:
                chats.place.switch(chat, by, template=template)
            elif endless:
                chats.place.resume(chat, by)
            if of_endless and chat.endless is None:
                options = ", ".join(of_endless)
                say(f"{options}: of no effect until the chat is endless; type /endless on, or give --endless")
            return ChatScreen(chats.place, chat, by, problems=problems).run()
