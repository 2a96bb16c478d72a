"""The working set: what the agent's own actions use."""

from tests.dialogue import exchange, says, session_of, user

from foveate.compile.working_set import HALF_LIFE, WorkingSet, WorkingSetBuilder


def working_set_of(*messages) -> WorkingSet:
    builder = WorkingSetBuilder()
    for message in session_of(messages).messages:
        builder.feed(message)
    return builder.working_set()


def test_what_an_action_used_weighs_more_than_what_a_user_named_and_output_weighs_nothing() -> None:
    """Actions 1, requests one half, tool output 0."""
    working = working_set_of(
        user("look at user_named.py"), *exchange("1", "Read", "only_seen.py is here", file_path="src/used.py")
    )

    assert working.weight("src/used.py") == 1.0
    assert 0.4 < working.weight("user_named.py") <= 0.5
    assert working.weight("only_seen.py") == 0.0
    assert working.in_use().index("src/used.py") < working.in_use().index("user_named.py")


def test_the_names_of_arguments_are_not_in_use() -> None:
    """Otherwise lines about `file_path` outweigh lines about the files."""
    assert working_set_of(user("go"), *exchange("1", "Read", "x", file_path="src/used.py")).in_use() == ["src/used.py"]


def test_use_fades_by_half_in_a_half_life_of_steps() -> None:
    """Time is counted in steps, not seconds."""
    steps = [says("hm") for _ in range(int(HALF_LIFE))]
    working = working_set_of(user("go"), *exchange("1", "Read", "x", file_path="src/used.py"), *steps)

    assert abs(working.weight("src/used.py") - 0.5) < 1e-9


def test_frequent_use_adds_up() -> None:
    """Used twice in a row is nearly twice as much."""
    working = working_set_of(
        user("go"), *(m for n in range(2) for m in exchange(f"{n}", "Read", "x", file_path="src/used.py"))
    )

    assert 1.9 < working.weight("src/used.py") < 2.0


def test_what_was_used_long_ago_is_not_in_use() -> None:
    """After several half-lives an entity is forgotten."""
    working = working_set_of(user("go"), *exchange("1", "Read", "x", file_path="src/used.py"), *[says("hm")] * 80)

    assert working.in_use() == []
