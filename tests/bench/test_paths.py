"""Paths through the library: what counts as a call, and two checkouts side by side."""

from __future__ import annotations

import importlib
import json
import sys
import threading
from pathlib import Path

import pytest
from bench.paths import PATHS, ROOT, Count, Recorder, count_path, main

MODULES = {
    "one/first.py": "from made_up.two.second import twice\n\ndef begin():\n    return twice(1) + twice(2)\n",
    "two/second.py": "from made_up.two.third import same\n\ndef twice(n):\n    return same(n) + same(n)\n",
    "two/third.py": "def same(n):\n    return sum(part(n))\n\ndef part(n):\n    yield n\n",
}


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, source in MODULES.items():
        path = tmp_path / "made_up" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "made_up"]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path / "made_up"


def test_calls_functions_files_and_switches_are_counted(made_up: Path) -> None:
    """begin, and twice for 1 and for 2; each calls same twice, which makes a generator go on twice (to its end too).

    That is 1 + 2 * (1 + 2 * (1 + 2)) calls of 4 functions in 3 files; one step leads into the package `two`, and none
    leads back, because a return is no call.
    """
    begin = importlib.import_module("made_up.one.first").begin
    with Recorder(made_up) as recorder:
        recorder.start()
        begin()
        counted = recorder.stop()
        begin()

    assert counted == Count(calls=15, functions=4, files=3, switches=1)


def test_files_are_left_out(made_up: Path) -> None:
    """What they are for is not counted, nor the way into their package and back."""
    begin = importlib.import_module("made_up.one.first").begin
    with Recorder(made_up, ["two/th*"]) as recorder:
        recorder.start()
        begin()

        assert recorder.stop() == Count(calls=3, functions=2, files=2, switches=1)


def test_other_threads_count(made_up: Path) -> None:
    """An endless chat does its work beside the event loop."""
    begin = importlib.import_module("made_up.one.first").begin
    with Recorder(made_up) as recorder:
        recorder.start()
        thread = threading.Thread(target=begin)
        thread.start()
        thread.join()
        counted = recorder.stop()

    assert counted.calls == 15


@pytest.mark.parametrize("name", PATHS)
def test_a_path_is_the_same_in_every_run(name: str) -> None:
    """So that a difference is one of the code."""
    counted = count_path(name)

    assert counted == count_path(name)
    assert counted.calls >= counted.functions >= counted.files > 1
    assert counted.calls > counted.switches > 1


def test_a_path_that_another_checkout_lacks_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what its import failed at, and the other paths are counted all the same."""
    package = tmp_path / "src" / "foveate"
    package.mkdir(parents=True)
    body = (
        "    def __init__(self, **options): pass\n    def extend(self, messages): pass\n    def compile(self): pass\n"
    )
    append = "    def append(self, message): return self.compile()\n"
    (package / "__init__.py").write_text(f"class Session:\n{body}{append}", encoding="utf-8")

    assert main(["--beside", str(tmp_path), "--json"]) == 0

    counts = json.loads(capsys.readouterr().out)
    assert counts["beside"]["append one message"] == {"calls": 2, "functions": 2, "files": 1, "switches": 0}
    assert counts["beside"]["open a session in a new file"].startswith("AttributeError: ")
    assert list(counts["here"]) == list(PATHS)


def test_what_is_no_checkout_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not counted as this one, which is what an import would find instead."""
    with pytest.raises(SystemExit):
        main(["--beside", str(tmp_path)])
    assert "has no src/foveate" in capsys.readouterr().err
    with pytest.raises(RuntimeError, match="foveate was imported from"):
        count_path(next(iter(PATHS)), tmp_path)


def test_the_table_shows_both_and_their_ratio(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other checkout's numbers come first: it is usually the older."""
    counts = {ROOT: Count(10, 5, 2, 1), ROOT.parent: Count(20, 5, 4, 0)}
    monkeypatch.setattr("bench.paths.count_path", lambda _name, checkout=ROOT, **_: counts[checkout])
    monkeypatch.setattr("bench.paths._checkout", lambda text: ROOT.parent)

    assert main(["--beside", "there"]) == 0

    row = capsys.readouterr().out.splitlines()[1]
    assert row.split() == [
        "append",
        "one",
        "message",
        "20",
        "->",
        "10",
        "(0.50)",
        "5",
        "->",
        "5",
        "(1.00)",
        "4",
        "->",
        "2",
        "(0.50)",
        "0",
        "->",
        "1",
    ]
