"""The ways in: one file gives the same sessions, notes and refusals, whichever way it comes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

import foveate
from foveate.cli.main import app
from foveate.errors import FoveateError
from foveate.importers.entries import Opening, Spoken
from foveate.importers.events import events_of
from foveate.importers.recording import Recording, recording_of, recordings
from foveate.lab.sources import sources_in
from foveate.log.messages import MessageMeta, text_message
from foveate.store import Store
from foveate.web.bringing import bring
from tests.api.serving import asking
from tests.importers.logs import NEEDS_DATA, lines, recorded


class Came(NamedTuple):
    """What came of a file: sessions with their messages, broken places, notes, and why it was refused."""

    format: str = ""
    sessions: tuple[tuple[str, int], ...] = ()
    skipped: int = 0
    notes: tuple[str, ...] = ()
    refusal: str = ""


class Way(NamedTuple):
    """A way in, and whether it can be told to refuse what is broken."""

    come: Callable[[Path, Path, bool], Came]
    strict: bool = True


def by_command(file: Path, store: Path, lenient: bool) -> Came:
    return _by_command(file, store, lenient, str(file), b"")


def by_pipe(file: Path, store: Path, lenient: bool) -> Came:
    return _by_command(file, store, lenient, "-", file.read_bytes())


def _by_command(file: Path, store: Path, lenient: bool, source: str, piped: bytes) -> Came:
    options = ["--lenient"] if lenient else []
    done = CliRunner().invoke(app, ["import", source, "--json", "--store", str(store), *options], input=piped)
    (said,) = json.loads(done.stdout)
    refusal = _plain(said["error"], file) if said["error"] else ""
    return _came(said, file, refusal)


def by_upload(file: Path, store: Path, lenient: bool) -> Came:
    with asking(store) as client:
        query = {"name": file.name, "lenient": lenient}
        answer = client.post("/api/sessions/import", content=file.read_bytes(), params=query)
    if answer.is_success:
        return _came(answer.json(), file)
    return Came(refusal=_plain(answer.json()["error"], file))


def by_page(file: Path, store: Path, lenient: bool) -> Came:
    Store(store).close()
    try:
        brought = bring(lambda _text, _share: None, f"sqlite:///{store}", str(file), file.name)
    except FoveateError as error:
        return Came(refusal=_plain(str(error), file))
    with Store(store) as opened:
        sessions = tuple((name, opened.session(name).messages) for name, *_ in brought.sessions)
    notes = tuple(note.replace(str(file), file.name) for note in brought.notes)
    return Came(brought.format, sessions, brought.skipped, notes)


def by_replay(file: Path, _store: Path, lenient: bool) -> Came:
    found: list[Recording] = []
    try:
        for source in sources_in([file], lenient=lenient):
            found += source.load()
    except FoveateError as error:
        return Came(refusal=_plain(str(error), file))
    return Came(found[0].format, tuple((one.session, len(one.messages)) for one in found))


def _came(said: dict[str, Any], file: Path, refusal: str = "") -> Came:
    if refusal:
        return Came(refusal=refusal)
    sessions = tuple((one["session_id"], one["messages"]) for one in said["sessions"])
    notes = tuple(note.replace(str(file), file.name).replace("standard input", file.name) for note in said["notes"])
    return Came(said["format"], sessions, len(said["skipped"]), notes)


def _plain(error: str, file: Path) -> str:
    """A refusal without what is said of a remedy, and with one name for the file."""
    error = error.replace(str(file), file.name).replace("standard input", file.name)
    return error.removeprefix(f"{file.name}: ").removeprefix(f"{file.name}, ").partition(";")[0]


WAYS = {
    "command": Way(by_command),
    "pipe": Way(by_pipe),
    "upload": Way(by_upload),
    "page": Way(by_page, strict=False),
    "replay": Way(by_replay),
}


def exported(messages: int = 2) -> bytes:
    session = foveate.Session(budget=8_000, system="Be kind.", session_id="s-1")
    for number in range(messages):
        session.extend([{"role": "user", "content": f"你好 {number}"}, {"role": "assistant", "content": "Hi."}])
        session.compile()
    return session.dump()


def chat(*texts: str) -> bytes:
    roles = ("user", "assistant")
    return json.dumps([{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]).encode()


def runs(count: int) -> bytes:
    history = [
        {"action": "message", "args": {"content": "fix it"}, "source": "user"},
        {"action": "message", "args": {"content": "done"}, "source": "agent"},
    ]
    return lines(*({"instance_id": f"run-{number}", "history": history} for number in range(count)))


FILES: dict[str, tuple[str, bytes]] = {
    "a chat": ("talk.json", chat("订单?", "42 欧元")),
    "three sessions": ("output.jsonl", runs(3)),
    "an export": ("s-1.jsonl", exported()),
    "an export with a broken line": ("s-1.jsonl", exported().replace(b'"seq":2', b'"seq":oops', 1)),
    "a broken line among runs": ("output.jsonl", runs(1) + b"{broken\n" + runs(2).splitlines(keepends=True)[1]),
    "a broken document": ("talk.json", chat("a", "b")[:-9]),
    "nothing": ("talk.json", b""),
    "another file": ("notes.txt", b"what is this"),
    "a packed file": ("talk.json.gz", b"\x1f\x8b\x08\x00" + b"\x00" * 40),
    "too many values": ("talk.json", b"[" + b"0," * 4_100_000 + b"0]"),
    "bytes": ("talk.json", bytes(range(256)) * 40),
}


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("which", FILES)
def test_a_file_gives_the_same_whichever_way_it_comes(which: str, tmp_path: Path, *, lenient: bool) -> None:
    name, content = FILES[which]
    _compare(tmp_path, name, content, lenient=lenient)


@NEEDS_DATA
@pytest.mark.parametrize("pattern", ["claude_code/**/*.jsonl", "codex/**/*.jsonl", "**/*.traj"])
def test_so_does_a_recorded_log(pattern: str, tmp_path: Path) -> None:
    logs = [path for path in recorded(pattern) if "metadata" not in path.name]
    path = min(logs, key=lambda one: one.stat().st_size)
    content = path.read_bytes()
    _compare(tmp_path, f"run-7{path.suffix}", content, lenient=True)
    _compare(tmp_path, f"run-8{path.suffix}", content[: len(content) * 2 // 3], lenient=True)


def _compare(folder: Path, name: str, content: bytes, *, lenient: bool) -> None:
    file = folder / name
    file.write_bytes(content)
    came: dict[str, Came] = {}
    for way, (come, strict) in WAYS.items():
        if strict or lenient:
            came[way] = come(file, folder / f"{name}-{way}.db", lenient)
    first = came["command"]
    assert first.refusal or first.sessions
    for way, other in came.items():
        if way == "replay":
            # It has no place for broken places and notes.
            other = other._replace(skipped=first.skipped, notes=first.notes)
        if way == "pipe":
            # It has no file that a session without a name could go by.
            counts = tuple((name, many) for (_, many), (name, _) in zip(other.sessions, first.sessions, strict=True))
            other = other._replace(sessions=counts)
        assert other == first, way


def test_an_export_without_a_message_is_a_session_all_the_same(tmp_path: Path) -> None:
    """It has its framing, wherever it comes in; a log of another program in which nothing was said is refused."""
    file = tmp_path / "s-1.jsonl"
    file.write_bytes(foveate.Session(system="Be kind.", session_id="s-1").dump())
    for way in (by_command, by_pipe, by_upload, by_page, by_replay):
        assert way(file, tmp_path / f"{way.__name__}.db", True) == Came("foveate", (("s-1", 0),))
    empty = tmp_path / "talk.json"
    empty.write_bytes(b"[]")
    for way in (by_command, by_pipe, by_upload, by_page):
        assert way(empty, tmp_path / f"{way.__name__}.db", True).refusal == "there is no message in it"


def test_what_cannot_be_read_of_an_export_costs_its_calls_and_no_message(tmp_path: Path) -> None:
    """Leniency holds for own exports as for the logs of others: what was said comes in, with what is missing named."""
    name, content = FILES["an export with a broken line"]
    file = tmp_path / name
    file.write_bytes(content)
    came = by_command(file, tmp_path / "a.db", True)
    assert (came.sessions, came.skipped) == ((("s-1", 3),), 2)
    assert "its messages came in, its calls did not" in came.notes[0]
    with Store(tmp_path / "a.db") as store:
        assert store.session("s-1").calls == 0


@NEEDS_DATA
@pytest.mark.parametrize("pattern", ["claude_code/**/*.jsonl", "codex/**/*.jsonl", "**/*.traj"])
def test_a_session_of_a_store_is_the_recording_that_its_log_is(pattern: str, tmp_path: Path) -> None:
    """Replayed from the store or from the file, it is the same session."""
    logs = [path for path in recorded(pattern) if "metadata" not in path.name]
    path = min(logs, key=lambda one: one.stat().st_size)
    (source,) = sources_in([path], lenient=True)
    by_command(path, tmp_path / "a.db", True)
    with Store(tmp_path / "a.db") as store:
        for one in source.load():
            info = store.session(one.session)
            kept = recording_of(one.session, store.reader(info).events(0, info.events))
            assert [(m.role, m.text, m.calls) for m in kept.messages] == [
                (m.role, m.text, m.calls) for m in one.messages
            ]
            assert (kept.system, kept.model, list(kept.tools)) == (one.system, one.model, list(one.tools))
            assert (kept.times, kept.compactions, kept.parent) == (one.times, one.compactions, one.parent)
            assert list(kept.calls()) == list(one.calls())


def test_a_session_of_a_store_knows_the_one_that_it_was_started_by() -> None:
    said = {name: Spoken(session=name, message=text_message("", "user", "x", MessageMeta())) for name in ("a", "a/b")}
    entries = [Opening(session="a"), said["a"], Opening(session="a/b", parent="a"), said["a/b"]]
    events = list(events_of(entries))
    for recording in recordings(entries):
        kept = recording_of(recording.session, (one for one in events if one.session == recording.session))
        assert kept.parent == recording.parent
