"""The sandbox: the part of Jinja2 that a template may use, and the process in which it is filled in.

Allowed are placeholders, `if`, `for`, `set`, comparisons, `range`, `FILTERS` and `TESTS`. Refused is whatever
grows or calls: arithmetic, `~`, macros, blocks, includes, methods.

What is allowed can still take minutes. So `foveate.chat.render_process` runs this file as a program of its own, which
it ends when a rendering takes too long; `names_used` only parses and compiles, and may be called anywhere. The file
imports nothing of Foveate, so that the program starts quickly.
"""

from __future__ import annotations

import json
import marshal
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import IO, Any, Final

from jinja2 import ChainableUndefined, TemplateSyntaxError, nodes, pass_context
from jinja2 import Template as JinjaTemplate
from jinja2.exceptions import SecurityError
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.runtime import LoopContext, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.tests import TESTS as JINJA_TESTS

MOST_CHARACTERS: Final = 1_000_000
# Bytes of a form: it is parsed where nobody can end that.
MOST_FORM: Final = 100_000
MOST_RANGE: Final = 10_000
# Conditions, loops, placeholders and what they are made of; Jinja2 compiles some thousands a second.
MOST_PARTS: Final = 4_000
MOST_DEPTH: Final = 50
# Bytes that the program may take where the system can limit it (Linux).
MOST_MEMORY: Final = 1_000_000_000
# What the program spends on a rendering that nobody waits for any more, because its parent was killed.
_ORPHAN_SECONDS: Final = 20
_LENGTH_BYTES: Final = 8

FILTERS: Final = (
    *("capitalize", "count", "d", "default", "dictsort", "first", "indent", "items", "join", "last", "length", "list"),
    *("lower", "map", "reject", "rejectattr", "reverse", "select", "selectattr", "sort", "title", "trim", "truncate"),
    *("unique", "upper", "wordcount"),
)
# Not whether a number is odd: for a text that would be to format it, at any length.
TESTS: Final = (
    *("boolean", "defined", "eq", "false", "ge", "gt", "in", "iterable", "le", "lt", "mapping", "ne", "none", "number"),
    *("sequence", "string", "true", "undefined"),
)

_ALLOWED: Final = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign),
    *(nodes.Name, nodes.Const, nodes.List, nodes.Tuple, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Call),
    *(nodes.Filter, nodes.Test, nodes.Keyword, nodes.Compare, nodes.Operand, nodes.CondExpr),
    *(nodes.And, nodes.Or, nodes.Not, nodes.Neg),
)
_REMEDIES: Final[dict[type[nodes.Node], str]] = {
    nodes.Concat: "write one placeholder after the other",
    nodes.Include: "write the text into the template",
    nodes.Macro: "write the text out",
    nodes.AssignBlock: "write the text where it belongs",
}
# What is said of one and what of the other, and what stands between them.
_PAIRS: Final = (("speaker", "text", ": "), ("tool", "result", ": "), ("observation", "adjustment", " → "))
# What a template or a value can make Jinja2 and Python raise; compiling one is as far from us as filling it in.
_FAILURES: Final = (
    *(JinjaError, SyntaxError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError),
    *(RuntimeError, MemoryError, AssertionError),
)


class FormError(Exception):
    """A form cannot be filled in; `line` counts from 1 in the form."""

    def __init__(self, problem: str, line: int = 1) -> None:
        super().__init__(f"line {line}: {problem}")
        self.problem = problem
        self.line = line


def fill_form(form: str, values: Mapping[str, object]) -> str:
    """A form with plain values in the place of its placeholders; those without a value stay empty.

    It takes as long as the form makes it take: outside of the rendering process call `render_process.render_form`.
    """
    try:
        template = _compile_form(form)
        parts: list[str] = []
        characters = 0
        for part in template.generate(values):
            characters += len(part)
            if characters > MOST_CHARACTERS:
                raise SecurityError(f"it makes more than {MOST_CHARACTERS:,} characters; fill in less")
            parts.append(part)
    except _FAILURES as error:
        raise _form_error(error) from error
    return "".join(parts)


def names_used(form: str) -> frozenset[str]:
    """The names that a form wants to have filled in, without those that it sets itself."""
    loaded, stored = names_in(form)
    return loaded - stored - {"range", "loop"}


@lru_cache(maxsize=64)
def names_in(form: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a form reads, and those that it sets."""
    try:
        sandbox = _Sandbox()
        tree = _checked(sandbox, form)
        sandbox.compile(tree)
    except _FAILURES as error:
        raise _form_error(error) from error
    return _names(tree, "load"), _names(tree, "store")


def serve_renderings(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Fill in one form after the other, until there are no more."""
    replies.write(b"ready\n")
    replies.flush()
    while header := requests.read(_LENGTH_BYTES):
        form, values = marshal.loads(requests.read(int.from_bytes(header)))  # noqa: S302  from our own parent
        limit_processor_time()
        try:
            reply: dict[str, object] = {"text": fill_form(form, values)}
        except FormError as error:
            reply = {"problem": error.problem, "line": error.line}
        encoded = json.dumps(reply).encode()
        replies.write(len(encoded).to_bytes(_LENGTH_BYTES) + encoded)
        replies.flush()


def encode_request(form: str, values: Mapping[str, object]) -> bytes:
    """A request as `serve_renderings` reads it; a `ValueError` if a value is nested too deeply."""
    encoded = marshal.dumps((form, dict(values)))
    return len(encoded).to_bytes(_LENGTH_BYTES) + encoded


def read_reply(replies: IO[bytes]) -> dict[str, Any] | None:
    """What `serve_renderings` answered; None if it ended before that."""
    size = int.from_bytes(replies.read(_LENGTH_BYTES))
    encoded = replies.read(size) if size else b""
    return json.loads(encoded) if encoded and len(encoded) == size else None


def limit_memory() -> None:
    """Bound what this process may allocate, where the system can."""
    if sys.platform != "win32":
        import resource  # noqa: PLC0415  Windows has no such module

        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_processor_time() -> None:
    """Have the system end this process if the next rendering goes on and nobody is left to stop it."""
    if sys.platform != "win32":
        import resource  # noqa: PLC0415  Windows has no such module

        used = resource.getrusage(resource.RUSAGE_SELF)
        seconds = math.ceil(used.ru_utime + used.ru_stime) + _ORPHAN_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))


@lru_cache(maxsize=32)
def _compile_form(form: str) -> JinjaTemplate:
    sandbox = _Sandbox()
    return sandbox.from_string(_checked(sandbox, form))


def _names(tree: nodes.Template, ctx: str) -> frozenset[str]:
    return frozenset(node.name for node in tree.find_all(nodes.Name) if node.ctx == ctx)


class _Missing(ChainableUndefined):
    """A placeholder without a value: empty, and neither more nor less than anything."""

    def _never(self, _other: object) -> bool:
        return False

    __lt__ = __le__ = __gt__ = __ge__ = _never  # type: ignore[assignment]


@pass_context
def _print_value(_context: object, value: object) -> str:
    # With the context of a rendering, so that Jinja2 does not evaluate constants when it compiles.
    return printed(value)


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja2 for one form: plain values, and no attributes but keys and those of `loop`."""

    def __init__(self) -> None:
        super().__init__(
            undefined=_Missing,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_print_value,
            # Constant filters would run when a form is only looked at.
            optimized=False,
            cache_size=0,
        )
        own = {"join": _join, "indent": _indent}
        self.filters = {name: own.get(name) or JINJA_FILTERS[name] for name in FILTERS}
        self.tests = {name: JINJA_TESTS[name] for name in TESTS}
        self.globals = {"range": _short_range}

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A key of a mapping, or what `loop` knows; nothing else has attributes."""
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        if attribute.startswith("_"):
            raise SecurityError(f"a template cannot use `{attribute}`; use the placeholders and their keys")
        if isinstance(obj, LoopContext | Undefined):
            return super().getattr(obj, attribute)
        return self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """An item of a list, a key of a mapping or a character of a text."""
        if isinstance(argument, str):
            return self.getattr(obj, argument)
        try:
            return obj[argument]
        except (TypeError, LookupError):
            return self.undefined(obj=obj, name=argument)


def _checked(sandbox: _Sandbox, form: str) -> nodes.Template:
    """The tree of a form that has nothing in it but what is allowed."""
    if len(form.encode("utf-8", "surrogatepass")) > MOST_FORM:
        raise TemplateSyntaxError(f"it has more than {MOST_FORM:,} bytes; shorten it", 1)
    tree = sandbox.parse(form)
    ahead: list[tuple[nodes.Node, int, int]] = [(tree, 0, 1)]
    parts = 0
    while ahead:
        node, depth, line = ahead.pop()
        # Jinja2 does not note it of all: an operand stands where its comparison begins.
        line = node.lineno or line
        parts += 1
        problem = _problem(node) if parts <= MOST_PARTS else f"it has more than {MOST_PARTS:,} parts; shorten it"
        if problem or depth > MOST_DEPTH:
            raise TemplateSyntaxError(problem or "it is nested too deeply; write it simpler", line)
        ahead += ((child, depth + 1, line) for child in reversed(list(node.iter_child_nodes())))
    return tree


def _problem(node: nodes.Node) -> str:
    if not isinstance(node, _ALLOWED):
        called = "~" if isinstance(node, nodes.Concat) else getattr(node, "operator", type(node).__name__.lower())
        remedy = _REMEDIES.get(type(node), "use placeholders, `if`, `for` and filters")
        return f"a template cannot have `{called}`; {remedy}"
    match node:
        case nodes.Call(node=nodes.Name(name="range"), kwargs=[], dyn_args=None, dyn_kwargs=None):
            return ""
        case nodes.Call():
            return "a template cannot call anything but `range`; use a filter"
        case nodes.For(recursive=True):
            return "a loop cannot be recursive"
        case nodes.Filter(name=name) if name not in FILTERS:
            return f"there is no filter `{name}`; there are {', '.join(FILTERS)}"
        case nodes.Test(name=name) if name not in TESTS:
            return f"there is no test `is {name}`; there are {', '.join(TESTS)}"
        case nodes.Assign(target=target) if not isinstance(target, nodes.Name):
            return "`set` takes one name"
        case nodes.List(items=items) | nodes.Tuple(items=items, ctx="load"):
            # Lists of lists of the same list would be larger than any memory.
            return "" if all(isinstance(one, nodes.Const | nodes.Neg) for one in items) else "a list has only constants"
        case _:
            return ""


def _join(values: Iterable[object], between: str = ", ", attribute: str | None = None) -> str:
    of = [one.get(attribute) if attribute and isinstance(one, Mapping) else one for one in values]
    texts = [inline(one) for one in of]
    # Where the system limits no memory this still does.
    if len(between) * len(texts) > MOST_CHARACTERS:
        raise SecurityError(f"`join` would make more than {MOST_CHARACTERS:,} characters; join less")
    return between.join(texts)


def _indent(value: object, width: int = 2) -> str:
    if not 0 <= width <= 16:
        raise SecurityError(f"`indent` is {width}; give 0 to 16")
    return printed(value).replace("\n", "\n" + " " * width)


def _short_range(*bounds: int) -> range:
    numbers = range(*bounds)
    if len(numbers) > MOST_RANGE:
        raise SecurityError(f"`range` has {len(numbers):,} numbers; it may have {MOST_RANGE:,}")
    return numbers


def printed(value: object) -> str:
    """A value as lines: a list with an item in each, a mapping with a key in each.

    >>> printed([{"speaker": "user", "text": "hello"}])
    'user: hello'
    >>> print(printed(["no meat", "at most 40 euros"]))
    - no meat
    - at most 40 euros
    """
    match value:
        case list() | tuple() | Iterator():
            return "\n".join(line for line in map(_item, value) if line)
        case Mapping():
            return "\n".join(f"{inline(key)}: {inline(one)}" for key, one in value.items())
        case _:
            return inline(value)


def inline(value: object) -> str:
    """A value within a line: items after commas, keys after semicolons."""
    match value:
        case None | Undefined():
            return ""
        case bool():
            return "yes" if value else "no"
        case str() | int() | float():
            return str(value)
        case list() | tuple() | Iterator():
            return ", ".join(map(inline, value))
        case Mapping():
            return _pair(value) or "; ".join(f"{inline(key)}: {inline(one)}" for key, one in value.items())
        case _:
            raise TypeError(f"{type(value).__name__} is nothing to fill in")


def _item(value: object) -> str:
    text = inline(value)
    if not text or (isinstance(value, Mapping) and "speaker" in value):
        return text
    # Further lines stand below the first, so that it is seen where an item ends.
    return "- " + text.replace("\n", "\n  ")


def _pair(value: Mapping[Any, Any]) -> str:
    for first, second, between in _PAIRS:
        if set(value) == {first, second}:
            said = [inline(value[first]), inline(value[second])]
            return between.join(one for one in said if one)
    return ""


def _form_error(error: BaseException) -> FormError:
    match error:
        case TemplateSyntaxError(message=message, lineno=line):
            return FormError(message or "it is no template", line)
        case MemoryError():
            return FormError("it takes too much memory; loop over less", _line_of(error))
        case RecursionError():
            return FormError("it is nested too deeply; write it simpler", _line_of(error))
        case SyntaxError(msg=message):
            # Of the program that Jinja2 made of it: so many loops or conditions in each other that Python refuses.
            return FormError(f"it is nested too deeply ({message}); write it simpler")
        case _:
            return FormError(" ".join(str(error).split())[:300] or type(error).__name__, _line_of(error))


def _line_of(error: BaseException) -> int:
    """The line of the form at which it was when an error came up; Jinja2 puts it into the trace."""
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in ("<template>", "<unknown>"):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


if __name__ == "__main__":
    limit_memory()
    serve_renderings(sys.stdin.buffer, sys.stdout.buffer)
