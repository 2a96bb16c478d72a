"""Sessions that survive their process: the same API, on both engines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.dialogue import call, calls, exchange, lines, result, says, user
from tests.store import engines

from foveate import (
    ConfigError,
    ContextSection,
    ModelProfile,
    Session,
    StoreError,
    TokenBudget,
    UnknownModelError,
    UnknownReferenceError,
)
from foveate.log.events import CallRecorded, DiagnosticRecorded, FramingSet
from foveate.log.messages import MessageMeta, text_message
from foveate.sample import coding_session, tools
from foveate.store import Store
from foveate.store.housekeeping import delete
from foveate.store.schema import checkpoints

store_url = engines.store_url


def played(session: Session, messages: list[dict[str, Any]]) -> list[str]:
    """The messages appended as an agent does, a call before each response; the hashes of the calls."""
    hashes = []
    for message in messages:
        if message["role"] == "assistant":
            hashes.append(session.compile().payload_sha256)
        session.append(message)
    return hashes


def test_a_session_is_there_again_after_its_process(store_url: str) -> None:
    """Messages, framing, pins and the next request are as they were left."""
    with Session.open(store_url, "task-42", budget=4_000, system="Be brief.", tools=tools()) as session:
        played(session, list(coding_session())[:120])
        session.pin("m3")
        expected = session.preview()
        left = session.dump()
    with Session.open(store_url, "task-42", budget=4_000) as again:
        assert again.dump() == left
        assert again.id == "task-42"
        assert again.pins == ("m3",)
        assert again.preview().payload == expected.payload
        assert again.compile().system_prompt == "Be brief."


def test_it_sends_what_a_session_in_memory_sends(store_url: str) -> None:
    """Where the log is kept changes no byte of a request, however often it was opened in between."""
    messages = list(coding_session())
    options: dict[str, Any] = {"budget": 8_000, "system": "Be brief.", "tools": tools()}
    hashes: list[str] = []
    for start in range(0, len(messages), 90):
        with Session.open(store_url, "session", **options) as durable:
            hashes += played(durable, messages[start : start + 90])

    assert hashes == played(Session(**options), messages)


def test_every_past_call_is_rebuilt_to_its_hash(store_url: str) -> None:
    """Also in another process, with another policy and budget than it was made with."""
    sections = [ContextSection(name="files", content=lines(40), tier="volatile")]
    with Session.open(store_url, "a", budget=4_000, system=lines(30)) as session:
        played(session, list(coding_session())[:150])
        sent = session.compile(now=1e9, sections=sections)
    with Session.open(store_url, "a", budget=30_000, policy="drop") as again:
        hashes = [event.body.payload_sha256 for event in again.events if isinstance(event.body, CallRecorded)]
        assert [again.call(number + 1).payload_sha256 for number in range(len(hashes))] == hashes
        assert again.call(sent.number).payload == sent.payload
        with pytest.raises(UnknownReferenceError, match="no call 999"):
            again.call(999)


def test_two_handles_on_one_session(store_url: str) -> None:
    """The one that comes second takes in what the other wrote, and goes on behind it."""
    with Session.open(store_url, "a", budget=4_000) as one, Session.open(store_url, "a", budget=4_000) as other:
        one.append(user("from one"))
        assert other.append(user("from the other")) == "m2"
        view = one.compile()

        assert [message["content"] for message in view.to("openai")] == ["from one", "from the other"]
        assert view.number == 1
        assert other.compile().number == 2
        assert one.refresh() == 1
        assert one.dump() == other.dump()
        with Session.open(store_url, "a") as third:
            assert sum(isinstance(event.body, FramingSet) for event in third.events) == 1


def test_another_writer_frames_the_session(store_url: str) -> None:
    """A new system prompt holds for everybody from the next call on."""
    with Session.open(store_url, "a", system="old") as one, Session.open(store_url, "a") as other:
        other.append(user("hello"))
        other.reframe(system="new")

        assert one.compile().system_prompt == "new"


def test_a_batch_that_another_writer_spoke_into_is_still_one_exchange(store_url: str) -> None:
    """The request keeps calls and results together, whatever came between them in the log."""
    batch = calls(call("1", "Read", file_path="a"), call("2", "Read", file_path="b"))
    with Session.open(store_url, "a") as agent, Session.open(store_url, "a") as person:
        agent.extend([user("go"), batch, result("1", "first")])
        person.append(user("and hurry"))
        agent.append(result("2", "second"))

        roles = [message["role"] for message in agent.compile().to("openai")]
    assert roles == ["user", "assistant", "tool", "tool", "user"]


def test_framing_that_is_given_again_changes_nothing(store_url: str) -> None:
    """The usual way to open a session on every start of a program adds no event."""
    options: dict[str, Any] = {"budget": 4_000, "system": "Be brief.", "tools": tools()}
    for _ in range(3):
        with Session.open(store_url, "a", **options) as session:
            length = session.context.length
    assert length == 1


def test_a_profile_of_ones_own_is_asked_for_again(store_url: str) -> None:
    """A model nobody else knows cannot be looked up: without it all is read, and a compile says what to give."""
    profile = ModelProfile(name="in-house-7", window=8_000)
    with Session.open(store_url, "a", model=profile) as session:
        session.append(user("hello"))
        sent = session.compile()
    with Session.open(store_url, "a") as again:
        assert (again.messages[0].text, again.call(1).payload) == ("hello", sent.payload)
        for made in (again.compile, again.preview):
            with pytest.raises(UnknownModelError, match=r"'in-house-7', which is not in the price list.*`budget=…`"):
                made()
    with Session.open(store_url, "a", model=profile) as again:
        assert again.compile().tokens < 8_000


def test_tags_and_usage_are_kept_with_the_call(store_url: str) -> None:
    """What an experiment needs is in the tables, also for people with an SQL prompt."""
    with Store(store_url) as store, Session.open(store, "a", budget=4_000, system=lines(40)) as session:
        session.append(user("hello"))
        session.compile(sections=[ContextSection(name="issue", content="short")])
        session.append(says("Hello yourself."))
        session.report_usage(123, 100)
        session.tag(experiment="tone", arm="b")
        session.tag(call=1, outcome="passed")
        session.tag(arm="c")
        with pytest.raises(UnknownReferenceError, match="no call 7 to tag"):
            session.tag(call=7, outcome="failed")
        with store.reading() as connection:
            row = connection.exec_driver_sql("SELECT * FROM context_summaries").mappings().one()
        info = store.session("a")

    assert info.tags == {"experiment": "tone", "arm": "c"}
    assert (info.title, info.messages, info.calls) == ("hello", 2, 1)
    assert info.tokens > 4
    assert row["tags"] == '{"outcome":"passed"}'
    assert (row["reported_input"], row["reported_cached"], row["turn_index"]) == (123, 100, 1)
    assert (row["raw_output"], row["sections_included"]) == ("Hello yourself.", '["issue"]')
    assert row["compiled_prompt"].startswith("artifact://") and row["compiled_prompt"].endswith("short")
    # Nobody asked for a summary, so there is no contract to parse; plain numbers say nothing of what was written.
    unsaid = [name for name, value in row.items() if value in (None, "")]
    assert unsaid == ["parsed_output", "reported_written", "reported_written_hour"]


def test_large_outputs_are_stored_once(store_url: str) -> None:
    """However often a file is read, its content is one artifact, and every message still has all of it."""
    content = lines(400)
    with Store(store_url) as store, Session.open(store, "a", budget=4_000) as session:
        for number in range(5):
            session.extend([user("read"), *exchange(f"c{number}", "Read", content, file_path="src/a.py")])
            session.compile()
        (artifact,) = store.artifacts(store.session("a"))

        assert artifact.text() == content
        assert artifact.text(lines=(2, 3)) == "\n".join(content.split("\n")[1:3])
        assert artifact.bytes(5, 9) == content.encode()[5:9]
        assert "src/a.py" in artifact.description
        assert session.recall(artifact.handle, lines=(1, 1)) == content.split("\n")[0]
        with pytest.raises(ConfigError, match="no range of artifact://"):
            artifact.text(lines=(900, 901))
        with pytest.raises(UnknownReferenceError, match="no artifact has the handle"):
            store.artifact("artifact://text/ffffffffffffffff")
    with Session.open(store_url, "a") as again:
        assert [message.text for message in again.messages if message.role == "tool"] == [content] * 5


def test_a_session_that_is_closed_says_so(store_url: str) -> None:
    """Appending to it is refused; closing it twice is nothing."""
    session = Session.open(store_url, "a")
    session.close()
    session.close()
    with pytest.raises(StoreError, match="'a' is closed"):
        session.append(user("hello"))


@pytest.mark.parametrize("session_id", ["", "  ", "a\0b"])
def test_a_session_needs_a_name(tmp_path: Path, session_id: str) -> None:
    """An empty one would be found by nobody."""
    with pytest.raises(ConfigError, match="is no name"):
        Session.open(tmp_path / "a.db", session_id)


def test_a_refused_message_is_not_written(store_url: str) -> None:
    """All of an append, or nothing; also on disk."""
    with Session.open(store_url, "a") as session:
        with pytest.raises(ValueError, match="message 1"):
            session.extend([user("fine"), {"role": "nobody"}])
        session.append(user("after"))
    with Session.open(store_url, "a") as again:
        assert [message.text for message in again.messages] == ["after"]


def test_a_subscriber_that_fails_is_said_in_the_store(store_url: str) -> None:
    """The diagnostic is written with the next append."""

    def fail(_event: object) -> None:
        raise RuntimeError("no")

    with Session.open(store_url, "a") as session:
        stop = session.subscribe(fail)
        session.append(user("one"))
        stop()
        session.append(user("two"))
    with Session.open(store_url, "a") as again:
        said = [event.body for event in again.events if isinstance(event.body, DiagnosticRecorded)]
    assert {one.code for one in said} == {"subscriber_failed"}


def test_a_long_log_opens_from_a_checkpoint(store_url: str) -> None:
    """Only what came since is read, and the oldest message is still there."""
    with Session.open(store_url, "a", budget=4_000) as session:
        session.extend([message for n in range(1_500) for message in (user(f"question {n}"), says(f"answer {n}"))])
        session.compile()
        expected = session.preview().payload
    with Session.open(store_url, "a", budget=4_000) as again:
        assert again.context.log.base > 3_000
        assert again.context.length - again.context.log.base < 200
        assert again.messages[0].text == "question 0"
        assert again.messages[-1].text == "answer 1499"
        assert again.preview().payload == expected
        again.append(user("and now?"))
        assert again.compile().number == 2


def test_a_checkpoint_that_cannot_be_read_costs_time_only(store_url: str) -> None:
    """The log is folded from its beginning then."""
    with Store(store_url) as store:
        with Session.open(store, "a", budget=4_000) as session:
            session.extend([user(f"question {n}") for n in range(200)])
            expected = session.compile().payload
        with store.writing() as connection:
            connection.execute(checkpoints.update().values(data=b"rubbish"))
        with Session.open(store, "a", budget=4_000) as again:
            assert again.call(1).payload == expected
            assert len(again.messages) == 200


def test_every_character_can_be_kept(store_url: str) -> None:
    """NUL characters, half characters, emoji and Chinese, in words, calls, prompts and names."""
    nasty = "a\0b \ud83d 订单 🙂 \\ '; DROP TABLE events; --"
    with Session.open(store_url, "名字", budget=4_000, system=nasty) as session:
        session.append(user(nasty))
        session.compile(sections=[ContextSection(name="n\0", content="c\0")])
        session.extend([calls(call("c\0", "tool\0", path=nasty), text=nasty), result("c\0", nasty * 400)])
        session.tag(note="n\0te")
        expected = session.compile().payload
    with Session.open(store_url, "名字", budget=4_000) as again:
        assert again.call(2).payload == expected
        assert again.messages[0].text.startswith("a\0b")
        assert again.call(1).sections[0].content == "c\0"


def test_a_session_that_was_deleted_takes_nothing_more(store_url: str) -> None:
    """Least of all into a session that was begun since."""
    with Store(store_url) as store, Session.open(store, "old") as session:
        session.append(user("one"))
        delete(store, store.session("old"))
        with Session.open(store, "new") as other:
            other.append(user("mine"))
            with pytest.raises(StoreError, match="'old' was deleted"):
                session.append(user("two"))
        with Session.open(store, "new") as again:
            assert [message.text for message in again.messages] == ["mine"]


def test_a_session_that_lives_long_does_not_hold_its_log_in_memory(store_url: str) -> None:
    """What is long past is read from the store, and requests are those of a session that holds everything."""
    in_memory = Session(budget=4_000, session_id="a")
    with Session.open(store_url, "a", budget=4_000) as session:
        for turn in range(40):
            messages = [
                message
                for number in range(60)
                for message in exchange(f"c{turn}-{number}", "bash", f"did {turn}-{number}", command=f"make {number}")
            ]
            for one in (session, in_memory):
                one.extend([user(f"question {turn}"), *messages])
                one.compile()
            assert session.preview().payload == in_memory.preview().payload
        assert session.context.length - session.context.log.base < 4_000
        assert session.messages[5] == in_memory.messages[5]
        assert session.call(2).payload == in_memory.call(2).payload
        assert session.dump() == in_memory.dump()


def test_what_another_writer_said_is_in_the_request_after_any_conflict(store_url: str) -> None:
    """Also when something of one's own was waiting to be written, and ids were looked up before the conflict."""

    def fail(_event: object) -> None:
        raise RuntimeError("no")

    with Session.open(store_url, "a", budget=4_000) as one, Session.open(store_url, "a", budget=4_000) as other:
        stop = one.subscribe(fail)
        one.append(user("begin"))
        stop()
        other.append(says("from the other"))
        one.append(text_message("custom-1", "user", "mine", MessageMeta()))
        view = one.compile()

        assert [message["content"] for message in view.to("openai")] == ["begin", "from the other", "mine"]
        assert one.call(view.number).payload == view.payload
        assert one.recall("custom-1") == other.recall("custom-1") if other.refresh() else False


def test_a_flipped_bit_in_a_checkpoint_is_noticed(store_url: str) -> None:
    """And costs nothing but the time to read the log."""
    with Store(store_url) as store:
        with Session.open(store, "a", budget=4_000) as session:
            played(session, list(coding_session())[:120])
            expected = session.preview().payload
        with store.reading() as connection:
            data = bytes(connection.scalar(checkpoints.select().with_only_columns(checkpoints.c.data)))
        for place in range(30, len(data), len(data) // 25):
            flipped = bytearray(data)
            flipped[place] ^= 1 << place % 8
            with store.writing() as connection:
                connection.execute(checkpoints.update().values(data=bytes(flipped)))
            with Session.open(store, "a", budget=4_000) as again:
                assert again.preview().payload == expected


def test_a_snapshot_stays_as_it_was_when_its_log_leaves_memory(store_url: str) -> None:
    """Whoever holds one sees what was there then."""
    with Session.open(store_url, "a", budget=4_000) as session:
        session.append(user("first"))
        early, running = session.context, session.context.log.events(0, 3)
        next(running)
        for turn in range(5):
            session.extend([user(f"question {turn}-{number}") for number in range(800)])
            session.compile()
        assert session.context.log.base > 1_000
        assert [message.text for message in early.messages] == ["first"]
        assert [event.seq for event in running] == [1, 2]
        assert [message.text for message in session.messages[1:3]] == ["question 0-0", "question 0-1"]


def test_a_large_batch_stays_open_across_processes(store_url: str) -> None:
    """However many calls it has, each result finds its call."""
    many = 300
    with Session.open(store_url, "a") as session:
        session.extend([user("go"), calls(*(call(f"c{n}", "Read", file_path=f"{n}.py") for n in range(many)))])
        session.extend([user(f"meanwhile {n}") for n in range(200)])
    with Session.open(store_url, "a") as again:
        again.extend([result(f"c{n}", f"content {n}") for n in range(many)])
        assert [message.meta.tool_name for message in again.messages[-many:]] == ["Read"] * many


def test_a_program_that_goes_back_to_its_old_tools_has_them(store_url: str) -> None:
    """What is given counts; only what is given as the last time leaves a change in its course alone."""
    for system in ("one", "two", "one"):
        with Session.open(store_url, "a", system=system) as session:
            assert session.context.system == system
    with Session.open(store_url, "a", system="one") as session:
        session.reframe(system="changed on the way")
    with Session.open(store_url, "a", system="one") as session:
        assert session.context.system == "changed on the way"
    with Session.open(store_url, "a", system="two") as session:
        assert session.context.system == "two"


def test_a_profile_of_ones_own_can_be_replaced_by_a_budget(store_url: str) -> None:
    """As the error says that asks for one."""
    with Session.open(store_url, "a", model=ModelProfile(name="in-house-7", window=8_000)) as session:
        session.append(user("hello"))
    with Session.open(store_url, "a", budget=4_000) as again:
        assert again.compile().budget == TokenBudget(window=4_000, used=again.compile().tokens)


def test_options_that_cannot_work_leave_nothing_behind(store_url: str) -> None:
    """Not even an empty session."""
    with pytest.raises(ConfigError, match="`budget` must be"):
        Session.open(store_url, "a", budget=-1)
    with Store(store_url) as store:
        assert store.sessions() == []


def test_a_closed_session_compiles_nothing(store_url: str) -> None:
    """A call that nobody records is not made."""
    session = Session.open(store_url, "a", budget=4_000)
    session.append(user("hello"))
    session.close()
    with pytest.raises(StoreError, match="is closed"):
        session.compile()


@pytest.mark.parametrize("moment", [float("nan"), float("inf"), 1.7e12, -1.0])
def test_a_time_that_is_none_is_refused(moment: float) -> None:
    """Milliseconds above all."""
    session = Session(budget=4_000)
    with pytest.raises(ConfigError, match="in seconds since 1970"):
        session.append(user("hello"), time=moment)
    with pytest.raises(ConfigError, match="`now`"):
        session.compile(now=moment)
    assert session.context.length == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_goes_on_by_itself(store_url: str) -> None:
    """Connections are not shared with it."""
    code = """
import os, sys
from foveate import Session
session = Session.open(sys.argv[1], "a", budget=4_000)
children = []
for child in range(4):
    pid = os.fork()
    if pid == 0:
        for number in range(10):
            session.append({"role": "user", "content": f"{child}-{number}"})
        os._exit(0)
    children.append(pid)
for number in range(10):
    session.append({"role": "user", "content": f"parent-{number}"})
assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
session.close()
"""
    subprocess.run([sys.executable, "-c", code, store_url], check=True, timeout=120)
    with Session.open(store_url, "a") as session:
        assert len(session.messages) == len({message.text for message in session.messages}) == 50
