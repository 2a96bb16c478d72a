"""Tree-sitter: the names in a source by the grammar of its language (extra: `foveate[map]`)."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

import msgspec

from foveate.errors import ConfigError
from foveate.knowledge.symbols import Names, names

try:
    import tree_sitter_c
    import tree_sitter_cpp
    import tree_sitter_go
    import tree_sitter_java
    import tree_sitter_javascript
    import tree_sitter_python
    import tree_sitter_ruby
    import tree_sitter_rust
    import tree_sitter_typescript
    from tree_sitter import Language, Node, Parser, Query, QueryCursor
except ImportError as error:
    raise ConfigError(f"grammars need {error.name}, which is not installed; pip install 'foveate[map]'") from error

_Found = tuple[list[str], list[str], list[str]]

_GRAMMARS: Final[Mapping[str, Callable[[], object]]] = MappingProxyType(
    {
        "python": tree_sitter_python.language,
        "javascript": tree_sitter_javascript.language,
        "typescript": tree_sitter_typescript.language_typescript,
        "tsx": tree_sitter_typescript.language_tsx,
        "go": tree_sitter_go.language,
        "rust": tree_sitter_rust.language,
        "java": tree_sitter_java.language,
        "c": tree_sitter_c.language,
        "cpp": tree_sitter_cpp.language,
        "ruby": tree_sitter_ruby.language,
    }
)
_JAVASCRIPT: Final = """
(program (lexical_declaration (variable_declarator name: (identifier) @definition)))
(program (variable_declaration (variable_declarator name: (identifier) @definition)))
(export_statement (lexical_declaration (variable_declarator name: (identifier) @definition)))
[(function_declaration name: (_) @definition) (generator_function_declaration name: (_) @definition)
 (class_declaration name: (_) @definition) (method_definition name: (property_identifier) @definition)]
[(variable_declarator name: (identifier) @bound) (arrow_function parameter: (identifier) @bound)]
[(identifier) (property_identifier) (shorthand_property_identifier)] @use
"""
_TYPESCRIPT: Final = f"""
{_JAVASCRIPT}
[(interface_declaration name: (_) @definition) (type_alias_declaration name: (_) @definition)
 (enum_declaration name: (_) @definition) (abstract_class_declaration name: (_) @definition)]
[(required_parameter pattern: (identifier) @bound) (optional_parameter pattern: (identifier) @bound)]
(type_identifier) @use
"""
_C: Final = """
(function_declarator declarator: (identifier) @definition)
[(struct_specifier name: (_) @definition body: (_)) (enum_specifier name: (_) @definition body: (_))
 (union_specifier name: (_) @definition body: (_)) (type_definition declarator: (type_identifier) @definition)
 (preproc_def name: (_) @definition) (preproc_function_def name: (_) @definition)]
[(parameter_declaration declarator: [(identifier) @bound (pointer_declarator declarator: (identifier) @bound)])
 (init_declarator declarator: [(identifier) @bound (pointer_declarator declarator: (identifier) @bound)])
 (declaration declarator: (identifier) @bound)]
[(identifier) (type_identifier) (field_identifier)] @use
"""
_QUERIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "python": """
(module (expression_statement (assignment left: (identifier) @definition)))
[(function_definition name: (_) @definition) (class_definition name: (_) @definition)]
[(parameters [(identifier) @bound (typed_parameter (identifier) @bound) (default_parameter name: (identifier) @bound)
              (typed_default_parameter name: (identifier) @bound)])
 (lambda_parameters (identifier) @bound) (keyword_argument name: (identifier) @bound)
 (assignment left: [(identifier) @bound (pattern_list (identifier) @bound)])
 (named_expression name: (identifier) @bound) (as_pattern_target (identifier) @bound)
 (for_statement left: [(identifier) @bound (pattern_list (identifier) @bound)])
 (for_in_clause left: [(identifier) @bound (pattern_list (identifier) @bound)])]
(identifier) @use
""",
        "javascript": f"""
{_JAVASCRIPT}
(formal_parameters (identifier) @bound)
""",
        "typescript": _TYPESCRIPT,
        "tsx": _TYPESCRIPT,
        "go": """
[(function_declaration name: (_) @definition) (method_declaration name: (_) @definition)
 (type_spec name: (_) @definition) (type_alias name: (_) @definition)]
(source_file (const_declaration (const_spec name: (_) @definition)))
(source_file (var_declaration (var_spec name: (_) @definition)))
(source_file (var_declaration (var_spec_list (var_spec name: (_) @definition))))
[(parameter_declaration name: (identifier) @bound) (var_spec name: (identifier) @bound)
 (short_var_declaration left: (expression_list (identifier) @bound))
 (range_clause left: (expression_list (identifier) @bound))]
[(identifier) (type_identifier) (field_identifier)] @use
""",
        "rust": """
[(function_item name: (_) @definition) (struct_item name: (_) @definition) (enum_item name: (_) @definition)
 (union_item name: (_) @definition) (trait_item name: (_) @definition) (type_item name: (_) @definition)
 (const_item name: (_) @definition) (static_item name: (_) @definition) (macro_definition name: (_) @definition)
 (mod_item name: (_) @definition body: (_))]
[(let_declaration pattern: (identifier) @bound) (parameter pattern: (identifier) @bound)
 (closure_parameters (identifier) @bound) (for_expression pattern: (identifier) @bound)]
[(identifier) (type_identifier) (field_identifier)] @use
""",
        "java": """
[(class_declaration name: (_) @definition) (interface_declaration name: (_) @definition)
 (enum_declaration name: (_) @definition) (record_declaration name: (_) @definition)
 (method_declaration name: (_) @definition) (annotation_type_declaration name: (_) @definition)]
[(local_variable_declaration declarator: (variable_declarator name: (identifier) @bound))
 (formal_parameter name: (identifier) @bound) (enhanced_for_statement name: (identifier) @bound)]
[(identifier) (type_identifier)] @use
""",
        "c": _C,
        "cpp": f"""
{_C}
(function_declarator declarator: [(field_identifier) @definition (qualified_identifier name: (_) @definition)])
(class_specifier name: (_) @definition body: (_))
(alias_declaration name: (_) @definition)
(namespace_definition name: (namespace_identifier) @definition)
""",
        "ruby": """
[(method name: (_) @definition) (singleton_method name: (_) @definition) (class name: (constant) @definition)
 (module name: (constant) @definition)]
(program (assignment left: (constant) @definition))
(class (body_statement (assignment left: (constant) @definition)))
[(assignment left: (identifier) @bound) (method_parameters (identifier) @bound) (block_parameters (identifier) @bound)]
[(identifier) (constant)] @use
""",
    }
)


class TreeSitter:
    """Finds names by grammars; a file that is broken in places still gives what stands around them.

    Grammars run in a process of their own: on what is not of its language one can take minutes or crash, and there is
    no other way to stop it.
    """

    def __init__(self, seconds: float = 2.0) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return "tree-sitter 1"

    def __call__(self, language: str, source: bytes, /) -> Names | None:
        if language not in _GRAMMARS:
            return None
        self._process = self._process or _started()
        answer = _asked(self._process, language, source, self._seconds)
        if answer is None:
            self.close()
            return None
        return names(*answer)

    def close(self) -> None:
        """End the process of the grammars; the next call starts another."""
        if self._process is not None:
            self._process.kill()
            # Waits for the end, and closes the pipes.
            self._process.communicate()
            self._process = None


def _started() -> subprocess.Popen[bytes]:
    # Without -P a folder that is mapped could bring modules of its own.
    command = [sys.executable, "-P", "-m", "foveate.integrations.tree_sitter"]
    process = subprocess.Popen(  # noqa: S603  our own module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    # The time it takes to start is none of the first file's.
    if process.stdout is not None:
        process.stdout.readline()
    return process


def _asked(process: subprocess.Popen[bytes], language: str, source: bytes, seconds: float) -> _Found | None:
    """What the process finds in a source; nothing if it takes too long, which ends it."""
    if process.stdin is None or process.stdout is None:
        return None
    ending = threading.Timer(seconds, process.kill)
    ending.start()
    try:
        process.stdin.write(f"{language} {len(source)}\n".encode() + source)
        process.stdin.flush()
        answer = process.stdout.readline()
    except OSError:
        answer = b""
    finally:
        ending.cancel()
    return msgspec.json.decode(answer, type=_Found) if answer.endswith(b"\n") else None


def _serve() -> None:
    """Answer for one source after the other, until there are no more."""
    said, asked = sys.stdout.buffer, sys.stdin.buffer
    said.write(b"ready\n")
    said.flush()
    while line := asked.readline():
        language, size = line.split()
        said.write(msgspec.json.encode(_found(language.decode(), asked.read(int(size)))) + b"\n")
        said.flush()


def _found(language: str, source: bytes) -> _Found:
    parser, query = _prepared(language)
    found = QueryCursor(query).captures(parser.parse(source).root_node)
    definitions, uses, bound = (_texts(source, found.get(kind, ())) for kind in ("definition", "use", "bound"))
    return definitions, uses, bound


@cache
def _prepared(language: str) -> tuple[Parser, Query]:
    grammar = Language(_GRAMMARS[language]())
    return Parser(grammar), Query(grammar, _QUERIES[language])


def _texts(source: bytes, nodes: Iterable[Node]) -> list[str]:
    placed = sorted((node.start_byte, node.end_byte) for node in nodes)
    # C++ nests what a name belongs to in the name.
    texts = (source[start:end].decode("utf-8", "replace").rpartition("::")[2] for start, end in placed)
    return list(dict.fromkeys(texts))


if __name__ == "__main__":
    _serve()
