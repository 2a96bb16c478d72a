"""What `foveate export` wrote, read like any other log."""

from __future__ import annotations

from random import Random

import pytest

import foveate
from foveate.errors import LogError
from foveate.importers.detection import importer_for
from foveate.importers.exported import EXPORTED
from foveate.importers.recording import recordings
from tests.importers.logs import deep, flipped, log_of, spoken, survives, truncated


def exported() -> bytes:
    session = foveate.Session(budget=8_000, system="Be kind.", session_id="s-1")
    session.extend([{"role": "user", "content": "你好"}, {"role": "assistant", "content": "Hi."}])
    session.compile()
    return session.dump()


def test_an_exported_session_is_recognised_and_read() -> None:
    """Its messages and framing are there; what Foveate decided is not."""
    log = log_of(exported(), "s-1.jsonl")
    assert importer_for(log).name == "foveate"
    (found,) = recordings(EXPORTED.read(log))
    assert (found.session, found.system) == ("s-1", "Be kind.")
    assert [(message.role, message.text) for message in found.messages] == [("user", "你好"), ("assistant", "Hi.")]
    assert [message.id for message in found.messages] == ["m1", "m2"]


def test_a_broken_event_is_named_or_skipped() -> None:
    content = exported() + b'{"session": 1}\n' + b'{"x": ' + deep(100_000).encode() + b"}\n"
    count = len(exported().splitlines())
    with pytest.raises(LogError, match=rf"a\.jsonl, line {count + 1}: cannot read event"):
        list(EXPORTED.read(log_of(content, "a.jsonl")))
    log = log_of(content, "a.jsonl", lenient=True)
    assert len(spoken(EXPORTED.read(log))) == 2
    assert [skipped.line for skipped in log.skipped] == [count + 1, count + 2]


def test_whatever_is_in_the_file_it_is_read_or_refused() -> None:
    random = Random(7)
    content = exported()
    for broken in (*truncated(content, random, 30), *flipped(content, random, 50)):
        survives(EXPORTED, broken, "a.jsonl")
