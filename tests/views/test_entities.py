"""Entities: paths, identifiers and hashes."""

import pytest

from foveate.compile.working_set import entities


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("open src/app.py and fix parse_order for ORD-20931, then rest", ["src/app.py", "parse_order", "ORD-20931"]),
        ("class OrderParser extends baseParser", ["OrderParser", "baseParser"]),
        ("commit 9f8e7d6c5b by me", ["9f8e7d6c5b"]),
        ("plain prose has none, not even well-known words", []),
        ("12,345.67 at 10:30 on 2024-01-02", []),
        ("", []),
        ("修改 src/订单.py 的 parse_order 函数", ["src/订单.py", "parse_order"]),
        ("see ~/notes.md and .env.local", ["~/notes.md", ".env.local"]),
    ],
)
def test_what_names_something_is_found(text: str, found: list[str]) -> None:
    """Prose and bare numbers are not entities."""
    assert entities(text) == found


def test_repetitions_are_kept_in_order() -> None:
    """Counting is the caller's business."""
    assert entities("aa_b cc_d aa_b") == ["aa_b", "cc_d", "aa_b"]


def test_a_word_without_end_is_no_entity() -> None:
    """Encoded blobs are not names."""
    assert entities("A1" * 500_000) == []
