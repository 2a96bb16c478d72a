"""Shape: small files, small functions, imports on top."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "foveate"
# A migration is a list of statements that nobody changes any more.
FILES = sorted(path for path in SOURCE.rglob("*.py") if not {"__pycache__", "versions"} & set(path.parts))
MOST_LINES = 420
MOST_FUNCTION_LINES = 60


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring, which may be as long as it must."""
    docstring = function.body[0] if ast.get_docstring(function) is not None else None
    length = (function.end_lineno or 0) - function.lineno + 1
    return length - ((docstring.end_lineno or 0) - docstring.lineno + 1 if docstring is not None else 0)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_is_small_and_its_functions_too(path: Path) -> None:
    """One idea per file, one screen per function, and a first sentence that says which."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)

    assert len(text.splitlines()) < MOST_LINES
    assert [one.name for one in functions(tree) if body_lines(one) >= MOST_FUNCTION_LINES] == []
    assert ast.get_docstring(tree), "a file begins with what it is about"


def test_the_whole_compile_is_on_one_screen() -> None:
    """`compile/run.py` stays readable at a glance."""
    assert len((SOURCE / "compile" / "run.py").read_text(encoding="utf-8").splitlines()) <= 110


def test_imports_of_our_own_stand_on_top_unless_a_comment_says_why() -> None:
    """A lazy import is a decision, and its line or one just above gives the reason."""
    bare = []
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        source = text.splitlines()
        for function in functions(ast.parse(text)):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("foveate"):
                    around = source[max(0, node.lineno - 5) : node.lineno]
                    if not any("#" in line for line in around):
                        bare.append(f"{path.relative_to(SOURCE)}:{node.lineno}")

    assert bare == []
