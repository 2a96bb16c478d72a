"""Answers: what only a tool showed, and nobody can look up in the files: an account, a table of codes, a refusal.

An answer is the output of a command or a tool that asks something, with the agent's next words about it. Reads of
files and searches are none, the state of the code has them; runs of tests have their outcome. The newest output of the
same question takes the place of the older one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from foveate.compile.facts.answer_lines import is_refusal, telling_answer, value_share
from foveate.compile.facts.programs import Reach, reach_of
from foveate.compile.facts.prose import units_of
from foveate.compile.facts.shell import Command, parse_command_line
from foveate.compile.facts.shell_words import command_of, unwrap_words
from foveate.compile.facts.tool_actions import is_file_tool
from foveate.compile.facts.tool_output import parse_output
from foveate.compile.facts.word_set import word_set
from foveate.log.messages import Access, Message, ToolCall
from foveate.log.semantics import parsed_arguments, recorded_semantics

AnswerSource = Literal["outside", "program", "look"]
ProgramKind = Literal["outside", "testing", "program", "git", "help", "reading", "computing", "none"]

_MAX_CALLS: Final = 256
_MAX_ANSWERS: Final = 160
_MAX_SIZE: Final = 80_000
_MAX_QUESTION: Final = 200
_MAX_CONCLUSION: Final = 320
_SHORT_LOOK: Final = 400
_SHORT: Final = 1_500
_FEW_LINES: Final = 20
_LEAST_LINES: Final = 5
_MOST: Final = 0.6
_READERS: Final = frozenset({"cat", "head", "tail", "sed", "less", "more", "nl", "bat", "zcat"})
_FILE: Final = re.compile(r"[\w~+@-]{0,200}(?:[./][\w~+@-]{0,200}){1,40}")
_CODE: Final = re.compile(
    r"\.(?:py|pyi|js|jsx|mjs|cjs|ts|tsx|go|rs|java|kt|swift|c|h|cc|cpp|hpp|cs|rb|php|pl|lua|sh|scala|ex|hs|vue|css|scss|"
    r"html?|md|rst|ipynb|pony|patch|diff|lock|sum)\b"
)
# Programs that change files, list them, search them, or lead to others.
_NO_ANSWERS: Final = word_set("""
    mkdir rm cp mv touch chmod chown ln tar unzip zip gzip sleep kill pkill cd export set true false echo printf tee
    apply_patch patch xargs find diff for while if then else fi do done source bash sh zsh [ [[ test time ls tree fd
    grep rg egrep fgrep ag sort cut tr tac rev column
    which type command pwd wait clear history pushd popd ps top man open create edit goto
    scroll_up scroll_down insert search_dir search_file find_file
    """)
_ABSENT: Final = re.compile(r"No such file or directory|cannot access|ENOENT")
_LONG_PROGRAM: Final = 6_000
# Programs that ask something outside of the files at hand.
_OUTSIDE: Final = word_set("""
    ssh nc ncat telnet curl wget http https xh psql mysql mariadb sqlite3 redis-cli mongosh mongo clickhouse-client
    duckdb ldapsearch dig nslookup host whois ping snmpget mosquitto_sub gh glab aws gcloud az kubectl docker podman
    helm terraform heroku fly vercel stripe jira bq openssl uname hostname nproc free df lscpu sw_vers env printenv
    crontab systemctl journalctl ip ifconfig ss lsof
    """)
_TESTING: Final = word_set("""
    pytest unittest jest vitest mocha tox nox cargo go gradle mvn ctest rspec phpunit dotnet swift make ninja cmake npm
    pnpm yarn bun npx tsc eslint prettier ruff mypy pyright basedpyright flake8 black isort golangci-lint gofmt pip pip3
    uv poetry mise just task bundle apt apt-get brew pre-commit sphinx venv build
    """)
_INTERPRETERS: Final = re.compile(r"(?:python[\d.]*|pypy3?|node|deno|ruby|perl|php|lua|Rscript|tsx|ts-node)")
_QUIET_TOOLS: Final = word_set("""
    Task Agent TaskCreate TaskUpdate TaskList TaskGet TaskOutput TodoWrite ToolSearch AskUserQuestion ExitPlanMode Skill
    update_plan write_stdin wait_agent close_agent spawn_agent send_input think finish submit str_replace_editor editor
    open goto scroll_up scroll_down create edit insert find_file search_dir search_file read_files run_ipython
    list_directory list_dir ls LS Glob glob mcp__happy__change_title transfer_to_human_agents
    """)
_WEB: Final = re.compile(r"web|fetch|http|browse", re.IGNORECASE)
_PLAIN_GIT: Final = frozenset({"push", "rev-parse", "describe", "remote", "config", "ls-remote"})
_NOT_RUN: Final = re.compile(r"<tool_use_error>(?:Cancelled|Sibling)|^Cancelled\b")
_HELP: Final = frozenset({"--help", "-h", "help", "--version", "-V", "version"})
_ANNOUNCING: Final = re.compile(
    r"\s{0,4}(?:let me|now(?:,)? let|i['’]ll|i will|i['’]m going to|next(?:,)? |let['’]s|now i['’]ll|first(?:,)? )",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool told: its telling lines as they stood, and the agent's next words about it.

    `source` is `outside` for what no file at hand has, `program` for what a program computed, `look` for a short look;
    `program` is the program or the tool.
    """

    message_id: str
    order: int
    question: str
    text: str
    source: AnswerSource
    program: str
    conclusion: str = ""
    refused: bool = False

    @property
    def size(self) -> int:
        """Its characters."""
        return len(self.question) + len(self.text) + len(self.conclusion)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """All answers, oldest first."""

    answers: tuple[Answer, ...] = ()

    def within(self, room: int) -> tuple[Answer, ...]:
        """As many as there is room for, in characters.

        What came from outside first; of each program its newest, before more of any of them.
        """
        asked: Counter[str] = Counter()
        ranked: list[tuple[int, int, int, Answer]] = []
        for one in reversed(self.answers):
            ranked.append((_worth(one), asked[one.program], -one.order, one))
            asked[one.program] += 1
        chosen: list[Answer] = []
        for *_, one in sorted(ranked, key=lambda one: one[:3]):
            if one.size <= room:
                chosen.append(one)
                room -= one.size
        return tuple(sorted(chosen, key=lambda one: one.order))


class AnswersBuilder:
    """Collects answers message by message; its size is bounded however long the log is."""

    __slots__ = ("_answers", "_calls", "_fresh", "_size")

    def __init__(self) -> None:
        self._calls: dict[str, tuple[ToolCall, Access | None]] = {}
        self._answers: dict[str, Answer] = {}
        # The questions whose answers the agent has said nothing about yet.
        self._fresh: list[str] = []
        self._size = 0

    def feed(self, message: Message, order: int) -> None:
        """Take one recorded message."""
        if message.role == "assistant":
            self._conclude(message)
            for call in message.calls:
                semantics = recorded_semantics(call.name, message.meta)
                self._calls[call.id] = (call, semantics.access if semantics is not None else None)
            for call_id in list(self._calls)[: max(0, len(self._calls) - _MAX_CALLS)]:
                del self._calls[call_id]
        elif message.role == "tool" and message.result is not None:
            known = self._calls.pop(message.result.call_id, None)
            if known is not None and message.meta.outcome not in ("denied", "interrupted"):
                self._take(message, order, *known)
        elif message.role == "user":
            self._fresh = []

    def answers(self) -> Answers:
        """The answers so far."""
        return Answers(answers=tuple(sorted(self._answers.values(), key=lambda one: one.order)))

    def _take(self, message: Message, order: int, call: ToolCall, access: Access | None) -> None:
        arguments = parsed_arguments(call)
        output = parse_output(message.text)
        command = command_of(arguments) if access == "shell" else None
        refused = message.meta.outcome == "error" or output.exit_code not in (None, 0)
        if command is not None:
            source, program = _source_of_command(command, output.text, refused=refused)
            question = command
        else:
            source, program = _source_of_tool(call, access), call.name
            question = _question_of(call.name, arguments)
        text = telling_answer(output.text) if source is not None else ""
        if source is None or not text.strip() or _NOT_RUN.search(message.text[:200]) is not None:
            return
        refusal = refused and any(map(is_refusal, text.split("\n")))
        question = " ".join(question.split())
        question = question if len(question) <= _MAX_QUESTION else question[: _MAX_QUESTION - 1] + "…"
        self._add(
            Answer(
                message_id=message.id,
                order=order,
                question=question,
                text=text,
                source=source,
                program=program,
                refused=refusal,
            )
        )

    def _add(self, answer: Answer) -> None:
        same = next((key for key, one in self._answers.items() if one.text == answer.text), None)
        if same is not None:
            # Nothing new, whatever was asked.
            self._size -= self._answers.pop(same).size
        before = self._answers.pop(answer.question, None)
        if before is not None and answer.refused and not before.refused:
            # What it told before is known still.
            self._answers[f"{before.question} {before.message_id}"] = before
        elif before is not None:
            self._size -= before.size
        self._answers[answer.question] = answer
        self._size += answer.size
        self._fresh.append(answer.question)
        while self._size > _MAX_SIZE or len(self._answers) > _MAX_ANSWERS:
            worst = max(self._answers, key=lambda key: (_worth(self._answers[key]), -self._answers[key].order))
            self._size -= self._answers.pop(worst).size

    def _conclude(self, message: Message) -> None:
        if not self._fresh or not message.text.strip():
            return
        said = _conclusion(message.text)
        question, self._fresh = self._fresh[-1], []
        if said and question in self._answers:
            known = self._answers[question]
            self._answers[question] = replace(known, conclusion=said)
            self._size += len(said) - len(known.conclusion)


def _worth(one: Answer) -> int:
    """What goes last when there is little room."""
    if one.source == "outside":
        return 0
    return 1 if one.refused else 2


def _source_of_tool(call: ToolCall, access: Access | None) -> AnswerSource | None:
    if _WEB.search(call.name) is not None:
        return "outside"
    quiet = call.name in _QUIET_TOOLS or is_file_tool(call.name) or access not in (None, "shell")
    return None if quiet else "outside"


def _source_of_command(command: str, text: str, *, refused: bool) -> tuple[AnswerSource | None, str]:
    """Where the output of a command comes from, and the program that gave it."""
    programs = _programs(parse_command_line(command) or ())
    kinds = [_kind_of_program(words) for words in programs]
    for kind in ("outside", "testing", "program", "help", "git", "computing", "reading", "none"):
        if kind in kinds:
            name = programs[kinds.index(kind)][0].rpartition("/")[2]
            return _source_of(kind, command, text, refused=refused), name
    return None, ""


def _source_of(kind: ProgramKind, command: str, text: str, *, refused: bool) -> AnswerSource | None:
    short = len(text) <= _SHORT and text.count("\n") <= _FEW_LINES
    match kind:
        case "outside":
            return "outside"
        case "testing":
            return None
        case "program":
            # Programs also print pages and pages of their own state.
            return "program" if len(text) <= _LONG_PROGRAM or value_share(text) > _MOST else None
        case "help" if short:
            return "look"
        case "git" if len(text) <= _SHORT_LOOK and text.count("\n") < _LEAST_LINES:
            return "look"
        case "computing" | "reading" if short and _CODE.search(command) is None and _ABSENT.search(text) is None:
            # What was computed of files, or settings and tables, not their code.
            return "look" if kind == "computing" or value_share(text) > _MOST else None
        case _:
            told = refused and len(text) <= _SHORT_LOOK and _ABSENT.search(text) is None
            return "look" if told and any(map(is_refusal, text.split("\n"))) else None


def _kind_of_program(words: Sequence[str]) -> ProgramKind:
    name = words[0].rpartition("/")[2]
    if any(one in _HELP for one in words[1:3]):
        return "help"
    if name in _OUTSIDE:
        return "outside"
    if name in _TESTING:
        return "testing"
    if name == "git":
        return "git" if any(one in _PLAIN_GIT for one in words[1:2]) else "none"
    if _INTERPRETERS.fullmatch(name):
        return "testing" if any(one in _TESTING or "test" in one for one in words[1:3]) else "program"
    if name in _NO_ANSWERS:
        return "none"
    if name in _READERS:
        reads = reach_of(words) is Reach.NOTHING and any(_FILE.fullmatch(one) for one in words[1:])
        return "reading" if reads else "none"
    if reach_of(words) is Reach.NOTHING:
        return "computing"
    # A program that no table knows; one that is called by its path is one of those at hand.
    return "outside" if "/" not in words[0] else "testing" if "test" in words[0] else "program"


def _programs(commands: Sequence[Command]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for command in commands:
        texts = tuple(word.text for word in unwrap_words(command.words))
        if texts and texts[0]:
            found.append(texts)
        found += _programs(command.nested)
    return found


def _question_of(name: str, arguments: dict[str, Any]) -> str:
    given = ", ".join(f"{key}={value}" for key, value in arguments.items() if isinstance(value, str | int | float))
    return f"{name} {given}".strip()


def _conclusion(text: str) -> str:
    """The first sentences that say something of what was found; not what is going to be done next."""
    said: list[str] = []
    size = 0
    for unit in units_of(text[:4_000]):
        words = " ".join(text[unit.start : unit.end].split())
        words = words.removeprefix("THOUGHT: ")
        if unit.kind != "sentence" or words.endswith((":", "：")) or _ANNOUNCING.match(words) is not None:
            continue
        if size + len(words) > _MAX_CONCLUSION:
            break
        said.append(words)
        size += len(words) + 1
    return " ".join(said)
