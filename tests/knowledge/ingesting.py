"""A process that ingests handoffs, beside others that do the same."""

from __future__ import annotations

import sys

from foveate.knowledge.base import Knowledge
from foveate.knowledge.models import Blocker, FileCreated, Gotcha, Handoff, JournalTask, Pattern
from foveate.store import Store


def main(url: str, name: str, count: int) -> None:
    """When told to, ingest what this one alone does, what all others do too, and say which ids were added."""
    with Store(url) as store:
        knowledge = Knowledge(store)
        print("ready", flush=True)
        input()
        for number in range(count):
            done = knowledge.ingest(
                JournalTask(id=f"{name}-{number}", tags=("shared", name)), handoff(name, number), today="2026-01-01"
            )
            print("added", *done.added, flush=True)
            both = knowledge.ingest(JournalTask(id=f"both-{number}"), handoff("both", number), today="2026-01-01")
            print("repeated" if both.repeated else "first", number, flush=True)
            print("reserved", knowledge.new_id("insight"), flush=True)


def handoff(name: str, number: int) -> Handoff:
    return Handoff(
        outcome="blocked",
        files_created=(
            FileCreated(path=f"src/{name}/file{number}.py", purpose="made"),
            FileCreated(path="src/shared.py"),
        ),
        patterns_discovered=(
            Pattern(pattern=f"{name} says {number}"),
            Pattern(pattern="everybody says this", applies_to=(name,)),
        ),
        gotchas=(Gotcha(issue=f"{name} met {number}"),),
        blockers=(Blocker(blocker=f"{name} waits {number}"),),
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
