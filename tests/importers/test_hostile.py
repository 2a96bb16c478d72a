"""A folder is read with what is in it and nothing else; how large a log is costs no memory."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import subprocess
import sys
import tracemalloc
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.errors import LogError, UnknownFormatError
from foveate.importers.density import has_more_values
from foveate.importers.detection import importer_for
from foveate.importers.entries import Spoken
from foveate.importers.finding import logs_in
from foveate.importers.reading import Recorded, SizeLimits, copy_log, opened
from foveate.log.events import Event, MessageAppended
from foveate.log.messages import Message, Text
from foveate.store import Store
from foveate.store.arrivals import _chunks
from foveate.store.importing import import_log
from tests.importers.hostile import CHAT, attack_import, make_hostile_folder

SMALL = SizeLimits(size=10_500_000, remedy="raise it")


def limited_import(store: Path, *arguments: str, megabytes: int) -> subprocess.CompletedProcess[str]:
    """`foveate import` in a process that may have so much memory and no more."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 1_000_000,) * 2)

    return subprocess.run(
        [sys.executable, "-m", "foveate", "import", *arguments, "--store", str(store)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=limit,
    )


def test_only_regular_files_inside_a_folder_are_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links that lead out, pipes, sockets and devices are left out by name; what is too large is refused by name."""
    monkeypatch.chdir(tmp_path)
    outcome = attack_import(make_hostile_folder(tmp_path / "logs", tmp_path / "outside"), SMALL)
    assert outcome.logs == ("again.json",)
    assert sorted(outcome.left_out) == [
        *("event-00001.json", "nowhere.json", "others", "pipe.jsonl", "proc", "random.log", "root"),
        *("secret.json", "socket.json", "zero.jsonl"),
    ]
    assert sorted(outcome.refused) == ["line.jsonl", "sparse.jsonl"]


def test_the_command_says_what_it_left_out_and_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With little memory, as a device behind a link would otherwise fill all there is."""
    monkeypatch.chdir(tmp_path)
    folder = make_hostile_folder(tmp_path / "logs", tmp_path / "outside")
    ran = limited_import(tmp_path / "a.db", str(folder), megabytes=2_500)
    assert ran.returncode == 1
    said = ran.stderr.replace(f"{folder}/", "")
    assert "left out zero.jsonl: it is a link that leads out of the folder\n" in said
    assert "left out proc: it is a link that leads out of the folder\n" in said
    assert "left out pipe.jsonl: it is a pipe\n" in said
    assert "left out socket.json: it is a socket\n" in said
    assert "left out nowhere.json: it is a link that leads nowhere\n" in said
    assert (
        "foveate: sparse.jsonl: it has 10,000,000,000,000 bytes, and at most 2,000,000,000 bytes of a log are read; "
        "raise `--max-size`, or split it; nothing of it was imported\n"
    ) in said
    with Store(tmp_path / "a.db") as store:
        assert sorted(one.session_id for one in store.sessions()) == ["again", "line"]


def test_a_link_that_is_named_itself_is_followed(tmp_path: Path) -> None:
    """Somebody named it; only what a folder brings with it is suspect. It must be a regular file all the same."""
    (tmp_path / "chat.json").write_bytes(CHAT)
    (tmp_path / "link.json").symlink_to(tmp_path / "chat.json")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.json").write_bytes(CHAT)
    (tmp_path / "named").symlink_to(tmp_path / "folder", target_is_directory=True)
    found = logs_in([tmp_path / "link.json", tmp_path / "zero.json", tmp_path / "named"])
    assert [Path(log.name).name for log in found.logs] == ["link.json", "a.json"]
    [(name, reason)] = found.refused
    assert Path(name).name == "zero.json" and "is no regular file" in reason


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/tty"])
def test_a_device_is_never_opened_as_a_log(device: str) -> None:
    """Not even by a path that was a file when it was looked at."""
    with pytest.raises(LogError, match="cannot read"), opened(Path(device)):
        pytest.fail("it was opened")


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    """It may have been put there since the folder was looked at."""
    os.mkfifo(tmp_path / "a.json")
    with pytest.raises(LogError, match="it is a pipe; give a regular file"), opened(tmp_path / "a.json"):
        pytest.fail("it was opened")


def test_a_line_that_is_too_long_is_refused_or_left_out() -> None:
    """Its number is named, and the lines behind it are read; it is never in memory as a whole."""
    content = b'{"a": 1}\n' + b"x" * 10_200_000 + b'\n{"a": 2}\n'
    limits = SizeLimits(size=20_000_000, remedy="raise it")
    with pytest.raises(LogError, match=r"log, line 2: the line has more than 10,000,000 bytes.*; raise it"):
        list(Recorded(name="log", file=io.BytesIO(content), limits=limits).records())
    log = Recorded(name="log", file=io.BytesIO(content), lenient=True, limits=limits)
    assert [record for _, record in log.records()] == [{"a": 1}, {"a": 2}]
    assert [one.line for one in log.skipped] == [2]
    assert log.read == len(content)


def test_a_document_that_is_too_large_is_refused() -> None:
    """One document has to be in memory as a whole."""
    log = Recorded(name="log", file=io.BytesIO(b"[" + b" " * 10_000_001), limits=SMALL)
    with pytest.raises(LogError, match="one JSON document of more than 10,000,000 bytes, the most; raise it"):
        log.document()


DENSE = b'{"role": "user", "content": "hi", "x": [' + b",".join([b"{}"] * 250_000) + b"]}"


def test_a_line_of_too_many_values_is_refused_or_left_out() -> None:
    """Each value takes hundreds of bytes in memory, however few it has in the file; so values are counted first."""
    content = b'{"n": 1}\n' + DENSE + b'\n{"n": 3}\n'
    with pytest.raises(LogError, match=r"log, line 2: it has more than 400,000 JSON values, .*; raise it"):
        list(Recorded(name="log", file=io.BytesIO(content), limits=SMALL).records())
    log = Recorded(name="log", file=io.BytesIO(content), lenient=True, limits=SMALL)
    assert [record["n"] for _, record in log.records()] == [1, 3]
    assert [one.line for one in log.skipped] == [2]


def test_a_first_line_of_too_many_values_is_left_out_once() -> None:
    """Nobody reads it to find out the format, either; the lines behind it tell that."""
    content = DENSE + b'\n{"role": "user", "content": "Hello"}\n{"role": "assistant", "content": "Hi"}\n'
    with pytest.raises(LogError, match="log, line 1: it has more than 400,000 JSON values"):
        importer_for(Recorded(name="log", file=io.BytesIO(content), limits=SMALL))
    log = Recorded(name="log", file=io.BytesIO(content), lenient=True, limits=SMALL)
    assert len([one for one in importer_for(log).read(log) if isinstance(one, Spoken)]) == 2
    assert [one.line for one in log.skipped] == [1]


def test_a_document_of_too_many_values_is_refused() -> None:
    """Before it is decoded: one of some megabytes would take a gigabyte."""
    log = Recorded(name="log", file=io.BytesIO(b"[" + DENSE + b"]"), limits=SMALL)
    tracemalloc.start()
    with pytest.raises(LogError, match=r"log: it has more than 400,000 JSON values, .*; raise it"):
        log.document()
    assert tracemalloc.get_traced_memory()[1] < 8_000_000
    tracemalloc.stop()


def test_commas_and_brackets_in_strings_are_no_values() -> None:
    """A log of code and of JSON in strings is as large as its bytes, and is read."""
    text = json.dumps({"role": "user", "content": "[{,:\\" * 150_000}).encode()
    assert len(list(Recorded(name="log", file=io.BytesIO(text), limits=SMALL).records())) == 1


@given(
    st.recursive(
        st.text(r"a\",[{:é" + "\n", max_size=6), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_values_are_counted_wherever_a_chunk_ends(value: object) -> None:
    """As many as there are marks of structure outside of strings, whatever is escaped inside of them."""
    data = json.dumps(value).encode()
    count = len(re.findall(rb"[\[{,:]", re.sub(rb'"(?:[^"\\]|\\.)*"', b"", data)))
    for chunk in (1, 2, 7, 262_144):
        assert not has_more_values(data, count, chunk=chunk)
        assert not count or has_more_values(data, count - 1, chunk=chunk)


def test_what_comes_through_a_pipe_is_bounded() -> None:
    """Endless input is refused when it is too much, not when the disk is full."""
    with Path("/dev/zero").open("rb") as zeros, pytest.raises(LogError, match="standard input: it has more, and at"):
        copy_log(zeros, io.BytesIO(), "standard input", SMALL)


def test_a_file_that_grows_while_it_is_read_ends() -> None:
    """Its size was looked at before."""

    class Growing(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            self.seek(0)
            return super().readline(size)

    log = Recorded(name="log", file=Growing(b'{"a": 1}\n' * 10), limits=SizeLimits(size=1_000, remedy="raise it"))
    with pytest.raises(LogError, match="log: it has more, and at most 1,000 bytes of a log are read; raise it"):
        list(log.records())


@pytest.mark.parametrize("start", [b"\x1f\x8b\x08\x00", b"PK\x03\x04", b"\x28\xb5\x2f\xfd"])
def test_what_is_packed_is_refused_with_the_reason(start: bytes) -> None:
    """Nothing is unpacked, so nothing can be larger than it is."""
    log = Recorded(name="log.gz", file=io.BytesIO(start + b"\x00" * 100))
    with pytest.raises(UnknownFormatError, match=r"log\.gz: it is packed with \w+; unpack it"):
        importer_for(log)


def test_the_most_bytes_of_a_log_are_an_option(tmp_path: Path) -> None:
    """What is larger is refused with the option that lets it in; a size that is none is refused, too."""
    log = tmp_path / "long.jsonl"
    log.write_text(f"{json.dumps({'role': 'user', 'content': 'a ' * 3_000})}\n" * 2)
    refused = limited_import(tmp_path / "a.db", str(log), "--max-size", "10K", megabytes=2_500)
    assert refused.returncode == 1 and "at most 10,000 bytes of a log are read; raise `--max-size`" in refused.stderr
    wrong = limited_import(tmp_path / "a.db", str(log), "--max-size", "many", megabytes=2_500)
    assert wrong.returncode == 2 and "`--max-size` is 'many'; give bytes, or a number with K, M, G or T" in wrong.stderr


def test_what_is_written_at_once_is_bounded() -> None:
    """However long messages are, a stretch of a log that is in memory has some million characters and one message."""
    event = Event(
        session="s",
        seq=0,
        body=MessageAppended(message=Message(id="m", role="user", parts=(Text(text="x" * 4_000_000),))),
    )
    chunks = list(_chunks(iter([event] * 10)))
    assert [len(chunk) for chunk in chunks] == [3, 3, 3, 1]
    short = msgspec.structs.replace(event, body=MessageAppended(message=Message(id="m", role="user")))
    assert [len(chunk) for chunk in _chunks(iter([short] * 2_500))] == [1_000, 1_000, 500]


def test_a_log_may_have_more_sessions_than_a_process_may_have_files(tmp_path: Path) -> None:
    """All of them come in, whatever the limit of open files is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = "word " * 250_000
    lines = [
        json.dumps({"instance_id": f"run-{number}", "history": [_event("user", text), _event("agent", "done")]})
        for number in range(12)
    ]
    with Store(tmp_path / "a.db") as store:
        log = Recorded(name="output.jsonl", file=io.BytesIO("\n".join(lines).encode()))
        open_files = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").is_dir() else 40
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_files + 6, hard))
        try:
            report = import_log(store, log)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (report.format, len(report.arrivals)) == ("openhands", 12)


def _event(source: str, text: str) -> dict[str, object]:
    return {"action": "message", "args": {"content": text}, "source": source}
