"""A contract says what a summary lacks, and never stops one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foveate.chat.contract import violations
from foveate.chat.templates import Template, template_of

CONTRACT = "```yaml\ntopic: text\nopen_questions: list\nsure: yes or no\nmore: as you like\n```"


def template(text: str = CONTRACT) -> Template:
    return template_of(text.encode(), name="x", source="vault", path=Path("x.md"))


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ('{"topic": "a", "open_questions": [], "sure": true, "more": {}}', []),
        ('{"topic": "N/A", "Open Questions": null, "sure": "n/a", "more": 1, "other": 2}', []),
        (
            '{"topic": ["a"], "open-questions": "b", "sure": 1}',
            [
                "`topic` is a list; the contract asks for text",
                "`open_questions` is text; the contract asks for a list",
                "`sure` is a number; the contract asks for yes or no",
                "`more` is missing",
            ],
        ),
        ("topic: a\nopen_questions: [b]\nsure: true\n", ["`more` is missing"]),
        (
            'Here it is:\n```json\n{"topic": "a"}\n```',
            ["`open_questions` is missing", "`sure` is missing", "`more` is missing"],
        ),
        ("## Topic\na\n## Open questions\nNote: b\nIt is sure, and more.", []),
        (
            "The topic is a.",
            ["`open_questions` is not mentioned", "`sure` is not mentioned", "`more` is not mentioned"],
        ),
        ("topics", [f"`{key}` is not mentioned" for key in ("topic", "open_questions", "sure", "more")]),
        ("[1, 2]", [f"`{key}` is not mentioned" for key in ("topic", "open_questions", "sure", "more")]),
    ],
)
def test_what_is_missing_or_of_another_kind_is_said(output: str, found: list[str]):
    assert violations(template(), output) == found


def test_without_a_contract_nothing_is_asked_for():
    assert violations(template("{{ topic }}"), "anything") == []
    assert violations(template("```yaml\n{}\n```"), "anything") == []


def test_scripts_without_blanks_are_understood():
    chinese = template("```yaml\n主题: text\n计划: text\n```")

    assert violations(chinese, "当前主题是健康") == ["`计划` is not mentioned"]


@settings(max_examples=50, deadline=None)
@given(st.text() | st.recursive(st.sampled_from("[]{}:,-\n&*!'\"` a1"), lambda x: st.lists(x).map("".join)))
@example("[" * 100_000)
@example("a: " * 5_000)
@example("- " * 9_000)
@example("&a [*a]")
@example('{"topic": ' + "9" * 6_000 + "}")
@example("topic: !!bool perhaps")
@example("```json\n" * 500)
@example("\ud800")
def test_any_output_is_compared_without_an_error(output: str):
    assert all(isinstance(one, str) for one in violations(template(), output))
