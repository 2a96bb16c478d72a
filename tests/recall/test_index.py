from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.errors import ConfigError
from foveate.log.messages import Message
from foveate.recall import PassageIndex, scoring
from tests.recall.corpora import answered, called, dialogue, said

ANY_TEXT = st.text(st.characters(), max_size=200)


def indexed(*messages: Message) -> PassageIndex:
    index = PassageIndex()
    for order, message in enumerate(messages):
        index.add(message, order)
    return index


def orders(index: PassageIndex, query: str, limit: int = 10) -> list[int]:
    return [hit.passage.order for hit in index.search(query, limit=limit)]


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("what did we do about parse_order?", 0),
        ("order", 0),
        ("ORD-20931", 1),
        ("20931", 1),
        ("ord", 1),
        ("open src/app.py", 2),
        ("app", 2),
        ("parseInvoice", 3),
        ("parse invoice", 3),
        ("invoice", 3),
        ("the CAFÉ", 4),
        ("cafe\u0301", 4),
        ("running", 5),
        ("注文番号はどこですか", 6),
        ("文番", 6),
        ("猫", 7),
        ("서버 오류", 8),
        ("订单", 9),
    ],
)
def test_identifiers_words_and_cjk_are_found(query: str, order: int) -> None:
    """An identifier is found whole and by its parts, a word in any form, CJK text by any two characters."""
    index = indexed(
        said(0, "user", "please fix parse_order first"),
        said(1, "user", "the customer of ORD-20931 is angry"),
        said(2, "user", "look into src/app.py"),
        said(3, "user", "call parseInvoice here"),
        said(4, "user", "meet at the café"),
        said(5, "user", "the job runs nightly"),
        said(6, "user", "注文番号は20-11です"),
        said(7, "user", "私は猫が好き"),
        said(8, "user", "서버에서 오류가 났습니다"),
        said(9, "user", "我的订单在哪里"),
    )

    assert orders(index, query)[0] == order


def test_a_whole_identifier_beats_its_parts() -> None:
    """Who asks for `parse_order` wants it, not all that parses and all orders."""
    index = indexed(
        said(0, "user", "we parse the order, then parse the next order, and order again"),
        said(1, "user", "a long text about something else entirely in which parse_order is named once, in passing"),
        *[said(order, "user", f"other talk {order}") for order in range(2, 20)],
    )

    assert orders(index, "parse_order")[0] == 1


def test_rare_terms_weigh_more() -> None:
    """A word said once says more than one said all the time."""
    index = indexed(
        *[said(i, "user", f"the deploy of service {i} failed") for i in range(30)], said(30, "user", "zebra")
    )

    assert orders(index, "deploy failed service zebra")[0] == 30


def test_filters_narrow_the_search() -> None:
    """Position, role and tool of what is found can be chosen."""
    index = indexed(
        said(0, "user", "apple pie"),
        said(1, "assistant", "apple pie recipe"),
        called(2, "read_file", '{"path": "apple.txt"}'),
        answered(3, "apple sauce", tool="bash"),
    )

    assert sorted(orders(index, "apple")) == [0, 1, 2, 3]
    assert [hit.passage.order for hit in index.search("apple", before=1)] == [0]
    assert {hit.passage.order for hit in index.search("apple", among={1, 3})} == {1, 3}
    assert {hit.passage.order for hit in index.search("apple", roles={"user", "tool"})} == {0, 3}
    assert {hit.passage.order for hit in index.search("apple", tools={"read_file"})} == {2}
    assert len(index.search("apple", limit=2)) == 2


def test_equally_good_passages_come_in_the_order_of_the_log() -> None:
    """Ties are broken by time, also if messages were added in another order."""
    index = PassageIndex()
    for order in (3, 1, 2, 0):
        index.add(said(order, "user", "the same words"), order)

    assert orders(index, "same words") == [0, 1, 2, 3]


def test_a_position_is_added_once() -> None:
    """The log never changes, so a second message at a position is a repetition."""
    index = indexed(said(0, "user", "alpha"))
    index.add(said(0, "user", "beta"), 0)

    assert len(index) == 1
    assert orders(index, "beta") == []


def test_a_negative_position_is_refused() -> None:
    """The error names the value and the option."""
    with pytest.raises(ConfigError, match=r"`order` must be 0 or more, got -1"):
        PassageIndex().add(said(0, "user", "x"), -1)


def test_an_index_that_is_not_searched_costs_nothing() -> None:
    """The database is opened at the first search, and not for a query that asks for nothing."""
    index = indexed(said(0, "user", "alpha"))

    assert index.search("yes, go on") == []
    assert not index._memory.is_open
    assert index.search("alpha")
    assert index._memory.is_open


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        "''",
        '"',
        '"alpha',
        "alpha AND",
        "NEAR(alpha beta, 2)",
        "words:alpha",
        "^alpha*",
        "-alpha",
        "a" * 100_000,
        "(alpha OR",
        "\x00alpha",
        "\ud800",
        "alpha; DROP TABLE passages",
        "%_",
        "🙂",
        "* * *",
        "{words hidden} : alpha",
    ],
)
def test_a_query_has_no_syntax(query: str) -> None:
    """Quotes, operators and broken characters are text, never commands or errors."""
    index = indexed(said(0, "user", "alpha beta"))

    index.search(query)

    assert orders(index, "alpha") == [0]


def test_a_long_query_is_as_welcome_as_a_short_one() -> None:
    """A pasted log of 100 KB finds what its beginning or end is about."""
    index = indexed(said(0, "user", "tulips"), said(1, "user", "falcons"), said(2, "user", "nothing"))

    assert set(orders(index, f"tulips {'lorem ipsum ' * 9_000} falcons")) == {0, 1}


@given(st.lists(ANY_TEXT, max_size=8), ANY_TEXT, st.integers(0, 5))
def test_any_text_can_be_added_and_asked(texts: list[str], query: str, limit: int) -> None:
    """Whatever is said and asked: hits are passages of what was added, best first, and the same each time."""
    messages = [said(order, "user", text) for order, text in enumerate(texts)]
    first, second = indexed(*messages), indexed(*messages)

    hits = first.search(query, limit=limit)

    assert hits == second.search(query, limit=limit) == first.search(query, limit=limit)
    assert len(hits) <= limit
    assert all(hit.passage.text in texts[hit.passage.order] for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(hit.score > 0 for hit in hits)


def test_if_all_terms_are_common_those_with_several_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the best one is older than all that are looked at of a single term."""
    monkeypatch.setattr(scoring, "_MOST_ROWS", 10)
    texts = ["deploy of billing failed"] + [f"deploy {n} fine" if n % 2 else f"billing {n} fine" for n in range(1, 99)]
    index = indexed(*[said(order, "user", text) for order, text in enumerate(texts)])

    assert orders(index, "billing deploy")[0] == 0
    assert orders(index, "deploy failed")[0] == 0


def test_what_is_said_often_comes_first() -> None:
    """Of passages as long as each other."""
    index = indexed(
        said(0, "user", "quartz and other stones"),
        said(1, "user", "quartz, quartz and quartz"),
        *[said(order, "user", f"nothing about stones {order}") for order in range(2, 40)],
    )

    assert orders(index, "quartz") == [1, 0]


def test_adding_between_searches_is_the_same_as_adding_first() -> None:
    """An index that grows with the log answers like one built at once."""
    corpus = dialogue(1, turns=120)
    grown = PassageIndex()
    for order, message in enumerate(corpus.messages):
        grown.add(message, order)
        if order % 10 == 0:
            grown.search("brother")
    built = indexed(*corpus.messages)

    for question in corpus.questions:
        assert grown.search(question.query) == built.search(question.query)


@pytest.mark.parametrize("filters", [{"among": {3}}, {"tools": {"grep"}}])
def test_a_filter_finds_old_places_of_a_common_word(filters: dict[str, Any]) -> None:
    """Of a word that is everywhere the newest places are looked up first; older ones follow if those are left out."""
    index = PassageIndex()
    for order in range(5_200):
        index.add(answered(order, f"apples in row {order}", tool="grep" if order == 3 else "bash"), order)
    (hit,) = index.search("apples", limit=5, **filters)
    assert hit.passage.text == "apples in row 3"
