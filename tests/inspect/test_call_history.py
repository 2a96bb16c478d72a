"""The numbers of calls, and what became of messages: the same as the compiler's own account of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.web.sessions import sample_in

from foveate.budget.economics import call_cost
from foveate.budget.profiles import profile_for
from foveate.inspect.call_history import CallHistory, read_call_history
from foveate.inspect.call_views import CallViews
from foveate.inspect.calls import read_calls
from foveate.inspect.fates import calls_of_reduced_items, fate_history
from foveate.inspect.request import request_contents
from foveate.session import Session
from foveate.session.durable import recorded_call
from foveate.store import SessionInfo, Store
from foveate.web.chart import MOST, chart_of, parts_in, thinned, triggers_in
from foveate.web.replaying import prepared


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, SessionInfo]]:
    with Store(tmp_path_factory.mktemp("calls") / "a.db") as store:
        yield store, sample_in(store)


def test_the_parts_of_a_window_are_all_of_it(stored: tuple[Store, SessionInfo]) -> None:
    """What is drawn for a call sums up to what was sent, and every compaction is there with its reason."""
    found = read_call_history(*stored)
    calls = read_calls(*stored)

    assert len(found.entries) == stored[1].calls > 150
    assert all(sum(entry.parts.values()) == entry.call.tokens for entry in found.entries)
    assert {"must", "free"} <= set(triggers_in(found))
    assert found.triggers().total() == sum(len(one.reductions) for one in calls)
    assert {"system", "verbatim", "folded"} <= set(parts_in(found))


def test_costs_are_those_of_the_price_list(stored: tuple[Store, SessionInfo]) -> None:
    """A call costs what its fresh and cached tokens cost; the untouched history is dearer than what was sent."""
    found, profile = read_call_history(*stored), profile_for("claude-sonnet-4-5")
    assert profile.input_price is not None
    entry = found.entries[40]

    assert found.unit == "USD"
    each = profile.input_price / 1e6
    assert entry.sent.cost == pytest.approx(each * call_cost(entry.sent.tokens, entry.sent.cached, profile.cache))
    assert (entry.sent.tokens, entry.sent.cached) == (entry.call.tokens, entry.call.predicted_cached)
    assert all(one.untouched.tokens >= one.sent.tokens or one.parts.get("folded") for one in found.entries)
    assert found.untouched.cost > 2 * found.sent.cost


def test_without_a_price_costs_are_in_tokens(tmp_path: Path) -> None:
    """A model that nobody knows the price of is not taken for a free one."""
    with Session.open(tmp_path / "a.db", "s", budget=500) as session:
        session.append({"role": "user", "content": "Hello"})
        session.compile()
    with Store(tmp_path / "a.db") as store:
        found = read_call_history(store, store.session("s"))

    assert found.unit == "input tokens"
    assert found.sent.cost == found.entries[0].sent.tokens


def test_a_message_has_the_life_that_its_calls_show(stored: tuple[Store, SessionInfo]) -> None:
    """Which calls saw a message, and in which form, agrees with each of those calls."""
    store, info = stored
    views = {
        number: [one.fate for one in recorded_call(store, info, number).explain().fates]
        for number in (20, 60, 110, 113, 160, 200)
    }
    for position in (0, 1, 7, 33, 90, 150, 200, 260, 330, 400):
        life = fate_history(store, info, f"m{position + 1}", position)
        for number, fates in views.items():
            fate = fates[position] if position < len(fates) else ""
            lived = [one.fate for one in life if one.first <= number <= one.last]
            assert lived == ([fate] if fate else []), (position, number)


def test_a_message_after_the_last_call_was_seen_by_none(stored: tuple[Store, SessionInfo]) -> None:
    """What nobody has seen yet has no life to tell of."""
    store, info = stored

    assert fate_history(store, info, f"m{info.messages}", info.messages - 1) == []
    assert fate_history(store, info, "m99999", 99_998) == []


def test_a_reduced_item_says_when_it_was_made(stored: tuple[Store, SessionInfo]) -> None:
    """Every reduced block names the call at which it got its form, as the explanation does."""
    store, info = stored
    view = recorded_call(store, info, 113)
    made = calls_of_reduced_items(store, info, view, 113)
    explained = {record.shown_in: record.call for record in view.explain().fates if record.call}

    assert made
    assert {id: call for id, call in made.items() if id in explained} == {
        id: call for id, call in explained.items() if id in made
    }


def test_a_window_is_the_request(stored: tuple[Store, SessionInfo]) -> None:
    """The blocks hold every text that is sent, in its order, and the prefix ends where the compiler says."""
    store, info = stored
    view = recorded_call(store, info, 90)
    window = request_contents(view, {}, predicted_cached=1)

    assert [block.text for block in window.blocks[-len(view.items) :]] == [item.message.text for item in view.items]
    assert window.cached_blocks == 1 + view.shared, "the tools stand before the history"
    assert request_contents(view, {}, predicted_cached=0).cached_blocks == 0
    assert sum(window.parts.values()) == view.tokens


def test_a_call_is_the_same_from_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints only save time: what is computed from one is byte for byte what was sent."""
    monkeypatch.setattr("foveate.inspect.call_views.CHECKPOINT_EVENTS", 100)
    monkeypatch.setattr("os.nice", lambda _by: 0)
    with Store(tmp_path / "a.db") as store:
        info = sample_in(store, turns=3)
        told: list[float | None] = []
        made = prepared(lambda _what, share: told.append(share), str(tmp_path / "a.db"), "sample", str(tmp_path / "s"))
        views = CallViews(store, info, tmp_path / "s")

        assert made == len(told) == info.events // 100
        for number in (1, 40, 77, info.calls):
            assert views.view(number).payload == recorded_call(store, info, number).payload
        assert views.difference(40, 41).first == 40
        assert prepared(lambda *_told: None, str(tmp_path / "a.db"), "sample", str(tmp_path / "s")) == made


@given(st.integers(1, 3_000), st.integers(4, 200), st.sets(st.integers(0, 2_999), max_size=30))
def test_thinning_keeps_the_ends_and_the_compactions(count: int, most: int, compacted: set[int]) -> None:
    """Of many calls some are drawn: the first, the last, and as many compactions as go in."""
    calls = [_call(number, is_compacted=number in compacted) for number in range(count)]
    drawn = thinned(calls, most)

    assert drawn[0] is calls[0] and drawn[-1] is calls[-1]
    assert len(drawn) <= 2 * most + 2
    assert [call.number for call in drawn] == sorted({call.number for call in drawn})
    if len(compacted) <= most // 2:
        assert {call.number for call in drawn} >= {number for number in compacted if number < count}


def test_a_chart_is_plain_and_bounded(stored: tuple[Store, SessionInfo]) -> None:
    """However many calls there are, a chart has few points; no name in it comes from a log."""
    entries = read_call_history(*stored).entries
    many = [entries[number % len(entries)] for number in range(20_000)]
    numbered = [replace(one, call=replace(one.call, number=number)) for number, one in enumerate(many, start=1)]
    found = CallHistory.of(numbered, "USD")

    whole = json.dumps(chart_of(found))
    near = chart_of(found, 5_000, 5_400)

    assert len(whole) < 3_000_000
    drawn = [point[0] for point in near["series"][0]["data"]]
    assert set(range(5_000, 5_401)) <= set(drawn)
    assert len(drawn) < 3 * MOST
    assert set(_evaluated(near)) <= {
        "(value) => foveate.short(value)", "(value) => foveate.money(value)", "(points) => foveate.tip(points)",
    }  # fmt: skip


def _evaluated(options: Any) -> Iterator[str]:
    """What a browser would run of options."""
    if isinstance(options, dict):
        for key, value in options.items():
            if key.startswith(":"):
                yield value
            yield from _evaluated(value)
    elif isinstance(options, list):
        for one in options:
            yield from _evaluated(one)


def _call(number: int, *, is_compacted: bool) -> Any:
    from types import SimpleNamespace

    return SimpleNamespace(number=number, call=SimpleNamespace(reductions=(1,) if is_compacted else ()))
