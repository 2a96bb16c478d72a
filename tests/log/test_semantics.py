"""What tools read and write."""

import json

import pytest

from foveate import TOOLS, ToolSemantics
from foveate.log.messages import ToolCall
from foveate.log.semantics import Touched, parsed_arguments, understood


def touched(*arguments: object) -> Touched:
    return understood(*arguments).touched


def attempt(*arguments: object) -> str:
    return understood(*arguments).attempt


def made(name: str, /, **arguments: object) -> ToolCall:
    return ToolCall(id="c", name=name, arguments=json.dumps(arguments))


def shell(command: object) -> Touched:
    return touched(made("Bash", command=command))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (made("Read", file_path="a.py"), Touched(reads=("a.py",))),
        (made("Read", file_path="a.py", offset=10, limit=5), Touched(reads=("a.py",), partial=True)),
        (made("read_file", path="a.py"), Touched(reads=("a.py",))),
        (made("Write", file_path="a.py", content="x"), Touched(writes=("a.py",))),
        (made("Edit", file_path="a.py", old_string="x"), Touched(writes=("a.py",), partial=True)),
        (made("Grep", pattern="x", path="src"), Touched()),
        (made("TodoWrite", todos=[]), Touched()),
        (made("my_tool", path="a.py"), Touched()),
        (made("Read"), Touched()),
    ],
)
def test_resources_follow_the_table(call: ToolCall, expected: Touched) -> None:
    """Only declared tools touch anything; ranges and edits are partial."""
    assert touched(call) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.py", Touched(reads=("a.py",))),
        (["bash", "-lc", "ls"], Touched()),
        ("head -20 a.py", Touched(reads=("a.py",), partial=True)),
        ("sed -n '1,20p' a.py", Touched(reads=("a.py",), partial=True)),
        ("cat a.py | grep def", Touched(reads=("a.py",), partial=True)),
        ("sed -i s/a/b/ a.py", Touched(writes=("a.py",), partial=True)),
        ("echo hi > out.txt", Touched(writes=("out.txt",))),
        ("echo hi >> out.txt", Touched(writes=("out.txt",), partial=True)),
        ("make 2>/dev/null >/dev/null", Touched()),
        ("pytest -q", Touched()),
        ("cat 'unclosed", Touched()),
    ],
)
def test_plain_shell_verbs_are_understood(command: object, expected: Touched) -> None:
    """The usual ways of reading and writing a file from a shell."""
    assert shell(command) == expected


@pytest.mark.parametrize("command", ["cat a.py 2>/dev/null", "cat a.py 2>&1"])
def test_a_redirection_is_not_a_file_that_was_read(command: str) -> None:
    """The read retires and is retired like one without it."""
    assert shell(command) == Touched(reads=("a.py",))


def test_a_read_into_a_file_shows_nothing_and_so_reads_nothing() -> None:
    """Otherwise it would retire an earlier read that did show the content."""
    assert shell("cat a.py > b.py") == Touched(writes=("b.py",))


@pytest.mark.parametrize("command", ["awk '$3 > 100' data.txt", "echo 'a -> b'", "rg 'x => y' src"])
def test_a_quoted_angle_bracket_writes_nothing(command: str) -> None:
    """The ledger must not report files that were never written."""
    assert shell(command).writes == ()


def test_the_same_name_in_two_directories_is_two_resources() -> None:
    """Or the later read would retire the earlier one, which showed another file."""
    assert shell("cd api && cat config.py").reads != shell("cd web && cat config.py").reads


def test_a_patch_names_its_files() -> None:
    """apply_patch in both of its spellings."""
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"

    assert touched(made("apply_patch", input=patch)) == Touched(writes=("src/a.py", "b.py"), partial=True)
    assert touched(ToolCall(id="c", name="apply_patch", arguments=patch)) == Touched(
        writes=("src/a.py", "b.py"), partial=True
    )


def test_attempts_at_the_same_thing_have_the_same_name() -> None:
    """Retries are recognised by tool and resource, or by the program of a command line."""
    assert attempt(made("Edit", file_path="a.py", old_string="x")) == attempt(
        made("Edit", file_path="a.py", old_string="y")
    )
    assert attempt(made("Edit", file_path="a.py")) != attempt(made("Edit", file_path="b.py"))
    assert attempt(made("Bash", command="cd x && pytest -q")) == attempt(made("Bash", command="pytest -x"))
    assert attempt(made("Bash", command="git push")) != attempt(made("Bash", command="git commit -m x"))
    assert attempt(made("book_flight", to="ZRH")) != attempt(made("book_flight", to="LIS"))


def test_the_target_of_a_command_counts_wherever_its_options_stand() -> None:
    """A pass of one test file does not settle the failure of another, and options do not make another attempt."""
    assert attempt(made("Bash", command="pytest -q tests/a.py")) != attempt(
        made("Bash", command="pytest -q tests/b.py")
    )
    assert attempt(made("Bash", command="pytest -q tests/a.py")) == attempt(made("Bash", command="pytest tests/a.py"))


@pytest.mark.parametrize("arguments", ["{broken", "", "null", "42", '"text"', "[1, 2]", "{'a': 1}"])
def test_arguments_that_are_no_object_do_no_harm(arguments: str) -> None:
    """Models write broken JSON; it is kept as it is."""
    call = ToolCall(id="c", name="Bash", arguments=arguments)

    assert list(parsed_arguments(call)) == ["input"]
    assert touched(call) == Touched()
    assert attempt(call).startswith("Bash")


def test_absurdly_nested_arguments_do_no_harm() -> None:
    """A runaway model repeats one bracket."""
    assert touched(ToolCall(id="c", name="Bash", arguments="[" * 100_000)) == Touched()


def test_the_table_can_be_extended_not_changed() -> None:
    """The shared table is read-only; one's own is a copy with more."""
    with pytest.raises(TypeError):
        TOOLS["mine"] = ToolSemantics(access="read")  # type: ignore[index]
    mine = {**TOOLS, "mine": ToolSemantics(access="write", resource=("target",))}

    assert touched(made("mine", target="t"), mine) == Touched(writes=("t",))
