"""Handoffs: read, checked by rule, or salvaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from foveate.errors import FoveateError
from foveate.knowledge.faults import faults
from foveate.knowledge.handoff_rules import broken_rules, conditions, rules_broken_beside
from foveate.knowledge.handoff_text import body_of, repeated_fields
from foveate.knowledge.models import Handoff, Written
from foveate.knowledge.salvage import salvaged_handoff
from foveate.work.reading import parsed

_NO_HANDOFF = "the text has no handoff: fields in YAML or JSON, `outcome` among them, alone or in a fence ```yaml"
_LENIENT = "; `foveate handoff ingest --lenient` takes in what its words say"
_EMPTY = "the text is empty; say what was done, or at least `outcome: completed`"


class HandoffError(FoveateError, ValueError):
    """A handoff breaks rules; `problems` names each with its field."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(f"the handoff breaks {len(problems)} rule(s): {'; '.join(problems)}")
        self.problems = tuple(problems)


class Read(NamedTuple):
    """A handoff and how it was come by: as it was written, or salvaged from free text."""

    handoff: Handoff
    problems: tuple[str, ...] = ()


def parse_handoff(text: str, *, changed: Sequence[str] = ()) -> Handoff:
    """The handoff in a text: YAML or JSON, bare, in a fence, or in a fence below a heading `Handoff`.

    Raises `HandoffError` with every rule that is broken. If files are known to be `changed`, it must name files.
    """
    return checked_handoff(_given(text), changed=changed)


def checked_handoff(given: object, *, changed: Sequence[str] = ()) -> Handoff:
    """A handoff from plain data, checked by its form and its rules."""
    filled = _without_nulls(given) if isinstance(given, Mapping) else given
    try:
        read = msgspec.convert(filled, Written)
    except (msgspec.ValidationError, RecursionError) as error:
        problems = faults(filled, Written) or [str(error)]
        beside = rules_broken_beside(filled, changed) if isinstance(filled, dict) else ()
        raise HandoffError(list(dict.fromkeys((*problems, *beside)))) from None
    handoff = Handoff(**msgspec.structs.asdict(read))
    problems = list(broken_rules(handoff, changed))
    if problems:
        raise HandoffError(problems)
    return handoff


def read_handoff(text: str, *, changed: Sequence[str] = ()) -> Read:
    """The handoff in a text, with what is wrong with it.

    Of one that breaks rules, or cannot be read as a whole, all is kept that can be; of free text what its words give
    away. What is salvaged need not have what its outcome asks for, but that is among the problems too. Raises
    `HandoffError` if there is no text at all.
    """
    if not text.strip():
        raise HandoffError([_EMPTY])
    try:
        return Read(parse_handoff(text, changed=changed))
    except HandoffError as error:
        handoff = salvaged_handoff(text)
        lacking = [one for one in conditions(handoff) if one not in error.problems]
        problems = (
            *(one.removesuffix(_LENIENT) for one in error.problems),
            *(f"taken for {handoff.outcome}, though {one}" for one in lacking),
        )
        return Read(handoff, problems)


def _given(text: str) -> object:
    """What a text says as a handoff, not yet checked."""
    body = body_of(text)
    if not (body.marked or body.has_fields or body.text.lstrip().startswith("{")):
        raise HandoffError([_NO_HANDOFF + _LENIENT])
    if not body.closed:
        raise HandoffError(["the fence of the handoff is not closed; it may have been cut off"])
    try:
        read = parsed(body.text, "the handoff", short=True)
        twice = [f"`{name}` is there twice; say it once" for name in repeated_fields(body.text)]
    except ValueError as error:
        # Either it cannot be read, or it has a date that no calendar has.
        raise HandoffError([str(error)]) from None
    if twice:
        raise HandoffError(twice)
    return read


def _without_nulls(given: Mapping[Any, Any]) -> dict[str, Any]:
    """The fields that are filled: people write `blockers:` with nothing behind it."""
    return {str(key): value for key, value in given.items() if value is not None}
