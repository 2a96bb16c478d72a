"""The public API is what `__all__` says, no more and no less."""

import types

import foveate


def test_all_is_sorted() -> None:
    """Constants, classes, functions: in the order ruff sorts `__all__`."""

    def kind(name: str) -> int:
        return 0 if name.isupper() else 1 if name[0].isupper() else 2

    assert foveate.__all__ == sorted(foveate.__all__, key=lambda name: (kind(name), name))


def test_all_is_what_is_visible() -> None:
    """Nothing leaks, nothing is missing."""
    visible = {
        name
        for name, value in vars(foveate).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }

    assert visible == set(foveate.__all__)


def test_everything_public_says_what_it_is() -> None:
    """Classes and functions have a docstring of their own."""
    undocumented = [
        name
        for name in foveate.__all__
        if isinstance(value := getattr(foveate, name), type | types.FunctionType) and not (value.__doc__ or "").strip()
    ]

    assert undocumented == []


def test_importing_loads_nothing_heavy() -> None:
    """`import foveate` feels instant."""
    import subprocess
    import sys

    code = "import sys, foveate; print([m for m in ('rich', 'typer', 'genai_prices', 'splintr', 'sqlite3', 'pydantic_ai') if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()

    assert set(eval(loaded)) <= {"sqlite3"}  # noqa: S307
