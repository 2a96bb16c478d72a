"""The table of settings in the documentation has every setting, as the code has it."""

from __future__ import annotations

import os
from pathlib import Path

from typer.testing import CliRunner

from foveate.chat.settings import PREFIX, SETTINGS, ChatSettings
from foveate.cli.main import app

PAGE = Path(__file__).parents[2] / "docs" / "chat.md"
BEGIN, END = "<!-- settings:begin -->\n", "<!-- settings:end -->"
# Where nothing is said, and what that means.
UNSAID = {"model": "as above", "context_compiler_model": "the chat's", "context_compiler_token_threshold": "`auto`"}


def table() -> str:
    defaults = ChatSettings()
    rows = ["| setting | default | option | variable | must be | |", "|---|---|---|---|---|---|"]
    for name, setting in SETTINGS.items():
        value = getattr(defaults, name)
        default = UNSAID[name] if value is None else f"`{str(value).lower() if isinstance(value, bool) else value}`"
        option = f"`--set {name}=…`" if setting.option == "--set" else f"`{setting.option}`"
        cells = (f"`{name}`", default, option, f"`{PREFIX}{name.upper()}`", setting.must_be, setting.help)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n" + "\n".join(rows) + "\n\n"


def test_every_option_of_the_table_is_one_of_the_command() -> None:
    told = CliRunner().invoke(app, ["chat", "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"}).stdout
    assert [setting.option for setting in SETTINGS.values() if f"{setting.option} " not in told] == []


def test_the_page_has_every_setting_as_it_is() -> None:
    """`FOVEATE_UPDATE_DOCS=1` writes the table."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    shown, _, after = rest.partition(END)
    if os.environ.get("FOVEATE_UPDATE_DOCS") == "1":
        PAGE.write_text(before + BEGIN + table() + END + after, encoding="utf-8")
        return
    assert shown == table()
