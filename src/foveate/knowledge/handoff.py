"""Handoffs: read, checked by rule, or salvaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from foveate.errors import FoveateError
from foveate.knowledge.faults import faults
from foveate.knowledge.handoff_rules import broken_rules
from foveate.knowledge.handoff_text import body_of
from foveate.knowledge.models import Handoff
from foveate.knowledge.salvage import salvaged_handoff
from foveate.work.reading import parsed

_NO_HANDOFF = (
    "the text has no handoff: fields in YAML or JSON, `outcome` among them, alone or in a fence ```yaml; "
    "`foveate handoff ingest --lenient` takes in what its words say"
)


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
        handoff = msgspec.convert(filled, Handoff)
    except (msgspec.ValidationError, RecursionError) as error:
        raise HandoffError(faults(filled, Handoff) or [str(error)]) from None
    problems = list(broken_rules(handoff, changed))
    if problems:
        raise HandoffError(problems)
    return handoff


def read_handoff(text: str, *, changed: Sequence[str] = ()) -> Read:
    """The handoff in a text, with what is wrong with it.

    Of one that breaks rules, or cannot be read as a whole, all is kept that can be; of free text what its words give
    away.
    """
    try:
        return Read(parse_handoff(text, changed=changed))
    except HandoffError as error:
        return Read(salvaged_handoff(text), error.problems)


def _given(text: str) -> object:
    """What a text says as a handoff, not yet checked."""
    body = body_of(text)
    if not (body.marked or body.has_fields or body.text.lstrip().startswith("{")):
        raise HandoffError([_NO_HANDOFF])
    if not body.closed:
        raise HandoffError(["the fence of the handoff is not closed; it may have been cut off"])
    try:
        return parsed(body.text, "the handoff")
    except ValueError as error:
        # Either it cannot be read, or it has a date that no calendar has.
        raise HandoffError([str(error)]) from None


def _without_nulls(given: Mapping[Any, Any]) -> dict[str, Any]:
    """The fields that are filled: people write `blockers:` with nothing behind it."""
    return {str(key): value for key, value in given.items() if value is not None}
