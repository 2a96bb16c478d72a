"""Peers: other people's context management, each behind its adapter in an environment of its own."""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count as numbers
from pathlib import Path
from typing import IO, Any, Final

from foveate.errors import FoveateError
from foveate.lab.chat import Chat, calls_of, content_of
from foveate.lab.contestants import Contestant, Feed, Made, Opening, Step

FOLDER: Final = Path(__file__).parent / "peers"
# To make an environment that is not there yet, over a slow line.
SETUP_SECONDS: Final = 900
# A call that takes longer is given up, and the session with it.
STEP_SECONDS: Final = 120


class PeerError(Exception):
    """A peer could not run, or went wrong at a call."""


class TooSlowError(PeerError):
    """A peer was given up for the time it takes; what it would have answered is not known."""


class AdapterError(FoveateError):
    """An adapter of ours went wrong, which must not count as its peer's failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerArm:
    """One way to call a peer, as its adapter describes it."""

    name: str
    call: str
    knows_budget: bool = True
    is_default: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A peer: its versions and arms, or the reason why it cannot run."""

    name: str
    adapter: str
    versions: dict[str, str] = field(default_factory=dict)
    arms: tuple[PeerArm, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed(Made):
    """A request of a peer, and the seconds that the peer itself took."""

    seconds: float


def adapters(folder: Path = FOLDER) -> list[Path]:
    """The adapter files, one for each peer."""
    return sorted(folder.glob("with_*.py"))


def peer_of(adapter: Path) -> Peer:
    """What an adapter offers; makes its environment if it is not there yet."""
    name = adapter.stem.removeprefix("with_").replace("_", "-")
    try:
        hello = _process(adapter).ask({"do": "hello"}, SETUP_SECONDS)
    except PeerError as error:
        return Peer(name=name, adapter=adapter.name, reason=str(error))
    return Peer(
        name=hello["peer"],
        adapter=adapter.name,
        versions=hello["versions"],
        arms=tuple(PeerArm(**arm) for arm in hello["arms"]),
    )


def contestants(peer: Peer, folder: Path = FOLDER) -> list[Contestant]:
    """The arms of a peer, to be replayed like any other policy."""
    return [
        Contestant(
            name=f"{peer.name}-{arm.name}",
            kind="own",
            description=arm.call,
            start=partial(_start, folder / peer.adapter, arm.name),
        )
        for arm in peer.arms
    ]


def plain(chat: Chat, names: dict[str, str]) -> Chat:
    """A message as peers get it: texts only; `names` maps calls to the tools called, and learns of new ones."""
    message: Chat = {"role": chat["role"], "content": content_of(chat)}
    if chat["role"] == "tool":
        message["tool_call_id"] = chat.get("tool_call_id", "")
        message["name"] = names.get(message["tool_call_id"], "unknown")
    called = calls_of(chat)
    if called:
        names.update((item["id"], item["function"]["name"]) for item in called)
        message["tool_calls"] = [
            {"id": item["id"], "type": "function", "function": dict(item["function"])} for item in called
        ]
    return message


def memory(adapter: Path) -> float:
    """Megabytes that a peer's process holds now."""
    return float(_process(adapter).ask({"do": "memory"}, STEP_SECONDS)["megabytes"])


def _start(adapter: Path, arm: str, opening: Opening) -> Feed:
    process = _process(adapter)
    lane = process.open(arm, opening)
    head = opening.head()
    log: list[Chat] = []
    names: dict[str, str] = {}
    # What a peer made, by what it says: the same text at the next call is the same message.
    made: dict[str, Chat] = {}

    def message(referred: int | Chat) -> Chat:
        if isinstance(referred, int):
            return head[0] if referred < 0 else log[referred]
        return made.setdefault(json.dumps(referred, sort_keys=True), referred)

    def feed(step: Step) -> Made:
        new = [plain(chat, names) for chat in step.chats]
        log.extend(step.chats)
        reply = process.ask({"do": "step", "lane": lane, "new": new}, STEP_SECONDS)
        return Timed(chats=[message(one) for one in reply["request"]], seconds=reply["seconds"])

    return feed


class _Process:
    """A running adapter; one that died or took too long is not asked again."""

    _lanes = numbers()

    def __init__(self, adapter: Path) -> None:
        self._adapter = adapter
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  as long as the process
        self._process = subprocess.Popen(
            environment_command(adapter),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONHASHSEED": "0"},
        )
        self._gone = ""
        self._kind: type[PeerError] = PeerError
        self._open: list[str] = []

    @property
    def is_gone(self) -> bool:
        return bool(self._gone)

    def open(self, arm: str, opening: Opening) -> str:
        lane = str(next(self._lanes))
        asked = {"do": "open", "lane": lane, "arm": arm, "system": opening.system, "budget": opening.room}
        self.ask(asked, STEP_SECONDS)
        self._open.append(lane)
        return lane

    def close_lanes(self) -> None:
        while self._open:
            lane = self._open.pop()
            if not self._gone:
                self.ask({"do": "close", "lane": lane}, STEP_SECONDS)

    def ask(self, asked: dict[str, Any], seconds: float) -> dict[str, Any]:
        if self._gone:
            raise self._kind(self._gone)
        stdin, stdout = _pipes(self._process)
        try:
            stdin.write(json.dumps(asked).encode() + b"\n")
            stdin.flush()
            line = self._line(stdout, seconds)
        except TimeoutError as error:
            self._kind = TooSlowError
            self.end(f"{asked['do']}: {error}")
            raise self._kind(self._gone) from error
        except BrokenPipeError as error:
            self.end(f"{asked['do']}: {error}")
            raise self._kind(self._gone) from error
        reply: dict[str, Any] = json.loads(line)
        if "defect" in reply:
            raise AdapterError(f"the adapter {self._adapter} went wrong, not its peer: {reply['defect']}; correct it")
        if "error" in reply:
            raise PeerError(reply["error"])
        return reply

    def end(self, reason: str = "ended") -> None:
        """End the process; whoever asks it later gets the reason."""
        if self._gone:
            return
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._gone = f"{reason}; {self._last_words()}".rstrip("; ")
        self._errors.close()
        for pipe in _pipes(self._process):
            # What could not be handed over any more is lost with the process.
            with suppress(BrokenPipeError):
                pipe.close()

    def _line(self, stdout: IO[bytes], seconds: float) -> bytes:
        parts: list[bytes] = []
        while True:
            if not select.select([stdout], [], [], seconds)[0]:
                raise TimeoutError(f"no answer within {seconds} seconds")
            part = os.read(stdout.fileno(), 1 << 20)
            if not part:
                raise BrokenPipeError("it ended")
            parts.append(part)
            if part.endswith(b"\n"):
                return b"".join(parts)

    def _last_words(self) -> str:
        self._errors.seek(0)
        return " ".join(self._errors.read().decode(errors="replace").split())[-400:]


_running: dict[Path, _Process] = {}


def _process(adapter: Path) -> _Process:
    known = _running.get(adapter)
    if known is None or known.is_gone:
        known = _running[adapter] = _Process(adapter)
    return known


def end_lanes() -> None:
    """Let the adapters of this process forget the sessions they were given."""
    for process in _running.values():
        process.close_lanes()


@atexit.register
def end_all() -> None:
    """End the adapters of this process."""
    for process in _running.values():
        process.end()
    _running.clear()


def environment_command(adapter: Path) -> list[str]:
    """The command that runs an adapter in the environment that it asks for."""
    uv = shutil.which("uv")
    if uv is None:
        raise PeerError("`uv` is not installed; peers need it for their environments: `pip install uv`")
    return [uv, "run", "--quiet", "--script", str(adapter)]


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout
