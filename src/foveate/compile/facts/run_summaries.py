"""Run summaries: what test runners, compilers and linters say of a run, and the lines that say what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from foveate.compile.facts.word_set import has_any

# A failing run may print more than anybody reads; what counts is at its end, and first errors at its beginning.
_HEAD_LINES: Final = 400
_TAIL_LINES: Final = 600
_MAX_LINE: Final = 2_000
_MAX_NAMES: Final = 50


@dataclass(frozen=True, slots=True)
class Summary:
    """What one tool says of its run; `is_build` if it is the message of a compiler or a build."""

    tool: str
    failed: bool
    text: str


_PYTEST: Final = re.compile(
    r"(?:=+ )?"
    r"((?:\d+ (?:failed|passed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun)(?:, )?)+|no tests ran)"
    r" in [\d.:]+ ?s.*"
)
_COUNT: Final = re.compile(r"(\d{1,9}) (failed|passed|errors?|failing|passing|failures?)\b")
_RAN: Final = re.compile(r"Ran (\d{1,9}) tests? in ")
_UNITTEST_END: Final = re.compile(r"(OK|FAILED)(?: \(([^)]{0,200})\))?")
_JEST: Final = re.compile(r"\s*(Tests|Test Suites|Test Files):?\s+(.{1,200})")
_GO_PACKAGE: Final = re.compile(r"(ok|FAIL)\s+([\w./@-]{1,300})\s*(.*)")
_CARGO: Final = re.compile(r"test result: (ok|FAILED)\. (.{1,200})")
_CARGO_END: Final = re.compile(r"error: (?:could not compile|aborting due to|test failed).{0,200}")
_MOCHA: Final = re.compile(r"\s{1,8}(\d{1,9}) (passing|failing)\b.*")
_MAVEN: Final = re.compile(r"(?:\[(?:INFO|ERROR)\] )?BUILD (SUCCESS|SUCCESSFUL|FAILURE|FAILED)\b.*")
_MAKE: Final = re.compile(r"g?make(?:\[\d{1,4}\])?: \*\*\* (.{1,200})")
_FOUND_ERRORS: Final = re.compile(r"Found (\d{1,9}) errors?\b.{0,160}")
_ESLINT: Final = re.compile(r"✖ (\d{1,9}) problems? \((\d{1,9}) errors?.{0,80}")
_ISSUES: Final = re.compile(r"(\d{1,9}) issues[.:]?.{0,80}")
_CLEAN: Final = re.compile(
    r"All checks passed!|Success: no issues found.{0,80}|All matched files use Prettier code style!|"
    r"no issues found.{0,40}",
    re.IGNORECASE,
)
_UNFORMATTED: Final = re.compile(
    r".{0,200}(?:would be reformatted|need to be formatted|needs? formatting|Code style issues|not formatted|is not "
    r"(?:gofmt|gofumpt|goimports)-ed|Would reformat).{0,120}",
    re.IGNORECASE,
)
_TASK_FAILED: Final = re.compile(
    r"(?:\[[\w:-]{1,60}\] )?ERROR (?:task failed|.{0,80} failed)|npm (?:ERR!|error) .{0,160}|.{0,20}ELIFECYCLE.{0,120}|"
    r"error Command failed with exit code.{0,60}|FAILED: .{1,160}|ninja: build stopped.{0,80}|FAIL\b.{0,80}"
)
_TAP: Final = re.compile(r"(?:#|ℹ) (pass|fail) (\d{1,9})\s*")
_GO_TEST_FAILED: Final = re.compile(r"\s{0,40}--- FAIL: (\S{1,300})")
_NO_TESTS: Final = re.compile(r"no test files|\[no tests to run\]")

_FAILED_NAMES: Final[tuple[re.Pattern[str], ...]] = (
    re.compile(r"(?:FAILED|ERROR) ([\w./-]{1,300}(?:::[^\s]{1,200})?)(?: - .*)?"),
    _GO_TEST_FAILED,
    re.compile(r"(?:FAIL|ERROR): (\w{1,200} \([\w.]{1,300}\))"),
    re.compile(r"test (\S{1,300}) \.\.\. FAILED"),
    re.compile(r"\s{0,8}(?:FAIL|×|✕|✗) {1,4}(\S.{0,240}?)(?: \(?\d{1,7} ?ms\)?)?"),
    re.compile(r"\s{0,6}● (\S.{0,240})"),
)

_EXCEPTION: Final = re.compile(r"(?P<line>[\w.]{0,120}(?:Error|Exception|Interrupt|Exit|Warning)(?:: .+)?)")

# What says what is wrong, the most telling first.
_TELLING: Final[tuple[re.Pattern[str], ...]] = (
    re.compile(r"(?:FAILED|ERROR) \S+ - (?P<line>.+)"),
    re.compile(r"E {3,}(?P<line>(?:[\w.]*(?:Error|Exception|Exit|Warning)\b|assert\b|Failed:).*)"),
    re.compile(r"(?P<line>\S{1,300}\(\d{1,9},\d{1,9}\): error TS\d{1,6}: .+)"),
    re.compile(r"(?P<line>\S{1,300}:\d{1,9}(?::\d{1,9})?:? - error TS\d{1,6}: .+)"),
    re.compile(
        r"(?P<line>(?:\./|/)?[\w./@+-]{1,300}\.\w{1,8}:\d{1,9}(?::\d{1,9})?: (?:fatal )?error:? .+)", re.IGNORECASE
    ),
    re.compile(r"(?P<line>(?:\./|/|vet: )?[\w./@+-]{1,300}\.go:\d{1,9}:\d{1,9}: .+)"),
    re.compile(r"(?P<line>(?:\./|/)?[\w./@+-]{1,300}\.pyi?:\d{1,9}:\d{1,9}: [A-Z]{1,4}\d{2,4} .+)"),
    re.compile(
        r"(?P<line>error(?:\[\w{1,10}\])?: (?!could not compile|aborting due|test failed|Recipe|process didn't).+)"
    ),
    re.compile(r"panic: (?P<line>.+)"),
    re.compile(r"(?P<line>CMake Error.*|E: .+)"),
    re.compile(r"\s{2,40}(?P<line>[\w./-]{1,200}_test\.go:\d{1,9}: .+)"),
    _EXCEPTION,
    re.compile(r"\s{1,40}\d{1,9}:\d{1,9}\s{1,40}error\s{1,40}(?P<line>.+)"),
    re.compile(r"(?P<line>(?:fatal|Error|ERROR|error|FATAL|Fatal error|Uncaught \w+)\s?: .+)"),
    re.compile(
        r"(?P<line>.{0,200}(?:No such file or directory|[Pp]ermission denied|command not found|CONFLICT \().{0,160})"
    ),
    re.compile(
        r"(?P<line>.{0,160}(?:would be reformatted|need to be formatted|is not (?:gofmt|gofumpt|goimports)-ed)"
        r".{0,120})",
        re.IGNORECASE,
    ),
    re.compile(r"g?make(?:\[\d{1,4}\])?: (?P<line>\*\*\* .+)"),
    re.compile(r"(?P<line>(?:FAIL|\s{0,40}--- FAIL:|!) .+)"),
)
# Words without which no line says anything of the kind; looked for first, because that is fast.
_WORDS: Final = re.compile(
    r"rror|xception|Exit|FAIL|ail|panic|atal|assert|No such|denied|not found|CONFLICT|format|fmt|"
    r"\*\*\*|Interrupt|:\d+:\d+: "
)


def summaries_in(text: str) -> tuple[Summary, ...]:
    """What tools say of their runs in an output, in order."""
    lines = _looked_at(text)
    possible = [one for one in _SUMMARIES.items() if has_any(text, one[0])]
    found = [summary for line in lines if (summary := _summary_of(line, possible)) is not None] if possible else []
    found += _go_summaries(lines) if has_any(text, ("ok", "FAIL")) else ()
    found += _unittest_summary(lines) if "Ran " in text else ()
    return tuple(found)


def failed_tests_in(text: str) -> tuple[str, ...]:
    """The names of the tests that failed, as their runner writes them."""
    found: dict[str, None] = {}
    for line in _looked_at(text):
        if "FAIL" not in line and "ERROR" not in line and not any(one in line for one in "×✕✗●"):
            continue
        for pattern in _FAILED_NAMES:
            name = pattern.fullmatch(line) or (pattern.match(line) if pattern is _GO_TEST_FAILED else None)
            if name is not None:
                found[name.group(1).strip()] = None
                break
        if len(found) >= _MAX_NAMES:
            break
    return tuple(found)


def telling_lines(text: str, *, most: int = 3) -> tuple[str, ...]:
    """The lines that say best what went wrong, the most telling kind of line first."""
    lines = [line for line in _looked_at(text) if _WORDS.search(line) and "Traceback (most recent" not in line]
    for pattern in _TELLING:
        hits = (pattern.fullmatch(line) for line in lines)
        found = dict.fromkeys(" ".join(hit.group("line").split()) for hit in hits if hit is not None)
        if found:
            # A script says why last, a compiler says first what everything else follows from.
            chosen = list(found)
            return tuple(chosen[-1:] if pattern is _EXCEPTION else chosen[:most])
    return ()


def _looked_at(text: str) -> list[str]:
    lines = [line[:_MAX_LINE].rstrip() for line in text.split("\n")]
    if len(lines) > _HEAD_LINES + _TAIL_LINES:
        lines = lines[:_HEAD_LINES] + lines[-_TAIL_LINES:]
    return lines


def _summary_of(line: str, possible: Iterable[tuple[_Words, _Parser]]) -> Summary | None:
    for words, parsed in possible:
        if has_any(line, words):
            summary = parsed(line)
            if summary is not None:
                return summary
    return None


def _pytest(line: str) -> Summary | None:
    found = _PYTEST.match(line.strip("= "))
    if found is None:
        return None
    counts = {kind: int(count) for count, kind in _COUNT.findall(found.group(1))}
    failed = bool(counts.get("failed") or counts.get("error") or counts.get("errors"))
    return Summary("pytest", failed or found.group(1).startswith("no tests"), found.group(1).strip(", "))


def _counted(line: str) -> Summary | None:
    """Jest, Vitest: a line of counts."""
    found = _JEST.fullmatch(line)
    if found is None or found.group(1) != "Tests":
        return None
    return Summary("tests", " failed" in found.group(2), found.group(2).strip())


def _mocha(line: str) -> Summary | None:
    found = _MOCHA.fullmatch(line)
    return Summary("mocha", found.group(2) == "failing", f"{found.group(1)} {found.group(2)}") if found else None


def _tap(line: str) -> Summary | None:
    found = _TAP.fullmatch(line)
    if found is None:
        return None
    return Summary(
        "tests", found.group(1) == "fail" and found.group(2).strip("0") != "", f"{found.group(2)} {found.group(1)}ed"
    )


def _cargo(line: str) -> Summary | None:
    found = _CARGO.match(line)
    if found is not None:
        return Summary(
            "cargo test",
            found.group(1) == "FAILED",
            found.group(2).partition("; ")[0] if found.group(1) == "ok" else "; ".join(found.group(2).split("; ")[:2]),
        )
    return Summary("cargo", failed=True, text=line.strip()) if _CARGO_END.match(line) else None


def _maven(line: str) -> Summary | None:
    found = _MAVEN.fullmatch(line)
    return Summary("build", found.group(1).startswith("FAIL"), f"BUILD {found.group(1)}") if found else None


def _make(line: str) -> Summary | None:
    found = _MAKE.fullmatch(line)
    return Summary("make", failed=True, text=found.group(1)) if found else None


def _linter(line: str) -> Summary | None:
    stripped = line.strip()
    found = _ESLINT.match(stripped)
    if found is not None:
        return Summary("eslint", int(found.group(2)) > 0, stripped)
    found = _FOUND_ERRORS.match(stripped)
    if found is not None:
        return Summary("check", int(found.group(1)) > 0, stripped)
    found = _ISSUES.match(stripped)
    if found is not None:
        return Summary("lint", int(found.group(1)) > 0, stripped)
    if _UNFORMATTED.match(stripped) is not None:
        return Summary("format", failed=True, text=stripped)
    return Summary("check", failed=False, text=stripped) if _CLEAN.match(stripped) is not None else None


def _task(line: str) -> Summary | None:
    return Summary("task", failed=True, text=line.strip()[:200]) if _TASK_FAILED.match(line.strip()) else None


_Words = tuple[str, ...]
_Parser = Callable[[str], Summary | None]
_SUMMARIES: Final[Mapping[_Words, _Parser]] = {
    (" in ",): _pytest,
    ("Tests",): _counted,
    (" passing", " failing"): _mocha,
    ("# pass ", "# fail ", "ℹ pass ", "ℹ fail "): _tap,
    ("test result: ", "error: "): _cargo,
    ("BUILD ",): _maven,
    ("make",): _make,
    ("✖", "Found ", "issues", "checks passed", "format", "Code style", "Prettier", "ed (", "-ed"): _linter,
    ("ERROR", "npm ", "ELIFECYCLE", "FAILED: ", "ninja: ", "error Command"): _task,
}


def _go_summaries(lines: Sequence[str]) -> Iterator[Summary]:
    passed, failed = 0, list[str]()
    for line in lines:
        if not line.startswith(("ok", "FAIL", "---", "panic:", " ")):
            continue
        found = _GO_PACKAGE.fullmatch(line)
        if found is not None and found.group(1) == "FAIL":
            failed.append(f"{found.group(2)} {found.group(3)}".strip())
        elif found is not None and "/" in found.group(2):
            passed += _NO_TESTS.search(line) is None
        elif line == "FAIL" or _GO_TEST_FAILED.match(line) is not None:
            failed.append("")
    named = list(dict.fromkeys(one.partition(" ")[0] for one in failed if one))
    if failed:
        text = f"FAIL {', '.join(named[:3])}" if named else "FAIL"
        yield Summary("go test", failed=True, text=text + (f" and {len(named) - 3} more" if len(named) > 3 else ""))
    elif passed:
        yield Summary("go test", failed=False, text=f"{passed} package{'s' * (passed != 1)} ok")


def _unittest_summary(lines: Sequence[str]) -> Iterator[Summary]:
    ran = ""
    for line in lines:
        if line.startswith("Ran "):
            found = _RAN.match(line)
            ran = found.group(1) if found is not None else ran
        elif ran and line.startswith(("OK", "FAILED")):
            end = _UNITTEST_END.fullmatch(line)
            if end is not None:
                failed = end.group(1) == "FAILED"
                detail = f", {end.group(2)}" if end.group(2) else ""
                yield Summary("unittest", failed, f"{ran} tests{detail}")
                ran = ""
