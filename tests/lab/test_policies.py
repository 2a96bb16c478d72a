"""Policies by name: ours, baselines, a user's own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.lab.conversations import Chat, answer, call, result, user

from foveate.budget import counter_for
from foveate.compile.policy import POLICIES
from foveate.errors import ConfigError
from foveate.lab.config import Config, config_at
from foveate.lab.contestants import Opening, Step
from foveate.lab.policies import contestant, described, policy_called
from foveate.lab.sizes import Sizes
from foveate.wire.openai_chat import decode

OWN = """
import foveate
gentle = foveate.Policy(name="gentle", low=0.5)
class Plain:
    def compile(self, state):
        return foveate.PragmaticCompiler().compile(state)
plain = Plain()
def newest(messages, budget):
    return messages[-1:]
number = 3
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the working directory, under a name that no other test imports."""
    name = f"own_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


def requests(
    name: str, steps: list[list[Chat]], budget: int | None = None, config: Config | None = None, **options: object
) -> list[list[Chat]]:
    opening = Opening(budget=budget, sizes=Sizes(counter_for(None)), **options)  # type: ignore[arg-type]
    feed = contestant(name, config).start(opening)
    return [feed(Step(chats=step, messages=[decode(one) for one in step])).chats for step in steps]


def test_foveate_is_the_default_policy() -> None:
    assert policy_called("foveate") is POLICIES["default"]
    assert policy_called("patient") is POLICIES["patient"]


def test_everything_that_can_be_named_is_described_in_a_line() -> None:
    listed = {info.name: info for info in described()}

    assert {"foveate", "raw", "recorded", "drop-exact", "drop-steps", "mask-10", "mask-steps", *POLICIES} == set(listed)
    assert all(info.description and "\n" not in info.description for info in listed.values())
    for name in listed:
        assert contestant(name).name == name


def test_raw_sends_everything_as_it_was() -> None:
    first, second = [user(3)], [answer(), user(4)]

    assert requests("raw", [first, second], system="Be brief.") == [
        [{"role": "system", "content": "Be brief."}, *first],
        [{"role": "system", "content": "Be brief."}, *first, *second],
    ]


def test_mask_n_leaves_the_last_n_outputs() -> None:
    steps = [[user(3), call("a", "x.py"), result("a", "one\ntwo")], [call("b", "y.py"), result("b", "three")]]
    last = requests("mask-1", steps)[-1]

    assert [message["content"] for message in last if message["role"] == "tool"] == [
        "[output omitted: 2 lines]",
        "three",
    ]
    assert [message["content"] for message in requests("mask-0", steps)[0] if message["role"] == "tool"] == [
        "[output omitted: 2 lines]"
    ]


def test_drop_exact_drops_the_oldest_until_the_rest_fits() -> None:
    """Messages of 104, 5 and 54 tokens in a budget of 70."""
    steps = [[user(100), answer(), user(50)]]

    assert requests("drop-exact", steps, 70) == [[answer(), user(50)]]
    assert requests("drop-exact", steps, 10) == [[user(50)]]
    assert requests("drop-exact", steps, None) == [steps[0]]


def test_drop_steps_goes_down_to_sixty_percent_and_stays_until_the_budget_is_reached() -> None:
    """Requests of 59, 93 and 98 tokens in a budget of 95: the third is cut to 57 or less."""
    steps = [[user(50), answer()], [user(30)], [answer()], [user(20)]]

    assert requests("drop-steps", steps, 95) == [
        [user(50), answer()],
        [user(50), answer(), user(30)],
        [answer(), user(30), answer()],
        [answer(), user(30), answer(), user(20)],
    ]


def test_recorded_sends_the_compaction_in_the_place_of_what_was_before() -> None:
    steps = [[user(5)], [answer(), user(6)], [answer(), user(7)]]

    assert requests("recorded", steps, compactions=((3, "so far: nothing"),)) == [
        [user(5)],
        [{"role": "user", "content": "so far: nothing"}],
        [{"role": "user", "content": "so far: nothing"}, answer(), user(7)],
    ]


def test_a_policy_of_ones_own_is_imported_from_the_working_directory(own: str) -> None:
    """A `Policy`, an object that compiles, or a function on chat messages."""
    steps = [[user(5)], [answer(), user(6)]]

    assert policy_called(f"{own}:gentle").name == "gentle"
    assert contestant(f"{own}:gentle").kind == "own"
    assert requests(f"{own}:gentle", steps, 4_000)[-1] == [user(5), answer(), user(6)]
    assert requests(f"{own}:plain", steps)[-1] == [user(5), answer(), user(6)]
    assert requests(f"{own}:newest", steps) == [[user(5)], [user(6)]]


def test_a_policy_can_be_named_in_the_configuration(own: str, tmp_path: Path) -> None:
    (tmp_path / "foveate.toml").write_text(f'[policies.mine]\nuse = "{own}:newest"\n[policies.low]\nlow = 0.3\n')
    config = config_at()

    assert requests("mine", [[user(5), answer(), user(6)]], config=config) == [[user(6)]]
    assert policy_called("low", config).low == 0.3
    assert [info.name for info in described(config)][-2:] == ["low", "mine"]
    with pytest.raises(ConfigError, match=r"'mine' can be replayed, but a request is compiled with a `foveate.Policy`"):
        policy_called("mine", config)


def test_an_installed_policy_is_found_by_its_entry_point(own: str, tmp_path: Path) -> None:
    """As a package would announce it, in the metadata that is installed with it."""
    installed = tmp_path / "gentle-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: gentle\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(f"[foveate.policies]\ngentle = {own}:gentle\nbroken = {own}:missing\n")
    sys.path.insert(0, str(tmp_path))

    assert policy_called("gentle").low == 0.5
    assert contestant("gentle").description == f"installed: `{own}:gentle`"
    assert {"gentle", "broken"} <= {info.name for info in described()}
    with pytest.raises(ConfigError, match=r"policy 'broken': .* cannot be imported"):
        contestant("broken")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("nobody", "unknown `--policy` 'nobody'; known are foveate, .*mask-N, or your own as `module:object`"),
        ("mask-x", "unknown `--policy` 'mask-x'"),
        ("no_such_module:f", "'no_such_module:f' cannot be imported: No module named 'no_such_module'"),
        ("{own}:missing", "cannot be imported: module .* has no attribute 'missing'"),
        ("{own}:number", "is 3; it must be a `foveate.Policy`, an object with `compile"),
        ("{own}:Plain", "it must be a `foveate.Policy`"),
        (":f", "is not `module:object`"),
    ],
)
def test_a_name_that_cannot_be_used_says_why(own: str, name: str, wanted: str) -> None:
    with pytest.raises(ConfigError, match=wanted):
        contestant(name.replace("{own}", own))


def test_a_baseline_cannot_be_compiled_with() -> None:
    with pytest.raises(ConfigError, match="'raw' can be replayed, but"):
        policy_called("raw")
