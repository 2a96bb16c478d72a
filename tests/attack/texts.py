"""Texts that mean harm: templates, patterns, forged words and folders full of traps."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from foveate.chat.render_process import render_form
from foveate.chat.sandbox import FormError
from foveate.importers.reading import SizeLimits
from foveate.store import Store
from tests.attack.attack import BROKEN, Scene
from tests.attack.imports import watched
from tests.chat.hostile_templates import ESCAPES, HOGS, VALUES
from tests.importers.hostile import attack_import, make_hostile_folder
from tests.patterns.hostile_patterns import patterns_of_package, slow_patterns
from tests.transforms.forged import DEEDS, FORGERIES, WAYS, forged_case
from tests.transforms.test_forging import check_lines, said_in

# In seconds: what a template has, and what ending it may take on a busy machine.
_RENDER: Final = 0.5
_SLACK: Final = 6.0
# What an import of a few small logs may take, in seconds and megabytes.
_IMPORT: Final = 90.0
_IMPORT_MB: Final = 400


def render_templates(scene: Scene) -> Iterator[str]:
    """Render templates that escape, hang or fill the memory: none gives a text, and each ends in time."""
    for _ in range(scene.count):
        slowest, rendered = 0.0, ""
        for form in (*ESCAPES, *HOGS):
            began = time.monotonic()
            try:
                render_form(form, VALUES, seconds=_RENDER)
            except FormError:
                slowest = max(slowest, time.monotonic() - began)
            else:
                rendered = form
        if rendered:
            yield f"{BROKEN}a hostile template was rendered: {rendered[:80]}"
        elif slowest > _RENDER + _SLACK:
            yield f"{BROKEN}a template with {_RENDER} s was ended after {slowest:.1f} s"
        else:
            yield f"all {len(ESCAPES) + len(HOGS)} hostile templates were refused in time"


def stretch_patterns(scene: Scene) -> Iterator[str]:
    """Run the package's patterns on texts made from themselves: time grows with the text, no faster."""
    found = patterns_of_package()
    for start in range(0, scene.count, 10):
        slow = slow_patterns(found[start : start + 10])
        for name in slow:
            yield f"{BROKEN}{name}"
        for _ in range(len(found[start : start + 10]) - len(slow)):
            yield "is linear"


def forge_words(scene: Scene) -> Iterator[str]:
    """Have tool outputs imitate the user and Foveate, wherever they are quoted: every line is told apart."""
    kinds = [(name, deed, way) for name in FORGERIES for deed in DEEDS for way in WAYS]
    for name, deed, way in scene.rng.sample(kinds, min(scene.count, len(kinds))):
        case = forged_case(name, deed, way)
        said = said_in(case)
        try:
            for item in case.view.items:
                if item.id in case.carriers:
                    check_lines(item.message.text, said, first=item.id)
        except AssertionError as error:
            yield f"{BROKEN}{name} in a {way}: {error}"
        else:
            yield "stayed in its quote"


def trap_imports(scene: Scene) -> Iterator[str]:
    """Import folders with links to devices, other folders and themselves, pipes, sockets and endless files."""
    for number in range(scene.count):
        folder = make_hostile_folder(scene.folder / f"trap-{number}", scene.folder / f"outside-{number}")
        outcome = attack_import(folder, SizeLimits())
        read = set(outcome.logs) - {"line.jsonl"}
        if read - {"good.json", "again.json"} or len(read) != 1:
            yield f"{BROKEN}{sorted(read)} were read, and the good log by either name is all there is"
        else:
            yield _imported(folder, scene.folder / f"trapped-{number}.db")


def _imported(folder: Path, store: Path) -> str:
    """What came of importing a hostile folder by the command, in time and memory that are measured."""
    began = time.monotonic()
    done = watched([sys.executable, "-m", "foveate", "import", str(folder), "--store", str(store)], seconds=_IMPORT)
    taken = time.monotonic() - began
    if done.status is None:
        return f"{BROKEN}an import did not end within {_IMPORT:.0f} s"
    with Store(store) as opened:
        found = {info.session_id: info.messages for info in opened.sessions()}
    if found.pop("good", found.pop("again", 0)) != 2 or set(found) - {"line"}:
        return f"{BROKEN}the good log was not imported, or others were: {found}, exit {done.status}"
    if done.megabytes > _IMPORT_MB:
        return f"{BROKEN}an import took {done.megabytes:,.0f} MB of memory and {taken:.0f} s"
    return "only the good log was imported"
