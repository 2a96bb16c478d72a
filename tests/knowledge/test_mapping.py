"""The context map: which parts of the code a task is about."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.knowledge.mapping import CodeMap, component_of, ranked_entries, scored_entries, stems_of
from foveate.knowledge.models import ContextTask, MapEntry
from foveate.knowledge.signals import Signals, extract_signals


class File(NamedTuple):
    path: str
    definitions: tuple[str, ...] = ()
    references: float = 0.0

    @property
    def symbols(self) -> frozenset[str]:
        return stems_of(" ".join(self.definitions))


def entry(location: str, component: str | None = None, notes: str = "") -> MapEntry:
    return MapEntry(
        component=component if component is not None else component_of(location), location=location, notes=notes
    )


def signals(objective: str) -> Signals:
    return extract_signals(ContextTask(objective=objective))


def found(scored: list[tuple[MapEntry, float]]) -> list[str]:
    return [one.location for one, _ in scored]


def test_the_four_weights() -> None:
    """A word counts 2 in the component and 1 in the location, a domain in the notes 1, a file that is named 3."""
    asked = Signals(stems=("order",), domains=("api",), files_mentioned=("web/pay.py",))

    scored = scored_entries(
        asked,
        [
            MapEntry(component="orders", location="a.py"),
            MapEntry(component="a", location="order/b.py"),
            MapEntry(component="b", location="c.py", notes="the API of the shop"),
            MapEntry(component="c", location="src/web/pay.py"),
            MapEntry(component="order", location="orders/api.py", notes="an api"),
            MapEntry(component="d", location="e.py"),
        ],
    )

    assert [(one.location, score) for one, score in scored] == [
        ("orders/api.py", 4),
        ("src/web/pay.py", 3),
        ("a.py", 2),
        ("c.py", 1),
        ("order/b.py", 1),
    ]


@pytest.mark.parametrize("rank", [scored_entries, ranked_entries])
def test_words_match_whole(rank) -> None:
    """ "ui" is not in "build", nor "auth" in "author"."""
    entries = [entry("tools/build.py"), entry("ui/button.py"), entry("authors.py"), entry("auth.py")]

    assert found(rank(signals("polish the ui"), entries)) == ["ui/button.py"]
    assert found(rank(signals("auth"), entries)) == ["auth.py"]


@pytest.mark.parametrize("rank", [scored_entries, ranked_entries])
@pytest.mark.parametrize(
    ("task", "location"),
    [
        ("Add endpoints", "endpoint.py"),
        ("the endpoint", "all_endpoints.py"),
        ("order forms", "web/OrderForm.tsx"),
        ("parsing", "parseOrder.js"),
        ("注文番号を直す", "注文番号.py"),
    ],
)
def test_forms_and_parts_of_words_match(rank, task: str, location: str) -> None:
    """Plurals, parts of camelCase and snake_case, and Chinese and Japanese words are found."""
    assert found(rank(signals(task), [entry("other/thing.py"), entry(location)])) == [location]


def test_ties_are_settled_by_rule() -> None:
    """Equal scores stand by the length of the location and then by it, in whatever order they are given."""
    entries = [entry("money/b.py", "money"), entry("money/a.py", "money"), entry("money/long.py", "money")]

    for given_entries in (entries, entries[::-1]):
        assert found(scored_entries(signals("money"), given_entries)) == ["money/a.py", "money/b.py", "money/long.py"]


@pytest.mark.parametrize(
    ("mentioned", "location", "meant"),
    [
        ("money.py", "src/billing/money.py", True),
        ("billing/money.py", "src/billing/money.py", True),
        ("src/billing/", "src/billing/money.py", True),
        ("/home/me/shop/src/billing/money.py", "src/billing/money.py", True),
        ("money.py", "src/billing/money.py:10-20", True),
        ("money.py:10-20", "src/billing/money.py:all", True),
        ("money.py", "src/nomoney.py", False),
        ("docs/README.md", "README.md", False),
        ("illing/money.py", "src/billing/money.py", False),
        ("/", "src/billing/money.py", False),
    ],
)
def test_a_file_is_named_by_whole_parts_of_its_path(mentioned: str, location: str, meant: bool) -> None:
    asked = Signals(files_mentioned=(mentioned,))

    assert bool(scored_entries(asked, [entry(location, "x")])) is meant
    assert bool(ranked_entries(asked, [entry(location, "x")])) is meant


def test_rare_words_count_more() -> None:
    """What every part is called says less than what one is called."""
    entries = [entry(f"service/service_{name}.py") for name in "abcdefgh"] + [entry("miscellaneous/refund.py")]

    assert found(ranked_entries(signals("service for a refund"), entries))[0] == "miscellaneous/refund.py"
    assert found(scored_entries(signals("service for a refund"), entries))[0] != "miscellaneous/refund.py"


def test_notes_and_symbols_count() -> None:
    """A part is found by what its notes say and by what its file defines, names before both."""
    entries = [entry("a.py"), entry("b.py", notes="Has refund."), entry("refund.py"), entry("c.py")]
    files = [File("a.py", ("issueRefund",))]

    assert found(ranked_entries(signals("refund"), entries, files)) == ["refund.py", "b.py", "a.py"]
    assert found(ranked_entries(signals("refund"), entries)) == ["refund.py", "b.py"]


def test_references_settle_ties_and_nothing_else() -> None:
    """Of two parts that fit alike, the one that more files use is first; one that fits better stays before it."""
    entries = [entry("x/money.py"), entry("y/money.py"), entry("z/money_rounding.py")]
    files = [File("y/money.py", references=9.0), File("x/money.py", references=2.0)]

    assert found(ranked_entries(signals("money rounding"), entries, files)) == [
        "z/money_rounding.py",
        "y/money.py",
        "x/money.py",
    ]


def test_a_file_that_the_task_names_comes_first() -> None:
    entries = [entry("refund/refund_service.py", notes="Has refund."), entry("shop/legacy.py")]

    assert found(ranked_entries(signals("fix the refund in shop/legacy.py"), entries))[0] == "shop/legacy.py"


def test_nothing_is_found_for_nothing() -> None:
    assert ranked_entries(signals("yes, go on"), [entry("go/on.py")]) == []
    assert ranked_entries(Signals(stems=("a",)), []) == []
    assert CodeMap([entry("a.py")]).ranked(Signals(domains=("",), files_mentioned=("",))) == []


def test_a_map_can_be_asked_again() -> None:
    """Asking leaves a map as it was."""
    known = CodeMap([entry("money.py"), entry("refund.py")])

    first = known.ranked(signals("money"))
    assert known.ranked(signals("an unknown word")) == []
    assert known.ranked(signals("money")) == first


@pytest.mark.parametrize(
    ("path", "component"),
    [
        ("src/billing/money.py", "billing money"),
        ("src/billing/__init__.py", "billing"),
        ("web/components/OrderForm.test.tsx", "components order form"),
        ("pkg/http/server_test.go", "http server test"),
        ("src/main.rs", "main"),
        (".github/workflows/ci.yml", "workflows ci"),
        ("README.md", "readme"),
        ("Makefile", "makefile"),
        (".gitignore", "gitignore"),
        ("订单/处理.py", "订单 处理"),
        ("-/_.py", "_.py"),
    ],
)
def test_components_have_readable_names(path: str, component: str) -> None:
    assert component_of(path) == component


_TEXTS = st.lists(st.sampled_from(["money", "Refund", "order_form", "ui", "build", "注文", "a", "", "(", "src/x"])).map(
    " ".join
)


@given(
    st.lists(st.builds(MapEntry, component=_TEXTS, location=_TEXTS.map(lambda text: f"{text}.py"), notes=_TEXTS)),
    _TEXTS,
    st.randoms(),
)
def test_the_order_of_a_map_does_not_matter(entries: list[MapEntry], text: str, random) -> None:
    """Both rankings give the same entries with the same scores however a map is ordered, best first."""
    asked = signals(f"-{text}")
    shuffled = list({one.location: one for one in entries}.values())
    ordered = sorted(shuffled, key=lambda one: one.location)
    random.shuffle(shuffled)

    for rank in (scored_entries, ranked_entries):
        scored = rank(asked, ordered)
        assert found(rank(asked, shuffled)) == found(scored)
        assert [round(score, 9) for _, score in scored] == sorted((round(s, 9) for _, s in scored), reverse=True)
        assert all(score > 0 for _, score in scored)
