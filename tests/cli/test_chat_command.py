"""`foveate chat` from the outside, with a model that follows a script: what is said, every command, every failure."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event

import pytest
from typer.testing import CliRunner, Result

from foveate.cli.main import app
from foveate.store import Store
from tests.chat.script import FAILURES, Failure, Scene
from tests.scripted_model import ScriptedModel, scripted_model
from tests.store.locking import locked

FOVEATE = str(Path(sys.executable).with_name("foveate"))
MODEL = "openai-chat:scripted"


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path / "vault", tmp_path / "s" / "context.db")
    scene.vault.mkdir()
    yield scene
    scene.over.set()


@pytest.fixture
def model(tmp_path: Path, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModel]:
    """A model, and a folder with a vault where nothing of the person who runs the test is touched."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("FOVEATE_", "XDG_"))]:
        monkeypatch.delenv(name)
    (scene.vault / "note.md").write_text("Buy lemons.\n")
    with scripted_model(scene.reply) as running:
        given = {**running.environment, "FOVEATE_STORE": str(scene.store), "FOVEATE_MODEL": MODEL}
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        yield running


def chat(*lines: str, options: tuple[str, ...] = ()) -> Result:
    done = CliRunner().invoke(app, ["chat", *options], input="".join(f"{line}\n" for line in lines))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def in_order(output: str, *pieces: str) -> None:
    place = 0
    for piece in pieces:
        found = output.find(piece, place)
        assert found >= 0, f"{piece!r} is not behind {output[:place][-80:]!r} in:\n{output}"
        place = found + len(piece)


def test_a_chat_through_a_pipe_knows_every_command(model: ScriptedModel, tmp_path: Path) -> None:
    """What is said is answered, tools are shown, and each command says what it did."""
    lines = ["I am Ada and never eat onions.", "read my note", "/context", "/why m1", "/pin m1", "/unpin m1"]
    lines += [
        "/recall m1",
        "/recall onions",
        "/recall zebra",
        "/endless",
        "/endless on",
        "/template",
        "/template coding",
    ]
    lines += ["你好", "/endless off", " /etc/hosts is a path", "/nonsense", "/transcript", "/help", "/quit", "unsaid"]
    done = subprocess.run(
        [FOVEATE, "chat", "--vault", "vault"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"{MODEL} answers" in done.stderr
    in_order(
        done.stdout,
        "chat chat · 0 messages · plain history · /help",
        "You said: I am Ada",
        '→ read_file {"path": "note.md"}',
        "← read_file: Buy lemons.",
        "It says: Buy lemons.",
        "tokens of 16,000",
        "verbatim",
        "m1 is verbatim",
        "m1 stands in every request",
        "m1 may be reduced again",
        "I am Ada and never eat onions.",
        "m1: I am Ada",
        "nothing was said about that",
        "endless mode is off",
        "endless, chat",
        "• chat (system)",
        "endless, coding",
        "You said: 你好",
        "the history is sent",
        "You said: /etc/hosts is a path",
        "there is no /nonsense",
        "# Session `chat`",
        "> 你好",
        "/vault/AssistantMD/Chats/chat.md",
        "/retry",
    )
    written = (tmp_path / "vault" / "AssistantMD" / "Chats" / "chat.md").read_text(encoding="utf-8")
    assert "I am Ada and never eat onions." in written
    assert "unsaid" not in written, "what stands behind /quit is not said"


def test_every_command_of_the_help_is_there_and_asks_for_what_it_misses(model: ScriptedModel) -> None:
    told = chat("hello", "/help").stdout
    named = re.findall(r"^(/\w+)|, (/\w+)", told, re.MULTILINE)
    commands = sorted({one or other for one, other in named} - {"/quit"})
    assert {"/context", "/why", "/pin", "/unpin", "/recall", "/endless", "/template", "/transcript"} < set(commands)
    said = chat(*commands).stdout
    assert "there is no /" not in said
    for command in ("/why", "/pin", "/unpin"):
        assert f"which message? give its id, such as {command} m3" in said
    assert len(model.received) == 1, "no command asks the model unless an answer is missing"


def test_a_chat_in_which_nothing_was_said_has_nothing_to_show_and_nothing_to_answer(model: ScriptedModel) -> None:
    done = chat("/context", "/why m1", "/pin nothing", "/unpin", "/recall m1", "/retry", "", "   ")
    assert done.exit_code == 0
    assert re.search(r"[1-9]\d* tokens of 16,000; [1-9]\d* are instructions", done.stdout), "of the system prompt"
    in_order(done.stdout, "tokens of 16,000", "nothing was said yet", "nothing was said yet", "no message 'm1'")
    assert "there is nothing to be answered" in done.stdout
    assert model.received == []


def test_a_failed_answer_is_told_and_can_be_asked_for_again(model: ScriptedModel) -> None:
    """What was said is kept; a pipe's exit code says whether the last input was answered."""
    failed = chat("this will fail")
    assert failed.exit_code == 1
    in_order(failed.stdout, "✗ the model", "the script fails", "what was said is kept; /retry asks again")
    again = chat("/retry", "something else")
    assert again.exit_code == 0
    in_order(again.stdout, "1 message", "✗ the model", "You said: something else")
    assert [message["role"] for message in model.received[-1]["messages"]].count("user") == 2


def test_an_endless_chat_goes_on_with_its_own_template(model: ScriptedModel) -> None:
    """Off and on again, also in another process, it is the template it had."""
    in_order(chat("/template coding", "/endless off", "/endless on").stdout, "endless, coding", "endless, coding")
    assert "plain history" in chat(options=("--no-endless",)).stdout
    assert "endless, coding" in chat(options=("--endless",)).stdout
    assert "endless, research" in chat(options=("--template", "research")).stdout
    assert "endless, research" in chat().stdout
    both = chat(options=("--template", "chat", "--no-endless"))
    assert (both.exit_code, "leave out `--no-endless`" in both.stderr) == (2, True)


def test_an_endless_chat_at_a_small_budget_shows_its_summary(model: ScriptedModel) -> None:
    turns = [f"Turn {turn}: my cat number {turn} is called Cat{turn} and must never eat onions." for turn in range(12)]
    done = chat(*turns, "/context", "/why m1", options=("--endless", "--budget", "700"))
    assert done.exit_code == 0, done.stdout
    made = re.findall(r"^(\w+\.(?:summary|recall)) ", done.stdout, re.MULTILINE)
    assert made
    last = chat(*(f"/why {one}" for one in made), "/why r99.summary", "/pin m24", "/why m24", "/context").stdout
    for one in made:
        assert f"{one} was made for the model" in last
    in_order(last, "Context summary (compiled):", ">## Topic\n>Cats.\n", ">## Decisions")
    assert "no message 'r99.summary'" in last
    assert re.search(r"^m24 is .*; it is pinned$", last, re.MULTILINE)
    assert re.search(r"^m24 .* verbatim, pinned ", last, re.MULTILINE)
    assert re.search(r"summarised\s+1", done.stdout)
    assert "Context summary (compiled): (a model wrote this; " in done.stdout
    in_order(done.stdout, "m1 is summarised in")


def test_a_template_that_breaks_while_one_chats_costs_no_answer(model: ScriptedModel, tmp_path: Path) -> None:
    mine = tmp_path / "vault" / "AssistantMD" / "ContextTemplates" / "mine.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("Mine: {{ topic }}\n")

    def edit(number: int) -> None:
        mine.write_text({1: "---\n: [\n---\nMine", 2: "Mine: {{ topic"}.get(number, "Mine: {{ topic }}\n"))

    model.before = edit
    done = chat("one", "two", "three", "four", options=("--vault", "vault", "--template", "mine"))
    in_order(
        done.stdout,
        "You said: one",
        "! template_load (vault:mine)",
        "the front matter cannot be read",
        "You said: two",
        "the form cannot be filled in",
        "You said: three",
        "You said: four",
    )


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.name)
def test_each_failure_costs_no_answer_and_is_seen(
    failure: Failure, scene: Scene, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in failure.environment.items():
        monkeypatch.setenv(name, value)
    scene.write_template(failure.template)
    before = chat("I have cats.", "No onions for them.", options=("--vault", "vault", "--template", "mine"))
    assert "\n! " not in before.stdout
    failure.cause(scene)
    done = chat("What may they eat?", options=("--vault", "vault"))
    assert done.exit_code == 0
    assert "You said: What may they eat?" in done.stdout
    where = f" ({failure.subject})" if failure.subject else ""
    in_order(done.stdout, f"! {failure.phase}{where}: ", failure.said)
    kept = scene.diagnostics("chat")[-1]
    assert (kept.code, kept.phase, kept.subject) == (failure.code, failure.phase, failure.subject)


def test_a_transcript_that_cannot_be_written_costs_nothing_but_itself(model: ScriptedModel, tmp_path: Path) -> None:
    """The chat goes on and says so; the log has it once."""
    (tmp_path / "vault" / "AssistantMD").write_text("a file where the folder would be")
    for _ in range(2):
        done = chat("hello", "/transcript", options=("--vault", "vault"))
        assert done.exit_code == 0
        in_order(
            done.stdout, "! transcript (", "/vault/AssistantMD/Chats/chat.md)", "cannot be written", "You said: hello"
        )
        assert "it is in" not in done.stdout
    with Store(tmp_path / "s" / "context.db") as store:
        info = store.session("chat")
        bodies = [event.body for event in store.reader(info).events(0, info.events)]
    assert sum(getattr(body, "code", "") == "transcript_failed" for body in bodies) == 1


def test_notes_in_a_transcript_are_left_there_and_it_goes_on_beside_them(model: ScriptedModel, scene: Scene) -> None:
    """Said in plain words, while one chats and when one comes back."""
    written = scene.vault / "AssistantMD" / "Chats" / "chat.md"

    def annotate(number: int) -> None:
        if number == 2:
            with written.open("a") as file:
                file.write("My own note.\n")

    model.before = annotate
    done = chat("one", "two", "/transcript", options=("--vault", "vault"))
    in_order(done.stdout, "! transcript (", "chat.md): somebody else wrote in it", "it is in ", "/chat-2.md")
    assert "TranscriptFile" not in done.stdout
    again = chat("three", options=("--vault", "vault"))
    in_order(again.stdout, "the transcript goes on in ", "/chat-2.md", "You said: three")
    assert "\n! " not in again.stdout
    assert written.read_text().endswith("My own note.\n")
    assert "> You said: three" in written.with_name("chat-2.md").read_text()


def test_what_others_wrote_moves_no_cursor(model: ScriptedModel) -> None:
    odd = "red \x1b[31m and \x00 bell \x07 and 한국어"
    done = chat(odd, "/context", "/recall m1", "/transcript")
    assert not {one for one in done.stdout if not one.isprintable()} - {"\n"}
    assert "한국어" in done.stdout


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("FOVEATE_BUDGET", "lots", "`FOVEATE_BUDGET` must be a number of tokens, 500 or more, got 'lots'"),
        ("FOVEATE_ENDLESS", "perhaps", "`FOVEATE_ENDLESS` must be true or false"),
        ("FOVEATE_VAULT", "nowhere", "'nowhere' is no folder"),
        ("FOVEATE_MODEL", "nonsense:x", "the model 'nonsense:x' cannot be asked"),
    ],
)
def test_a_setting_that_cannot_work_is_named(
    model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)
    done = chat("hello")
    assert done.exit_code in (1, 2)
    assert said in done.stderr
    assert model.received == []


def test_an_input_of_a_megabyte_is_refused_with_numbers_and_the_chat_goes_on(model: ScriptedModel) -> None:
    done = chat("word " * 200_000, "still there?")
    in_order(
        done.stdout, "what must be sent needs", "but `budget` is 16000", "larger `--budget`", "You said: still there?"
    )
    assert "/retry" not in done.stdout.partition("\n")[2], "that would fail in the same way"


def test_a_terminal_streams_takes_long_lines_and_can_be_interrupted(model: ScriptedModel, tmp_path: Path) -> None:
    """A pasted text is one message, however long; Ctrl-C stops an answer, not the chat, and a killed one is resumed."""
    asked, free = Event(), Event()

    def slowly(number: int) -> None:
        if number > 2 and not free.is_set():
            asked.set()
            free.wait(30)

    model.before = slowly
    terminal = Terminal([FOVEATE, "chat"])
    terminal.until("› ")
    terminal.type("x" * 9_000 + "end\n")
    terminal.until("You said: xxx")
    terminal.paste("first line\n/quit\nthird line")
    terminal.type("\n")
    terminal.until("You said: first line\r\n/quit\r\nthird line")
    terminal.type("are you slow?\n")
    assert asked.wait(30)
    terminal.type("\x03")
    terminal.until("stopped; what was said is kept, /retry asks again")
    asked.clear()
    terminal.type("/retry\n")
    assert asked.wait(30)
    terminal.kill()
    free.set()
    again = chat("/recall m1", "/retry")
    in_order(
        again.stdout, "5 messages", "no answer yet; /retry asks for it", "x" * 9_000 + "end", "You said: are you slow?"
    )


def test_a_text_pasted_where_lines_cannot_be_edited_is_one_message_too(
    model: ScriptedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without readline nothing says where a paste ends: what is there at once belongs together."""
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "readline.py").write_text("raise ImportError('there is none')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "without"))
    terminal = Terminal([FOVEATE, "chat"])
    terminal.until("› ")
    terminal.paste("/quit\nis a command\n")
    terminal.until("You said: /quit\r\nis a command")
    terminal.until("› ")
    terminal.type("\x04")
    assert terminal.left() == "\r\n"


@pytest.mark.parametrize("key", ["\x03", "\x04"])
def test_whoever_leaves_by_a_key_leaves_the_chats_line(model: ScriptedModel, key: str) -> None:
    """What the shell says next does not stand behind the chat's prompt, nor a line away from it."""
    terminal = Terminal([FOVEATE, "chat"])
    terminal.until("› ")
    terminal.type(key)
    assert terminal.left().replace("\x1b[?2004l", "").lstrip("\r") == "\n"


class Terminal:
    """A program in a terminal of its own."""

    # Ctrl-C goes to the program that a terminal belongs to.
    TAKEN = (
        "import fcntl, os, signal, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        # Who runs the tests in the background has it ignored.
        "signal.signal(signal.SIGINT, signal.SIG_DFL); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )

    def __init__(self, command: list[str]) -> None:
        self._screen, inner = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
        taken = [sys.executable, "-c", self.TAKEN, *command]
        self.process = subprocess.Popen(taken, stdin=inner, stdout=inner, stderr=inner, env=environment)
        os.close(inner)
        self._shown = self._all = b""

    def type(self, keys: str) -> None:
        for start in range(0, len(keys), 1_000):
            os.write(self._screen, keys[start : start + 1_000].encode())
            self._read(0.05)

    def paste(self, text: str) -> None:
        """Give a text as a terminal does: lines end as if typed, and only who asked for it is told where it ends."""
        wanted = self._all.rfind(b"\x1b[?2004h") > self._all.rfind(b"\x1b[?2004l")
        keys = text.replace("\n", "\r")
        self.type(f"\x1b[200~{keys}\x1b[201~" if wanted else keys)

    def until(self, words: str) -> None:
        end = time.monotonic() + 60
        while words.encode() not in self._shown and time.monotonic() < end:
            self._read(0.05)
        assert words.encode() in self._shown, self._shown
        self._shown = self._shown.partition(words.encode())[2]

    def left(self) -> str:
        """What is shown until the program has ended by itself."""
        assert self.process.wait(60) == 0
        with suppress(OSError):
            while read := os.read(self._screen, 65_536):
                self._shown += read
        os.close(self._screen)
        return self._shown.decode()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._screen)

    def _read(self, seconds: float) -> None:
        while select.select([self._screen], [], [], seconds)[0]:
            read = os.read(self._screen, 65_536)
            self._shown += read
            self._all += read


def test_a_locked_store_costs_a_chat_nothing(model: ScriptedModel, scene: Scene) -> None:
    """It is said at once and where the chat is held; the next chat has it, and the model sees it."""
    chat("one")
    with locked(f"sqlite:///{scene.store}"):
        began = time.monotonic()
        done = chat("two", "/endless on", "three")
        # Half a minute for each of them was what it took; the machine may be slow.
        assert time.monotonic() - began < 50
        new = chat("hello", options=("new", "--endless"))
    in_order(
        done.output, "! record: ", "is locked", ".jsonl", "You said: two", "You said: three", "what it lacks is held"
    )
    in_order(new.output, "! record: ", "You said: hello", "what it lacks is held")
    done = chat("four", "/context")
    in_order(done.output, "6 messages · endless", "You said: four", "m1", "m3", "m5", "m7")
    assert not list(scene.store.parent.rglob("*.jsonl"))
    in_order(chat(options=("new",)).output, "chat new · 2 messages")
