"""Supersede: a stale read becomes a pointer; nothing else does."""

from inline_snapshot import snapshot
from tests.dialogue import drafted, exchange, lines, session_of, texts, user

from foveate import DefaultRouter, ToolSemantics
from foveate.compile.passes import Supersede
from foveate.log.items import Item

CONTENT = lines(20)


def superseded(*messages, **options) -> dict[str, Item]:
    draft, ctx = drafted(
        session_of([user("go"), *messages, user("next"), *exchange("end", "Bash", "ok", command="true")], **options)
    )
    return {item.id: item for item in Supersede()(draft, ctx).items if item.fate == "superseded"}


def read(id: str, path: str = "a.py", text: str = CONTENT, **arguments) -> list[dict]:
    return exchange(id, "Read", text, file_path=path, **arguments)


def test_an_earlier_read_of_a_file_read_again_becomes_a_pointer() -> None:
    """Which says why, where the newer one is, and how to get the old one back."""
    assert texts(superseded(*read("1"), *read("2")).values()) == snapshot(
        {"m3": "[outdated: a.py was read again later, in m5; reference m3]"}
    )


def test_an_earlier_read_of_a_file_overwritten_becomes_a_pointer() -> None:
    """What was read is not what is there now."""
    assert texts(
        superseded(*read("1"), *exchange("w", "Write", "ok", file_path="a.py", content="x")).values()
    ) == snapshot({"m3": "[outdated: a.py was overwritten later, in m5; reference m3]"})


def test_a_failed_read_retires_nothing() -> None:
    """The earlier content is the best there is."""
    assert superseded(*read("1"), *read("2", text="Error: permission lost")) == {}


def test_a_partial_read_retires_nothing() -> None:
    """A part does not stand for the whole."""
    assert superseded(*read("1"), *read("2", offset=10, limit=20)) == {}


def test_an_edit_retires_nothing() -> None:
    """Most of what was read still holds."""
    assert superseded(*read("1"), *exchange("e", "Edit", "ok", file_path="a.py")) == {}


def test_an_undeclared_tool_neither_retires_nor_is_retired() -> None:
    """Nothing is guessed from a tool's name or arguments."""
    fetch = [message for n in (1, 2) for message in exchange(f"f{n}", "fetch_file", CONTENT, file_path="a.py")]

    assert superseded(*fetch) == {}
    assert superseded(*read("1"), *fetch) == {}


def test_a_tool_declared_by_the_user_takes_part() -> None:
    """DefaultRouter(tools=…) is enough."""
    router = DefaultRouter(tools={"fetch_file": ToolSemantics(access="read", resource=("file_path",))})
    fetch = [message for n in (1, 2) for message in exchange(f"f{n}", "fetch_file", CONTENT, file_path="a.py")]

    assert list(superseded(*fetch, router=router)) == ["m3"]


def test_another_file_retires_nothing() -> None:
    """Same tool, other resource."""
    assert superseded(*read("1"), *read("2", path="b.py")) == {}


def test_all_but_the_last_of_several_reads_go() -> None:
    """Each points to the newest."""
    assert list(superseded(*read("1"), *read("2"), *read("3"))) == ["m3", "m5"]


def test_a_read_of_two_files_goes_only_when_both_are_stale() -> None:
    """Half of it still holds."""
    both = exchange("1", "Bash", CONTENT, command="cat a.py b.py")

    assert superseded(*both, *exchange("2", "Bash", CONTENT, command="cat a.py")) == {}
    assert list(superseded(*both, *exchange("2", "Bash", CONTENT, command="cat b.py a.py"))) == ["m3"]


def test_earlier_failures_of_a_retry_chain_become_one_line_each() -> None:
    """The last attempt stays in full, as long as it is open."""
    chain = [
        m for n in range(3) for m in exchange(f"e{n}", "Edit", f"Error: no match {n}\n{CONTENT}", file_path="a.py")
    ]

    assert texts(superseded(*chain).values()) == snapshot(
        {
            "m3": "[failed, tried again later: Error: no match 0; reference m3]",
            "m5": "[failed, tried again later: Error: no match 1; reference m5]",
        }
    )


def test_a_pointer_longer_than_the_content_is_not_made() -> None:
    """A reduction is smaller or it is none."""
    assert superseded(*read("1", text="x = 1"), *read("2", text="x = 2")) == {}


def test_a_pinned_read_is_not_retired() -> None:
    """Pinned is verbatim."""
    session = session_of(
        [user("go"), *read("1"), *read("2"), user("next"), *exchange("end", "Bash", "ok", command="true")]
    )
    session.pin("m3")
    draft, ctx = drafted(session)

    assert Supersede()(draft, ctx) is draft


def test_a_file_of_the_same_name_elsewhere_retires_nothing() -> None:
    """Two files, two contents."""
    assert (
        superseded(
            *exchange("1", "Bash", CONTENT, command="cd api && cat config.py"),
            *exchange("2", "Bash", CONTENT, command="cd web && cat config.py"),
        )
        == {}
    )


def test_a_copy_of_a_file_does_not_retire_the_read_of_its_source() -> None:
    """`cat a.py > b.py` shows nothing of a.py."""
    assert (
        superseded(
            *exchange("1", "Bash", CONTENT, command="cat a.py"), *exchange("2", "Bash", "", command="cat a.py > b.py")
        )
        == {}
    )
