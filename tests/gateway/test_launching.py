"""What each agent is told for one run, and what of the user's own is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foveate.errors import ConfigError
from foveate.gateway.launching import Wish, agent_of, launch

AT = "http://127.0.0.1:9/as/x"


def wish(tmp_path: Path, *command: str, **environment: str) -> Wish:
    home, folder = tmp_path / "home", tmp_path / "run"
    home.mkdir(exist_ok=True)
    folder.mkdir(exist_ok=True)
    return Wish(command=command, environment={"HOME": str(home), **environment}, folder=folder)


def test_claude_code_is_sent_on_to_where_the_user_sends_it(tmp_path: Path) -> None:
    """By one variable; the user's own address becomes the upstream."""
    made = launch("claude-code", wish(tmp_path, "claude", "-p", "x", ANTHROPIC_BASE_URL="https://proxy.example"), AT)
    assert made.command == ("claude", "-p", "x")
    assert made.environment == {"ANTHROPIC_BASE_URL": AT}
    assert made.upstreams == {"anthropic": "https://proxy.example"}


def test_codex_gets_an_option_for_the_provider_that_its_settings_name(tmp_path: Path) -> None:
    """The file is read and not touched."""
    settings = tmp_path / "home" / ".codex" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('model_provider = "mine"\n[model_providers.mine]\nbase_url = "https://mine.example/v1"\n')
    before = settings.read_bytes()
    made = launch("codex", wish(tmp_path, "codex", "exec", "x"), AT)
    assert made.command == ("codex", "-c", f'model_providers.mine.base_url="{AT}/v1"', "exec", "x")
    assert made.upstreams == {"openai": "https://mine.example/v1"}
    assert settings.read_bytes() == before


def test_codex_with_a_login_that_was_not_tried_is_refused(tmp_path: Path) -> None:
    """Its requests go elsewhere."""
    path = tmp_path / "home" / ".codex" / "auth.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"tokens": {"access_token": "x"}}')
    with pytest.raises(ConfigError, match="logged in with ChatGPT"):
        launch("codex", wish(tmp_path, "codex"), AT)


def test_gemini_cli_uses_its_key_for_this_run(tmp_path: Path) -> None:
    """Whatever it was logged in with."""
    made = launch("gemini-cli", wish(tmp_path, "gemini", GEMINI_API_KEY="k"), AT)
    settings = json.loads(Path(made.environment["GEMINI_CLI_SYSTEM_SETTINGS_PATH"]).read_text())
    assert settings["security"]["auth"]["selectedType"] == "gemini-api-key"
    with pytest.raises(ConfigError, match="GEMINI_API_KEY"):
        launch("gemini-cli", wish(tmp_path, "gemini"), AT)


def test_opencode_keeps_its_providers(tmp_path: Path) -> None:
    """The one of its model goes through, and on to where it went."""
    folder = tmp_path / "home" / ".config" / "opencode"
    folder.mkdir(parents=True)
    provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "https://mine.example/v1", "apiKey": "k"}}
    (folder / "opencode.json").write_text(json.dumps({"provider": {"mine": provider}, "model": "mine/m"}))
    made = launch("opencode", wish(tmp_path, "opencode"), AT)
    content = json.loads(made.environment["OPENCODE_CONFIG_CONTENT"])
    assert content["provider"]["mine"] == {"options": {"baseURL": f"{AT}/v1"}}
    assert made.upstreams == {"openai": "https://mine.example/v1"}


def test_pi_is_given_a_folder_like_its_own(tmp_path: Path) -> None:
    """Its sessions and settings are the user's, its addresses are not."""
    folder = tmp_path / "home" / ".pi" / "agent"
    (folder / "sessions").mkdir(parents=True)
    (folder / "auth.json").write_text("{}")
    provider = {"baseUrl": "https://mine.example/v1", "api": "openai-completions", "apiKey": "k"}
    (folder / "models.json").write_text(json.dumps({"providers": {"mine": provider}}))
    made = launch("pi", wish(tmp_path, "pi"), AT)
    given = Path(made.environment["PI_CODING_AGENT_DIR"])
    assert json.loads((given / "models.json").read_text())["providers"]["mine"] == {**provider, "baseUrl": f"{AT}/v1"}
    assert (given / "sessions").resolve() == (folder / "sessions").resolve()
    assert (given / "auth.json").resolve() == (folder / "auth.json").resolve()
    assert made.upstreams == {"openai": "https://mine.example/v1"}


def test_copilot_without_a_provider_of_ones_own_is_refused(tmp_path: Path) -> None:
    """What cannot work is said before it is started."""
    with pytest.raises(ConfigError, match="COPILOT_PROVIDER_BASE_URL"):
        launch("copilot", wish(tmp_path, "copilot"), AT)


@pytest.mark.parametrize(
    ("program", "agent"), [("claude", "claude-code"), ("/opt/bin/mini", "mini-swe-agent"), ("aider", "aider")]
)
def test_agents_are_known_by_their_programs(program: str, agent: str, tmp_path: Path) -> None:
    """Wherever they are installed."""
    assert agent_of([program, "-p"]) == agent
    made = launch(agent, wish(tmp_path, program), AT)
    assert any(value.startswith(AT) for value in made.environment.values())


def test_a_program_that_is_no_agent_is_refused() -> None:
    """With those that are known, and the other way."""
    with pytest.raises(ConfigError, match=r"'vim' is no agent.*foveate gateway"):
        agent_of(["vim"])


def test_settings_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    """By their file, instead of a run that ignores them."""
    path = tmp_path / "home" / ".codex" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("= broken")
    with pytest.raises(ConfigError, match=r"config.toml cannot be read"):
        launch("codex", wish(tmp_path, "codex"), AT)
