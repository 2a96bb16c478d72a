"""Generated talks in the format of LoCoMo: two friends over months, and questions about what they said.

Made up by us and easy for methods that match words: a person says each thing once, in a plain sentence. What makes it
less easy: both speakers tell of the same matters, questions use other words where they can, some answers have none of
their words, and what a question asks of one may have been said by the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final, NamedTuple

from bench.small_talk import AFTERTHOUGHTS, GOODBYES, HAPPENINGS, OPENERS, REACTIONS, SUBJECTS
from bench.talk_topics import PAIRS, TOPICS, Topic

SESSIONS: Final = 40
# As LoCoMo numbers them.
_CATEGORIES: Final = {"multi-hop": 1, "temporal": 2, "open-domain": 3, "single-hop": 4}
_ADVERSARIAL: Final = 5
# What only one of the two tells can be asked of the other.
_TELLS_TOO: Final = 0.6
_FILLERS: Final = (10, 14)


def generated_talks(count: int = len(PAIRS), *, sessions: int = SESSIONS, seed: int = 7) -> list[dict[str, Any]]:
    """Talks as a LoCoMo file has them, each of about 20,000 tokens; the same for a seed."""
    return [_talk(pair, sessions, Random(f"{seed} {pair}")) for pair in PAIRS[:count]]


class _Telling(NamedTuple):
    """What a person tells of a topic, and in which sessions."""

    who: int
    topic: Topic
    value: str
    sessions: tuple[int, ...]


class _Turn(NamedTuple):
    who: int
    text: str
    telling: _Telling | None = None


def _talk(pair: tuple[str, str], sessions: int, random: Random) -> dict[str, Any]:
    tellings = list(_tellings(sessions, random))
    conversation: dict[str, Any] = {"speaker_a": pair[0], "speaker_b": pair[1]}
    places: dict[_Telling, list[str]] = {}
    day = datetime(2023, 1, 9, 9, 30)  # noqa: DTZ001  friends say no time zone
    for number in range(1, sessions + 1):
        day += timedelta(days=random.randint(2, 9), minutes=random.randint(-90, 600))
        turns = list(_session(pair, [one for one in tellings if number - 1 in one.sessions], number - 1, random))
        for place, turn in enumerate(turns, 1):
            if turn.telling is not None:
                places.setdefault(turn.telling, []).append(f"D{number}:{place}")
        conversation[f"session_{number}_date_time"] = f"{day:%I:%M %p on %d %B, %Y}"
        conversation[f"session_{number}"] = [
            {"speaker": pair[turn.who], "dia_id": f"D{number}:{place}", "text": turn.text}
            for place, turn in enumerate(turns, 1)
        ]
    return {
        "sample_id": f"generated-{pair[0]}-{pair[1]}",
        "conversation": conversation,
        "qa": list(_questions(pair, places)),
    }


def _tellings(sessions: int, random: Random) -> Iterator[_Telling]:
    for topic in TOPICS:
        first = random.randrange(2)
        values = random.sample(topic.values, min(2, len(topic.values)))
        # Where there is but one thing to say, two who said it would both be right.
        both = len(values) > 1 and random.random() < _TELLS_TOO
        for who, value in zip((first, 1 - first)[: 1 + both], values, strict=False):
            chosen = sorted(random.sample(range(sessions), min(sessions, len(topic.says))))
            yield _Telling(who, topic, value, tuple(chosen))


def _session(pair: tuple[str, str], tellings: list[_Telling], number: int, random: Random) -> Iterator[_Turn]:
    """The turns of one evening: small talk, with what is told somewhere in between."""
    who = random.randrange(2)
    yield _Turn(who, random.choice(OPENERS).format(other=pair[1 - who]))
    blocks: list[_Telling | None] = [*tellings, *[None] * random.randint(*_FILLERS)]
    random.shuffle(blocks)
    for telling in blocks:
        if telling is None:
            who = 1 - who
            yield _Turn(who, _small_talk(random))
        else:
            who = telling.who
            if telling.topic.lead:
                yield _Turn(1 - who, telling.topic.lead)
            said = telling.topic.says[telling.sessions.index(number)]
            yield _Turn(who, said.format(x=telling.value), telling)
        who = 1 - who
        yield _Turn(who, _reaction(pair[1 - who], random))
    yield _Turn(1 - who, random.choice(GOODBYES).format(other=pair[who]))


def _small_talk(random: Random) -> str:
    sentence = f"{random.choice(SUBJECTS)} {random.choice(HAPPENINGS)}."
    return " ".join([sentence, *random.sample(AFTERTHOUGHTS, random.randint(0, 2))])


def _reaction(other: str, random: Random) -> str:
    said = random.choice(REACTIONS).format(other=other)
    return said if random.random() < 0.5 else f"{said} {random.choice(AFTERTHOUGHTS)}"


def _questions(pair: tuple[str, str], places: dict[_Telling, list[str]]) -> Iterator[dict[str, Any]]:
    told = {(telling.topic, telling.who) for telling in places}
    for telling, evidence in places.items():
        topic, who = telling.topic, telling.who
        yield {
            "question": topic.question.format(who=pair[who]),
            "answer": telling.value or topic.says[0],
            "evidence": evidence,
            "category": _CATEGORIES[topic.kind],
        }
        if topic.kind == "single-hop" and (topic, 1 - who) not in told:
            yield {
                "question": topic.question.format(who=pair[1 - who]),
                "adversarial_answer": telling.value,
                "evidence": evidence,
                "category": _ADVERSARIAL,
            }
