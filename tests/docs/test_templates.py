"""The page on templates names everything that a template may use."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from foveate.chat.front import Front
from foveate.chat.render_process import MOST_SECONDS
from foveate.chat.sandbox import FILTERS, MOST_CHARACTERS, MOST_DEPTH, MOST_PARTS, MOST_RANGE, TESTS
from foveate.chat.templates import MOST_BYTES, PLACEHOLDERS

PAGE = (Path(__file__).parents[2] / "docs" / "templates.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "names", [PLACEHOLDERS, FILTERS, TESTS, [one.name for one in fields(Front) if one.name != "notes"]]
)
def test_the_page_names_each(names: tuple[str, ...]) -> None:
    assert [name for name in names if f"`{name}`" not in PAGE] == []


@pytest.mark.parametrize("most", [MOST_BYTES, MOST_PARTS, MOST_DEPTH, MOST_SECONDS, MOST_CHARACTERS, MOST_RANGE])
def test_the_page_has_each_limit(most: int) -> None:
    assert f" {most:,} " in PAGE or f" {most:,}." in PAGE
