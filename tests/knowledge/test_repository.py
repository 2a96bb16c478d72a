"""Maps of repositories: what is on them, what is left out, and what is not read a second time."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import msgspec
import pytest

from foveate import ConfigError
from foveate.integrations.tree_sitter import TreeSitter
from foveate.knowledge import repository, symbols
from foveate.knowledge.models import MapEntry
from foveate.knowledge.repository import MappedFile, RepositoryMap, build_map, build_map_at
from foveate.knowledge.symbols import Names, Parser, PlainParser, headline_of, installed_parser

MONEY = '''"""Money: amounts with a currency."""

ZERO = 0


class Money:
    def rounded(self):
        return self


def parse_amount(text):
    return Money()


def _private():
    return parse_amount
'''
SHOP = """from billing.money import Money, parse_amount


def checkout(ZERO):
    return parse_amount("1")
"""


class Counting:
    """A parser that notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    @property
    def name(self) -> str:
        return "counting"

    def __call__(self, language: str, source: bytes, /) -> Names | None:
        self.asked.append(source)
        return PlainParser()(language, source)

    def close(self) -> None:
        raise AssertionError("a parser that is given is closed by its owner")


@pytest.fixture(scope="module")
def grammars() -> Iterator[TreeSitter]:
    parser = TreeSitter()
    yield parser
    parser.close()


@pytest.fixture(params=["plain", "grammars"])
def parser(request: pytest.FixtureRequest, grammars: TreeSitter) -> Parser:
    return grammars if request.param == "grammars" else PlainParser()


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def git(root: Path, *words: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    ran = subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True, text=True)
    return ran.stdout.strip()


def commit(root: Path) -> str:
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "state")
    return git(root, "rev-parse", "HEAD")


def locations(found: RepositoryMap) -> list[str]:
    return [entry.location for entry in found.entries]


def file_at(found: RepositoryMap, path: str) -> MappedFile:
    return next(file for file in found.files if file.path == path)


def test_an_entry_says_what_a_file_is_and_has(tmp_path: Path, parser: Parser) -> None:
    """Component, location, first line of the docstring, and definitions: most used first, private ones last."""
    write(tmp_path, {"src/billing/money.py": MONEY, "src/shop.py": SHOP, "README.md": "# Shop\n\n## Use, and more\n"})

    found = build_map(tmp_path, parser=parser)

    assert found.entries == (
        MapEntry(component="readme", location="README.md", notes="Shop. Has Use, and more."),
        MapEntry(
            component="billing money",
            location="src/billing/money.py",
            notes="Money: amounts with a currency. Has Money, parse_amount, ZERO, rounded, _private.",
        ),
        MapEntry(component="shop", location="src/shop.py", notes="Has checkout."),
    )
    assert file_at(found, "src/billing/money.py").references == 1


def test_names_that_a_file_binds_itself_refer_to_nothing(tmp_path: Path, parser: Parser) -> None:
    """A parameter or a variable that is called like something elsewhere is no reference; nor is a word of prose."""
    write(
        tmp_path,
        {
            "amount.py": "amount = 1\n",
            "a.py": "def f(amount):\n    return amount\n",
            "b.py": "def g():\n    amount = 2\n    return amount\n",
            "c.js": "console.log(amount)\n",
            "d.md": "# amount\n",
        },
    )

    assert file_at(build_map(tmp_path, parser=parser), "amount.py").references == 0


def test_notes_are_bounded(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": f'"""{"word " * 99}"""\n' + "".join(f"def function_{n}(): ...\n" for n in range(999))})

    (entry,) = build_map(tmp_path, parser=PlainParser()).entries

    assert 200 < len(entry.notes) < 340
    assert "word…" in entry.notes


SOURCES = {
    "a.js": ("export const Alpha = () => beta()\nfunction gamma() {}\nclass Delta {}\n", {"Alpha", "gamma", "Delta"}),
    "a.ts": ("export interface Alpha {}\ntype Beta = Alpha\nenum Gamma { A }\n", {"Alpha", "Beta", "Gamma"}),
    "a.tsx": ("export function App() { return <Main/> }\n", {"App"}),
    "a.go": (
        "package a\n\ntype Alpha struct{}\n\nfunc (a *Alpha) Beta() {}\n\nfunc Gamma() {}\n",
        {"Alpha", "Beta", "Gamma"},
    ),
    "a.rs": ("pub struct Alpha;\npub trait Beta {}\npub(crate) fn gamma() {}\n", {"Alpha", "Beta", "gamma"}),
    "A.java": ("public class Alpha {\n  public int beta(int x) {\n    return x;\n  }\n}\n", {"Alpha", "beta"}),
    "a.c": (
        "#define LIMIT 1\nstruct alpha { int a; };\nstatic int beta(int x) {\n  return x;\n}\n",
        {"LIMIT", "alpha", "beta"},
    ),
    "a.cpp": ("class Alpha {\n};\nvoid Alpha::beta(int x) {\n}\n", {"Alpha", "beta"}),
    "a.rb": ("module Alpha\n  class Beta\n    def gamma\n    end\n  end\nend\n", {"Alpha", "Beta", "gamma"}),
    "a.py": ("class 订单:\n    pass\n\ndef 处理(): ...\n", {"订单", "处理"}),
    "a.md": ("# Alpha\n```\n# no heading\n```\n## Beta\n", {"Alpha", "Beta"}),
    "a.kt": ("data class Alpha(val a: Int)\nfun beta() {}\n", {"Alpha", "beta"}),
}


@pytest.mark.parametrize("name", SOURCES)
def test_definitions_are_found_in_each_language(tmp_path: Path, parser: Parser, name: str) -> None:
    """With grammars and without."""
    source, expected = SOURCES[name]
    write(tmp_path, {name: source})

    assert set(build_map(tmp_path, parser=parser).files[0].definitions) == expected


def test_broken_files_give_what_stands_around_the_break(tmp_path: Path, parser: Parser) -> None:
    write(
        tmp_path, {"a.py": "def before(): ...\n\nclass (((\n\ndef after(): ...\n", "b.go": "func Fine() {}\nfunc }}} {"}
    )

    found = build_map(tmp_path, parser=parser)

    assert {"before", "after"} <= set(file_at(found, "a.py").definitions)
    assert "Fine" in file_at(found, "b.go").definitions


def test_a_grammar_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    """A file that is not of its language costs its time limit and is read by the look of its lines; the next is parsed."""
    # Its time grows with the square of the depth: minutes, so that no machine is fast enough for the limit.
    write(tmp_path, {"a.py": "[{(" * 150_000 + "\ndef late(): ...\n", "b.go": "func (a *A) Next() {}\n"})
    parser = TreeSitter(seconds=1)

    found = build_map(tmp_path, parser=parser)
    parser.close()

    assert file_at(found, "a.py").definitions == ("late",)
    assert file_at(found, "b.go").definitions == ("Next",)


def test_without_grammars_the_plain_parser_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """An extra that is registered but not installed is passed over; one that is installed is used."""
    assert isinstance(installed_parser(), TreeSitter)

    missing = EntryPoint("missing", "no_such_package:Parser", symbols.GROUP)
    monkeypatch.setattr(symbols, "entry_points", lambda group: (missing,))
    assert isinstance(installed_parser(), PlainParser)


def test_text_that_is_not_utf_8_is_read(tmp_path: Path, parser: Parser) -> None:
    write(tmp_path, {"a.py": "# Grüße\nclass Café: ...\ndef plain(): ...\n".encode("latin-1")})

    assert "plain" in build_map(tmp_path, parser=parser).files[0].definitions


def test_what_cannot_be_on_a_map_is_left_out_and_counted(tmp_path: Path) -> None:
    """Binary and empty files, large files that are no code, and names that cannot be shown; large code is there by its name."""
    write(
        tmp_path,
        {
            "logo.png": b"\x89PNG\0\0",
            "dump.json": "1" * (repository.MOST_BYTES + 1),
            "bundle.js": "f();" * repository.MOST_BYTES,
            "a\nb.py": "x",
            "empty.py": "",
        },
    )
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.py")).write_text("")

    found = build_map(tmp_path, parser=PlainParser())

    assert locations(found) == ["bundle.js"]
    assert file_at(found, "bundle.js").definitions == ()
    assert found.left_out == {"binary": 1, "empty": 1, "too large": 1, "unprintable name": 2}


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Neither to files nor to folders, inside a repository or out of it, walked or listed by git."""
    root = tmp_path / "project"
    write(tmp_path, {"outside/secret.py": "SECRET = 1\n", "project/inside/a.py": "A = 1\n"})
    (root / "file.py").symlink_to(tmp_path / "outside/secret.py")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "again").symlink_to(root / "inside")
    (root / "loop").symlink_to(root)

    assert locations(build_map(root, parser=PlainParser())) == ["inside/a.py"]
    at = commit(root)
    assert locations(build_map(root, parser=PlainParser())) == ["inside/a.py"]
    assert locations(build_map_at(root, at, parser=PlainParser())) == ["inside/a.py"]


def test_a_folder_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    """The index still has its files, and they would be read from elsewhere."""
    root = tmp_path / "project"
    write(tmp_path, {"outside/a.py": "SECRET = 1\n", "project/folder/a.py": "A = 1\n", "project/b.py": "\n"})
    commit(root)
    (root / "folder/a.py").unlink()
    (root / "folder").rmdir()
    (root / "folder").symlink_to(tmp_path / "outside")

    assert locations(build_map(root, parser=PlainParser())) == ["b.py"]


def test_git_says_which_files_belong_to_a_repository(tmp_path: Path) -> None:
    """Ignored and deleted files are not on the map, new ones and those of repositories inside are."""
    write(
        tmp_path, {".gitignore": "build/\n", "a.py": "\n", "gone.py": "\n", "build/made.py": "\n", ".ci/run.sh": "\n"}
    )
    commit(tmp_path)
    (tmp_path / "gone.py").unlink()
    write(tmp_path, {"new.py": "\n", "inner/b.py": "\n", "inner/.hidden/c.py": "\n"})
    commit(tmp_path / "inner")

    assert locations(build_map(tmp_path, parser=PlainParser())) == [
        ".ci/run.sh",
        ".gitignore",
        "a.py",
        "inner/.hidden/c.py",
        "inner/b.py",
        "new.py",
    ]


def test_without_git_hidden_folders_are_passed_over(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"a.py": "\n", ".venv/b.py": "\n", "node_modules/c.js": "\n", "__pycache__/d.py": "\n", "deep/er/e.py": "\n"},
    )

    assert locations(build_map(tmp_path, parser=PlainParser())) == ["a.py", "deep/er/e.py"]


def test_too_many_files_leave_out_what_is_no_code_and_far_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "MOST_FILES", 2)
    write(tmp_path, {"a.txt": "\n", "b/c/d.py": "\n", "e.py": "\n", "b/f.py": "\n"})

    found = build_map(tmp_path, parser=PlainParser())

    assert locations(found) == ["b/f.py", "e.py"]
    assert found.left_out == {"more than 2 files": 2}


def test_unchanged_files_are_not_parsed_again(tmp_path: Path) -> None:
    """Not if size and time are the same, nor if only the time changed; a change is seen, though the size be the same."""
    write(tmp_path, {"a.py": "A = 1\n", "b.py": "B = 1\n", "c.py": "C = 1\n"})
    first = build_map(tmp_path, parser=Counting())

    again = Counting()
    unchanged = build_map(tmp_path, first.files, parser=again)
    assert (again.asked, unchanged.entries, unchanged.parsed) == ([], first.entries, 0)

    os.utime(tmp_path / "a.py", ns=(1, 1))
    write(tmp_path, {"b.py": "D = 1\n"})
    os.utime(tmp_path / "b.py", ns=(2, 2))
    (tmp_path / "c.py").unlink()
    later = build_map(tmp_path, unchanged.files, parser=again)
    assert again.asked == [b"D = 1\n"]
    assert [(file.path, file.definitions, file.mtime_ns) for file in later.files] == [
        ("a.py", ("A",), 1),
        ("b.py", ("D",), 2),
    ]
    assert later == build_map(tmp_path, parser=Counting())._replace(parsed=1)


def test_a_new_parser_reads_everything(tmp_path: Path) -> None:
    """What another found may be less."""
    write(tmp_path, {"a.py": "A = 1\n"})
    known = build_map(tmp_path, parser=PlainParser()).files

    assert build_map(tmp_path, known, parser=Counting()).parsed == 1


def test_references_follow_a_change_elsewhere(tmp_path: Path) -> None:
    """A file that did not change is referred to by one that did."""
    write(tmp_path, {"money.py": MONEY, "shop.py": "x = 1\n"})
    first = build_map(tmp_path, parser=Counting())
    write(tmp_path, {"shop.py": SHOP})

    later = build_map(tmp_path, first.files, parser=Counting())

    assert (file_at(first, "money.py").references, file_at(later, "money.py").references) == (0, 1)


def test_what_was_found_can_be_stored(tmp_path: Path, parser: Parser) -> None:
    write(tmp_path, {"money.py": MONEY, "订单.py": SHOP})
    files = build_map(tmp_path, parser=parser).files

    assert msgspec.json.decode(msgspec.json.encode(files), type=tuple[MappedFile, ...]) == files


def test_the_map_of_a_commit_leaves_the_folder_alone(tmp_path: Path, parser: Parser) -> None:
    """It is the map the folder had then, whatever stands in it now; known files are not read again."""
    write(tmp_path, {"money.py": MONEY, "old.py": "OLD = 1\n", "logo.png": b"\0"})
    then = build_map(tmp_path, parser=parser)
    first = commit(tmp_path)
    (tmp_path / "old.py").unlink()
    write(tmp_path, {"shop.py": SHOP})
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "shop")
    write(tmp_path, {"money.py": "broken ((("})
    status = git(tmp_path, "status", "--porcelain")

    at_first = build_map_at(tmp_path, first, parser=parser)
    at_second = build_map_at(tmp_path, "HEAD", at_first.files, parser=parser)

    assert (at_first.entries, at_first.left_out) == (then.entries, then.left_out)
    assert (locations(at_second), at_second.parsed) == (["money.py", "shop.py"], 1)
    assert git(tmp_path, "status", "--porcelain") == status


def test_progress_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "\n", "b.py": "\n"})
    told: list[tuple[int, int]] = []

    build_map(tmp_path, parser=PlainParser(), progress=lambda done, all_: told.append((done, all_)))

    assert told == [(1, 2), (2, 2)]


def test_what_cannot_be_mapped_is_refused(tmp_path: Path) -> None:
    """A folder that is not there, one without a repository, and a commit that is not in it, which is no option of git."""
    with pytest.raises(ConfigError, match=r"`root` is .*nowhere.*no folder"):
        build_map(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"`repo` is .*nowhere.*no folder"):
        build_map_at(tmp_path / "nowhere", "HEAD")
    with pytest.raises(ConfigError, match="`commit` is 'HEAD'"):
        build_map_at(tmp_path, "HEAD")
    write(tmp_path, {"a.py": "\n"})
    commit(tmp_path)
    with pytest.raises(ConfigError, match="`commit` is '--all'"):
        build_map_at(tmp_path, "--all")


@pytest.mark.parametrize(
    ("language", "source", "headline"),
    [
        ("python", '#!/usr/bin/env python\n# Copyright A\n\n"""It\'s here.\n\nMore."""', "It's here."),
        ("python", "r'''Raw.'''", "Raw."),
        ("python", "# What it does.\nimport os\n", "What it does."),
        ("python", "import os\n# Not this.\n", ""),
        ("go", "// Copyright 2024\n\n// Package a does things.\npackage a\n", "Package a does things."),
        ("c", "/*\n * SPDX-License-Identifier: MIT\n * Parses.\n */\n", "Parses."),
        ("c", "#include <a.h>\n// Later.\n", ""),
        ("rust", "#![allow(x)]\n//! A crate.\n", "A crate."),
        ("markdown", "text\n\n# Title #\n", "Title"),
        ("", "#!/bin/sh\n# Sets up.\n", "Sets up."),
        ("", '{"a": 1}', ""),
        ("markdown", "# A\0 \x1b[31mtitle", "A [31mtitle"),
        ("python", '"""\nCopyright A\n"""', ""),
    ],
)
def test_a_file_says_what_it_is_in_its_first_words(language: str, source: str, headline: str) -> None:
    assert headline_of(language, source.encode()) == headline
