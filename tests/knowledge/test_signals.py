"""Signals of a task: words, domains, files, types."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.knowledge.base import Knowledge
from foveate.knowledge.models import ContextTask, MapEntry, Node
from foveate.knowledge.signals import DOMAINS, Signals, extract_signals
from foveate.knowledge.sources import context_of
from foveate.recall.stems import stem
from foveate.store import Store


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
        ("Makefile and .github/workflows/ci.yml", ("Makefile", ".github/workflows/ci.yml")),
        ("all of src/api, tests/unit and client/server", ("src/api", "tests/unit")),
        ("the Dockerfile, .env and .gitignore; all .py files; .NET", ("Dockerfile", ".env", ".gitignore")),
        (r"edit src\api\orders.py and C:\shop\money.py", ("src/api/orders.py", "/shop/money.py")),
        ('update "user guide.md" and "python main.py"', ("user guide.md", "main.py")),
        ("请修改src/订单.py文件和main.py", ("src/订单.py", "main.py")),
        ("Node.js, next.js, os.path, user.name, foo.bar() and json.py()", ()),
        ("self.db, console.log, process.env, mock.patch, this.json, 9 a.m.", ()),
        ("uv.lock and .env.local", ("uv.lock", ".env.local")),
        ("package.json, tsconfig.build.json; a.py: b.rs", ("package.json", "tsconfig.build.json", "a.py", "b.rs")),
    ],
)
def test_paths_are_told_from_prose(text: str, files: tuple[str, ...]) -> None:
    assert signals(text).files_mentioned == files


def test_technical_terms_are_kept_whole_and_in_parts() -> None:
    found = signals("Make parseOrder and user_id work with C++, node.js and utf-8")
    assert {"parseorder", "parse", "order", "user", "c++", "node.js", "utf-8"} <= set(found.keywords)


def test_other_scripts_have_words_too() -> None:
    assert "分页" in signals("给订单接口添加分页").keywords
    assert signals("Überweisungen Éditer").keywords == ("überweisungen", "éditer")
    assert signals("тесты страница σελίδα الصفحة").keywords == ("тесты", "страница", "σελίδα", "الصفحة")


def test_words_may_begin_with_digits_and_numbers_are_none() -> None:
    found = signals("2fa and 3d-secure in 2024, from 2024-01-15 on, with v1.2.3 or 10.4")
    assert found.keywords == ("2fa", "3d-secure", "3d", "secure")


@pytest.mark.parametrize(
    "said",
    [
        "Überweisungen prüfen",
        "Проверить переводы клиента",
        "Έλεγχος πληρωμών πελάτη",
        "مراجعة تحويلات العميل",
        "בדיקת העברות לקוח",
        "ग्राहक भुगतान जाँच",
        "检查客户转账",
        "2fa 3d-secure",
    ],
)
def test_a_task_in_the_words_of_a_node_finds_it(said: str, tmp_path: Path) -> None:
    """Whatever script they are in, by its words and by its tag, and on the map."""
    with Store(tmp_path / "k.db") as store:
        knowledge = Knowledge(store, "p")
        knowledge.add(Node(id="words", type="pattern", summary=said))
        knowledge.add(Node(id="tag", type="pattern", summary="x", tags=(said.rsplit(maxsplit=1)[-1],)))
        knowledge.add(Node(id="other", type="pattern", summary="something else"))
        knowledge.put_entries([MapEntry(component="it", location="it.py", notes=said)])
        context = context_of(ContextTask(objective=said), knowledge)
    assert {node.id for node in context.patterns} == {"words", "tag"}
    assert [entry.location for entry in context.code_references] == ["it.py"]


@pytest.mark.parametrize("text", ["Charge credit cards", "a credit-card form", "class CreditCard", "Credit\ncard"])
def test_a_domain_may_have_several_words(text: str) -> None:
    """They have to follow each other; it never matched."""
    known = {"billing": ["credit card"], "order management": []}
    assert signals(text, domains=known).domains[-1:] == ("billing",)
    assert "billing" not in signals("A card of credit", domains=known).domains
    assert signals("Improve order management", domains=known).domains == ("order management",)
    assert signals("see https://x.org/credit/card", domains=known).domains == ()
    assert signals("查看信用卡账单", domains={"billing": ["信用卡"]}).domains == ("billing",)


@given(st.text())
def test_any_text_has_signals_and_always_the_same(text: str) -> None:
    if text:
        found = signals(text)
        assert found == signals(text)
        assert len(found.keywords) == len(set(found.keywords)) <= 64


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("unpack backup.tar.gz", {"unpack", "backup"}),
        ("see /home/ada/src/foo.py", {"see", "foo"}),
        ("see C:\\Users\\ada\\billing\\Main.cs", {"see", "billing", "main"}),
        ("the home page", {"home", "page"}),
        ("write a tar archive", {"write", "tar", "archive"}),
    ],
)
def test_where_a_file_lies_and_how_it_is_packed_are_no_keywords(text: str, words: set[str]) -> None:
    """Endings tell nothing of a task, nor does the folder in which somebody keeps the project."""
    assert set(signals(text).keywords) == words
