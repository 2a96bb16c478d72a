"""Search by meaning: vectors of passages are made once, survive what may happen meanwhile, and find what words do not."""

from __future__ import annotations

import math
import os
import re
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from sqlalchemy import insert, select, update

# Test workers share the processor, and threads that wait for each other make them many times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from foveate.errors import ConfigError
from foveate.integrations.minilm import MiniLM
from foveate.log.events import Event, MessageAppended
from foveate.log.messages import Message
from foveate.recall import passages_of
from foveate.recall.embedding import ComparingEmbedder, Embedder
from foveate.store import Store
from foveate.store import embeddings as module
from foveate.store.embeddings import Near, embed_backlog, forget, nearest_passages
from foveate.store.housekeeping import delete
from foveate.store.info import SessionInfo
from foveate.store.schema import embeddings
from foveate.store.search import passage_id, search_store
from tests.recall.corpora import TOPICS, Corpus, Question, dialogue, long_answers, said
from tests.store import engines

store_url = engines.store_url

MiniLMs = cache(MiniLM)
THINGS = ("cat", "ship", "tree")


class Things:
    """A tiny embedder: how often a text names each of three things; something may happen while it works."""

    dimensions = 3

    def __init__(self, name: str = "things", meanwhile: Callable[[], object] = lambda: None) -> None:
        self.name = name
        self.asked: list[str] = []
        self.meanwhile = meanwhile

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        self.meanwhile()
        return [[float(text.count(thing)) for thing in THINGS] for text in texts]


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with Store(store_url) as opened:
        yield opened


def written(store: Store, session_id: str, texts: Iterable[str]) -> SessionInfo:
    return logged(store, session_id, [said(order, "user", text) for order, text in enumerate(texts)])


def logged(store: Store, session_id: str, messages: Sequence[Message]) -> SessionInfo:
    info = store.begin(session_id)
    events = [
        Event(session=session_id, seq=info.events + number, body=MessageAppended(message=message))
        for number, message in enumerate(messages)
    ]
    store.append(store.writer(info), events)
    return store.session(session_id)


def vectors(store: Store, model: str = "things") -> dict[int, bytes]:
    query = select(embeddings.c.passage, embeddings.c.vector).where(embeddings.c.model == model)
    with store.reading() as connection:
        return {row.passage: row.vector for row in connection.execute(query)}


def nearest(store: Store, embedder: Embedder, query: str, *keys: int, limit: int = 20) -> list[Near]:
    with store.reading() as connection:
        return nearest_passages(connection, embedder, query, keys or None, limit)


def orders(found: Iterable[Near]) -> list[int]:
    return [near.passage >> 9 & (1 << 31) - 1 for near in found]


# --- what has no vector yet ---------------------------------------------------------------------------------------


def test_each_passage_gets_one_vector(store: Store) -> None:
    """In batches, with the progress of each; asked again, there is nothing left to do."""
    info = written(store, "a", [f"cat {number}" for number in range(300)])
    embedder, told = Things(), list[tuple[str, int]]()

    assert embed_backlog(store, info, embedder, progress=lambda what, done: told.append((what, done))) == 300
    assert embed_backlog(store, info, embedder) == 0

    assert embedder.asked == [f"cat {number}" for number in range(300)]
    assert sorted(vectors(store)) == [passage_id(info.key, order, 0) for order in range(300)]
    assert told == [("passages embedded", 128), ("passages embedded", 256), ("passages embedded", 300)]


def test_a_vector_is_three_floats_of_length_one(store: Store) -> None:
    """Any program can read them: 32 bits each, the lowest byte first."""
    info = written(store, "a", ["cat cat cat ship ship ship ship", "no such thing"])
    embed_backlog(store, info, Things())

    first, second = vectors(store).values()
    assert struct.unpack("<3f", first) == pytest.approx((0.6, 0.8, 0.0))
    assert struct.unpack("<3f", second) == (0.0, 0.0, 0.0)


def test_what_was_begun_is_gone_on_with(store: Store) -> None:
    """`most` ends anywhere, also within a message, and what is appended later is embedded later."""
    long = "\n\n".join(f"cat {number} " + "tree " * 100 for number in range(40))
    info = written(store, "a", ["ship", long, " \n ", "tree"])
    parts = len(passages_of(said(1, "user", long), 1))
    embedder = Things()

    assert [embed_backlog(store, info, embedder, most) for most in (0, 3, 7, 1)] == [0, 3, 7, 1]
    assert embed_backlog(store, info, embedder) == parts + 2 - 11
    later = written(store, "a", ["one more cat"])
    assert embed_backlog(store, info, embedder) == 1, "whose facts were read before that"

    assert len(embedder.asked) == len(set(embedder.asked)) == len(vectors(store)) == parts + 3
    assert max(vectors(store)) == passage_id(later.key, 4, 0)


def test_a_failure_loses_one_batch_only(store: Store) -> None:
    """What was written before stays, and is not made again."""
    info = written(store, "a", [f"cat {number}" for number in range(200)])

    def fail() -> None:
        if len(embedder.asked) > 128:
            raise RuntimeError("no more")

    embedder = Things(meanwhile=fail)
    with pytest.raises(RuntimeError, match="no more"):
        embed_backlog(store, info, embedder)
    again = Things()

    assert len(vectors(store)) == 128
    assert embed_backlog(store, info, again) == 72
    assert again.asked[0] == "cat 128"


def test_two_may_do_it_at_once(store: Store, store_url: str) -> None:
    """Each finds what the other has written, and neither fails for it."""
    info = written(store, "a", [f"cat {number}" for number in range(600)])
    together = threading.Barrier(2, timeout=60)
    failed: list[BaseException] = []

    def work() -> None:
        first = iter([True])
        try:
            with Store(store_url) as mine:
                embed_backlog(mine, info, Things(meanwhile=lambda: next(first, False) and together.wait()))
        except BaseException as error:  # noqa: BLE001  it is shown below
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    assert failed == []
    assert sorted(vectors(store)) == [passage_id(info.key, order, 0) for order in range(600)]


def test_others_write_while_vectors_are_computed(store: Store, store_url: str) -> None:
    """Nobody waits for a model."""
    info = written(store, "a", ["cat"])
    with Store(store_url) as other:
        done = embed_backlog(store, info, Things(meanwhile=lambda: written(other, "b", ["ship"])), most=1)

    assert done == 1
    assert store.session("b").messages > 0


@pytest.mark.parametrize("again", [False, True])
def test_a_session_deleted_meanwhile_gets_no_vectors(store: Store, *, again: bool) -> None:
    """Not even if a new one took its name, and on some engines its key."""
    info = written(store, "a", ["cat", "ship"])

    def gone() -> None:
        delete(store, info)
        if again:
            written(store, "a", ["tree"])

    assert embed_backlog(store, info, Things(meanwhile=gone)) == 0
    assert vectors(store) == {}


@pytest.mark.parametrize(
    ("wrong", "said_of_it"),
    [
        ([], "gave 0 vectors for 1 texts"),
        ([[1.0, 2.0]], "one of 2 numbers; it says that they have 3"),
        ([[1.0, math.nan, 0.0]], "not finite"),
        ([[1.0, math.inf, 0.0]], "not finite"),
    ],
)
def test_an_embedder_that_is_wrong_is_named(
    store: Store, monkeypatch: pytest.MonkeyPatch, wrong: list[list[float]], said_of_it: str
) -> None:
    """Nothing of what it gave is kept."""
    info = written(store, "a", ["cat"])
    embedder = Things()
    monkeypatch.setattr(embedder, "embed", lambda _texts: wrong)

    with pytest.raises(ConfigError, match=f"'things'.*{said_of_it}"):
        embed_backlog(store, info, embedder)
    assert vectors(store) == {}


# --- what is close ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [1, 2, 4_096])
def test_the_nearest_come_first_and_equal_ones_in_order(
    store: Store, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    """However few are looked at together."""
    monkeypatch.setattr(module, "_CHUNK", chunk)
    info = written(store, "a", ["ship", "cat ship", "cat", "tree", "cat cat", "cat ship ship"])
    embed_backlog(store, info, Things())

    found = nearest(store, Things(), "my cat")

    assert orders(found) == [2, 4, 1, 5, 0, 3]
    assert found[0] == Near(passage_id(info.key, 2, 0), 1.0)
    assert found[2].similarity == pytest.approx(math.sqrt(0.5), abs=1e-5)
    assert orders(nearest(store, Things(), "my cat", limit=3)) == [2, 4, 1]


def test_some_sessions_may_be_asked(store: Store) -> None:
    """One, several next to each other or not, all, or none."""
    keys = [written(store, name, ["cat", "ship"]).key for name in "abcd"]
    for info in store.sessions():
        embed_backlog(store, info, Things())

    def asked(*some: int) -> list[int]:
        return [near.passage >> 40 for near in nearest(store, Things(), "cat", *some) if near.similarity > 0.5]

    assert asked(keys[2]) == [keys[2]]
    assert asked(keys[3], keys[0], keys[0]) == [keys[0], keys[3]]
    assert asked(keys[1], keys[0], keys[3]) == [keys[0], keys[1], keys[3]]
    assert asked() == keys
    assert asked(99) == []
    with store.reading() as connection:
        assert nearest_passages(connection, Things(), "cat", []) == []


def test_only_what_is_allowed_is_found(store: Store) -> None:
    """However much nearer the others are."""
    info = written(store, "a", ["cat"] * 50 + ["cat ship", "ship"])
    embed_backlog(store, info, Things())

    def allowed(ids: Sequence[int]) -> set[int]:
        return {id for id in ids if id >> 9 & (1 << 31) - 1 >= 50}

    with store.reading() as connection:
        found = nearest_passages(connection, Things(), "cat", None, 1, allowed=allowed)
    assert orders(found) == [50]


def test_vectors_of_another_model_are_not_compared(store: Store) -> None:
    """Each has its own, side by side."""
    info = written(store, "a", ["cat", "ship"])
    embed_backlog(store, info, Things(), most=1)
    embed_backlog(store, info, Things("other"))

    assert orders(nearest(store, Things(), "ship")) == [0]
    assert orders(nearest(store, Things("other"), "ship")) == [1, 0]
    assert nearest(store, Things("third"), "ship") == []


def test_nothing_is_asked_by_an_empty_query(store: Store) -> None:
    """Nor by a limit of nothing."""
    embed_backlog(store, written(store, "a", ["cat"]), Things())

    assert nearest(store, Things(), " \n") == nearest(store, Things(), "cat", limit=0) == []


def test_a_damaged_vector_is_passed_over(store: Store) -> None:
    """The others are still found."""
    info = written(store, "a", ["cat", "cat ship"])
    embed_backlog(store, info, Things())
    with store.writing() as connection:
        first = embeddings.c.passage == passage_id(info.key, 0, 0)
        connection.execute(update(embeddings).where(first).values(vector=b"1234567"))

    assert orders(nearest(store, Things(), "cat")) == [1]


def test_forgetting_a_session_leaves_the_others(store: Store) -> None:
    """Of every model."""
    kept, gone, after = (written(store, name, ["cat", "ship"]) for name in "abc")
    for model in ("one", "two"):
        for info in (kept, gone, after):
            embed_backlog(store, info, Things(model))

    with store.writing() as connection:
        forget(connection, gone.key)
        forget(connection, 99)

    for model in ("one", "two"):
        assert {passage >> 40 for passage in vectors(store, model)} == {kept.key, after.key}


class Plain:
    """MiniLM that cannot compare."""

    def __init__(self, inner: MiniLM) -> None:
        self.name, self.dimensions, self.embed = inner.name, inner.dimensions, inner.embed


def test_plain_python_compares_as_numpy_does(store: Store) -> None:
    """An embedder need not know how; the real one finds by meaning on every engine."""
    texts = [
        "The invoice was paid twice.",
        "A storm is coming up.",
        "Our dog ate the cake.",
        "The bill was settled.",
    ] * 3
    info = written(store, "a", texts)
    real, plain = MiniLMs(), Plain(MiniLMs())
    embed_backlog(store, info, real)

    fast, slow = nearest(store, real, "What does the weather do?"), nearest(store, plain, "What does the weather do?")

    assert isinstance(real, ComparingEmbedder)
    assert not isinstance(plain, ComparingEmbedder)
    assert orders(fast)[:3] == [1, 5, 9]
    assert orders(fast) == orders(slow)
    assert [near.similarity for near in fast] == pytest.approx([near.similarity for near in slow], abs=2e-5)


# --- words and meaning --------------------------------------------------------------------------------------------


# The topics of the corpora in other words, none of which the corpora have.
OTHERWISE = {
    "vacation": "holiday abroad", "job": "employment", "instrument": "fiddle", "book": "novel",
    "wedding": "marriage ceremony", "sister": "female sibling", "grandmother": "granny",
    "recipe": "cooking instructions", "doctor": "physician", "apartment": "flat to live in",
    "shelter": "refuge for animals", "cousin": "uncle's child", "sport": "athletics", "car": "automobile",
    "repair": "fixing", "dinner": "evening meal", "garden": "backyard with plants", "launch": "product release",
    "lessons": "tutoring", "kids": "children", "museum": "art gallery", "movie": "film",
    "weekend": "Saturday and Sunday", "concert": "live music gig", "team": "squad", "trip": "journey",
    "school": "classroom", "gym": "fitness studio", "boat": "ship", "bakery": "bread shop",
}  # fmt: skip


class Case(NamedTuple):
    """A corpus, and its questions in other words."""

    corpus: Corpus
    otherwise: str

    def answers(self, question: Question) -> set[int]:
        """The positions of messages that answer a question: one has the evidence, in a dialogue as a reply to one."""
        texts = [message.text for message in self.corpus.messages]
        asked = f"Any news about your brother's {_topic(question)}?"
        if asked in texts:
            return {texts.index(asked), texts.index(asked) + 1}
        return {order for order, text in enumerate(texts) if question.evidence in text}


def _topic(question: Question) -> str:
    return next(topic for topic in TOPICS if re.search(rf"\b{topic}\b", question.query))


CASES = {
    "dialogue": lambda: Case(dialogue(3), "What did your sibling decide regarding the {}?"),
    "long_answers": lambda: Case(long_answers(5, turns=40), "What was the price of the {} that I bought?"),
}
WAYS = ("words", "meaning", "both")


@pytest.mark.parametrize("name", CASES)
def test_both_together_find_what_words_alone_do_not(tmp_path: Path, name: str) -> None:
    """Of questions in other words nearly all are answered among ten passages, and hardly one in the same words is lost."""
    case = CASES[name]()
    with Store(engines.fresh_sqlite(tmp_path)) as store:
        info = logged(store, name, case.corpus.messages)
        store.search("anything")  # which indexes what was appended at once
        embed_backlog(store, info, MiniLMs())
        shares = {
            how: _share(store, info, case, [_put(case, question, how) for question in case.corpus.questions])
            for how in ("literally", "otherwise")
        }
    print(name, len(case.corpus.questions), shares)

    assert shares["otherwise"]["words"] <= 0.1
    assert shares["otherwise"]["both"] >= 0.75
    assert shares["literally"]["words"] >= 0.95
    assert shares["literally"]["both"] >= 0.9


def _put(case: Case, question: Question, how: str) -> str:
    return question.query if how == "literally" else case.otherwise.format(OTHERWISE[_topic(question)])


def _share(store: Store, info: SessionInfo, case: Case, queries: Sequence[str]) -> dict[str, float]:
    """How many of the questions are answered among the ten passages that are best, by each way to search."""
    hits = dict.fromkeys(WAYS, 0)
    for question, query in zip(case.corpus.questions, queries, strict=True):
        right = case.answers(question)
        assert right
        for way, ids in zip(WAYS, _searched(store, info, query), strict=True):
            hits[way] += any((id >> 9 & (1 << 31) - 1) in right for id in ids[:10])
    return {way: round(count / len(queries), 2) for way, count in hits.items()}


def _searched(store: Store, info: SessionInfo, query: str) -> tuple[list[int], list[int], list[int]]:
    reader = store.reader(info)
    found = search_store(
        store.reading,
        query,
        fetch=lambda places: {(info.key, order): reader.message(order) for _, order in places},
        sessions=[info.key],
        limit=50,
    )
    words = [passage_id(hit.session_key, hit.passage.order, hit.passage.part) for hit in found]
    meaning = [near.passage for near in nearest(store, MiniLMs(), query, info.key, limit=50)]
    both = store.search(query, session=info.session_id, limit=50, embedder=MiniLMs())
    return words, meaning, [passage_id(info.key, reader.position(hit.message_id), 0) for hit in both]


def test_many_vectors_are_read_in_pieces(tmp_path: Path) -> None:
    """No more than a chunk is ever in memory, and none is left out."""
    largest = 0

    class Watching(Things):
        def nearest(self, query: bytes, vectors: Sequence[bytes], limit: int) -> list[tuple[int, float]]:
            nonlocal largest
            largest = max(largest, len(vectors))
            return [(len(vectors) - 1, 0.5)]

    with Store(engines.fresh_sqlite(tmp_path)) as store:
        with store.writing() as connection:
            row = struct.pack("<3f", 1, 0, 0)
            rows = [{"model": "things", "passage": 1 << 40 | number << 9, "vector": row} for number in range(10_000)]
            connection.execute(insert(embeddings), rows)
        found = nearest(store, Watching(), "cat")

    assert largest == 4_096
    assert orders(found) == [4_095, 8_191, 9_999]
