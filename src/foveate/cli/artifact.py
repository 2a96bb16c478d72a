"""`foveate artifact`: a large text of a session, whole or in part."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from foveate.cli.output import AsJson, print_json, print_table, write_bytes
from foveate.cli.phrases import shown
from foveate.cli.source import reported
from foveate.cli.store import StorePlace, SystemPlace, opened
from foveate.errors import ConfigError

if TYPE_CHECKING:
    from foveate.store import Artifact, Store


def artifact_command(
    handle: Annotated[
        str | None, typer.Argument(metavar="HANDLE", help="Such as artifact://log/0123456789abcdef.")
    ] = None,
    lines: Annotated[
        str | None, typer.Option("--lines", metavar="A-B", help="These lines; the first is 1.", show_default=False)
    ] = None,
    span: Annotated[
        str | None,
        typer.Option(
            "--bytes", metavar="A-B", help="From byte A to before byte B; the first is 0.", show_default=False
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="SESSION", help="List the artifacts of a session.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Print a large text that a session refers to by its handle; or list those of a session.

    Example: foveate artifact artifact://log/0123456789abcdef --lines 1-20
    """
    with reported():
        if (handle is None) == (session is None):
            raise ConfigError("give the HANDLE of an artifact, or `--session SESSION` to list those of a session")
        if session is not None and (lines is not None or span is not None):
            raise ConfigError("`--lines` and `--bytes` are parts of one artifact; give its HANDLE, without `--session`")
        if lines is not None and span is not None:
            raise ConfigError("give `--lines` or `--bytes`, not both")
        with opened(store, system) as found:
            if session is not None:
                _print_list(found, session, as_json=as_json)
            elif handle is not None:
                write_bytes([_part(found.artifact(handle), lines, span)], None)


def _part(artifact: Artifact, lines: str | None, span: str | None) -> bytes:
    if lines is not None:
        return artifact.text(lines=_range("--lines", lines)).encode() + b"\n"
    if span is not None:
        return artifact.bytes(*_range("--bytes", span))
    # The whole of it is what it was, to the byte.
    return artifact.bytes()


def _range(option: str, given: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,18})-(\d{1,18})", given)
    if found is None:
        raise ConfigError(f"`{option}` {given!r} is no range; give two numbers, such as {option} 1-20")
    return int(found[1]), int(found[2])


def _print_list(store: Store, session: str, *, as_json: bool) -> None:
    artifacts = store.artifacts(store.session(session))
    if as_json:
        names = ("handle", "kind", "description", "size", "lines", "sha256")
        print_json([{name: getattr(one, name) for name in names} for one in artifacts])
        return
    if not artifacts:
        typer.echo(f"session {shown(session)!r} has no artifacts; a text above some thousand characters becomes one")
        return
    print_table(
        {"handle": "name", "bytes": "number", "lines": "number", "what it is": "words"},
        [(one.handle, f"{one.size:,}", f"{one.lines:,}", shown(one.description)) for one in artifacts],
    )
