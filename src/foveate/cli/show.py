"""`foveate show`: a session and its calls, or one call as it was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from foveate.cli.compile import Target, To, print_request
from foveate.cli.output import AsJson, Kind, print_json, print_table, say
from foveate.cli.phrases import ago, at, shown, tagged
from foveate.cli.sessions import facts
from foveate.cli.source import reported
from foveate.cli.store import SessionId, StorePlace, SystemPlace, opened
from foveate.errors import ConfigError

if TYPE_CHECKING:
    from foveate.store import SessionInfo, Store
    from foveate.store.housekeeping import CallSummary

_FIRST = 5
_MANY = 40


def show_command(
    session: SessionId,
    call: Annotated[
        int | None, typer.Option("--call", "-c", min=1, help="Print this call as it was sent.", show_default=False)
    ] = None,
    to: To = None,
    full: Annotated[bool, typer.Option("--full", help="Show every call, not only the first and last.")] = False,
    as_json: AsJson = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Show a session and its calls; or one call, computed again from the log and checked against its hash.

    Example: foveate show my-session --call 3 --to text
    """
    with reported():
        if call is None and to not in (None, Target.text, Target.json):
            raise ConfigError(f"`--to {to}` prints one call; say which with `--call N`")
        with opened(store, system) as found:
            info = found.session(session)
            if call is not None:
                _print_call(found, info, call, to, as_json=as_json)
            elif to is Target.json or as_json:
                calls = [_call_facts(one) for one in _calls(found, info)]
                print_json({**facts(info), "calls": calls})
            else:
                _print_session(found, info, full=full)


def _calls(store: Store, info: SessionInfo) -> list[CallSummary]:
    # Behind SQLAlchemy, for which `--help` must not wait.
    from foveate.store.housekeeping import call_summaries

    return call_summaries(store, info)


def _print_call(store: Store, info: SessionInfo, number: int, to: Target | None, *, as_json: bool) -> None:
    # Behind SQLAlchemy, for which `--help` must not wait.
    from foveate.session.durable import recorded_call

    view = recorded_call(store, info, number)
    recorded = next((one for one in _calls(store, info) if one.number == number), None)
    numbers = _call_facts(recorded) if recorded is not None else {"call": number}
    print_request(view, to, numbers, as_json=as_json)
    say(f"call {number}: computed again from the log; its hash {view.payload_sha256[:12]} matches the record")


def _call_facts(call: CallSummary) -> dict[str, Any]:
    return {
        "call": call.number,
        "recorded_at": call.recorded_at.isoformat(),
        "strategy": call.strategy,
        "model": call.model,
        "tokens": call.tokens,
        "budget": call.budget,
        "predicted_cached": call.predicted_cached,
        "reported_input": call.reported_input,
        "reported_cached": call.reported_cached,
        "fates": {fate: {"items": items, "tokens": tokens} for fate, (items, tokens) in call.fates.items()},
        "tags": call.tags,
        "payload_sha256": call.payload_sha256,
    }


def _print_session(store: Store, info: SessionInfo, *, full: bool) -> None:
    title = shown(info.title)
    typer.echo(f"{shown(info.session_id)} · {title}" if title else shown(info.session_id))
    typer.echo(f"{info.messages:,} messages · {info.tokens:,} tokens · {info.calls:,} calls · {info.events:,} events")
    typer.echo(f"begun {at(info.created_at)} · last activity {ago(info.last_activity_at)} · vault {info.vault_name}")
    if info.tags:
        typer.echo(f"tags: {tagged(info.tags)}")
    calls = _calls(store, info)
    if calls:
        typer.echo("")
        _print_calls(calls, full=full)


def _print_calls(calls: list[CallSummary], *, full: bool) -> None:
    columns: dict[str, Kind] = {
        "call": "number",
        "when": "name",
        "tokens": "number",
        "predicted": "number",
        "reported": "number",
        "strategy": "name",
        "hash": "name",
        "in the request": "words",
        "tags": "words",
    }
    hidden = 0 if full else max(0, len(calls) - _MANY)
    rows = [_call_row(call) for call in calls]
    if hidden:
        gap = ("…", f"{hidden:,} more", *[""] * 5, "`--full` shows all", "")
        rows[_FIRST : _FIRST + hidden] = [gap]
    print_table(columns, rows)
    typer.echo("predicted, reported: tokens expected in the provider's cache, and found there")


def _call_row(call: CallSummary) -> tuple[str, ...]:
    limit = f" of {call.budget:,}" if call.budget is not None else ""
    return (
        str(call.number),
        at(call.recorded_at),
        f"{call.tokens:,}{limit}",
        f"{call.predicted_cached:,}",
        f"{call.reported_cached:,}" if call.reported_cached is not None else "-",
        shown(call.strategy),
        call.payload_sha256[:12],
        ", ".join(f"{items} {fate}" for fate, (items, _) in call.fates.items()),
        tagged(call.tags),
    )
