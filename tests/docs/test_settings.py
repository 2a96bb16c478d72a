"""The table of settings in the documentation has every setting, as the code has it."""

from __future__ import annotations

import os
from pathlib import Path

from foveate.chat.settings import PREFIX, SETTINGS, ChatSettings

PAGE = Path(__file__).parents[2] / "docs" / "chat.md"
BEGIN, END = "<!-- settings:begin -->\n", "<!-- settings:end -->"
# Where nothing is said, and what that means.
UNSAID = {"model": "as above", "context_compiler_model": "the chat's", "context_compiler_token_threshold": "`auto`"}


def table() -> str:
    defaults = ChatSettings()
    rows = ["| setting | default | variable | must be | |", "|---|---|---|---|---|"]
    for name, setting in SETTINGS.items():
        value = getattr(defaults, name)
        default = UNSAID[name] if value is None else f"`{str(value).lower() if isinstance(value, bool) else value}`"
        cells = (f"`{name}`", default, f"`{PREFIX}{name.upper()}`", setting.must_be, setting.help)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n" + "\n".join(rows) + "\n\n"


def test_the_page_has_every_setting_as_it_is() -> None:
    """`FOVEATE_UPDATE_DOCS=1` writes the table."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    shown, _, after = rest.partition(END)
    if os.environ.get("FOVEATE_UPDATE_DOCS") == "1":
        PAGE.write_text(before + BEGIN + table() + END + after, encoding="utf-8")
        return
    assert shown == table()
