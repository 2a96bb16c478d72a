"""Logs whose answers are known: short dialogue, chat with long answers, long tool output."""

from __future__ import annotations

import random
from typing import NamedTuple

from foveate.log.messages import Message, MessageMeta, Role, Text, ToolCall, ToolResult


class Question(NamedTuple):
    """A query and the words that answer it."""

    query: str
    evidence: str


class Corpus(NamedTuple):
    """Messages, and questions about them."""

    messages: list[Message]
    questions: list[Question]


TOPICS = [
    "vacation",
    "job",
    "instrument",
    "book",
    "wedding",
    "sister",
    "grandmother",
    "recipe",
    "doctor",
    "apartment",
    "shelter",
    "cousin",
    "sport",
    "car",
    "repair",
    "dinner",
    "garden",
    "launch",
    "lessons",
    "kids",
    "museum",
    "movie",
    "weekend",
    "concert",
    "team",
    "trip",
    "school",
    "gym",
    "boat",
    "bakery",
]
CITIES = ["Lisbon", "Kyoto", "Oslo", "Quito", "Nairobi", "Tallinn", "Porto", "Bergen", "Hanoi", "Cusco"]
MONTHS = ["January", "February", "March", "April", "June", "July", "August", "September"]
KEYS = ["tulip", "falcon", "quartz", "ember", "willow", "comet", "marble", "saffron", "orchid", "glacier"]


def said(order: int, role: Role, text: str) -> Message:
    return Message(id=f"m{order}", role=role, parts=(Text(text=text),))


def answered(order: int, text: str, tool: str = "bash") -> Message:
    meta = MessageMeta(origin="tool_result", tool_name=tool)
    return Message(id=f"m{order}", role="tool", parts=(ToolResult(call_id=f"c{order}", text=text),), meta=meta)


def called(order: int, name: str, arguments: str) -> Message:
    return Message(id=f"m{order}", role="assistant", parts=(ToolCall(id=f"c{order}", name=name, arguments=arguments),))


def dialogue(seed: int, turns: int = 700) -> Corpus:
    """Two people chat; what is asked for stands in the turn after the one that has the words of the query."""
    rng = random.Random(seed)
    lines: list[str] = []
    questions: list[Question] = []
    topics = rng.sample(TOPICS, 12)
    while len(lines) < turns:
        lines += [_chatter(rng) for _ in range(rng.randint(20, 40))]
        if topics:
            topic, city, month = topics.pop(), rng.choice(CITIES), rng.choice(MONTHS)
            evidence = rng.choice([f"We settled on {city}, finally!", f"Not before {month}, they told me in {city}."])
            lines += [f"Any news about your brother's {topic}?", evidence]
            questions.append(Question(f"What did I say about the {topic} of my brother?", evidence))
    roles: tuple[Role, Role] = ("user", "assistant")
    return Corpus([said(order, roles[order % 2], line) for order, line in enumerate(lines)], questions)


def long_answers(seed: int, turns: int = 60) -> Corpus:
    """Facts stand in short messages of the user, between long answers that have the same words."""
    rng = random.Random(seed)
    messages: list[Message] = []
    questions: list[Question] = []
    topics = rng.sample(TOPICS, 12)
    for _ in range(turns):
        text = f"Give me ideas for the {rng.choice(TOPICS)} and the {rng.choice(TOPICS)}."
        if topics and rng.random() < 0.15:
            topic, number = topics.pop(), rng.randint(100, 999)
            evidence = f"By the way, my {topic} cost {number} euros in {rng.choice(CITIES)}."
            questions.append(Question(f"How much did I pay in euros for my {topic}, what did it cost me?", evidence))
            text = f"{evidence} {text}"
        messages.append(said(len(messages), "user", text))
        answer = "\n".join(" ".join(_advice(rng) for _ in range(rng.randint(1, 3))) for _ in range(rng.randint(6, 16)))
        messages.append(said(len(messages), "assistant", answer))
    return Corpus(messages, questions)


def tool_output(seed: int, calls: int = 24) -> Corpus:
    """One line of hundreds is the evidence."""
    rng = random.Random(seed)
    messages: list[Message] = []
    questions: list[Question] = []
    for number in range(calls):
        lines = [_log_line(rng) for _ in range(rng.randint(80, 300))]
        if rng.random() < 0.5:
            worker, key = f"worker-{number + 1}", rng.choice(KEYS)
            evidence = f"10:{rng.randint(10, 59)} ERROR {worker} lost its lease on shard {key} after {rng.randint(900, 9000)} ms"
            lines.insert(rng.randint(0, len(lines)), evidence)
            questions.append(Question(f"Why did {worker} lose the lease?", evidence))
        messages.append(called(len(messages), "bash", f'{{"command": "tail -n {len(lines)} service.log"}}'))
        messages.append(answered(len(messages), "\n".join(lines)))
    return Corpus(messages, questions)


def _chatter(rng: random.Random) -> str:
    one, other = rng.choice(TOPICS), rng.choice(TOPICS)
    line = rng.choice(
        [
            "My brother keeps talking about the {one} and the {other}.",
            "Do you still think about the {one}?",
            "The {one} was great, the {other} not so much.",
            "I need to sort out my {one} before {month}.",
            "Someone at the {one} asked about the {other}.",
            "Haha, that is so much fun!",
            "I say we forget about the {one}.",
        ]
    )
    return line.format(one=one, other=other, month=rng.choice(MONTHS))


def _advice(rng: random.Random) -> str:
    line = rng.choice(
        [
            "For the {one} you could look at {city}, which is lovely in {month}.",
            "If the {one} does cost too much, consider a {other} instead.",
            "Start by listing what you want from the {one}, then set aside {number} euros.",
            "A good {one} takes around {number} weeks to plan.",
        ]
    )
    return line.format(
        one=rng.choice(TOPICS),
        other=rng.choice(TOPICS),
        city=rng.choice(CITIES),
        month=rng.choice(MONTHS),
        number=rng.randint(2, 60),
    )


def _log_line(rng: random.Random) -> str:
    time, worker, key = f"10:{rng.randint(10, 59)}", f"worker-{rng.randint(1, 99)}", rng.choice(KEYS)
    line = rng.choice(
        [
            "{time} INFO {worker} took the lease on shard {key}",
            "{time} INFO {worker} wrote {size} rows",
            "{time} WARN shard {key} is slow, {size} ms",
        ]
    )
    return line.format(time=time, worker=worker, key=key, size=rng.randint(10, 9999))
