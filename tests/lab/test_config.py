"""`foveate.toml`: found, read, and refused with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from foveate.cli.work_run import Options
from foveate.compile.passes import Drop, ObservationMasking, Repair, RestorePins, ShowErrors
from foveate.compile.policy import POLICIES
from foveate.errors import ConfigError
from foveate.lab.config import Config, config_at
from foveate.work import Issue
from foveate.workflow.progress import Begun

WHOLE = """
[replay]
model = "anthropic:claude-sonnet-4-5"
budget = 32000
policies = ["foveate", "careful", "mine"]

[policies.careful]
base = "patient"
low = 0.5
patience = 2
isolation = "masking"
passes = ["repair", "drop"]
shares = { tail = 0.2 }

[policies.never]
patience = "never"

[policies.mine]
use = "my_policies:shorten"
"""


def test_a_file_says_policies_and_what_to_replay(tmp_path: Path) -> None:
    path = tmp_path / "foveate.toml"
    path.write_text(WHOLE)
    config = config_at(path)

    assert (config.model, config.budget) == ("anthropic:claude-sonnet-4-5", 32_000)
    assert config.replayed == ("foveate", "careful", "mine")
    assert config.uses == {"mine": "my_policies:shorten"}
    careful = config.policies["careful"]
    assert (careful.name, careful.low, careful.patience) == ("careful", 0.5, 2.0)
    assert [type(stage) for stage in careful.passes] == [RestorePins, Repair, ObservationMasking, Drop, ShowErrors]
    assert (careful.shares.tail, careful.shares.steps) == (0.2, POLICIES["patient"].shares.steps)
    assert config.policies["never"].patience is None


def test_the_nearest_file_above_is_taken_up_to_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    deep = home / "project" / "src"
    deep.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    (tmp_path / "foveate.toml").write_text("[replay]\nbudget = 1")

    assert config_at(start=deep) == Config()
    (home / "project" / "foveate.toml").write_text("[replay]\nbudget = 2")
    assert config_at(start=deep).budget == 2
    monkeypatch.chdir(deep)
    assert config_at().budget == 2


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[polices.a]", "unknown key `polices`; known are policies, replay"),
        ("[policies.a]\nlwo = 0.5", "unknown key `policies.a.lwo`; known are use, base, low"),
        ("[policies.a]\nlow = 'half'", "`policies.a.low` must be a number, got 'half'"),
        ("[policies.a]\nlow = true", "`policies.a.low` must be a number, got True"),
        ("[policies.a]\nlow = 1.5", "`policies.a`: `low` is a share of the budget between 0 and 1, got 1.5"),
        ("[policies.a]\npatience = 'later'", "`policies.a.patience` must be a number, or \"never\", got 'later'"),
        ("[policies.a]\nbase = 'best'", "`policies.a`: unknown `policy` 'best'; known are default"),
        ("[policies.a]\nisolation = 'wall'", "`policies.a.isolation` must be one of boundary, masking, transparent"),
        (
            "[policies.a]\npasses = ['mend']",
            "`policies.a.passes` must be one of cap, restore_pins, repair, forget, isolate, supersede",
        ),
        ("[policies.a]\npasses = 'repair'", "`policies.a.passes` must be a list of texts, got 'repair'"),
        ("[policies.a]\nshares = { tails = 0.1 }", "unknown key `policies.a.shares.tails`; known are"),
        ("[policies.a]\nuse = 'm:f'\nlow = 0.5", "unknown key `policies.a.low`; known are use"),
        ("policies = 3", "`policies` must be a table, got 3"),
        ("[policies]\na = 3", "`policies.a` must be a table, got 3"),
        ("[replay]\nbudget = 0", "`replay.budget` must be 1 token or more, got 0"),
        ("[replay]\nbudget = 1e3", "`replay.budget` must be a number, got 1000.0"),
        ("[replay]\npolicy = 'raw'", "unknown key `replay.policy`; known are model, budget, policies"),
        ("[replay", "not TOML"),
    ],
)
def test_what_is_wrong_is_named_with_file_key_and_remedy(tmp_path: Path, text: str, wanted: str) -> None:
    path = tmp_path / "foveate.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        config_at(path)

    assert wanted in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"`--config` .*none\.toml' cannot be read"):
        config_at(tmp_path / "none.toml")


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "foveate.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        config_at(path)


def test_variables_for_commands_are_named_without_their_values(tmp_path: Path) -> None:
    """`[work] environment` names what commands of agents may see."""
    path = tmp_path / "foveate.toml"
    path.write_text('[work]\nenvironment = ["DATABASE_URL", "CI_JOB"]\n')
    assert config_at(path).environment == ("DATABASE_URL", "CI_JOB")
    path.write_text('[work]\nenvironment = ["DATABASE_URL=secret"]\n')
    with pytest.raises(ConfigError, match=r"`work\.environment` must be a list of names of variables"):
        config_at(path)


def test_a_variable_that_is_not_set_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--env` with a typing error would otherwise be ignored without a word."""
    begun = Begun(issue=Issue(title="t"), repo=".", personas=("General",))
    monkeypatch.delenv("FOVEATE_TEST_NAME", raising=False)
    with pytest.raises(ConfigError, match="`--env` 'FOVEATE_TEST_NAME' is no variable that is set"):
        Options(environment=("FOVEATE_TEST_NAME",)).over(begun)
    monkeypatch.setenv("FOVEATE_TEST_NAME", "x")
    assert Options(environment=("FOVEATE_TEST_NAME",)).over(begun).environment == ("FOVEATE_TEST_NAME",)
