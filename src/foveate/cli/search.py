"""`foveate search`: what was said, in all sessions or one."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foveate.cli.output import AsJson, print_json, say
from foveate.cli.phrases import at, count, shown
from foveate.cli.source import reported
from foveate.cli.store import StorePlace, SystemPlace, opened, say_held
from foveate.errors import ConfigError
from foveate.log.text import printable

if TYPE_CHECKING:
    from foveate.store import SearchHit, Store

_LINES = 6
_WIDTH = 130


def search_command(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words, names, file paths; as you would ask.")],
    session: Annotated[
        str | None, typer.Option("--session", metavar="SESSION", help="Only in this session.", show_default=False)
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option(
            "--role", metavar="ROLE", help="Only user, assistant, tool or system; may be repeated.", show_default=False
        ),
    ] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option(
            "--tool", metavar="NAME", help="Only calls and results of this tool; may be repeated.", show_default=False
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Only user, tool_call, tool_result, error …", show_default=False),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="Not before, such as 2026-01-31T18:00.", show_default=False),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Before, such as 2026-02-01.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="The most hits.")] = 10,
    as_json: AsJson = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Find what was said: the passages that answer a query best, from all sessions of a store or one.

    Example: foveate search "flaky refund test" --role tool
    """
    with reported():
        if not query.strip():
            raise ConfigError("QUERY is empty; give some words, a name or a path")
        first, last = _moment("--since", since), _moment("--until", until)
        with opened(store, system) as found:
            if session is not None:
                # An unknown one is an error that names those spelt alike, not a search without hits.
                found.session(session)
            hits = found.search(
                query, session=session, roles=role, tools=tool, kinds=kind, since=first, until=last, limit=limit
            )
            say_held(found, session)
            _say_unindexed(found, session)
            if as_json:
                print_json([_facts(hit) for hit in hits])
                return
            if not hits:
                where = f"session {shown(session)!r}" if session is not None else found
                typer.echo(f"nothing found for {shown(query)!r} in {where}")
            for hit in hits:
                _print(hit)


def _say_unindexed(store: Store, session: str | None) -> None:
    """Say how many messages a search could not cover, because a store that cannot be written cannot index them."""
    infos = store.sessions() if session is None else [store.session(session)]
    waiting = sum(max(0, info.messages - info.indexed) for info in infos)
    if waiting:
        why = (
            "can only be read; copy it to a folder that can be written, and search the copy"
            if store.read_only
            else "is locked by another process; search again when it is free"
        )
        were, they = ("was", "it is") if waiting == 1 else ("were", "they are")
        say(f"{count(waiting, 'message')} {were} not searched: {they} not indexed yet, and {store} {why}")


def _moment(option: str, given: str | None) -> datetime | None:
    if given is None:
        return None
    try:
        # Without a zone it is the time on the reader's own clock.
        return datetime.fromisoformat(given).astimezone()
    except (ValueError, OverflowError) as error:
        raise ConfigError(
            f"`{option}` {given!r} is no time; give one such as 2026-01-31 or 2026-01-31T18:00"
        ) from error


def _facts(hit: SearchHit) -> dict[str, Any]:
    return {
        "session_id": hit.session_id,
        "message_id": hit.message_id,
        "role": hit.role,
        "tool": hit.tool,
        "time": hit.time.isoformat(),
        "score": round(hit.score, 3),
        "text": hit.text,
    }


def _print(hit: SearchHit) -> None:
    who = f"{hit.role} {hit.tool}" if hit.tool is not None else hit.role
    head = f"{shown(hit.session_id)} {shown(hit.message_id)} · {shown(who)} · {at(hit.time)}"
    typer.secho(head, bold=True)
    lines = [printable(line).rstrip() for line in hit.text.splitlines() if line.strip()]
    for line in lines[:_LINES]:
        typer.echo(f"    {line if len(line) <= _WIDTH else line[: _WIDTH - 1] + '…'}")
    if len(lines) > _LINES:
        typer.echo(f"    … {count(len(lines) - _LINES, 'more line')}")
