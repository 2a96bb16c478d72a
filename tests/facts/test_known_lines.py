"""How many lines of files are kept is counted as files change."""

from random import Random

import pytest

from foveate.compile.facts import known_files
from foveate.compile.facts.actions import Action, DeleteFile, EditText, MoveFile, WriteFile
from foveate.compile.facts.known_files import KnownFiles


def _action(random: Random) -> Action:
    path, other = (f"folder{random.randrange(3)}/f{random.randrange(6)}.py" for _ in range(2))
    text = "".join(f"line {number}\n" for number in range(random.randrange(1, 40)))
    return random.choice(
        (
            WriteFile(path, text),
            WriteFile(path, text, append=True),
            EditText(path, "line 3\n", "line 3\nmore\n"),
            DeleteFile(path),
            DeleteFile(path.partition("/")[0]),
            MoveFile(path, other),
            MoveFile(path.partition("/")[0], other.partition("/")[0]),
        )
    )


@pytest.mark.parametrize("seed", range(5))
def test_lines_are_counted_as_files_change(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After writes, edits, moves and deletions in any order the count is that of the files there are."""
    monkeypatch.setattr(known_files, "_MAX_LINES", 150)
    random, files = Random(seed), KnownFiles()
    for number in range(400):
        files.apply(_action(random), f"m{number}", number)
        if number % 3 == 0:
            files.show("shown.py", tuple("abc"), number, f"m{number}")
            counted = sum(file.spans.size for file in files.files.values())
            files._count_touched()
            assert files._lines == counted
