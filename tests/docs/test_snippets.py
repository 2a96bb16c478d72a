"""What the README and the documentation show is run: every snippet, every command, every example.

A ```text title="output" block right behind a snippet or command is its output, and must stay so; a block whose title is
the name of a file is written to it. After an intended
change, `FOVEATE_UPDATE_DOCS=1 uv run pytest tests/docs` writes the new outputs into the pages.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from bench.provider import Script, serve
from tests.docs.speaking import speaking
from tests.scripted_model import scripted_model

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SCRIPTS = Path(sys.executable).parent
UPDATE = os.environ.get("FOVEATE_UPDATE_DOCS") == "1"

RUN = ("foveate ", "uv run foveate ", "curl ")
# It goes on until somebody ends it; pages that ask a server have it running, at another port.
SERVE = "foveate serve"
# They need agents, or one that goes on until it is ended; `tests/gateway` runs both.
WITH_AGENTS = ("foveate run ", "foveate gateway")
ADDRESS = "127.0.0.1:8417"
EXAMPLE = "uv run python "
# Every command on a page is run or stands here with the reason why not.
NOT_RUN = {
    "npm install": "installs",
    "pip install mini-swe-agent": "installs",
    "pip install uv && uv run foveate serve": "installs, and goes on until it is ended; has tests of its own",
    "uv run foveate serve": "goes on until it is ended; has tests of its own",
    "git clone": "needs a network",
    "uv sync": "installs",
    "uv run pytest": "would run itself",
    "FOVEATE_UPDATE_DOCS=1 uv run pytest tests/docs": "would run itself",
    "uv run ruff": "a check of its own",
    "uv run mypy": "a check of its own",
    "uv run basedpyright": "a check of its own",
    "uv run lint-imports": "a check of its own",
    "make fuzz": "takes many minutes",
    "make frameworks": "makes environments; tests run those that share one",
    "make attack": "takes hours; its tests run each class in a small size",
    "uv run python -m tests.attack": "takes minutes; its tests run each class in a small size",
    "git worktree add": "needs a clone with its history",
    "PYTHONPATH=../foveate-0.1/src uv run python -m tests.attack.probes": "needs a clone with its history",
    "make bench": "takes many minutes, and wants recorded sessions",
    "make check": "the checks have tests of their own",
    "make docs": "wants the documentation's dependencies",
    "uv run --group docs mkdocs": "wants the documentation's dependencies",
    "uv run python -m bench.": "takes many minutes, and wants recorded sessions",
    "uv run --group bench python -m bench.": "takes many minutes; tests run the smaller ones in small",
    "uv run --group bench foveate-bench": "takes many minutes; tests of the benchmark run each command with `--quick`",
}


# Their packages have environments of their own, where `make frameworks` runs their snippets.
ELSEWHERE = {
    f"docs/recipes/{name}.md" for name in ("google-adk", "strands", "agent-framework", "litellm", "claude-agent-sdk")
}


class Block(NamedTuple):
    """A fenced block: its language, its text, and the output shown behind it."""

    page: Path
    line: int
    language: str
    file: str | None
    text: str
    output: str | None

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


_FENCE = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<file>[^"]*)")?[^\n]*\n(?P<text>.*?)^```$(?:\s*^```text title="output"\n(?P<output>.*?)^```$)?',
    re.MULTILINE | re.DOTALL,
)


def blocks(page: Path) -> Iterator[Block]:
    source = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(source):
        line = source.count("\n", 0, found.start()) + 1
        yield Block(page, line, found["language"], found["file"], found["text"], found["output"])


def commands() -> list[tuple[Block, str]]:
    found = []
    for page in PAGES:
        for block in blocks(page):
            if block.language in ("console", "bash"):
                for line in block.text.splitlines():
                    command = line.removeprefix("$ ").split("  #")[0].strip()
                    if command and not command.startswith("#"):
                        found.append((block, command))
    return found


COMMANDS = commands()
# What a command prints that needs nothing but itself; several pages show the same.
PRINTED: dict[str, str] = {}
# Where the server of a page is.
SERVED: dict[Path, str] = {}


def runnable(block: Block) -> list[str]:
    plain = [command.removeprefix("uv run ") for one, command in COMMANDS if one == block and command.startswith(RUN)]
    return [command for command in plain if not command.startswith((SERVE, *WITH_AGENTS))]


def servers(block: Block) -> list[str]:
    """The servers that a block starts, if its page asks them something."""
    is_asked = any(one.page == block.page and command.startswith("curl ") for one, command in COMMANDS)
    return [command for one, command in COMMANDS if one == block and command.startswith(SERVE) and is_asked]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Snippets and commands of a page run in order, in one directory, and print what the page shows."""
    monkeypatch.chdir(tmp_path)
    # Settings are looked for up to the home folder, and nobody's own may show on a page.
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FOVEATE_STORE", str(tmp_path / "context.db"))
    (tmp_path / "chat.json").write_text('[{"role": "user", "content": "Hello"}]', encoding="utf-8")
    namespace: dict[str, object] = {"__name__": "__page__"}
    with contextlib.ExitStack() as stack:
        asks_provider = "recipes" in page.parts or "foveate.wrap(" in page.read_text(encoding="utf-8")
        if asks_provider:
            for name, value in provider_environment(stack.enter_context(serve(Script([]))).address).items():
                monkeypatch.setenv(name, value)
        if any(words in page.read_text(encoding="utf-8") for words in ("foveate work run", "foveate chat", SERVE)):
            model = stack.enter_context(scripted_model(speaking))
            for name, value in {**model.environment, "FOVEATE_MODEL": "openai-chat:scripted"}.items():
                monkeypatch.setenv(name, value)
        run_blocks(page, tmp_path, namespace, stack)


def provider_environment(address: str) -> dict[str, str]:
    """Where the clients of a page find a provider."""
    return {
        "OPENAI_BASE_URL": f"{address}/v1",
        "ANTHROPIC_BASE_URL": address,
        "GOOGLE_GEMINI_BASE_URL": address,
        **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), "none-is-needed"),
    }


def run_blocks(page: Path, tmp_path: Path, namespace: dict[str, object], stack: contextlib.ExitStack) -> None:
    for block in blocks(page):
        if block.file is not None and "." in block.file:
            (tmp_path / block.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        if block.language == "python" and str(page.relative_to(ROOT)) in ELSEWHERE:
            continue
        if block.language == "python":
            printed = io.StringIO()
            code = compile("\n" * block.line + block.text, str(page), "exec", dont_inherit=True)
            with contextlib.redirect_stdout(printed):
                exec(code, namespace)  # noqa: S102  the page's own code
            compare(block, printed.getvalue())
            continue
        for command in servers(block):
            SERVED[page] = stack.enter_context(served(command, tmp_path))
        outputs = [run(command, block, tmp_path) for command in runnable(block)]
        if len(outputs) == 1 and len(block.text.splitlines()) == 1:
            compare(block, outputs[0])


@contextlib.contextmanager
def served(command: str, directory: Path) -> Iterator[str]:
    """The address of a server that a page starts; at a port that is free, as the usual one may be taken."""
    started = subprocess.Popen(
        [str(SCRIPTS / "foveate"), *command.split()[1:], "--port", "0", "--no-open"],
        cwd=directory,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert started.stdout is not None
        yield started.stdout.readline().partition("http://")[2].strip().rstrip("/")
    finally:
        started.terminate()
        started.communicate(timeout=30)


def run(command: str, block: Block, directory: Path) -> str:
    """What a command prints that works as it stands on a page, through the installed script."""
    if "--sample" in command and "import" not in command and command in PRINTED:
        return PRINTED[command]
    path = os.pathsep.join([str(SCRIPTS), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command.replace(ADDRESS, SERVED.get(block.page, ADDRESS))],
        cwd=directory,
        env={**os.environ, "PATH": path, "COLUMNS": "160", "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{block.place}: {command}\n{done.stderr[-2000:]}"
    assert done.stdout.strip() or ">" in command, f"{block.place}: {command} prints nothing"
    # To curl, a failure that is answered is none.
    is_error = command.startswith("curl ") and done.stdout.startswith('{"error"')
    assert not is_error or block.output is not None, f"{block.place}: {command}\n{done.stdout}"
    PRINTED[command] = done.stdout
    return done.stdout


def test_every_command_is_run_or_excused() -> None:
    """A command that no test runs is one that somebody decided not to run."""
    unknown = [
        f"{block.place}: {command}"
        for block, command in COMMANDS
        if not command.startswith(RUN)
        and ROOT / command.removeprefix(EXAMPLE) not in EXAMPLES  # those have a test of their own, below
        and not any(command.startswith(known) for known in NOT_RUN)
    ]
    assert unknown == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example(example: Path, tmp_path: Path) -> None:
    """Every example runs by itself, from anywhere, and warns of nothing."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip()


def test_every_decision_is_listed() -> None:
    """A decision nobody can find was not recorded."""
    listed = (ROOT / "docs" / "decisions" / "index.md").read_text(encoding="utf-8")
    files = {path.name for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md")}
    assert files
    assert {name for name in files if name not in listed} == set()


def compare(block: Block, printed: str) -> None:
    if block.output is None or trimmed(printed) == trimmed(block.output):
        return
    if UPDATE:
        source = block.page.read_text(encoding="utf-8")
        shown = f'```text title="output"\n{block.output}```'
        assert source.count(shown) == 1, f"{block.place}: the same output stands twice on the page"
        fresh = f'```text title="output"\n{trimmed(printed)}\n```'
        block.page.write_text(source.replace(shown, fresh), encoding="utf-8")
        return
    assert trimmed(printed) == trimmed(block.output), f"{block.place}: FOVEATE_UPDATE_DOCS=1 writes the new output"


def trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
