"""`foveate transcript`: what was said in a session, to read."""

from __future__ import annotations

from foveate.cli.output import Output, say, write_bytes
from foveate.cli.source import reported
from foveate.cli.store import SessionId, StorePlace, SystemPlace, opened, say_held


def transcript_command(
    session: SessionId, output: Output = None, store: StorePlace = None, system: SystemPlace = None
) -> None:
    """Print what was said in a session as Markdown, for people.

    Example: foveate transcript my-session -o my-session.md
    """
    with reported(), opened(store, system) as found:
        # Only this command needs it.
        from foveate.session.transcript import Transcript

        info = found.session(session)
        events = found.reader(info).events(0, info.events)
        transcript = Transcript()
        write_bytes((transcript.chunk(event).encode() for event in events), output)
        say_held(found, session)
        if output is not None:
            say(f"wrote the transcript of {info.session_id!r} to {output}")
