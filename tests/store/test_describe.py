"""Descriptions: what a large text is, said to somebody who does not see it."""

from __future__ import annotations

import base64
import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate import DefaultRouter, Session, ToolSemantics
from foveate.sample import coding_session
from foveate.store import Store
from foveate.store.describe import described
from tests.dialogue import exchange, user

KINDS = {"diff", "test", "file", "log", "plan", "json", "table", "search", "listing", "image", "web", "text"}


def numbered(count: int, first: int = 1) -> str:
    return "\n".join(f"{number:>6}→    value_{number} = compute({number})" for number in range(first, first + count))


def python(count: int) -> str:
    return "".join(f"value_{number} = compute({number})\n" for number in range(count))


# --- diffs ------------------------------------------------------------------------------------------------------------

GIT = """\
diff --git a/src/app/orders.py b/src/app/orders.py
index 71a1679..1a0e4a5 100644
--- a/src/app/orders.py
+++ b/src/app/orders.py
@@ -1,4 +1,5 @@
 import time
-from app import clock
+from app.clock import Clock
+from app.money import Money
 import sys
diff --git a/docs/new.md b/docs/new.md
new file mode 100644
--- /dev/null
+++ b/docs/new.md
@@ -0,0 +1 @@
+# New
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
"""
SHOWN = f"commit 1a0e4a58\nAuthor: A <a@b.c>\n\n    Take time from a clock\n\n{GIT}"
PLAIN = "--- old.txt\t2024-01-01 10:00:00\n+++ new.txt\t2024-01-01 10:00:01\n@@ -1 +1 @@\n-a\n+b\n"
PATCH = "*** Begin Patch\n*** Update File: src/a.go\n@@\n-a\n+b\n+c\n*** Add File: src/b.go\n+d\n*** End Patch\n"
COLOURED = (
    "\x1b[1mdiff --git a/x.py b/x.py\x1b[m\n\x1b[1m--- a/x.py\x1b[m\n\x1b[1m+++ b/x.py\x1b[m\n\x1b[32m+one\x1b[m\n"
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (GIT, "diff with 3 files, +3/-1: src/app/orders.py, docs/new.md, run.sh"),
        (SHOWN, "diff with 3 files, +3/-1: src/app/orders.py, docs/new.md, run.sh"),
        (PLAIN, "diff of new.txt, +1/-1"),
        (PATCH, "diff with 2 files, +3/-1: src/a.go, src/b.go"),
        (COLOURED, "diff of x.py, +1/-0"),
        (f"Chunk ID: c5e901\nWall time: 0.1 seconds\nOutput:\n{PLAIN}", "diff of new.txt, +1/-1"),
    ],
)
def test_a_diff_says_its_files_and_how_much_changed(text: str, line: str) -> None:
    """However it was made, and whatever an agent put around it."""
    assert described(text, tool="Bash") == ("diff", line)


# --- tests ------------------------------------------------------------------------------------------------------------

DOTS = "\n".join(f"tests/test_{number}.py ....{'F' if number % 3 == 0 else '.'}   [ {number}%]" for number in range(40))
RUNS = {
    "pytest": (
        (
            f"{'=' * 30} test session starts {'=' * 30}\nplatform linux -- Python 3.12.8, pytest-8.3.4\ncollected 123 items\n\n"
            f"{DOTS}\n\n==== FAILURES ====\nE   assert [] == ['ORD-1']\n==== short test summary info ====\n"
            "FAILED tests/test_a.py::test_b - AssertionError\n=== 3 failed, 120 passed, 2 warnings in 1.48s ===\n[exit code: 1]\n"
        ),
        "pytest output, 51 lines, 3 failed, 120 passed",
    ),
    "pytest -q": (f"{DOTS}\n120 passed in 62.10s (0:01:02)\n", "pytest output, 41 lines, all 120 passed"),
    "pytest, errors": (f"{DOTS}\n1 error in 0.10s\n", "pytest output, 41 lines, 1 error"),
    "pytest, cut": (
        f"=== test session starts ===\nplatform linux\n{DOTS}\n",
        "pytest output, 42 lines, without a summary",
    ),
    "unittest": (
        f"{'.' * 70}\n{'-' * 70}\nRan 12 tests in 0.105s\n\nFAILED (failures=1, errors=2, skipped=1)\n",
        "unittest output, 5 lines, 1 failed, 2 errors, 8 passed, 1 skipped",
    ),
    "unittest, ok": ("....\n-----\nRan 4 tests in 0.001s\n\nOK\n", "unittest output, 5 lines, all 4 passed"),
    "jest": (
        (
            "PASS src/a.test.ts\nFAIL src/b.test.ts\n  ● adds\n\nTest Suites: 1 failed, 1 passed, 2 total\n"
            "Tests:       3 failed, 1 skipped, 120 passed, 124 total\nSnapshots:   0 total\nTime:        2.1 s\n"
        ),
        "jest output, 8 lines, 3 failed, 120 passed, 1 skipped",
    ),
    "vitest": (
        (
            " ✓ src/a.test.ts (3 tests) 12ms\n\n Test Files  1 failed | 12 passed (13)\n"
            "      Tests  3 failed | 120 passed (123)\n   Start at  10:00:00\n   Duration  1.20s\n"
        ),
        "vitest output, 6 lines, 3 failed, 120 passed",
    ),
    "vitest, in colours": (
        " \x1b[32m✓\x1b[39m a\n\x1b[2m      Tests \x1b[22m \x1b[1m\x1b[32m9 passed\x1b[39m\x1b[22m\x1b[90m (9)\x1b[39m\n",
        "vitest output, 2 lines, all 9 passed",
    ),
    "mocha": (
        "  orders\n    ✓ ships\n    1) refunds\n\n\n  120 passing (2s)\n  1 pending\n  1 failing\n\n  1) orders refunds:\n"
        + "     at Context.<anonymous> (test/orders.js:12:5)\n" * 400,
        "mocha output, 410 lines, 1 failed, 120 passed, 1 skipped",
    ),
    "go test": (
        (
            "--- FAIL: TestShip (0.01s)\n    ship_test.go:12: got 1\nFAIL\nFAIL\texample.com/ship\t0.012s\n"
            "ok  \texample.com/order\t0.005s\nok  \texample.com/money\t(cached)\nFAIL\n"
        ),
        "go test output, 7 lines, 1 failed, 2 passed",
    ),
    "go test -v": (
        "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n--- PASS: TestB (0.00s)\nPASS\nok  \tx.com/a\t0.1s\n",
        "go test output, 6 lines, all 2 passed",
    ),
    "cargo test": (
        (
            "running 3 tests\ntest a ... ok\ntest b ... FAILED\n\ntest result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; "
            "0 filtered out; finished in 0.01s\n\nrunning 4 tests\n\ntest result: ok. 4 passed; 0 failed; 0 ignored; 0 measured\n"
        ),
        "cargo test output, 9 lines, 1 failed, 6 passed, 1 skipped",
    ),
    "rspec": (
        "..F\n\nFinished in 0.1 seconds\n120 examples, 3 failures, 1 pending\n\nFailed examples:\n\nrspec ./spec/a_spec.rb:12\n",
        "rspec output, 8 lines, 3 failed, 116 passed, 1 skipped",
    ),
    "phpunit": (
        "PHPUnit 10.5\n\n..F\n\nFAILURES!\nTests: 120, Assertions: 300, Failures: 3, Errors: 1.\n",
        "phpunit output, 6 lines, 3 failed, 1 error, 116 passed",
    ),
    "phpunit, ok": (
        "PHPUnit 10.5\n\n...\n\nOK (120 tests, 300 assertions)\n",
        "phpunit output, 5 lines, all 120 passed",
    ),
    "maven": (
        (
            "[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in a.ATest\n[ERROR] Failures:\n"
            "[ERROR]   BTest.x:12 expected 1\n[INFO]\n[ERROR] Tests run: 12, Failures: 3, Errors: 0, Skipped: 1\n[INFO]\n"
        ),
        "maven output, 6 lines, 3 failed, 8 passed, 1 skipped",
    ),
    "gradle": (
        "> Task :test FAILED\n\nATest > ships FAILED\n\n120 tests completed, 3 failed\n\nBUILD FAILED in 4s\n",
        "gradle output, 7 lines, 3 failed, 117 passed",
    ),
    "npm": (
        "\n> shop@1.0.0 test\n> node --test\n\n✔ ships (1.2ms)\nℹ tests 12\nℹ pass 11\nℹ fail 1\nℹ duration_ms 80\n",
        "npm test output, 9 lines, 1 failed, 11 passed",
    ),
    "something else": (
        "checking all of it\nok 1\nok 2\n\nTotal: 2 passed, 1 failed\n",
        "test output, 5 lines, 1 failed, 2 passed",
    ),
    "dotnet": (
        "Starting test execution, please wait...\n\nPassed!  - Failed:     0, Passed:    12, Skipped:     2, Total:    14\n",
        "test output, 3 lines, 12 passed, 2 skipped",
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_of_tests_says_how_it_ended(name: str) -> None:
    """By the totals of its runner, which stand at the end or, with mocha, before all that failed."""
    text, line = RUNS[name]
    assert described(text, tool="Bash") == ("test", line)


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tool", "resource", "found"),
    [
        (python(214), "Read", "src/app/orders.py", ("file", "src/app/orders.py, 214 lines of Python")),
        (numbered(214), "Read", "src/app/orders.py", ("file", "src/app/orders.py, 214 lines of Python")),
        (numbered(40, 120), "Read", "src/view.go", ("file", "src/view.go, lines 120-159 of Go")),
        (python(9), "bash", "LICENSE", ("file", "LICENSE, 9 lines")),
        (python(9), None, "a\\b\\Kasse.cs", ("file", "a\\b\\Kasse.cs, 9 lines of C#")),
        (f"{GIT}1 failed, 2 passed in 1s\n", "Read", "notes.md", ("file", "notes.md, 20 lines of Markdown")),
        (GIT, "Read", "fix.patch", ("diff", "diff with 3 files, +3/-1: src/app/orders.py, docs/new.md, run.sh")),
        ('{"name": "shop", "version": "1.0"}', "Read", "package.json",
         ("json", "package.json, JSON object (name: shop, version: 1.0)")),
        ("id,name\n1,a\n2,b\n3,c\n", "Read", "data/items.csv", ("table", "data/items.csv, 3 rows of 2 columns (id, name)")),
        ("no time\nERROR: pump\nno level\n", "bash", "logs/w.log", ("log", "logs/w.log, 3 lines, 1 error, last: ERROR: pump")),
        (python(80), "edit_file", "src/a.py", ("text", "result of edit_file on src/a.py, 80 lines")),
        (f"{DOTS}\n120 passed in 2.10s\n", "bash", "out.txt", ("test", "pytest output, 41 lines, all 120 passed")),
        (python(80), "bash", "1,80p", ("text", "bash, 80 lines, begins: value_0 = compute(0)")),
        ("x" * 4_000, "Read", "a.min.js", ("file", "a.min.js, 4 KB of JavaScript")),
    ],
)  # fmt: skip
def test_a_file_is_named(text: str, tool: str | None, resource: str, found: tuple[str, str]) -> None:
    """Who read it knows what it is; at a shell, what its output looks like counts more."""
    assert described(text, tool=tool, resource=resource) == found


def test_of_a_long_path_the_end_is_shown() -> None:
    """Which says more than where somebody keeps all projects."""
    path = "/Users/somebody/Work/clients/shop/service/src/app/orders/refunds.py"

    assert described(python(9), tool="Read", resource=path)[1] == (
        "…/clients/shop/service/src/app/orders/refunds.py, 9 lines of Python"
    )


# --- everything else --------------------------------------------------------------------------------------------------

LOG = "".join(
    f"2025-03-11 09:{number // 60:02}:{number % 60:02},120 {'ERROR' if number % 500 == 7 else 'INFO'} worker: order {number}\n"
    for number in range(1_200)
)
GREP = "".join(f"src/mod_{number % 12}.py:{number}:    return total\n" for number in range(88))
AROUND = "src/a.go-11-\tx := 1\nsrc/a.go:12:\treturn x\nsrc/a.go-13-}\n--\nsrc/b.go-1-\ty: 1\nsrc/b.go:2:\treturn y\n"
PNG = "data:image/png;base64," + base64.b64encode(b"\x89PNG" + b"x" * 119_996).decode()
TODOS = [{"content": f"step {number}", "status": "completed" if number < 3 else "pending"} for number in range(12)]
ITEMS = [{"id": number, "name": f"item {number}", "price": 1.5} for number in range(120)]
OTHERS: list[tuple[str, str | None, tuple[str, str]]] = [
    (LOG, "Bash", ("log", "log, 1,200 lines, 3 errors, last: ERROR worker: order 1007")),
    ("\n".join(f"[INFO] step {number}" for number in range(9)), None, ("log", "log, 9 lines, no errors, last: [INFO] step 8")),
    (GREP, "Bash", ("search", "grep output, 88 matches in 12 files")),
    (AROUND, "Grep", ("search", "grep output, 2 matches in 2 files")),
    ("Found 3 files\nsrc/a b.py\nsrc/c\n", "Grep", ("search", "Grep, 3 lines, begins: Found 3 files")),
    ("src/a.c:12:5: error: no pump\nsrc/a.c:14:1: warning: odd\nsrc/b.c:1:1: error: x\n", "Bash",
     ("log", "compiler or linter output, 3 lines, 2 errors, 1 warning")),
    (json.dumps(ITEMS), "api", ("json", "JSON list of 120 objects (id, name, price)")),
    (json.dumps([["a"], ["b"]]), "api", ("json", "JSON list of 2 lists")),
    ("[]", "api", ("json", "JSON list of 0 items")),
    (json.dumps({"ok": True, "items": ITEMS}), "api", ("json", "JSON object (ok: True, items)")),
    ("\n".join(map(json.dumps, ITEMS)), "api", ("json", "JSON lines, 120 objects (id, name, price)")),
    (json.dumps(ITEMS)[:-40], "api", ("json", "JSON, 5 KB (id, name, price)")),
    (json.dumps({"file_path": "src/a.py", "content": python(214)}), "Write",
     ("file", "JSON around src/a.py, 214 lines of Python")),
    (json.dumps({"input": PATCH * 9}), "apply_patch", ("diff", "JSON around diff with 2 files, +27/-9: src/a.go, src/b.go")),
    (json.dumps({"todos": TODOS}), "TodoWrite", ("plan", "plan, 12 steps, 3 done")),
    ("# Plan\n\n- [x] look\n- [x] fix\n- [ ] test\n- [ ] ship\n", None, ("plan", "plan, 4 steps, 2 done")),
    ("1. Look\n2. Fix\n", "update_plan", ("plan", "plan, 2 lines, begins: 1. Look")),
    ("| id | name |\n|----|------|\n| 1 | a |\n| 2 | b |\n", None, ("table", "table, 2 rows of 2 columns (id, name)")),
    ('sku;name;price\nA;Cleat;1\nB;Rope;2\nC;"x;y";3\n', None, ("table", "table, 3 rows of 3 columns (sku, name, price)")),
    ("src/a.py\nsrc/b.py\nsrc/lib/\nREADME.md\n", "bash",
     ("listing", "listing, 4 lines: src/a.py, src/b.py, src/lib/, README.md")),
    ("total 8\ndrwxr-xr-x 2 a a 4096 Jan 1 src\n-rw-r--r-- 1 a a 9 Jan 1 b\n", "bash",
     ("listing", "listing, 3 lines: total 8, drwxr-xr-x 2 a a 4096 Jan 1 src, -rw-r--r-- 1 a a 9 Jan 1 b")),
    (".\n├── src\n│   └── a.py\n└── b\n", "bash", ("listing", "listing, 4 lines: ., ├── src, │ └── a.py, └── b")),
    (PNG, None, ("image", "image/png, 120 KB")),
    ("data:application/pdf;base64,JVBERi0=", None, ("file", "application/pdf, 6 B")),
    ("<!DOCTYPE html>\n<html><head><title>Tide &amp; time</title>", "curl", ("web", 'HTML page "Tide & time", 58 B')),
    ("The tide comes at nine.\n", "WebFetch", ("web", "WebFetch, 1 line, begins: The tide comes at nine.")),
    ("<task>\nFix the pump.\n", None, ("text", "text, 2 lines, begins: <task>")),
    ("## 仓库说明\n\n库存不足时发送提醒。\n", None, ("text", "text, 3 lines, begins: 仓库说明")),
    ("", None, ("text", "text, 1 line, no words")),
    ("\x00\x01\x02\x7fELF" * 500, "bash", ("text", "binary data, 4 KB")),
    (base64.b64encode(b"pump" * 900).decode(), "bash", ("text", "encoded data, 5 KB")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "tool", "found"), OTHERS, ids=[found[1][:30] for _, _, found in OTHERS])
def test_a_text_says_what_it_is(text: str, tool: str | None, found: tuple[str, str]) -> None:
    """In one line, by what tells most: counts, names, or how it begins."""
    assert described(text, tool=tool) == found


def test_a_section_is_known_by_its_name() -> None:
    """Which stands for both tool and resource."""
    assert described("Ship it.", tool="plan", resource="plan") == ("plan", "plan, 1 line, begins: Ship it.")
    assert described("Ship it.", tool="memory", resource="memory") == ("text", "memory, 1 line, begins: Ship it.")


def test_every_kind_has_a_sample() -> None:
    """And no other kind is ever said."""
    assert {described(text, tool=tool)[0] for text, tool, _ in OTHERS} | {"diff", "test"} == KINDS


def test_the_outputs_of_a_session_are_told_apart() -> None:
    """A session's own large outputs: a log, a diff, test runs."""
    large = [m["content"] for m in coding_session() if m["role"] == "tool" and len(m["content"]) > 4_000]

    assert [described(text, tool="bash")[0] for text in large] == ["diff", "test", "log", "test"]


# --- promises ---------------------------------------------------------------------------------------------------------

# Pieces that the looks react to, put together at random: that is where they could go wrong.
PIECES = [GIT, PLAIN, PATCH, COLOURED, AROUND, *(text for text, _ in RUNS.values()), *(text[:2_000] for text, _, _ in OTHERS),
          "{", "[", '{"a":', '{"todos": 7}', '{"a": "\\ud800"}', '["\\ud800"]', '{"plan": [1]}', "\ud800", "\x1b[", "\x1b[31", "\r", "\u2028",
          "=" * 99, " " * 99, "\n" * 99, "data:", "data:image/png;base64", "1 passed", "Ran 1 test in 1s", "--- a\n+++ ", "-", "+",
          "中文", "\U0001f389", "<html", "<title>", "|--|", "a|b", ",", "a,b\n", "Tests: 1", "1" * 300]  # fmt: skip
nasty = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=40)), max_size=8).map("".join)


@settings(max_examples=400, deadline=None)
@given(nasty, st.one_of(st.none(), st.sampled_from(["Read", "Bash", "Grep", "LS", "TodoWrite", "Edit", "WebFetch"]), st.text()),
       st.one_of(st.none(), st.sampled_from(["a.json", "b.csv", "c.log", "d.diff", "https://x.org", "/"]), st.text()))  # fmt: skip
def test_any_text_gets_a_kind_and_one_short_line(text: str, tool: str | None, resource: str | None) -> None:
    """Nothing raises, the kind fits into a handle, the line into a list; the same text is described the same."""
    kind, line = described(text, tool=tool, resource=resource)

    assert kind in KINDS
    assert re.fullmatch("[a-z]+", kind)
    assert 0 < len(line) <= 100
    assert line.isprintable()
    assert (kind, line) == described(text, tool=tool, resource=resource)


@settings(max_examples=100, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_any_json_is_described(value: object) -> None:
    """Lists and objects as what they are."""
    text = json.dumps(value)
    kind, line = described(text)

    assert len(line) <= 100
    assert (
        kind == "json" or not isinstance(value, dict | list) or "NaN" in text or "Infinity" in text or len(text) > 400
    )


SHAPES = {
    "log": LOG, "grep": GREP, "diff": GIT, "json": json.dumps(ITEMS) + "\n", "code": python(400), "one line": "lorem ipsum ",
    "chinese": "仓库里的库存不足时会发送提醒。\n", "spaces": " ", "breaks": "\n", "dots": "a.", "digits": "1 ", "dashes": "-", "brackets": "[",
    "quotes": '{"', "equals": "=", "commas": "a,", "bytes": "\x00\xff", "words": "a/b.c-", "passed": "1 passed, ",
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_a_hundred_kilobytes_take_about_a_millisecond(shape: str) -> None:
    """It is done for every large output before it is stored; nothing makes a pattern run away."""
    text = (SHAPES[shape] * (100_000 // len(SHAPES[shape]) + 1))[:100_000]
    described(text)
    taken: list[float] = []
    for _ in range(7):
        start = time.thread_time()
        described(text)
        taken.append(time.thread_time() - start)

    # Ten times what it takes, for slow machines; a pattern that runs away takes seconds.
    assert min(taken) < 0.01


def test_what_a_router_declares_of_a_tool_is_what_its_output_is_described_by(tmp_path: Path) -> None:
    """A note that was read is that note, though its lines look like a log."""
    log = "".join(f"2026-01-01 12:00:{second:02} INFO worker: billed {second}\n" for second in range(60)) * 3
    router = DefaultRouter(tools={"load_note": ToolSemantics(access="read", resource=("title",))})
    with Session.open(tmp_path / "a.db", "s", router=router) as session:
        session.append(user("go"))
        session.extend(exchange("1", "load_note", log, title="diary.txt"))
    with Store(tmp_path / "a.db") as store:
        (kept,) = store.artifacts(store.session("s"))

    assert (kept.kind, kept.description) == ("file", "diary.txt, 180 lines of text")
