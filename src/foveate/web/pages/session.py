"""Session: the timeline of all its calls, and why they were what they were."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from nicegui import ui
from nicegui.events import GenericEventArguments

from foveate.inspect.call_history import CallHistory
from foveate.inspect.costs import SessionCosts
from foveate.store import SessionInfo
from foveate.web.chart import (
    CACHED,
    FRESH,
    HEIGHT,
    MOST,
    SENT,
    TRIGGERS,
    UNTOUCHED,
    chart_of,
    parts_in,
    told_cost,
    trigger_colour,
    triggers_in,
)
from foveate.web.desk import Desk, Seen
from foveate.web.fates import colour
from foveate.web.frame import back_from, framed, headed, loaded, session_tabs
from foveate.web.links import to_call, to_session
from foveate.web.pages.call_tables import calls_table, compactions
from foveate.web.pages.lens import lens_form
from foveate.web.phrases import counted, money, share, tokens
from foveate.web.pieces import (
    Words,
    box,
    button,
    empty,
    link,
    notice,
    progress,
    say,
    stats,
)
from foveate.web.replaying import Lens

_LISTED: Final = 30
# A click anywhere in the chart means the call above or below it; a canvas has no elements to click on.
_CLICKABLE: Final = """
(async () => {
  const element = getElement(%d);
  while (!element.chart) await new Promise((resolve) => setTimeout(resolve, 30));
  const zr = element.chart.getZr();
  const at = (event) => {
    const point = [event.offsetX, event.offsetY];
    const inside = [0, 1, 2].some((grid) => element.chart.containPixel({ gridIndex: grid }, point));
    return inside ? element.chart.convertFromPixel({ xAxisIndex: 0 }, event.offsetX) : null;
  };
  zr.on("click", (event) => { const call = at(event); if (call !== null) emitEvent("call_clicked", call); });
  zr.on("mousemove", (event) => { zr.setCursorStyle(at(event) === null ? "default" : "pointer"); });
})();
"""


def session_page(desk: Desk, session: str, lens: Lens | None) -> None:
    """Build the page."""
    with framed("Sessions"):
        _opened(desk, session, lens)


def _opened(desk: Desk, session: str, lens: Lens | None) -> None:
    async def fetch() -> SessionInfo:
        store = await desk.open()
        return await asyncio.to_thread(store.session, session)

    def show(info: SessionInfo) -> None:
        head_of(info)
        session_tabs(info, "Timeline", lens)
        with box("stack"):
            if not info.messages and not info.calls:
                empty("Nothing was said yet", "The first call appears here as soon as a model is asked something.")
                return
            if lens is not None or not info.calls:
                lens_form(info, lens or Lens())
            with_calls(desk, info, lens, _show)

    loaded(fetch, show, "Opening the session", back=partial(back_from, desk.store, session))


def head_of(info: SessionInfo) -> None:
    """The head of every page about a session."""
    lede = f"{counted(info.messages, 'message')} · {tokens(info.tokens)} tokens as said · {info.session_id}"
    headed(info.title or info.session_id, lede, [("Sessions", "/")])


def with_calls(desk: Desk, info: SessionInfo, lens: Lens | None, show: Callable[[Seen], None]) -> None:
    """A place that is filled once the calls of a session are known, which may take a replay."""
    watched = box()

    def watch() -> None:
        worker = desk.working(info, lens or Lens())
        watched.clear()
        if worker is None:
            return
        with watched, box("card padded"):
            progress(worker.share, f"{worker.text[:1].upper()}{worker.text[1:]}")
            with box("row").style("margin-top: 10px"):
                button("Stop", worker.stop)

    async def fetch() -> Seen:
        timer = ui.timer(0.3, watch)
        try:
            return await desk.seen(info.session_id, lens)
        finally:
            timer.cancel()
            watched.clear()

    loaded(fetch, show, "Reading the calls", back=partial(back_from, desk.store, info.session_id))


def _show(seen: Seen) -> None:
    found = seen.history
    if not found.entries:
        reason = seen.replay.reason if seen.replay is not None else "No request was recorded."
        empty(
            "No call to show",
            reason or "The log has no answer of a model yet. The page Next call shows what a model would be sent now.",
        )
        return
    with box("stack").style("margin-top: 0"):
        _warn(seen)
        _figures(found)
        if seen.replay is not None:
            _recorded(seen.replay.recorded)
        if len(found.entries) > 1:
            _chart(seen)
        compactions(seen)
        calls_table(seen)
        if seen.lens is None:
            with box("row"):
                say("What if it had been another policy or budget?", "soft small")
                link("Replay this session", to_session(seen.info.session_id, Lens()), "button")
                link("Compare policies in the lab", f"/lab?id={seen.info.session_id}", "button quiet")


def _warn(seen: Seen) -> None:
    if seen.replay is not None and seen.replay.refused:
        notice(
            f"{seen.replay.refused:,} calls are left out, as they could not be made: {seen.replay.reason}",
            "warn",
            strong="Too small a budget.",
        )


def _figures(found: CallHistory) -> None:
    calls = [entry.call for entry in found.entries]
    sent = found.sent
    reported = sum(entry.is_reported for entry in found.entries)
    peak = max(calls, key=lambda call: call.tokens)
    limit = peak.budget
    compactions = sum(bool(call.reductions) for call in calls)
    stats(
        [
            ("Calls", f"{len(calls):,}", counted(calls[-1].turn, "turn") if calls[-1].turn else ""),
            (
                "Largest window",
                tokens(peak.tokens),
                f"of {tokens(limit)} allowed" if limit is not None else "no budget",
            ),
            ("Compactions", f"{compactions:,}", _reasons(found)),
            ("Cached", share(sent.cached, sent.tokens), f"of all input tokens, {_source(reported, len(calls))}"),
            ("Input cost", money(sent.cost, found.unit), _unit(found)),
            ("Saved", _saved(found), told_cost(found)),
        ]
    )


def _reasons(found: CallHistory) -> str:
    return ", ".join(f"{count:,} {trigger}" for trigger, count in triggers_in(found).items())


def _unit(found: CallHistory) -> str:
    return "at list prices" if found.unit == "USD" else "in input tokens; the model has no known price"


def _recorded(costs: SessionCosts) -> None:
    """What the session itself cost, beside its replay."""
    if not costs.known_calls:
        return
    sent = costs.sent
    notice(
        f"{counted(costs.known_calls, 'call')}, {tokens(sent.tokens)} input tokens, {share(sent.cached, sent.tokens)} "
        f"cached: {money(sent.cost, costs.unit)}.",
        "tip",
        strong="What the log records:",
    )


def _source(reported: int, calls: int) -> str:
    """Whether numbers of the provider are shown or predicted ones."""
    if not reported:
        return "predicted"
    return "as reported" if reported == calls else f"{reported:,} of {calls:,} calls as reported"


def _saved(found: CallHistory) -> str:
    sent, untouched = found.sent.cost, found.untouched.cost
    if not untouched:
        return "–"
    return share(untouched - sent, untouched).replace("-0 %", "0 %")


def _chart(seen: Seen) -> None:
    found = seen.history
    with box("card"):
        with box("title"):
            Words("h2", "Every call, and what its window was made of")
            say(
                "Point at a call to read it, click to open it. Drag the slider below, or Ctrl and the wheel, to zoom.",
                "soft small",
            )
        with box("row").style("padding: 8px 20px 0"):
            _legend(found)
        chart = ui.echart(chart_of(found)).classes("chart").style(f"height: {HEIGHT}px")
        chart.props["role"] = "img"
        chart.props["aria-label"] = (
            f"The window of {len(found.entries):,} calls by fate; the table below has the same numbers"
        )
    ui.timer(0, lambda: ui.run_javascript(_CLICKABLE % chart.id), once=True)

    def opened(event: GenericEventArguments) -> None:
        ui.navigate.to(to_call(seen.info.session_id, found.nearest(float(event.args)).number, seen.lens))

    ui.on("call_clicked", opened)
    if len(found.entries) > MOST:
        chart.on(
            "chart:datazoom",
            partial(_zoomed, chart, found),
            ["start", "end", "batch"],
            throttle=0.4,
            leading_events=False,
        )


def _zoomed(chart: ui.echart, found: CallHistory, event: GenericEventArguments) -> None:
    """Draw what is zoomed into in full detail: of many calls only some are drawn at first."""
    batch = event.args.get("batch") or [event.args]
    start, end = batch[0].get("start"), batch[0].get("end")
    if start is None or end is None:
        return
    first, last = found.entries[0].number, found.entries[-1].number
    span = last - first
    options = chart_of(found, first + int(span * start / 100), first + int(span * end / 100 + 1))
    chart.options["series"] = options["series"]
    chart.options.pop("dataZoom", None)
    chart.update()


def _legend(found: CallHistory) -> None:
    with box("legend"):
        for name in parts_in(found):
            Words("span", name).style(f"--fate: {colour(name)}")
        if any(entry.call.budget for entry in found.entries):
            Words("span", "budget", "line").style("--fate: #d0483e")
        if any(entry.pays_at for entry in found.entries):
            Words("span", "a rewrite pays from here", "line dashed").style("--fate: #2f7fd0")
        if any(entry.low_mark for entry in found.entries):
            Words("span", "compactions come down to", "line dashed").style("--fate: #7d868e")
    with box("legend"):
        for trigger in triggers_in(found):
            shown = Words("span", f"▼ {trigger}", "plain").style(f"color: {trigger_colour(trigger)}")
            shown.props["title"] = TRIGGERS[trigger][1]
        for name, shade in (("cached", CACHED), ("fresh", FRESH), ("cost as sent", SENT), ("untouched", UNTOUCHED)):
            Words("span", name).style(f"--fate: {shade}")
