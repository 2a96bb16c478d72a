"""The window of one request: what is used, what is kept free, when to compact."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from foveate.errors import ConfigError

# More is no number of tokens, and beyond what can be reckoned with.
_MOST: Final = 2**64


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """How much of a window is used and how much must stay free."""

    window: int
    used: int = 0
    reserved_output: int = 0
    reserved_system: int = 0
    soft_threshold: int | None = None
    minimum_headroom: int = 0
    recipe_name: ClassVar[str] = "budget@1"
    # The largest request that leaves the reserved tokens free.
    limit: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for option in ("window", "used", "reserved_output", "reserved_system", "minimum_headroom", "soft_threshold"):
            value = getattr(self, option)
            if option == "soft_threshold" and value is None:
                continue
            # Text cannot be compared, and a share such as 0.5 is no count.
            if isinstance(value, bool) or not isinstance(value, int):
                raise ConfigError(
                    f"`{option}` must be a whole number of tokens, got {value!r:.80}; give one such as 8000"
                )
            if value > _MOST:
                raise ConfigError(
                    f"`{option}` is more than 2**64 tokens, which no window has; leave the budget out if nothing "
                    "limits a request"
                )
        object.__setattr__(self, "limit", self.window - self.reserved_output - self.reserved_system)
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
        if self.soft_threshold is not None and self.soft_threshold > self.limit:
            raise ConfigError(
                f"`soft_threshold` {self.soft_threshold!r} would never be reached, as requests have at most"
                f" {self.limit!r} tokens; lower it, or leave it out for none"
            )
        if self.minimum_headroom >= self.limit:
            raise ConfigError(
                f"`minimum_headroom` {self.minimum_headroom!r} leaves nothing of the {self.limit!r} tokens that"
                " requests may have; lower it, or give a larger window"
            )

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

    def asks_from(self) -> tuple[int, str] | None:
        """The use from which a reduction is asked for, with the option that says so; None if none does."""
        marks = [(self.soft_threshold, "soft_threshold")] if self.soft_threshold is not None else []
        if self.minimum_headroom:
            marks.append((self.limit - self.minimum_headroom + 1, "minimum_headroom"))
        return min(marks, default=None)

    def narrowed(self, most: int) -> TokenBudget:
        """The same budget with requests of at most so many tokens, and its marks at the same shares of them."""
        if most >= self.limit:
            return self
        soft = self.soft_threshold
        return replace(
            self,
            window=self.window - self.limit + most,
            soft_threshold=max(1, soft * most // self.limit) if soft is not None else None,
            minimum_headroom=self.minimum_headroom * most // self.limit,
        )

    def with_used(self, used: int) -> TokenBudget:
        """The same budget with another use."""
        return replace(self, used=used)
