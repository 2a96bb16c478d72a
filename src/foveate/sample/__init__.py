"""A made-up but honest coding session, for the documentation, the command line and tests.

An agent works on `harbor`, the order service of a web shop that does not exist. The project, the
conversation and every tool result were written for this package; results are computed from the
project's files, so that what is read after an edit shows the edit.
"""

from foveate.sample.generate import coding_session
from foveate.sample.toolset import SYSTEM, tools

__all__ = ["SYSTEM", "coding_session", "tools"]
