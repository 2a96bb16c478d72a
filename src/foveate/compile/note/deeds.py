"""Deeds: what the exchanges of an agent did, in few words: files with the kind of change, commands with their end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from foveate.compile.facts.actions import (
    Action,
    DeleteFile,
    DeleteLines,
    EditText,
    InsertLines,
    MayWrite,
    MoveFile,
    PatchFile,
    RunCode,
    RunScript,
    ShowDiff,
    ShowLines,
    SubstituteLines,
    WriteFile,
)
from foveate.compile.facts.outcomes import CommandOutcome, command_outcome, has_effect
from foveate.compile.facts.shell_actions import shell_actions
from foveate.compile.facts.shell_words import command_of
from foveate.compile.facts.tool_actions import tool_actions
from foveate.compile.ledger import error_line
from foveate.compile.passes.fold import described
from foveate.log.messages import Message, ToolCall
from foveate.log.quoting import flatten_text, quote_claim
from foveate.log.semantics import parsed_arguments, recorded_semantics

DeedKind = Literal["read", "looked", "searched", "edited", "wrote", "deleted", "moved", "ran", "called"]
_COMMAND: Final = 110
_LOOKED: Final = 70
_SAID: Final = 160
_PATH: Final = 40
# In characters: of a changed line what is shown, and more than a bracket.
_LINE: Final = 60
_TELLING: Final = 3
_MOST_COMMAND: Final = 4_000
_COMMIT: Final = re.compile(r"^\[([^\]\n]{1,80} )?([0-9a-f]{7,40})\] (.{1,200})$", re.MULTILINE)
_LEADING: Final = re.compile(r"\s{0,9}cd \S{1,200} && ")
_CHANGES: Final[tuple[tuple[type, DeedKind], ...]] = (
    (WriteFile, "wrote"),
    (InsertLines, "edited"),
    (DeleteLines, "edited"),
    (DeleteFile, "deleted"),
)


class Deed(NamedTuple):
    """One thing that was done; `what` is a path or a command, `outcome` how it ended, in words of ours and quotes.

    `change` says of a file that was edited which lines came and went.
    """

    kind: DeedKind
    what: str
    outcome: str = ""
    change: str = ""

    @property
    def is_look(self) -> bool:
        """Whether it changed nothing and nothing is to be said of how it ended."""
        return self.kind in ("read", "looked", "searched") and not self.outcome


def deeds_of(call: ToolCall, head: Message, result: Message | None) -> list[Deed]:
    """What a call did, as far as its arguments and its result say it."""
    semantics = recorded_semantics(call.name, head.meta)
    arguments = parsed_arguments(call)
    command = command_of(arguments) if semantics is not None and semantics.access == "shell" else None
    if command is not None:
        return list(_shell_deeds(command[:_MOST_COMMAND], result))
    failure = _failure(result)
    actions = tool_actions(call.name, arguments, "")
    done = [deed for action in actions or () for deed in _changes(action)]
    if done:
        return [deed._replace(outcome=failure) for deed in done] if failure else done
    reads = [_read(action) for action in actions or () if isinstance(action, ShowLines)]
    if reads:
        return [deed._replace(outcome=failure) for deed in reads]
    pattern = next((arguments[name] for name in _PATTERNS if isinstance(arguments.get(name), str)), None)
    if pattern is not None:
        place = next(
            (arguments[name] for name in ("path", "glob", "include") if isinstance(arguments.get(name), str)), ""
        )
        within = f" in {short_path(place)}" if place else ""
        return [Deed("searched", f"{quote_claim(_clip(pattern, _LOOKED))}{within}", failure)]
    looks = semantics is not None and semantics.access in ("read", "search")
    return [Deed("looked" if looks else "called", described(call, head.meta)[:_COMMAND], failure)]


def short_path(path: str) -> str:
    """The end of a long path, which says enough of a file that is named whole where its lines are shown."""
    parts = path.split("/")
    return path if len(path) <= _PATH or len(parts) <= 3 else f"…/{'/'.join(parts[-2:])}"


def _shell_deeds(command: str, result: Message | None) -> Iterator[Deed]:
    outcome = command_outcome(command, result) if result is not None else None
    succeeded = None if outcome is None or outcome.kind == "unknown" else outcome.kind == "passed"
    actions = [one for one in shell_actions(command, "", succeeded=succeeded).steps if one is not None]
    changes = [deed for action in actions for deed in _changes(action)]
    ran = any(isinstance(action, MayWrite | RunCode | RunScript) for action in actions)
    ended = _ended(outcome, result)
    if changes and not ran:
        yield from (deed._replace(outcome=ended if ended.startswith("failed") else "") for deed in changes)
        return
    reads = [_read(action) for action in actions if isinstance(action, ShowLines)]
    ran = ran or has_effect(command)
    if ran or any(isinstance(action, ShowDiff) for action in actions):
        yield Deed("ran", _short(command, _COMMAND), ended)
    elif reads and not (outcome is not None and outcome.kind == "failed"):
        yield from reads
    else:
        failed = outcome is not None and outcome.kind == "failed" and not outcome.slip
        yield Deed("looked", _short(command, _LOOKED), ended if failed else "")


def _changes(action: Action) -> Iterator[Deed]:
    match action:
        case PatchFile(patch=patch):
            kind: DeedKind = "deleted" if patch.kind == "delete" else "wrote" if patch.kind == "add" else "edited"
            old = [line for hunk in patch.hunks for line in hunk.old]
            new = [line for hunk in patch.hunks for line in hunk.new]
            yield Deed(kind, patch.path, change=_changed(old, new))
        case EditText(path=path, old=before, new=after):
            yield Deed("edited", path, change=_changed(before.split("\n"), after.split("\n")))
        case WriteFile(path=path, text=text, append=False):
            yield Deed("wrote", path, change=f"{len(text.splitlines())} lines")
        case SubstituteLines(path=path, old=before, new=after):
            yield Deed("edited", path, change=_changed([before], [after]))
        case MoveFile(path=path, target=target):
            yield Deed("moved", f"{path} to {target}")
        case _:
            for type_, kind in _CHANGES:
                if isinstance(action, type_):
                    yield Deed(kind, str(getattr(action, "path", "")))


def _changed(old: Sequence[str], new: Sequence[str]) -> str:
    """Which lines an edit took away and put in, the first of each that says something."""
    before, after = set(old), set(new)
    gone = [line.strip() for line in old if line not in after and line.strip()]
    come = [line.strip() for line in new if line not in before and line.strip()]
    first, then = (next((one for one in lines if len(one) > _TELLING), "") for lines in (gone, come))
    shown = " → ".join(quote_claim(_clip(one, _LINE)) for one in (first, then) if one)
    if not gone:
        return f"+{len(come)}: {shown}" if shown else ""
    if not come:
        return f"-{len(gone)}: {shown}" if shown else ""
    return f"-{len(gone)} +{len(come)}: {shown}" if max(len(gone), len(come)) > 1 else shown


def _read(action: ShowLines) -> Deed:
    first, last = action.ranges[0] if len(action.ranges) == 1 else (0, None)
    lines = f":{first}-{last}" if last and first else ""
    return Deed("read", f"{action.path}{lines}")


def _failure(result: Message | None) -> str:
    if result is None:
        return "no result"
    if result.meta.outcome in (None, "ok"):
        return ""
    if result.meta.outcome == "error":
        return f"failed: {quote_claim(_clip(error_line(result.text), _SAID))}"
    return str(result.meta.outcome)


def _ended(outcome: CommandOutcome | None, result: Message | None) -> str:
    if outcome is None or result is None:
        return "no result"
    commit = _COMMIT.search(result.text[:4_000])
    if commit is not None and outcome.kind != "failed":
        return f"commit {commit[2]} {quote_claim(_clip(commit[3], _SAID))}"
    if outcome.kind == "failed":
        line = next((one for one in outcome.lines if one not in outcome.summary), "")
        said = f"{outcome.summary}: {line}" if line else outcome.summary
        status = f" (exit code {outcome.exit_code})" if outcome.exit_code not in (None, 0, 1) else ""
        return f"failed{status}: {quote_claim(_clip(said, _SAID))}"
    if outcome.kind == "passed":
        return quote_claim(_clip(outcome.summary, _SAID)) if outcome.summary else "ok"
    return outcome.summary


def _short(command: str, most: int) -> str:
    return _clip(flatten_text(_LEADING.sub("", command, count=1)), most)


def _clip(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


_PATTERNS: Final = ("pattern", "query", "regex", "search_term")
_PLACES: Final = ("path", "glob", "include")
_VERBS: Final[dict[DeedKind, str]] = {"called": "", "looked": "looked: "}


def told(deeds: Sequence[Deed]) -> Iterator[str]:
    """Deeds as phrases: what was done alike one after the other is one of them."""
    for kind, what, outcome, _ in _merged(deeds):
        verb = _VERBS.get(kind, f"{kind} ")
        yield f"{verb}{what} → {outcome}" if outcome else f"{verb}{what}"


def _merged(deeds: Iterable[Deed]) -> list[Deed]:
    found: list[Deed] = []
    names: list[str] = []
    for deed in deeds:
        what = flatten_text(f"{deed.what} ({deed.change})" if deed.change else deed.what)
        last = found[-1] if found else None
        if last is not None and last.kind == deed.kind and last.outcome == deed.outcome and deed.kind != "ran":
            if what not in names:
                names.append(what)
            found[-1] = last._replace(what=", ".join(names))
        else:
            names = [what]
            found.append(deed._replace(what=what, change=""))
    return found
