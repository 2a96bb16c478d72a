"""How far the data travels: `python -m bench.paths`.

Counts, for six paths through the library, the calls of its own functions, how many different functions and files they
are in, and how often the next call is in another package. `--beside CHECKOUT` counts the same there. `--without FILES`
leaves the calls of some files out here: what a path would be without what they are for.
"""

from __future__ import annotations

import argparse
import asyncio
import fnmatch
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple, Self

ROOT: Final = Path(__file__).resolve().parents[1]
BUDGET: Final = 8_000
MESSAGES: Final = 120
# Turns of an endless chat within which its model must have written a summary.
MOST_TURNS: Final = 40

Message = dict[str, Any]


class Count(NamedTuple):
    """One path: what was called on it."""

    calls: int
    functions: int
    files: int
    switches: int


class Recorder:
    """The calls of functions below a folder, in all threads that begin while it is installed.

    A generator is called each time it goes on; on Python 3.11 comprehensions are functions too, so numbers of different
    Pythons do not compare.

    """

    def __init__(self, folder: Path, without: Sequence[str] = ()) -> None:
        self._prefix = str(folder) + os.sep
        self._without = tuple(without)
        self._called: list[CodeType] = []
        self._is_counting = False

    def __enter__(self) -> Self:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def start(self) -> None:
        """Count from here on."""
        self._called.clear()
        self._is_counting = True

    def stop(self) -> Count:
        """What was called since `start`."""
        self._is_counting = False
        called = [code for code in self._called if not self._is_left_out(code)]
        files = [self._file_of(code) for code in called]
        switches = sum(one.partition("/")[0] != other.partition("/")[0] for one, other in itertools.pairwise(files))
        return Count(len(called), len(set(called)), len(set(files)), switches)

    def _file_of(self, code: CodeType) -> str:
        return Path(code.co_filename.removeprefix(self._prefix)).as_posix()

    def _is_left_out(self, code: CodeType) -> bool:
        return any(fnmatch.fnmatchcase(self._file_of(code), pattern) for pattern in self._without)

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        if self._is_counting and event == "call" and frame.f_code.co_filename.startswith(self._prefix):
            self._called.append(frame.f_code)


def _exchange(number: int) -> list[Message]:
    arguments = json.dumps({"path": f"src/module_{number}.py"})
    function = {"name": "read_file", "arguments": arguments}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": f"def function_{number}() -> None: ...\n" * 40},
    ]


def _conversation(count: int) -> list[Message]:
    """Messages of an agent that reads files, with a word of the user after every fifth exchange."""
    messages: list[Message] = []
    number = 0
    while len(messages) < count:
        if number % 5 == 0:
            messages.append({"role": "user", "content": f"Repair function_{number} in src/module_{number}.py."})
        messages += _exchange(number)
        number += 1
    return messages[:count]


# A worker imports the library of the checkout that it counts, so nothing of it is imported above.


def _append(recorder: Recorder) -> Count:
    from foveate import Session  # noqa: PLC0415

    session = Session(budget=BUDGET)
    session.extend(_conversation(7))
    session.compile()
    recorder.start()
    session.append({"role": "user", "content": "And now run the tests."})
    return recorder.stop()


def _compile_whole(recorder: Recorder) -> Count:
    from foveate import Session  # noqa: PLC0415

    session = Session(budget=BUDGET)
    session.extend(_conversation(3))
    session.compile()
    session.extend(_exchange(99))
    recorder.start()
    view = session.compile()
    count = recorder.stop()
    assert view.decision is None, "a short session is not reduced"
    return count


def _compile_reduced(recorder: Recorder, policy: str = "default") -> Count:
    from foveate import POLICIES, Session  # noqa: PLC0415

    # The default of 0.1 has had another name since.
    session = Session(budget=BUDGET, policy=policy if policy in POLICIES else "default")
    session.extend(_conversation(MESSAGES))
    recorder.start()
    view = session.compile()
    count = recorder.stop()
    assert view.decision is not None, "a session above its budget is reduced"
    return count


def _open(recorder: Recorder) -> Count:
    from foveate import Session  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        recorder.start()
        session = Session.open(Path(folder) / "agent.db", "first", budget=BUDGET)
        count = recorder.stop()
        session.close()
    return count


def _endless_turn(recorder: Recorder) -> Count:
    return asyncio.run(_turns_until_a_summary(recorder))


async def _turns_until_a_summary(recorder: Recorder) -> Count:
    """The first turn at which the chat's model writes a summary."""
    from foveate import Session  # noqa: PLC0415
    from foveate.agents.driver import Reply  # noqa: PLC0415
    from foveate.chat.conversation import Conversation  # noqa: PLC0415
    from foveate.chat.endless import Endless, Terms  # noqa: PLC0415
    from foveate.chat.finding import TemplateFolders  # noqa: PLC0415

    class Model:
        """Answers at once, and counts how often."""

        def __init__(self, name: str, text: str) -> None:
            self.name, self.answers, self._text = name, 0, text

        async def generate(self, messages: object, schema: object, *, on_text: object = None) -> Reply:
            self.answers += 1
            return Reply(message={"role": "assistant", "content": self._text})

    with tempfile.TemporaryDirectory() as folder:
        templates = Path(folder) / "ContextTemplates"
        templates.mkdir()
        (templates / "plain.md").write_text(_TEMPLATE, encoding="utf-8")
        writer = Model("writer", "The user names things that must never be called by a number.")
        terms = Terms(threshold=800, reflect_every=0)
        session = Session.open(Path(folder) / "chat.db", "chat", budget=3_000)
        endless = Endless(session, TemplateFolders(None, Path(folder)), "plain", terms=terms, writer=writer)
        chat = Conversation(session, Model("chat", "I understand."), system="You are kind.", endless=endless)
        for turn in range(MOST_TURNS):
            recorder.start()
            await chat.say(f"Thing {turn} must never be called number {turn * 31}. {'And a few more words. ' * 12}")
            count = recorder.stop()
            if writer.answers:
                session.close()
                return count
    raise AssertionError(f"no summary was written in {MOST_TURNS} turns")


_TEMPLATE: Final = """\
---
description: What was said.
---
Topic: {{ topic }}

Said:
{{ ledger }}
"""

PATHS: Final[Mapping[str, Callable[[Recorder], Count]]] = {
    "append one message": _append,
    "compile, nothing to reduce": _compile_whole,
    f"compile that reduces {MESSAGES} messages": _compile_reduced,
    "the same, by lines": partial(_compile_reduced, policy="lines"),
    "open a session in a new file": _open,
    "endless turn with a summary": _endless_turn,
}


def count_path(name: str, checkout: Path = ROOT, without: Sequence[str] = ()) -> Count:
    """Count one path in a fresh process, so that no cache of another path is warm.

    Raises:
        RuntimeError: if the path does not run there, with the last line of the error.

    """
    searched = os.pathsep.join((str(checkout / "src"), str(ROOT)))
    command = [sys.executable, "-m", "bench.paths", "--worker", name, "--checkout", str(checkout)]
    if without:
        command += ["--without", *without]
    environment = {**os.environ, "PYTHONPATH": searched, "PYTHONHASHSEED": "0"}
    # In a folder of its own: the current one would come before PYTHONPATH.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no error was printed"])[-1])
    return Count(*json.loads(done.stdout))


def _work(name: str, checkout: Path, without: Sequence[str]) -> Count:
    import foveate  # noqa: PLC0415

    folder = Path(foveate.__file__).resolve().parent
    expected = (checkout / "src" / "foveate").resolve()
    if folder != expected:
        raise RuntimeError(f"foveate was imported from {folder}, not from {expected}")
    with Recorder(folder, without) as recorder:
        return PATHS[name](recorder)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    options = _parser().parse_args(arguments)
    if options.worker:
        print(json.dumps(_work(options.worker, options.checkout, options.without)))
        return 0
    here = {name: count_path(name, without=options.without) for name in PATHS}
    if options.beside is None:
        there: dict[str, Count | str] = {}
    else:
        there = {name: _counted_or_why_not(name, options.beside) for name in PATHS}
    if options.json:
        print(json.dumps({"here": {name: count._asdict() for name, count in here.items()}, "beside": _plain(there)}))
    else:
        print("\n".join(_lines(here, there)))
    return 0


def _counted_or_why_not(name: str, checkout: Path) -> Count | str:
    """Another checkout may lack a path, or have it under other names."""
    try:
        return count_path(name, checkout)
    except RuntimeError as error:
        return str(error)


def _plain(counts: Mapping[str, Count | str]) -> dict[str, dict[str, int] | str]:
    return {name: one if isinstance(one, str) else one._asdict() for name, one in counts.items()}


def _lines(here: Mapping[str, Count], there: Mapping[str, Count | str]) -> Iterator[str]:
    """One row for each path; beside another checkout, that one's numbers first, and then the ratio."""
    yield f"{'':<36}" + "".join(f"{field:>22}" for field in Count._fields)
    for name, count in here.items():
        other = there.get(name)
        if isinstance(other, Count):
            cells = [_change(old, new) for old, new in zip(other, count, strict=True)]
        else:
            cells = [f"{number:,}" for number in count]
        yield f"{name:<36}" + "".join(f"{cell:>22}" for cell in cells)
        if isinstance(other, str):
            yield f"{'':<4}does not run there: {other}"


def _change(old: int, new: int) -> str:
    ratio = f" ({new / old:.2f})" if old else ""
    return f"{old:,} -> {new:,}{ratio}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.paths", description=__doc__)
    parser.add_argument("--beside", type=_checkout, metavar="CHECKOUT", help="another checkout of this repository")
    parser.add_argument(
        "--without",
        nargs="+",
        default=[],
        metavar="FILES",
        help="files of the library to leave out, such as store/held*",
    )
    parser.add_argument("--json", action="store_true")
    # Each path has a process of its own.
    parser.add_argument("--worker", choices=PATHS, help=argparse.SUPPRESS)
    parser.add_argument("--checkout", type=Path, default=ROOT, help=argparse.SUPPRESS)
    return parser


def _checkout(text: str) -> Path:
    path = Path(text).resolve()
    if not (path / "src" / "foveate" / "__init__.py").exists():
        raise argparse.ArgumentTypeError(
            f"{text} is not a checkout: it has no src/foveate; `git worktree add` makes one"
        )
    return path


if __name__ == "__main__":
    sys.exit(main())
