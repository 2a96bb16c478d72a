"""`foveate chat` as it opens: settings by options, and what is wrong costs a chat only if the command line names it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from foveate.store import Store
from tests.chat.script import Scene
from tests.cli.test_chat_command import chat, in_order
from tests.cli.test_chat_command import model as scripted
from tests.cli.test_chat_command import scene as made
from tests.scripted_model import ScriptedModel

model, scene = scripted, made

COUNTED = "---\npassthrough_runs: 0\n---\nOlder: {{ recent_turns | length }} and {{ tool_results | length }}.\n"
TURNS = [f"Turn {turn}: my cat number {turn} is called Cat{turn} and must never eat onions." for turn in range(9)]


def budget_of(scene: Scene) -> dict[str, int]:
    with Store(scene.store) as store, store.reading() as connection:
        found = connection.exec_driver_sql("SELECT budget FROM context_summaries ORDER BY id DESC LIMIT 1")
        return dict(json.loads(found.scalar_one()))


def asked_of(model: ScriptedModel) -> str:
    """What the newest summary was asked for with."""
    texts = [str(request["messages"][-1]["content"]) for request in model.received]
    return next(text for text in reversed(texts) if "FILLED IN BY A PROGRAM" in text)


def test_threshold_and_reserve_are_options(model: ScriptedModel, scene: Scene) -> None:
    """A threshold has a summary made long before there is no room; the reserve is left for the answer."""
    plain = chat(*TURNS, "/context", options=("--endless",))
    assert not re.search(r"summarised\s+1", plain.stdout)
    options = ("other", "--endless", "--threshold", "150", "--reserve", "2000", "--budget", "1500")
    done = chat(*TURNS, "/context", options=options)
    assert re.search(r"summarised\s+1", done.stdout), done.stdout
    assert (budget_of(scene)["limit"], budget_of(scene)["reserved"]) == (1_500, 2_000)


@pytest.mark.parametrize(("number", "lines"), [("0", {0}), ("1", {1, 2}), ("3", {3, 4, 5, 6})])
def test_recent_turns_are_an_option(model: ScriptedModel, scene: Scene, number: str, lines: set[int]) -> None:
    """A turn is what was said, and what was answered if that says more."""
    scene.write_template(COUNTED)
    options = ("--vault", "vault", "-t", "mine", "--budget", "2000", "--threshold", "250")
    chat(*TURNS, options=(*options, "--recent-turns", number))
    found = re.search(r"Older: (\d+) and", asked_of(model))
    assert found is not None
    assert int(found[1]) in lines


def test_options_that_only_endless_chats_heed_say_so_elsewhere(model: ScriptedModel) -> None:
    """Nothing that was asked for is ignored without a word."""
    plain = chat("Hello", options=("--threshold", "150", "--recent-turns", "2"))
    assert "--threshold, --recent-turns: of no effect until the chat is endless" in plain.stdout + plain.stderr
    endless = chat("Hello", options=("other", "--endless", "--threshold", "150"))
    assert "of no effect" not in endless.stdout + endless.stderr


@pytest.mark.parametrize(("number", "said"), [("0", "and 0."), ("2", "and 2.")])
def test_recent_tool_results_are_an_option(model: ScriptedModel, scene: Scene, number: str, said: str) -> None:
    scene.write_template(COUNTED)
    options = ("--vault", "vault", "-t", "mine", "--budget", "1000", "--threshold", "200")
    chat(*["read my note"] * 3, *TURNS, options=(*options, "--recent-tool-results", number))
    assert said in asked_of(model)


def test_what_has_no_option_of_its_own_can_be_set(model: ScriptedModel) -> None:
    done = chat("read my note", options=("--vault", "vault", "--set", "steps=1"))
    assert "It says" not in done.stdout, "the first request was to read, and there was no second"
    assert "It says" in chat("read my note", options=("--vault", "vault", "--set", "steps=2")).stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--threshold", "low"), "`--threshold` must be a number of tokens, or auto, got 'low'"),
        (("--recent-turns", "-1"), "`--recent-turns` must be a number, 0 or more, got '-1'"),
        (("--set", "steps=none"), "`--set steps` must be a number, 1 or more, got 'none'"),
        (
            ("--set", "step=3"),
            "`--set` must be NAME=VALUE with a setting's name, got 'step=3'; known are model, budget",
        ),
        (("--set", "steps"), "got 'steps'"),
        (("--set", "context_compiler_model=nonsense:x"), "the model 'nonsense:x' cannot be asked"),
        (("--template", "gone"), "no template 'gone'"),
    ],
)
def test_what_the_command_line_names_wrongly_is_refused(
    model: ScriptedModel, options: tuple[str, ...], said: str
) -> None:
    done = chat("hello", options=options)
    assert done.exit_code in (1, 2)
    assert said in done.stderr
    assert model.received == []


@pytest.mark.parametrize("options", [(), ("--endless",)], ids=["plain", "endless"])
def test_a_remembered_template_that_is_gone_costs_no_chat(
    model: ScriptedModel, scene: Scene, options: tuple[str, ...]
) -> None:
    scene.write_template(COUNTED)
    chat("hello", options=("--vault", "vault", "--template", "mine"))
    (scene.vault / "AssistantMD" / "ContextTemplates" / "mine.md").unlink()
    done = chat("still there?", options=("--vault", "vault", *options))
    assert done.exit_code == 0, done.stderr
    in_order(done.stdout, "endless, mine", "! template_load (mine): no template 'mine'", "You said: still there?")


def test_a_configured_template_that_is_gone_costs_no_chat(
    model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOVEATE_TEMPLATE", "gone")
    done = chat("hello", options=("--endless",))
    assert done.exit_code == 0, done.stderr
    in_order(done.stdout, "! template_load (gone): no template 'gone'", "You said: hello")


def test_a_configured_model_for_summaries_that_is_wrong_costs_no_chat(
    model: ScriptedModel, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chat's own model writes them, which is said each time, and is in the log once."""
    monkeypatch.setenv("FOVEATE_CONTEXT_COMPILER_MODEL", "nonsense:x")
    for _ in range(2):
        done = chat("hello", options=("--endless",))
        assert done.exit_code == 0, done.stderr
        in_order(
            done.stdout,
            "! summarise (nonsense:x): `context_compiler_model` is 'nonsense:x'",
            "the chat's own model writes summaries",
            "You said: hello",
        )
    assert [one.code for one in scene.diagnostics("chat")].count("summary_model_failed") == 1


def test_templates_that_cannot_be_copied_cost_no_chat(model: ScriptedModel, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "ContextTemplates").write_text("a file where the folder would be")
    done = chat("hello")
    assert done.exit_code == 0, done.stderr
    in_order(done.stdout, "! template_seed (system:chat): cannot write", "You said: hello")
