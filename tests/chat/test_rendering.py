"""A form is filled in whatever the values, and no form reaches out of its sandbox or runs on for ever."""

from __future__ import annotations

import enum
import time
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foveate.chat.rendering import rendered
from foveate.chat.sandbox import FILTERS, TESTS
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


ESCAPES = [
    "{{ ''.__class__.__mro__ }}",
    "{{ ''['__class__'] }}",
    "{{ topic.__class__.__base__.__subclasses__() }}",
    "{{ constraints | map(attribute='__class__') | list }}",
    "{{ constraints | sort(attribute='__class__') }}",
    "{{ constraints | map('attr', '__class__') | list }}",
    "{{ topic | attr('__class__') }}",
    "{{ range.__globals__ }}",
    "{{ missing.__init__.__globals__ }}",
    "{{ self.__init__ }}",
    "{{ self }}",
    "{{ range }}",
    "{{ cycler.__init__ }}",
    "{{ lipsum() }}",
    "{{ constraints.append('x') }}",
    "{{ '{0.__class__}'.format(topic) }}",
    "{% for a in constraints %}{{ loop._iterable }}{% endfor %}",
    "{% for a in constraints %}{{ loop.cycle }}{% endfor %}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}",
    "{% extends 'x' %}",
]


@pytest.mark.parametrize("text", ESCAPES)
def test_no_form_reaches_out_of_its_sandbox(text: str):
    with pytest.raises(TemplateError) as caught:
        filled(text, topic="t", constraints=["a"])
    assert caught.value.phase == "render"


LOOP = "{% for a in range(9999) %}{% for b in range(9999) %}"
END = "{% endfor %}{% endfor %}"
HOGS = [
    "{{ range(999999999) }}",
    "{% for a in range(999999999) %}{% endfor %}",
    LOOP + END,
    "{% set r = range(9999) | list %}{% for a in r %}{% for b in r %}{% for c in r %}{% endfor %}{% endfor %}{% endfor %}",
    LOOP + "{{ a }}" + END,
    LOOP + "{% if ledger[1:] == ledger[2:] %}{% endif %}" + END,
    LOOP + "{% if ledger | upper | title %}{% endif %}" + END,
    LOOP + "{% if constraints | map('upper') | sort | list %}{% endif %}" + END,
    LOOP + "{% if constraints == constraints[:] %}{% endif %}" + END,
    "{{ ledger | join(ledger) }}",
    "{{ 10 ** 10 ** 10 }}",
    "{{ 'a' * 999999999 }}",
    "{{ '%999999999d' % 1 }}",
    "{{ '%999999999d' is odd }}",
    "{{ ['%999999999d'] | select('divisibleby', 3) | list }}",
    "{{ '{:>999999999}'.format(1) }}",
    "{{ topic | indent(999999999) }}",
    "{{ topic | center(999999999) }}",
    "{{ topic | batch(999999999, 'x') | list }}",
    "{% macro f(n) %}{{ f(n) }}{{ f(n) }}{% endmacro %}{{ f(40) }}",
    "{% for a in constraints recursive %}{{ loop(constraints) }}{% endfor %}",
    "{% set x = 'ab' %}" + "{% set x = x ~ x %}" * 50 + "{{ x }}",
    "{% set x = 'ab' %}" + "{% set x = x + x %}" * 50 + "{{ x }}",
    "{% set x = 'ab' %}" + "{% set x = x | join(x) %}" * 50 + "{{ x }}",
    "{% set x = 'ab' %}" + "{% set x %}{{ x }}{{ x }}{% endset %}" * 50 + "{{ x }}",
    "{% set x = [1] %}" + "{% set x = [x, x] %}" * 50 + "{{ x }}",
    "{% for x in [topic] %}" * 30 + "{% endfor %}" * 30,
    "{{ topic }}" * 8000,
    "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "{{ " + "not " * 5000 + "topic }}",
    "{{ topic" + " or topic" * 5000 + " }}",
    "{{ topic" + " | upper" * 5000 + " }}",
    "{% if topic %}" * 2000 + "{% endif %}" * 2000,
]


@pytest.mark.parametrize("text", HOGS, ids=lambda text: text[:60])
def test_no_form_takes_all_time_or_memory(text: str):
    """Whatever would grow without end is refused, or stopped by its steps after a moment."""
    start = time.process_time()
    with pytest.raises(TemplateError):
        filled(text, topic="t", ledger="some words " * 50_000, constraints=["a", "b"] * 10_000)
    assert time.process_time() - start < 10


def test_long_lists_are_filled_in():
    many = [{"speaker": "user", "text": f"turn {number}"} for number in range(50_000)]

    assert filled("{{ recent_turns }}", recent_turns=many).count("\n") == 49_999
    assert filled("{% for t in recent_turns %}{{ t.text }}\n{% endfor %}", recent_turns=many).endswith("turn 49999")


def test_too_long_a_text_is_refused_rather_than_sent():
    with pytest.raises(TemplateError, match="it makes more than 1,000,000 characters; fill in less"):
        filled("{{ ledger }}{{ ledger }}", ledger="x" * 600_000)


def test_a_value_that_is_nothing_to_fill_in_is_refused_by_name():
    with pytest.raises(TemplateError, match="the value of `plan` cannot be used: object is nothing to fill in"):
        filled("{{ plan }}", plan=object())
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(TemplateError, match="`plan` cannot be used: it is nested too deeply"):
        filled("{{ plan }}", plan=circle)
    assert filled("{{ topic }}", topic="t", plan=object()) == "t"


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(
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
@given(st.dictionaries(st.sampled_from(PLACEHOLDERS), VALUES))
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
@given(st.lists(PIECES, max_size=14).map("".join), VALUES, VALUES)
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
    VALUES,
    VALUES,
)
def test_any_filter_of_any_value_gives_a_text_or_a_template_error(
    first: str, second: str, arguments: list[str], topic: object, plan: object
):
    try:
        filled(f"{{{{ topic | {first}({', '.join(arguments)}) | {second} }}}}", topic=topic, plan=plan)
    except TemplateError as error:
        assert error.phase == "render"
