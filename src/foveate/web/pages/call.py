"""Call: one request exactly as it was sent, and the one that would be sent now."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from nicegui import ui

from foveate.api.ahead import Ahead, ahead_without_budget, options_ahead
from foveate.api.messages import one_message
from foveate.compile.compiled import CompiledContext
from foveate.compile.explain import Explanation
from foveate.errors import FoveateError
from foveate.inspect.call_history import HistoryEntry
from foveate.inspect.request import RequestContents, request_contents
from foveate.lab.config import config_at
from foveate.lab.policies import policy_called
from foveate.store import SessionInfo
from foveate.web.blocks import blocks_of
from foveate.web.chart import trigger_colour
from foveate.web.desk import Desk, Seen
from foveate.web.fates import colour
from foveate.web.frame import back_from, framed, headed, loaded, session_tabs
from foveate.web.links import to_call, to_difference, to_log, to_session
from foveate.web.pages.call_tables import meter
from foveate.web.pages.session import head_of
from foveate.web.phrases import counted, money, share, tokens
from foveate.web.pieces import Words, box, button, chip, choice, entry, facts, link, notice, say
from foveate.web.replaying import Lens
from foveate.web.widgets import RequestView
from foveate.wire.formats import FORMATS

_COPIED: Final = {
    "openai": "OpenAI",
    "openai-compatible": "OpenAI-compatible",
    "anthropic": "Anthropic",
    "openai-responses": "OpenAI Responses",
    "gemini": "Gemini",
}

# As many as `foveate explain` prints.
_DIAGNOSTICS: Final = 10


class _Opened(NamedTuple):
    """A call with what its page needs to know of its session."""

    seen: Seen
    call: HistoryEntry
    contents: RequestContents
    pins: Mapping[str, bool]


class _Ahead(NamedTuple):
    """The request that would be sent now."""

    info: SessionInfo
    view: CompiledContext
    contents: RequestContents
    pins: Mapping[str, bool]


def call_page(desk: Desk, session: str, number: int, lens: Lens | None) -> None:
    """Build the page of a call."""

    async def fetch() -> _Opened:
        seen = await desk.seen(session, lens)
        contents = await asyncio.to_thread(seen.contents, number)
        return _Opened(seen, seen.entry(number), contents, await asyncio.to_thread(_pins, desk, seen.info))

    with framed("Sessions"):
        status = partial(desk.preparation, session)
        loaded(
            fetch,
            partial(_show_call, desk),
            "Computing the request again",
            status=status,
            back=partial(back_from, desk.store, session),
        )


def next_page(desk: Desk, session: str, lens: Lens | None) -> None:
    """Build the page of what would be sent now."""

    async def fetch() -> _Ahead:
        store = await desk.open()
        info = await asyncio.to_thread(store.session, session)
        return await asyncio.to_thread(_ahead, desk, info, lens)

    with framed("Sessions"):
        loaded(
            fetch,
            partial(_show_next, desk, lens),
            "Compiling what the model would see now",
            back=partial(back_from, desk.store, session),
        )


def _ahead(desk: Desk, info: SessionInfo, lens: Lens | None) -> _Ahead:
    view = _next(desk, info, lens).view(desk.store, desk.room, info.session_id, by_template=lens is None)
    return _Ahead(info, view, request_contents(view, {}, view.predicted_cached), _pins(desk, info))


def _next(desk: Desk, info: SessionInfo, lens: Lens | None) -> Ahead:
    """Budget and policy: those of the lens, else those that the session would be asked with."""
    if lens is None:
        ahead = options_ahead(desk.store, desk.room, info)
        if info.calls or ahead.has_budget:
            return ahead
        lens = Lens()
    if lens.budget is None:
        return ahead_without_budget(info)
    return Ahead({"budget": lens.budget, "policy": policy_called(lens.policy, config_at())}, has_budget=True)


def _pins(desk: Desk, info: SessionInfo) -> Mapping[str, bool]:
    return desk.memory.log_state(desk.store, info).pins


def _show_call(desk: Desk, opened: _Opened) -> None:
    seen, call, contents, pins = opened
    session, lens = seen.info.session_id, seen.lens
    crumbs = [("Sessions", "/"), (seen.info.title or session, to_session(session, lens))]
    recorded = "Computed again from the log; its hash is the one that was recorded."
    lede = "As Foveate would have sent it." if lens is not None else recorded
    with headed(f"Call {call.number:,}", lede, crumbs), box("row"):
        _step(seen, call.number, -1, "← Earlier", "ArrowLeft")
        _step(seen, call.number, 1, "Later →", "ArrowRight")
    with box("stack"):
        _account(seen, call, contents)
        _tools_bar(seen, call)
        _explained(partial(seen.explanation, call.number), session, lens)
        _request(desk, blocks_of(contents, call.call.predicted_cached, session, lens, pins), session)


def _show_next(desk: Desk, lens: Lens | None, ahead: _Ahead) -> None:
    info, view, contents, pins = ahead
    head_of(info)
    session_tabs(info, "Next call", lens)
    limit = view.budget.limit if view.budget is not None else None
    with box("stack"):
        notice(
            "This is what the model would be sent if it were asked now. Nothing is recorded by looking. "
            "Pin a message in the log, and it stands here word for word.",
            "tip",
        )
        with box("card padded"):
            _size(view.tokens, limit, contents)
            if view.decision is not None:
                not_done = f"Not compacted: {view.declined}." if view.declined is not None else None
                _compacted(view.decision.trigger, not_done or view.decision.reason)
        _explained(view.explain, info.session_id, lens)
        _request(desk, blocks_of(contents, view.predicted_cached, info.session_id, lens, pins), info.session_id)


def _size(size: int, limit: int | None, contents: RequestContents) -> None:
    with box("row"):
        Words("h2", f"{size:,} tokens")
        if limit is not None:
            say(f"of {limit:,}, {share(size, limit)} full", "soft")
    with box().style("margin: 10px 0"):
        meter(contents.parts, limit or size, "tall")
    with box("legend"):
        for name, part in contents.parts.items():
            Words("span", f"{name} {part:,}").style(f"--fate: {colour(name)}")


def _compacted(trigger: str, said: str) -> None:
    with box("notice").style("margin-top: 14px"):
        chip(trigger, "dot").style(f"--fate: {trigger_colour(trigger)}; margin-right: 8px")
        Words("span", said)


def _step(seen: Seen, number: int, step: int, name: str, key: str) -> None:
    beside = seen.history.beside(number, step)
    made = link(name, to_call(seen.info.session_id, beside.number, seen.lens) if beside is not None else "#", "button")
    made.props["data-key"] = key
    if beside is None:
        made.props["aria-disabled"] = "true"
        made.props["tabindex"] = "-1"


def _account(seen: Seen, call: HistoryEntry, contents: RequestContents) -> None:
    with box("card padded"):
        _size(call.call.tokens, call.call.budget, contents)
        for one in call.call.reductions:
            _compacted(one.trigger, f"Compacted for this call: {one.reason}.")
            with box("small soft").style("padding: 4px 2px 0"):
                Words("span", f"History {tokens(one.before)} → {tokens(one.after)} tokens by {', '.join(one.passes)}")
        with box().style("margin-top: 16px"):
            facts(_facts(seen, call), "wide")


def _facts(seen: Seen, call: HistoryEntry) -> list[tuple[str, str]]:
    unit, record = seen.history.unit, call.call
    found = [
        ("Cached", f"{record.predicted_cached:,} tokens predicted ({share(record.predicted_cached, record.tokens)})"),
        ("Input cost", f"{money(call.sent.cost, unit)}; the untouched history {money(call.untouched.cost, unit)}"),
        ("Policy", _policy(call)),
        ("Log by then", f"{record.messages:,} messages, {call.untouched.tokens:,} tokens as a request of its own"),
        ("Sent", f"{record.time.astimezone():%Y-%m-%d %H:%M:%S}, in turn {record.turn:,}"),
        ("Hash", f"{record.payload_sha256[:16]}…, checked just now"),
    ]
    tags = seen.info.tags
    if agent := ", ".join(tags[name] for name in ("agent", "strategy") if tags.get(name)):
        found.insert(2, ("Agent", agent))
    if record.reported_input is not None:
        cached = f", {record.reported_cached:,} of them cached" if record.reported_cached is not None else ""
        found.insert(1, ("Reported", f"{record.reported_input:,} input tokens{cached}"))
    return found


def _policy(call: HistoryEntry) -> str:
    name = call.call.policy or call.call.strategy
    return name if call.call.model in ("", "unspecified") else f"{name}, for {call.call.model}"


def _tools_bar(seen: Seen, call: HistoryEntry) -> None:
    session, number = seen.info.session_id, call.number
    earlier = seen.history.beside(number, -1) or seen.history.beside(number, 1)
    chosen = {"format": "openai", "other": str(earlier.number) if earlier is not None else ""}

    async def copy() -> None:
        view = await asyncio.to_thread(seen.view, number)
        lowered = await asyncio.to_thread(lambda: FORMATS[chosen["format"]].lower(view.request))
        ui.clipboard.write(json.dumps(lowered, ensure_ascii=False, indent=2))
        ui.notify(f"Copied as {_COPIED[chosen['format']]} JSON", position="bottom")

    def compare() -> None:
        other = seen.history.get(int(chosen["other"])) if chosen["other"].isdigit() else None
        if other is None or other.number == number:
            ui.notify(f"There is no other call {chosen['other']!r} to compare with", position="bottom")
            return
        first, second = sorted((number, other.number))
        ui.navigate.to(to_difference(session, first, second, seen.lens))

    with box("row").style("align-items: flex-end; justify-content: space-between"):
        with box("row").style("align-items: flex-end"):
            entry(
                "Compare with call",
                chosen["other"],
                lambda value: chosen.update(other=value),
                width="130px",
                number=True,
            )
            button("Show what differs", compare, key="d")
        with box("row").style("align-items: flex-end"):
            choice("Copy as", _COPIED, "openai", lambda value: chosen.update(format=value))
            button("Copy JSON", copy, key="c")


def _explained(explain: Callable[[], Explanation], session: str, lens: Lens | None) -> None:
    """The account of a request, as the command line and HTTP give it; of a long log it comes after the request."""
    loaded(
        partial(asyncio.to_thread, explain),
        lambda account: _show_account(account, session, lens),
        "Finding out what became of each message",
    )


def _show_account(account: Explanation, session: str, lens: Lens | None) -> None:
    if account.fates:
        with box("row small"):
            say(f"Of the {len(account.fates):,} messages in the log by then:", "soft")
            for fate, count in account.counts().items():
                chip(f"{count:,} {fate}", fate=fate)
            link("See each in the log", to_log(session, lens=lens))
    if found := _predictions(account):
        with box().style("margin-top: 10px"):
            facts(found, "wide")
    shown = account.diagnostics[-_DIAGNOSTICS:]
    if len(shown) < len(account.diagnostics):
        say(f"{counted(len(account.diagnostics), 'diagnostic')} so far, the last {len(shown)} of them:", "soft small")
    for line in shown:
        notice(line, "warn").style("margin-top: 10px")


def _predictions(account: Explanation) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if account.corrected is not None and account.corrected != account.used:
        found.append(("Provider's count", f"probably {account.corrected:,} tokens, by what it reported so far"))
    if account.cache_marks:
        found.append(("Cache marks", f"behind {', '.join(account.cache_marks)}"))
    if account.unrecorded:
        found.append(("Not recorded by 0.1", ", ".join(account.unrecorded)))
    return found


def _request(desk: Desk, blocks: list[dict[str, Any]], session: str) -> None:
    async def original(key: str) -> str:
        try:
            found = await asyncio.to_thread(one_message, desk.store, desk.memory, session, key)
        except FoveateError as error:
            return f"[{error}]"
        return found.text

    RequestView(blocks, original)
