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
    """Its messages and framing are there; what Foveate decided, and names that it gave, are not."""
    log = log_of(exported(), "s-1.jsonl")
    assert importer_for(log).name == "foveate"
    (found,) = recordings(EXPORTED.read(log))
    assert (found.session, found.system) == ("s-1", "Be kind.")
    assert [(message.role, message.text) for message in found.messages] == [("user", "你好"), ("assistant", "Hi.")]
    assert [message.id for message in found.messages] == ["", ""]


def test_names_that_somebody_gave_are_kept() -> None:
    """Only those that count the messages are the log's own."""
    content = exported().replace(b'"id":"m1"', b'"id":"m7"')
    assert [message.id for message in spoken(EXPORTED.read(log_of(content)))] == ["m7", ""]


def test_an_event_that_is_missing_or_repeated_is_a_finding() -> None:
    """Repeated ones are left out; what stands behind a gap is read."""
    events = exported().splitlines(keepends=True)
    said = [index for index, event in enumerate(events) if b"message_appended" in event]
    gap = b"".join(events[: said[0]] + events[said[0] + 1 :])
    with pytest.raises(
        LogError, match=rf"line {said[0] + 1}: event {said[0] + 1} of .*'s-1' comes without event {said[0]} "
    ):
        list(EXPORTED.read(log_of(gap)))
    log = log_of(gap, lenient=True)
    assert [message.text for message in spoken(EXPORTED.read(log))] == ["Hi."]
    assert len(log.skipped) == 1

    twice = b"".join([*events[: said[0] + 1], *events[said[0] :]])
    with pytest.raises(LogError, match=rf"line {said[0] + 2}: event {said[0]} of session 's-1' was there before"):
        list(EXPORTED.read(log_of(twice)))
    log = log_of(twice, lenient=True)
    assert len(spoken(EXPORTED.read(log))) == 2
    assert [skipped.line for skipped in log.skipped] == [said[0] + 2]


def test_a_tool_that_defines_nothing_is_a_finding() -> None:
    content = exported().replace(b'"system":', b'"tools":[{"function":1},{"name":"look"}],"system":')
    assert b'"look"' in content
    with pytest.raises(LogError, match="a tool needs a `name`"):
        list(EXPORTED.read(log_of(content)))
    (found,) = recordings(EXPORTED.read(log_of(content, lenient=True)))
    assert found.tools == ({"name": "look"},)


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
