"""Programs: which of them only read, and which write nothing but what is generated.

A program that is in no table may have written anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Final

from foveate.compile.facts.word_set import word_set

# Paths whose kind is remembered: every run of a program asks it of every known file.
_REMEMBERED: Final = 4_096


class Reach(Enum):
    """What a program may have written."""

    NOTHING = 0
    GENERATED = 1
    ANYTHING = 2


_READING: Final = word_set(
    """
    : [ [[ alias awk base64 basename bat break bunzip2 cat clear cmp column comm command continue cut date declare df
    diff dig dir dirname du echo egrep env exit expand expr export exa eza false fc fd fg fgrep file find fmt fold for
    free getent ggrep grep head help hexdump history host hostname id jobs join jq kill less let ln local ls lsof man
    md5sum more netstat nl nm nproc nslookup objdump od paste pgrep ping pkill popd printenv printf ps pushd pwd read
    readelf readlink readonly realpath return rev rg seq set sha1sum sha256sum shasum shift shopt sleep sort ss stat
    strings tac tail test top tput tr trap tree true tsort type ulimit umask uname unalias uniq unset uptime wait wc
    whereis which who whoami xxd yes yq zcat zgrep cd mkdir chmod open_url say pbcopy
    """
)
_GENERATING: Final = word_set(
    """
    pytest py.test unittest nosetests nose2 tox nox mypy pyright basedpyright flake8 pylint bandit vulture pycodestyle
    pydocstyle shellcheck hadolint staticcheck golint revive govulncheck jest vitest mocha ava ctest rspec phpunit
    phpstan runtests.py py_compile compileall coverage gotestsum nextest pip pip3 venv ensurepip apt apt-get brew dpkg
    rspec json.tool ccache gcc g++ cc c++ clang clang++ rustc javac swiftc tsc markdownlint yamllint actionlint
    """
)
# Programs with options that make them write sources.
_FIXING: Final[Mapping[str, tuple[str, ...]]] = {
    "golangci-lint": ("--fix", "fmt"),
    "eslint": ("--fix",),
    "stylelint": ("--fix",),
    "biome": ("--write", "--apply", "--fix", "format", "migrate"),
    "prettier": ("--write", "-w"),
    "pylint": (),
    "gofmt": ("-w",),
    "goimports": ("-w",),
    "gofumpt": ("-w",),
    "rustfmt": (),
    "jest": ("-u", "--updateSnapshot", "--ci=false"),
    "vitest": ("-u", "--update"),
    "pytest": ("--snapshot-update", "--inline-snapshot", "--force-regen"),
    "sort": ("-o", "--output"),
    "yq": ("-i", "--inplace"),
    "ln": ("-f", "-sf", "-fs"),
}
_CHECKING: Final[Mapping[str, tuple[str, ...]]] = {
    "black": ("--check", "--diff"),
    "isort": ("--check", "--check-only", "-c", "--diff"),
    "rustfmt": ("--check",),
    "tsc": ("--noEmit",),
    "clang-format": ("--dry-run", "-n"),
    "autopep8": ("--diff",),
}
_FORMATTERS: Final = frozenset(
    {*_CHECKING, "gofmt", "goimports", "gofumpt", "prettier", "ruff", "yapf", "dos2unix"}
) - {"tsc"}
_SUBCOMMANDS: Final[Mapping[str, tuple[frozenset[str], frozenset[str]]]] = {
    # The subcommands that write nothing, and those that write what is generated.
    "go": (
        frozenset({"list", "doc", "version", "env", "vet", "help", "tool"}),
        frozenset({"test", "build", "clean", "install"}),
    ),
    "cargo": (
        frozenset({"tree", "metadata", "search", "version", "--version"}),
        word_set("""
    build check test bench doc clean nextest clippy
    """),
    ),
    "npm": (
        word_set("""
    ls list view why outdated config root --version
    """),
        frozenset({"test", "t"}),
    ),
    "pnpm": (
        frozenset({"ls", "list", "view", "why", "outdated", "--version"}),
        frozenset({"test", "t", "typecheck", "type-check", "check-types"}),
    ),
    "yarn": (frozenset({"list", "why", "info", "--version"}), frozenset({"test", "typecheck", "type-check"})),
    "bun": (frozenset({"--version"}), frozenset({"test"})),
    "dotnet": (frozenset({"--info", "--version"}), frozenset({"test", "build"})),
    "mvn": (frozenset({"--version", "dependency:tree"}), frozenset({"test", "verify", "compile"})),
    "gradle": (frozenset({"tasks", "dependencies"}), frozenset({"test", "check", "assemble"})),
    "gradlew": (frozenset({"tasks", "dependencies"}), frozenset({"test", "check", "assemble"})),
    "make": (frozenset({"-n"}), frozenset({"test", "tests", "check"})),
    "just": (frozenset({"--list", "-l"}), frozenset({"test", "tests", "check"})),
    "docker": (
        word_set("""
    ps logs images inspect info version stats
    """),
        frozenset({"pull", "stop", "rm"}),
    ),
    "kubectl": (frozenset({"get", "describe", "logs", "version", "top"}), frozenset()),
    "gh": (
        word_set("""
    api auth issue release run search workflow status label variable
    """),
        frozenset(),
    ),
    "ruff": (frozenset({"rule", "--version", "version"}), frozenset()),
    "uv": (frozenset({"tree", "--version"}), frozenset({"pip"})),
    "mise": (
        word_set("""
    ls current which tasks doctor env --version
    """),
        frozenset(),
    ),
    "swift": (frozenset({"--version"}), frozenset({"test", "build"})),
}
_GIT_READING: Final = word_set(
    """
    status log diff show blame ls-files ls-tree rev-parse rev-list branch tag remote describe config cat-file merge-base
    for-each-ref show-ref reflog shortlog grep add push fetch ls-remote notes symbolic-ref check-ignore whatchanged
    name-rev var help version count-objects fsck gc hash-object update-ref init diff-tree diff-index diff-files
    interpret-trailers worktree clone verify-commit archive bundle prune range-diff cherry --version credential
    """
)
_TEST_TARGET: Final = re.compile(r"(?:tests?|typecheck|type-check|check-types)(?:[:_-][\w:.-]*)?")
# Lock files, snapshots, and what lies in the folders of build tools and caches.
_GENERATED: Final = re.compile(
    r"(?:^|/)(?:\.?\w+[-.]lock(?:\.\w+)?|go\.sum|go\.work\.sum|Cargo\.lock|[\w-]+-lock\.(?:json|ya?ml)|bun\.lockb?|"
    r"[^/]{1,200}\.(?:snap|pyc|log|tmp|out|coverage|tsbuildinfo|prof|xml|html|db|sqlite3?))$|"
    r"(?:^|/)(?:node_modules|__pycache__|dist|build|target|out|coverage|bin|obj|vendor|gen|generated|__snapshots__|"
    r"snapshots|testdata|\.[\w-]+_cache|\.next|\.tox|\.venv|\.git|\.entire|tmp)/|^/(?:tmp|var|private)/",
    re.IGNORECASE,
)
_WRITING_CODE: Final = re.compile(
    r"""open\s{0,4}\([^)\n]{0,300}["'][rb]?[wax]|mode\s{0,4}=\s{0,4}["'][wax]|\.write|write_|writeFile|subprocess|"""
    r"""os\.(?:system|remove|rename|unlink|replace|popen|exec|spawn|rmdir|truncate)|shutil|Popen|exec\(|eval\(|"""
    r"""unlink|fileinput|\.rename\(|\.replace\(\s{0,4}Path|\.touch\(|to_(?:csv|json|excel|parquet)|savefig|np\.save|"""
    r"""\.dump\(|call_command|child_process|execSync|spawnSync|appendFile|system\(|runpy|import_module|compileall|"""
    r"""\.save\(|\.mkdir\(|makedirs|extractall"""
)


@lru_cache(_REMEMBERED)
def is_generated(path: str) -> bool:
    """Whether a path is of the kind that builds and test runs write."""
    return _GENERATED.search(path) is not None


def may_write_files(code: str) -> bool:
    """Whether the text of a script has anything by which it could write a file or run another program."""
    return _WRITING_CODE.search(code) is not None


def reach_of(words: Sequence[str]) -> Reach:
    """What a program may have written, by its name and its arguments."""
    name, arguments = words[0].rpartition("/")[2], tuple(words[1:])
    if name == "find":
        return _reach_of_find(arguments)
    if name in ("awk", "gawk", "mawk"):
        return Reach.ANYTHING if any(_awk_writes(one) for one in arguments) else Reach.NOTHING
    if name == "sed":
        edits = any(one.startswith(("-i", "--in-place")) for one in arguments)
        return Reach.ANYTHING if edits else Reach.NOTHING
    if name in _FIXING and any(_is_option(one, _FIXING[name]) for one in arguments):
        return Reach.ANYTHING
    if name == "git":
        return _reach_of_git(arguments)
    if name == "ruff":
        return _reach_of_ruff(arguments)
    if name in ("curl", "http", "xh"):
        wrote = any(one.startswith(("-o", "-O", "--output", "--remote-name")) for one in arguments)
        return Reach.ANYTHING if wrote else Reach.NOTHING
    if name in _CHECKING:
        return Reach.GENERATED if any(_is_option(one, _CHECKING[name]) for one in arguments) else Reach.ANYTHING
    if name in _SUBCOMMANDS:
        return _reach_of_subcommand(name, arguments)
    if name in _READING or arguments in (("--version",), ("--help",), ("-v",), ("-h",), ("version",)):
        return Reach.NOTHING
    return Reach.GENERATED if name in _GENERATING or name in _FIXING else Reach.ANYTHING


def formatted_paths(words: Sequence[str]) -> tuple[str, ...]:
    """The paths that a formatter was given; empty where it may write others."""
    if words[0].rpartition("/")[2] not in _FORMATTERS:
        return ()
    return tuple(one for one in words[1:] if not one.startswith("-") and one not in ("format", "check"))


def _is_option(argument: str, options: Sequence[str]) -> bool:
    return argument in options or argument.partition("=")[0] in options


def _awk_writes(program: str) -> bool:
    return "system(" in program or '> "' in program or '>"' in program or '| "' in program or "inplace" in program


def _reach_of_find(arguments: Sequence[str]) -> Reach:
    if any(one.startswith(("-delete", "-fprint", "-ok", "-fls")) for one in arguments):
        return Reach.ANYTHING
    for index, one in enumerate(arguments):
        if one in ("-exec", "-execdir"):
            program = arguments[index + 1 :]
            return reach_of(program) if program and program[0] != "find" else Reach.ANYTHING
    return Reach.NOTHING


def _reach_of_ruff(arguments: Sequence[str]) -> Reach:
    fixes = any(one.startswith(("--fix", "--unsafe", "--add-noqa")) for one in arguments)
    formats = arguments[:1] == ("format",) and not any(one in ("--check", "--diff") for one in arguments)
    return Reach.ANYTHING if fixes or formats else Reach.GENERATED


def _reach_of_subcommand(name: str, arguments: Sequence[str]) -> Reach:
    nothing, generated = _SUBCOMMANDS[name]
    plain = [one for one in arguments if not one.startswith("-") or one in nothing]
    if name == "cargo" and any(one in ("--fix", "--allow-dirty") for one in arguments):
        return Reach.ANYTHING
    if name == "gh" and plain[:2] in (["release", "download"], ["run", "download"]):
        return Reach.ANYTHING
    if name == "gh" and plain[:1] in (["pr"], ["repo"]):
        return (
            Reach.ANYTHING if plain[1:2] in (["checkout"], ["merge"], ["clone"], ["sync"], ["fork"]) else Reach.NOTHING
        )
    if plain[:1] and plain[0] in nothing:
        return Reach.NOTHING
    runs = (
        plain[1:2]
        if plain[:1] in (["run"], ["r"], ["run-script"]) and name in ("npm", "pnpm", "yarn", "bun", "mise")
        else plain[:1]
    )
    if runs and name in ("npm", "pnpm", "yarn", "bun", "mise", "make", "just") and _TEST_TARGET.fullmatch(runs[0]):
        return Reach.GENERATED
    return Reach.GENERATED if plain and all(one in generated for one in plain[:1]) else Reach.ANYTHING


def _reach_of_git(arguments: Sequence[str]) -> Reach:
    while arguments and arguments[0].startswith("-"):
        arguments = arguments[2:] if arguments[0] in ("-C", "-c") else arguments[1:]
    name, rest = (arguments[0] if arguments else "help"), arguments[1:]
    plain = [one for one in rest if not one.startswith("-")]
    match name:
        case "commit":
            return Reach.GENERATED
        case "stash":
            return Reach.NOTHING if rest[:1] in (("list",), ("show",)) else Reach.ANYTHING
        case "reset":
            return Reach.ANYTHING if any(one in ("--hard", "--merge", "--keep") for one in rest) else Reach.NOTHING
        case "checkout" | "switch":
            begins = rest[:1] in (("-b",), ("-c",), ("-B",), ("-C",)) and len(plain) == 1
            return Reach.NOTHING if begins else Reach.ANYTHING
        case "restore":
            staged = "--staged" in rest or "-S" in rest
            return Reach.NOTHING if staged and not ("--worktree" in rest or "-W" in rest) else Reach.ANYTHING
        case "bisect":
            return Reach.NOTHING if rest[:1] == ("log",) else Reach.ANYTHING
        case "rebase" | "merge" | "cherry-pick":
            return Reach.ANYTHING
        case _:
            return Reach.NOTHING if name in _GIT_READING else Reach.ANYTHING
