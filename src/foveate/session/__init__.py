"""The session: the shell around the compile, which keeps the log."""

from foveate.session.session import Session

__all__ = ["Session"]
