"""Settings of chats: file, environment, command line, in that order."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.chat.settings import SETTINGS, ChatSettings, settings_of
from foveate.errors import ConfigError
from foveate.lab.config import config_at


def test_every_setting_has_a_rule_and_a_default() -> None:
    assert {one.name for one in fields(ChatSettings)} == set(SETTINGS)
    assert ChatSettings().context_compiler_recent_turns == 3
    assert ChatSettings().context_compiler_recent_tool_results == 3


def test_what_comes_later_wins(tmp_path: Path) -> None:
    (tmp_path / "foveate.toml").write_text(
        '[chat]\nbudget = 4000\ntemplate = "coding"\ncontext_compiler_recent_turns = 5\n[models]\nfast = "openai:gpt-5.1"\n'
    )
    config = config_at(tmp_path / "foveate.toml")
    settings = settings_of(
        config.chat,
        place="foveate.toml",
        environ={"FOVEATE_TEMPLATE": "research", "FOVEATE_ENDLESS": "on"},
        given={"budget": 9_000, "model": None},
    )
    assert (settings.budget, settings.template, settings.endless) == (9_000, "research", True)
    assert settings.terms().recent_turns == 5
    assert config.models == {"fast": "openai:gpt-5.1"}


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"budgt": 1}, "`chat.budgt` is not known; known are model, budget"),
        ({"budget": 10}, "`chat.budget` must be a number of tokens, 500 or more, got 10"),
        ({"budget": True}, "`chat.budget` must be"),
        ({"endless": "perhaps"}, "`chat.endless` must be true or false, got 'perhaps'"),
        ({"templates_folder": "../elsewhere"}, "a folder inside the vault"),
        ({"context_compiler_timeout": 0}, "seconds, more than 0"),
        ({"context_compiler_passthrough_runs": -1}, "a number, all or auto"),
    ],
)
def test_a_wrong_value_is_named_with_its_place_and_what_it_must_be(table: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=r"foveate\.toml") as caught:
        settings_of(table, place="foveate.toml", environ={})
    assert said in str(caught.value)


def test_a_variable_is_named_when_it_is_wrong() -> None:
    with pytest.raises(ConfigError, match="`FOVEATE_BUDGET` must be a number of tokens"):
        settings_of({}, place="foveate.toml", environ={"FOVEATE_BUDGET": "much"})


def test_all_runs_and_an_automatic_threshold_have_words() -> None:
    table = {"context_compiler_passthrough_runs": "all", "context_compiler_token_threshold": "auto"}
    terms = settings_of(table, place="", environ={}).terms()
    assert terms.runs is None
    assert terms.threshold is None


@given(
    st.sampled_from(sorted(SETTINGS)),
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()),
)
def test_any_value_is_taken_or_refused_by_name(name: str, value: object) -> None:
    try:
        settings_of({name: value}, place="foveate.toml", environ={})
    except ConfigError as error:
        assert name in str(error)
