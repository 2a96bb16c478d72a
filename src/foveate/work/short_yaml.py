"""Short YAML: what others wrote, read in bounded time. PyYAML takes a second for 50 KB, and its C parser can crash."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Any, Final

import yaml
from yaml.composer import ComposerError

MOST: Final = 20_000
_DEEPEST: Final = 100


class TooMuchYamlError(ValueError):
    """A text is too long, or nested too deeply, to be read in bounded time."""


def read_short_yaml(text: str) -> Any:
    """What a text says; a `TooMuchYamlError` if it is long or nested deeply, a `YAMLError` if it refers to itself."""
    if len(text) > MOST:
        raise TooMuchYamlError(f"it has {len(text):,} characters of YAML, more than {MOST:,}; shorten it")
    if _depth(text) > _DEEPEST:
        raise TooMuchYamlError("it is nested too deeply")
    return yaml.load(text, Loader=_Loader)  # noqa: S506  (a safe loader, made safer)


def _depth(text: str) -> int:
    """How many brackets are open at once at most; each makes PyYAML look at all that are open again."""
    steps = (1 if mark in "[{" else -1 for mark in re.findall(r"[\[\]{}]", text))
    return max(accumulate(steps, initial=0))


class _Loader(yaml.SafeLoader):
    """YAML without references: a few lines of them stand for more than any memory holds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # PyYAML says no types
            raise ComposerError(None, None, "references such as `*name` are not read; write it out", mark)
        return super().compose_node(parent, index)
