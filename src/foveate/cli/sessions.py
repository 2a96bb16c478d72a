"""`foveate sessions`: what a store holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from foveate.cli.output import AsJson, Kind, print_json, print_table
from foveate.cli.phrases import ago, shown, tagged
from foveate.cli.source import reported
from foveate.cli.store import StorePlace, SystemPlace, opened, say_held

if TYPE_CHECKING:
    from foveate.inspect.sessions import SessionSummary


def sessions_command(store: StorePlace = None, system: SystemPlace = None, as_json: AsJson = False) -> None:
    """List the sessions of a store, the most recently used first.

    Example: foveate sessions --store agent.db
    """
    with reported(), opened(store, system) as found:
        # Behind SQLAlchemy, for which `--help` must not wait.
        from foveate.inspect.sessions import list_sessions

        sessions = list_sessions(found).sessions
        say_held(found)
        if as_json:
            print_json([facts(one) for one in sessions])
            return
        if not sessions:
            typer.echo(f"No sessions in {found} yet. `foveate import FILE` brings one, or your program:")
            typer.echo(f"  foveate.Session.open({found}, 'my-session')")
            return
        _print(sessions)


def facts(summary: SessionSummary) -> dict[str, Any]:
    """What is known of a session, for machines."""
    info = summary.info
    return {
        "session_id": info.session_id,
        "title": info.title,
        "messages": info.messages,
        "tokens": info.tokens,
        "calls": info.calls,
        "events": info.events,
        "created_at": info.created_at.isoformat(),
        "last_activity_at": info.last_activity_at.isoformat(),
        "vault": info.vault_name,
        "tags": info.tags,
        "model": summary.model,
        "cost": summary.cost,
    }


def _print(sessions: list[SessionSummary]) -> None:
    columns: dict[str, Kind] = {
        "session": "name",
        "messages": "number",
        "tokens": "number",
        "calls": "number",
        "input cost": "number",
        "last activity": "name",
        "title": "words",
        "tags": "words",
    }
    rows = [
        (
            *(shown(info.session_id), f"{info.messages:,}", f"{info.tokens:,}", f"{info.calls:,}"),
            *(f"${cost:,.4f}" if cost is not None else "", ago(info.last_activity_at)),
            *(shown(info.title), tagged(info.tags)),
        )
        for info, cost in ((one.info, one.cost) for one in sessions)
    ]
    print_table(columns, rows)
