"""A pass of one's own, and a tool of one's own.

uv run python examples/own_pass.py
"""

import json

import foveate
from foveate.compile.passes.placeholders import with_result
from foveate.log.items import Item


@foveate.reducing_pass
def blank_weather(draft: foveate.Draft, ctx: foveate.PassContext) -> foveate.Draft:
    """Yesterday's weather is never needed again: of old `get_weather` results keep one line.

    A pass is a function from draft to draft with a name. It gives back other items, it changes none. It runs when a
    reduction is made, not on every request, and says so.
    """
    newest = draft.items[-1].group if draft.items else ""

    def shortened(item: Item) -> Item:
        old = item.message.meta.tool_name == "get_weather" and item.group != newest
        if not old or item.id in ctx.pins:
            return item
        text = f"[weather of the past; reference {item.id}]"
        return with_result(item, text, ctx, fate="masked", by="blank_weather", why="weather is not history")

    return draft.with_items(shortened(item) for item in draft.items)


# Foveate knows the tools of common coding agents. Of others it is told what they read and write: then a later
# `save_note` retires what `load_note` read of the same note, and a success settles an earlier error on it.
NOTES = {
    "load_note": foveate.ToolSemantics(access="read", resource=("title",)),
    "save_note": foveate.ToolSemantics(access="write", resource=("title",)),
}


def exchange(number: int, name: str, output: str, **arguments: str) -> list[dict[str, object]]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": output},
    ]


def main() -> None:
    cap, restore_pins, repair, _isolation, *rest = foveate.PASSES
    policy = foveate.Policy(
        name="notes",
        passes=(cap, restore_pins, repair, blank_weather, *rest),  # finished turns are treated like the running one
        low=0.6,  # a reduction comes down to 60 % of the budget
    )
    router = foveate.DefaultRouter(tools=foveate.TOOLS | NOTES)
    session = foveate.Session(budget=1_500, policy=policy, router=router)
    packing = "\n".join(f"{line}. pack item {line} of the list" for line in range(1, 60))
    session.append({"role": "user", "content": "Plan my week. Notes first."})
    session.extend(exchange(0, "load_note", packing, title="packing"))
    for day in range(1, 9):
        forecast = "\n".join(f"{hour:02d}:00 day {day}: {hour % 9 + 8} degrees, wind {hour % 5}" for hour in range(24))
        session.extend(exchange(day, "get_weather", forecast, day=str(day)))
    session.extend(exchange(9, "save_note", "Saved.", title="packing", text="shorter"))
    session.append({"role": "user", "content": "So: umbrella or not?"})

    view = session.compile()
    for record in view.records:
        print(f"{record.name:14} {record.tokens_before:5} → {record.tokens_after:5} tokens")
    print()
    print(view.why("m3"))  # the note that was saved over
    print(view.why("m5"))  # the weather of day 1


if __name__ == "__main__":
    main()
