"""Each invariant accepts a sound sequence and rejects a mutated one."""

from collections.abc import Sequence

import msgspec
import pytest
from tests.dialogue import call, calls, drafted, exchange, result, says, session_of, user

from foveate.compile.rules import INVARIANTS, Facts, broken
from foveate.log.items import Item
from foveate.log.messages import Message, Text, Thinking

SESSION = session_of(
    [
        {"role": "system", "content": "House rules."},
        user("first"),
        calls(call("a", "Read", file_path="x"), call("b", "Edit", file_path="y")),
        result("a", "content"),
        result("b", "Error: no match"),
        Message(id="", role="assistant", parts=(Thinking(text="hm", signature="s"), Text(text="I see."))),
        user("second"),
        *exchange("c", "Read", "more", file_path="z"),
    ]
)
ITEMS = drafted(SESSION)[0].items
SAID = list(SESSION.messages)


def facts(**changes) -> Facts:
    known = {
        "pins": {"m4": None},
        "newest_input": "m7",
        "first_input": "m2",
        "leading": 1,
        "open_errors": frozenset({"m5"}),
    }
    return Facts(said=SAID.__getitem__, **{**known, "tokens": 100, "limit": 1_000, "room": 900, **changes})


def without(*ids: str) -> tuple[Item, ...]:
    return tuple(item for item in ITEMS if item.id not in ids)


def changed(id: str, **changes) -> tuple[Item, ...]:
    return tuple(msgspec.structs.replace(item, **changes) if item.id == id else item for item in ITEMS)


def said_otherwise(id: str, *parts) -> tuple[Item, ...]:
    message = next(item.message for item in ITEMS if item.id == id)
    return changed(id, message=msgspec.structs.replace(message, parts=parts))


def moved(id: str, position: int) -> tuple[Item, ...]:
    rest = without(id)
    (item,) = (one for one in ITEMS if one.id == id)
    return (*rest[:position], item, *rest[position:])


def test_a_sound_sequence_breaks_nothing() -> None:
    """The unmutated request passes every rule."""
    assert broken(ITEMS, facts()) == ()


@pytest.mark.parametrize(
    ("items", "rule"),
    [
        (without("m4"), "pairing: a unanswered before m6"),
        (without("m9"), "pairing: c unanswered at the end"),
        (without("m3"), "pairing: m4 answers 'a', which is not waiting"),
        (moved("m5", 6), "pairing: m5 answers 'b', which is not waiting"),
        (moved("m4", 2), "pairing: m4 answers 'a', which is not waiting"),
        ((*ITEMS, ITEMS[-1]), "ids unique: 'm9' occurs twice"),
        (
            (*ITEMS[:-2], msgspec.structs.replace(ITEMS[2], id="x"), *ITEMS[3:5], *ITEMS[-2:]),
            "ids unique: 'call a' occurs twice",
        ),
        (said_otherwise("m2", Text(text="  ")), "nothing empty: m2 has no content"),
        (said_otherwise("m6", Thinking(text="hm", signature="s")), "nothing empty: m6 has no content"),
        (
            said_otherwise("m6", Thinking(text="h…", signature="s"), Text(text="I see.")),
            "thinking whole: m6 shows thinking that was never said",
        ),
        (without("m1"), "framing present: system message m1 is not shown verbatim"),
        (changed("m1", fate="masked"), "framing present: system message m1 is not shown verbatim"),
        (without("m3", "m4", "m5"), "pinned verbatim: m4 is missing"),
        (changed("m4", fate="masked"), "pinned verbatim: m4 is masked, not as it was said"),
        (without("m7"), "newest input: m7 is missing"),
        (changed("m7", fate="trimmed"), "newest input: m7 is trimmed, not as it was said"),
        (moved("m6", 6), "newest input: m6 is older than m7 but stands behind it"),
        (without("m3", "m4", "m5"), "errors visible: open error m5 is not shown"),
    ],
)
def test_a_mutated_sequence_is_rejected(items: Sequence[Item], rule: str) -> None:
    """Each rule says what is broken and where."""
    assert rule in broken(items, facts())


def test_a_request_over_budget_is_rejected() -> None:
    """With the numbers."""
    assert broken(ITEMS, facts(tokens=1_001)) == ("within budget: 1001 tokens in a budget of 1000",)


def test_a_pinned_message_with_other_words_is_rejected_whatever_its_fate_says() -> None:
    """A user's pass that edits a pinned message without changing `fate` breaks the rule as well."""
    items = said_otherwise("m4", msgspec.structs.replace(SAID[3].parts[0], text="something else"))

    assert any(what.startswith("pinned verbatim") for what in broken(items, facts()))


def test_a_newest_input_with_other_words_is_rejected_whatever_its_fate_says() -> None:
    """Verbatim means verbatim."""
    assert any(what.startswith("newest input") for what in broken(said_otherwise("m7", Text(text="else")), facts()))


def test_a_line_of_a_digest_shows_an_error() -> None:
    """An open error may be one line."""
    from foveate.log.items import Line

    digest = Item(
        id="r1.0", message=Message(id="r1.0", role="user", parts=(Text(text="earlier"),)), tokens=5, order=2, group="r1.0",
        covers=((2, 4),), lines=(Line(kind="error", text="no match", source="m5"),),
    )  # fmt: skip
    items = (*ITEMS[:2], digest, *ITEMS[5:])

    assert broken(items, facts(pins={})) == ()


def test_every_rule_of_the_design_has_a_name_of_its_own() -> None:
    """Violations can be told apart."""
    assert len({rule.name for rule in INVARIANTS}) == len(INVARIANTS)


def test_only_what_is_new_is_checked_again() -> None:
    """Items before `start` were checked before; ids among them are still known."""
    assert broken(ITEMS, facts(known_ids={"m9"}), start=7) == ("ids unique: 'm9' occurs twice",)
    assert (
        broken((*ITEMS, *drafted(session_of([says("x")]))[0].items), facts(known_ids={"m1"}), start=9)[0]
        == "ids unique: 'm1' occurs twice"
    )
