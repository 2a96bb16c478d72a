"""Drop: oldest exchanges go, until the low mark is reached."""

from tests.dialogue import drafted, session_of, work

from foveate.compile.passes import Drop


def test_oldest_groups_go_first_down_to_the_low_mark() -> None:
    """The first request and the tail stay."""
    draft, ctx = drafted(session_of(work(4)), limit=8_000, low=4_000)
    after = Drop()(draft, ctx)
    kept = [item.order for item in after.items]

    assert after.tokens <= 4_000
    assert kept[0] == 0
    assert kept[1:] == list(range(kept[1], len(draft.items)))


def test_exchanges_go_whole() -> None:
    """No half of one is left at any low mark."""
    session = session_of(work(3))
    for low in range(200, 6_000, 400):
        draft, ctx = drafted(session, low=low)
        items = Drop()(draft, ctx).items
        called = {one.id for item in items for one in item.message.calls}
        answered = {item.message.result.call_id for item in items if item.message.result}
        assert called == answered
