"""Contracts: what a template asks of a summary, compared with what came; advice, never a reason to fail."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from foveate.chat.plain import Kind, UnreadableError, kind_of, read_json, read_yaml
from foveate.chat.sections import blocks_in
from foveate.chat.templates import Template
from foveate.log.text import encodable

# A label is a few words, not a sentence with a colon in it.
_LABEL: Final = 60


def violations(template: Template, output: str) -> list[str]:
    """What a summary lacks of its template's contract: keys and kinds in JSON or YAML, else words for each key."""
    if not template.contract:
        return []
    data = _mapping_in(output, template.contract)
    if data is None:
        said = f" {_words(output)} "
        return [f"`{key}` is not mentioned" for key in template.contract if not _mentioned(key, said)]
    given = {_words(str(key)): value for key, value in data.items()}
    found: list[str] = []
    for key, kind in template.contract.items():
        value = given.get(_words(key))
        if _words(key) not in given:
            found.append(f"`{key}` is missing")
        elif kind != "anything" and not _says_nothing(value) and kind_of(value) != kind:
            found.append(f"`{key}` is {_called(kind_of(value))}; the contract asks for {_called(kind)}")
    return found


def parsed_contract(template: Template, output: str) -> dict[str, Any] | None:
    """What a summary says for each field of its template's contract; None without a contract, or if it says none.

    Of data the values as they are; of prose what stands under the heading or behind the label of a field.
    """
    if not template.contract:
        return None
    data = _mapping_in(output, template.contract)
    if data is None:
        data = _labelled(output, {_words(key) for key in template.contract})
    given = {_words(str(key)): value for key, value in data.items()}
    found = {key: _plain(given[_words(key)]) for key in template.contract if _words(key) in given}
    return found or None


def _labelled(output: str, wanted: set[str]) -> dict[str, str]:
    """The texts of a summary in prose by the headings and labels that they stand under."""
    found: dict[str, list[str]] = {}
    open_key = None
    for line in output.split("\n"):
        label, rest = _label_in(line)
        if label in wanted:
            open_key = label
            found.setdefault(label, []).append(rest)
        elif line.lstrip().startswith("#"):
            open_key = None
        elif open_key is not None:
            found[open_key].append(line)
    return {key: text for key, lines in found.items() if (text := "\n".join(lines).strip())}


def _label_in(line: str) -> tuple[str, str]:
    """The words that a line begins with as a heading or a label, such as `## Plan`, `- **Plan:** x` or `Plan: x`."""
    bare = line.strip().lstrip("#*-•_ \t")
    head, colon, rest = bare.partition(":")
    if not colon:
        head, rest = bare, ""
    is_heading = line.lstrip().startswith("#") or line.strip().startswith("**") or bool(colon)
    return (_words(head), rest.lstrip("*_ \t")) if is_heading and len(head) <= _LABEL else ("", "")


def _plain(value: Any) -> Any:
    """A value that JSON has; YAML also knows dates and the like."""
    match value:
        case Mapping():
            return {str(key): _plain(one) for key, one in value.items()}
        case list() | tuple() | set():
            return [_plain(one) for one in value]
        case str() | int() | float() | bool() | None:
            return encodable(value) if isinstance(value, str) else value
        case _:
            return str(value)


def _mapping_in(output: str, contract: Mapping[str, Kind]) -> Mapping[Any, Any] | None:
    """The data that an output is, or that it has in a fenced block."""
    lines = output.split("\n")
    blocks = [block.text for block in blocks_in(lines) if block.label in ("json", "yaml", "yml", "")]
    for text in (output, *blocks[:4]):
        data = _read(read_json, text)
        if isinstance(data, Mapping):
            return data
        # Prose with a colon in each line is YAML too, but not what was asked for; to YAML a heading is a comment.
        data = None if "\n#" in f"\n{text}" else _read(read_yaml, text)
        if isinstance(data, Mapping) and {_words(str(key)) for key in data} & {_words(key) for key in contract}:
            return data
    return None


def _read(read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text)
    except UnreadableError:
        return None


def _mentioned(key: str, said: str) -> bool:
    # Not every script has blanks between its words.
    return _words(key) in said if not key.isascii() else f" {_words(key)} " in said


def _words(text: str) -> str:
    """The words of a text in small letters, with one blank between them."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def _says_nothing(value: object) -> bool:
    """Whether a value is how a model leaves out what does not apply."""
    return value is None or (isinstance(value, str) and value.strip().lower() in ("", "n/a", "none"))


def _called(kind: str) -> str:
    return {"text": "text", "list": "a list", "mapping": "a mapping", "number": "a number"}.get(kind, kind)
