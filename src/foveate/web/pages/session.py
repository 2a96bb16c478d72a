"""Session: the timeline of all its calls, and why they were what they were."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from foveate.lab.config import config_at
from foveate.lab.policies import described
from foveate.store import SessionInfo
from foveate.store.leafing import Reduction
from foveate.web.calls import Call, Calls
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
from foveate.web.frame import framed, headed, loaded, session_tabs
from foveate.web.links import to_call, to_session
from foveate.web.phrases import money, share, tokens
from foveate.web.pieces import (
    Words,
    box,
    button,
    chip,
    choice,
    empty,
    entry,
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
        session_tabs(session, "Timeline", lens)
        with box("stack"):
            if lens is not None or not info.calls:
                _lens_form(info, lens or Lens())
            with_calls(desk, info, lens, partial(_show, desk))

    loaded(fetch, show, "Opening the session")


def head_of(info: SessionInfo) -> None:
    """The head of every page about a session."""
    lede = f"{info.messages:,} messages · {tokens(info.tokens)} tokens as they were said · {info.session_id}"
    headed(info.title or info.session_id, lede, [("Sessions", "/")])


def with_calls(desk: Desk, info: SessionInfo, lens: Lens | None, show: partial[None]) -> None:
    """A place that is filled once the calls of a session are known, which may take a replay."""
    with box() as watched:
        pass

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

    with watched:
        watched.move(target_index=0)
    loaded(fetch, show, "Reading the calls")


def _show(desk: Desk, seen: Seen) -> None:
    found = seen.calls
    if not found.calls:
        reason = seen.replay.reason if seen.replay is not None else "No request was recorded."
        empty("No call to show", reason or "Nothing was said that a model could have answered.")
        return
    with box("stack").style("margin-top: 0"):
        _warn(seen)
        _figures(found)
        _chart(seen)
        _compactions(seen)
        _calls(seen)
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


def _figures(found: Calls) -> None:
    calls = found.calls
    sent = sum(call.tokens for call in calls)
    cached = sum(call.cached for call in calls)
    peak = max(calls, key=lambda call: call.tokens)
    limit = peak.budget
    compactions = sum(bool(call.reductions) for call in calls)
    stats(
        [
            ("Calls", f"{len(calls):,}", f"{calls[-1].turn:,} turns" if calls[-1].turn else ""),
            ("Largest window", tokens(peak.tokens), f"of {tokens(limit)} allowed" if limit is not None else "no budget"),
            ("Compactions", f"{compactions:,}", _reasons(found)),
            ("Cached", share(cached, sent), "of all input tokens, predicted"),
            ("Input cost", money(found.cost, found.unit), _unit(found)),
            ("Saved", _saved(found), told_cost(found)),
        ]
    )


def _reasons(found: Calls) -> str:
    return ", ".join(f"{count:,} {trigger}" for trigger, count in triggers_in(found).items())


def _unit(found: Calls) -> str:
    return "at list prices" if found.unit == "USD" else "in input tokens; the model has no known price"


def _saved(found: Calls) -> str:
    if not found.untouched_cost:
        return "–"
    return f"{1 - found.cost / found.untouched_cost:.0%}".replace("-0%", "0%")


def _chart(seen: Seen) -> None:
    found = seen.calls
    with box("card"):
        with box("title"):
            Words("h2", "Every call, and what its window was made of")
            say("Point at a call to read it, click to open it. Drag the slider below, or Ctrl and the wheel, to zoom.", "soft small")
        with box("row").style("padding: 8px 20px 0"):
            _legend(found)
        chart = ui.echart(chart_of(found)).classes("chart").style(f"height: {HEIGHT}px")
        chart.props["role"] = "img"
        chart.props["aria-label"] = f"The window of {len(found.calls):,} calls by fate; the table below has the same numbers"
    ui.timer(0, lambda: ui.run_javascript(_CLICKABLE % chart.id), once=True)

    def opened(event: GenericEventArguments) -> None:
        ui.navigate.to(to_call(seen.info.session_id, found.nearest(float(event.args)).number, seen.lens))

    ui.on("call_clicked", opened)
    if len(found.calls) > MOST:
        chart.on("chart:datazoom", partial(_zoomed, chart, found), ["start", "end", "batch"], throttle=0.4, leading_events=False)


def _zoomed(chart: ui.echart, found: Calls, event: GenericEventArguments) -> None:
    """Draw what is zoomed into in full detail: of many calls only some are drawn at first."""
    batch = event.args.get("batch") or [event.args]
    start, end = batch[0].get("start"), batch[0].get("end")
    if start is None or end is None:
        return
    first, last = found.calls[0].number, found.calls[-1].number
    span = last - first
    options = chart_of(found, first + int(span * start / 100), first + int(span * end / 100 + 1))
    chart.options["series"] = options["series"]
    chart.options.pop("dataZoom", None)
    chart.update()


def _legend(found: Calls) -> None:
    with box("legend"):
        for name in parts_in(found):
            Words("span", name).style(f"--fate: {colour(name)}")
        if any(call.budget for call in found.calls):
            Words("span", "budget", "line").style("--fate: #d0483e")
        if any(call.pays_at for call in found.calls):
            Words("span", "a rewrite pays from here", "line dashed").style("--fate: #2f7fd0")
        if any(call.low for call in found.calls):
            Words("span", "compactions come down to", "line dashed").style("--fate: #7d868e")
    with box("legend"):
        for trigger in triggers_in(found):
            shown = Words("span", f"▼ {trigger}").style(f"--fate: transparent; color: {trigger_colour(trigger)}")
            shown.props["title"] = TRIGGERS[trigger][1]
        for name, shade in (("cached", CACHED), ("fresh", FRESH), ("cost as sent", SENT), ("untouched", UNTOUCHED)):
            Words("span", name).style(f"--fate: {shade}")


def _compactions(seen: Seen) -> None:
    made = [(call, one) for call in seen.calls.calls for one in call.reductions]
    if not made:
        return
    with box("card"):
        with box("title"):
            Words("h2", "Compactions")
            say("Everything else was sent as the call before, and more.", "soft small")
        with box("scroll") as place:
            _listed(place, seen, made, _LISTED)


def _listed(place: Element, seen: Seen, made: Sequence[tuple[Call, Reduction]], most: int) -> None:
    place.clear()
    with place:
        with box("list", "table"):
            with box(tag="thead"), box(tag="tr"):
                for name, kind in (("Call", "number"), ("Because", ""), ("History", "number"), ("Reason", ""), ("Passes", "hide-narrow")):
                    Words("th", name, kind)
            with box(tag="tbody"):
                for call, one in list(made)[:most]:
                    _compaction(seen, call, one)
        if len(made) > most:
            with box("row").style("justify-content: center; padding: 10px"):
                button(f"Show all {len(made):,}", lambda: _listed(place, seen, made, len(made)))


def _compaction(seen: Seen, call: Call, one: Reduction) -> None:
    with box(tag="tr"):
        with box("number", "td"):
            link(f"{call.number:,}", to_call(seen.info.session_id, call.number, seen.lens))
        with box(tag="td"):
            shown = Words("span", one.trigger, "chip dot").style(f"--fate: {trigger_colour(one.trigger)}")
            shown.props["title"] = TRIGGERS.get(one.trigger, ("", ""))[1]
        Words("td", f"{tokens(one.before)} → {tokens(one.after)}", "number")
        Words("td", one.reason)
        Words("td", ", ".join(one.passes), "hide-narrow soft")


def _calls(seen: Seen) -> None:
    with box("card"):
        with box("title"):
            Words("h2", "Calls")
            box("grow")

            def opened(given: str) -> None:
                if given.strip().isdigit():
                    ui.navigate.to(to_call(seen.info.session_id, seen.calls.nearest(int(given)).number, seen.lens))

            entry("Go to call", "", opened, width="110px", number=True)
        with box("scroll") as place:
            _page_of_calls(place, seen, 0)


def _page_of_calls(place: Element, seen: Seen, first: int) -> None:
    calls = seen.calls.calls
    columns = (
        ("Call", "number"), ("Turn", "number hide-narrow"), ("Tokens", "number"), ("Window", ""),
        ("Cached", "number"), ("Cost", "number hide-narrow"), ("Compaction", ""),
    )  # fmt: skip
    place.clear()
    with place:
        with box("list", "table"):
            with box(tag="thead"), box(tag="tr"):
                for name, kind in columns:
                    Words("th", name, kind)
            with box(tag="tbody"):
                for call in calls[first : first + _LISTED]:
                    _call_row(seen, call)
        if len(calls) > _LISTED:
            with box("row").style("justify-content: center; padding: 10px"):
                earlier = button("Earlier", lambda: _page_of_calls(place, seen, first - _LISTED), "quiet")
                say(f"{first + 1:,}–{min(first + _LISTED, len(calls)):,} of {len(calls):,}", "soft small")
                later = button("Later", lambda: _page_of_calls(place, seen, first + _LISTED), "quiet")
            for made, off in ((earlier, first == 0), (later, first + _LISTED >= len(calls))):
                if off:
                    made.props["disabled"] = True


def _call_row(seen: Seen, call: Call) -> None:
    with box(tag="tr"):
        with box("number", "td"):
            link(f"{call.number:,}", to_call(seen.info.session_id, call.number, seen.lens))
        Words("td", f"{call.turn:,}", "number hide-narrow soft")
        Words("td", f"{call.tokens:,}", "number")
        with box(tag="td").style("min-width: 120px; width: 30%"):
            meter(call.parts, call.budget or call.tokens)
        Words("td", share(call.cached, call.tokens), "number")
        Words("td", money(call.cost, seen.calls.unit), "number hide-narrow")
        with box(tag="td"):
            for one in call.reductions:
                chip(one.trigger, "dot").style(f"--fate: {trigger_colour(one.trigger)}")


def meter(parts: dict[str, int], whole: int, kind: str = "") -> None:
    """A bar of what a window is made of, as wide as its budget."""
    with box(f"meter {kind}") as bar:
        bar.props["role"] = "img"
        bar.props["aria-label"] = ", ".join(f"{name} {size:,} tokens" for name, size in parts.items())
        for name, size in parts.items():
            piece = box().style(f"width: {100 * size / max(whole, sum(parts.values()), 1):.3f}%; background: {colour(name)}")
            piece.props["title"] = f"{name}: {size:,} tokens"


def _lens_form(info: SessionInfo, lens: Lens) -> None:
    """What the session is looked at through, and a way to change it."""
    chosen = {"policy": lens.policy, "budget": str(lens.budget or ""), "model": lens.model or ""}

    def again() -> None:
        budget = int(chosen["budget"]) if chosen["budget"].isdigit() and int(chosen["budget"]) > 0 else None
        ui.navigate.to(to_session(info.session_id, Lens(policy=chosen["policy"], budget=budget, model=chosen["model"].strip() or None)))

    names = {one.name: one.name for one in described(config_at()) if one.kind != "baseline"}
    with box("card padded"):
        with box("row").style("align-items: flex-end"):
            with box("grow").style("flex-basis: 320px"):
                Words("h2", "As Foveate would have sent it")
                why = (
                    "Its requests were recorded; here they are made again under other terms."
                    if info.calls
                    else "The log does not say what its agent sent, so every call is made again from what was said before it."
                )
                say(f"{why} No model is asked.", "soft small")
            choice("Policy", names, lens.policy, lambda value: chosen.update(policy=value))
            entry("Budget, tokens", chosen["budget"], lambda value: chosen.update(budget=value), width="130px", number=True)
            entry("Model, for prices", chosen["model"], lambda value: chosen.update(model=value), width="190px")
            button("Replay", again, "main")
            if info.calls:
                link("Back to what was recorded", to_session(info.session_id), "button quiet")
