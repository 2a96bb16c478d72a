"""A form is filled in whatever the values, and no form reaches out of its sandbox or runs on for ever."""

from __future__ import annotations

import enum
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jinja2.filters import FILTERS as JINJA_FILTERS
from tests.chat.hostile_templates import ESCAPES, HOGS, SLOW, VALUES

from foveate.chat.render_process import close_renderers, render_form
from foveate.chat.rendering import rendered
from foveate.chat.sandbox import FILTERS, TESTS, FormError
from foveate.chat.templates import PLACEHOLDERS, Template, template_of
from foveate.errors import TemplateError

TURNS = [{"speaker": "user", "text": "hello"}, {"speaker": "assistant", "text": "hi\nthere"}]


def template(text: str) -> Template:
    return template_of(text.encode("utf-8", "replace"), name="x", source="vault", path=Path("/v/x.md"))


def filled(text: str, **values: object) -> str:
    return rendered(template(text), values)


def test_what_has_no_value_stays_empty():
    assert filled("a{{ topic }}b{{ no.such.thing }}{{ no[3] }}{{ no | upper }}{% if no > 3 %}c{% endif %}d") == "abd"
    assert filled("{{ plan }}", plan=None) == ""
    assert filled("{{ x | map(attribute='no') | list }}{{ x | map(attribute='no') | join }}", x=[{"a": 1}]) == ""


def test_blank_lines_run_together():
    text = "## Topic\n{{ topic }}\n\n{% if plan %}\n## Plan\n{{ plan }}\n\n{% endif %}\n{{ ledger }}\n\n\nEnd\n\n"

    assert filled(text, topic="Trees") == "## Topic\nTrees\n\nEnd"
    assert filled(text, topic="Trees", plan="Plant") == "## Topic\nTrees\n\n## Plan\nPlant\n\nEnd"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["a", "b\nc"], "- a\n- b\n  c"),
        (("a", None, 2, True, ""), "- a\n- 2\n- yes"),
        (TURNS, "user: hello\nassistant: hi\nthere"),
        ([{"tool": "search", "result": "3 hits"}], "- search: 3 hits"),
        ([{"observation": "slow", "adjustment": "ask less"}], "- slow → ask less"),
        ([{"observation": "slow", "adjustment": ""}], "- slow"),
        ({"a": 1, "b": [1, {"c": 2.5}]}, "a: 1\nb: 1, c: 2.5"),
        ([{"x": 1, "y": ["p", "q"]}], "- x: 1; y: p, q"),
        (MappingProxyType({"a": {"b", "a"}}), "a: a, b"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        ("<&> {{ topic }}", "<&> {{ topic }}"),
        ("长谈", "长谈"),
        ([], ""),
        (0, "0"),
    ],
)
def test_values_look_as_people_would_write_them(value: object, text: str):
    assert filled("{{ ledger }}", ledger=value) == text


def test_an_enumeration_is_its_value():
    class Colour(str, enum.Enum):  # noqa: UP042  (its own text is another than its value)
        RED = "red"

    assert filled("{{ plan }}", plan=Colour.RED) == "red"


def test_conditions_loops_and_filters_work():
    text = """
{% for turn in recent_turns[-2:] if turn.text != 'x' %}
{{ loop.index }}. {{ turn.speaker | upper }}: {{ turn['text'] | truncate(5, true, '...', 0) }}
{% else %}
nobody
{% endfor %}
{% set n = recent_turns | length %}
{{ n }} {{ recent_turns | map(attribute='speaker') | join('/') }} {{ 'yes' if n is number and n in [2, 3] else 'no' }}
{% for i in range(3) %}{{ i }}{% endfor %} {{ plan | default('none') }} {{ ledger.items }}
"""
    assert filled(text, recent_turns=TURNS, ledger={"items": "kept"}) == (
        "1. USER: hello\n2. ASSISTANT: hi...\n2 user/assistant yes\n012 none kept"
    )


def test_each_filter_and_test_that_is_offered_is_there():
    for name in FILTERS:
        argument = "('upper')" if name == "map" else "('a')" if name.endswith("attr") else ""
        filled(f"{{{{ topic | {name}{argument} }}}}", topic={} if name in ("items", "dictsort") else "a")
    for name in TESTS:
        filled(
            f"{{{{ topic is {name}{'(topic)' if name in ('eq', 'ne', 'lt', 'le', 'gt', 'ge', 'in') else ''} }}}}",
            topic="a",
        )


def test_a_form_has_the_size_limit_of_files_wherever_it_comes_from():
    """Parsing cannot be ended, so what is too large is not begun with."""
    assert len(render_form("x" * 100_000, {})) == 100_000
    for form in ("{{a}}" * 150_000, "é" * 50_001):
        with pytest.raises(FormError, match="it has more than 100,000 bytes; shorten it"):
            render_form(form, {"a": 1})


def test_another_text_of_a_template_can_be_filled_in():
    read = template("{{ topic }}")

    assert rendered(read, {"topic": "Trees"}, template_text="On {{ topic }}.") == "On Trees."
    with pytest.raises(TemplateError, match="template 'x', line 2 of the text to fill in: "):
        rendered(read, {}, template_text="\n{{ 1 + 1 }}")


def test_what_a_template_cannot_have_is_named_with_the_remedy():
    with pytest.raises(TemplateError, match="a template cannot have `~`; write one placeholder after the other"):
        filled("{{ topic ~ plan }}")
    with pytest.raises(TemplateError, match=r"a template cannot have `\*`; use placeholders, `if`, `for` and filters"):
        filled("{{ topic * 3 }}")


def test_an_error_names_the_line_of_the_file():
    text = "---\nmodel: a\n---\n## Chat Instructions\n\nx\n\n## Topic\n{{ topic }}\n\n{% for a in topic %}\n{{ a | indent(topic) }}\n{% endfor %}"

    with pytest.raises(TemplateError, match=r"/v/x\.md, line 12: ") as caught:
        filled(text, topic="ab")
    assert (caught.value.phase, caught.value.pointer) == ("render", "vault:x")


@pytest.mark.parametrize("text", ESCAPES)
def test_no_form_reaches_out_of_its_sandbox(text: str):
    with pytest.raises(TemplateError) as caught:
        filled(text, topic="t", constraints=["a"])
    assert caught.value.phase == "render"


@pytest.mark.parametrize("form", HOGS, ids=lambda text: text[:60])
def test_no_form_takes_all_time_or_memory(form: str):
    """Whatever would grow or go on without end is refused, or ended after its time."""
    with pytest.raises(FormError):
        render_form(form, VALUES, seconds=0.5)


@pytest.mark.parametrize("form", SLOW[:2])
def test_a_form_that_takes_too_long_says_so_and_leaves_the_next_one_alone(form: str):
    """Its process is ended, and the next form has another one."""
    with pytest.raises(FormError, match=r"it takes more than 0\.2 seconds; loop over less"):
        render_form(form, VALUES, seconds=0.2)
    assert filled("{{ topic }}", topic="next") == "next"


def test_looking_at_a_form_runs_nothing_of_it(monkeypatch: pytest.MonkeyPatch):
    """Constants are not evaluated when a template is only read, so a list of templates cannot hang."""
    ran: list[object] = []
    monkeypatch.setitem(cast("dict[str, Any]", JINJA_FILTERS), "upper", ran.append)
    assert template("{{ 'a constant' | upper }}{% if 'x' | upper %}{% endif %}").fills is False
    assert ran == []


def test_threads_render_at_once():
    """Each has its own answer, also when others take too long beside it."""
    answers: list[str] = []

    def render(number: int) -> None:
        answers.append(filled("{{ topic }}", topic=f"t{number}"))

    def hang() -> None:
        with pytest.raises(FormError):
            render_form(SLOW[0], VALUES, seconds=0.5)

    threads = [threading.Thread(target=render, args=(number,)) for number in range(12)]
    threads += [threading.Thread(target=hang) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(answers) == sorted(f"t{number}" for number in range(12))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_child_renders_by_itself():
    """It does not talk into the pipe of its parent, which renders on."""
    assert filled("{{ topic }}", topic="parent") == "parent"
    ends = multiprocessing.get_context("fork")
    results = ends.Queue()
    child = ends.Process(target=_render_many, args=(results,))
    child.start()
    mine = [filled("{{ topic }}", topic=f"p{number}") for number in range(50)]
    assert results.get(timeout=60) == [f"c{number}" for number in range(50)]
    child.join(60)
    assert mine == [f"p{number}" for number in range(50)]


def _render_many(results: Any) -> None:
    results.put([filled("{{ topic }}", topic=f"c{number}") for number in range(50)])


def _children() -> list[int]:
    """The processes that this one has started."""
    return [int(one) for path in Path("/proc/self/task").glob("*/children") for one in path.read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the processes of this one are found in /proc")
def test_a_process_that_was_ended_from_outside_is_replaced():
    """Somebody's `kill` costs no rendering."""
    assert filled("{{ topic }}", topic="a") == "a"
    waiting = [one for one in _children() if b"sandbox.py" in Path(f"/proc/{one}/cmdline").read_bytes()]
    assert waiting
    for process in waiting:
        os.kill(process, signal.SIGKILL)
    assert filled("{{ topic }}", topic="b") == "b"


def test_without_a_process_a_form_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch):
    """Where Python is a part of another program there is no interpreter to start; nothing is rendered unwatched."""
    close_renderers()
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with pytest.raises(TemplateError, match=r"no process can be started to fill it in: .*No such file"):
        filled("{{ topic }}", topic="t")
    monkeypatch.setattr(sys, "executable", shutil.which("true"))
    with pytest.raises(TemplateError, match=r"no process can be started to fill it in: .* ended at once"):
        filled("{{ topic }}", topic="t")


def test_a_script_without_a_main_guard_can_render(tmp_path: Path):
    """The script that renders is not run a second time, and nothing of the working directory is imported."""
    (tmp_path / "jinja2.py").write_text("raise SystemExit('imported from the working directory')")
    script = tmp_path / "elsewhere" / "script.py"
    script.parent.mkdir()
    script.write_text(
        "from foveate.chat.render_process import render_form\nprint(render_form('{{ topic }}', {'topic': 'once'}))\n"
    )
    ran = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("once\n", "", 0)


def test_long_lists_are_filled_in():
    many = [{"speaker": "user", "text": f"turn {number}"} for number in range(50_000)]

    assert filled("{{ recent_turns }}", recent_turns=many).count("\n") == 49_999
    assert filled("{% for t in recent_turns %}{{ t.text }}\n{% endfor %}", recent_turns=many).endswith("turn 49999")


def test_too_long_a_text_is_refused_rather_than_sent():
    with pytest.raises(TemplateError, match="it makes more than 1,000,000 characters; fill in less"):
        filled("{{ ledger }}{{ ledger }}", ledger="x" * 600_000)


@pytest.mark.parametrize("first", ["1", "-1"])
def test_a_comparison_that_is_too_large_is_refused_with_its_line(first: str):
    """Whichever part of it is one too many: its operands have no line of their own."""
    with pytest.raises(TemplateError, match="line 2: it has more than 4,000 parts"):
        filled(f"x\n{{{{ {first}{'<1' * 3_000} }}}}")


def test_a_value_that_is_nothing_to_fill_in_is_refused_by_name():
    with pytest.raises(TemplateError, match="the value of `plan` cannot be used: object is nothing to fill in"):
        filled("{{ plan }}", plan=object())
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(TemplateError, match="`plan` cannot be used: it is nested too deeply"):
        filled("{{ plan }}", plan=circle)
    assert filled("{{ topic }}", topic="t", plan=object()) == "t"


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
PLAIN_VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(SCALARS | st.tuples(SCALARS), inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["speaker", "text", "tool", "result", "observation", "items"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
FORM = template(
    "\n".join(
        [
            *(f"{{% if {name} %}}\n## {name}\n{{{{ {name} }}}}\n{{% endif %}}" for name in PLACEHOLDERS),
            "{{ topic.text }}{{ plan[0] }}",
        ]
    )
)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.sampled_from(PLACEHOLDERS), PLAIN_VALUES))
@example({"topic": 10**5000})
@example({"topic": float("nan"), "plan": "\ud800"})
def test_any_values_give_a_text_or_a_template_error(values: dict[str, object]):
    try:
        text = rendered(FORM, values)
    except TemplateError as error:
        assert error.phase == "render"
    else:
        assert text == text.strip()
        assert text == rendered(FORM, values)


WORDS = "{{ }} {% %} {# #} | ( ) [ ] : , . - == < 1 'a' 'text' attribute= loop range".split()  # noqa: SIM905  (a line instead of a screen)
SPACED = "topic plan x if endif for in endfor set = else is not and or raw endraw".split()  # noqa: SIM905  (a line instead of a screen)
PIECES = st.sampled_from([*WORDS, *(f" {word} " for word in SPACED), *FILTERS, *TESTS, "\n"])


@settings(deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join), PLAIN_VALUES, PLAIN_VALUES)
@example("{{'a'|truncate(1)}}", "", "")
@example("{{topic|map|list}}", "ab", "")
@example("{{topic|first|last}}", [], "")
@example("{% for x, y in topic %}{{ x }}{% endfor %}", [1], "")
def test_any_form_gives_a_text_or_a_template_error(form: str, topic: object, plan: object):
    try:
        filled(form, topic=topic, plan=plan)
    except TemplateError as error:
        assert error.phase == "render" and error.pointer == "vault:x"


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(FILTERS),
    st.sampled_from(FILTERS),
    st.lists(st.sampled_from(["1", "-1", "'a'", "plan", "attribute='text'", "true", "'upper'", "none"]), max_size=2),
    PLAIN_VALUES,
    PLAIN_VALUES,
)
def test_any_filter_of_any_value_gives_a_text_or_a_template_error(
    first: str, second: str, arguments: list[str], topic: object, plan: object
):
    try:
        filled(f"{{{{ topic | {first}({', '.join(arguments)}) | {second} }}}}", topic=topic, plan=plan)
    except TemplateError as error:
        assert error.phase == "render"
