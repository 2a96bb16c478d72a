"""A study: who reads what under which name, as a folder of files that people, programs or a model can fill.

    study.json                        situations, arms, tokens sent, who reads which arm; no text of any session
    ask/reader-1/s01.md               what a reader gets
    answers/reader-1/s01.md           what the reader wrote; `by.txt` beside it may say who reads
    truth/s01.md                      what really happened, for graders
    judge/grader-1/s01.md             what a grader gets, once all answers to a situation are there
    grades/grader-1/s01.json          what the grader wrote
    requests/ARM/s01.json             the requests themselves, for a look; not for readers or graders

Readers and graders see neutral names only. A Latin square says who reads what: each reader sees each situation once
and all arms equally often, and each arm of a situation is read by one reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from string import ascii_uppercase
from typing import Final

import msgspec

from bench.material import Material
from bench.outcome import Stamp
from bench.reading.arms import ReadingArm
from bench.reading.rendering import request_text, truth_text
from bench.reading.requests import CompiledRequest
from bench.reading.situations import Situation
from bench.stamp import ROOT
from foveate.errors import ConfigError

GRADERS: Final = 2
STUDY: Final = "study.json"
_PROMPTS: Final = Path(__file__).parent / "prompts"
_IGNORED: Final = ROOT / "foveate-bench-results"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmInStudy:
    """An arm as results name it, with the tokens it sent at each situation and why it sent none at others."""

    name: str
    budget: int
    description: str
    tokens: dict[str, int] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Study:
    """What was decided before anybody read a word; `situations` by their neutral names."""

    stamp: Stamp
    budget: int
    split: str
    seed: int
    situations: dict[str, Situation]
    arms: tuple[ArmInStudy, ...]
    graders: int = GRADERS

    @cached_property
    def readers(self) -> tuple[str, ...]:
        """As many readers as arms."""
        return tuple(f"reader-{number}" for number in range(1, len(self.arms) + 1))

    @cached_property
    def grader_names(self) -> tuple[str, ...]:
        """The graders, each of whom grades everything."""
        return tuple(f"grader-{number}" for number in range(1, self.graders + 1))

    @cached_property
    def arm_read(self) -> Mapping[tuple[str, str], str]:
        """The arm that a reader sees at a situation."""
        random = Random(f"square {self.seed} {self.budget}")
        arms = [arm.name for arm in self.arms]
        names = list(self.situations)
        random.shuffle(arms)
        random.shuffle(names)
        return {
            (reader, name): arms[(row + column) % len(arms)]
            for row, reader in enumerate(self.readers)
            for column, name in enumerate(names)
        }

    def made_request(self, reader: str, situation: str) -> bool:
        """Whether the arm that a reader is to see made a request there."""
        arm = self.arm_read[reader, situation]
        return situation in next(one for one in self.arms if one.name == arm).tokens

    def answer_names(self, grader: str, situation: str) -> dict[str, str]:
        """The names under which a grader sees the answers of the readers, in a random order."""
        readers = [reader for reader in self.readers if self.made_request(reader, situation)]
        Random(f"names {self.seed} {self.budget} {grader} {situation}").shuffle(readers)
        return dict(zip(ascii_uppercase, readers, strict=False))


def write_study(
    folder: Path,
    study: Study,
    requests: Iterable[CompiledRequest],
    materials: Sequence[Material],
) -> None:
    """Write everything that readers need, and the truth for graders."""
    sessions = {one.name: one.script for one in materials}
    made = {(one.arm, one.situation): one for one in requests}
    reader_prompt = prompt("reader")
    for name, situation in study.situations.items():
        script = sessions[situation.session]
        _write(folder / "truth" / f"{name}.md", truth_text(script, situation))
        for arm in study.arms:
            _write_json(folder / "requests" / arm.name.replace("/", "-") / f"{name}.json", made[arm.name, situation.id])
        for reader in filter(lambda one: study.made_request(one, name), study.readers):
            text = request_text(made[study.arm_read[reader, name], situation.id].chats, script.tools)
            _write(folder / "ask" / reader / f"{name}.md", f"{reader_prompt}\n---\n\n{text}\n")
    # Last: a folder without it is no study.
    _write_json(folder / STUDY, study)


def arms_in_study(
    arms: Sequence[ReadingArm], requests: Sequence[CompiledRequest], names: Mapping[str, str]
) -> tuple[ArmInStudy, ...]:
    """The arms with what they sent; `names` maps situations to their neutral names."""
    return tuple(
        ArmInStudy(
            name=arm.name,
            budget=arm.budget,
            description=arm.description,
            tokens={names[one.situation]: one.tokens for one in requests if one.arm == arm.name and not one.problem},
            problems={names[one.situation]: one.problem for one in requests if one.arm == arm.name and one.problem},
        )
        for arm in arms
    )


def neutral_names(situations: Sequence[Situation], seed: int) -> dict[str, str]:
    """Names that say nothing of a situation, in a random order."""
    shuffled = [one.id for one in situations]
    Random(f"order {seed}").shuffle(shuffled)
    width = len(str(len(shuffled)))
    return {situation: f"s{number:0{max(2, width)}}" for number, situation in enumerate(shuffled, 1)}


def load_study(folder: Path) -> Study:
    """The study in a folder."""
    path = folder / STUDY
    if not path.exists():
        raise ConfigError(f"{folder} has no {STUDY}; `foveate-bench read make --out {folder}` makes a study")
    try:
        return msgspec.json.decode(path.read_bytes(), type=Study)
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{path} is not a study: {error}") from error


def study_folder(folder: Path, *, is_new: bool) -> Path:
    """A folder for texts of recorded sessions, which never enter the repository."""
    place = folder.resolve()
    if place.is_relative_to(ROOT) and not place.is_relative_to(_IGNORED):
        raise ConfigError(
            f"`--out` {folder} is inside the repository, and texts of recorded sessions stay outside; choose a folder "
            f"elsewhere, or one in {_IGNORED.name}, which git ignores"
        )
    if is_new and place.exists() and any(place.iterdir()):
        raise ConfigError(f"`--out` {folder} is not empty, and answers in it would be mixed up; choose a new folder")
    return place


def prompt(name: str) -> str:
    """A prompt of the repository."""
    return (_PROMPTS / f"{name}.md").read_text(encoding="utf-8")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.encode("utf-8", "replace").decode(), encoding="utf-8")


def _write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")
