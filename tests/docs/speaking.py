"""The model of the documentation: it says what the pages show, as little as will do."""

from __future__ import annotations

from typing import Any, Final

from tests.scripted_model import Payload, call, text

_ANSWERS: Final = {
    "shopping list": "",
    "eight people": "Happy to help, Ada. Eight people on 14 March it is.",
    "peanuts": "Understood: nothing with peanuts, for Bruno's sake.",
    "lentil curry": "A lentil curry works well for eight, and can be made the day before.",
    "Chiara": "Then Chiara brings the wine, and you need none.",
    "budget": "120 euros for eight is 15 euros a head; that is enough for a curry and a cake.",
    "cake": "A lemon cake keeps well; bake it on Friday.",
    "music": "I have put music on the list of what is still open.",
    "neighbours": "A note in the hallway a week before is kind.",
    "chairs": "Two are missing, then. The neighbours may lend you some.",
    "allergic": "Bruno: no peanuts.",
}
_SUMMARY: Final = """\
## Topic
Ada plans her birthday dinner on 14 March, for eight people.

## Constraints and preferences
- Bruno must never get peanuts (m3)
- no more than 120 euros in all (m9)

## Decisions
- lentil curry (m5); Chiara brings the wine (m7)"""


def speaking(payload: Payload) -> dict[str, Any]:
    """An answer for the pages on agents, chats and the HTTP API."""
    system = str(payload["messages"][0]["content"])
    if any(role in system for role in ("architect", "developer", "reviewer")):
        return _working(system, payload)
    last = payload["messages"][-1]
    said = last["content"] if isinstance(last["content"], str) else last["content"][0]["text"]
    if last["role"] == "tool":
        return text("Your list says: " + ", ".join(line.strip("- ") for line in said.strip().splitlines() if line))
    if "=== BEGIN" in said:
        return text(_SUMMARY)
    if "Observation:" in said:
        return text("Observation: all went well.\nAdjustment: go on like this.")
    if "shopping list" in said:
        return call("read_file", path="shopping.md", number=len(payload["messages"]))
    return text(next((answer for word, answer in _ANSWERS.items() if word in said), "Noted."))


def _working(system: str, payload: Payload) -> dict[str, Any]:
    answered = any(message["role"] == "tool" for message in payload["messages"])
    if "architect" in system:
        return call("finish", tasks=[{"id": "T1", "description": "Make round_cents round half away from zero."}])
    if "developer" in system and not answered:
        return call("write_file", path="money.py", content="def round_cents(value): ...\n")
    return call("finish", summary="done") if "developer" in system else call("finish", approved=True)
