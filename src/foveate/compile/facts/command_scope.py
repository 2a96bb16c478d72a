"""Command scope: what a check is about, so that it can be told which later check covers it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from foveate.compile.facts.shell import Command, parse_command_line
from foveate.compile.facts.shell_words import join_path, unwrap_words
from foveate.compile.facts.word_set import word_set

CheckKind = Literal["test", "build", "lint", "format", "git", "run"]

_TESTING: Final = word_set("""
    pytest py.test unittest nosetests nose2 tox nox jest vitest mocha ava ctest rspec phpunit runtests.py
    gotestsum
    """)
_BUILDING: Final = word_set("""
    tsc gcc g++ cc c++ clang clang++ rustc javac swiftc cmake ninja mypy pyright basedpyright py_compile
    """)
_LINTING: Final = word_set("""
    eslint flake8 pylint golangci-lint staticcheck shellcheck stylelint biome markdownlint
    """)
_FORMATTING: Final = word_set("""
    gofmt goimports gofumpt black isort prettier rustfmt
    """)
_RUNNERS: Final = word_set("""
    make just npm pnpm yarn bun mise task rake gradle gradlew mvn invoke
    """)
_BY_SUBCOMMAND: Final[dict[str, CheckKind]] = {
    "test": "test",
    "t": "test",
    "nextest": "test",
    "bench": "test",
    "verify": "test",
    "check": "build",
    "build": "build",
    "compile": "build",
    "vet": "build",
    "assemble": "build",
    "clippy": "lint",
    "lint": "lint",
    "fmt": "format",
    "format": "format",
    "typecheck": "build",
    "type-check": "build",
    "package": "build",
}
_ECOSYSTEMS: Final[dict[str, str]] = {
    "go": "go",
    "golangci-lint": "go",
    "gofmt": "go",
    "gofumpt": "go",
    "goimports": "go",
    "staticcheck": "go",
    "gotestsum": "go",
    "cargo": "rust",
    "rustc": "rust",
    "rustfmt": "rust",
    "pytest": "python",
    "py.test": "python",
    "unittest": "python",
    "runtests.py": "python",
    "mypy": "python",
    "ruff": "python",
    "flake8": "python",
    "pylint": "python",
    "black": "python",
    "tox": "python",
    "nox": "python",
    "jest": "js",
    "vitest": "js",
    "mocha": "js",
    "tsc": "js",
    "eslint": "js",
    "prettier": "js",
    "biome": "js",
    "dotnet": "dotnet",
    "mvn": "java",
    "gradle": "java",
    "gradlew": "java",
    "javac": "java",
    "swift": "swift",
    "cmake": "c",
    "ctest": "c",
    "ninja": "c",
}
_PACKAGES: Final = word_set("""
    install i ci add
    """)
# Programs whose first argument says what they do, though they are a script, and those that are about an address.
_COMMAND_SCRIPTS: Final = word_set("""
    manage.py setup.py artisan console cli.py rails
    """)
_FETCHING: Final = word_set("""
    curl wget http https xh
    """)
# Options behind which a part of the tests is named.
_FILTERS: Final = word_set("""
    -k -m -run --run -t --testNamePattern --grep -g --filter -p --package -bench --test --lib --bin
    """)
_VALUED: Final = word_set("""
    -timeout --timeout -count -n -j --maxfail -c --config -o --tb -C -parallel --reporter --project -coverprofile
    """)
_EVERYTHING: Final = frozenset({"./...", ".", "...", "all", "./", "--all", "--workspace"})
_TEST_NAME: Final = re.compile(r"[\w./-]{0,300}::\S{1,300}")
_SOURCE_FILE: Final = re.compile(
    r"\.(?:py|pyi|js|jsx|ts|tsx|mjs|cjs|vue|go|rs|java|kt|rb|php|c|cc|cpp|h|hpp|cs|swift|scala|ex|exs|sh)\Z"
)
_TOOLS: Final = _TESTING | _BUILDING | _LINTING | _FORMATTING
_REPORTING: Final = word_set("""
    tail head grep rg tee sed awk cat sort wc cut less uniq jq echo printf
    """)
_INTERPRETERS: Final = ("python", "node", "ruby", "bash", "sh", "zsh", "php", "perl", "deno")
_INLINE: Final = frozenset({"-c", "-e", "-lc", "-ne", "-pe", "--eval", "-"})
_ASKING_FOR_HELP: Final = frozenset({"--help", "-h", "help", "--version", "version"})
_GIT_STEPS: Final = word_set("""
    rebase merge cherry-pick pull stash am revert commit checkout switch apply
    """)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckScope:
    """One program of a command line: its kind, what it belongs to, and which paths and tests it is about.

    Without targets it is about all that there is.
    """

    kind: CheckKind
    program: str
    ecosystem: str = ""
    targets: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()

    def covers(self, other: CheckScope) -> bool:
        """Whether a run of this says of everything in another one how it is now."""
        if self == other:
            return True
        if not self._is_of(other) or (self.filters and set(self.filters) != set(other.filters)):
            return False
        if not self.targets:
            return True
        if not other.targets:
            return False
        return all(any(holds(one, target) for one in self.targets) for target in other.targets)

    def _is_of(self, other: CheckScope) -> bool:
        if self.program == other.program and self.kind == other.kind:
            return True
        related = self.ecosystem == other.ecosystem or "" in (self.ecosystem, other.ecosystem)
        if self.kind in ("run", "git") or other.kind in ("run", "git"):
            return False
        # Tests do not even begin where the build fails, and a formatter that passes has nothing to say of a build.
        return related and (
            self.kind == other.kind or (self.kind == "test" and other.kind == "build" and bool(self.ecosystem))
        )


def check_scopes(command: str, folder: str = "") -> tuple[CheckScope, ...]:
    """The checks that a command line runs, the reporting of their output left out."""
    commands = parse_command_line(command)
    if commands is None:
        return (CheckScope(kind="run", program=" ".join(command.split())[:200]),)
    return tuple(dict.fromkeys(_scopes(commands, folder)))


def _scopes(commands: Sequence[Command], folder: str) -> Iterator[CheckScope]:
    for command in commands:
        texts = tuple(word.text for word in unwrap_words(command.words))
        if texts[:1] == ("(",):
            yield from _scopes(command.nested, folder)
        elif texts[:1] == ("cd",) and len(texts) > 1:
            folder = join_path(folder, texts[1])
        elif texts and texts[0] not in _REPORTING and not _ASKING_FOR_HELP.intersection(texts[1:]):
            yield check_scope(texts, folder)


def check_scope(texts: tuple[str, ...], folder: str = "") -> CheckScope:
    """What one program of a command line checks."""
    name = texts[0].rpartition("/")[2]
    if name.startswith("python") and "-m" in texts[1:-1]:
        texts = texts[texts.index("-m") + 1 :]
        name = texts[0]
    ecosystem = _ECOSYSTEMS.get(name, "")
    if name == "git":
        step = next((one for one in texts[1:] if not one.startswith("-")), "")
        return CheckScope(kind="git", program="git step" if step in _GIT_STEPS else f"git {step}")
    if name in _RUNNERS or name in ("go", "cargo", "dotnet", "uv", "swift"):
        return _of_subcommand(name, texts, ecosystem, folder)
    if name == "ruff":
        return CheckScope(
            kind="format" if "format" in texts[1:2] else "lint",
            program=name,
            ecosystem=ecosystem,
            targets=_targets(texts[2:], folder),
        )
    for kind, names in (("test", _TESTING), ("build", _BUILDING), ("lint", _LINTING), ("format", _FORMATTING)):
        if name in names:
            # unittest looks for all tests by a word that is none of them.
            given = () if "discover" in texts[1:2] else texts[1:]
            targets, filters = _targets(given, folder), _filters(given)
            return CheckScope(kind=_kind(kind), program=name, ecosystem=ecosystem, targets=targets, filters=filters)
    return CheckScope(kind="run", program=_run_name(name, texts, folder))


def _run_name(name: str, texts: tuple[str, ...], folder: str) -> str:
    """What a program is known by from one run to the next: a script by its path, any other by its subcommand."""
    plain = [one for one in texts[1:] if not one.startswith("-") and "\n" not in one]
    if name.startswith(_INTERPRETERS) and plain and not _INLINE.intersection(texts[1:]):
        script = join_path(folder, plain[0])
        return " ".join([script, *plain[1:2]]) if script.rpartition("/")[2] in _COMMAND_SCRIPTS else script
    if name in _FETCHING:
        address = next((one.partition("?")[0] for one in plain if "://" in one or one.startswith("localhost")), "")
        return f"{name} {address}".strip()
    return " ".join([name, *(one for one in plain[:2] if "/" not in one and " " not in one)])


def _kind(kind: str) -> CheckKind:
    match kind:
        case "test" | "build" | "lint" | "format":
            return kind
        case _:
            return "run"


def _of_subcommand(name: str, texts: tuple[str, ...], ecosystem: str, folder: str) -> CheckScope:
    plain = [one for one in texts[1:] if not one.startswith("-")]
    if plain[:1] in (["run"], ["r"], ["run-script"]) and name not in ("go", "cargo"):
        plain = plain[1:]
    task = plain[0] if plain else "build" if name in ("make", "gradle", "gradlew") else ""
    if name in _RUNNERS and task in _TOOLS:
        # `yarn jest`: a tool of the project, called by way of what installed it.
        return check_scope(texts[texts.index(task) :], folder)
    if name in ("npm", "pnpm", "yarn", "bun") and (task in _PACKAGES or not task):
        return CheckScope(kind="run", program=f"{name} install")
    if task.startswith(":") and name.startswith("gradle"):
        # `:core:test` is a task of one module.
        module, _, task = task.rpartition(":")
        return CheckScope(
            kind=_BY_SUBCOMMAND.get(task, "run"), program=f"{name} {task}", ecosystem=ecosystem, targets=(module,)
        )
    kind = _BY_SUBCOMMAND.get(re.split(r"[:_-]", task)[0], "run")
    if name in _RUNNERS:
        # What a task is about is written elsewhere; its name says of what kind it is.
        rest = task.partition(":")[2]
        return CheckScope(
            kind=kind,
            program=f"{name} {task}".strip(),
            ecosystem=ecosystem,
            targets=(f"task:{rest}",) if rest and rest != "ci" else (),
        )
    rest_texts = texts[texts.index(task) + 1 :] if task in texts else ()
    if kind == "run":
        return CheckScope(kind="run", program=_run_name(name, texts, folder), ecosystem=ecosystem)
    targets = _targets(rest_texts, folder)
    if name == "go" and not targets and not any(one in _EVERYTHING for one in rest_texts):
        # Without a package it is the one of the folder.
        targets = (folder or ".",)
    return CheckScope(
        kind=kind, program=f"{name} {task}", ecosystem=ecosystem, targets=targets, filters=_filters(rest_texts)
    )


def _targets(texts: Sequence[str], folder: str) -> tuple[str, ...]:
    found: list[str] = []
    skipping = False
    for text in texts:
        if skipping:
            skipping = False
        elif text in _VALUED or text in _FILTERS:
            skipping = True
        elif text in _EVERYTHING:
            return (folder,) if text in (".", "./") and folder else ()
        elif not text.startswith("-") and "=" not in text and not text.startswith(("2>", ">")):
            found.append(join_path(folder, text))
    return tuple(sorted(found))


def _filters(texts: Sequence[str]) -> tuple[str, ...]:
    """The parts of tests that were chosen by name."""
    found: list[str] = []
    for index, text in enumerate(texts):
        name, given, value = text.partition("=")
        if name in _FILTERS:
            found.append(f"{name} {value if given else texts[index + 1] if index + 1 < len(texts) else ''}")
    return tuple(sorted(found))


def holds(wide: str, narrow: str) -> bool:
    """Whether a path or a test is in another one."""
    if wide == narrow:
        return True
    if wide.endswith("/..."):
        wide = wide.removesuffix("/...")
        return narrow.removesuffix("/...") == wide or narrow.startswith(wide + "/")
    if _TEST_NAME.fullmatch(narrow) and narrow.startswith(wide + "::"):
        return True
    return narrow.startswith((wide.rstrip("/") + "/", wide + ".")) and _SOURCE_FILE.search(wide) is None
