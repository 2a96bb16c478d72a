from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.budget import EstimatingCounter
from foveate.log.messages import Message
from foveate.recall import Passage, PassageIndex, recalled
from foveate.recall.ranking import PER_PASSAGE
from tests.recall.corpora import Corpus, Question, answered, called, dialogue, long_answers, said, tool_output

COUNTER = EstimatingCounter()
Indexed = tuple[PassageIndex, list[Question]]


def indexed(messages: list[Message]) -> PassageIndex:
    index = PassageIndex()
    for order, message in enumerate(messages):
        index.add(message, order)
    return index


def shown(messages: list[Message], query: str, room: int = 500) -> list[Passage]:
    return recalled(indexed(messages), query, room_tokens=room, counter=COUNTER)


CHAT = [said(order, "user", f"We talked about topic {order} at length, and went on.") for order in range(60)]


@pytest.mark.parametrize(
    "query",
    [
        "continue",
        "yes, go on",
        "ok thanks",
        "Looks good, please proceed!",
        "",
        "好的，继续",
        "続けてください",
        "네, 계속 해주세요",
        "why?",
        "and/or",
        "do it again",
        "ja, bitte weiter",
        "👍",
        "it's fine, e.g. the other one",
    ],
)
def test_a_query_that_asks_for_nothing_recalls_nothing(query: str) -> None:
    """Filler and function words bring nothing back, even if the past is full of them."""
    messages = [
        *CHAT,
        said(60, "user", query),
        said(61, "user", "continue with the work, ok"),
        said(62, "user", "好的"),
    ]

    assert shown(messages, query) == []


def test_a_word_that_is_everywhere_recalls_nothing() -> None:
    """No room is filled with what merely shares a common word with the input."""
    assert shown(CHAT, "what about that topic") == []


def test_hits_far_below_the_best_are_left_out() -> None:
    """Room is not a reason to show something."""
    messages = [
        said(0, "user", "The port of the quartz staging database is 5433, ask the platform team."),
        *[said(order, "user", f"Unrelated chatter number {order}, and a port in Portugal.") for order in range(1, 30)],
    ]

    passages = shown(messages, "port of the quartz staging database platform team", room=3_000)

    assert [passage.order for passage in passages] == [0, 1]


def test_the_answer_to_a_question_comes_with_it() -> None:
    """In a dialogue the words of the query stand in the question, what is wanted in the next turn."""
    messages = [*CHAT]
    messages[30] = said(30, "user", "Where did you spend your vacation?")
    messages[31] = said(31, "assistant", "In Lisbon, mostly at the beach.")

    texts = [passage.text for passage in shown(messages, "the vacation", room=32)]

    assert texts == ["Where did you spend your vacation?", "In Lisbon, mostly at the beach."]


def test_a_call_brings_its_result() -> None:
    """What a tool answered is worth showing with what it was asked."""
    messages = [*CHAT]
    messages[40] = called(40, "get_user", '{"user_id": "mia_li_3668"}')
    messages[41] = answered(41, '{"email": "m@example.com", "dob": "1990-04-05"}', tool="get_user")

    assert [passage.order for passage in shown(messages, "who is mia_li_3668?", room=60)] == [40, 41]


def test_of_a_long_passage_the_lines_that_matter_are_shown() -> None:
    """With little room one line of a log is shown with its surroundings, with much room all of the passage."""
    lines = [f"10:{number} INFO heartbeat number {number} arrived in time" for number in range(12)]
    lines[6] = "10:06 ERROR quartz lost its lease"
    messages = [*CHAT, answered(60, "\n".join(lines))]

    (tight,) = shown(messages, "why did quartz lose the lease?", room=70)
    (ample,) = shown(messages, "why did quartz lose the lease?", room=1_000)

    assert tight.text == "\n".join(["…", *lines[5:8], "…"])
    assert ample.text == "\n".join(lines)


def test_the_same_text_is_shown_once() -> None:
    """A file read three times is recalled once, and a line of it is not shown beside it."""
    text = "PORT = 5433  # quartz staging"
    messages = [*CHAT, answered(60, text), answered(61, text), answered(62, f"{text}\nHOST = 'quartz.local'")]

    passages = shown(messages, "quartz staging")

    assert sum(text in passage.text for passage in passages) == 1


def test_only_what_was_evicted_is_recalled() -> None:
    """What the model sees anyway, or what came after, is not shown again."""
    messages = [*CHAT]
    for order in (10, 11, 20, 50):
        messages[order] = said(order, "user", f"The quartz port is {order}.")
    index = indexed(messages)

    def found(evicted: Callable[[int], bool], before: int | None = None) -> list[int]:
        passages = recalled(index, "quartz port", room_tokens=80, counter=COUNTER, evicted=evicted, before=before)
        return [passage.order for passage in passages]

    assert set(found(lambda order: order != 11)) & {10, 11, 20, 50} == {10, 20, 50}
    assert max(found(lambda _: True, before=20)) < 20


def test_of_equal_answers_the_newer_one_is_preferred() -> None:
    """What was said last is likelier to be meant."""
    messages = [*CHAT]
    messages[5] = said(5, "user", "The quartz port is 5433.")
    messages[55] = said(55, "user", "The quartz port is 6544.")

    assert [passage.order for passage in shown(messages, "quartz port", room=18)] == [55]


@given(
    st.lists(st.text(st.sampled_from("alpha beta? gamma.\nζ注文 ")), max_size=12)
    | st.lists(st.text(max_size=900), max_size=6),
    st.text(max_size=60) | st.sampled_from(["alpha", "beta gamma", "注文"]),
    st.integers(-5, 200),
)
def test_room_order_and_origin_hold_for_any_text(texts: list[str], query: str, room: int) -> None:
    """Whatever was said and asked: within the room, in order of time, nothing invented, the same each time."""
    messages = [said(order, "user", text) for order, text in enumerate(texts)]

    passages = shown(messages, query, room)

    assert passages == shown(messages, query, room)
    assert sum(COUNTER.count(passage.text) + PER_PASSAGE for passage in passages) <= max(room, 0)
    places = [(passage.order, passage.part) for passage in passages]
    assert places == sorted(set(places))
    for passage in passages:
        assert all(line in texts[passage.order] for line in passage.text.split("\n") if line != "…")


def plain(index: PassageIndex, query: str, room: int) -> list[str]:
    """Hits by BM25 until the room is full."""
    return _fill([hit.passage.text for hit in index.search(query, limit=300)], room)


def with_neighbours(index: PassageIndex, query: str, room: int) -> list[str]:
    """Hits by BM25, each with what stands before and after it."""
    texts: list[str] = []
    for hit in index.search(query, limit=300):
        order, part = hit.passage.order, hit.passage.part
        near = (
            index.passage(order, part),
            index.passage(order, part + 1) or index.passage(order + 1, 0),
            index.passage(order, part - 1) if part else index.passage(order - 1, -1),
        )
        texts += [passage.text for passage in near if passage is not None]
    return _fill(texts, room)


def by_density(index: PassageIndex, query: str, room: int) -> list[str]:
    """Hits by BM25 over the root of their size."""
    hits = index.search(query, limit=300)
    hits.sort(key=lambda hit: -hit.score / _tokens(hit.passage.text) ** 0.5)
    return _fill([hit.passage.text for hit in hits], room)


def as_recalled(index: PassageIndex, query: str, room: int) -> list[str]:
    return [passage.text for passage in recalled(index, query, room_tokens=room, counter=COUNTER)]


@cache
def _tokens(text: str) -> int:
    return COUNTER.count(text)


def _fill(texts: list[str], room: int) -> list[str]:
    chosen: list[str] = []
    for text in dict.fromkeys(texts):
        cost = _tokens(text) + PER_PASSAGE
        if cost <= room:
            chosen.append(text)
            room -= cost
    return chosen


def evidence_found(corpora: list[Indexed], rank: Callable[[PassageIndex, str, int], list[str]], room: int) -> float:
    asked = [(index, question) for index, questions in corpora for question in questions]
    found = sum(question.evidence in "\n".join(rank(index, question.query, room)) for index, question in asked)
    return found / len(asked)


@pytest.mark.parametrize("corpus", [dialogue, long_answers, tool_output])
def test_recall_finds_at_least_what_any_single_ranking_finds(corpus: Callable[[int], Corpus]) -> None:
    """Dialogue needs neighbours, long answers density, tool output extracts: no log makes us choose."""
    corpora = [(indexed(messages), questions) for messages, questions in map(corpus, range(3))]

    for room in (120, 250, 500, 1_000):
        ours = evidence_found(corpora, as_recalled, room)
        for other in (plain, with_neighbours, by_density):
            assert ours >= evidence_found(corpora, other, room), (other.__name__, room)
