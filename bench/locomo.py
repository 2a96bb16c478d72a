"""LoCoMo: long talks of two people, with questions and the turns that answer them, from a file in that format.

A turn becomes the message `speaker: text`, of a picture what it shows; the first of a session has the date in front.
The first speaker is the user, the other the assistant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.messages import Message
from foveate.errors import LogError
from foveate.log.text import encodable

# The numbers do not stand in the order in which LoCoMo's paper names the kinds.
_KINDS: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION: Final = re.compile(r"session_([0-9]{1,6})")
# The published file has several names in one text, and such as D30:05.
_SEPARATOR: Final = re.compile(r"[;,\s]+")
_ZEROS: Final = re.compile(r"(?<=[D:])0+(?=[0-9])")
_FORMAT: Final = "expected a LoCoMo file: a list of objects with `conversation` and `qa`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, and the places of the turns that answer it."""

    text: str
    evidence: tuple[int, ...]
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A talk as chat messages; `texts` is what was said in each, `left_out` tells of questions that name no turn."""

    name: str
    chats: tuple[Message, ...]
    texts: tuple[str, ...]
    questions: tuple[Question, ...]
    left_out: tuple[str, ...] = ()


def read_talks(path: Path) -> list[Talk]:
    """The talks of a file; one that is not as LoCoMo's are is refused with the place where it is not."""
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise LogError(f"{path}: cannot be read: {error.strerror}; name a file in LoCoMo's format") from error
    except (ValueError, RecursionError) as error:
        raise LogError(f"{path}: is not JSON: {error}; {_FORMAT}") from error
    try:
        talks = talks_of(document)
    except LogError as error:
        raise LogError(f"{path}: {error}") from error
    if not any(talk.questions for talk in talks):
        some = next((f", such as {reason}" for talk in talks for reason in talk.left_out), "")
        raise LogError(f"{path}: no question names turns as its evidence{some}; there is nothing to be asked")
    return talks


def talks_of(document: object) -> list[Talk]:
    """The talks of a document that was read already."""
    if not isinstance(document, list) or not document:
        raise LogError(f"{_FORMAT}, got {document!r:.60}")
    return [_talk(sample, f"sample {number}") for number, sample in enumerate(document)]


@dataclass(frozen=True, slots=True)
class _Turn:
    id: str
    chat: Message
    text: str


def _talk(sample: Any, place: str) -> Talk:
    match sample:
        case {"conversation": dict() as conversation, "qa": list() as asked}:
            pass
        case _:
            raise LogError(f"{place}: {_FORMAT}, got {sample!r:.60}")
    turns = list(_turns(conversation, place))
    places: dict[str, int] = {}
    for number, turn in enumerate(turns):
        if places.setdefault(turn.id, number) != number:
            raise LogError(f"{place}: two turns have the `dia_id` {turn.id!r}; evidence could mean either, rename one")
    questions: list[Question] = []
    left_out: list[str] = []
    for number, one in enumerate(asked):
        found = _question(one, places, f"{place}, question {number}")
        if isinstance(found, Question):
            questions.append(found)
        else:
            left_out.append(found)
    return Talk(
        name=place,
        chats=tuple(turn.chat for turn in turns),
        texts=tuple(turn.text for turn in turns),
        questions=tuple(questions),
        left_out=tuple(left_out),
    )


def _turns(conversation: dict[str, Any], place: str) -> Iterator[_Turn]:
    numbered = ((_SESSION.fullmatch(key), said) for key, said in conversation.items())
    # The published file has dates of sessions that it does not have.
    sessions = sorted(((int(key[1]), said) for key, said in numbered if key is not None), key=lambda one: one[0])
    if not any(said for _, said in sessions):
        raise LogError(f"{place}: `conversation` has no turns; they are expected in `session_1`, `session_2` and so on")
    roles: dict[str, str] = {}
    for number, said in sessions:
        if not isinstance(said, list):
            raise LogError(f"{place}: `session_{number}` is a list of turns, got {said!r:.60}")
        date = conversation.get(f"session_{number}_date_time")
        for index, one in enumerate(said):
            heading = f"[{date}]\n" if index == 0 and isinstance(date, str) else ""
            yield _turn(one, roles, heading, f"{place}, session_{number}, turn {index}")


def _turn(turn: Any, roles: dict[str, str], heading: str, place: str) -> _Turn:
    match turn:
        case {"speaker": str() as speaker, "dia_id": str() as id, "text": str() as text}:
            pass
        case _:
            raise LogError(f"{place}: a turn has the texts `speaker`, `dia_id` and `text`, got {turn!r:.80}")
    role = roles.setdefault(speaker, "assistant" if len(roles) == 1 else "user")
    caption = turn.get("blip_caption")
    shown = f"{text} [shows {caption}]" if isinstance(caption, str) and caption else text
    content = encodable(f"{heading}{speaker}: {shown}")
    # A picture without a word is known by what it shows.
    return _Turn(id.strip(), {"role": role, "content": content}, encodable(text.strip()) or content)


def _question(asked: Any, places: dict[str, int], place: str) -> Question | str:
    match asked:
        case {"question": str() as text, "evidence": list() as evidence} if text.strip():
            pass
        case _:
            raise LogError(f"{place}: a question has a text `question` and a list `evidence`, got {asked!r:.80}")
    if not all(isinstance(one, str) for one in evidence):
        raise LogError(f"{place}: `evidence` is a list of `dia_id`s such as 'D1:3', got {evidence!r:.60}")
    named = [name for one in evidence for name in _SEPARATOR.split(one) if name]
    found = [places.get(name, places.get(_ZEROS.sub("", name))) for name in named]
    known = [one for one in found if one is not None]
    if not known or len(known) < len(named):
        return f"{place}: evidence {evidence!r} names " + ("no turn" if evidence else "nothing")
    category = asked.get("category")
    kind = _KINDS.get(category) if isinstance(category, int) else None
    return Question(text=encodable(text), evidence=tuple(dict.fromkeys(known)), kind=kind or encodable(f"{category}"))
