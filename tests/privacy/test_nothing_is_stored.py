"""200 planted secrets of 25 kinds: none of them reaches a store, an index, a transcript, a log, or a redacted request."""

from __future__ import annotations

import json
import logging
import sqlite3
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from inline_snapshot import snapshot

import foveate
from foveate import ConfigError, Session
from foveate.importers.reading import Recorded
from foveate.session.redacting import REDACTED
from foveate.store import Store
from foveate.store.importing import import_log
from tests.dialogue import exchange, lines, says, user
from tests.privacy.planted import Planted, planted

PLANTED = list(planted(200))
FILLER = lines(60, "filler line of the output")


def log_with(secrets: list[Planted]) -> list[dict[str, Any]]:
    """A log with each secret in one of the places where agents meet them; every tenth output is large."""
    log: list[dict[str, Any]] = [user("go")]
    for number, one in enumerate(secrets):
        match number % 5:
            case 0:
                log += [user(f"{one.text}\nplease"), says("ok")]
            case 1:
                log += exchange(f"c{number}", "Bash", one.text, command="cat .env")
            case 2:
                log += exchange(f"c{number}", "Write", "written", file_path="a.txt", content=one.text)
            case 3:
                # The text is that of a line, as names have no others.
                name = one.text.replace("\n", " ")
                log += exchange(f"c{number}", "Read", "no such file", file_path=f"/tmp/{name}")
            case _:
                log += exchange(
                    f"c{number}",
                    "Bash",
                    f"{FILLER * (8 if number % 10 == 9 else 1)}\n{one.text}\n{FILLER}",
                    command="make",
                )
    return log


def remaining(text: str) -> list[Planted]:
    """The secrets that stand in a text, as they are or as JSON writes them."""
    return [one for one in PLANTED if one.secret in text or json.dumps(one.secret)[1:-1] in text]


def everything_in(path: Path) -> str:
    """All bytes of a store's files, and all that it has compressed."""
    pieces = [file.read_bytes().decode("latin-1") for file in sorted(path.parent.iterdir()) if file.is_file()]
    unpack = zstandard.ZstdDecompressor()
    with closing(sqlite3.connect(path)) as database:
        for query in ("SELECT data FROM artifacts", "SELECT data FROM checkpoints"):
            for (data,) in database.execute(query):
                packed = data[:4] == b"\x28\xb5\x2f\xfd"
                pieces.append((unpack.decompressobj().decompress(data) if packed else data).decode("latin-1"))
    return "\n".join(pieces)


def found_by_word(path: Path) -> list[Planted]:
    """The secrets that the words of the search index are parts of; it has no others than in lower case."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, passages_text, row)")
        words = [word for (word,) in database.execute("SELECT term FROM temp.words") if len(word) >= 8]
    return [one for one in PLANTED if any(word in one.secret.lower() for word in words)]


@pytest.fixture
def missed() -> list[str]:
    """What is missed of these; how many of each kind are missed of more stands in `test_redaction`."""
    return snapshot([])


def test_a_redacting_session_stores_no_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, missed: list[str]
) -> None:
    """Not in events, artifacts, checkpoints, the index, the journal of the database, or the transcript."""
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "store.db"
    system = f"Deploy with {PLANTED[0].text}"
    with Session.open(path, "s", transcript=tmp_path / "s.md", budget=6_000, redact=True, system=system) as session:
        for message in log_with(PLANTED):
            session.extend([message])
            if message["role"] == "user":
                session.compile(now=1.0)
        sent = msgspec.json.encode(session.compile(now=2.0).to("openai")).decode()
        found = session.call(3).to("openai")
        counted = [event.body.text for event in session.events if getattr(event.body, "code", "") == REDACTED]
    with Store(path) as store:
        store.search("deploy password token")
    text = everything_in(path) + sent + json.dumps(found) + caplog.text
    assert [one.text for one in remaining(text)] == missed
    assert found_by_word(path) == []
    assert counted[0] == snapshot("1 secret redacted: 1 aws-access-key")
    assert "[redacted: private-key]" in text


def test_an_import_that_redacts_stores_no_secret(tmp_path: Path, missed: list[str]) -> None:
    """The report says how many there were; the log itself stays as it is."""
    path = tmp_path / "store.db"
    log = json.dumps(log_with(PLANTED)).encode()
    with Store(path) as store:
        report = import_log(store, Recorded(name="log.json", file=BytesIO(log)), redact=True)
        store.search("password")
    assert [one.text for one in remaining(everything_in(path))] == missed
    assert found_by_word(path) == []
    assert report.notes[0] == snapshot(
        "200 secrets redacted: 8 account-key, 8 anthropic-key, 8 aws-access-key, 8 aws-secret-key, 8 basic-credentials, 8 bearer-token, 8 cookie, 8 github-token, 8 gitlab-token, 8 google-api-key, 8 huggingface-token, 8 jwt, 12 key, 8 npm-token, 8 openai-key, 26 password, 8 private-key, 8 pypi-token, 7 secret, 8 sendgrid-key, 8 slack-token, 8 stripe-key, 3 token"
    )


def test_an_import_that_redacts_can_be_taken_up_again(tmp_path: Path) -> None:
    """The same log gives the same redacted events, so that what is new is seen."""
    log = log_with(PLANTED)
    with Store(tmp_path / "store.db") as store:
        for size in (40, 80):
            part = json.dumps(log[:size]).encode()
            report = import_log(store, Recorded(name="log.json", file=BytesIO(part)), as_session="s", redact=True)
        assert report.arrivals[0].was_there and report.arrivals[0].info.messages == 80


def test_an_export_is_not_redacted(tmp_path: Path) -> None:
    """Its requests were recorded as they were sent: they could not be rebuilt from other words."""
    session = Session(budget=4_000)
    session.extend([user("hello")])
    session.compile()
    with Store(tmp_path / "store.db") as store, pytest.raises(ConfigError, match="import it without redaction"):
        import_log(store, Recorded(name="s.jsonl", file=BytesIO(session.dump())), redact=True)


def test_the_pass_takes_secrets_out_of_what_is_sent_and_leaves_the_log(missed: list[str]) -> None:
    """Every request, its digests and placeholders are without them; the log keeps what was said."""
    session = Session(budget=6_000, passes=(foveate.Redact(), *foveate.PASSES))
    for message in log_with(PLANTED):
        session.extend([message])
        if message["role"] == "user":
            sent = msgspec.json.encode(session.compile().to("openai")).decode()
            assert [one.text for one in remaining(sent) if one.text not in missed] == []
    assert len(remaining("".join(one.text for one in session.messages))) > 100


def test_without_the_option_what_is_stored_and_sent_is_what_was_said() -> None:
    """Redaction is asked for; nobody's request is changed without that."""
    session = Session(budget=100_000)
    session.extend(log := log_with(PLANTED[:20]))
    assert session.compile().to("openai") == log


def test_without_the_option_the_secrets_are_found_where_these_tests_look(tmp_path: Path) -> None:
    """Or they would prove nothing."""
    path = tmp_path / "store.db"
    with Store(path) as store:
        import_log(store, Recorded(name="log.json", file=BytesIO(json.dumps(log_with(PLANTED)).encode())))
        store.search("password")
    assert len(remaining(everything_in(path))) > 190
    assert len(found_by_word(path)) > 150


def test_a_redacted_call_is_rebuilt_byte_for_byte(tmp_path: Path) -> None:
    """The hash of a call is of its redacted form, which is what the store has."""
    path = tmp_path / "store.db"
    with Session.open(path, "s", budget=6_000, redact=True) as session:
        session.extend(log_with(PLANTED[:60]))
        view = session.compile()
        sent = view.to("openai")
    with Session.open(path, "s", budget=6_000, redact=True) as session:
        again = session.call(1)
        assert again.to("openai") == sent
        assert again.payload_sha256 == view.payload_sha256
