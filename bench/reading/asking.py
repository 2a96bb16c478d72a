"""Asking: a model as reader or grader, through the product's own driver; each prompt is a conversation of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from bench.reading.grading import parse_grades
from bench.reading.study import Study
from foveate.agents.driver import Driver, DriverError
from foveate.chat.asking import reply_text
from foveate.errors import ConfigError
from foveate.session import Session

Told = Callable[[int, int, str], None]
Check = Callable[[str], object]
BY: Final = "by.txt"
# A grader that did not keep to the form is asked once more.
_ATTEMPTS: Final = 2


def ask_readers(folder: Path, due: Sequence[tuple[str, str]], driver: Driver, *, jobs: int, told: Told) -> list[str]:
    """Have a model read what is due; returns what went wrong."""
    tasks = [(folder / "ask" / one / f"{at}.md", folder / "answers" / one / f"{at}.md") for one, at in due]
    return asyncio.run(_ask_all(driver, [(ask, answer, _non_empty) for ask, answer in tasks], jobs, told))


def ask_graders(
    folder: Path, study: Study, due: Sequence[tuple[str, str]], driver: Driver, *, jobs: int, told: Told
) -> list[str]:
    """Have a model grade what is due; returns what went wrong."""

    def check_of(grader: str, situation: str) -> Check:
        return lambda text: parse_grades(text, study, grader, situation, where=f"{grader}, {situation}")

    tasks = [
        (
            folder / "judge" / grader / f"{situation}.md",
            folder / "grades" / grader / f"{situation}.json",
            check_of(grader, situation),
        )
        for grader, situation in due
    ]
    return asyncio.run(_ask_all(driver, tasks, jobs, told))


async def ask(driver: Driver, text: str) -> str:
    """A model's answer to one prompt."""
    session = Session()
    session.append({"role": "user", "content": text})
    reply = await driver.generate(session.preview().request, None)
    return reply_text(reply)


async def _ask_all(driver: Driver, tasks: Sequence[tuple[Path, Path, Check]], jobs: int, told: Told) -> list[str]:
    limit = asyncio.Semaphore(jobs)
    done = 0

    async def one(asked: Path, answer: Path, check: Check) -> str:
        nonlocal done
        async with limit:
            problem = await _answer_prompt(driver, asked, answer, check)
        done += 1
        told(done, len(tasks), answer.stem)
        return problem

    return list(filter(None, await asyncio.gather(*(one(*task) for task in tasks))))


async def _answer_prompt(driver: Driver, asked: Path, answer: Path, check: Check) -> str:
    problem = ""
    for _ in range(_ATTEMPTS):
        try:
            text = await ask(driver, _read(asked))
            check(text)
        except (DriverError, ConfigError) as error:
            problem = f"{answer.parent.name}/{answer.stem}: {error}"
            continue
        _write(answer, text, driver.name)
        return ""
    return problem


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _write(path: Path, text: str, by: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / BY).write_text(f"{by}\n", encoding="utf-8")
    path.write_text(text, encoding="utf-8")


def _non_empty(text: str) -> None:
    if not text.strip():
        raise ConfigError("the model answered nothing")
