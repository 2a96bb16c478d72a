"""Distil: of all that is evicted, the lines worth their tokens stay verbatim."""

from tests.dialogue import drafted, exchange, lines, reading, says, session_of, user

from foveate.compile.passes import Distil, Fold


def distilled(messages, *, limit: int):
    draft, ctx = drafted(session_of(messages), limit=limit)
    draft = Fold()(draft, ctx)
    after = Distil()(draft, ctx)
    return draft, after, ctx


def evidence(draft) -> list[tuple[str, str]]:
    return [(line.source, line.text) for item in draft.items for line in item.lines if line.kind == "evidence"]


def test_lines_that_actions_use_come_before_lines_that_were_only_seen() -> None:
    """What an action used is likely to be used again."""
    output = "\n".join(
        [*(f"unrelated_thing_{n} = {n}" for n in range(60)), "def apply_discount(order): return order.total"]
    )
    _, after, _ = distilled(
        [
            user("go"),
            *exchange("1", "Read", output, file_path="src/prices.py"),
            *exchange("2", "Grep", "no hits", pattern="apply_discount"),
            *exchange("3", "Bash", "ok", command="grep apply_discount src"),
            user("next"),
            says("ok"),
        ],
        limit=800,
    )
    kept = [text for _, text in evidence(after)]

    assert "def apply_discount(order): return order.total" in kept
    assert len(kept) < 40


def test_a_digest_stays_within_its_room() -> None:
    """Evidence fills the share, not more."""
    before, after, ctx = distilled([user("go"), *reading(20), user("next"), says("x")], limit=4_000)
    room = sum(item.room for item in before.items)

    assert evidence(after)
    assert after.tokens - before.tokens <= room * 1.1
    assert sum(item.tokens for item in after.items if item.is_digest) <= ctx.part(ctx.shares.digests)


def test_evidence_stands_in_time_order_with_its_source() -> None:
    """Quoted word for word."""
    session = session_of([user("go"), *reading(6, size=8), user("next"), says("x")])
    _, after, _ = distilled([user("go"), *reading(6, size=8), user("next"), says("x")], limit=4_000)
    orders = [line.order for item in after.items for line in item.lines]

    assert orders == sorted(orders)
    for source, text in evidence(after):
        position = int(source[1:]) - 1
        said = session.messages[position]
        assert text in said.text or text in said.calls[0].arguments


def test_what_is_visible_anyway_is_not_quoted() -> None:
    """No token is spent twice."""
    shown = "special_identifier_7 lives in src/shown.py"
    _, after, _ = distilled(
        [
            user("go"),
            *exchange("1", "Read", shown, file_path="src/old.py"),
            *reading(4),
            user("next"),
            says(f"Note: {shown}"),
        ],
        limit=2_000,
    )

    assert all("special_identifier_7" not in text for _, text in evidence(after))


def test_the_same_line_is_quoted_once() -> None:
    """However often it was read."""
    same = [m for n in range(5) for m in exchange(f"{n}", "my_tool", "config_value_1 = 5\n" + lines(3), path="x")]
    _, after, _ = distilled([user("go"), *same, user("next"), says("x")], limit=4_000)

    assert [text for _, text in evidence(after)].count("config_value_1 = 5") <= 1
