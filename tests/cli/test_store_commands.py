"""The commands for sessions in a store, on real files: what they print, and what they say when something is wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from foveate import Session
from foveate.cli.main import app
from foveate.cli.phrases import ago, shown
from foveate.store import Store
from tests.dialogue import call, calls, lines, result, says, user

READ_ONLY = "-dac_override,-dac_read_search,-fowner"


@pytest.fixture(autouse=True)
def somewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each test has a folder of its own, and nothing of the person who runs it is touched."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("FOVEATE_STORE", raising=False)
    monkeypatch.delenv("FOVEATE_SYSTEM", raising=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one session of two calls; it holds a tool batch, Chinese text, tags and an artifact."""
    file = tmp_path / "agent.db"
    with Session.open(file, "订单", budget=3_000, system="Be brief.") as session:
        session.append(user("订单总额是多少？\nAnd is \x1b[31mred\x1b[0m shown?"))
        session.compile()
        session.report_usage(500, 120)
        session.extend([calls(call("a", "Read", file_path="orders.py"), call("b", "bash", command="ls"))])
        session.extend([result("a", lines(400, "total_cents 4200")), result("b", "orders.py")])
        session.compile()
        session.append(says("总额是 42 欧元。"))
        session.tag(experiment="甲", arm="8k")
        session.tag(call=2, outcome="passed")
    return file


def run(*arguments: str, stdin: str | bytes = "", env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin, env=env)


def good(*arguments: str, **options: Any) -> Result:
    done = run(*arguments, **options)
    assert done.exit_code == 0, done.stderr or done.exception
    return done


def bad(code: int, *arguments: str, **options: Any) -> str:
    done = run(*arguments, **options)
    assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
    assert isinstance(done.exception, SystemExit), "no traceback"
    assert done.stderr.startswith("foveate: ")
    return done.stderr


def names(folder: Path) -> list[str]:
    """The files of a folder; the one in which events wait for a store is a folder."""
    return sorted(one.name for one in folder.iterdir() if one.is_file())


# --- sessions and show --------------------------------------------------------------------------------------------


def test_sessions_are_listed(path: Path) -> None:
    """For people a table whose names are whole, for machines JSON; nothing in a title moves the cursor."""
    with Session.open(path, "second"):
        pass
    table = good("sessions", "--store", str(path)).stdout
    assert "session" in table.splitlines()[0]
    assert "订单总额是多少？" in table
    assert "experiment=甲, arm=8k" in table
    assert "just now" in table
    assert "\x1b" not in table
    second, first = json.loads(good("sessions", "--store", str(path), "--json").stdout)
    assert (second["session_id"], second["messages"], second["title"]) == ("second", 0, "")
    assert (first["session_id"], first["messages"], first["calls"]) == ("订单", 5, 2)
    assert first["tags"] == {"experiment": "甲", "arm": "8k"}
    assert datetime.fromisoformat(first["last_activity_at"]).utcoffset() == timedelta(0)


def test_an_empty_store_says_what_to_do_next(tmp_path: Path) -> None:
    """Not an empty table."""
    with Store(tmp_path / "agent.db"):
        pass
    said = good("sessions", "--store", "agent.db").stdout
    assert "No sessions in 'agent.db' yet" in said
    assert "foveate import" in said
    assert good("sessions", "--store", "agent.db", "--json").stdout == "[]\n"


def test_a_session_is_shown_with_its_calls(path: Path) -> None:
    """Facts, tags, and of each call what it took and how it came out."""
    said = good("show", "订单", "--store", str(path)).stdout
    assert "5 messages" in said
    assert "tags: experiment=甲, arm=8k" in said
    rows = [row.split() for row in said.splitlines()]
    first = next(row for row in rows if row[:1] == ["1"])
    assert first[3:9] == [first[3], "of", "3,000", "0", "120", "pipeline:default"]
    assert "outcome=passed" in said
    record = json.loads(good("show", "订单", "--store", str(path), "--to", "json").stdout)
    assert [one["reported_cached"] for one in record["calls"]] == [120, None]
    assert record["calls"][1]["tags"] == {"outcome": "passed"}


def test_of_many_calls_the_first_and_last_are_shown(tmp_path: Path) -> None:
    """All of them if asked."""
    session = Session(session_id="long")
    for number in range(60):
        session.append(user(f"question {number}"))
        session.compile()
    (tmp_path / "long.jsonl").write_bytes(session.dump())
    good("import", "long.jsonl", "--store", "agent.db")
    said = good("show", "long", "--store", "agent.db").stdout
    assert "20 more" in said
    assert len(good("show", "long", "--store", "agent.db", "--full").stdout.splitlines()) == len(said.splitlines()) + 19


def test_a_call_is_printed_as_it_was_sent(path: Path) -> None:
    """Computed again and checked; the check is said beside the output, not in it."""
    with Session.open(path, "订单", budget=3_000) as session:
        expected = session.call(2)
    done = good("show", "订单", "--store", str(path), "--call", "2")
    assert json.loads(done.stdout) == expected.to("openai")
    assert f"its hash {expected.payload_sha256[:12]} matches" in done.stderr
    text = good("show", "订单", "--store", str(path), "--call", "2", "--to", "text").stdout
    assert text.endswith(expected.to("text").splitlines()[-1] + "\n")
    record = json.loads(good("show", "订单", "--store", str(path), "--call", "2", "--to", "json").stdout)
    assert (record["call"], record["budget"]) == (2, 3_000)
    assert record["payload_sha256"] == expected.payload_sha256
    assert record["messages"] == expected.to("openai")


def test_a_call_that_does_not_come_out_the_same_is_an_error(path: Path) -> None:
    """A log that was changed from outside is not passed off as what was sent."""
    with closing(sqlite3.connect(path)) as raw, raw:
        # As version 0.1 wrote them: without checksums only the hash of the request tells.
        raw.execute("UPDATE events SET body = replace(body, 'orders.py', 'others.py'), checksum = NULL")
    said = bad(1, "show", "订单", "--store", str(path), "--call", "2")
    assert "was recorded with payload" in said


# --- export, import, fork, delete ---------------------------------------------------------------------------------


def test_export_and_import_give_the_same_bytes(path: Path, tmp_path: Path) -> None:
    """To standard output or a file, from a file or standard input, under the same name or another."""
    printed = good("export", "订单", "--store", str(path)).stdout_bytes
    done = good("export", "订单", "--store", str(path), "-o", "log.jsonl")
    assert "wrote" in done.stderr
    assert (tmp_path / "log.jsonl").read_bytes() == printed
    assert "'订单' (5 messages, 2 calls)" in good("import", "log.jsonl", "--store", "other.db").stdout
    assert good("export", "订单", "--store", "other.db").stdout_bytes == printed
    good("import", "-", "--as", "again", "--store", "other.db", stdin=printed)
    renamed = good("export", "again", "--store", "other.db").stdout_bytes
    assert renamed.replace(b'{"session":"again"', '{"session":"订单"'.encode()) == printed
    assert names(tmp_path) == ["agent.db", "log.jsonl", "other.db"]


def test_an_export_that_fails_leaves_the_file_as_it_was(path: Path, tmp_path: Path) -> None:
    """Neither half a file nor a leftover."""
    (tmp_path / "log.jsonl").write_text("before")
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("DELETE FROM events WHERE seq = 6")
    assert "event 6 of session '订单' is missing" in bad(1, "export", "订单", "--store", str(path), "-o", "log.jsonl")
    assert (tmp_path / "log.jsonl").read_text() == "before"
    assert names(tmp_path) == ["agent.db", "log.jsonl"]
    assert "cannot write 'no/where'" in bad(1, "export", "订单", "--store", str(path), "-o", "no/where")


def test_a_broken_line_is_named_and_nothing_is_imported(path: Path, tmp_path: Path) -> None:
    """With its file, its number and the reason."""
    rows = good("export", "订单", "--store", str(path)).stdout_bytes.splitlines(keepends=True)
    (tmp_path / "log.jsonl").write_bytes(b"".join([*rows[:3], rows[3][:-9] + b"\n", *rows[4:]]))
    said = bad(1, "import", "log.jsonl", "--store", "other.db")
    assert "log.jsonl, line 4: cannot read event" in said
    assert "nothing of it was imported" in said
    assert json.loads(good("sessions", "--store", "other.db", "--json").stdout) == []
    assert "standard input: there is no message" in bad(1, "import", "-", "--store", "other.db", stdin="[]")
    assert "standard input: there is nothing in it" in bad(1, "import", "-", "--store", "other.db")


def test_another_session_of_the_same_name_is_left_alone(path: Path, tmp_path: Path) -> None:
    """The error says how both can be kept; the same log again changes nothing."""
    data = good("export", "订单", "--store", str(path)).stdout_bytes
    (tmp_path / "log.jsonl").write_bytes(data)
    assert "nothing is new" in good("import", "log.jsonl", "--store", str(path)).stdout
    (tmp_path / "log.jsonl").write_bytes(data.replace(b'"user"', b'"system"', 1))
    assert "give another name with `--as`" in bad(1, "import", "log.jsonl", "--store", str(path))
    assert good("export", "订单", "--store", str(path)).stdout_bytes == data


def test_the_sample_is_there_to_play_with() -> None:
    """One command, and all others have something to show."""
    assert "'sample' (429 messages" in good("import", "--sample", "--store", "agent.db").stdout
    assert "no problem" not in good("db", "check", "--calls", "--store", "agent.db").stderr


def test_a_session_is_forked(path: Path) -> None:
    """Up to a message, or all of it; a name is made up if none is given."""
    said = good("fork", "订单", "--at", "4", "--store", str(path)).stdout
    assert "as '订单-at-4' (4 messages, 2 calls)" in said
    assert "'订单-at-4-2'" in good("fork", "订单", "--at", "4", "--store", str(path)).stdout
    assert "'copy' (5 messages, 2 calls)" in good("fork", "订单", "--as", "copy", "--store", str(path)).stdout
    assert "the nearest places are 1 and 4" in bad(2, "fork", "订单", "--at", "3", "--store", str(path))
    assert "`at` 9 is no message of session" in bad(2, "fork", "订单", "--at", "9", "--store", str(path))
    assert "already" in bad(1, "fork", "订单", "--as", "copy", "--store", str(path))


def test_branches_go_with_their_session(path: Path) -> None:
    """They hold the same words; the answer names them all."""
    for name in ("agent-1", "agent-1~2"):
        with Session.open(path, name) as session:
            session.append({"role": "user", "content": "hello"})
    done = good("delete", "agent-1", "--yes", "--store", str(path)).stdout
    assert "deleted 'agent-1' (1 message, 0 calls), 'agent-1~2' (1 message, 0 calls)" in done
    assert "agent-1" not in good("sessions", "--store", str(path)).stdout


def test_a_session_is_deleted_only_if_it_is_meant(path: Path) -> None:
    """Without a terminal there is nobody to ask."""
    assert "give `--yes`" in bad(2, "delete", "订单", "--store", str(path))
    assert "deleted '订单' (5 messages, 2 calls)" in good("delete", "订单", "--yes", "--store", str(path)).stdout
    assert json.loads(good("sessions", "--store", str(path), "--json").stdout) == []


@pytest.mark.skipif(shutil.which("script") is None, reason="a terminal is made by script(1)")
@pytest.mark.parametrize(("answer", "left"), [("n", 1), ("y", 0)])
def test_on_a_terminal_it_asks(path: Path, answer: str, left: int) -> None:
    """No is the default."""
    program = Path(sys.executable).with_name("foveate")
    command = f"{program} delete 订单 --store {path}"
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"], input=f"{answer}\n", capture_output=True, text=True, check=False
    )
    assert "It cannot be undone [y/N]" in done.stdout
    assert ("Nothing was deleted" in done.stdout) is bool(left)
    assert len(json.loads(good("sessions", "--store", str(path), "--json").stdout)) == left


# --- transcript, search, artifact ---------------------------------------------------------------------------------


def test_a_transcript_is_for_reading(path: Path, tmp_path: Path) -> None:
    """What was said, in order, to standard output or a file."""
    said = good("transcript", "订单", "--store", str(path)).stdout
    assert said.index("订单总额是多少？") < said.index("总额是 42 欧元。")
    good("transcript", "订单", "--store", str(path), "-o", "talk.md")
    assert (tmp_path / "talk.md").read_text(encoding="utf-8") == said


def test_what_was_said_is_found(path: Path) -> None:
    """In all sessions or one, by role, tool and time."""
    said = good("search", "total_cents", "--store", str(path)).stdout
    assert said.startswith("订单 m3 · tool Read · ")
    assert "total_cents 4200" in said
    hits = json.loads(good("search", "总额", "--role", "assistant", "--json", "--store", str(path)).stdout)
    assert [(hit["message_id"], hit["text"]) for hit in hits] == [("m5", "总额是 42 欧元。")]
    assert len(json.loads(good("search", "total_cents", "--limit", "2", "--json", "--store", str(path)).stdout)) == 2
    assert (
        json.loads(good("search", "orders", "--tool", "bash", "--json", "--store", str(path)).stdout)[0]["tool"]
        == "bash"
    )
    assert "nothing found" in good("search", "total_cents", "--until", "2020-01-01", "--store", str(path)).stdout
    assert "nothing found" in good("search", "zebra", "--session", "订单", "--store", str(path)).stdout
    assert good("search", "总额", "--since", "2020-01-01T00:00+02:00", "--store", str(path)).stdout.startswith("订单")


def test_an_artifact_is_printed_whole_or_in_part(path: Path) -> None:
    """The bytes as they were, some lines, or some bytes."""
    (one,) = json.loads(good("artifact", "--session", "订单", "--json", "--store", str(path)).stdout)
    assert one["handle"] in good("artifact", "--session", "订单", "--store", str(path)).stdout
    assert good("artifact", one["handle"], "--store", str(path)).stdout == lines(400, "total_cents 4200")
    first = good("artifact", one["handle"], "--lines", "2-3", "--store", str(path)).stdout
    assert first == "\n".join(lines(400, "total_cents 4200").splitlines()[1:3]) + "\n"
    assert good("artifact", one["handle"], "--bytes", "0-5", "--store", str(path)).stdout == "total"
    with Session.open(path, "small"):
        pass
    assert "no artifacts" in good("artifact", "--session", "small", "--store", str(path)).stdout


# --- db -----------------------------------------------------------------------------------------------------------


def test_a_whole_store_passes_the_check(path: Path) -> None:
    """With every call computed again."""
    assert "nothing wrong" in good("db", "check", "--calls", "--store", str(path)).stdout
    assert json.loads(good("db", "check", "--json", "--store", str(path)).stdout) == []


def test_what_is_wrong_is_listed_with_a_remedy(path: Path) -> None:
    """And the exit code tells scripts."""
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE events SET body = replace(body, 'orders.py', 'others.py'), checksum = NULL WHERE seq < 12")
        raw.execute("UPDATE events SET body = 'x' WHERE kind = 'tagged'")
    done = run("db", "check", "--store", str(path))
    assert done.exit_code == 1
    assert "订单, event " in done.stdout
    assert "    restore the store" in done.stdout
    assert "problems in" in done.stderr
    problems = json.loads(run("db", "check", "--calls", "--json", "--store", str(path)).stdout)
    assert any(one["place"] == "call 2" for one in problems)
    assert set(problems[0]) == {"session_id", "place", "what", "remedy"}


def test_the_path_of_the_store_says_which_rule_decided(path: Path, tmp_path: Path) -> None:
    """The path alone is the output, for scripts."""
    done = good("db", "path", env={"FOVEATE_STORE": str(path)})
    assert done.stdout == f"{path}\n"
    assert "the variable FOVEATE_STORE; the file is there" in done.stderr
    done = good("db", "path", "--system", "agent")
    assert done.stdout == f"{tmp_path / 'agent' / 'context.db'}\n"
    assert "the option `--system`; there is no file yet" in done.stderr
    assert good("db", "path").stdout == f"{tmp_path / 'data' / 'foveate' / 'context.db'}\n"
    assert good("db", "path", "--store", "postgresql://me:secret@host/name").stdout == "postgresql://me:***@host/name\n"


# --- which store, and what is wrong with it -----------------------------------------------------------------------

READING = (
    ("sessions",),
    ("show", "订单"),
    ("export", "订单"),
    ("fork", "订单"),
    ("delete", "订单", "--yes"),
    ("transcript", "订单"),
    ("search", "words"),
    ("artifact", "--session", "订单"),
    ("artifact", "artifact://log/0123456789abcdef"),
    ("db", "check"),
)


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_no_command_but_import_makes_a_store(command: tuple[str, ...], tmp_path: Path) -> None:
    """The error names the place, and the rule that decided it if nobody named the place."""
    assert "no store at 'nowhere.db'" in bad(1, *command, "--store", "nowhere.db")
    said = bad(1, *command, env={"FOVEATE_SYSTEM": "agent"})
    assert "agent/context.db" in said
    assert "(place: the variable FOVEATE_SYSTEM)" in said
    assert names(tmp_path) == []


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_a_newer_store_is_not_touched(command: tuple[str, ...], path: Path) -> None:
    """A newer Foveate wrote it, and can read it."""
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    assert "has schema 9999" in bad(1, *command, "--store", str(path))


@pytest.mark.parametrize("command", [one for one in READING if "订单" in one], ids=" ".join)
def test_an_unknown_session_is_an_error_that_helps(command: tuple[str, ...], path: Path) -> None:
    """Those that are spelt alike are named."""
    wrong = tuple("订单x" if word == "订单" else word for word in command)
    assert "did you mean '订单'?" in bad(1, *wrong, "--store", str(path))


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["show", "订单", "--call", "99"], 1, "no call 99"),
        (["show", "订单", "--to", "openai"], 2, "`--call N`"),
        (["search", "x", "--session", "other"], 1, "no session 'other'"),
        (["search", "x", "--role", "robot"], 2, "'robot'; known are system, user"),
        (["search", "x", "--since", "gestern"], 2, "`--since` 'gestern' is no time"),
        (["search", " "], 2, "QUERY is empty"),
        (["artifact"], 2, "give the HANDLE"),
        (["artifact", "x", "--session", "订单"], 2, "give the HANDLE"),
        (["artifact", "artifact://log/0123456789abcdef"], 1, "no artifact has the handle"),
        (["artifact", "x", "--lines", "1-2", "--bytes", "1-2"], 2, "not both"),
        (["artifact", "--session", "订单", "--lines", "1-2"], 2, "parts of one artifact"),
        (["import"], 2, "give the PATH of a log"),
        (["import", "x", "--sample"], 2, "give the PATH of a log"),
        (["import", "nowhere.jsonl"], 1, "cannot read 'nowhere.jsonl'"),
        (["import", "."], 1, "no logs in '.'"),
        (["sessions", "--store", "mysql://host/name"], 2, "unknown scheme 'mysql'"),
        (["sessions", "--store", ""], 2, "`--store` is empty"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(path: Path, arguments: list[str], code: int, says: str) -> None:
    """Exit codes mean something: 1 bad input, 2 a wrong call."""
    said = bad(code, *arguments, env={"FOVEATE_STORE": str(path)})
    assert says in said
    assert len(said.splitlines()) == 1


def test_lines_that_are_not_there_are_refused(path: Path) -> None:
    """With the lines there are."""
    (one,) = json.loads(good("artifact", "--session", "订单", "--json", "--store", str(path)).stdout)
    assert "which has 400 lines" in bad(2, "artifact", one["handle"], "--lines", "500-600", "--store", str(path))
    for option in ("--lines", "--bytes"):
        assert "is no range" in bad(2, "artifact", one["handle"], option, "a-b", "--store", str(path))


def test_something_else_is_no_store(tmp_path: Path) -> None:
    """A file that is no database is left alone."""
    (tmp_path / "notes.txt").write_text("not a database, but long enough to be one\n" * 100)
    said = bad(1, "sessions", "--store", str(tmp_path / "notes.txt"))
    assert "is not a database; the file is something else; name another `--store`" in said


@pytest.mark.parametrize(
    "command", [("sessions",), ("show", "a"), ("search", "word"), ("db", "check"), ("import", "--sample")]
)
def test_errors_name_the_option_of_the_command(tmp_path: Path, command: tuple[str, ...]) -> None:
    """`--store`, and not the argument of Python, whatever was to be done with a store that is none."""
    (tmp_path / "notes.txt").write_text("something else, but long enough to be a store\n" * 100)
    said = bad(1, *command, "--store", str(tmp_path / "notes.txt"))
    assert "name another `--store`" in said
    assert "`store`" not in said


def test_a_session_that_is_called_like_the_argument_keeps_its_name(path: Path) -> None:
    """Only the advice is worded for the command."""
    assert "no session '`store`'" in bad(1, "transcript", "`store`", "--store", str(path))


def test_a_store_that_cannot_be_written_can_be_read(path: Path) -> None:
    """What would write says so in one line."""
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root writes everywhere")
    prefix = ["setpriv", "--bounding-set", READ_ONLY, "--inh-caps", READ_ONLY] if os.geteuid() == 0 else []
    path.chmod(0o444)
    program = str(Path(sys.executable).with_name("foveate"))

    def without_rights(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*prefix, program, *arguments, "--store", str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert "订单" in without_rights("sessions").stdout
    assert "matches the record" in without_rights("show", "订单", "--call", "2").stderr
    for command in (("delete", "订单", "--yes"), ("fork", "订单")):
        done = without_rights(*command)
        assert done.returncode == 1
        assert "can only be read" in done.stderr and "change its permissions" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_who_stops_reading_is_not_complained_about(path: Path) -> None:
    """`foveate export … | head` ends quietly."""
    program = Path(sys.executable).with_name("foveate")
    command = f"set -o pipefail; {program} export 订单 --store {path} | head -c 10"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, '{"session"', "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_output_that_cannot_be_written_is_an_error(path: Path) -> None:
    """Not a success, and not a traceback."""
    with Path("/dev/full").open("w") as full:
        program = str(Path(sys.executable).with_name("foveate"))
        command = [program, "export", "订单", "--store", str(path)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_help_gives_an_example_and_names_the_variables() -> None:
    """Also for commands of a group; nothing heavy is imported for it."""
    for command in (("sessions",), ("show",), ("export",), ("import",), ("fork",), ("delete",), ("db", "check")):
        said = " ".join(good(*command, "--help", env={"COLUMNS": "200"}).stdout.split())
        assert "Example: foveate" in said
        assert "FOVEATE_STORE" in said
    code = (
        "import sys, foveate.cli.main; print([m for m in ('sqlalchemy', 'rich.table', 'alembic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# --- phrases ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (3_599, "59 min ago"),
        (3_600, "1 h ago"),
        (86_399, "23 h ago"),
        (86_400, "1 day ago"),
        (29 * 86_400, "29 days ago"),
    ],
)
def test_times_are_said_as_people_do(seconds: int, said: str) -> None:
    """From a minute to a month."""
    now = datetime(2026, 1, 31, tzinfo=UTC)
    assert ago(now - timedelta(seconds=seconds), now) == said


def test_after_a_month_it_is_the_date() -> None:
    """Nobody counts in weeks."""
    now = datetime(2026, 3, 31, 12, tzinfo=UTC)
    assert ago(now - timedelta(days=31), now) == "2026-02-28"


def test_nothing_of_others_reaches_the_terminal_as_a_command() -> None:
    """Escapes, newlines and carriage returns are spaces."""
    assert shown("a\x1b[2J\r\nb\x07\u202e c") == "a [2J b c"


def test_what_is_left_of_a_store_that_was_cut_off_is_listed(path: Path) -> None:
    """The check of a file that cannot be opened names sessions, how many events of each are left, and what to do."""
    with Session.open(path, "long", budget=4_000) as session:
        session.extend([user(lines(40)) for _ in range(300)])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    before = path.read_bytes()
    ran = CliRunner().invoke(app, ["db", "check", "--store", str(path)])
    assert ran.exit_code == 1
    assert "database file: cannot be opened: database disk image is malformed\n    restore the store from a copy" in (
        ran.stdout
    )
    assert re.search(r"log: (all )?\d+( of \d+)? events can be read", ran.stdout)
    assert "SELECT body FROM events WHERE session = 1 ORDER BY seq" in ran.stdout
    assert "says what can still be read" not in ran.output
    assert path.read_bytes() == before
