"""Mask: old large outputs become placeholders."""

import pytest
from inline_snapshot import snapshot
from tests.dialogue import drafted, exchange, lines, reading, says, session_of, texts, user

from foveate import ConfigError
from foveate.compile.passes import Mask


def masked(messages, **shares) -> dict:
    draft, ctx = drafted(session_of(messages), **shares)
    return {item.id: item for item in Mask()(draft, ctx).items if item.fate == "masked"}


def test_a_placeholder_says_what_was_there_and_how_to_get_it_back() -> None:
    """Head and tail, size, reference."""
    items = masked([user("go"), *reading(1, size=30), user("next"), says("ok")])

    assert texts(items.values()) == snapshot(
        {
            "m3": """\
file0 0: the quick brown fox jumps over the lazy
file0 1: the quick brown fox jumps over the lazy
file0 2: the quick brown fox jumps over the lazy
file0 3: the quick brown fox jumps over the lazy
[… 30 lines, 423 tokens; reference m3 …]
file0 26: the quick brown fox jumps over the lazy
file0 27: the quick brown fox jumps over the lazy
file0 28: the quick brown fox jumps over the lazy
file0 29: the quick brown fox jumps over the lazy\
"""
        }
    )


def test_the_tail_small_outputs_and_errors_stay_in_full() -> None:
    """Only what is old, large and went well is masked."""
    items = masked(
        [
            user("go"),
            *exchange("small", "Read", "x = 1", file_path="s.py"),
            *exchange("failed", "Bash", "Exit code: 1\n" + lines(60), command="make"),
            *reading(3),
        ]
    )

    assert list(items) == ["m7", "m9"]


def test_a_pinned_exchange_is_not_masked() -> None:
    """Pinned is verbatim."""
    session = session_of([user("go"), *reading(2), user("next"), says("ok")])
    session.pin("m3")
    draft, ctx = drafted(session)

    assert [item.id for item in Mask()(draft, ctx).items if item.fate == "masked"] == ["m5"]


def test_a_placeholder_is_restorable_word_for_word() -> None:
    """Nothing is ever lost."""
    session = session_of([user("go"), *reading(1, size=60)])

    assert session.recall("m3") == lines(60, "file0")


def test_one_line_of_a_megabyte_gives_a_short_placeholder() -> None:
    """A minified file has no lines to preview."""
    (item,) = masked(
        [user("go"), *exchange("1", "Read", "var a_1=2;" * 100_000, file_path="min.js"), user("next"), says("ok")]
    ).values()

    assert item.tokens < 400


def test_a_useless_threshold_is_refused() -> None:
    """With value and option."""
    with pytest.raises(ConfigError, match="`above` must be 1 token or more, got 0"):
        Mask(above=0)
