"""Tasks after the sixth: a feature is built, then repaired, then extended, under ever new names."""

from __future__ import annotations

from functools import partial

from foveate.sample.recorder import Recorder
from foveate.sample.tasks import further_build, further_extend, further_repair
from foveate.sample.tasks.features import feature

_STAGES = (further_build.run, further_repair.run, further_extend.run)


def run(session: Recorder, number: int) -> None:
    """Do the `number`-th further task, counted from 0."""
    which, stage = divmod(number, len(_STAGES))
    _STAGES[stage](session, feature(which))


def task(number: int) -> partial[None]:
    return partial(run, number=number)
