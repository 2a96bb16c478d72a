"""`foveate check`: what is structurally wrong with a log."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from foveate.cli.output import AsJson, Kind, print_json, print_table
from foveate.cli.phrases import count
from foveate.cli.source import DEFECTS, FormatName, OfSource, Sample, Source, material, reported
from foveate.cli.store import StorePlace, SystemPlace
from foveate.log.integrity import CODES, Code, Finding, findings
from foveate.log.text import printable

_FIRST = 20


def check_command(
    source: Source = None,
    as_json: AsJson = False,
    full: Annotated[bool, typer.Option("--full", help="List every defect, not only the first ones.")] = False,
    session: OfSource = None,
    format: FormatName = "auto",
    sample: Sample = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Find calls without results, results without calls, ids used twice and messages of no valid shape.

    Such a log can be used all the same: requests are repaired. Ends with 0 if nothing was found, with 4 otherwise.

    Example: foveate check session.jsonl --json
    """
    with reported():
        # What cannot be read at all is a finding here, not the end.
        with material(
            source, sample=sample, session=session, format=format, lenient=True, store=store, system=system
        ) as found:
            defects = [
                *(
                    Finding(code="invalid_message_payload", position=0, message=f"line {one.line}", text=one.reason)
                    for one in found.skipped
                ),
                *findings(found.recording.messages),
            ]
            total = len(found.recording.messages)
        if as_json:
            print_json({"messages": total, "findings": [_facts(one) for one in defects]})
        else:
            _print(defects, total, full=full)
        if defects:
            raise typer.Exit(DEFECTS)


def _facts(finding: Finding) -> dict[str, str | int]:
    return {
        "code": finding.code,
        "position": finding.position,
        "message": finding.message,
        "text": finding.text,
    }


def _print(defects: list[Finding], total: int, *, full: bool) -> None:
    if not defects:
        typer.echo(f"{count(total, 'message')}, no defects")
        return
    counts: Counter[Code] = Counter(one.code for one in defects)
    for code, times in counts.most_common():
        typer.echo(f"{times:>6,}  {code}: {CODES[code]}")
    typer.echo("")
    columns: dict[str, Kind] = {"message": "name", "code": "name", "what": "words"}
    listed = defects if full else defects[:_FIRST]
    print_table(columns, [(_place(one), one.code, printable(one.text)) for one in listed])
    if len(listed) < len(defects):
        typer.echo(f"… and {len(defects) - len(listed):,} more; `--full` lists all")


def _place(finding: Finding) -> str:
    return printable(finding.message) or f"number {finding.position:,}"
