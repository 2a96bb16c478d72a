"""Search over sessions of a store: the same hits on both engines, by words, filters and meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import pytest

from foveate import ConfigError, Session, UnknownReferenceError
from foveate.store import Store
from tests.dialogue import exchange, lines, says, user
from tests.store import engines

store_url = engines.store_url
MARCH = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """Two sessions that talk of refunds, in two months."""
    with Store(store_url) as store:
        with Session.open(store, "first") as session:
            session.extend([user("Why was the refund refused?"), says("Let me look.")], time=MARCH.timestamp())
            session.extend(exchange("c1", "bash", "refund_total_cents refused: exit code 1", command="make refund"))
            session.append(says("The refund was refused because the amount was a float."))
        with Session.open(store, "second", budget=4_000) as session:
            session.extend([user("订单退款失败了，为什么？"), says("退款金额必须是整数。")])
            session.extend([user("The refund again: total_cents is wrong"), *exchange("c2", "grep", lines(30))])
        yield store


def found(store: Store, query: str, **filters: object) -> list[tuple[str, str]]:
    """Sessions and messages of the hits."""
    return [(hit.session_id, hit.message_id) for hit in store.search(query, **filters)]


def test_words_are_found_in_all_sessions(store: Store) -> None:
    """With where and when they were said."""
    hits = store.search("refund refused")

    assert {hit.session_id for hit in hits} == {"first", "second"}
    assert hits[0].session_id == "first"
    assert {hit.time for hit in hits if hit.message_id == "m1" and hit.session_id == "first"} == {MARCH}
    assert sorted(found(store, "退款失败")) == [("second", "m1"), ("second", "m2")]
    assert found(store, "total_cents")[0] in {("second", "m3"), ("first", "m4")}


def test_filters_leave_out(store: Store) -> None:
    """By session, role, tool, kind and time."""
    assert {session for session, _ in found(store, "refund", session="second")} == {"second"}
    assert found(store, "refund", roles=["user"]) == [("first", "m1"), ("second", "m3")]
    assert found(store, "refund", tools=["bash"]) == [("first", "m3"), ("first", "m4")]
    assert found(store, "refund", kinds=["error"]) == [("first", "m4")]
    assert found(store, "refund", until=datetime(2026, 3, 2)) == [("first", "m1")]  # noqa: DTZ001  taken for UTC
    assert ("first", "m1") not in found(store, "refund", since=datetime(2026, 3, 2, tzinfo=UTC))
    assert len(found(store, "refund", limit=1)) == 1


def test_what_cannot_be_searched_is_said(store: Store) -> None:
    """Unknown roles, kinds and sessions are errors, not empty answers."""
    with pytest.raises(ConfigError, match="`roles` has 'robot'; known are"):
        store.search("refund", roles=["robot"])
    with pytest.raises(ConfigError, match="`kinds` has 'x'"):
        store.search("refund", kinds=["x"])
    with pytest.raises(ConfigError, match="`limit` must be 1"):
        store.search("refund", limit=0)
    with pytest.raises(UnknownReferenceError, match=r"no session 'frist'.*did you mean 'first'"):
        store.search("refund", session="frist")
    assert store.search("") == store.search("the") == store.search("zzzz") == []


def test_a_large_append_is_found_as_well(store: Store) -> None:
    """It is indexed when somebody asks."""
    with Session.open(store, "third") as session:
        session.extend([user(f"remark {number} of many") for number in range(300)])
        session.append(user("the needle"))
        assert found(store, "needle") == [("third", "m301")]
        assert found(store, "remark 299") == [("third", "m300")] or ("third", "m300") in found(store, "remark 299")


def test_a_filter_finds_what_is_behind_thousands_of_others(store: Store) -> None:
    """A word that everybody uses is looked up from the newest place on, as far back as it takes."""
    with Session.open(store, "long") as session:
        session.append(user("the gadget must be blue"))
        session.extend([says(f"gadget {number} is made") for number in range(11_000)])
        assert found(store, "gadget", roles=["user"]) == [("long", "m1")]


def test_a_damaged_row_hides_only_itself(store: Store) -> None:
    """Search goes on with what can be read, and so does closing."""
    with Session.open(store, "broken") as session:
        session.extend([user("a walrus"), user("another walrus")])
    damage = "UPDATE events SET body = '{' WHERE kind = 'message_appended' AND body LIKE '%%a walrus%%'"
    with store.writing() as connection:
        connection.exec_driver_sql(damage.replace("%%", "%") if connection.dialect.name == "sqlite" else damage)
    assert found(store, "walrus") == [("broken", "m2")]


class Meaning:
    """An embedder that knows two topics."""

    name = "two-topics"
    dimensions = 2

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Money, and everything else."""
        return [
            (1.0, 0.1) if any(word in text for word in ("refund", "退款", "money")) else (0.0, 1.0) for text in texts
        ]


def test_an_embedder_finds_what_has_no_word_in_common(store: Store) -> None:
    """And the filters hold for it too."""
    assert store.search("money back") == []
    hits = store.search("money back", embedder=Meaning(), roles=["user"])

    assert {(hit.session_id, hit.message_id) for hit in hits[:3]} == {
        ("first", "m1"), ("second", "m1"), ("second", "m3"),
    }  # fmt: skip
    assert {hit.role for hit in hits} == {"user"}
