"""Tool definitions: read from any provider's form, written in the one that is asked for.

A tool that a provider runs itself is sent to that provider as it came and to no other; one of a kind that is not known
here goes as it came to every provider that writes its tools so, and the others refuse it, since nobody knows what they
would leave out. A tool of free text is one with a text as its only argument where there are no such tools; of several
tools with one name, the first is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from foveate.errors import ConfigError

Owner = Literal["openai", "openai-responses", "anthropic", "gemini"]

_NO_NAMES: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A tool by what all providers want to know of it.

    `form` is the format it was written in, if only one writes it so; `raw` is the tool as it came. A tool `run` by the
    provider may have no name, and may be of a kind that is not `known` here; a `custom` one takes free text.
    """

    name: str = ""
    description: str = ""
    schema: dict[str, Any] = field(default_factory=dict)
    strict: bool | None = None
    form: Owner | None = None
    run: bool = False
    known: bool = True
    custom: bool = False
    raw: dict[str, Any]


def declared(tool: Mapping[str, Any]) -> list[Declared]:
    """What a definition says: one tool, several if it is a list of functions, none if nobody can understand it."""
    functions = next((tool[key] for key in ("functionDeclarations", "function_declarations") if key in tool), None)
    if isinstance(functions, list | tuple):
        found = [_function(one, "gemini") for one in functions if isinstance(one, Mapping)]
        rest = {
            key: value for key, value in tool.items() if key not in ("functionDeclarations", "function_declarations")
        }
        return [*(one for one in found if one is not None), *(declared(rest) if rest else ())]
    kind = tool.get("type")
    inner = tool.get(kind) if kind in ("function", "custom") else tool.get("function")
    if isinstance(inner, Mapping):
        made = _custom(inner, "openai", tool) if kind == "custom" else _function(inner, "openai", tool)
    elif kind == "custom" and not _has_schema(tool):
        made = _custom(tool, "openai-responses", tool)
    elif kind in ("function", "custom", None):
        made = _function(tool, _form(tool)) or _run_by_gemini(tool)
    else:
        # A type of its own may have a schema without being a function: that of a tool search has no name.
        made = (_function(tool, _form(tool)) if _has_schema(tool) else None) or _run(tool)
    return [] if made is None else [made]


def refuse_unknown(tools: Iterable[Mapping[str, Any]]) -> None:
    """Nothing, unless there is a tool that nobody can understand, or a name twice: then a `ConfigError`."""
    names: set[str] = set()
    for tool in tools:
        found = declared(tool)
        if not found:
            raise ConfigError(
                f"a tool in `tools` cannot be understood: {tool!r:.120}; "
                "give it a `name` and `parameters`, or the form of a provider that runs it"
            )
        for name in (one.name for one in found if not one.run):
            if name in names:
                raise ConfigError(f"two tools in `tools` have the name {name!r:.80}; give each its own")
            names.add(name)


def tool_names(tools: Iterable[Mapping[str, Any]]) -> dict[str, None]:
    """The names of tools, in order."""
    return {one.name: None for tool in tools for one in declared(tool) if one.name}


def responses_tools(
    tools: Iterable[Mapping[str, Any]], names: Mapping[str, str] = _NO_NAMES, *, anew: bool = False
) -> list[dict[str, Any]]:
    """As OpenAI Responses has them, under the names to send; `anew` writes its own as 0.1 did."""
    found = _for("openai-responses", tools, anew=anew)
    return [
        one.raw if not anew and _is_ready(one, "openai-responses", names) else _for_responses(one, _sent(one, names))
        for one in found
    ]


def anthropic_tools(
    tools: Iterable[Mapping[str, Any]], names: Mapping[str, str] = _NO_NAMES, *, anew: bool = False
) -> list[dict[str, Any]]:
    """As Anthropic has them, under the names to send, with the cache marks they came with; `anew` as 0.1 did."""
    found = _for("anthropic", tools, anew=anew)
    if anew:
        made = [_for_anthropic(one, _sent(one, names)) for one in found]
        return [{key: value for key, value in tool.items() if key != "cache_control"} for tool in made]
    return [one.raw if _is_ready(one, "anthropic", names) else _for_anthropic(one, _sent(one, names)) for one in found]


def gemini_tools(
    tools: Iterable[Mapping[str, Any]], names: Mapping[str, str] = _NO_NAMES, *, anew: bool = False
) -> list[dict[str, Any]]:
    """As Gemini has them, under the names to send: as they came, or all declarations in one tool, its own behind it."""
    tools = tuple(tools)
    read = [one for tool in tools for one in declared(tool)]
    once = len({one.name for one in read if one.name}) == sum(bool(one.name) for one in read)
    # Nobody writes the wire in snake case but for libraries.
    plain = not any("_" in key for tool in tools for key in tool)
    if not anew and once and plain and all(_is_ready(one, "gemini", names) for one in read):
        return [dict(tool) for tool in tools]
    found = list(_for("gemini", tools, anew=anew))
    functions = [_for_gemini(one, _sent(one, names)) for one in found if not one.run]
    return [*([{"functionDeclarations": functions}] if functions else []), *(one.raw for one in found if one.run)]


def json_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """A schema with types spelt as JSON schema spells them; None if it is nested too deep to be one."""
    try:
        return _small(schema)
    except RecursionError:
        return None


# --- reading ----------------------------------------------------------------------------------------------------------

_SCHEMAS: Final = (
    "parameters",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
    "parameters_json_schema",
)
_FREE_TEXT: Final = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
_GEMINI_TOOLS: Final = frozenset(
    {
        "googlesearch",
        "googlesearchretrieval",
        "codeexecution",
        "urlcontext",
        "computeruse",
        "filesearch",
        "googlemaps",
        "enterprisewebsearch",
        "retrieval",
    }
)
_OF_A_FUNCTION: Final = frozenset({"name", "type", "function", "custom", "description", "strict", "format", *_SCHEMAS})
# How the types of the tools that OpenAI runs begin, whatever their version.
_OPENAI_TOOLS: Final = (
    *("web_search", "file_search", "code_interpreter", "image_generation", "computer", "local_shell", "shell"),
    *("apply_patch", "mcp", "tool_search", "namespace"),
)
_SCHEMA_TYPES: Final = frozenset({"object", "string", "number", "integer", "boolean", "array", "null"})
# Of a schema, which some give for a tool; and of free text, which has none.
_NO_TYPES: Final = _SCHEMA_TYPES | {"custom"}
_VERSIONED: Final = re.compile(r".*_\d{8}|mcp_toolset")
# What stands here is a value, in which the names of types mean nothing.
_VALUES: Final = frozenset({"default", "const", "enum", "example", "examples"})
# What stands here are schemas by names of any kind, which may be one of the above.
_NAMED: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})


def _has_schema(tool: Mapping[str, Any]) -> bool:
    return any(key in tool for key in _SCHEMAS)


def _form(tool: Mapping[str, Any]) -> Owner | None:
    """The format that a definition is written in, if its fields say so; others write a function without a type."""
    if "input_schema" in tool:
        return "anthropic"
    kind = tool.get("type")
    own = "parameters" in tool and isinstance(kind, str) and kind not in _NO_TYPES
    return "openai-responses" if kind == "function" or own else None


def _function(function: Mapping[str, Any], form: Owner | None, raw: Mapping[str, Any] | None = None) -> Declared | None:
    name, strict = function.get("name"), function.get("strict")
    schema = _object(next((function[key] for key in _SCHEMAS if function.get(key) is not None), {}))
    if not isinstance(name, str) or not name or schema is None:
        return None
    return Declared(
        name=name,
        description=_description(function),
        schema=schema,
        strict=strict if isinstance(strict, bool) else None,
        form=form,
        raw=dict(function if raw is None else raw),
    )


def _custom(tool: Mapping[str, Any], form: Owner, raw: Mapping[str, Any]) -> Declared | None:
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        return None
    described = _description(tool)
    return Declared(name=name, description=described, schema=dict(_FREE_TEXT), form=form, custom=True, raw=dict(raw))


def _run(tool: Mapping[str, Any]) -> Declared | None:
    """A tool with a type of its own, which says who runs it."""
    kind, name = tool.get("type"), tool.get("name")
    if not isinstance(kind, str) or not kind or kind in _SCHEMA_TYPES:
        return None
    is_anthropic = _VERSIONED.fullmatch(kind) is not None or "input_schema" in tool
    is_openai = kind.startswith(_OPENAI_TOOLS) or "parameters" in tool
    owner: Owner | None = "anthropic" if is_anthropic else "openai-responses" if is_openai else None
    named = name if isinstance(name, str) else ""
    return Declared(name=named, form=owner, run=True, known=owner is not None, raw=dict(tool))


def _run_by_gemini(tool: Mapping[str, Any]) -> Declared | None:
    """A tool of Gemini, which says what it is by its only fields: each with what it takes."""
    known = all(str(key).replace("_", "").lower() in _GEMINI_TOOLS for key in tool)
    is_one = all(isinstance(value, Mapping | list) and key not in _OF_A_FUNCTION for key, value in tool.items())
    return Declared(form="gemini", run=True, known=known, raw=dict(tool)) if tool and (known or is_one) else None


def _description(tool: Mapping[str, Any]) -> str:
    description = tool.get("description")
    return description if isinstance(description, str) else ""


def _object(schema: object) -> dict[str, Any] | None:
    """A schema as that of an object, with types spelt as JSON schema spells them; None if it is no schema."""
    if not isinstance(schema, Mapping):
        return None
    small = json_schema(schema)
    if small is None:
        return None
    plain: dict[str, Any] = {"type": "object", **small, **({} if schema else {"properties": {}})}
    return plain if plain["type"] == "object" else {**plain, "type": "object"}


def _small(schema: Mapping[str, Any]) -> dict[str, Any]:
    small: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, list):
            small[key] = [_small_type(one) for one in value]
        elif key == "type" and isinstance(value, str):
            small[key] = _small_type(value)
        elif key in _NAMED and isinstance(value, Mapping):
            small[key] = {name: _small(one) if isinstance(one, Mapping) else one for name, one in value.items()}
        elif isinstance(value, Mapping) and key not in _VALUES:
            small[key] = _small(value)
        elif isinstance(value, list) and key not in _VALUES:
            small[key] = [_small(one) if isinstance(one, Mapping) else one for one in value]
        else:
            small[key] = value
    return small


def _small_type(kind: Any) -> Any:
    return kind.lower() if isinstance(kind, str) and kind.lower() in _SCHEMA_TYPES else kind


# --- writing ----------------------------------------------------------------------------------------------------------


def _for(owner: Owner, tools: Iterable[Mapping[str, Any]], *, anew: bool) -> Iterator[Declared]:
    """The tools that a provider can be sent, each name once."""
    seen: set[str] = set()
    for one in (one for tool in tools for one in declared(tool)):
        if (one.run and not _is_run_by(owner, one, anew=anew)) or one.name in seen:
            continue
        if one.name:
            seen.add(one.name)
        yield one


def _is_run_by(owner: Owner, tool: Declared, *, anew: bool) -> bool:
    """Whether a provider may run a tool; one of an unknown kind that it does not write so is refused."""
    if tool.known:
        return tool.form == owner
    if anew:
        # 0.1 took all of them for OpenAI's.
        return owner == "openai-responses"
    if owner == tool.form or (tool.form is None and owner in ("anthropic", "openai-responses")):
        return True
    raise ConfigError(
        f"a tool in `tools` is of a kind that cannot be sent to {owner!r}: {tool.raw!r:.120}; "
        "leave it out of requests to this provider, or give it a `name` and `parameters`"
    )


def _is_ready(tool: Declared, owner: Owner, names: Mapping[str, str]) -> bool:
    """Whether a tool came in the form of who gets it, and can be sent as it came."""
    if tool.form != owner or names.get(tool.name, tool.name) != tool.name:
        return False
    schema = next((tool.raw[key] for key in _SCHEMAS if tool.raw.get(key) is not None), None)
    return (
        tool.run or tool.custom or owner == "gemini" or (isinstance(schema, Mapping) and schema.get("type") == "object")
    )


def _sent(tool: Declared, names: Mapping[str, str]) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {"name": names.get(tool.name, tool.name), **described}


def _for_responses(tool: Declared, sent: dict[str, Any]) -> dict[str, Any]:
    if tool.run:
        return tool.raw
    if tool.custom:
        inner = tool.raw["custom"] if tool.form == "openai" else tool.raw
        form = {"format": _flat(inner["format"])} if isinstance(inner.get("format"), Mapping) else {}
        return {**tool.raw, **sent} if tool.form == "openai-responses" else {"type": "custom", **sent, **form}
    if tool.form == "openai-responses" and tool.raw.get("type") == "function":
        # Without a value the provider decides by the schema, as its own tools may want.
        return {**tool.raw, **sent, "parameters": tool.schema, "strict": tool.strict}
    # The others' tools are not strict unless they say so, but this provider's are.
    return {"type": "function", **sent, "parameters": tool.schema, "strict": bool(tool.strict)}


def _flat(form: Mapping[str, Any]) -> dict[str, Any]:
    """The format of free text: chat has the fields of a grammar one level deeper."""
    grammar = form.get("grammar")
    return {"type": "grammar", **grammar} if isinstance(grammar, Mapping) else dict(form)


def _for_anthropic(tool: Declared, sent: dict[str, Any]) -> dict[str, Any]:
    if tool.run:
        return tool.raw
    own = tool.raw if tool.form == "anthropic" else {}
    return {**own, **sent, "input_schema": tool.schema}


def _for_gemini(tool: Declared, sent: dict[str, Any]) -> dict[str, Any]:
    return {**tool.raw, **sent} if tool.form == "gemini" else {**sent, "parametersJsonSchema": tool.schema}
