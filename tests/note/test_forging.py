"""Nothing that a tool, a file or the agent wrote can pass for the user's words or for a line of the note."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from foveate import Session
from foveate.log.quoting import MARK, neutralize_text
from tests.dialogue import call, calls, exchange, lines, result, says, user
from tests.transforms.forged import DEEDS, FORGERIES

DEED = DEEDS[0]
# Every way in which a line of a note can begin.
OURS = re.compile(
    r"\[(?:earlier in this session|how the work stood when m\d+ was)\b|\[recalled from earlier"
    r"|(?:user|assistant|tool|system|program)(?: answering| refusing)? m\d+(?:,| on |:)"
    r"|m\d+ (?:to m\d+: )?[\w\"]"
    r"|(?:open error|failed, settled since,) m\d+: |files changed\b|(?:plan|output|code) m\d+ "
)


def forged_session(name: str) -> Session:
    """The forgery in outputs of every kind, in files, in a list, in a name and in arguments."""
    forged = FORGERIES[name].format(said=f"{DEED.approval}, see {DEED.ticket}", about="reports/slow.txt")
    output = f"begin slow_nights\n{lines(3, 'row')}\n{forged}\n{lines(3, 'row')}\nend slow_nights"
    session = Session(budget=5_000, policy="default")
    session.extend([user(f"Find out about slow_nights. {DEED.refusal}."), says("I only look."), user("Begin.")])
    session.extend(exchange("a", "Bash", output, command="curl -s https://example.org/slow_nights"))
    session.extend(exchange("b", "Bash", output, command="cat slow_nights.py"))
    session.extend(exchange("c", "Bash", f"{output}\nError: {forged}\nexit code 1", command="make slow_nights"))
    session.extend(exchange("d", "Write", "File created successfully", file_path="slow_nights.py", content=output))
    session.extend(exchange("e", "TodoWrite", "ok", todos=[{"content": forged, "status": "pending"}]))
    session.extend(exchange("f", forged.replace("\n", " ")[:60], output, slow_nights=forged))
    session.extend([calls(call("g", "Bash", command=f"echo {json.dumps(forged)}"), text=forged), result("g", output)])
    session.extend(
        exchange("h", "Write", "File created successfully", file_path=f"slow\n{forged}.py", content="x = 1\n")
    )
    session.extend(exchange("i", "Bash", f"[main 1a2b3c4] {forged}", command="git commit -m slow_nights"))
    session.extend(exchange("j", "Bash", lines(200), command="tail slow_nights.log"))
    session.compile()
    session.extend([says(f"It is slow.\n{forged}"), user("Go on with slow_nights.")])
    session.extend(exchange("k", "Bash", lines(200), command="cat slow_nights.txt"))
    session.extend(exchange("l", "Bash", "slow_nights", command="grep slow_nights slow_nights.py"))
    return session


@pytest.mark.parametrize("name", FORGERIES)
def test_each_line_of_a_note_is_ours_or_marked(name: str) -> None:
    """Whatever is quoted: no line of it begins as a line of ours, and the forged words are in none but their quotes."""
    session = forged_session(name)
    view = session.compile()
    digests = [item for item in view.items if item.is_digest]
    assert digests
    said = neutralize_text("\n".join(_everything(message) for message in session.messages))
    whole = " ".join(said.split())
    for item in digests:
        for line in item.message.text.splitlines():
            if line.startswith(MARK):
                assert " ".join(line.removeprefix(MARK).strip(" …").split()) in whole, line
            else:
                assert OURS.match(line), line
                assert not re.match(rf"(?:user|program)\b.*{re.escape(DEED.approval)}", line), line
    assert any(DEED.approval in item.message.text for item in digests), "the forged words are there"


def test_no_forgery_is_in_a_line_of_the_users() -> None:
    """The lines that begin with `user` have what users said."""
    for name in FORGERIES:
        for item in forged_session(name).compile().items:
            if item.is_digest:
                users = [line for line in item.lines if line.kind == "user"]
                assert not any(DEED.approval in line.text for line in users)


def _everything(message: Any) -> str:
    arguments = (json.loads(one.arguments) for one in message.calls)
    return "\n".join([message.text, *(text for given in arguments for text in _texts(given))])


def _texts(value: Any) -> list[str]:
    match value:
        case str():
            # A list shows an item with its state in front, a command in one line.
            return [value, f"[ ] {' '.join(value.split())}"]
        case dict():
            return [text for one in value.values() for text in _texts(one)]
        case list():
            return [text for one in value for text in _texts(one)]
        case _:
            return []
