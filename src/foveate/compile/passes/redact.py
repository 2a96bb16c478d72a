"""Redact: secrets are taken out of what is sent."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from foveate.compile.draft import Draft, PassContext
from foveate.privacy import Redactor


class Redact:
    """Replace secrets in every message before any request shows it; put it before the passes of the policy.

    >>> import foveate
    >>> session = foveate.Session(budget=8_000, passes=(foveate.Redact(), *foveate.PASSES))

    The log keeps what was said: `Session(redact=True)` takes secrets out of that.
    """

    name = "redact"
    recipe_name: ClassVar[str] = "redact@1"
    runs_on: ClassVar[str] = "request"

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        redactor = Redactor()
        # Values of calls are known by their names, of which a function of texts hears nothing.
        named = (msgspec.structs.replace(one, message=redactor.message(one.message)) for one in draft.items)
        kept = (new if new.message is not old.message else old for new, old in zip(named, draft.items, strict=True))
        return draft.with_items(kept).with_text(redactor.text)
