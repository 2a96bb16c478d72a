"""Sources: what a command works on, be it a session in a store, a log in any format, or standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer

from foveate.cli.output import say_error
from foveate.cli.phrases import count, shown
from foveate.cli.store import opened, say_held
from foveate.errors import BudgetError, ConfigError, FoveateError, StoreError, UnknownReferenceError

if TYPE_CHECKING:
    from foveate.importers.reading import Recorded, SizeLimits, Skipped
    from foveate.importers.recording import Recording
    from foveate.store import SessionInfo, Store

# Exit codes: 0 done, 1 the input cannot be used, 2 the command was called wrongly, 3 the budget cannot be met,
# 4 what was checked has defects, 5 another process locks the store, so that it could not be checked.
BAD_INPUT = 1
BAD_CALL = 2
NO_ROOM = 3
DEFECTS = 4
BUSY = 5

_LISTED = 8

Source = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help="A session of the store, a log in any known format, or - for standard input.",
        show_default=False,
    ),
]
OfSource = Annotated[
    str | None,
    typer.Option("--session", "-s", metavar="NAME", help="Which session, if the log has several.", show_default=False),
]
FormatName = Annotated[
    str, typer.Option("--format", "-f", metavar="NAME", help="The format of the log; `foveate formats` lists them.")
]
Lenient = Annotated[bool, typer.Option("--lenient", help="Leave out what is broken in a log, instead of refusing it.")]
Sample = Annotated[
    bool, typer.Option("--sample", help="Use the built-in sample: a coding session of some 400 messages.")
]


@dataclass(slots=True)
class Material:
    """A session to work on; `store` and `info` are there if it is one of a store."""

    recording: Recording
    skipped: list[Skipped] = field(default_factory=list)
    store: Store | None = None
    info: SessionInfo | None = None


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


@contextmanager
def material(
    source: str | None,
    *,
    sample: bool = False,
    session: str | None = None,
    format: str = "auto",
    lenient: bool = False,
    store: str | None = None,
    system: str | None = None,
) -> Generator[Material, None, None]:
    """What a command was told to work on."""
    if sample:
        if source is not None:
            raise ConfigError(f"give SOURCE or `--sample`, not both: {source!r}")
        yield Material(_sample())
    elif source is None:
        raise ConfigError("no SOURCE was given; name a session or a log, - for standard input, or `--sample`")
    elif source == "-":
        with standard_input(lenient=lenient) as log:
            yield _chosen(log, format, session)
    elif (path := on_disk(source)) is not None:
        with _opened_log(path, source, lenient=lenient) as log:
            yield _chosen(log, format, session)
    else:
        with _in_store(source, store, system) as found:
            yield found


def on_disk(source: str) -> Path | None:
    """The file or folder that a source names, if there is one."""
    if not source.strip():
        # An empty path is the working directory to Python, and nearly always a mistake of whoever typed it.
        raise ConfigError("an empty SOURCE was given; name a session or a log")
    try:
        return Path(source) if Path(source).exists() else None
    except (OSError, ValueError):
        # Too long for a file, but not for a session.
        return None


@contextmanager
def standard_input(*, lenient: bool, limits: SizeLimits | None = None) -> Generator[Recorded, None, None]:
    """What comes through standard input, aside: telling its format takes more than one look."""
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.importers.reading import DEFAULT_LIMITS, Recorded, copy_log

    limits = limits or DEFAULT_LIMITS
    with TemporaryFile() as spool:
        copy_log(sys.stdin.buffer, spool, "standard input", limits)
        yield Recorded(name="standard input", file=spool, lenient=lenient, limits=limits)


@contextmanager
def _opened_log(path: Path, source: str, *, lenient: bool) -> Generator[Recorded, None, None]:
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.importers.reading import DEFAULT_LIMITS, Recorded, copy_log, opened

    if path.is_dir():
        raise FoveateError(f"{source!r} is a folder; give one log of it, or bring all with `foveate import`")
    with ExitStack() as stack:
        file = stack.enter_context(opened(path, pipes=True))
        if not file.seekable():
            # Such as `<(command)` of a shell: telling its format takes more than one look.
            spool = stack.enter_context(TemporaryFile())
            copy_log(file, spool, source, DEFAULT_LIMITS)
            file = spool
        yield Recorded(name=source, file=file, path=path if path.is_file() else None, lenient=lenient)


def _chosen(log: Recorded, format: str, session: str | None) -> Material:
    """The session of a log that is meant."""
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.importers.detection import read_sessions

    found = {recording.session: recording for recording in read_sessions(log, format)}
    if session is None and len(found) == 1:
        return Material(next(iter(found.values())), log.skipped)
    if session in found:
        return Material(found[session], log.skipped)
    names = ", ".join(shown(name) for name in list(found)[:_LISTED]) + (", …" if len(found) > _LISTED else "")
    if session is None:
        raise ConfigError(f"{log.name} has {count(len(found), 'session')}; choose one with `--session`: {names}")
    raise ConfigError(f"no `--session` {session!r} in {log.name}; there are {names}")


@contextmanager
def _in_store(source: str, store: str | None, system: str | None) -> Generator[Material, None, None]:
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.importers.recording import recording_of

    with ExitStack() as stack:
        try:
            found = stack.enter_context(opened(store, system))
            info = found.session(source)
        except UnknownReferenceError as error:
            raise UnknownReferenceError(f"{source!r} is no file, and {error}") from error
        except StoreError as error:
            raise type(error)(f"cannot read {source!r}: there is no such file, and {error}") from error
        say_held(found, source)
        events = found.reader(info).events(0, info.events)
        yield Material(recording_of(source, events), store=found, info=info)


def _sample() -> Recording:
    # Only who asks for the sample pays for making it.
    from foveate.importers.recording import Recording
    from foveate.sample import coding_session, tools
    from foveate.wire.formats import decode_any

    messages = decode_any(list(coding_session()))
    return Recording(
        session="sample", format="openai", tools=tuple(tools()), messages=messages, times=[None] * len(messages)
    )


def _fail(error: FoveateError, code: int) -> None:
    say_error(str(error))
    raise typer.Exit(code)
