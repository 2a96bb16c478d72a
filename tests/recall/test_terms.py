from __future__ import annotations

from foveate.recall.terms import Matcher, hidden_words, stem, terms_of


def texts(query: str) -> list[str]:
    return [term.text for term in terms_of(query)]


def test_a_query_is_what_is_left_without_stop_words() -> None:
    """Identifiers stay whole and give their parts too."""
    assert texts("Please open src/app.py and fix parse_order!") == [
        "open", "src/app.py", "src", "app", "py", "fix", "parse_order", "parse", "order",
    ]  # fmt: skip


def test_a_part_of_an_identifier_weighs_less() -> None:
    """Unless it is also asked for by itself."""
    weights = {term.text: term.weight for term in terms_of("order of parse_order")}

    assert weights == {"order": 1.0, "parse_order": 1.0, "parse": 0.5}


def test_terms_are_bounded_and_keep_identifiers() -> None:
    """Of too many terms the identifiers stay."""
    words = " ".join(f"word{'abcdefghij'[number % 10]}{'abcdefghij'[number // 10]}" for number in range(100))

    found = texts(f"{words} some_name")

    assert len(found) == 32
    assert "some_name" in found


def test_cjk_text_becomes_pairs() -> None:
    """Two characters at a time, with the stop words taken out."""
    assert texts("请继续处理订单") == ["处理", "理订", "订单"]
    assert texts("猫") == ["猫"]
    assert hidden_words("東京へ") == "東京 京へ へ"


def test_forms_of_a_word_are_one() -> None:
    """Plural, past and accents make no difference when lines are matched."""
    assert stem("Databases") == stem("database")
    assert stem("painted") == stem("painting") == stem("paint")
    assert stem("Café") == stem("cafe")


def test_a_line_is_matched_by_words_names_and_pairs() -> None:
    """The terms that stand in a line, each once."""
    matcher = Matcher(terms_of("parse_order databases 订单"))

    assert {term.text for term in matcher("the Database, parse_order(x) and parse_order(y): 我的订单")} == {
        "parse_order",
        "parse",
        "order",
        "databases",
        "订单",
    }
    assert matcher("nothing of it") == []
