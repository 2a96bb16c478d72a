"""The sandbox: the part of Jinja2 that a template may use, so that none can reach out or run on for ever.

Allowed are placeholders, `if`, `for`, `set`, comparisons, `range`, `FILTERS` and `TESTS`. Refused is whatever
grows or calls: arithmetic, `~`, macros, blocks, includes, methods. Each turn of a loop spends steps, as does each value
that is read or filtered, the more the longer it is; so the time is bounded, and the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, Final

from jinja2 import ChainableUndefined, TemplateSyntaxError, nodes
from jinja2.exceptions import SecurityError
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.runtime import LoopContext, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.tests import TESTS as JINJA_TESTS
from jinja2.visitor import NodeTransformer

from foveate.chat.printing import inline, plain, printed

MOST_CHARACTERS: Final = 1_000_000
MOST_STEPS: Final = 500_000
MOST_RANGE: Final = 10_000
# Conditions, loops, placeholders and what they are made of; Jinja2 compiles some thousands a second.
MOST_PARTS: Final = 4_000
MOST_DEPTH: Final = 50

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
# No template can have filters of such names.
_COUNTED: Final = "each turn counted"
_READ: Final = "reading counted"
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


def filled(form: str, values: Mapping[str, object]) -> str:
    """A form with values in the place of its placeholders; those without a value stay empty."""
    try:
        sandbox = _Sandbox()
        tree = _checked(sandbox, form)
        template = sandbox.from_string(tree)
    except _FAILURES as error:
        raise _form_error(error) from error
    used = _names(tree, "load")
    given = {name: _given(name, value) for name, value in values.items() if name in used}
    parts: list[str] = []
    try:
        for part in template.generate(given):
            sandbox.meter.print(len(part))
            parts.append(part)
    except _FAILURES as error:
        raise _form_error(error) from error
    return "".join(parts)


def names_used(form: str) -> set[str]:
    """The names that a form wants to have filled in."""
    try:
        sandbox = _Sandbox()
        tree = _checked(sandbox, form)
        sandbox.compile(tree)
    except _FAILURES as error:
        raise _form_error(error) from error
    return _names(tree, "load") - _names(tree, "store") - {"range", "loop"}


def _names(tree: nodes.Template, ctx: str) -> set[str]:
    return {node.name for node in tree.find_all(nodes.Name) if node.ctx == ctx}


def _given(name: str, value: object) -> Any:
    try:
        return plain(value, _Meter().spend)
    except _FAILURES as error:
        failed = _form_error(error)
        raise FormError(f"the value of `{name}` cannot be used: {failed.problem}") from error


class _Meter:
    """What was spent."""

    def __init__(self) -> None:
        self._steps = 0
        self._characters = 0

    def spend(self, steps: int) -> None:
        """Count steps."""
        self._steps += steps
        if self._steps > MOST_STEPS:
            raise SecurityError(f"it takes more than {MOST_STEPS:,} steps; loop over less")

    def print(self, characters: int) -> None:
        """Count characters."""
        self._characters += characters
        if self._characters > MOST_CHARACTERS:
            raise SecurityError(f"it makes more than {MOST_CHARACTERS:,} characters; fill in less")


class _Missing(ChainableUndefined):
    """A placeholder without a value: empty, and neither more nor less than anything."""

    def _never(self, _other: object) -> bool:
        return False

    __lt__ = __le__ = __gt__ = __ge__ = _never  # type: ignore[assignment]


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja2 for one form: plain values, no attributes but keys and those of `loop`, everything counted."""

    def __init__(self) -> None:
        self.meter = _Meter()
        super().__init__(
            undefined=_Missing,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=self._printed,
            cache_size=0,
        )
        spend = self.meter.spend
        own = {"join": _joined(spend), "indent": _indented(spend)}
        self.filters = {name: self._metered(own.get(name) or JINJA_FILTERS[name]) for name in FILTERS}
        self.filters |= {_READ: self._read, _COUNTED: self._counted}
        self.tests = {name: JINJA_TESTS[name] for name in TESTS}
        self.globals = {"range": _short_range}

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A key of a mapping, or what `loop` knows; nothing else has attributes."""
        if isinstance(obj, dict) and attribute in obj:
            return self._read(obj[attribute])
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
            return self._read(obj[argument])
        except (TypeError, LookupError):
            return self.undefined(obj=obj, name=argument)

    def _read(self, value: object) -> object:
        self.meter.spend(1 + len(value) // 64 if isinstance(value, str | list | dict) else 1)
        return value

    def _counted(self, values: Iterable[object]) -> Iterator[object]:
        for value in values:
            self.meter.spend(1)
            yield value

    def _metered(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # `wraps` also takes over how Jinja2 wants to call it.
        @wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.meter.spend(1 + sum(_weight(one) for one in args))
            return function(*(self._counted(one) if isinstance(one, Iterator) else one for one in args), **kwargs)

        return counted

    def _printed(self, value: object) -> str:
        return printed(value, self.meter.spend)


def _weight(value: object) -> int:
    """How long a filter takes for a value; letters go faster than items."""
    match value:
        case str():
            return len(value) // 8
        case list() | dict():
            return len(value)
        case _:
            return 0


class _Counting(NodeTransformer):
    """Makes every loop count its turns, and every name what is read by it."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802  (Jinja2 calls it by this name)
        self.generic_visit(node)
        node.iter = _through(_COUNTED, node.iter)
        return node

    def visit_Name(self, node: nodes.Name) -> nodes.Node:  # noqa: N802  (as above)
        return _through(_READ, node) if node.ctx == "load" and node.name != "range" else node


def _through(filter: str, node: nodes.Node) -> nodes.Filter:
    return nodes.Filter(node, filter, [], [], None, None, lineno=node.lineno)


def _checked(sandbox: _Sandbox, form: str) -> nodes.Template:
    """The tree of a form that has nothing in it but what is allowed, each loop in it counted."""
    tree = sandbox.parse(form)
    ahead: list[tuple[nodes.Node, int]] = [(tree, 0)]
    parts = 0
    while ahead:
        node, depth = ahead.pop()
        parts += 1
        problem = _problem(node) if parts <= MOST_PARTS else f"it has more than {MOST_PARTS:,} parts; shorten it"
        if problem or depth > MOST_DEPTH:
            raise TemplateSyntaxError(problem or "it is nested too deeply; write it simpler", node.lineno)
        ahead += ((child, depth + 1) for child in reversed(list(node.iter_child_nodes())))
    changed: nodes.Template = _Counting().visit(tree)
    changed.set_environment(sandbox)
    return changed


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


def _joined(spend: Callable[[int], None]) -> Callable[..., str]:
    def join(values: Iterable[object], between: str = ", ", attribute: str | None = None) -> str:
        of = [one.get(attribute) if attribute and isinstance(one, Mapping) else one for one in values]
        texts = [inline(one, spend) for one in of]
        if len(between) * len(texts) > MOST_CHARACTERS:
            raise SecurityError(f"`join` would make more than {MOST_CHARACTERS:,} characters; join less")
        return between.join(texts)

    return join


def _indented(spend: Callable[[int], None]) -> Callable[..., str]:
    def indent(value: object, width: int = 2) -> str:
        if not 0 <= width <= 16:
            raise SecurityError(f"`indent` is {width}; give 0 to 16")
        return printed(value, spend).replace("\n", "\n" + " " * width)

    return indent


def _short_range(*bounds: int) -> range:
    numbers = range(*bounds)
    if len(numbers) > MOST_RANGE:
        raise SecurityError(f"`range` has {len(numbers):,} numbers; it may have {MOST_RANGE:,}")
    return numbers


def _form_error(error: BaseException) -> FormError:
    match error:
        case TemplateSyntaxError(message=message, lineno=line):
            return FormError(message or "it is no template", line)
        case RecursionError() | MemoryError():
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
