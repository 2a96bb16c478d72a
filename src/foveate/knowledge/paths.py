"""Paths: the files that a text names, told from prose, versions, addresses and code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from foveate.recall.stems import CJK_CLASS
from foveate.recall.stopwords import STOPWORDS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A path has a folder in it; a name alone needs more to be told from `os.path`, `user.name` and the end of a sentence.
_PATH: Final = re.compile(
    # No part of a path is longer than a name of a file can be.
    r"(?<![\w@:/.-])(?:~|\.{1,2})?/?[\w@.+-]{1,255}(?:/[\w@.+-]{1,255})+/?"
    r"|(?<![\w@/.-])\.?[\w+-][\w.+-]*(?![\w(])"
)
_URL: Final = re.compile(r"\b[a-z][a-z0-9+.-]{0,30}://\S+", re.IGNORECASE)
_VERSION: Final = re.compile(r"^(?:e\.g|i\.e|v?\d[\w.]*)\.?$", re.IGNORECASE)
# Without those that members of objects have too: `self.db`, `console.log`, `process.env`, `mock.patch`.
_ENDINGS: Final = _words(
    "adoc astro avro bash bat bib bz2 c cc cfg clj cljs cmake conf cpp crt cs cshtml css csv cu cxx dart ejs el elm "
    "erb erl ex exs fish fsx gif go gql gradle graphql groovy gz h haml hbs hcl hh hpp hrl hs htm html hxx ico ini "
    "ipynb java jl jpeg jpg js json json5 jsonl jsx kt kts less lisp lua md mdx mjs mk ml mli nim nix parquet pdf php "
    "pl plist png prisma proto ps1 pug pxd py pyi pyx r rake rb rego rs rst sass sbt scala scm scss sh sol sql sqlite "
    "svelte svg swift tar tex tf tfvars tgz thrift toml ts tsv tsx txt vb vim vue wasm webp whl xml xsd xz yaml yml "
    "zig zsh zst"
)
# Endings that are also what a task is about, as a language, a format or a word of English; `py` only names files.
_SUBJECTS: Final = _words(
    "astro avro bash c cmake conf css csv dart elm fish gif go gradle graphql groovy haml html ico java jpeg json "
    "less lisp lua nim nix parquet pdf php plist png prisma proto pug r rake sass scala sol sql sqlite svelte svg "
    "swift tar tex thrift toml vim vue wasm webp xml yaml zig zsh"
)
# What is called like a file and is none.
_PRODUCTS: Final = _words(
    "alpine.js angular.js backbone.js chart.js d3.js discord.js ember.js express.js knockout.js moment.js nest.js "
    "next.js node.js nuxt.js p5.js pdf.js react.js require.js socket.js solid.js three.js underscore.js vue.js"
)
_NAMES: Final = _words(
    "Brewfile Caddyfile Cargo.lock Containerfile Dockerfile GNUmakefile Gemfile Gemfile.lock Jenkinsfile Justfile "
    "Makefile Pipfile Pipfile.lock Podfile Procfile Rakefile Tiltfile Vagrantfile application.properties "
    "composer.lock flake.lock gradle.properties justfile makefile poetry.lock uv.lock yarn.lock"
)
_HIDDEN: Final = re.compile(
    r"^\.(?:env(?:\.\w+)*|git\w+|\w[\w-]*(?:rc|ignore|config)|[\w-]+-versions?|htaccess|profile)$"
)
# "and/or" and "read/write" are prose; two words make a path if the first is a folder that projects have.
_TWO_WORDS: Final = re.compile(r"^[A-Za-z]+/[A-Za-z]+$")
_FOLDERS: Final = _words(
    "app apps assets bench bin cmd config configs crates doc docs examples internal lib libs modules packages pkg "
    "plugins scripts spec src test tests tools vendor"
)
# Behind these comes the name of a person.
_HOMES: Final = _words("Users home")
# An ending that stands for all files that have it: "all .py files".
_ENDING_ALONE: Final = re.compile(r"(?<![\w.])\*?\.([A-Za-z][A-Za-z0-9]{0,7})\b(?![\w./-])")
_BACKSLASHES: Final = re.compile(
    r"(?<![\w\\.@-])(?:[A-Za-z]:)?\\?[\w.@-]+(?:\\[\w.@-]+)*\\[\w@-][\w.@-]*\.[A-Za-z]\w{0,7}\b"
)
_DRIVE: Final = re.compile(r"^[A-Za-z]:")
_QUOTED: Final = re.compile(r'["“„«]([\w.@+()/-]+(?: [\w.@+()/-]+){1,2})["”“»]')
# Before a file these are what is done with it, not a part of its name.
_DONE_WITH: Final = _words("bash cat change delete edit fix node open pytest python python3 read ruff sh test")
# Where words stand without spaces, a path begins and ends with letters of another script.
_GLUED_BEFORE: Final = re.compile(rf"^[{CJK_CLASS}]+(?=[A-Za-z0-9_~@])")
_GLUED_BEHIND: Final = re.compile(rf"(\.[A-Za-z][A-Za-z0-9]{{0,7}})(?=[{CJK_CLASS}])")


def paths_in(text: str) -> tuple[str, ...]:
    """The paths in a text, each once, in order.

    >>> paths_in("Read src/api, Makefile and orders.py, not os.path or Node.js 1.2")
    ('src/api', 'Makefile', 'orders.py')
    """
    plain = _BACKSLASHES.sub(_slashed, without_addresses(text))
    spaced: dict[str, str] = {}

    def held(found: re.Match[str]) -> str:
        if not _is_spaced(found[1]):
            return found[0]
        # So that it is found where it stands, and as one.
        mark = f"\u01c2{len(spaced)}.txt"
        spaced[mark] = found[1]
        return f" {mark} "

    plain = _GLUED_BEHIND.sub(r"\1 ", _QUOTED.sub(held, plain))
    return tuple(dict.fromkeys(spaced.get(path, path) for path in _found(plain)))


def words_of_paths(text: str) -> str:
    """The text with the words of each path in its place: not its ending, nor folders that every project has.

    >>> words_of_paths("Fix src/billing/refunds.py and all .py files")
    'Fix  billing refunds  and all   files'
    """

    def replaced(found: re.Match[str]) -> str:
        path = _GLUED_BEFORE.sub("", found[0].rstrip(".,:;"))
        if not path or not any(map(str.isalpha, path)) or not (_is_path(path) if "/" in path else _is_name(path)):
            return found[0]
        before, _, behind = found[0].partition(path)
        *folders, name = path.rstrip("/").split("/")
        return f"{before} {' '.join((*_told(folders), _stem(name)))} {behind}"

    plain = _GLUED_BEHIND.sub(r"\1 ", _BACKSLASHES.sub(_slashed, text))
    return _ENDING_ALONE.sub(_without_ending, _PATH.sub(replaced, plain))


def is_bare_ending(word: str) -> bool:
    """Whether a word is the ending of files and nothing else, as in "for py files".

    >>> [word for word in ("py", "tsx", "sql", "cat") if is_bare_ending(word)]
    ['py', 'tsx']
    """
    return word in _ENDINGS and word not in _SUBJECTS


def _stem(name: str) -> str:
    """The name of a file without its endings: `x-y.test.ts` is x-y.test, and `x.tar.gz` is x."""
    stem, dot, ending = name.rpartition(".")
    if dot and stem and ending.lower() in _ENDINGS:
        return stem.removesuffix(".tar")
    return name if name not in _FOLDERS else ""


def _told(folders: list[str]) -> list[str]:
    """The folders of a path that say something: not where somebody keeps a project, nor what every project has."""
    if folders[:1] == [""] and folders[1:2] and folders[1] in _HOMES:
        folders = folders[3:]
    return [one for one in folders if one not in _FOLDERS and one.strip(".~")]


def _without_ending(found: re.Match[str]) -> str:
    return " " if found[1].lower() in _ENDINGS else found[0]


def without_addresses(text: str) -> str:
    """The text without addresses of the web and the like."""
    return _URL.sub(" ", text)


def _found(text: str) -> Iterator[str]:
    for one in _PATH.finditer(text):
        path = _GLUED_BEFORE.sub("", one.group().rstrip(".,:;")).removeprefix("./")
        if any(map(str.isalpha, path)) and (_is_path(path) if "/" in path else _is_name(path)):
            yield path


def _is_path(path: str) -> bool:
    return not _TWO_WORDS.match(path) or path.partition("/")[0] in _FOLDERS


def _is_name(name: str) -> bool:
    stem, _, ending = name.rpartition(".")
    if name in _NAMES or _HIDDEN.match(name):
        return True
    is_code = name.lower() in _PRODUCTS or name.startswith(("self.", "this."))
    return bool(stem) and ending.lower() in _ENDINGS and not is_code and not _VERSION.match(name)


def _is_spaced(quoted: str) -> bool:
    """Whether a quotation is the name of a file with spaces in it, and no sentence about one."""
    *before, last = quoted.split()
    words = {word.lower() for word in before}
    return _is_name(last) and not words & (STOPWORDS | _DONE_WITH) and not any(word.endswith(".") for word in before)


def _slashed(found: re.Match[str]) -> str:
    return _DRIVE.sub("", found[0]).replace("\\", "/")
