"""Open errors at the end of recorded sessions: those of the ledger beside those of `foveate.compile.facts`.

python -m bench.open_errors [LOG ...] [--split tune|report|all] [--show]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.code_state import recorded_paths, recorded_sessions
from bench.material import split_of
from foveate.compile.facts.errors import OpenErrors
from foveate.compile.ledger import LedgerBuilder


def main(arguments: Sequence[str] | None = None) -> int:
    """Count what both call open at the end, and how many errors there were."""
    parser = argparse.ArgumentParser(prog="python -m bench.open_errors", description=__doc__.partition("\n")[0])
    parser.add_argument("logs", nargs="*", type=Path)
    parser.add_argument("--split", choices=("tune", "report", "all"), default="all")
    parser.add_argument("--show", action="store_true", help="every error that either of them calls open")
    options = parser.parse_args(arguments)
    ledger_open = ours_open = resolved = sessions = status_only = ours_status_only = 0
    for source, session, messages in recorded_sessions(recorded_paths(options.logs)):
        if options.split not in ("all", split_of(session)):
            continue
        builder, ours = LedgerBuilder(), OpenErrors()
        for order, message in enumerate(messages):
            builder.feed(message, order)
            ours.feed(message, order)
        ledger = builder.ledger()
        sessions += 1
        ledger_open += len(ledger.open_errors)
        ours_open += len(ours.view())
        resolved += len(ours.settled)
        status_only += sum(_is_status(one.text) for one in ledger.open_errors.values())
        ours_status_only += sum(_is_status(one.line) for one in ours.view())
        if options.show and (ledger.open_errors or ours.view() or ours.settled):
            print(f"== {source} {session[:44]} ({len(messages)} messages)")
            for failure in ledger.open_errors.values():
                print(f"   ledger {failure.message_id}: {failure.attempt[:90]} → {failure.text[:120]}")
            for error in ours.view():
                print(f"   open   {error.message_id}: {error.command[:110]} → {error.line[:140]}")
            for one in ours.settled:
                print(f"   closed {one.error.message_id} by {one.by} ({one.how}): {one.error.command[:80]}")
    print(
        f"{sessions} sessions; open at their ends: ledger {ledger_open}, facts {ours_open}; resolved before: {resolved}"
    )
    print(f"of which only a status is said: ledger {status_only}, facts {ours_status_only}")
    return 0


def _is_status(line: str) -> bool:
    return line.lower().startswith(("exit code", "exit status", "<returncode", "process exited", "(no output)"))


if __name__ == "__main__":
    sys.exit(main())
