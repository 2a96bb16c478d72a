"""The templates that come with Foveate are good ones: complete, in bounds, and of use with and without a model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from foveate.chat.contract import violations
from foveate.chat.finding import TemplateFolders
from foveate.chat.rendering import rendered
from foveate.chat.templates import PLACEHOLDERS, Template

NAMES = ["chat", "coding", "goal-oriented", "research"]
VALUES = {
    "topic": "A walk along the coast in May.",
    "constraints": ["no more than 20 km a day (m3)", "vegetarian (m9)"],
    "plan": "Book the hut.",
    "recent_turns": [{"speaker": "user", "text": "And the train?"}],
    "tool_results": [{"tool": "timetable", "result": "07:12 from platform 3"}],
    "reflections": [{"observation": "the first hut was full", "adjustment": "ask before planning"}],
    "latest_input": "Which one is next?",
    "recalled": ["m2: my knee hurts on stairs"],
    "ledger": ["assistant m4: the north path is closed"],
    "computed_context": "two earlier walks",
}


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Template]:
    folders = TemplateFolders(None, tmp_path_factory.mktemp("system"))
    folders.seed()
    return {one.name: folders.load(one.name) for one in folders.available()}


def test_there_are_four(shipped: dict[str, Template]):
    assert list(shipped) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_says_what_it_is_for_and_how_long_a_summary_may_be(shipped: dict[str, Template], name: str):
    read = shipped[name]

    assert read.notes == () and read.description and read.chat_instructions
    assert re.search(r"No\s+more\s+than\s+\d+\s+words\s+in\s+all", read.context_instructions)
    assert read.contract and read.contract_text not in read.context_instructions
    headings = re.findall(r"^- `## (.+?)`: ", read.context_instructions, re.MULTILINE)
    limits = re.findall(r"\d+\s+(?:lines|sentences)\s+at\s+most", read.context_instructions)
    assert len(headings) == len(limits) >= 7


@pytest.mark.parametrize("name", NAMES)
def test_each_is_of_use_without_a_model(shipped: dict[str, Template], name: str):
    """All that is known stands in it once, under the headings that a model would be asked for, and nothing else."""
    text = rendered(shipped[name], VALUES)

    for value in (
        "coast in May",
        "20 km",
        "hut.",
        "And the train?",
        "07:12",
        "hut was full",
        "north path",
        "two earlier",
    ):
        assert text.count(value) == 1
    assert "my knee" not in text, "what is recalled stands before its input"
    assert "{" not in text and "Instructions" not in text and "\n\n\n" not in text
    assert violations(shipped[name], text) == []
    assert rendered(shipped[name], {}) == ""
    assert rendered(shipped[name], {"topic": "Trees"}).endswith("\nTrees")


@pytest.mark.parametrize("name", NAMES)
def test_a_summary_stays_the_same_when_only_the_newest_input_changes(shipped: dict[str, Template], name: str):
    """The newest input is sent itself; in the summary it would change what the provider has cached."""
    assert rendered(shipped[name], VALUES | {"latest_input": "else"}) == rendered(shipped[name], VALUES)


def test_every_placeholder_is_used_but_what_is_sent_itself(shipped: dict[str, Template]):
    used = {name for name in PLACEHOLDERS if all(f"{{{{ {name} }}}}" in read.form for read in shipped.values())}

    assert used == set(PLACEHOLDERS) - {"latest_input", "recalled"}


def test_a_wheel_has_them():
    """They are files of the package, next to its modules."""
    import foveate.chat

    folder = Path(foveate.chat.__file__).parent / "shipped"
    assert sorted(path.stem for path in folder.glob("*.md")) == NAMES
