from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foveate.recall.embedding import blended

SCORES = st.dictionaries(st.integers(0, 20), st.floats(0, 50, allow_nan=False))
CLOSE = st.dictionaries(st.integers(0, 20), st.floats(-1, 1, allow_nan=False))


def test_words_count_twice_as_much_as_meaning() -> None:
    """What has all the words and no meaning in common comes before what means the same in other words."""
    assert blended({"words": 7.0}, {"meaning": 1.0}) == {"words": 1.0, "meaning": 0.5}
    assert blended({"a": 2.0, "b": 1.0}, {"b": 0.9}) == {"a": 1.0, "b": 0.95}
    assert blended({}, {}) == {}


@given(SCORES, CLOSE)
def test_nothing_is_lost_and_nothing_is_worth_less_than_its_words(
    words: dict[int, float], close: dict[int, float]
) -> None:
    """Every thing once; what means the opposite is not held against it."""
    together = blended(words, close)

    assert set(together) == {*words, *close}
    best = max(words.values(), default=0.0) or 1.0
    assert all(together[one] >= score / best for one, score in words.items())
    assert all(0 <= score <= 1.5 for score in together.values())
