"""Work that is done once: a session that is opened is built once, and what was previewed is not compiled again."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.dialogue import says, user, work

from foveate import BudgetError, ConfigError, ContextSection, Session
from foveate.budget.window import TokenBudget
from foveate.compile.compiled import CompiledContext
from foveate.compile.compilers import PipelineCompiler
from foveate.log.state import AgentState
from foveate.session.options import Options


class Counting:
    """A compiler that counts how often it is asked; with what was looked up beside the same state, it is not again."""

    def __init__(self) -> None:
        self.times = 0
        self._inner = PipelineCompiler(budget=TokenBudget(window=4_000))

    def compile(self, state: AgentState, /) -> CompiledContext:
        self.times += not state.recalled
        return self._inner.compile(state)


def test_what_was_previewed_is_sent_without_another_compile() -> None:
    """With the same clock and sections, while nothing was said; anything else is compiled anew."""
    compiler = Counting()
    session = Session(compiler=compiler)
    session.extend(work(8))
    previewed = session.preview(now=1.0)
    sent = session.compile(now=1.0)
    assert compiler.times == 1
    assert (sent.payload, sent.proposed, sent.number) == (previewed.payload, previewed.proposed, 1)

    session.preview(now=2.0)
    session.compile(now=3.0)
    assert compiler.times == 3
    session.preview(now=4.0)
    session.compile(now=4.0, sections=[ContextSection(name="task", content="x", source="y")])
    assert compiler.times == 5
    session.preview(now=5.0)
    session.append(user("wait"))
    session.compile(now=5.0)
    assert compiler.times == 7
    session.preview(now=6.0)
    session.report_usage(input_tokens=2_000)
    session.compile(now=6.0)
    assert compiler.times == 9


def test_a_preview_by_another_policy_is_not_what_is_sent() -> None:
    """The policy that was chosen last decides."""
    session = Session(budget=2_000, policy="patient")
    session.extend([*work(6), user("now?")])
    session.preview()
    session.use("drop")

    assert "drop" in session.compile().strategy


def test_a_session_is_built_once_when_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One session and one compiler, for a new session and for one that goes on."""
    built: list[object] = []
    compiler_for = Options.compiler_for
    monkeypatch.setattr(Options, "compiler_for", lambda *args: built.append(args) or compiler_for(*args))

    class Observed(Session):
        made = 0

        def __init__(self, **options: object) -> None:
            type(self).made += 1
            super().__init__(**options)  # type: ignore[arg-type]

    for number in range(2):
        with Observed.open(tmp_path / "a.db", "a", budget=4_000, system="Be brief.") as session:
            session.extend([user("hello"), says("hi")])
        assert (Observed.made, len(built)) == (number + 1, number + 1)


def test_a_session_that_is_refused_leaves_no_store(tmp_path: Path) -> None:
    """Options that cannot work are found before a file is made."""
    with pytest.raises((ConfigError, BudgetError)):
        Session.open(tmp_path / "a.db", "a", budget=0)
    assert not (tmp_path / "a.db").exists()
