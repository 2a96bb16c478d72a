"""Repair: pairs of calls and results made whole, ids unique, empty messages left out."""

from __future__ import annotations

from typing import ClassVar

from foveate.compile.draft import Draft, PassContext
from foveate.compile.mending import Mender


class Repair:
    """Mend a draft; a draft folded from the log is mended already and passes unchanged."""

    name = "repair"
    recipe_name: ClassVar[str] = "repair@1"
    runs_on: ClassVar[str] = "reduction"

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        mender = Mender(ctx.count_message, quotes=True)
        for item in draft.items:
            mender.feed_item(item)
        return draft.with_items(mender.projected())
