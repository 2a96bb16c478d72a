"""A process that appends to a session and says what was acknowledged; killed or watched by the tests beside it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from foveate import Session
from tests.dialogue import call, calls, lines, result, user


def main(url: str, session_id: str, name: str, count: int) -> None:
    """Append `count` turns, each a user message and a batch of two calls with their results; a line for each."""
    with Session.open(url, session_id, budget=4_000) as session:
        print("ready", flush=True)
        for number, turn in enumerate(turns(name, count)):
            ids = [one for step in turn for one in session.extend(step)]
            print("acknowledged", f"{name}-{number}", *ids, flush=True)
            if number % 3 == 0:
                print("compiled", session.compile().number, flush=True)


def turns(name: str, count: int) -> Iterator[list[list[dict[str, object]]]]:
    """Each turn as the steps it is appended in: a question, and a batch in one go."""
    for number in range(count):
        mark = f"{name}-{number}"
        first, second = f"{mark}-a", f"{mark}-b"
        yield [
            [user(f"{mark} question")],
            [
                calls(call(first, "Read", file_path=f"{mark}.py"), call(second, "bash", command="ls")),
                result(first, f"{mark} {lines(150)}"),
                result(second, f"{mark} {lines(3)}"),
            ],
        ]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
