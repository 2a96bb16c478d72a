"""Test reports and tracebacks, computed from the files so that names, lines and counts agree."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from foveate.sample.calls import Call, bash
from foveate.sample.workspace import Workspace

WIDTH = 80
ROOT = "/srv/harbor"
_TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)
_SLEEP = re.compile(r"time\.sleep\(([\d.]+)\)")
_RUNPY = (
    '  File "<frozen runpy>", line 198, in _run_module_as_main',
    '  File "<frozen runpy>", line 88, in _run_code',
)
_DEF = re.compile(r"^ *(?:def|class) (\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failing test: the lines it went through (path and a piece of the line) and its error."""

    test: str
    frames: tuple[tuple[str, str], ...]
    error: tuple[str, ...]
    in_setup: bool = False

    @property
    def kind(self) -> str:
        name = self.error[0].partition(":")[0].rpartition(".")[2]
        return "AssertionError" if name.startswith("assert ") else name

    @property
    def word(self) -> str:
        return "ERROR" if self.in_setup else "FAILED"


def pytest(args: str, *failures: Failure) -> Call:
    """`python -m pytest <args>` with these failures; every other selected test passes."""

    def run(ws: Workspace) -> str:
        selected = _selected(ws, args)
        words = {failure.test: failure.word for failure in failures}
        lines = _progress(selected, words, args)
        for title, word in (("ERRORS", "ERROR"), ("FAILURES", "FAILED")):
            if some := [failure for failure in failures if failure.word == word]:
                lines += [_rule(title), *_failures(ws, some)]
        if failures:
            lines += [_rule("short test summary info"), *_summary(selected, failures)]
        seconds = 0.11 + 0.02 * sum(map(len, selected.values())) + ws.rng.random() * 0.3
        # A suite that sleeps must not look fast.
        seconds += sum(float(nap) for path in selected for nap in _SLEEP.findall(ws.files[path]))
        lines.append(_verdict(selected, words, seconds, quiet="-q" in args.split()))
        return "\n".join(lines)

    return bash(f"python -m pytest {args}".rstrip(), run, code=1 if failures else 0)


def repeated(node: str, runs: int, failing: int) -> Call:
    """One test run again and again, `failing` of the `runs` not passing."""

    def run(ws: Workspace) -> str:
        bad = set(ws.rng.sample(range(runs), failing))
        rows = []
        for number in range(runs):
            seconds = 0.05 + ws.rng.random() * 0.04 + (1.2 if failing else 0.0)
            verdict = "1 failed" if number in bad else "1 passed"
            rows.append(f"{verdict} in {seconds:.2f}s")
        return "\n".join(rows)

    command = f"for i in $(seq {runs}); do python -m pytest -q {node} | tail -1; done"
    return bash(command, run)


def traceback(ws: Workspace, frames: tuple[tuple[str, str], ...], error: str, *, as_module: bool = False) -> str:
    """A traceback as the interpreter prints it, through lines found by a piece of their text."""
    rows = ["Traceback (most recent call last):", *(_RUNPY if as_module else ())]
    for path, needle in frames:
        number = ws.line_of(path, needle)
        line = ws.files[path].splitlines()[number - 1].strip()
        name = _enclosing(ws, path, number)[1]
        rows += [f'  File "{ROOT}/{path}", line {number}, in {name}', f"    {line}"]
    return "\n".join([*rows, error])


def _selected(ws: Workspace, args: str) -> dict[str, list[str]]:
    wanted = [arg for arg in args.split() if not arg.startswith("-")] or ["tests"]
    selected: dict[str, list[str]] = {}
    for target in wanted:
        path, _, name = target.partition("::")
        for known in sorted(ws.files):
            if known == path or (known.startswith(path + "/") and "/test_" in known):
                tests = [test for test in _TEST.findall(ws.files[known]) if name in {"", test}]
                selected[known] = [*selected.get(known, []), *tests]
    return selected


def _progress(selected: dict[str, list[str]], words: dict[str, str], args: str) -> list[str]:
    flags = args.split()
    total = sum(map(len, selected.values()))
    if "-q" in flags:
        tests = [test for names in selected.values() for test in names]
        return [_dots("", tests, words, total, total)]
    lines = [
        _rule("test session starts"),
        "platform linux -- Python 3.12.8, pytest-8.3.4, pluggy-1.5.0",
        f"rootdir: {ROOT}\nconfigfile: pyproject.toml\ncollected {total} items\n",
    ]
    done = 0
    for path, tests in selected.items():
        if "-v" in flags:
            for test in tests:
                done += 1
                word = words.get(test, "PASSED")
                lines.append(_percent(f"{path}::{test} {word}", done, total))
        else:
            done += len(tests)
            lines.append(_dots(f"{path} ", tests, words, done, total))
    return [*lines, ""]


def _dots(head: str, tests: list[str], words: dict[str, str], done: int, total: int) -> str:
    return _percent(head + "".join(words.get(test, ".")[0] for test in tests), done, total)


def _percent(text: str, done: int, total: int) -> str:
    share = f"[{100 * done // max(total, 1):>3}%]"
    return f"{text:<{WIDTH - len(share) - 1}} {share}"


def _failures(ws: Workspace, failures: list[Failure]) -> list[str]:
    lines: list[str] = []
    for failure in failures:
        title = f"ERROR at setup of {failure.test}" if failure.in_setup else failure.test
        lines.append(f" {title} ".center(WIDTH, "_"))
        for position, (path, needle) in enumerate(failure.frames):
            last = position == len(failure.frames) - 1
            number = ws.line_of(path, needle)
            source = _source(ws, path, number)
            lines += ["", *source]
            if last:
                indent = len(source[-1]) - len(source[-1].lstrip("> "))
                lines += [f"{'E':<{indent}}{line}".rstrip() for line in failure.error]
                lines += ["", f"{path}:{number}: {failure.kind}"]
            else:
                lines += ["", f"{path}:{number}: ", "_ " * (WIDTH // 2)]
    return lines


def _source(ws: Workspace, path: str, number: int) -> list[str]:
    start, _ = _enclosing(ws, path, number)
    lines = ws.files[path].splitlines()
    while start > 1 and lines[start - 2].lstrip().startswith("@"):
        start -= 1
    shown = textwrap.dedent("\n".join(lines[start - 1 : number])).split("\n")
    return [f"    {line}".rstrip() for line in shown[:-1]] + [f">   {shown[-1]}"]


def _enclosing(ws: Workspace, path: str, number: int) -> tuple[int, str]:
    lines = ws.files[path].splitlines()
    depth = _indent(lines[number - 1])
    for candidate in range(number - 1, 0, -1):
        line = lines[candidate - 1]
        # A lone bracket closes a signature; the line that opened it is further up.
        if not line or line.lstrip().startswith(")") or _indent(line) >= depth:
            continue
        if match := _DEF.match(line):
            return candidate, match[1]
        depth = _indent(line)
    return max(1, number - 1), "<module>"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _summary(selected: dict[str, list[str]], failures: tuple[Failure, ...]) -> list[str]:
    home = {test: path for path, tests in selected.items() for test in tests}
    return [f"{failure.word} {home[failure.test]}::{failure.test} - {failure.error[0]}" for failure in failures]


def _verdict(selected: dict[str, list[str]], words: dict[str, str], seconds: float, *, quiet: bool) -> str:
    failed = list(words.values()).count("FAILED")
    errors = len(words) - failed
    passed = sum(map(len, selected.values())) - len(words)
    counts = (
        (failed, "failed"),
        (passed, "passed"),
        (errors, "error" if errors == 1 else "errors"),
    )
    text = ", ".join(f"{count} {name}" for count, name in counts if count)
    text = f"{text} in {seconds:.2f}s"
    return text if quiet else _rule(text)


def _rule(text: str) -> str:
    return f" {text} ".center(WIDTH, "=")
