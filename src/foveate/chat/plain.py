"""Plain data as people and models write it, in YAML or JSON, and of which kind a value is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Final, Literal

import msgspec
import yaml
from yaml.composer import ComposerError
from yaml.reader import ReaderError

Kind = Literal["text", "list", "mapping", "number", "yes or no", "anything"]

# YAML is read at some hundred kilobytes a second; nobody writes more by hand.
MOST_YAML: Final = 20_000
_DEEPEST: Final = 100

_WORDS: Final[dict[str, Kind]] = {
    **dict.fromkeys(("text", "string", "str", "markdown"), "text"),
    **dict.fromkeys(("list", "array", "tuple", "sequence"), "list"),
    **dict.fromkeys(("mapping", "object", "dict", "map"), "mapping"),
    **dict.fromkeys(("number", "int", "integer", "float"), "number"),
    **dict.fromkeys(("boolean", "bool", "yes or no"), "yes or no"),
}


class UnreadableError(ValueError):
    """A text is not the YAML or JSON it should be; `line` counts from 1 and is 0 if nobody knows."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


def read_yaml(text: str) -> Any:
    """What a short text in YAML says."""
    if len(text) > MOST_YAML:
        raise UnreadableError(f"it has {len(text):,} characters, more than {MOST_YAML:,}")
    if _depth(text) > _DEEPEST:
        raise UnreadableError("it is nested too deeply")
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506  (a safe loader, made safer)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise UnreadableError(error.problem or "it is no YAML", mark.line + 1 if mark else 0) from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UnreadableError(f"it has the character {error.character!r}, which YAML does not allow", line) from error
    except (yaml.YAMLError, ValueError, ArithmeticError, LookupError, AttributeError, TypeError) as error:
        # What a tag says of a value that is none such, as in `!!bool perhaps`, ends in any of these.
        raise UnreadableError(f"a value in it cannot be read ({error})") from error
    except RecursionError as error:
        raise UnreadableError("it is nested too deeply") from error


def read_json(text: str | bytes) -> Any:
    """What a text in JSON says."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise UnreadableError(str(error)) from error
    except RecursionError as error:
        raise UnreadableError("it is nested too deeply") from error


def kinds_said(written: Mapping[Any, Any]) -> dict[str, Kind]:
    """The kind of each key, from an example, from words such as `list of text`, or from a JSON schema."""
    properties = written.get("properties")
    if isinstance(properties, Mapping) and ("$schema" in written or written.get("type") == "object"):
        written = {key: one.get("type") if isinstance(one, Mapping) else None for key, one in properties.items()}
    return {str(key): _kind_said(value) for key, value in written.items()}


def kind_of(value: object) -> Kind:
    """Of which kind a value is."""
    match value:
        case bool():
            return "yes or no"
        case int() | float():
            return "number"
        case str():
            return "text"
        case Mapping():
            return "mapping"
        case list() | tuple():
            return "list"
        case _:
            return "anything"


def _depth(text: str) -> int:
    """How many brackets are open at once at most; each makes PyYAML look at all that are open again."""
    steps = (1 if mark in "[{" else -1 for mark in re.findall(r"[\[\]{}]", text))
    return max(accumulate(steps, initial=0))


def _kind_said(value: object) -> Kind:
    if not isinstance(value, str):
        return kind_of(value)
    said = value.strip().lower()
    if said.endswith("[]"):
        return "list"
    # `list of text`, `list[str]`, `string, one sentence`; a description that begins otherwise says no kind.
    first = re.match(r"yes or no|[a-z]+(?=$|[\s\[(,:;<?])", said)
    return _WORDS.get(first.group(), "anything") if first else "anything"


class _Loader(yaml.SafeLoader):
    """YAML without references: a few lines of them stand for more than any memory holds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # PyYAML says no types
            raise ComposerError(None, None, "references such as `*name` are not read; write it out", mark)
        return super().compose_node(parent, index)
