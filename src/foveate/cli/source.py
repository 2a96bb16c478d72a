"""Sources: where a command reads its messages from, and how it says what is wrong with them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from foveate.compiler.compiled import CompiledContext
from foveate.errors import BudgetError, ConfigError, FoveateError
from foveate.session import Session

# Exit codes: 0 done, 1 the input cannot be used, 2 the command was called wrongly, 3 the budget cannot be met.
BAD_INPUT = 1
BAD_CALL = 2
NO_ROOM = 3

Source = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE", help="A JSON list of OpenAI chat messages; - reads standard input.", show_default=False
    ),
]
Sample = Annotated[
    bool, typer.Option("--sample", help="Use the built-in sample: a coding session of some 400 messages.")
]
Budget = Annotated[
    int | None,
    typer.Option("--budget", "-b", min=1, help="The most input tokens a request may have.", show_default=False),
]
Model = Annotated[
    str | None,
    typer.Option("--model", "-m", help="A model name: gives the window, prices and tokenizer.", show_default=False),
]
PolicyName = Annotated[
    str | None, typer.Option("--policy", "-p", help="default, patient, transparent, mask or drop.", show_default=False)
]
Replay = Annotated[
    bool,
    typer.Option(
        "--replay/--at-once",
        help="Compile before each recorded response, as the agent did, or once at the end.",
    ),
]


@contextmanager
def reported() -> Generator[None, None, None]:
    """Turn Foveate's errors into one line and an exit code."""
    try:
        yield
        # What cannot be written is found out here, not when Python ends and can only complain.
        sys.stdout.flush()
    except BudgetError as error:
        _fail(error, NO_ROOM)
    except ConfigError as error:
        _fail(error, BAD_CALL)
    except FoveateError as error:
        _fail(error, BAD_INPUT)
    except BrokenPipeError:
        # Whoever reads, such as `head`, has had enough. Python would complain when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit from None
    except OSError as error:
        _fail(FoveateError(f"cannot read or write: {error}"), BAD_INPUT)


def compiled(
    source: str | None, *, sample: bool, budget: int | None, model: str | None, policy: str | None, replay: bool
) -> CompiledContext:
    """The view of the messages that a command was given."""
    messages, tools = _messages(source, sample=sample)
    session = Session(budget=budget, model=model, policy=policy, tools=tools)
    if not replay:
        session.extend(messages)
        return session.compile()
    return _replayed(session, messages)


def _replayed(session: Session, messages: list[Any]) -> CompiledContext:
    """Compile before each response, so that reductions fall where they would have fallen."""
    for index, message in enumerate(_shown_progress(messages)):
        if index and isinstance(message, dict) and message.get("role") == "assistant":
            session.compile()
        session.extend([message])
    return session.compile()


def _shown_progress(messages: list[Any]) -> Iterable[Any]:
    """The messages, with a bar on standard error while a long log goes by, if somebody watches."""
    if len(messages) < 1_000 or not sys.stderr.isatty():
        return messages
    # Only long work for people needs it.
    from rich.console import Console
    from rich.progress import track

    return track(messages, description="replaying", console=Console(stderr=True))


def _messages(source: str | None, *, sample: bool) -> tuple[list[Any], list[dict[str, Any]]]:
    if sample:
        if source is not None:
            raise ConfigError(f"give FILE or `--sample`, not both: {source!r}")
        # Only who asks for the sample pays for making it.
        from foveate.sample import coding_session, tools

        return list(coding_session()), tools()
    if source is None:
        raise ConfigError("no FILE was given; name one, - for standard input, or `--sample`")
    return _parsed(_read(source), source), []


def _read(source: str) -> str:
    if source == "-":
        return sys.stdin.read()
    try:
        return Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FoveateError(f"cannot read {source!r}: {error}") from error


def _parsed(text: str, source: str) -> list[Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise FoveateError(
            f"{source}: not JSON, line {error.lineno} column {error.colno}: {error.msg}; "
            "expected a list of OpenAI chat messages"
        ) from error
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if not isinstance(value, list):
        raise FoveateError(f"{source}: expected a JSON list of messages, got {type(value).__name__}")
    return value


def _fail(error: FoveateError, code: int) -> None:
    typer.secho(f"foveate: {error}", err=True, fg=typer.colors.RED)
    raise typer.Exit(code)
