"""How many tokens a text has, by the tokenizer of the model that will read it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import compress, pairwise
from os.path import commonprefix
from threading import RLock
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Protocol

from foveate.budget.estimate import EstimatingCounter
from foveate.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from splintr import AnyTokenizer


class TokenCounter(Protocol):
    """Anything that can say how many tokens a text has."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...

    def count_many(self, texts: Sequence[str]) -> list[int]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SplintrCounter:
    """Counts with a real vocabulary, which is loaded at the first count."""

    encoding: str = "o200k_base"
    recipe_name: ClassVar[str] = "tokens.splintr@1"

    @property
    def name(self) -> str:
        """The vocabulary that the counts come from."""
        return self.encoding

    def count(self, text: str) -> int:
        """How many tokens this text has; special tokens spelled out in it are plain text."""
        vocabulary = _vocabulary(self.encoding)
        if len(text) <= _PIECE:
            return _count(vocabulary, text)
        total = sum(_count(vocabulary, piece) for piece in _pieces(text))
        # The tokenizer keeps every word it met, however long, and a huge text has huge words.
        vocabulary.tokenizer.clear_cache()
        return total

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """The count of each text, in order; many at once are faster than one by one."""
        if _pool.is_lost:
            return [self.count(text) for text in texts]
        vocabulary = _vocabulary(self.encoding)
        plain = [len(text) <= _PIECE and vocabulary.marker not in text for text in texts]
        try:
            counts = iter(_pool.count(vocabulary.tokenizer, list(compress(texts, plain))))
        except UnicodeEncodeError:
            return [self.count(text) for text in texts]
        return [next(counts) if batched else self.count(text) for text, batched in zip(texts, plain, strict=True)]


def counter_for(model: str | None) -> TokenCounter:
    """The counter for a model: its own vocabulary where public, else o200k_base."""
    if not _splintr_works():
        return EstimatingCounter()
    name = (model or "").lower()
    for pattern, encoding in _ENCODINGS:
        if re.search(pattern, name):
            return SplintrCounter(encoding=encoding)
    return SplintrCounter()


def image_tokens(width: int | None, height: int | None) -> int:
    """What an image costs: area over 750, from 85 to 1,600; 1,200 if the size is unknown."""
    if not width or not height or width < 0 or height < 0:
        return 1_200
    return max(85, min(1_600, -(-width * height // 750)))


class _Pool:
    """The tokenizer's threads, which count many texts at once; a process that is forked off does not have them.

    A child that waited for them would wait for ever. So it counts one by one if its parent has used them, and a parent
    forks when they have nothing to do: what they lock is not locked in the child then.
    """

    def __init__(self) -> None:
        self.is_lost = False
        self._is_used = False
        # Re-entrant: a signal handler may fork in the thread that counts.
        self._working = RLock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._working.acquire, after_in_parent=self._working.release, after_in_child=self._lose
            )

    def count(self, tokenizer: AnyTokenizer, texts: list[str]) -> list[int]:
        """The tokens of each text."""
        with self._working:
            self._is_used = True
            _, ends = tokenizer.encode_batch_flat(texts)
        offsets = memoryview(ends).cast("Q").tolist()
        return [end - start for start, end in pairwise(offsets)]

    def _lose(self) -> None:
        self.is_lost = self._is_used
        self._working.release()


_pool: Final = _Pool()


class _Vocabulary(NamedTuple):
    tokenizer: AnyTokenizer
    # What all special tokens begin with; a text without it cannot contain one.
    marker: str


# A word boundary keeps "gpt-4o" and "gpt-4.1", which have the newer vocabulary, out of "gpt-4".
_ENCODINGS: tuple[tuple[str, str], ...] = (
    (r"gpt-4(?![.\do])|gpt-3", "cl100k_base"),
    (r"deepseek", "deepseek_v3"),
    (r"llama", "llama3"),
    (r"qwen|qwq", "qwen3"),
    (r"kimi|moonshot", "kimi"),
    (r"\bglm", "glm4"),
    (r"(?:mi|code|dev|magi|mini)stral|mixtral|pixtral", "mistral_v3"),
)

# Merging takes more than linear time in an unbroken run: 16 MB of one letter took 8 s and 1 GB
# whole, 0.3 s in pieces of this size.
_PIECE = 65_536


@cache
def _splintr_works() -> bool:
    try:
        # Here and not on top: `import foveate` must feel instant.
        import_module("splintr")
    except ImportError:
        return False
    return True


@cache
def _vocabulary(encoding: str) -> _Vocabulary:
    # Here and not on top: `import foveate` must feel instant, and the tokenizer is optional.
    from splintr import Tokenizer  # noqa: PLC0415

    try:
        tokenizer = Tokenizer.from_pretrained(encoding)
    except ValueError as error:
        raise ConfigError(
            f"`encoding` {encoding!r} is no known vocabulary; use one such as 'o200k_base' or 'cl100k_base' ({error})"
        ) from error
    # Characters are meant, not parts of a path.
    marker = commonprefix(list(tokenizer.special_tokens()))  # noqa: RUF071
    return _Vocabulary(tokenizer, marker)


def _count(vocabulary: _Vocabulary, text: str) -> int:
    tokenizer, marker = vocabulary
    try:
        if marker in text:
            return len(tokenizer.encode_ordinary(text))
        # Four bytes per token and no list of integers, but special tokens would count as one.
        return len(tokenizer.encode_flat(text)) // 4
    except UnicodeEncodeError:
        return len(tokenizer.encode_ordinary(_without_surrogates(text)))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _PIECE:
        # No token goes on after a line break, so such a cut leaves the count as it is.
        cut = text.rfind("\n", start, start + _PIECE) + 1 or start + _PIECE
        yield text[start:cut]
        start = cut
    yield text[start:]


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
