"""Baselines: what agents without a context compiler do with their history."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final

from foveate.lab.contestants import Contestant, Feed, Made, Opening, Step
from foveate.lab.exchanges import Window

LOW_MARK: Final = 0.6
UNMASKED: Final = 10


def baseline(name: str) -> Contestant | None:
    """A baseline by name, None if there is none of that name; `mask-N` is one for each N."""
    masked = re.fullmatch(r"mask-([0-9]{1,6})", name)
    if masked is not None:
        return _mask_all_but(int(masked[1]))
    return next((one for one in BASELINES if one.name == name), None)


def _raw(opening: Opening) -> Feed:
    log = opening.head()
    said = 0

    def feed(step: Step) -> Made:
        nonlocal said
        log.extend(step.chats)
        said += opening.sizes.total(step.chats)
        return Made(chats=list(log), fates={"verbatim": said})

    return feed


def _recorded(opening: Opening) -> Feed:
    """Everything, until the recorded agent put a text in its place."""
    due = list(opening.compactions)
    log = opening.head()
    head = len(log)
    place = said = summed = 0

    def compact() -> None:
        nonlocal said, summed
        while due and due[0][0] <= place:
            log[head:] = [{"role": "user", "content": due.pop(0)[1]}]
            said, summed = 0, opening.sizes.of(log[head])

    def feed(step: Step) -> Made:
        nonlocal place, said
        for chat in step.chats:
            compact()
            log.append(chat)
            place += 1
            said += opening.sizes.of(chat)
        compact()
        return Made(chats=list(log), fates={"verbatim": said, "summarised": summed})

    return feed


def _windowed(reduce: Callable[[Window, int | None], None], unmasked: int, opening: Opening) -> Feed:
    window = Window(opening.head(), opening.sizes.of, unmasked=unmasked)

    def feed(step: Step) -> Made:
        window.append(step.chats)
        reduce(window, opening.room)
        return Made(chats=window.request(), fates=window.fates())

    return feed


def _drop_exact(window: Window, budget: int | None) -> None:
    if budget is not None:
        window.drop_to(budget)


def _drop_steps(window: Window, budget: int | None) -> None:
    if budget is not None and window.tokens > budget:
        window.drop_to(LOW_MARK * budget)


def _mask_every_step(window: Window, _budget: int | None) -> None:
    window.mask()


def _mask_steps(window: Window, budget: int | None) -> None:
    if budget is not None and window.tokens > budget:
        window.mask()
        window.drop_to(LOW_MARK * budget)


def _mask_all_but(unmasked: int) -> Contestant:
    return Contestant(
        name=f"mask-{unmasked}",
        kind="baseline",
        description=f"at every call all tool outputs but the last {unmasked} are masked; knows no budget",
        start=partial(_windowed, _mask_every_step, unmasked),
    )


BASELINES: Final = (
    Contestant(name="raw", kind="baseline", description="the history untouched", start=_raw, is_bounded=False),
    Contestant(
        name="recorded",
        kind="baseline",
        description="what the recorded agent sent, as far as the log shows it, at the usage that was reported",
        start=_recorded,
        is_bounded=False,
        was_sent=True,
    ),
    Contestant(
        name="drop-exact",
        kind="baseline",
        description="at every call the oldest exchanges are dropped until the rest fits",
        start=partial(_windowed, _drop_exact, UNMASKED),
    ),
    Contestant(
        name="drop-steps",
        kind="baseline",
        description="over budget, the oldest exchanges are dropped down to 60 % of it",
        start=partial(_windowed, _drop_steps, UNMASKED),
    ),
    _mask_all_but(UNMASKED),
    Contestant(
        name="mask-steps",
        kind="baseline",
        description=f"over budget, as mask-{UNMASKED}, then the oldest exchanges are dropped down to 60 % of it",
        start=partial(_windowed, _mask_steps, UNMASKED),
    ),
)
