"""Descriptions: what a large text is, in one line for somebody who does not see it.

Texts are described as they are stored, so only the beginning and the end are read; of the rest things are counted.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from foveate.log.semantics import TOOLS

_HEAD: Final = 3_000
_TAIL: Final = 6_000
_KEY: Final = r'"([\w$@.-]{1,60})"\s*:'
# What is larger is known by its beginning: to read all of it would take longer than to store it.
_MAX_READ: Final = 400_000


def described(
    text: str, *, tool: str | None = None, resource: str | None = None, access: str | None = None
) -> tuple[str, str]:
    """The kind of a text, and one line that says what it is; of the tool it came from, `access` says what it does.

    Without `access`, that is what the built-in table says.

    >>> described('{"id": 7, "name": "hull"}')
    ('json', 'JSON object (id: 7, name: hull)')
    """
    wrapper = re.match(_WRAPPER, text)
    text = text[wrapper.end() :] if wrapper is not None else text
    head = _uncoloured(text[:_HEAD])
    # Of `sed -n 1,80p` on a pipe no path is known.
    named = resource is not None and re.fullmatch(r"[\d,$]+[a-z]?", resource) is None
    given = _Given(
        text=text,
        # Each line begins with a line break: to look for it is far faster than to look for a line's beginning.
        head="\n" + head,
        tail="\n" + _uncoloured(text[-_TAIL:]),
        lines=text.count("\n") + (not text.endswith("\n")),
        # The last line of a beginning is cut off somewhere.
        sample=[line for line in head.split("\n")[: -1 if len(text) > _HEAD else None] if line.strip()][:24],
        tool=_plain(tool, 40),
        access=_access(tool) if access is None else access,
        resource=_plain(resource, 200) if named else "",
    )
    kind, line = next(found for look in _LOOKS if (found := look(given)) is not None)
    return kind, _plain(line, 100)


def _access(tool: str | None) -> str:
    return TOOLS[tool].access if tool is not None and tool in TOOLS else ""


class _Given(NamedTuple):
    text: str
    head: str
    tail: str
    lines: int
    sample: list[str]
    tool: str
    access: str
    resource: str

    @property
    def path(self) -> str:
        # The end of a path says more than its beginning.
        end = self.resource[-49:]
        return self.resource if len(self.resource) <= 50 else "…" + end[max(0, end.find("/")) :]

    @property
    def counted(self) -> str:
        return _count(self.lines, "line") if self.lines > 1 or len(self.text) < 400 else _size(self.text)

    @property
    def begins(self) -> str:
        word = re.search(r"[<\[(\"'/.@$]?\w[^\n]*", self.head)
        return f"{self.counted}, begins: {word.group()}" if word else f"{self.counted}, no words"


_Found = tuple[str, str] | None

# What agents put before the output of a command: exit code, time, tags.
_WRAPPER: Final = (
    r"(?:(?:Chunk ID|Wall time|Process exited|Original token count|Exit code|Total output lines|Output:)[^\n]*\n+)+|"
    r"<returncode>-?\d+</returncode>\s*(?:<warning>[^<]{0,900}</warning>\s*)?(?:<output(?:_head)?>\n?)?"
)


def _data(given: _Given) -> _Found:
    match = re.match(r"data:([\w.+-]{1,80}/[\w.+-]{1,80})?[^,\n]{0,100},", given.text)
    if match is None:
        return None
    media_type, length = match.group(1) or "text/plain", len(given.text) - match.end()
    size = _size(length * 3 // 4 if ";base64," in match.group() else length)
    return "image" if media_type.startswith("image/") else "file", f"{media_type}, {size}"


def _read(given: _Given) -> _Found:
    # Who asked for a file got that file, whatever its lines look like.
    return _file(given) if given.access == "read" else None


def _file(given: _Given) -> _Found:
    if not given.resource or "://" in given.resource or _lists(given.tool):
        return None
    name = re.split(r"[/\\]", given.resource)[-1]
    suffix = name.rpartition(".")[2].lower()
    if given.access in {"write", "edit", "patch"}:
        return "text", f"result of {given.tool} on {given.path}, {given.counted}"
    if given.resource == given.tool:
        # A section of a request: its name is all that is known of it.
        return ("plan" if re.search("plan|todo", name, re.IGNORECASE) else "text"), f"{given.path}, {given.begins}"
    looks = {"json": _json, "jsonl": _json, "csv": _table, "tsv": _table, "diff": _diff, "patch": _diff, "log": _log}
    if suffix in looks and (found := looks[suffix](given)) is not None:
        return found
    of = f" of {_LANGUAGES[suffix]}" if suffix in _LANGUAGES else ""
    # The numbers that reading tools write before each line.
    first, last = (re.findall(r"\n {0,8}(\d{1,7})(?:\t|→)", part) for part in (given.head, given.tail))
    if len(first) < 2 or not last or int(last[-1]) < int(first[0]):
        return "file", f"{given.path}, {given.counted}{of}"
    lines = f"lines {int(first[0]):,}-{int(last[-1]):,}" if int(first[0]) > 1 else _count(int(last[-1]), "line")
    return "file", f"{given.path}, {lines}{of}"


def _plan(given: _Given) -> _Found:
    if given.access == "plan" and (steps := given.text.count('"status"')):
        done = given.text.count('"completed"')
        return "plan", f"plan, {_count(steps, 'step')}, {done:,} done"
    boxes = len(re.findall(r"\n[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[[ xX]\]", given.head))
    # Notes may hold a few boxes; a plan is mostly made of them.
    if boxes < 3 or boxes * 3 < given.head.count("\n"):
        return ("plan", f"plan, {given.begins}") if given.access == "plan" else None
    done = given.text.count("[x]") + given.text.count("[X]")
    return "plan", f"{given.path or 'plan'}, {_count(given.text.count('[ ]') + done, 'step')}, {done:,} done"


def _diff(given: _Given) -> _Found:
    if not re.search(r"\n(?:diff --git |--- [^\n]{1,300}\n\+\+\+ |\*\*\* Begin Patch)", given.head):
        return None
    text = "\n" + _uncoloured(given.text)
    named = next((pattern for word, pattern in _DIFF_FILES.items() if word in text), r"\n\+\+\+ ([^\t\n]+)")
    names = list(dict.fromkeys(name.removeprefix("b/") for name in re.findall(named, text)))
    added = max(0, text.count("\n+") - text.count("\n+++ "))
    removed = max(0, text.count("\n-") - text.count("\n--- "))
    if len(names) <= 1:
        return "diff", f"diff of {(names or [given.path or 'one file'])[0]}, +{added:,}/-{removed:,}"
    return "diff", f"diff with {len(names):,} files, +{added:,}/-{removed:,}: {', '.join(names[:8])}"


_DIFF_FILES: Final = {
    "\ndiff --git ": r"\ndiff --git [^\n]{1,300}? (b/[^\n]+)",
    "\n*** Begin Patch": r"\n\*\*\* (?:Add|Update|Delete) File: ([^\n]+)",
}


def _test(given: _Given) -> _Found:
    for runner, word, pattern in _RUNNERS:
        window = given.tail
        if runner == "mocha" and (at := given.text.find(word)) >= 0:
            # It says the totals first, and then all that failed.
            window = "\n" + _uncoloured(given.text[max(0, at - 40) : at + 200])
        if word in window and (found := re.findall(pattern, window)):
            # One program after the other has its own totals.
            every = re.findall(pattern, given.text) if runner == "cargo test" else []
            return "test", _tested(given, runner, every or found[-1:])
    if re.search(_GO, given.tail):
        # Without -v it names packages, and tests only where they fail.
        words = (("--- FAIL: ", "\nFAIL\t"), ("--- PASS: ", "\nok "))
        failed, passed = (given.text.count(tests) or ("\n" + given.text).count(packages) for tests, packages in words)
        return "test", _tested(given, "go test", [f"{failed} failed, {passed} passed"])
    if "=== test session starts ===" in given.head:
        return "test", f"pytest output, {given.counted}, without a summary"
    totals = re.findall(_TOTALS, given.tail[-1_500:])
    npm = re.search(r"\n> \S+@\S+ test\b", given.head)
    return ("test", _tested(given, "npm test" if npm else "test", totals)) if totals or npm else None


def _tested(given: _Given, runner: str, totals: Iterable[str]) -> str:
    tally = dict.fromkeys(_OUTCOMES.values(), 0)
    for total in totals:
        pairs = [(word, number) for number, word in re.findall(_NUMBER_FIRST, total, re.IGNORECASE)]
        for word, number in pairs + re.findall(_WORD_FIRST, total, re.IGNORECASE):
            tally[_OUTCOMES[word.lower()]] += int(number)
    whole = tally.pop("whole")
    tally["passed"] = tally["passed"] or max(0, whole - sum(tally.values()))
    pieces = [_count(n, outcome, "errors" if outcome == "error" else outcome) for outcome, n in tally.items() if n]
    alone = len(pieces) == 1 and tally["passed"] > 1
    return ", ".join((f"{runner} output, {given.counted}", *(f"all {piece}" if alone else piece for piece in pieces)))


_OUTCOMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("failed", "failure", "failures", "failing", "fail"), "failed"),
    **dict.fromkeys(("error", "errors"), "error"),
    **dict.fromkeys(("passed", "passing", "pass", "succeeded", "successful"), "passed"),
    **dict.fromkeys(("skipped", "pending", "ignored", "todo"), "skipped"),
    **dict.fromkeys(("total", "test", "tests", "example", "examples", "run"), "whole"),
}
_WORDS: Final = "|".join(sorted(_OUTCOMES, key=len, reverse=True))
_NUMBER_FIRST: Final = rf"(\d{{1,9}}) (?:tests? )?({_WORDS})\b"
_WORD_FIRST: Final = rf"\b({_WORDS})(?: {{0,9}}[:=] {{0,9}}| (?=\d+$))(\d{{1,9}})\b"
# A runner, what its totals always have in them, and the totals.
_RUNNERS: Final = (
    ("pytest", " in ", r"\n=*\s?((?:\d+ [a-z]+(?:, )?){1,9}|no tests ran) in \d[\d.]*s"),
    ("unittest", "Ran ", r"\n(Ran \d+ tests? in [\d.]+s(?:\s{1,9}\w+(?: \([^)\n]*\))?)?)"),
    ("jest", "Tests:", r"\n *Tests: +(\d[^\n]*\btotal)"),
    ("vitest", "Tests ", r"\n *Tests +(\d[^\n]*)\(\d+\)"),
    ("cargo test", "test result: ", r"\ntest result: \w+\. ([^\n]*)"),
    ("rspec", " example", r"\n(\d+ examples?, \d+ failures?[^\n]*)"),
    ("phpunit", "sertion", r"\n(OK \(\d+ tests?, [^\n]*|Tests: \d+, Assertions: [^\n]*)"),
    ("maven", "Tests run: ", r"(Tests run: \d+, Failures: [^\n]*)"),
    ("gradle", " completed", r"\n(\d+ tests? completed[^\n]*)"),
    ("mocha", " passing (", r"\n *(\d+ passing \([^\n]*(?:\n *\d+ (?:pending|failing))*)"),
)
_GO: Final = r"\n(?:--- (?:FAIL|PASS|SKIP): \S+ \(|(?:ok|FAIL)[ \t]+\S+[ \t]+(?:[\d.]+s\s|\(cached\)|\[))"
_TOTALS: Final = (
    r"\n(?:[^\w\n]|ℹ){0,40}(?:(?i:tests?|results?|total|summary|executed|passed!|failed!|ok)[^\w\n]{1,20})?"
    r"((?:\d+%? (?:tests? )?(?i:pass|fail|succe|tests, )|(?i:passed|failed) {0,9}[:=] {0,9}\d|(?:pass|fail) \d+(?=\s))"
    r"[^\n]{0,120})"
)


def _json(given: _Given) -> _Found:
    if given.head.lstrip()[:1] not in ("{", "["):
        return None
    lead = f"{given.path}, JSON" if given.resource else "JSON"
    value = _parsed(given.text) if len(given.text) <= _MAX_READ else None
    match value:
        case None:
            return _json_by_its_beginning(given, lead)
        case list():
            kinds = {bytes(raw)[:1] for raw in value[:50]}
            name = {b"{": "object", b"[": "list", b'"': "string"}.get(min(kinds), "item") if len(kinds) == 1 else "item"
            keys = _parsed(value[0]) or {} if name == "object" else dict.fromkeys(re.findall(_KEY, given.head))
            what = f"{lead} list of {_count(len(value), name)}"
            return "json", f"{what} ({', '.join(islice(keys, 9))})" if keys else what
        case _:
            shown = [f"{key}: {said}" if (said := _short(raw)) else key for key, raw in islice(value.items(), 9)]
            return _around(given, value) or ("json", f"{lead} object ({', '.join(shown)})")


def _json_by_its_beginning(given: _Given, lead: str) -> _Found:
    lines = given.text[:20_000].split("\n")[: -1 if len(given.text) > 20_000 else None]
    records = [_parsed(line) for line in lines[:20] if line.strip()]
    if len(records) > 1 and all(isinstance(one, dict) for one in records):
        keys = list(dict.fromkeys(key for one in records for key in one))
        kind = "log" if "level" in keys else "json"
        return kind, f"{lead} lines, {_count(given.lines, 'object')} ({', '.join(keys)})"
    keys = list(dict.fromkeys(re.findall(_KEY, given.head) if re.match(r'\s*[\[{]\s*["\[{]', given.head) else ()))
    return ("json", f"{lead}, {_size(given.text)} ({', '.join(keys)})") if keys else None


def _around(given: _Given, value: Mapping[str, msgspec.Raw]) -> _Found:
    """An object that is little more than one large text, as the arguments of a call that writes a file."""
    large = next((raw for raw in value.values() if len(raw) * 2 > len(given.text) > 400), None)
    text = _parsed(large, str) if large is not None and not given.resource else None
    if text is None:
        return None
    paths = (_short(value[key], 200) for key in ("file_path", "path", "filename") if key in value)
    kind, line = described(text, resource=next(paths, None))
    return "json" if kind == "text" else kind, f"JSON around {line}"


def _short(raw: msgspec.Raw, longest: int = 60) -> str:
    """A small value as it stands; nothing of what is large."""
    value = _parsed(raw, Any) if len(raw) <= longest else None
    return "" if value is None or isinstance(value, list | dict) else _plain(str(value), longest)


def _parsed(source: str | msgspec.Raw, kind: Any = dict[str, msgspec.Raw] | list[msgspec.Raw]) -> Any:
    """The list or object that a JSON text is, what is in it left unread; nothing if it is neither."""
    try:
        return msgspec.json.decode(source, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def _page(given: _Given) -> _Found:
    if re.match(r"\s*(?:<[?!][^>h]{0,200}>\s*)?<(?:!doctype html|html)\b", given.head, re.IGNORECASE):
        title = re.search(r"<title[^>]{0,100}>([^<]{1,200})", given.text[:20_000], re.IGNORECASE)
        named = f' "{_plain(html.unescape(title.group(1)), 60)}"' if title else ""
        return "web", f"HTML page{named}, {_size(given.text)}"
    if "://" in given.resource:
        return "web", f"{given.path}, {given.counted}"
    web = re.search("web|fetch|brows|url|http", given.tool, re.IGNORECASE)
    return ("web", f"{given.tool}, {given.begins}") if web else None


def _search(given: _Given) -> _Found:
    lines = given.sample
    if _share(_COMPLAINT, lines) >= 0.4:
        counts = [_count(number, word) for word in ("error", "warning") if (number := given.text.count(word))]
        return "log", ", ".join(("compiler or linter output", given.counted, *counts))
    if len(lines) < 2 or _share(_HIT, lines) < 0.5:
        asked = given.access == "search" and not _lists(given.tool)
        return ("search", f"{given.tool}, {given.begins}") if asked else None
    if len(given.text) > _MAX_READ:
        return "search", f"grep output, {given.counted}"
    parts = (line.partition(":") for line in given.text.split("\n"))
    paths = [path for path, colon, _ in parts if colon and "." in path and " " not in path and "\t" not in path]
    matches, files = _count(len(paths), "match", "matches"), _count(len(set(paths)), "file")
    return "search", f"grep output, {matches} in {files}"


_COMPLAINT: Final = r"\S{1,200}?(?::\d+(?::\d+)?|\(\d+,\d+\)):? (?:- )?(?:\w+ )?(?:error|warning|[A-Z]{1,4}\d{2,5})\b"
# A path and what grep puts behind it; the times of a log and the keys of a mapping have no suffix.
_HIT: Final = r"[^\s:]{1,200}\.[A-Za-z]\w{0,7}(?::|-\d+-)"


def _table(given: _Given) -> _Found:
    rows = given.sample
    ruled = len(rows) > 2 and re.fullmatch(r"(?=.*?--)[\s|:+-]*+", rows[1]) is not None
    for mark in "|" if ruled else ",;\t" if len(rows) > 3 else "":
        columns = [_plain(cell, 30).strip("\"'") for cell in rows[0].strip(" |").split(mark)]
        # A quoted cell may hold the mark.
        even = ruled or all(row.count(mark) == len(columns) - 1 or row.count('"') > 1 for row in rows)
        if len(columns) > 1 and even and all(re.match(r"[^\W\d][\w .%/#()-]{0,29}$", column) for column in columns):
            count = _count(given.lines - 1 - ruled, "row")
            return "table", f"{given.path or 'table'}, {count} of {len(columns)} columns ({', '.join(columns)})"
    return None


def _log(given: _Given) -> _Found:
    if not given.resource.endswith(".log") and (len(given.sample) < 3 or _share(_LOGGED, given.sample) < 0.4):
        return None
    loud = ("ERROR", "FATAL", "CRITICAL", "SEVERE", "level=error")
    errors = sum(map(given.text.count, loud))
    # The last error, or else the last line.
    at = max(map(given.text.rfind, loud)) if errors else len(given.text.rstrip())
    start = given.text.rfind("\n", 0, at) + 1
    stamp = r"^\W{0,3}\d[\d:.,/TZ+-]*(?: \d\d:[\d:.,Z+-]+)?\W*"
    last = re.sub(stamp, "", _uncoloured(given.text[start : start + 300].partition("\n")[0]))
    counted = _count(errors, "error") if errors else "no errors"
    return "log", f"{given.path or 'log'}, {given.counted}, {counted}, last: {last}"


_LOGGED: Final = (
    r"\W{0,3}(?:\d{4}[-/]\d\d[-/]\d\d[T ]|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d|level=|time=|"
    r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b|[\d.]{7,15} \S+ \S+ \[)"
)


def _listing(given: _Given) -> _Found:
    lines = [line.strip() for line in given.sample]
    if not _lists(given.tool) and (len(lines) < 3 or _share(_ENTRY, lines) < 0.6):
        return None
    of = f" of {given.path}" if given.resource else ""
    return "listing", f"listing{of}, {given.counted}: {', '.join(lines[:6])}"


# A name with a folder or a suffix, or what `ls -l`, `du` and `tree` write.
_ENTRY: Final = r"[\w.@+~-]*[./][\w./@+~()\[\]-]*:?$|[bcdlps-][rwxsStT-]{9}|total \d|\d[\d,.]*[KMG]?\s+\S+$|[│├└]"


def _other(given: _Given) -> _Found:
    head = given.head[:1_000]
    if len(re.findall(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd]", head)) * 10 > len(head):
        return "text", f"binary data, {_size(given.text)}"
    if re.match(r"\n[A-Za-z0-9+/_-]{60,76}\n[A-Za-z0-9+/_-]{60,76}\n|\n[A-Za-z0-9+/_-]{300}", head):
        return "text", f"encoded data, {_size(given.text)}"
    return "text", f"{given.tool or 'text'}, {given.begins}"


def _lists(tool: str) -> bool:
    return re.fullmatch(r"ls|glob|tree|find|list_?\w+", tool, re.IGNORECASE) is not None


def _share(pattern: str, lines: list[str]) -> float:
    match = re.compile(pattern).match
    return sum(map(bool, map(match, lines))) / max(1, len(lines))


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _size(of: str | int) -> str:
    size = of if isinstance(of, int) else len(of.encode(errors="replace"))
    return f"{size:,} B" if size < 1_000 else f"{size / 1e3:,.0f} KB" if size < 1_000_000 else f"{size / 1e6:,.1f} MB"


def _uncoloured(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text) if "\x1b" in text else text


def _plain(text: str | None, longest: int) -> str:
    """A text on one line, without what cannot be printed, cut to a length."""
    head = (text or "")[: longest * 4]
    if not head.isprintable():
        head = "".join([char if char.isprintable() else " " for char in head])
    shown = " ".join(head.split())
    return shown if len(shown) <= longest else shown[: longest - 1].rstrip() + "…"


_SPOKEN: Final = (
    "Python py pyi, JavaScript js jsx mjs cjs, TypeScript ts tsx mts, Go go, Rust rs, Java java, Kotlin kt kts, C c h, "
    "C++ cc cpp cxx hpp, C# cs, Ruby rb, PHP php, Swift swift, Scala scala, Dart dart, Elixir ex exs, Haskell hs, "
    "Lua lua, R r, SQL sql, shell sh bash zsh, HTML html htm, CSS css scss less, Vue vue, Svelte svelte, XML xml, "
    "Markdown md mdx, reStructuredText rst, YAML yaml yml, TOML toml, JSON json jsonl, CSV csv, text txt, Make mk"
)
_LANGUAGES: Final = {suffix: name for name, *known in map(str.split, _SPOKEN.split(", ")) for suffix in known}
# What says most about a text comes first; only what nothing else knows is an unnamed text.
_LOOKS: Final = (_data, _read, _plan, _diff, _test, _json, _page, _search, _file, _table, _log, _listing, _other)
