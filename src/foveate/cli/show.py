"""`foveate show`: a session and its calls, or one call as it was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from foveate.cli.compile import Target, To, print_request
from foveate.cli.output import AsJson, Kind, print_json, print_table, say
from foveate.cli.phrases import ago, at, count, shown, tagged
from foveate.cli.sessions import facts
from foveate.cli.source import reported
from foveate.cli.store import SessionId, StorePlace, SystemPlace, opened, say_held
from foveate.errors import ConfigError, UnknownReferenceError

if TYPE_CHECKING:
    from foveate.inspect.calls import Call
    from foveate.inspect.costs import SessionCosts
    from foveate.inspect.rates import RequestCost, Unit
    from foveate.store import SessionInfo, Store

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
            say_held(found, session)
            if call is not None:
                _print_call(found, info, call, to, as_json=as_json)
            else:
                _show_session(found, info, full=full, as_json=to is Target.json or as_json)


def _show_session(store: Store, info: SessionInfo, *, full: bool, as_json: bool) -> None:
    # Behind SQLAlchemy, for which `--help` must not wait.
    from foveate.inspect.calls import read_calls
    from foveate.inspect.session_costs import read_session_costs
    from foveate.inspect.sessions import SessionSummary

    calls, costs = read_calls(store, info), read_session_costs(store, info)
    if as_json:
        dollars = costs.dollars
        listed = [one.as_dict(dollars.get(one.number)) for one in calls]
        summary = SessionSummary(info=info, cost=sum(dollars.values()) if dollars else None)
        print_json({**facts(summary), "costs": costs.as_dict(), "calls": listed})
    else:
        _print_session(info, calls, costs, full=full)


def _print_call(store: Store, info: SessionInfo, number: int, to: Target | None, *, as_json: bool) -> None:
    # Behind SQLAlchemy, for which `--help` must not wait.
    from foveate.inspect.calls import read_call
    from foveate.inspect.session_costs import read_session_costs
    from foveate.session.durable import recorded_call

    view = recorded_call(store, info, number)
    try:
        numbers = read_call(store, info, number).as_dict(read_session_costs(store, info).dollars.get(number))
    except UnknownReferenceError:
        # It is held in a file until the store can be written, and only there.
        numbers = {"call": number}
    print_request(view, to, numbers, as_json=as_json)
    say(f"call {number}: computed again from the log; its hash {view.payload_sha256[:12]} matches the record")


def _print_session(info: SessionInfo, calls: list[Call], costs: SessionCosts, *, full: bool) -> None:
    title = shown(info.title)
    typer.echo(f"{shown(info.session_id)} · {title}" if title else shown(info.session_id))
    typer.echo(f"{info.messages:,} messages · {info.tokens:,} tokens · {info.calls:,} calls · {info.events:,} events")
    typer.echo(f"begun {at(info.created_at)} · last activity {ago(info.last_activity_at)} · vault {info.vault_name}")
    if info.tags:
        typer.echo(f"tags: {tagged(info.tags)}")
    _print_costs(costs)
    if calls:
        typer.echo("")
        _print_calls(calls, full=full)


def _print_costs(costs: SessionCosts) -> None:
    if not costs.calls:
        return
    if costs.known_calls:
        known = f"{costs.reported_calls:,} of {count(costs.known_calls, 'call')} as the provider reported"
        typer.echo(f"input: {_cost(costs.sent, costs.unit)} · {known}")
    else:
        typer.echo(f"input: not recorded · {count(len(costs.calls), 'call')}")
    typer.echo(f"untouched history: {_cost(costs.untouched, costs.unit)}")


def _cost(cost: RequestCost, unit: Unit) -> str:
    money = f"${cost.cost:,.4f}" if unit == "USD" else f"as much as {cost.cost:,.0f} plain input tokens"
    return f"{cost.tokens:,} tokens, {100 * (cost.cached_share or 0):.1f}% cached, {money}"


def _print_calls(calls: list[Call], *, full: bool) -> None:
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


def _call_row(call: Call) -> tuple[str, ...]:
    limit = f" of {call.budget:,}" if call.budget is not None else ""
    return (
        str(call.number),
        at(call.time),
        f"{call.tokens:,}{limit}",
        f"{call.predicted_cached:,}",
        f"{call.reported_cached:,}" if call.reported_cached is not None else "-",
        shown(call.strategy),
        call.payload_sha256[:12],
        ", ".join(f"{items} {fate}" for fate, (items, _) in call.fates.items()),
        tagged(call.tags),
    )
