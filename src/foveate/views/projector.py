"""The projector: folds a log as it grows, and hands out projections of it."""

from __future__ import annotations

from foveate.budget.tokens import TokenCounter
from foveate.log.context import AgentContext
from foveate.views.projection import Projection, SentPrefix
from foveate.views.timeline import Timeline


class Projector:
    """Folds the events of one log, each of them once, for an owner who goes on with it.

    For one thread at a time; the projections are for any number of them.
    """

    __slots__ = ("_newest", "_timeline", "counter")

    def __init__(self, counter: TokenCounter, timeline: Timeline | None = None) -> None:
        self.counter = counter
        self._timeline = timeline
        self._newest: Projection | None = None

    def projection(self, context: AgentContext, offered: SentPrefix | None = None) -> Projection:
        """The projection of a snapshot; `offered` is what the compile of its last call found."""
        newest = self._newest
        if newest is None or newest.length != context.length or newest.log is not context.log:
            newest = self.timeline(context, offered).projection()
            self._newest = newest
        return newest

    def timeline(self, context: AgentContext, offered: SentPrefix | None = None) -> Timeline:
        """The fold of a snapshot: of what was folded before it, if the snapshot goes on from that."""
        timeline, self._timeline = self._timeline, None
        if timeline is None or timeline.log is not context.log or timeline.length > context.length:
            timeline = Timeline(self.counter, context.log)
        # An exception in the middle, even a key's, leaves half of a fold; it is not there the next time.
        timeline.advance(context.length, offered)
        self._timeline = timeline
        return timeline


def projection_of(context: AgentContext, given: object, counter: TokenCounter) -> Projection:
    """The projection of a snapshot: the one given, if it is that, else folded from the first event."""
    if (
        isinstance(given, Projection)
        and given.log is context.log
        and given.length == context.length
        and given.counter.name == counter.name
    ):
        return given
    return Projector(counter).projection(context)
