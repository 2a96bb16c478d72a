"""Plain data as people and models write it, in YAML or JSON, and of which kind a value is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
import yaml
from yaml.reader import ReaderError

from foveate.work.short_yaml import TooMuchYamlError, read_short_yaml

Kind = Literal["text", "list", "mapping", "number", "yes or no", "anything"]

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
    try:
        return read_short_yaml(text)
    except TooMuchYamlError as error:
        raise UnreadableError(str(error)) from error
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


def _kind_said(value: object) -> Kind:
    if not isinstance(value, str):
        return kind_of(value)
    said = value.strip().lower()
    if said.endswith("[]"):
        return "list"
    # `list of text`, `list[str]`, `string, one sentence`; a description that begins otherwise says no kind.
    first = re.match(r"yes or no|[a-z]+(?=$|[\s\[(,:;<?])", said)
    return _WORDS.get(first.group(), "anything") if first else "anything"
