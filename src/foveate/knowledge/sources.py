"""Sources: knowledge of a project as computing asks for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from foveate.knowledge.base import Knowledge
from foveate.knowledge.compute import Code, ComputedContext, compute_context
from foveate.knowledge.mapping import CodeMap
from foveate.knowledge.models import Complexity, ContextTask, JournalTask, NodeType
from foveate.knowledge.query import Scored
from foveate.knowledge.signals import Signals
from foveate.recall.stems import stem


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSource:
    """What a project knows, as of a day: with it, what is new counts a little more."""

    knowledge: Knowledge
    today: str | None = None

    def query_by_tags(
        self, tags: Sequence[str], *, words: Sequence[str] = (), types: Collection[NodeType] = (), limit: int = 10
    ) -> list[Scored]:
        """The nodes that fit best."""
        return self.knowledge.query_by_tags(tags, words=words, types=types, limit=limit, today=self.today)

    def task(self, task_id: str, /) -> JournalTask | None:
        """A task of the journal, without what was retired since."""
        return self.knowledge.inherited_task(task_id)

    def code(self, signals: Signals, /) -> Code:
        """The places of the code that a task is about; only those that it names or shares a word with are looked at."""
        terms = dict.fromkeys((*signals.stems, *map(stem, signals.domains)))
        near = self.knowledge.map_near(terms, files=signals.files_mentioned)
        ranked = CodeMap(near.entries, near.files, counts=near.counts, total=near.total).ranked(signals)
        return Code(ranked, near.total)


class NothingKnown:
    """The source of a project that nobody has told anything yet."""

    def query_by_tags(
        self, tags: Sequence[str], *, words: Sequence[str] = (), types: Collection[NodeType] = (), limit: int = 10
    ) -> list[Scored]:
        """No node."""
        return []

    def task(self, task_id: str, /) -> JournalTask | None:
        """No task."""
        return None

    def code(self, signals: Signals, /) -> Code:
        """No place."""
        return Code()


def context_of(
    task: ContextTask,
    knowledge: Knowledge | None,
    *,
    today: str | None = None,
    complexity: Complexity | None = None,
    domains: Mapping[str, Sequence[str]] | None = None,
) -> ComputedContext:
    """The context of a task from what its project knows; without knowledge, that nothing is known."""
    source = NothingKnown() if knowledge is None else ProjectSource(knowledge=knowledge, today=today)
    return compute_context(task, source, complexity=complexity, domains=domains)
