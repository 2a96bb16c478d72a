"""One search, three engines: what an index in memory finds, SQLite and PostgreSQL find too, in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, create_engine, text

from foveate.budget import EstimatingCounter
from foveate.errors import ConfigError
from foveate.log.messages import Message
from foveate.recall import PassageIndex, passages_of, recalled, scoring
from foveate.store import search
from foveate.store.search import (
    SessionPostings,
    StoreHit,
    create_index_tables,
    index_messages,
    passage_id,
    search_store,
    unindex_session,
)
from tests.recall.corpora import Corpus, answered, called, dialogue, long_answers, said, tool_output
from tests.store import engines

store_url = engines.store_url

COUNTER = EstimatingCounter()
# Each engine is asked about texts like these.
ODD = [
    "please fix parse_order first, then parseInvoice and HTTPServer2Go",
    "the customer of ORD-20931 is angry; look into src/app.py:17 and C:\\temp\\x.log",
    "quotes: 'single' \"double\" `back` it's '' \"\" \\' \\\" :* & | ! <-> ( )",
    "NUL \x00 in \x00the middle\x00, and a control \x1b[31mred\x1b[0m",
    "half a pair \ud83d and the other \udc00half",
    "注文番号は20-11です。私は猫が好き 서버에서 오류가 났습니다 我的订单在哪里",
    "meet at the café, cafe\u0301, CAFÉ; İstanbul, straße, ½ ⅷ ﷺ 𝐀𝐁 ﬁle",
    "emoji 🙂👍🏽 and arrows → └── │",
    "x " * 300 + "x.lonely",
    "word" * 60,
    "the the the and and",
]
QUERIES = [
    "parse_order", "invoice", "HTTPServer2Go", "server", "ORD-20931", "src/app.py:17", "C:\\temp\\x.log", "it's 'single'",
    '"double"', "middle", "\x00middle\x00", "red", "\ud83d half", "注文番号", "猫", "오류", "订单", "カフェ", "café", "cafe\u0301",
    "Istanbul", "İSTANBUL", "strasse", "STRASSE", "viii", "ab", "file", "ﬁle", "🙂", "→", "lonely", "word" * 60, "a:* & b | !c",
    "'; DROP TABLE passages; --", "", "the and",
]  # fmt: skip


class Indexed:
    """Sessions in a database, with their logs at hand."""

    def __init__(self, url: str) -> None:
        self.engine: Engine = create_engine(url)
        self.logs: dict[int, Sequence[Message]] = {}
        self.fetched: list[int] = []
        with self.engine.begin() as connection:
            create_index_tables(connection)

    def add(self, key: int, messages: Sequence[Message]) -> PassageIndex:
        self.logs[key] = messages
        with self.engine.begin() as connection:
            index_messages(connection, key, list(enumerate(messages)))
        return self.index(key)

    def index(self, key: int) -> PassageIndex:
        def fetch(orders: Sequence[int]) -> Mapping[int, Message]:
            self.fetched.append(len(orders))
            return {order: self.logs[key][order] for order in orders}

        return PassageIndex(SessionPostings(self.engine.connect, key, fetch))

    def remove(self, key: int) -> None:
        with self.engine.begin() as connection:
            unindex_session(connection, key, enumerate(self.logs.pop(key)))

    def search(self, query: str, **options) -> list[StoreHit]:
        def fetch(places: Sequence[tuple[int, int]]) -> Mapping[tuple[int, int], Message]:
            return {(key, order): self.logs[key][order] for key, order in places}

        return search_store(self.engine.connect, query, fetch=fetch, **options)

    def count(self) -> int:
        with self.engine.connect() as connection:
            return connection.execute(text("SELECT count(*) FROM passages")).scalar_one()


@pytest.fixture
def store(store_url: str) -> Iterator[Indexed]:
    made = Indexed(store_url)
    yield made
    made.engine.dispose()


def in_memory(messages: Sequence[Message]) -> PassageIndex:
    index = PassageIndex()
    for order, message in enumerate(messages):
        index.add(message, order)
    return index


def spoken(texts: Sequence[str]) -> list[Message]:
    return [said(order, "user", one) for order, one in enumerate(texts)]


def same(one: PassageIndex, other: PassageIndex, query: str, room: int = 500) -> bool:
    def answers(index: PassageIndex) -> tuple:
        return (
            [(found.term, found.rarity, found.rows) for found in index.find(query)],
            index.search(query, limit=300),
            index.search(query, limit=5, before=40),
            recalled(index, query, room_tokens=room, counter=COUNTER, evicted=lambda order: order % 3 != 1),
        )

    return answers(one) == answers(other)


@pytest.mark.parametrize("corpus", [dialogue, long_answers, tool_output])
def test_all_engines_find_the_same(store: Indexed, corpus: Callable[[int], Corpus]) -> None:
    """The same log has the same hits, scores and recalled passages, wherever it is kept."""
    messages, questions = corpus(1)
    memory, stored = in_memory(messages), store.add(1, messages)

    assert len(stored) == len(memory)
    assert stored.newest == memory.newest
    assert all(same(stored, memory, question.query) for question in questions)


def test_other_sessions_change_nothing(store: Indexed) -> None:
    """How rare a word is in a session is not for others to say."""
    messages, questions = long_answers(1)
    alone = store.add(5, messages)
    before = [alone.search(question.query) for question in questions]
    for key, corpus in ((4, dialogue(2)), (6, long_answers(3)), (7, tool_output(4)), (1 << 20, long_answers(5))):
        store.add(key, corpus.messages)

    assert [store.index(5).search(question.query) for question in questions] == before
    assert all(same(store.index(5), in_memory(messages), question.query) for question in questions)


def test_odd_texts_and_queries_do_no_harm(store: Indexed) -> None:
    """Scripts, identifiers, quotes, NUL and broken characters: text to every engine, and the same text."""
    messages = spoken(ODD)
    memory, stored = in_memory(messages), store.add(1, messages)

    for query in QUERIES:
        assert same(stored, memory, query), query
        store.search(query)
    expected = {
        "parse_order": 0,
        "invoice": 0,
        "server": 0,
        "ORD-20931": 1,
        "middle": 3,
        "猫": 5,
        "订单": 5,
        "istanbul": 6,
    }
    assert {query: stored.search(query)[0].passage.order for query in expected} == expected


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.text(st.characters(), max_size=120) | st.sampled_from(ODD), max_size=6),
    st.text(st.characters(), max_size=60) | st.sampled_from(QUERIES),
)
def test_any_text_is_found_alike(store: Indexed, texts: list[str], query: str) -> None:
    """Whatever is said and asked, no engine has an answer of its own."""
    messages = spoken(texts)
    stored = store.add(len(store.logs) + 1, messages)

    assert same(stored, in_memory(messages), f"{query} {' '.join(texts[:1])}")


def test_terms_that_are_everywhere_cost_little_and_are_found_alike(
    store: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If all terms are common, those passages come first that have several of them."""
    monkeypatch.setattr(scoring, "_MOST_ROWS", 20)
    texts = [f"the deploy number {order} went fine" if order % 2 else f"billing is up {order}" for order in range(120)]
    texts[7] = "the deploy of billing failed"
    messages = spoken(texts)
    memory, stored = in_memory(messages), store.add(3, messages)

    assert stored.search("deploy billing")[0].passage.order == 7
    assert all(
        same(stored, memory, query) for query in ("deploy billing", "deploy failed", "billing number 30", "fine")
    )


def test_a_position_is_indexed_once(store: Indexed) -> None:
    """Indexing again adds nothing and changes nothing, whatever is said to be there now."""
    messages = [said(0, "user", "alpha"), said(1, "user", ""), answered(2, "beta\n" * 40)]
    stored = store.add(1, messages)
    rows = store.count()
    with store.engine.begin() as connection:
        index_messages(connection, 1, [*enumerate(messages), (0, said(0, "user", "gamma"))])
        index_messages(connection, 1, [(3, said(3, "user", "delta")), (3, said(3, "user", "epsilon"))])
        index_messages(connection, 1, [])

    assert len(stored) == store.count() == rows + 1
    assert stored.newest == 3
    assert stored.search("gamma") == [] == stored.find("epsilon")


def test_what_was_deleted_is_gone(store: Indexed) -> None:
    """No word of it is left in the index, and what others said is still found."""
    kept, gone = long_answers(1), tool_output(2)
    store.add(1, gone.messages)
    store.add(2, kept.messages)
    before = [store.index(2).search(question.query) for question in kept.questions]
    store.remove(1)

    store.logs[1] = gone.messages
    assert len(store.index(1)) == 0
    assert store.index(1).newest == -1
    assert not any(store.index(1).search(question.query) for question in gone.questions)
    assert store.search("lease shard worker-7 quartz") == []
    assert [store.index(2).search(question.query) for question in kept.questions] == before
    store.remove(2)
    assert left_over(store.engine) == 0
    assert all(same(store.add(1, gone.messages), in_memory(gone.messages), q.query) for q in gone.questions)


def left_over(engine: Engine) -> int:
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            connection.execute(text("INSERT INTO passages_text(passages_text) VALUES('integrity-check')"))
            connection.execute(text("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, passages_text, row)"))
            return connection.execute(text("SELECT count(*) FROM temp.words")).scalar_one()
        return connection.execute(text("SELECT count(*) FROM passages_text")).scalar_one()


def test_a_search_in_all_sessions_ranks_like_one_log(store: Indexed) -> None:
    """Rarity is counted over all that is searched, so sessions together are as good as one long log."""
    corpora = [dialogue(1, turns=150), long_answers(2), tool_output(3, calls=6)]
    for key, corpus in enumerate(corpora, 1):
        store.add(key, corpus.messages)
    together = in_memory([message for corpus in corpora for message in corpus.messages])
    starts = [0, len(corpora[0].messages), len(corpora[0].messages) + len(corpora[1].messages)]

    for question in (question for corpus in corpora for question in corpus.questions):
        hits = store.search(question.query, limit=50)
        assert [(starts[hit.session_key - 1] + hit.passage.order, hit.passage.part, hit.score) for hit in hits] == [
            (hit.passage.order, hit.passage.part, hit.score) for hit in together.search(question.query, limit=50)
        ]


def test_a_search_can_be_narrowed(store: Indexed) -> None:
    """To some sessions, whose words alone count then, and to passages that the caller allows."""
    for key in range(1, 6):
        store.add(
            key,
            [said(0, "user", f"apple {key}"), called(1, "read_file", '{"path": "apple.txt"}'), said(2, "user", "pie")],
        )

    def places(**options) -> set[tuple[int, int]]:
        return {(hit.session_key, hit.passage.order) for hit in store.search("apple", **options)}

    users = {passage_id(key, 0, 0) for key in range(1, 6)}
    assert len(places()) == 10
    assert places(sessions=[2, 5]) == {(2, 0), (2, 1), (5, 0), (5, 1)}
    assert places(sessions={3}) == {(3, 0), (3, 1)}
    assert places(sessions=[]) == places(sessions=[77]) == set()
    assert places(allowed=users.intersection) == {(key, 0) for key in range(1, 6)}
    assert len(places(limit=3)) == 3
    scores = [hit.score for hit in store.search("apple", sessions=[4])]
    assert scores == [hit.score for hit in store.index(4).search("apple")]


def test_messages_are_fetched_together_and_remembered(store: Indexed) -> None:
    """A recall asks for messages twice at most, the next one hardly at all."""
    messages, questions = dialogue(1)
    stored = store.add(1, messages)

    recalled(stored, questions[0].query, room_tokens=500, counter=COUNTER)
    assert len(store.fetched) <= 2
    recalled(stored, questions[0].query, room_tokens=500, counter=COUNTER)
    assert len(store.fetched) <= 2


def test_what_is_remembered_is_bounded_and_changes_nothing(store: Indexed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long log is not held in memory by searching it."""
    monkeypatch.setattr(search, "_REMEMBERED", 10)
    messages, questions = dialogue(1)
    stored, memory = store.add(1, messages), in_memory(messages)

    assert all(same(stored, memory, question.query) for question in questions[:4])
    assert len(stored._postings._cut) <= 10


def test_an_index_in_a_store_is_filled_by_the_store(store: Indexed) -> None:
    """It says so, and nobody else can add to it."""
    stored = store.add(1, [said(0, "user", "alpha")])

    assert stored.fills_itself
    assert not PassageIndex().fills_itself
    with pytest.raises(ConfigError, match="a store adds what it writes"):
        stored.add(said(1, "user", "beta"), 1)


@pytest.mark.parametrize(("key", "order"), [(0, 0), (-1, 0), (1 << 23, 0), (1, -1), (1, 1 << 31)])
def test_numbers_that_make_no_id_are_refused(store: Indexed, key: int, order: int) -> None:
    """Ids of one session must not run into those of another."""
    with store.engine.begin() as connection, pytest.raises(ConfigError, match="must be from"):
        index_messages(connection, key, [(order, said(0, "user", "x"))])


def test_a_message_of_the_most_passages_has_ids_of_its_own(store: Indexed) -> None:
    """A huge message and its neighbour are told apart."""
    huge = answered(0, "\n\n".join(f"block{number} " + "filler words " * 50 for number in range(500)))
    stored = store.add(1, [huge, said(1, "user", "neighbour of block3")])

    last = passages_of(huge, 0)[-1]
    assert stored.search("block499")[0].passage == last
    assert stored.passage(0, -1) == last
    assert [hit.passage.order for hit in stored.search("neighbour")] == [1]
