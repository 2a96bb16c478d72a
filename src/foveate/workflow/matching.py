"""The program that looks for a regular expression in files, run as a process of its own.

Some patterns take for ever, and only another process can stop them. It is started by its path, so it imports nothing
but the standard library.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LONGEST_FILE = 32 * 1024 * 1024
_LONGEST_LINE = 300


def main() -> None:
    """Read a request from the standard input, write what was found to the standard output."""
    asked = json.load(sys.stdin)
    # The signal's own action ends the process, also in the middle of a match.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(asked["seconds"])
    json.dump(_found(asked), sys.stdout)


def _found(asked: dict[str, Any]) -> dict[str, Any]:
    try:
        wanted = re.compile(asked["pattern"])
    except (re.error, OverflowError, RecursionError) as error:
        return {"error": str(error)}
    shown: list[str] = []
    matches, unread = 0, 0
    for name, path in asked["files"]:
        text = _text(Path(path))
        if text is None:
            unread += 1
            continue
        for number, line in _matching(wanted, text):
            matches += 1
            if len(shown) < asked["most"]:
                shown.append(f"{name}:{number}: {line}")
    return {"lines": shown, "matches": matches, "unread": unread}


def _text(path: Path) -> str | None:
    """The text of a file; none if it is no text, too large or not to be read."""
    try:
        if not path.is_file() or path.stat().st_size > LONGEST_FILE:
            return None
        content = path.read_bytes()
    except OSError:
        return None
    return None if b"\0" in content else content.decode(errors="replace")


def _matching(wanted: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, 1):
        line = line.removesuffix("\r")
        if match := wanted.search(line):
            # Of a line that never ends, the part around the match.
            start = max(0, match.start() - _LONGEST_LINE // 3) if len(line) > _LONGEST_LINE else 0
            part = line[start : start + _LONGEST_LINE]
            yield number, ("…" if start else "") + part + ("…" if start + len(part) < len(line) else "")


if __name__ == "__main__":
    main()
