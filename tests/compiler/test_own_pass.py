"""Passes of one's own: they run in reductions, and have to say that this is enough."""

from __future__ import annotations

import pytest
from tests.dialogue import session_of, user, work

from foveate import PASSES, ConfigError, Draft, PassContext, Policy, Session, reducing_pass
from foveate.compile.passes import Mask, WhenFull


def redact(draft: Draft, ctx: PassContext) -> Draft:
    """Take out secrets, or so it hopes."""
    return draft


class Redaction:
    """The same as an object that looks like a pass in every other way."""

    name = "redaction"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        return True

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        return draft


class OnEveryRequest(Redaction):
    """One that asks for what there is not yet."""

    runs_on = "request"


class Own(Mask):
    """One that inherits from a pass that only reduces, but does something else."""

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        return draft


class Reducing(Redaction):
    """One that says that it only reduces."""

    runs_on = "reduction"

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        return draft


@pytest.mark.parametrize(
    "stage",
    [redact, Redaction(), WhenFull(stage=Redaction()), Own()],
    ids=lambda stage: type(stage).__name__,
)
def test_a_pass_that_may_have_to_run_on_every_request_is_refused(stage: object) -> None:
    """Or a secret goes out with every request that needs no reduction; the error has the reason and the remedy."""
    for build in (
        lambda: Session(budget=8_000, passes=(*PASSES, stage)),  # type: ignore[arg-type]
        lambda: Session(budget=8_000, isolation=stage),  # type: ignore[arg-type]
        lambda: Policy(name="mine", passes=(stage,)),  # type: ignore[arg-type]
    ):
        with pytest.raises(
            ConfigError, match=r"does not say when it runs.*`@foveate.request_pass`.*`@foveate.reducing_pass`"
        ):
            build()


@pytest.mark.parametrize("stage", [reducing_pass(lambda draft, ctx: draft), Reducing(), WhenFull(stage=Reducing())])
def test_a_pass_that_says_that_it_only_reduces_runs_in_reductions(stage: object) -> None:
    """With Foveate's own around it."""
    first, *rest = PASSES
    view = session_of([*work(4), user("now")], budget=3_000, passes=(first, *rest[:2], stage, *rest[2:])).compile()

    assert view.tokens <= 3_000
