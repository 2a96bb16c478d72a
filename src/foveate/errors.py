"""Everything Foveate raises.

FoveateError
├── ConfigError (ValueError)      an option has a value that cannot work
│   ├── UnknownModelError         no window or prices are known for a model name
│   └── TemplateError             a template cannot be found, read or filled in
├── MessageError (ValueError)     a message of malformed shape was refused; the log is unchanged
│   └── EmptyRequestError         nothing was said that could be sent
├── LogError                      recorded events cannot be read back
│   └── UnknownFormatError        no program is known that records logs like this
├── UnknownReferenceError (KeyError)  nothing in the log has this reference
├── StoreError                    a store cannot be opened, read or written
│   ├── StoreVersionError         a store was written by a newer Foveate; it was not touched
│   └── ConflictError             another writer appended first; nothing was written
│       └── DisplacedError        held events came behind another writer's; the log is read anew
├── InvariantError                a pass produced a request that breaks a rule
└── BudgetError                   what must be sent does not fit the budget
"""

from __future__ import annotations


class FoveateError(Exception):
    """Root of all errors raised by Foveate."""


class ConfigError(FoveateError, ValueError):
    """An option has a value that cannot work."""


class UnknownModelError(ConfigError):
    """No window or prices are known for a model name."""


class TemplateError(ConfigError):
    """A template cannot be found, read or filled in; `phase` says which, `pointer` is its source and name."""

    def __init__(self, message: str, *, phase: str = "template_load", pointer: str = "") -> None:
        super().__init__(message)
        self.phase = phase
        self.pointer = pointer


class MessageError(FoveateError, ValueError):
    """A message of malformed shape was refused; the log is unchanged."""


class EmptyRequestError(MessageError):
    """Nothing was said that could be sent, and Foveate puts no words into anybody's mouth."""


class LogError(FoveateError):
    """Recorded events cannot be read back."""


class UnknownFormatError(LogError):
    """No program is known that records logs like this."""


class UnknownReferenceError(FoveateError, KeyError):
    """Nothing in the log has this reference."""

    def __str__(self) -> str:
        # KeyError would show the repr of the message.
        return str(self.args[0]) if self.args else ""


class StoreError(FoveateError):
    """A store cannot be opened, read or written; what was in it before is still there."""


class NoStoreError(StoreError):
    """There is no store at the place that was named, and nobody said that one should be made."""


class StoreVersionError(StoreError):
    """A store was written by a newer Foveate; it was not touched."""


class ConflictError(StoreError):
    """Another writer appended to the session first; nothing of this append was written."""


class DisplacedError(ConflictError):
    """Held events were given another place in the log, behind those of another writer; it must be read anew.

    `first` is the number of the first event that is another one by now.
    """

    def __init__(self, message: str, *, first: int = 0) -> None:
        super().__init__(message)
        self.first = first


class InvariantError(FoveateError):
    """A pass produced a request that breaks a rule; `violations` lists them."""

    def __init__(self, message: str, *, violations: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.violations = violations


class BudgetError(FoveateError):
    """What must be sent does not fit the budget; `needed` and `limit` are in tokens."""

    def __init__(self, message: str, *, needed: int, limit: int, parts: dict[str, int] | None = None) -> None:
        super().__init__(message)
        self.needed = needed
        self.limit = limit
        self.parts = dict(parts or {})
