"""Evidence: lines of evicted messages, findable by the entities in them."""

from tests.dialogue import exchange, session_of, user

from foveate.compile.evidence import EvidenceIndex, evidence_lines, text_lines


def test_only_lines_that_name_something_are_evidence() -> None:
    """Each with its place in the message."""
    session = session_of([user("hello there\nfix parse_order in src/app.py\nthanks")])

    assert [(line.part, line.text, line.entities) for line in evidence_lines(session.messages[0], 0)] == [
        (1, "fix parse_order in src/app.py", ("parse_order", "src/app.py"))
    ]


def test_a_call_is_read_line_by_line_too() -> None:
    """What was written to a file can be quoted."""
    session = session_of(
        [user("go"), *exchange("1", "Write", "ok", file_path="a.py", content="def parse_order():\n    pass")]
    )

    assert any("def parse_order():" in line for line in text_lines(session.messages[1]))


def test_long_lines_are_cut_into_segments() -> None:
    """A minified file does not come back whole for one word in it."""
    session = session_of([user("word_1 " * 500)])

    assert max(map(len, text_lines(session.messages[0]))) <= 160
    assert "".join(text_lines(session.messages[0])).replace(" ", "") == "word_1" * 500


def test_evicted_messages_are_indexed_once_and_found_by_name() -> None:
    """What still stands verbatim is not indexed."""
    session = session_of([user("alpha_1 here"), user("beta_2 here"), user("gamma_3 here")])
    items = session.preview().items
    once = EvidenceIndex().with_evicted(items, items[1:], session.messages.__getitem__, 1_000)
    index = once.with_evicted(items, items[2:], session.messages.__getitem__, 1_000)

    assert once.places("beta_2") == ()
    assert index.places("alpha_1") == ((0, 0),)
    assert index.places("beta_2") == ((1, 0),)
    assert index.places("gamma_3") == ()
    assert (index.is_evicted(0), index.is_evicted(2)) == (True, False)
