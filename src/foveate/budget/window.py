"""The window of one request: what is used, what is kept free, when to compact."""

from __future__ import annotations

from dataclasses import dataclass, replace

from foveate.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """How much of a window is used and how much must stay free."""

    window: int
    used: int = 0
    reserved_output: int = 0
    reserved_system: int = 0
    soft_threshold: int | None = None
    minimum_headroom: int = 0

    def __post_init__(self) -> None:
        if self.window <= 0:
            raise ConfigError(f"`window` must be 1 token or more, got {self.window!r}")
        for option, value in (
            ("used", self.used),
            ("reserved_output", self.reserved_output),
            ("reserved_system", self.reserved_system),
            ("minimum_headroom", self.minimum_headroom),
        ):
            if value < 0:
                raise ConfigError(f"`{option}` must be 0 tokens or more, got {value!r}")
        if self.soft_threshold is not None and self.soft_threshold <= 0:
            raise ConfigError(
                f"`soft_threshold` must be 1 token or more, got {self.soft_threshold!r}; leave it out for none"
            )
        if self.limit <= 0:
            raise ConfigError(
                f"`reserved_output` {self.reserved_output!r} and `reserved_system`"
                f" {self.reserved_system!r} leave nothing of `window` {self.window!r};"
                " reserve less or give a larger window"
            )

    @property
    def limit(self) -> int:
        """The largest request that leaves the reserved tokens free."""
        return self.window - self.reserved_output - self.reserved_system

    def remaining(self) -> int:
        """Tokens that can still be added."""
        return max(0, self.limit - self.used)

    def over_limit(self) -> bool:
        """Whether the request is too large to send."""
        return self.used > self.limit

    def over_soft_threshold(self) -> bool:
        """Whether the use has reached the soft threshold, if there is one."""
        return self.soft_threshold is not None and self.used >= self.soft_threshold

    def should_compact(self) -> bool:
        """Whether it is time to reduce: past the soft threshold, or too little headroom."""
        return self.over_soft_threshold() or self.remaining() < self.minimum_headroom

    def with_used(self, used: int) -> TokenBudget:
        """The same budget with another use."""
        return replace(self, used=used)
