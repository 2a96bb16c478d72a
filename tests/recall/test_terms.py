from __future__ import annotations

import re
import unicodedata
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from foveate.recall.stems import CJK, stem
from foveate.recall.terms import Matcher, Tally, terms_of
from foveate.recall.tokens import tokens_of


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
    assert tokens_of("東京へ") == ([], ["東京", "京へ", "へ"])


def test_forms_of_a_word_are_one() -> None:
    """Plural, past and accents make no difference when lines are matched."""
    assert stem("Databases") == stem("database")
    assert stem("painted") == stem("painting") == stem("paint")
    assert stem("Café") == stem("cafe")
    assert stem("queries") == stem("query")
    assert stem("running") == stem("runs")
    assert stem("configuration") == stem("configured") == stem("configure")
    assert stem("migrations") == stem("migrating") == stem("migrate")
    assert stem("deployment") == stem("deploys")


def test_words_that_only_look_alike_stay_apart() -> None:
    """Short words keep their endings, and marks of other scripts are letters."""
    assert (
        len({stem(word) for word in ("station", "state", "import", "important", "string", "str", "ready", "read")}) == 8
    )
    assert stem("がき") != stem("かき")
    assert stem("서") != stem("석")


@given(st.text(st.characters(), max_size=200))
def test_tokens_are_short_and_have_no_syntax(text: str) -> None:
    """Whatever is said, an engine is given letters and digits."""
    words, hidden = tokens_of(text)

    assert all(0 < len(token) <= 80 for token in (*words, *hidden))
    assert all(token.isalnum() for token in words)
    assert not any(char.isascii() and not char.isalnum() for token in hidden for char in token)
    assert not any("A" <= char <= "Z" for token in (*words, *hidden) for char in token)
    assert max(Counter([*words, *hidden]).values(), default=0) <= 255


@given(st.text(st.characters(), max_size=200))
def test_tokens_are_those_of_the_plain_way(text: str) -> None:
    """The fast ways through a text give what the expressions say."""
    composed = unicodedata.normalize("NFC", text)
    plain = re.findall(r"[^\W_]+", CJK.sub(" ", composed))

    assert tokens_of(text).words == [stem(word) for word in plain]


def test_accents_that_stand_apart_make_no_words() -> None:
    """Some file systems write a letter and its accent as two characters."""
    assert tokens_of("re\u0301sume\u0301") == tokens_of("résumé") == tokens_of("resume")


def test_terms_are_counted_in_a_text() -> None:
    """Words in all their forms and in camelCase, names as they stand, pairs wherever they are."""
    tally = Tally(terms_of("databases parse_order 订单 zebra"))

    counts = tally("Database, databaseURL; parse_order(Parse_Order) 我的订单和订单", [1, 1, 0, 0, 1, 0])

    assert counts == [2, 2, 2, 2, 2, 0]


def test_forms_of_a_word_are_asked_for_once() -> None:
    """The first one stands for all."""
    assert texts("deploys deployed deployment") == ["deploys"]


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
