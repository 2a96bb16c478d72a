"""`foveate recall`: what a reference stands for."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from foveate.cli.output import AsJson, print_json, print_text
from foveate.cli.source import FormatName, Lenient, Material, OfSource, material, reported
from foveate.cli.store import StorePlace, SystemPlace
from foveate.errors import ConfigError


def recall_command(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="A session of the store, a log in any format, or - for standard input."),
    ],
    reference: Annotated[str, typer.Argument(metavar="REF", help="A reference such as m17, as requests show them.")],
    lines: Annotated[
        str | None, typer.Option("--lines", metavar="A-B", help="Only these lines.", show_default=False)
    ] = None,
    query: Annotated[
        str | None, typer.Option("--query", "-q", help="Only the lines that match best.", show_default=False)
    ] = None,
    as_json: AsJson = False,
    session: OfSource = None,
    format: FormatName = "auto",
    lenient: Lenient = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Print what a reference in a request stands for: a whole message, some of its lines, or those that match.

    Example: foveate recall my-session m17 --lines 10-40
    """
    with (
        reported(),
        material(source, session=session, format=format, lenient=lenient, store=store, system=system) as found,
    ):
        text = _recalled(found, reference, _span(lines), query)
        if as_json:
            print_json({"reference": reference, "text": text})
        else:
            print_text(text)


def _recalled(found: Material, reference: str, lines: tuple[int, int] | None, query: str | None) -> str:
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.session import Session
    from foveate.session.reading import given_back

    if reference.startswith("artifact://") and found.store is not None:
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.log.messages import MessageMeta, text_message

        text = found.store.artifact(reference).text()
        return given_back(text_message(reference, "tool", text, MessageMeta()), lines, query)
    session = Session(session_id=found.recording.session)
    session.extend(found.recording.messages)
    return session.recall(reference, lines=lines, query=query)


def _span(lines: str | None) -> tuple[int, int] | None:
    if lines is None:
        return None
    match = re.fullmatch(r"\s*(\d+)\s*(?:[-:,]\s*(\d+)\s*)?", lines)
    if match is None:
        raise ConfigError(f"`--lines` {lines!r} is no range; give a first and a last line, such as 10-40")
    return int(match[1]), int(match[2] or match[1])
