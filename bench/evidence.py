"""Evidence: how much of what answers a question stands in the request for it.

Asked about conversations with questions and the messages that answer them, in a session that has just taken in the
conversation ("first"), and in one that compiled at every turn of it ("later"). The budget is the whole request, in
which the newest exchange stays. A message counts if all of it is there, a sentence if it is; marks of quotes aside.
Half of the questions are for tuning, the other half for reports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Final, Literal, NamedTuple

from bench.locomo import talks_of
from bench.logs import data_root
from bench.messages import Message, content_of
from bench.talks import generated_talks
from bench.tokens import request_tokens
from foveate.budget.tokens import counter_for
from foveate.errors import BudgetError, LogError
from foveate.log.quoting import MARK
from foveate.recall import PassageIndex
from foveate.recall.memory import MemoryPostings
from foveate.session import Session

BUDGETS: Final = (500, 1_000, 2_000, 4_000, 8_000)
POLICIES: Final = ("default", "chat")
HALVES: Final = ("tune", "report")
Arm = Literal["first", "later"]
Half = Literal["tune", "report"]

Progress = Callable[[int, int, str], None]

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


def recorded_folder() -> Path | None:
    """The folder of conversations beside the recorded logs, if there is one."""
    root = data_root()
    folder = root.parent / "study" / "conversations" if root is not None else None
    return folder if folder is not None and folder.is_dir() else None


def conversations_in(folder: Path) -> list[Conversation]:
    """The conversations of all files in a folder, named after their files."""
    found: list[Conversation] = []
    for path in sorted(folder.glob("*.json")):
        try:
            found += [_conversation(path.stem.split("-")[0], one) for one in json.loads(path.read_bytes())]
        except (ValueError, TypeError, KeyError) as error:
            raise LogError(
                f"{path}: {error!r:.200}; expected a list of objects with `id`, `conversation` (turns with `id`, "
                "`speaker`, `role` and `text`) and `questions` (with `question`, `evidence` and `category`)"
            ) from error
    if not found:
        raise LogError(f"{folder}: has no conversations; name a folder with files such as locomo-dev.json")
    return found


def generated_conversations(count: int) -> list[Conversation]:
    """Made-up talks of two friends, the same in every run."""
    return [
        Conversation(
            set="generated",
            name=talk.name,
            chats=talk.chats,
            texts=talk.texts,
            asked=tuple(Asked(one.text, one.evidence, one.kind) for one in talk.questions if one.evidence),
        )
        for talk in (talks_of(generated_talks(count)) if count else ())
    ]


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


class Cell(NamedTuple):
    """What is measured at once: a conversation under one policy and budget."""

    conversation: Conversation
    policy: str
    budget: int
    arm: Arm
    half: Half
    most: int | None
    vectors: bool


def measured(cell: Cell) -> list[Shown]:
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


# --- tables -------------------------------------------------------------------------------------------------------


def shown_in(cells: Sequence[Cell], jobs: int, progress: Progress) -> list[tuple[Cell, list[Shown]]]:
    """What requests show in each cell, several cells at once."""
    found: list[tuple[Cell, list[Shown]]] = []
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for cell, shown in zip(cells, pool.map(measured, cells), strict=True):
            found.append((cell, shown))
            progress(len(found), len(cells), cell.conversation.name)
    return found


class Row(NamedTuple):
    """One line of the table: an arm on a set of conversations; `by_budget` has the questions of each budget."""

    policy: str
    arm: Arm
    set: str
    kind: str
    by_budget: dict[int, list[Shown]]


def rows_of(found: Iterable[tuple[Cell, list[Shown]]], *, kinds: bool) -> Iterator[Row]:
    """The lines of the table, with `kinds` also by the number of messages that a question needs."""
    grouped: dict[tuple[str, Arm, str], dict[int, list[Shown]]] = {}
    for cell, shown in found:
        by_budget = grouped.setdefault((cell.policy, cell.arm, cell.conversation.set), {})
        by_budget.setdefault(cell.budget, []).extend(shown)
    for (policy, arm, set), by_budget in grouped.items():
        yield Row(policy, arm, set, "", by_budget)
        for kind, (low, high) in _KINDS.items() if kinds else ():
            chosen = {
                budget: [one for one in some if low <= one.evidence <= high] for budget, some in by_budget.items()
            }
            if all(chosen.values()):
                yield Row(policy, arm, set, kind, chosen)


_KINDS: Final = {"one message": (1, 1), "2 to 3": (2, 3), "more": (4, 1_000)}


def row_cells(row: Row) -> list[str]:
    """A line as a table shows it: whole messages, sentences and tokens of the request for each budget."""
    return [row.policy, row.arm, row.set, row.kind or "all", *map(_shares, row.by_budget.values())]


def _shares(shown: Sequence[Shown]) -> str:
    messages, sentences = fmean(one.messages for one in shown), fmean(one.sentences for one in shown)
    return f"{messages:.3f} / {sentences:.3f} / {fmean(one.tokens for one in shown):,.0f}"
