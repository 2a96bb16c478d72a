"""Harness texts in digests: lines that put words of agents' programs into the user's mouth, in recorded sessions.

python -m bench.harness_words [LOG ...] [--policy NAME ...] [--budget TOKENS] [--show]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.code_state import recorded_paths, recorded_sessions
from foveate import Session
from foveate.compile.facts.harness import part_text
from foveate.log.events import MessageAppended
from foveate.log.items import Line


def main(arguments: Sequence[str] | None = None) -> int:
    """Count lines of digests at the ends of sessions, and those of them that blame the user for a program."""
    parser = argparse.ArgumentParser(prog="python -m bench.harness_words", description=__doc__.partition("\n")[0])
    parser.add_argument("logs", nargs="*", type=Path)
    parser.add_argument("--policy", action="append", help="policies (default and lines)")
    parser.add_argument("--budget", type=int, default=8_000)
    parser.add_argument("--show", action="store_true", help="every line that is wrong")
    options = parser.parse_args(arguments)
    counts = {policy: [0, 0, 0] for policy in options.policy or ("default", "lines")}
    for source, session, messages in recorded_sessions(recorded_paths(options.logs)):
        for policy, count in counts.items():
            held = Session(budget=options.budget, policy=policy)
            try:
                held.record(*(MessageAppended(message=message) for message in messages))
                view = held.compile()
            except Exception as error:  # noqa: BLE001  a log that cannot be compiled is counted elsewhere
                print(f"   {source} {session[:40]}: {error}"[:160], file=sys.stderr)
                continue
            lines = [line for item in view.items if item.is_digest for line in item.lines if line.kind == "user"]
            wrong = [line for line in lines if _is_users(line) and part_text(line.text).harness]
            programs = [line.text[:24] for line in lines if line.speaker == "program"]
            count[0] += len(lines)
            count[1] += len(wrong)
            count[2] += len(programs) - len(set(programs))
            for line in wrong if options.show else ():
                print(f"   {policy} {source} {session[:40]} {line.source}: {' '.join(line.text.split())[:140]}")
    for policy, (lines_count, wrong_count, repeated) in counts.items():
        print(f"{policy}: {lines_count} lines, {wrong_count} of programs as the user's, {repeated} superseded ones")
    return 0


def _is_users(line: Line) -> bool:
    return not line.speaker.startswith("program")


if __name__ == "__main__":
    sys.exit(main())
