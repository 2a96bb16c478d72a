"""What Gemini refuses in a request.

The whole request is judged. Contents of one role in a row are one turn, as Gemini takes them; whether calls and
thoughts must be signed depends on the model. Parts of kinds that are not known here are opaque, and taken.

- `contents_given`: `contents` is a list with something in it.
- `system_says_something`: `systemInstruction`, if there is one, has parts of text.
- `tools_fit`: a declaration has a name that is allowed and that no other has, and a schema of an object if it has one.
- `answer_format_fits`: `generationConfig` says that the answer is JSON, by a schema that is an object if there is one.
- `roles_known`: a content is the user's or the model's.
- `parts_given`: a content has parts, and each is an object.
- `parts_say_one_thing`: a part has one kind of content, and a text is not empty.
- `calls_are_the_models`: function calls stand in contents of the model, responses in those of the user.
- `names_fit`: the name of a call and of a response is allowed.
- `calls_filled`: the `args` of a call are an object.
- `responses_filled`: the `response` to a call is an object.
- `calls_answered`: behind a content with calls stands one with a response to each, by its name, and responses stand
  nowhere else; one that comes twice is the same response.
- `responses_first`: responses stand before all text of their content, but for one that comes again.
- `media_known`: media are of a type that is taken, and say where they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from foveate.wire.attachments import takes
from foveate.wire.data_uri import is_base64, kind_of
from foveate.wire.gemini_lowering import KINDS
from foveate.wire.gemini_parts import DETAILS
from foveate.wire.names import GEMINI_NAMES

Contents = list[Mapping[str, Any]]
Rule = Callable[[Contents], Iterator[str]]


def problems(payload: object) -> list[str]:
    """Everything that would be refused, rule by rule; empty for a valid request."""
    if not isinstance(payload, Mapping):
        return [f"a request is an object, not {type(payload).__name__}"]
    found = [problem for rule in WHOLE for problem in rule(payload)]
    raw = payload.get("contents")
    if not isinstance(raw, list):
        return found
    contents = _as_taken([content if isinstance(content, Mapping) else {} for content in raw])
    return [*found, *(problem for rule in RULES for problem in rule(contents))]


def contents_given(payload: Mapping[str, Any]) -> Iterator[str]:
    contents = payload.get("contents")
    if not isinstance(contents, list) or not contents:
        yield "no contents"


def system_says_something(payload: Mapping[str, Any]) -> Iterator[str]:
    if "systemInstruction" in payload:
        parts = _parts(payload["systemInstruction"])
        if not parts or not all(isinstance(part.get("text"), str) and part["text"].strip() for part in parts):
            yield "`systemInstruction` is empty"


def tools_fit(payload: Mapping[str, Any]) -> Iterator[str]:
    tools = payload.get("tools", [])
    names: Counter[str] = Counter()
    for tool in tools if isinstance(tools, list) else [None]:
        functions = tool.get("functionDeclarations", []) if isinstance(tool, Mapping) else [None]
        for function in functions if isinstance(functions, list) else [None]:
            if not isinstance(function, Mapping) or function.get("name") not in GEMINI_NAMES:
                yield f"a tool without a name that is allowed: {function!r:.80}"
                continue
            schema = function.get("parametersJsonSchema", function.get("parameters", {"type": "object"}))
            if not isinstance(schema, Mapping) or str(schema.get("type")).lower() != "object":
                yield f"the tool {function['name']!r} has no schema of an object"
            names[function["name"]] += 1
    yield from (f"the tool {name!r} is there {times} times" for name, times in names.items() if times > 1)


def answer_format_fits(payload: Mapping[str, Any]) -> Iterator[str]:
    if "generationConfig" not in payload:
        return
    config = payload["generationConfig"]
    # It also says how warm an answer is to be, how long, and much else.
    named = {name: value for name, value in config.items() if str(name).startswith("response")} if config else {}
    match named or config:
        case {"responseMimeType": "application/json", **more} if not more:
            return
        case {"responseMimeType": "application/json", "responseJsonSchema": Mapping()}:
            return
        case _ if config and not named:
            return
        case _:
            yield f"`generationConfig` says no known format: {config!r:.100}"


def roles_known(contents: Contents) -> Iterator[str]:
    for index, content in enumerate(contents):
        if content.get("role") not in ("user", "model"):
            yield f"content {index}: unknown role {content.get('role')!r}"


def parts_given(contents: Contents) -> Iterator[str]:
    for index, content in enumerate(contents):
        parts = content.get("parts")
        if not isinstance(parts, list) or not parts or not all(isinstance(part, Mapping) for part in parts):
            yield f"content {index}: no list of parts"


def parts_say_one_thing(contents: Contents) -> Iterator[str]:
    for index, at, part in _all_parts(contents):
        kinds = [key for key in part if key in KINDS]
        text = part.get("text", "?")
        if len(kinds) > 1 or not part.keys() - DETAILS:
            yield f"content {index}, part {at}: {len(kinds)} kinds of content: {kinds}"
        elif not isinstance(text, str) or not (text.strip() or part.get("thoughtSignature")):
            yield f"content {index}, part {at}: empty text"


def calls_are_the_models(contents: Contents) -> Iterator[str]:
    for index, at, part in _all_parts(contents):
        for kind, role in (("functionCall", "model"), ("functionResponse", "user")):
            if kind in part and contents[index].get("role") != role:
                yield f"content {index}, part {at}: {kind} in a content of {contents[index].get('role')!r}"


def names_fit(contents: Contents) -> Iterator[str]:
    for index, at, part in _all_parts(contents):
        for kind in ("functionCall", "functionResponse"):
            name = _inner(part, kind).get("name") if kind in part else "fits"
            if name not in GEMINI_NAMES:
                yield f"content {index}, part {at}: {kind} with the name {name!r:.80}"


def calls_filled(contents: Contents) -> Iterator[str]:
    for index, at, part in _all_parts(contents):
        if "functionCall" in part and not isinstance(_inner(part, "functionCall").get("args", {}), Mapping):
            yield f"content {index}, part {at}: `args` are no object"


def responses_filled(contents: Contents) -> Iterator[str]:
    for index, at, part in _all_parts(contents):
        if "functionResponse" in part and not isinstance(_inner(part, "functionResponse").get("response"), Mapping):
            yield f"content {index}, part {at}: `response` is no object"


def calls_answered(contents: Contents) -> Iterator[str]:
    asked: Counter[str] = Counter()
    for index, content in enumerate([*contents, {}]):
        answers = _of_kind(content, "functionResponse")
        # With an id it is the same response that comes again.
        again = [one for at, one in enumerate(answers) if one.get("id") and one in answers[:at]]
        given = Counter(str(one.get("name")) for one in answers) - Counter(str(one.get("name")) for one in again)
        for name in (asked - given) + (given - asked):
            yield f"content {index}: {given[name]} responses to {asked[name]} calls of {name!r:.80}"
        asked = Counter(str(one.get("name")) for one in _of_kind(content, "functionCall"))


def responses_first(contents: Contents) -> Iterator[str]:
    for index, content in enumerate(contents):
        parts = _parts(content)
        # Agents put what a tool read behind its response, and repeat a response with all that stood behind it.
        told = [part for part in parts if {"text", "functionResponse"} & part.keys()]
        kinds = ["functionResponse" in part for at, part in enumerate(told) if part not in told[:at]]
        if kinds != sorted(kinds, reverse=True):
            yield f"content {index}: responses behind other parts"


def media_known(contents: Contents) -> Iterator[str]:
    for index, at, part in _all_parts(contents):
        for kind, source in (("inlineData", "data"), ("fileData", "fileUri")):
            if kind not in part:
                continue
            inner = _inner(part, kind)
            media_type = inner.get("mimeType", "text/plain" if kind == "fileData" else None)
            if not isinstance(media_type, str) or not takes("gemini", kind_of(media_type), media_type):
                yield f"content {index}, part {at}: media of type {media_type!r:.80}"
            value = inner.get(source)
            if not isinstance(value, str) or not value or (kind == "inlineData" and not is_base64(value)):
                yield f"content {index}, part {at}: {kind} without its `{source}`"


WHOLE: Final = (contents_given, system_says_something, tools_fit, answer_format_fits)
RULES: Final[tuple[Rule, ...]] = (
    roles_known,
    parts_given,
    parts_say_one_thing,
    calls_are_the_models,
    names_fit,
    calls_filled,
    responses_filled,
    calls_answered,
    responses_first,
    media_known,
)


def _as_taken(contents: Contents) -> Contents:
    """The turns that Gemini makes of contents: those of one role in a row are one."""
    turns: Contents = []
    for content in contents:
        together = turns and turns[-1].get("role") == content.get("role") and _parts(turns[-1]) and _parts(content)
        if together:
            turns[-1] = {**turns[-1], "parts": [*turns[-1]["parts"], *content["parts"]]}
        else:
            turns.append(content)
    return turns


def _parts(content: object) -> list[Mapping[str, Any]]:
    parts = content.get("parts") if isinstance(content, Mapping) else None
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []


def _all_parts(contents: Contents) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    for index, content in enumerate(contents):
        for at, part in enumerate(_parts(content)):
            yield index, at, part


def _of_kind(content: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    return [_inner(part, kind) for part in _parts(content) if kind in part]


def _inner(part: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    inner = part.get(kind)
    return inner if isinstance(inner, Mapping) else {}
