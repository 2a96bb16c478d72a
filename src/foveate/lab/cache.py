"""A simulated prompt cache: what of each request a provider finds cached, by its published rules.

Whole messages are the unit of a prefix, the previous request of the same model is what is cached, and everything a log
does not show (`overhead`) stands before the first message. Two kinds of providers:

- Automatic caches find any common prefix, in steps of so many tokens.
- Caches with marks find a prefix only where an earlier request had a mark, and only if a mark of the new request stands
  on it or at most `lookback_blocks` content blocks behind it. The system prompt always has a mark.

What is left out: routing to machines that do not have the prefix, eviction before the time is up, prefixes that end
within a message, and requests before the previous one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from foveate.budget.profiles import CacheRules, ModelProfile
from foveate.inspect.prompt_cache import Finding, Scale, finding_of, found_tokens, is_expired
from foveate.lab.chat import Chat, calls_of
from foveate.lab.prefix import shared_prefix
from foveate.lab.result import BreakCause


class Charge(NamedTuple):
    """One request: its tokens by our count and the provider's, those found in the cache, where its prefix broke."""

    counted: int
    tokens: int
    cached: int
    shared: int
    lost: int
    cause: BreakCause | None


@dataclass(slots=True)
class _Held:
    """What the cache of one model holds: the last request, and its marks with the time each was last used."""

    request: Sequence[Chat] = ()
    # Of each prefix, by our count, from the empty one on.
    sizes: list[int] = field(default_factory=lambda: [0])
    tokens: int = 0
    at: float | None = None
    # None before the first request.
    ttl: float | None = None
    marks: dict[int, tuple[float | None, float | None]] = field(default_factory=dict)


class PromptCache:
    """The cache as one session sees it.

    Args:
        rules: the provider's.
        size: the tokens of a message by our count.
        scale: to the provider's count.
        finding: how automatic caches find prefixes.
        warm: tokens of the overhead that other sessions keep in the cache.

    """

    def __init__(
        self,
        rules: CacheRules,
        size: Callable[[Chat], int],
        *,
        scale: Scale | None = None,
        finding: Finding | None = None,
        warm: int = 0,
    ) -> None:
        self._rules = rules
        self._size = size
        self._scale = scale or Scale()
        self._finding = finding or Finding()
        self._warm = warm
        self._held: dict[str, _Held] = {}
        self._model: str | None = None
        self._first: str | None = None
        # Of an overhead that changed, what both have: nothing else of it can be cached yet.
        self._carried: int | None = None

    def send(
        self,
        request: Sequence[Chat],
        *,
        at: float | None = None,
        model: str = "",
        ttl: float | None = None,
        marks: Sequence[int] | None = None,
        profile: ModelProfile | None = None,
    ) -> Charge:
        """Charge a request and put it into the cache.

        Args:
            request: its messages, system prompt first.
            at: when it was sent.
            model: which model got it; each has a cache of its own.
            ttl: how long what this request writes stays, if not as the rules say.
            marks: indices of messages that carry a mark; by default the last two, and the last one that is as it was in
                the previous request.
            profile: of the model, if its rules are not those of the other models.

        """
        if profile is not None:
            self._rules, self._finding = profile.cache, finding_of(profile)
        held = self._held.setdefault(model, _Held())
        switched = self._model is not None and model != self._model and held.ttl is None
        shared = shared_prefix(held.request, request)
        sizes = held.sizes[: shared + 1]
        for message in request[shared:]:
            sizes.append(sizes[-1] + self._size(message))
        tokens = self._scale.of(sizes[-1])
        wanted = _wanted(request, marks, shared)
        found = self._found(held, request, shared, wanted, at)
        scale = self._scale if self._carried is None else replace(self._scale, overhead=self._carried)
        cached = found_tokens(scale.of(sizes[found]), self._rules, self._finding) if found is not None else 0
        if self._model is None or model == self._first:
            cached = max(cached, min(self._warm, tokens))
            self._first = model
        cause = self._cause(held, shared, cached, at, switched=switched)
        lost = max(0, held.tokens - cached) if cause else 0
        held.request, held.sizes, held.tokens = request, sizes, tokens
        self._hold(held, shared, wanted, found, at, ttl)
        self._model, self._carried = model, None
        return Charge(sizes[-1], tokens, min(cached, tokens), shared, lost, cause)

    def rescale(self, scale: Scale) -> None:
        """Go on with another scale; with another overhead, nothing but the system prompt is as it was."""
        if scale != self._scale:
            self._carried = min(self._scale.overhead, scale.overhead)
            self._scale = scale
            for held in self._held.values():
                head = _system(held.request)
                held.request = held.request[:head]
                held.marks = {end: mark for end, mark in held.marks.items() if end <= head}

    def _found(
        self, held: _Held, request: Sequence[Chat], shared: int, wanted: Sequence[int], at: float | None
    ) -> int | None:
        """How many messages the longest prefix has that is in the cache and can be found."""
        if held.ttl is None:
            return None
        if not self._rules.breakpoints:
            return None if is_expired(at, held.at, held.ttl) else shared
        for end in self._reached(request, wanted):
            used, ttl = held.marks.get(end, (None, None))
            if end in held.marks and end <= shared and not is_expired(at, used, ttl):
                return end
        return None

    def _reached(self, request: Sequence[Chat], wanted: Sequence[int]) -> list[int]:
        """The prefixes that the marks of a request look for, the longest first."""
        limit = self._rules.lookback_blocks
        reached: set[int] = set()
        for mark in wanted:
            end, blocks = mark, 0
            while end >= 0 and (not limit or blocks < limit):
                reached.add(end)
                end -= 1
                blocks += _blocks(request[end]) if end >= 0 else 0
        return sorted(reached, reverse=True)

    def _cause(self, held: _Held, shared: int, cached: int, at: float | None, *, switched: bool) -> BreakCause | None:
        if switched:
            return "model"
        if held.tokens < self._rules.minimum_tokens or held.tokens * self._finding.share - cached < self._finding.step:
            return None
        if is_expired(at, held.at, held.ttl):
            return "expired"
        return "rewritten" if shared < len(held.request) or self._carried is not None else "missed"

    def _hold(
        self,
        held: _Held,
        shared: int,
        wanted: Sequence[int],
        found: int | None,
        at: float | None,
        ttl: float | None,
    ) -> None:
        held.ttl = self._rules.ttl_seconds if ttl is None else ttl
        held.marks = {end: mark for end, mark in held.marks.items() if end <= shared}
        for end, (_, kept) in held.marks.items():
            # Whoever reads a prefix reads the shorter ones with it.
            if found is not None and end <= found:
                held.marks[end] = at, kept
        held.marks.update((end, (at, held.ttl)) for end in wanted)
        held.at = at


def _wanted(request: Sequence[Chat], marks: Sequence[int] | None, shared: int) -> list[int]:
    """The marked prefixes of a request, as numbers of messages; the system prompt is one."""
    chosen = [shared - 1, *last_marks(request)] if marks is None else marks
    return sorted({_system(request), *(mark + 1 for mark in chosen if 0 <= mark < len(request))})


def last_marks(request: Sequence[Chat]) -> range:
    """The marks that agents usually set: on the last message, and the one before it."""
    return range(max(0, len(request) - 2), len(request))


def _system(request: Sequence[Chat]) -> int:
    return int(bool(request) and request[0].get("role") == "system")


def _blocks(message: Chat) -> int:
    content = message.get("content")
    return max(1, (len(content) if isinstance(content, list) else bool(content)) + len(calls_of(message)))
