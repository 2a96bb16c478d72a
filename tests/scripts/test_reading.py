"""What a workflow's file may say, and that whatever else it says is an error with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.errors import ConfigError
from foveate.scripts.directives import DIRECTIVES
from foveate.scripts.reading import MOST_BYTES, read_script, script_of
from foveate.scripts.script import Input, Output, Script

PATH = Path("daily.md")


def read(text: str) -> Script:
    return script_of(text.encode(), path=PATH)


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(text)
    return str(caught.value).split("\n")


def test_headings_are_steps_and_instructions_are_for_all() -> None:
    """Text before the first step, and headings of other levels or in code, are no steps."""
    script = read(
        "# Title\nFor people.\n## Chat Instructions\nBe brief.\n## One\nDo it.\n# Not a step\n```\n## Nor this\n```\n## Two\nAnd that.\n"
    )

    assert script.instructions == "Be brief."
    assert [(step.name, step.text, step.line) for step in script.steps] == [
        ("One", "Do it.\n# Not a step\n```\n## Nor this\n```", 5),
        ("Two", "And that.", 11),
    ]


def test_every_directive_is_read() -> None:
    """The formats of all directives, with dashes and underscores, in any case."""
    script = read(
        "## First\n@output variable:facts (scope=run)\nGather.\n"
        "## Second\n@Model fast\n@context-helper work/coding\n"
        "@input file:notes/{today}.md (required, head=20)\n\n@input variable:facts (refs-only, scope=Session)\n@input file:Plan (old).md\n"
        "@output context\n@output file:plans/计划.md\n@tools vault, recall\n@recent-runs all\n@cache 2h\n"
        "@header Plan of {day-name}\n@write_mode: new\n\nWrite it.\n@end\n"
    )
    step = script.steps[1]

    assert step.model == "fast"
    assert step.helper == "work/coding"
    assert step.inputs == (
        Input(kind="file", name="notes/{today}.md", required=True, head=20),
        Input(kind="variable", name="facts", refs_only=True, scope="session"),
        Input(kind="file", name="Plan (old).md"),
    )
    assert step.outputs == (Output(kind="context"), Output(kind="file", name="plans/计划.md"))
    assert step.tools == ("vault", "recall")
    assert step.recent_runs == "all"
    assert step.cache == 7_200
    assert step.header == "Plan of {day-name}"
    assert step.write_mode == "new"
    assert step.text == "Write it.\n@end"


@pytest.mark.parametrize(
    ("said", "cache"),
    [("session", "session"), ("Daily", "daily"), ("weekly", "weekly"), ("30s", 30), ("1d", 86_400), ("none", None)],
)
def test_cache_says_for_how_long(said: str, cache: object) -> None:
    """Words and times."""
    assert read(f"## A\n@cache {said}\nx").steps[0].cache == cache


def test_front_matter_has_the_settings_of_the_file() -> None:
    """Settings of chats are known, fields of other programs are left alone, misspelt ones are noted."""
    script = read(
        "---\ndescription: Plan\nmodel: fast\nbudget: 4000\nweek-start-day: Sunday\ntags: [x]\ndiscription: y\n---\n## A\nx"
    )

    assert script.description == "Plan"
    assert script.settings == {"model": "fast", "budget": 4000}
    assert script.week_start == 6
    assert script.notes == ("`discription` is no field of a workflow; `description` may be meant",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("## A\n@modle fast\nx", "daily.md, line 2: `@modle` is no directive; known are @model, @context-helper,"),
        ("## A\n@cache 5x\nx", "daily.md, line 2: `@cache` must be session, daily, weekly, none, or a time"),
        ("## A\n@cache 0s\nx", "`@cache` must be"),
        ("## A\n@cache 999999999d\nx", "`@cache` must be"),
        ("## A\n@recent_runs -1\nx", "`@recent_runs` must be a number of runs, 0 for none, or all, got '-1'"),
        ("## A\n@input notes.md\nx", "`@input` must be file:PATH or variable:NAME"),
        ("## A\n@input file:a.md (tail=3)\nx", "the option 'tail=3' is not known; known are required,"),
        ("## A\n@input file:../a.md\nx", "'../a.md' leads out of the vault"),
        ("## A\n@input file:a.md (head=0)\nx", "`head` must be a number of lines, 1 or more, got '0'"),
        ("## A\nfoo\n##\nbar", "the heading `##` has no name"),
        ("## A\n@output file:/etc/passwd\nx", "'/etc/passwd' leads out of the vault"),
        ("## A\n@output file:{tody}.md\nx", "{tody} is no date; known are {today}, {yesterday}"),
        ("## A\n@output context:x\nx", "`@output` must be context, variable:NAME or file:PATH"),
        ("## A\n@output variable:a b\nx", "'a b' is no name of a variable"),
        (
            "## A\n@output variable:a (head=3)\nx",
            "the option 'head=3' is not known; known are scope=run and scope=sess",
        ),
        ("## A\n@input file:a.md (scope=session)\nx", "a `scope` is that of a variable"),
        ("## A\n@input variable:x (scope=session)\nx", "`@input variable:x`: no earlier step gives any"),
        ("## A\n@tools shell\nx", "`@tools` must be none, vault, recall"),
        ("## A\n@write_mode over\nx", "`@write_mode` must be append, replace or new, got 'over'"),
        ("## A\n@model a\n@model b\nx", "`@model` is given twice"),
        ("## A\n@model\nx", "`@model` must be a model's name"),
        ("## A\n@john says\nx", "text that begins with @ needs a line of text or a \\ before it"),
        (f"## {'A' * 201}\nx", "more than 200 characters"),
        (f"## A\n@input file:a{' ' * 200_000}b (x\nx\n## B\n", "the step 'B' does not say"),
        ("## A\n", "the step 'A' does not say what to do"),
        ("## A\nx\n## a\ny", "a step 'a' is in line 1 already"),
        ("## A\n@input variable:x\nx\n## B\n@output variable:x\ny", "`@input variable:x`: no earlier step gives any"),
        ("## Instructions\n@model fast\n## A\nx", "line 2: `@model` stands in the instructions"),
        ("# Only a title", "there is no step"),
        ("", "there is no step"),
        ("---\nbudget: many\n---\n## A\nx", "`budget` must be a number of tokens, 500 or more, got 'many'"),
        ("---\nweek_start_day: blue\n---\n## A\nx", "`week_start_day` must be one of monday"),
        ("---\na: [\n---\n## A\nx", "the front matter cannot be read"),
        ("---\n## A\nx", "no other ends it"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, problem: str) -> None:
    """Value, directive and remedy."""
    assert any(problem in one for one in problems(text)), problems(text)


def test_all_problems_are_named_at_once() -> None:
    """Nobody has to run it once for each."""
    assert [one.split(": ")[0] for one in problems("## A\n@cache 5x\n@tools x\nx\n## B\n")] == [
        "daily.md, line 2",
        "daily.md, line 3",
        "daily.md, line 5",
    ]


def test_a_directive_behind_text_is_noted() -> None:
    """It is taken for text, which is seldom meant; in code it is."""
    script = read("## A\nDo it.\n@output file:a.md\n```\n@output file:b.md\n```\n")

    assert script.notes == (
        "line 3: `@output` stands behind text of its step and is taken for text; directives come first",
    )


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    """Too long, of another encoding, a folder, not there."""
    for content, problem in [(b"x" * (MOST_BYTES + 1), "more than"), (b"## A\n\xff", "line 2: this is not UTF-8")]:
        with pytest.raises(ConfigError, match=problem):
            script_of(content, path=PATH)
    for path in (tmp_path, tmp_path / "nothing.md", tmp_path / ("x" * 300), Path("a\0b")):
        with pytest.raises(ConfigError, match=r"is no file|cannot be read"):
            read_script(path, root=tmp_path)


def test_the_example_is_a_workflow() -> None:
    """As it stands in the repository."""
    example = Path(__file__).parents[2] / "examples" / "daily.md"

    script = read_script(example, root=example.parent)

    assert [step.name for step in script.steps] == ["Loose ends", "Plan"]
    assert script.notes == ()


def test_a_workflow_is_named_by_its_place_in_the_vault(tmp_path: Path) -> None:
    """Two of the same name in different folders do not share sessions."""
    (tmp_path / "vault" / "work").mkdir(parents=True)
    for path in ("vault/work/daily.md", "outside.md"):
        (tmp_path / path).write_text("## A\nx")

    inside = read_script(tmp_path / "vault" / "work" / "daily.md", root=tmp_path / "vault")
    outside = read_script(tmp_path / "outside.md", root=tmp_path / "vault")

    assert inside.session_of(inside.steps[0]) == "workflow:work/daily/A"
    assert outside.session_of(outside.steps[0]) == "workflow:outside/A"


LINES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["## A", "## 步骤", "## Instructions", "---", "```", "# T", "", "text", "budget: 1", "\x00", "\u2028## B"]
    ),
    st.builds(
        lambda name, value: f"@{name} {value}",
        st.sampled_from([*DIRECTIVES, "other", "input", "output"]),
        st.one_of(
            st.text(max_size=20),
            st.sampled_from(
                ["file:a (head=3)", "variable:x", "file:{today}", "all", "5m", "new", "file:..", "context", "²d"]
            ),
        ),
    ),
)


@given(st.lists(LINES, max_size=15))
def test_whatever_a_file_says_it_is_a_script_or_an_error(lines: list[str]) -> None:
    """Nothing but `ConfigError`, and a script has steps with names and something to do."""
    try:
        script = script_of("\n".join(lines).encode(errors="surrogatepass"), path=PATH)
    except ConfigError as error:
        assert all(line.startswith("daily.md") and line.isprintable() for line in str(error).split("\n"))
        return
    assert script.steps
    for step in script.steps:
        assert step.name
        assert step.text or step.copies
        assert script.session_of(step).isprintable()


@given(st.binary(max_size=200))
def test_bytes_are_a_script_or_an_error(content: bytes) -> None:
    """Of whatever encoding."""
    try:
        script_of(content, path=PATH)
    except ConfigError:
        return


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("## Set up instructions\nx\n## A\ny", "line 1: 'Set up instructions' has the word instructions in it"),
        ("---\ntemplate: chat\n---\n## A\nx", "`template` is for chats"),
        ("## A\n@write_mode new\nx", "line 1: the step 'A' writes no file"),
    ],
)
def test_what_may_not_be_meant_is_noted(text: str, note: str) -> None:
    """It is no mistake, and does something else than it seems."""
    (found,) = script_of(text.encode(), path=Path("a.md")).notes
    assert note in found
