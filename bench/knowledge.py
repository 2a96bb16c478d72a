"""How long a query of a project's knowledge takes, and how long what a task is told is: `python -m bench.knowledge`.

Projects of 10, 1,000 and 100,000 nodes and as many places on the map; a third of the nodes have one and the same tag.
Queries as tasks ask them, every other one for that tag too. The context of the same tasks in each project, which depend
on the same two others, in tokens. And how long a handoff takes to be taken in, at each size.
"""

import argparse
import json
import math
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from statistics import quantiles
from typing import Any, TypeVar

from bench.databases import databases
from foveate.budget.tokens import counter_for
from foveate.knowledge.base import Knowledge
from foveate.knowledge.models import Complexity, ContextTask, Gotcha, Handoff, JournalTask, MapEntry, Pattern
from foveate.knowledge.render import rendered
from foveate.knowledge.sources import context_of
from foveate.store import Store

Report = dict[str, Any]
Asked = TypeVar("Asked")

SIZES = (10, 1_000, 100_000)
TODAY = date(2026, 6, 1)
EVERYWHERE = "api"
TYPES = ("task", "task", "task", "pattern", "gotcha", "decision", "insight")
KEYWORDS = 12
# Words that a project of any size has, so that a task can be the same in all of them.
SHARED = 300
CONTEXTS: tuple[Complexity, ...] = ("easy", "normal", "complex")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.directory) as directory, databases(directory, options.engines) as urls:
        report = {
            name: [_measured(url, size, options.queries, options.seed) for size in options.sizes]
            for name, url in urls.items()
        }
    print(json.dumps(report, indent=2) if options.json else "\n".join(_lines(report)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.knowledge", description=__doc__)
    parser.add_argument("--engines", nargs="+", choices=("sqlite", "postgresql"), default=["sqlite"])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="nodes of each project")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--directory", default=None, help="where the databases are made; a real disk, not memory")
    parser.add_argument("--json", action="store_true")
    return parser


def _measured(url: str, size: int, queries: int, seed: int) -> Report:
    chance = random.Random(f"{seed} {size}")
    words = _vocabulary(size, seed)
    tasks = list(_tasks(words[:SHARED], queries // 4, random.Random(seed)))
    with Store(url) as store:
        knowledge = Knowledge(store, f"of {size} nodes")
        began = time.perf_counter()
        knowledge.import_graph({"version": 1, "nodes": list(_nodes(size, words, chance))})
        filled = time.perf_counter() - began
        knowledge.put_entries(_entry(number, words, chance) for number in range(size))
        for id in ("before", "between"):
            knowledge.put_task(_prior(id, words[:SHARED], random.Random(f"{seed} {id}")))
        asked = [_keywords(words, chance, everywhere=number % 2 == 0) for number in range(queries)]
        return {
            "nodes": size,
            "filled_seconds": filled,
            "query": _times(lambda one: len(_found(knowledge, one)), asked),
            "60 nodes": _times(lambda one: len(_found(knowledge, one, limit=60)), asked),
            "patterns": _times(lambda one: len(_found(knowledge, one, types=("pattern",))), asked),
            "map": _times(lambda one: len(knowledge.map_candidates(one)), asked),
            "context": _times(lambda one: _context(knowledge, one, "normal"), tasks),
            "tokens": {complexity: _tokens(knowledge, tasks, complexity) for complexity in CONTEXTS},
            "ingest": _times(
                lambda one: len(knowledge.ingest(*_handoff(one), today=TODAY.isoformat()).added), asked[: queries // 4]
            ),
        }


def _found(knowledge: Knowledge, keywords: Sequence[str], **options: Any) -> list[Any]:
    return knowledge.query_by_tags(keywords, words=keywords, today=TODAY.isoformat(), **options)


def _tokens(knowledge: Knowledge, tasks: Sequence[ContextTask], complexity: Complexity) -> Report:
    counted = [_context(knowledge, task, complexity) for task in tasks]
    return {"mean": sum(counted) / len(counted), "most": max(counted)}


def _context(knowledge: Knowledge, task: ContextTask, complexity: Complexity) -> int:
    """The tokens of what a task is told."""
    context = context_of(task, knowledge, today=TODAY.isoformat(), complexity=complexity)
    return counter_for(None).count(rendered(context))


def _times(ask: Callable[[Asked], int], asked: Sequence[Asked]) -> Report:
    """Milliseconds of each call after the first, which opens the connection, and what was found on average."""
    found = [ask(asked[0])]
    times = []
    for one in asked[1:]:
        began = time.perf_counter()
        found.append(ask(one))
        times.append(1_000 * (time.perf_counter() - began))
    cuts = quantiles(times, n=20, method="inclusive")
    return {"p50": cuts[9], "p95": cuts[18], "found": sum(found) / len(found)}


# --- a project that is made up ------------------------------------------------------------------------------------


def _vocabulary(size: int, seed: int) -> list[str]:
    """Words, of which a few are in every other sentence and most in hardly any; the first ones are in all projects."""
    syllables = ("ba", "co", "di", "fu", "ga", "ho", "ki", "lu", "ma", "no", "pi", "ro", "su", "ta", "vo", "xe", "zu")
    chance = random.Random(seed)
    made = ("".join(chance.choices(syllables, k=4)) for _ in range(2 * SHARED + int(30 * math.sqrt(size))))
    return list(dict.fromkeys(made))


def _tasks(words: Sequence[str], count: int, chance: random.Random) -> Iterator[ContextTask]:
    for number in range(count):
        said = " ".join(_keywords(words, chance, everywhere=number % 2 == 0))
        yield ContextTask(objective=said, dependencies=("before", "between"))


def _prior(id: str, words: Sequence[str], chance: random.Random) -> JournalTask:
    """A task that others depend on."""
    said = _picked(words, chance, 10)
    return JournalTask(id=id, status="completed", summary=" ".join(said), handoff=_handoff(said)[1])


def _picked(words: Sequence[str], chance: random.Random, count: int) -> list[str]:
    # The third power makes the first words as common as words of a language are.
    return [words[int(len(words) * chance.random() ** 3)] for _ in range(count)]


def _nodes(size: int, words: Sequence[str], chance: random.Random) -> Iterator[dict[str, Any]]:
    """The nodes of two years, in the order they came."""
    for number in range(size):
        tags = [*_picked(words, chance, 3), *([EVERYWHERE] if number % 3 == 0 else [])]
        yield {
            "id": f"n{number}",
            "type": chance.choice(TYPES),
            "summary": " ".join(_picked(words, chance, 10)),
            "tags": tags,
            "rationale": " ".join(_picked(words, chance, 15)) if number % 4 == 0 else None,
            "created": (TODAY - timedelta(days=730 * (size - number) // size)).isoformat(),
            "connections": [f"n{chance.randrange(number)}"] if number else [],
        }


def _entry(number: int, words: Sequence[str], chance: random.Random) -> MapEntry:
    folder, name, part = _picked(words, chance, 3)
    return MapEntry(component=f"{folder} {name}", location=f"src/{folder}/{name}/{part}_{number}.py", notes=part)


def _keywords(words: Sequence[str], chance: random.Random, *, everywhere: bool) -> list[str]:
    return [*([EVERYWHERE] if everywhere else []), *_picked(words, chance, KEYWORDS)]


def _handoff(keywords: Sequence[str]) -> tuple[JournalTask, Handoff]:
    said = " ".join(keywords)
    task = JournalTask(id=f"task of {said}", name=said, tags=tuple(keywords[:3]))
    learned = Pattern(pattern=f"pattern {said}", applies_to=tuple(keywords[:2]))
    return task, Handoff(outcome="completed", patterns_discovered=(learned,), gotchas=(Gotcha(issue=f"issue {said}"),))


# --- what is printed ----------------------------------------------------------------------------------------------


def _lines(report: Report) -> Iterator[str]:
    for engine, sizes in report.items():
        yield f"{engine}: milliseconds"
        yield f"{'nodes':>10}  {'what':<10}{'p50':>8}{'p95':>8}{'found':>8}"
        for one in sizes:
            for what in ("query", "60 nodes", "patterns", "map", "ingest"):
                times = one[what]
                yield f"{one['nodes']:>10,}  {what:<10}{times['p50']:>8.2f}{times['p95']:>8.2f}{times['found']:>8.1f}"
            yield f"{'':>10}  filled in {one['filled_seconds']:.1f} s"
        yield ""
        yield f"{engine}: tokens of the same tasks' context, mean and most, and its milliseconds"
        yield f"{'nodes':>10}" + "".join(f"{complexity:>16}" for complexity in CONTEXTS) + f"{'p50':>10}{'p95':>8}"
        for one in sizes:
            tokens = "".join(
                f"{one['tokens'][name]['mean']:>10.0f}{one['tokens'][name]['most']:>6}" for name in CONTEXTS
            )
            yield f"{one['nodes']:>10,}{tokens}{one['context']['p50']:>10.2f}{one['context']['p95']:>8.2f}"


if __name__ == "__main__":
    raise SystemExit(main())
