"""Replaying: a recorded log goes through a session as it happened, one call after the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from foveate.compile.compiled import CompiledContext
from foveate.errors import EmptyRequestError
from foveate.importers.recording import Recording
from foveate.session.session import Session


def taken(session: Session, recording: Recording, first: int = 0, last: int | None = None) -> None:
    """Append the messages from number `first` to before `last`, each with the time it was said at."""
    said = zip(recording.times[first:last], recording.messages[first:last], strict=True)
    for time, run in groupby(said, key=lambda pair: pair[0]):
        session.extend([message for _, message in run], time=time)


def replayed(session: Session, recording: Recording) -> Iterator[CompiledContext]:
    """The request before each recorded response, and the one that would come next, as they would have been sent."""
    done = 0
    for index in recording.calls():
        taken(session, recording, done, index)
        yield next_view(session, recording.times[index])
        done = index
    taken(session, recording, done)
    yield next_view(session)


def next_view(session: Session, now: float | None = None) -> CompiledContext:
    """The request to send now; where nothing was said yet, the empty view of it, which is not recorded."""
    try:
        return session.compile(now=now)
    except EmptyRequestError:
        # A recording may begin with a response: what it answered is not in it.
        return session.preview(now=now)
