"""References: what an action takes from the history, and whether a request still has it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lab.conversations import Chat, call, result, user

from foveate.lab.prefix import shared_prefix
from foveate.lab.references import History, candidates, is_visible

READ = result("c1", "    ship = find_ship(berth)\n    return release_berth(ship)\n")
ACTION = call("c2", "src/harbor.py release_berth")


def history(*chats: Chat) -> History:
    grown = History("Be brief.", [*chats, ACTION], lambda _: 10)
    for chat in chats:
        grown.append(chat)
    return grown


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("open src/harbor.py, then release_berth(ship)", {"src/harbor.py", "release_berth"}),
        ("commit 3f2a91c at HarborMaster", {"3f2a91c", "HarborMaster"}),
        ("the quick brown fox and/or /dev/null", set()),
        ("", set()),
    ],
)
def test_paths_hashes_and_identifiers_are_references(text: str, found: set[str]) -> None:
    assert candidates(text) == found


def test_only_what_was_seen_before_is_due() -> None:
    """`release_berth` was read; `src/harbor.py` is in the first user message, which every policy keeps."""
    first = {"role": "user", "content": "Look at src/harbor.py"}
    due = history(first, call("c1", "x"), READ).references(ACTION)

    assert [(one.text, one.observed_only) for one in due] == [("release_berth", True)]


def test_a_reference_is_kept_amid_what_stood_around_it() -> None:
    grown = history(user(3), call("c1", "x"), READ)
    quoted = {"role": "user", "content": "m3:\n    return release_berth(ship)"}
    listed = {"role": "user", "content": "names: find_ship, release_berth, harbor"}

    assert grown.kept(["release_berth"], [READ]) == {"release_berth"}
    assert grown.kept(["release_berth"], [quoted]) == {"release_berth"}
    assert grown.kept(["release_berth"], [listed]) == set()
    assert is_visible("release_berth", [listed])
    assert grown.kept(["release_berth"], [dict(READ)]) == {"release_berth"}
    assert grown.kept(["release_berth"], []) == set()


def test_a_reference_is_held_by_the_messages_that_have_it() -> None:
    grown = history(user(3), call("c1", "x"), READ)

    assert grown.is_held("release_berth", {2})
    assert not grown.is_held("release_berth", {0, 1})


@given(st.lists(st.integers(0, 2)), st.lists(st.integers(0, 2)), st.integers(0, 30))
def test_the_common_prefix_is_the_longest_one(before: list[int], after: list[int], common: int) -> None:
    one: list[dict[str, Any]] = [{"n": 9}] * common + [{"n": number} for number in before]
    other: list[dict[str, Any]] = [{"n": 9}] * common + [{"n": number} for number in after]
    shared = shared_prefix(one, other)

    assert one[:shared] == other[:shared]
    assert shared == min(len(one), len(other)) or one[shared] != other[shared]
