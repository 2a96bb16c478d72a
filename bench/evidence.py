"""Evidence: how much of what answers a question stands in the request for it: `python -m bench.evidence`.

Asked about conversations with questions and the messages that answer them, in a session that has just taken in the
conversation ("first"), and in one that compiled at every turn of it ("later"). The budget is the whole request, in
which the newest exchange stays. A message counts if all of it is there, a sentence if it is; marks of quotes aside.
Half of the questions are for tuning, the other half for reports.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Final, Literal, NamedTuple

from bench.logs import data_root
from bench.messages import Message, content_of
from bench.tokens import request_tokens
from foveate.budget.tokens import counter_for
from foveate.errors import BudgetError
from foveate.log.quoting import MARK
from foveate.recall import PassageIndex
from foveate.recall.memory import MemoryPostings
from foveate.session import Session

BUDGETS: Final = (500, 1_000, 2_000, 4_000, 8_000)
ARMS: Final = ("first", "later")
HALVES: Final = ("tune", "report")
Arm = Literal["first", "later"]

_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_BLANKS: Final = re.compile(r"\s+")
_SHORTEST: Final = 12


class Asked(NamedTuple):
    """A question, and the places of the messages that answer it."""

    text: str
    evidence: tuple[int, ...]
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Messages in chat form, and what is asked about them."""

    set: str
    name: str
    chats: tuple[Message, ...]
    texts: tuple[str, ...]
    asked: tuple[Asked, ...]


class Shown(NamedTuple):
    """How much of the evidence of one question a request shows."""

    set: str
    kind: str
    evidence: int
    messages: float
    sentences: float
    tokens: int


def conversations_in(folder: Path) -> list[Conversation]:
    """The conversations of all files in a folder, named after their files."""
    found: list[Conversation] = []
    for path in sorted(folder.glob("*.json")):
        found += [_conversation(path.stem.split("-")[0], one) for one in json.loads(path.read_bytes())]
    return found


def half_of(asked: Sequence[Asked], half: str) -> tuple[Asked, ...]:
    """The questions of a half: every other one, as they come by kind."""
    return tuple(asked[HALVES.index(half) :: 2])


def shown_of(conversation: Conversation, asked: Asked, request: Iterable[Message]) -> Shown:
    """How much of the evidence of a question stands in a request."""
    said = plain("\n".join(map(content_of, chats := list(request))))
    texts = [conversation.texts[place] for place in asked.evidence]
    sentences = [one for text in texts for one in sentences_of(text)]
    return Shown(
        conversation.set,
        asked.kind,
        len(texts),
        fmean(plain(text) in said for text in texts),
        fmean(one in said for one in sentences),
        request_tokens(chats),
    )


def plain(text: str) -> str:
    """A text without marks of quotes and with single blanks."""
    return _BLANKS.sub(" ", "\n".join(line.removeprefix(MARK) for line in text.splitlines())).strip()


def sentences_of(text: str) -> list[str]:
    """The sentences of a text that say something; all of it if none is long enough."""
    found = [plain(one) for one in _SENTENCE.split(text)]
    return [one for one in found if len(one) >= _SHORTEST] or [plain(text)]


def _conversation(set: str, document: Any) -> Conversation:
    turns = document["conversation"]
    places = {turn["id"]: place for place, turn in enumerate(turns)}
    asked = [
        Asked(one["question"], tuple(places[id] for id in one["evidence"] if id in places), str(one["category"]))
        for one in document["questions"]
    ]
    return Conversation(
        set=set,
        name=str(document["id"]),
        chats=tuple({"role": turn["role"], "content": _content(turn)} for turn in turns),
        texts=tuple(turn["text"] for turn in turns),
        asked=tuple(one for one in asked if one.evidence),
    )


def _content(turn: Any) -> str:
    """What a turn says; of two people who are not user and assistant, with the name before it."""
    return str(turn["text"]) if turn["speaker"] == turn["role"] else f"{turn['speaker']}: {turn['text']}"


# --- sessions -----------------------------------------------------------------------------------------------------


class _Cell(NamedTuple):
    """What is measured at once: a conversation under one policy and budget."""

    conversation: Conversation
    policy: str
    budget: int
    arm: Arm
    half: str
    most: int | None
    vectors: bool


def measured(cell: _Cell) -> list[Shown]:
    """What requests show for the questions of a cell, each asked in a copy of the session."""
    options: dict[str, Any] = {"budget": cell.budget, "policy": cell.policy, "counter": _Remembering()}
    if cell.vectors:
        options["embedder"] = _Embedding()
    session = Session(**options)
    for place, chat in enumerate(cell.conversation.chats):
        # A call was made for each thing that the assistant said.
        if cell.arm == "later" and place and chat["role"] == "assistant":
            _compiled(session)
        session.append(chat)
    asked = half_of(cell.conversation.asked, cell.half)[: cell.most]
    postings = MemoryPostings()
    for place, message in enumerate(session.messages):
        postings.add(message, place)
    index = PassageIndex(postings)
    return [shown_of(cell.conversation, one, _request(session, one.text, options, index)) for one in asked]


def _request(session: Session, question: str, options: dict[str, Any], index: PassageIndex) -> list[Message]:
    copy = Session.continued(session.context, None, dict(options))
    # What all copies have in common is indexed once.
    copy._means.search_in(index)  # noqa: SLF001  as a store does for its sessions
    copy.append({"role": "user", "content": question})
    return _compiled(copy)


class _Remembering:
    """A counter that counts each text once."""

    def __init__(self) -> None:
        self._counter = counter_for(None)
        self.name = self._counter.name
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        """The tokens of a text."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._counter.count(text)
        return found

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """The tokens of many texts."""
        return [self.count(text) for text in texts]


def _compiled(session: Session) -> list[Message]:
    try:
        request: list[Message] = session.compile().to("openai")
    except BudgetError:
        return []
    return request


class _Embedding:
    """MiniLM, which embeds each text once in a process."""

    _known: ClassVar[dict[str, Sequence[float]]] = {}

    def __init__(self) -> None:
        from foveate.integrations.minilm import MiniLM  # noqa: PLC0415  only with vectors

        self._inner = MiniLM()
        self.name, self.dimensions = self._inner.name, self._inner.dimensions

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """A vector for each text, in their order."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._inner.embed(new), strict=True))
        return [self._known[text] for text in texts]

    def nearest(self, query: bytes, vectors: Sequence[bytes], limit: int) -> list[tuple[int, float]]:
        """The places of the vectors nearest to a query and their similarity."""
        return self._inner.nearest(query, vectors, limit)


# --- command ------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    options = _parser().parse_args(arguments)
    if options.folder is None:
        raise SystemExit("no recorded conversations beside the repository; name their folder")
    cells = [
        _Cell(one, policy, budget, arm, options.half, options.most, options.vectors)
        for policy in options.policies
        for arm in options.arms
        for budget in options.budgets
        for one in conversations_in(options.folder)
        if options.sets is None or one.set in options.sets
    ]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        found = list(zip(cells, pool.map(measured, cells), strict=True))
    print(*_lines(found, options.kinds), sep="\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.evidence", description=__doc__)
    root = data_root()
    folder = root.parent / "study" / "conversations" if root is not None else None
    parser.add_argument("folder", nargs="?", type=Path, default=folder, help="where the conversations are")
    parser.add_argument("--policies", nargs="+", default=["default", "chat"])
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS))
    parser.add_argument("--sets", nargs="+", help="only these, such as locomo")
    parser.add_argument("--half", choices=HALVES, default="report")
    parser.add_argument("--most", type=int, help="so many questions of each conversation")
    parser.add_argument("--vectors", action="store_true", help="search by meaning, too (foveate[embeddings])")
    parser.add_argument("--kinds", action="store_true", help="also by number of evidence messages")
    parser.add_argument("--jobs", type=int, default=2)
    return parser


def _lines(found: Sequence[tuple[_Cell, list[Shown]]], kinds: bool) -> Iterator[str]:
    yield "whole messages / sentences / tokens of the request"
    for policy, arm, set in dict.fromkeys((cell.policy, cell.arm, cell.conversation.set) for cell, _ in found):
        rows: dict[int, list[Shown]] = {}
        for cell, some in found:
            if (cell.policy, cell.arm, cell.conversation.set) == (policy, arm, set):
                rows.setdefault(cell.budget, []).extend(some)
        yield f"{policy:<8} {arm:<6} {set:<7} " + "   ".join(f"{b:,}: {_said(s)}" for b, s in rows.items())
        if kinds:
            for name, chosen in _by_evidence(rows):
                yield f"{'':<23} {name:<11} " + "   ".join(f"{b:,}: {_said(s)}" for b, s in chosen.items())


def _by_evidence(rows: dict[int, list[Shown]]) -> Iterator[tuple[str, dict[int, list[Shown]]]]:
    tests = (
        ("one message", partial(_between, 1, 1)),
        ("2 to 3", partial(_between, 2, 3)),
        ("more", partial(_between, 4, 99)),
    )
    for name, is_in in tests:
        chosen = {budget: [one for one in some if is_in(one)] for budget, some in rows.items()}
        if all(chosen.values()):
            yield name, chosen


def _between(low: int, high: int, one: Shown) -> bool:
    return low <= one.evidence <= high


def _said(shown: Sequence[Shown]) -> str:
    messages, sentences = fmean(one.messages for one in shown), fmean(one.sentences for one in shown)
    return f"{messages:.3f} {sentences:.3f} {fmean(one.tokens for one in shown):,.0f}"


if __name__ == "__main__":
    raise SystemExit(main())
