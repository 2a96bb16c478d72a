"""Privacy: secrets are found and taken out before anything is recorded."""

from foveate.privacy.redaction import Redacted, Redactor, find_secrets, redact
from foveate.privacy.tokens import Span

__all__ = ["Redacted", "Redactor", "Span", "find_secrets", "redact"]
