"""Signals of a task: words, domains, files, types."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.knowledge.models import ContextTask
from foveate.knowledge.signals import DOMAINS, Signals, extract_signals
from foveate.recall.stems import stem


def signals(objective: str, *criteria: str, **more: object) -> Signals:
    return extract_signals(ContextTask(objective=objective, acceptance_criteria=criteria), **more)  # type: ignore[arg-type]


def test_the_worked_example() -> None:
    found = signals("Add a login endpoint in src/api/auth.py", "returns a JWT token", "has a test")
    assert {"login", "endpoint", "jwt", "token", "test", "auth"} <= set(found.keywords)
    assert not {"a", "in", "has"} & set(found.keywords)
    assert found.domains == ("api", "auth", "testing")
    assert found.files_mentioned == ("src/api/auth.py",)
    assert found.task_types == ("implementation",)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_domain_is_found_by_its_own_name(domain: str) -> None:
    """The plain way knew only the words listed for it."""
    assert domain in signals(f"Rework the {domain} layer").domains


@pytest.mark.parametrize("word", ["endpoints", "Endpoint", "ENDPOINTS"])
def test_forms_of_a_word_are_one(word: str) -> None:
    """The plain way compared words letter by letter."""
    assert signals(f"Document all {word}").domains == ("api",)
    assert stem("endpoint") in signals(f"Document all {word}").stems


def test_a_word_inside_another_is_not_that_word() -> None:
    assert signals("Improve the build").domains == ()
    assert signals("Fix the ui").domains == ("ui",)


def test_domains_can_be_added_and_replaced() -> None:
    found = signals("Ship the container", domains={"deploy": ["container", "docker"]})
    assert found.domains == ("deploy",)
    assert signals("a login", domains={"auth": ["oauth"]}).domains == ()


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("see README.md.", ("README.md",)),
        ("in ./src/a_b.py, and `tests/x-y.test.ts`", ("src/a_b.py", "tests/x-y.test.ts")),
        ("and/or read/write, e.g. i.e. etc.", ()),
        ("version 1.2.3 or v2.0", ()),
        ("https://example.org/a/b.html", ()),
        ("文件 src/主页.py 里", ("src/主页.py",)),
        ("Makefile and .github/workflows/ci.yml", (".github/workflows/ci.yml",)),
    ],
)
def test_paths_are_told_from_prose(text: str, files: tuple[str, ...]) -> None:
    assert signals(text).files_mentioned == files


def test_technical_terms_are_kept_whole_and_in_parts() -> None:
    found = signals("Make parseOrder and user_id work with C++, node.js and utf-8")
    assert {"parseorder", "parse", "order", "user", "c++", "node.js", "utf-8"} <= set(found.keywords)


def test_other_scripts_have_words_too() -> None:
    assert "分页" in signals("给订单接口添加分页").keywords


@given(st.text())
def test_any_text_has_signals_and_always_the_same(text: str) -> None:
    if text:
        found = signals(text)
        assert found == signals(text)
        assert len(found.keywords) == len(set(found.keywords)) <= 64
