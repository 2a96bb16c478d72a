"""Peers: run in environments of their own, judged like any other arm, and failing without taking the rest along."""

import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.arms import Measure
from bench.peering import AdapterError, PeerError, Timed, TooSlowError, adapters, contestants, peer_of, plain
from bench.rehearsal import STEPS, rehearsed

from bench import peering
from foveate.lab.chat import Chat, call
from foveate.lab.contestants import Feed, Opening, Step

ADAPTER = """
    # /// script
    # requires-python = ">=3.11"
    # dependencies = ["splintr-rs==0.22.0"]
    # ///
    import os
    import time

    import tiny_peer
    from worker import Arm, count, serve, timed, tokens

    class Last:
        def __init__(self, system, budget):
            self.head = [{"role": "system", "content": system}] if system else []
            self.log = []
            self.budget = budget

        def step(self, new):
            self.log += new
            if any(message["content"] == "die" for message in new):
                os._exit(3)
            if any(message["content"] == "odd" for message in new):
                raise KeyError("odd")
            if any(message["content"] == "fail" for message in new):
                timed(tiny_peer.failed)
            if any(message["content"] == "call back" for message in new):
                timed(lambda: tiny_peer.asked(lambda: {}["back"]))
            if any(message["content"] == "hang" for message in new):
                time.sleep(60)
            print("a peer may print what it likes")
            return timed(lambda: [*self.head, *self.log[-2:], {"role": "user", "content": f"{self.budget}"}])

    serve("tiny", ["splintr-rs"], [Arm(name="last", call="last(2)", start=Last, note="for tests")])
"""

PEER = """
    def failed():
        raise ValueError("没有")

    def asked(count):
        return count()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    shutil.copy(peering.FOLDER / "worker.py", tmp_path)
    (tmp_path / "tiny_peer.py").write_text(textwrap.dedent(PEER).lstrip())
    (tmp_path / "with_tiny.py").write_text(textwrap.dedent(ADAPTER).lstrip())
    yield tmp_path
    peering.end_all()


def user(text: str) -> Chat:
    return {"role": "user", "content": text}


def begun(folder: Path, system: str = "be brief") -> Feed:
    (arm,) = contestants(peer_of(folder / "with_tiny.py"), folder)
    return arm.start(Opening(system=system, budget=900, sizes=Measure()))


def fed(feed: Feed, *chats: Chat) -> list[Chat]:
    return feed(Step(chats=chats, messages=())).chats


def test_a_peer_says_what_it_is(folder: Path) -> None:
    peer = peer_of(folder / "with_tiny.py")

    assert (peer.name, peer.reason, peer.versions) == ("tiny", "", {"splintr-rs": "0.22.0"})
    assert [(arm.name, arm.call, arm.note) for arm in peer.arms] == [("last", "last(2)", "for tests")]


def test_what_a_peer_leaves_alone_is_the_very_message_that_was_said(folder: Path) -> None:
    feed = begun(folder)
    first: Chat = {"role": "assistant", "content": "", "tool_calls": [call("c1", "ls", '{"a":  1}')]}
    second: Chat = {"role": "tool", "tool_call_id": "c1", "content": "x"}

    made = feed(Step(chats=[user("go"), first, second], messages=()))

    assert isinstance(made, Timed)
    assert 0 < made.seconds < 1
    assert made.chats[0] == {"role": "system", "content": "be brief"}
    assert made.chats[1] is first
    assert made.chats[2] is second
    assert made.chats[3] == user("900")


def test_what_a_peer_makes_again_is_the_same_message(folder: Path) -> None:
    feed = begun(folder)
    one, other = fed(feed, user("a")), fed(feed, user("b"))
    assert one[-1] is other[-1]


def test_an_error_of_a_peer_is_its_result_and_it_goes_on(folder: Path) -> None:
    feed = begun(folder)
    with pytest.raises(PeerError, match="ValueError: 没有"):
        fed(feed, user("fail"))
    assert fed(feed, user("on"))[-2] == user("on")


@pytest.mark.parametrize(("text", "said"), [("odd", "KeyError: 'odd'"), ("call back", "KeyError: 'back'")])
def test_an_error_of_an_adapter_is_no_failure_of_its_peer(folder: Path, text: str, said: str) -> None:
    """Not even if the peer called back into it: it stops the run, and says whose it is."""
    with pytest.raises(AdapterError, match=rf"with_tiny\.py went wrong, not its peer: {said}"):
        fed(begun(folder), user(text))


def test_instructions_that_a_peer_gives_back_as_those_of_the_system_are_as_they_were(folder: Path) -> None:
    """Most peers know one of the two roles."""
    adapter = folder / "with_tiny.py"
    text = adapter.read_text().replace("self.log += new", 'self.log += [{**one, "role": "system"} for one in new]')
    adapter.write_text(text)
    told: Chat = {"role": "developer", "content": "in English"}
    assert fed(begun(folder), told)[-2] is told


def test_a_peer_that_dies_is_out_for_the_session_and_back_for_the_next(folder: Path) -> None:
    feed = begun(folder)
    with pytest.raises(PeerError, match="it ended"):
        fed(feed, user("die"))
    with pytest.raises(PeerError, match="it ended"):
        fed(feed, user("on"))
    assert fed(begun(folder), user("on"))[-2] == user("on")


def test_a_peer_that_takes_too_long_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feed = begun(folder)
    monkeypatch.setattr(peering, "STEP_SECONDS", 0.5)
    with pytest.raises(TooSlowError, match=r"no answer within 0\.5 seconds"):
        fed(feed, user("hang"))
    with pytest.raises(TooSlowError):
        fed(feed, user("on"))


def test_a_peer_that_cannot_be_installed_is_listed_with_the_reason(folder: Path) -> None:
    broken = folder / "with_nothing.py"
    broken.write_text('# /// script\n# dependencies = ["splintr-rs==99"]\n# ///\n')

    peer = peer_of(broken)

    assert peer.arms == ()
    assert "splintr-rs" in peer.reason


def test_a_rehearsal_says_which_call_went_wrong(folder: Path) -> None:
    adapter = folder / "with_tiny.py"
    assert rehearsed(peer_of(adapter), folder) == {"tiny-last": ""}

    peering.end_all()
    adapter.write_text(adapter.read_text().replace('== "odd"', '== "Be brief."'))
    (said,) = rehearsed(peer_of(adapter), folder).values()
    assert said.startswith("call 5: ") and "KeyError" in said


def test_a_rehearsal_has_every_role_and_shape_of_content() -> None:
    chats = [chat for step in STEPS for chat in step]
    assert {chat["role"] for chat in chats} == {"developer", "system", "user", "assistant", "tool"}
    assert {type(chat["content"]) for chat in chats} == {str, list, type(None)}
    assert any(len(chat.get("tool_calls", ())) > 1 for chat in chats)


def test_messages_go_to_peers_as_texts() -> None:
    names: dict[str, str] = {}
    image = {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {}}]}

    assert plain(image, names)["content"].strip() == "see"
    plain({"role": "assistant", "content": None, "tool_calls": [call("c1", "ls", "{}")]}, names)
    assert plain({"role": "tool", "tool_call_id": "c1", "content": "x"}, names)["name"] == "ls"
    assert plain({"role": "tool", "tool_call_id": "c2", "content": "x"}, names)["name"] == "unknown"


def test_every_adapter_pins_its_packages() -> None:
    for adapter in adapters():
        head = adapter.read_text().partition("# ///\n")[0]
        assert "exclude-newer" in head, adapter.name
        assert all("==" in line or "dependencies" not in line for line in head.splitlines()), adapter.name


def test_a_real_peer_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest of them, from its own environment."""
    peer = peer_of(peering.FOLDER / "with_langchain.py")
    assert not peer.reason, peer.reason
    assert set(rehearsed(peer).values()) == {""}
    for arm in contestants(peer):
        feed = arm.start(Opening(system="be brief", budget=900, sizes=Measure()))
        made = fed(feed, user("go"), {"role": "assistant", "content": "done"}, user("沉默是金"))
        assert made[-1] == user("沉默是金"), arm.name
    peering.end_all()
