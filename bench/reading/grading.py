"""Grading: what a grader gets for a situation, and the numbers that come back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.reading.study import Study, prompt
from foveate.errors import ConfigError

QUESTIONS: Final = ("task", "state", "next")
BEST: Final = 10
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """What one grader gave to one answer."""

    grader: str
    situation: str
    arm: str
    task: float
    state: float
    next: float
    false_statements: float
    why: str = ""

    @property
    def mean(self) -> float:
        """Of the three questions."""
        return (self.task + self.state + self.next) / len(QUESTIONS)


def missing_answers(folder: Path, study: Study) -> list[tuple[str, str]]:
    """Readers and situations of which there is no answer yet."""
    return [
        (reader, situation)
        for reader in study.readers
        for situation in study.situations
        if study.made_request(reader, situation) and not answer_text(folder, reader, situation)
    ]


def answer_text(folder: Path, reader: str, situation: str) -> str:
    """What a reader answered, "" if nothing yet."""
    path = folder / "answers" / reader / f"{situation}.md"
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""


def write_judgments_to_make(folder: Path, study: Study) -> list[tuple[str, str]]:
    """Write what graders get for each situation that is answered in full; graders and situations without grades."""
    unanswered = {situation for _, situation in missing_answers(folder, study)}
    due: list[tuple[str, str]] = []
    for grader in study.grader_names:
        for situation in study.situations:
            if situation in unanswered or not study.answer_names(grader, situation):
                continue
            path = folder / "judge" / grader / f"{situation}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(judgment_to_make(folder, study, grader, situation), encoding="utf-8")
            if not grades_path(folder, grader, situation).exists():
                due.append((grader, situation))
    return due


def judgment_to_make(folder: Path, study: Study, grader: str, situation: str) -> str:
    """The prompt of a grader: the truth, and the answers under neutral names."""
    truth = (folder / "truth" / f"{situation}.md").read_text(encoding="utf-8")
    answers = (
        f"=== answer {name} ===\n\n{answer_text(folder, reader, situation)}"
        for name, reader in study.answer_names(grader, situation).items()
    )
    parts = [prompt("grader"), "---", "What really happened:", truth, "---", "The answers:", *answers]
    return "\n\n".join(parts) + "\n"


def grades_path(folder: Path, grader: str, situation: str) -> Path:
    """Where a grader's numbers for a situation are."""
    return folder / "grades" / grader / f"{situation}.json"


def load_grades(folder: Path, study: Study) -> list[Grade]:
    """All grades that there are."""
    return [
        grade
        for grader in study.grader_names
        for situation in study.situations
        if (path := grades_path(folder, grader, situation)).exists()
        for grade in parse_grades(path.read_text(encoding="utf-8"), study, grader, situation, where=str(path))
    ]


def parse_grades(text: str, study: Study, grader: str, situation: str, *, where: str) -> list[Grade]:
    """The grades that a grader wrote, as a JSON object that may stand within other text."""
    found = _OBJECT.search(text)
    try:
        given = json.loads(found[0]) if found else None
    except ValueError as error:
        raise ConfigError(f"{where}: the grades are not JSON: {error}; write one object as the prompt says") from error
    names = study.answer_names(grader, situation)
    if not isinstance(given, dict) or set(given) != set(names):
        told = ", ".join(map(str, given)) if isinstance(given, dict) else repr(text[:60])
        raise ConfigError(f"{where}: grades are due for {', '.join(names)}, got {told}")
    return [
        _grade(given[name], grader, situation, study.arm_read[reader, situation], f"{where}, answer {name}")
        for name, reader in names.items()
    ]


def _grade(given: Any, grader: str, situation: str, arm: str, where: str) -> Grade:
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where}: an object with {', '.join(QUESTIONS)} and false is due, got {given!r:.60}")
    task, state, following = (_number(given, question, BEST, where) for question in QUESTIONS)
    return Grade(
        grader=grader,
        situation=situation,
        arm=arm,
        task=task,
        state=state,
        next=following,
        false_statements=_number(given, "false", 100, where),
        why=str(given.get("why", "")),
    )


def _number(given: Mapping[str, Any], key: str, most: int, where: str) -> float:
    value = given.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ConfigError(f"{where}: `{key}` must be a number from 0 to {most}, got {value!r}")
    return float(value)
