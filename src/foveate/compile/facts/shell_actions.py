"""Shell actions: what a command line did to files, and which parts of its output show which lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from foveate.compile.facts.actions import (
    Action,
    DeleteFile,
    MayWrite,
    MoveFile,
    PatchFile,
    Print,
    RunCode,
    RunScript,
    ShowDiff,
    ShowLines,
    Shown,
    WriteFile,
)
from foveate.compile.facts.patches import FilePatch, parse_envelope, parse_unified
from foveate.compile.facts.programs import Reach, formatted_paths, may_write_files, reach_of
from foveate.compile.facts.sed import sed_actions
from foveate.compile.facts.shell import Command, Word, parse_command_line
from foveate.compile.facts.shell_reads import shown_by
from foveate.compile.facts.shell_words import (
    and_or_lists,
    is_silent,
    is_to_file,
    join_path,
    restores_paths,
    text_written,
    unwrap_words,
    writes_output,
)

_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash"})
_INTERPRETERS: Final = re.compile(r"(?:python[\d.]*|pypy3?|node|deno|bun|ruby|perl|php|lua|tsx|ts-node)")
# A branch may be called like a file, but few are.
_MAX_NESTED: Final = 4
_HOOKS: Final = re.compile(
    r"lint-staged|husky|files were modified by this hook|Running tasks for staged", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellActions:
    """What a command line did, in order; a None among the actions is output that nobody knows the form of."""

    steps: tuple[Action | None, ...]
    folder: str | None


def shell_actions(text: str, folder: str | None, *, succeeded: bool | None, output: str = "") -> ShellActions:
    """The actions of a command line that ran in a folder; `succeeded` is None if nobody knows."""
    commands = parse_command_line(text)
    if commands is None:
        return ShellActions(steps=(MayWrite(), None), folder=None)
    run = _Run(folder=folder, succeeded=succeeded, output=output)
    run.take(commands)
    return ShellActions(steps=tuple(run.steps), folder=run.folder)


@dataclass(slots=True)
class _Run:
    """Goes through commands in order."""

    folder: str | None
    succeeded: bool | None
    output: str
    depth: int = 0
    steps: list[Action | None] = field(default_factory=list)

    def take(self, commands: Sequence[Command]) -> None:
        for last, pipelines in and_or_lists(commands):
            for index, (joined, pipeline) in enumerate(pipelines):
                # What stands first in its list runs; what stands behind `&&` ran if all of the last list succeeded.
                only_and = all(one == "&&" for one, _ in pipelines[1:])
                certain = index == 0 or (joined == "&&" and last and only_and and self.succeeded is True)
                self._pipeline(pipeline, certain=certain and not any(one.branched for one in pipeline))

    def _pipeline(self, pipeline: Sequence[Command], *, certain: bool) -> None:
        for command in pipeline:
            self._nested(command.nested, keeps_folder=False)
            for action in self._command(command, piped=len(pipeline) > 1):
                self.steps.append(
                    action if certain or isinstance(action, MayWrite | RunCode | RunScript) else _doubt_of(action)
                )
        shown = self._shown(pipeline) if certain or self.succeeded else None
        if shown is not None:
            self.steps.append(shown)
        elif not is_silent(pipeline):
            self.steps.append(None)

    def _nested(self, commands: tuple[Command, ...], *, keeps_folder: bool) -> None:
        if not commands:
            return
        if self.depth >= _MAX_NESTED:
            self.steps.append(MayWrite())
            return
        inner = _Run(folder=self.folder, succeeded=None, output="", depth=self.depth + 1)
        inner.take(commands)
        self.steps += [step for step in inner.steps if step is not None and not isinstance(step, Shown)]
        if keeps_folder:
            self.folder = inner.folder

    def _shown(self, pipeline: Sequence[Command]) -> Shown | None:
        if any(writes_output(one.redirects) for one in pipeline):
            return None
        shown = shown_by(pipeline, self.folder or "")
        if shown is None or isinstance(shown, Print):
            return shown
        if self.folder is None:
            return None
        return replace(shown, path=self._path(shown.path)) if isinstance(shown, ShowLines) else shown

    def _path(self, path: str) -> str:
        return join_path(self.folder or "", path)

    def _command(self, command: Command, *, piped: bool) -> Iterator[Action]:
        words = unwrap_words(command.words)
        # An assignment before a command, or alone.
        texts = tuple(word.text for word in words)
        written = self._redirected(command, texts, piped=piped)
        yield from written
        if not texts or texts[0] == "(":
            return
        if words[0].dynamic and texts[0] != "[":
            yield MayWrite()
            return
        if any(word.text == "xargs" for word in command.words[: len(command.words) - len(words)]):
            # Its input comes from elsewhere.
            yield from () if reach_of(texts) is Reach.NOTHING else (MayWrite(),)
        elif texts[0] == "cd":
            self._change_folder(words)
        elif texts[0] in ("for", "done"):
            return
        else:
            yield from self._program(command, words, texts)

    def _change_folder(self, words: Sequence[Word]) -> None:
        plain = [word for word in words[1:] if not word.text.startswith("-")]
        if len(plain) != 1 or plain[0].dynamic or plain[0].text.startswith("~"):
            self.folder = None
        elif self.folder is not None or plain[0].text.startswith("/"):
            self.folder = self._path(plain[0].text)

    def _redirected(self, command: Command, texts: tuple[str, ...], *, piped: bool) -> Iterator[Action]:
        for redirect in command.redirects:
            if not is_to_file(redirect):
                continue
            if redirect.target.dynamic or self.folder is None:
                yield MayWrite()
                continue
            path = self._path(redirect.target.text)
            text = None if piped else text_written(command, texts)
            is_all = text is not None and redirect.operator in (">", "1>", ">|", ">>")
            yield WriteFile(path, text or "", redirect.operator == ">>") if is_all else MayWrite(path)

    def _program(self, command: Command, words: Sequence[Word], texts: tuple[str, ...]) -> Iterator[Action]:
        name = texts[0].rpartition("/")[2]
        document = next((one.document for one in command.redirects if one.operator.lstrip("0") in ("<<", "<<-")), None)
        patches = _patches(name, texts, document, command)
        if patches is not None:
            yield from self._patched(patches)
        elif name == "sed":
            yield from self._sed(words)
        elif name in ("rm", "mv", "cp", "tee", "touch", "git") and self._plain_paths(words) is not None:
            yield from self._moved(name, texts, self._plain_paths(words) or [])
        elif name in _SHELLS or name in ("eval", "source", "."):
            yield from self._shell(name, words, texts, document)
        elif _INTERPRETERS.fullmatch(name):
            yield from self._interpreted(name, words, texts, document)
        elif "/" in texts[0] and reach_of(texts) is Reach.ANYTHING:
            yield RunScript(self._path(texts[0]))
        else:
            yield from self._listed(texts)

    def _listed(self, texts: tuple[str, ...]) -> Iterator[Action]:
        match reach_of(texts):
            case Reach.NOTHING:
                return
            case Reach.GENERATED:
                yield RunCode()
                if texts[:2] == ("git", "commit") and _HOOKS.search(self.output):
                    yield MayWrite()
            case _:
                paths = formatted_paths(texts)
                if texts[:2] in (("go", "mod"), ("go", "get")) and self.folder is not None:
                    yield from (MayWrite(self._path("go.mod")), RunCode())
                elif paths and self.folder is not None and not any("*" in path for path in paths):
                    yield from (MayWrite(self._path(path)) for path in paths)
                else:
                    yield MayWrite()

    def _patched(self, patches: Iterable[FilePatch]) -> Iterator[Action]:
        if self.folder is None:
            yield MayWrite()
            return
        for patch in patches:
            moved = self._path(patch.moved_to) if patch.moved_to else None
            action = PatchFile(replace(patch, path=self._path(patch.path), moved_to=moved))
            yield action if self.succeeded else MayWrite(action.patch.path)

    def _sed(self, words: Sequence[Word]) -> Iterator[Action]:
        options = [word.text for word in words[1:] if word.text.startswith("-")]
        if not any(one.startswith(("-i", "--in-place")) or (len(one) < 5 and "i" in one) for one in options):
            # Without it only the commands `w` and `e` write, and those are in few scripts.
            if any(re.search(r"(?:^|[\d/;}$])[we](?: |$)", word.text) for word in words[1:]):
                yield MayWrite()
            return
        plain = [word for word in words[1:] if not word.text.startswith("-") and word.text != ""]
        scripts = (
            [plain[0].text]
            if "-e" not in options
            else [plain[i].text for i in range(options.count("-e")) if i < len(plain)]
        )
        files = plain[len(scripts) :]
        if self.folder is None or not files or any(word.dynamic for word in files):
            yield MayWrite()
            return
        simple = (
            not any(word.dynamic and "$" in word.text for word in plain[: len(scripts)]) and self.succeeded is not False
        )
        extended = any(one in ("-E", "-r", "-Ei", "-ri", "-iE") for one in options)
        for file in files:
            path = self._path(file.text)
            for script in scripts:
                yield from sed_actions(script, path, extended=extended) if simple else (MayWrite(path),)

    def _plain_paths(self, words: Sequence[Word]) -> list[str] | None:
        plain = [word for word in words[1:] if not word.text.startswith("-")]
        if self.folder is None or any(word.dynamic for word in plain):
            return None
        return [word.text for word in plain]

    def _moved(self, name: str, texts: tuple[str, ...], plain: list[str]) -> Iterator[Action]:
        paths = [self._path(one) for one in plain]
        match name, plain:
            case "rm", _:
                yield from map(DeleteFile, paths)
            case "mv", [_, _]:
                yield from (MoveFile(*paths), MayWrite(paths[1]))
            case "mv" | "cp", _ if paths:
                yield from (DeleteFile(path) for path in paths[:-1] if name == "mv")
                yield MayWrite(paths[-1])
            case "tee", _:
                yield from map(MayWrite, paths)
            case "git", ["mv", _, _]:
                yield MoveFile(paths[1], paths[2])
            case "git", ["rm", *_]:
                yield from (DeleteFile(path) for path in paths[1:] if "--cached" not in texts)
            case "git", ["checkout" | "restore" | "stash", *_] if restores_paths(texts):
                begin = texts.index("--") + 1 if "--" in texts else 2
                yield from (MayWrite(self._path(one)) for one in texts[begin:] if not one.startswith("-"))
            case "git", _:
                yield from self._listed(texts)
            case _:
                # What is touched has the same text afterwards.
                return

    def _shell(
        self, name: str, words: Sequence[Word], texts: tuple[str, ...], document: str | None
    ) -> Iterator[Action]:
        if name in ("source", "."):
            if not any(text.endswith(("activate", ".bashrc", ".env", ".profile", "nvm.sh")) for text in texts[1:]):
                yield MayWrite()
            return
        code = document
        if len(texts) > 2 and texts[1].startswith("-") and texts[1].endswith("c") and not words[2].dynamic:
            code = texts[2]
        elif name == "eval":
            code = " ".join(texts[1:])
        if code is None:
            script = next((word for word in words[1:] if not word.text.startswith("-")), None)
            yield RunScript(self._path(script.text)) if script is not None and not script.dynamic else MayWrite()
            return
        commands = parse_command_line(code)
        if commands is None:
            yield MayWrite()
        else:
            before = len(self.steps)
            self._nested(commands, keeps_folder=False)
            inner, self.steps = self.steps[before:], self.steps[:before]
            yield from (step for step in inner if step is not None)

    def _interpreted(
        self, name: str, words: Sequence[Word], texts: tuple[str, ...], document: str | None
    ) -> Iterator[Action]:
        if "-m" in texts[1:-1] and name.startswith("py"):
            yield from self._listed(texts[texts.index("-m") + 1 :])
            return
        inline = next(
            (
                index + 1
                for index, text in enumerate(texts[:-1])
                if text in ("-c", "-e", "-ne", "-n", "-pe", "--eval", "-p", "-r", "-lne", "-0ne")
            ),
            None,
        )
        if any(text.startswith(("-i", "-pi")) for text in texts[1:]):
            yield MayWrite()
        elif inline is not None or document is not None:
            code = texts[inline] if inline is not None else document or ""
            yield MayWrite() if may_write_files(code) else RunCode()
        else:
            script = next((word for word in words[1:] if not word.text.startswith("-")), None)
            known = script is not None and not script.dynamic and self.folder is not None
            if (known and script is not None and reach_of([script.text]) is Reach.GENERATED) or (
                known and script is not None and script.text == "manage.py" and texts[2:3] == ("test",)
            ):
                yield RunCode()
            else:
                yield RunScript(self._path(script.text)) if known and script is not None else MayWrite()


def _patches(name: str, texts: tuple[str, ...], document: str | None, command: Command) -> tuple[FilePatch, ...] | None:
    """The changes of a command that applies a patch which stands in the command line."""
    if name in ("apply_patch", "applypatch"):
        return parse_envelope(document or (texts[1] if len(texts) > 1 and not command.words[-1].dynamic else ""))
    if (name == "patch" or texts[:2] == ("git", "apply")) and document is not None and "-R" not in texts:
        found = parse_unified(document)
        return found or None
    return None


def _doubt_of(action: Action) -> Action:
    """What is left of an action that may not have happened."""
    match action:
        case PatchFile(patch=patch):
            return MayWrite(patch.path)
        case MoveFile(path=path):
            return MayWrite(path)
        case ShowLines() | ShowDiff() | Print():
            return action
        case _:
            return MayWrite(getattr(action, "path", ""))
