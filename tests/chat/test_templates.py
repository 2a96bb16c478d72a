"""Templates are read from files that people write, and only what nobody can read is an error."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foveate.chat.templates import MOST_BYTES, PLACEHOLDERS, Template, read_template, template_of
from foveate.errors import ConfigError, TemplateError

WHOLE = """---
description: What we plan
passthrough_runs: 5
token_threshold: 0
model: fast
refresh: every-turn
tags: [mine]
---
Before all headings.

## Chat Instructions

Be brief.
  Even {{ here }}.

## Contract
```yaml
topic: text
constraints: [text]
```

## Topic
{{ topic }}

## Context Instructions:
Write little.
"""


def template(text: str | bytes) -> Template:
    content = text.encode() if isinstance(text, str) else text
    return template_of(content, name="work/x", source="vault", path=Path("/v/work/x.md"))


def test_a_whole_template_is_taken_apart():
    """Front matter, instructions, contract and form each come out where they belong."""
    read = template(WHOLE)

    assert (read.description, read.passthrough_runs, read.token_threshold) == ("What we plan", 5, 0)
    assert (read.model, read.refresh, read.notes) == ("fast", "every-turn", ())
    assert read.chat_instructions == "Be brief.\n  Even {{ here }}."
    assert read.context_instructions == "Write little."
    assert read.contract == {"topic": "text", "constraints": "list"}
    assert read.contract_text == "topic: text\nconstraints: [text]"
    assert read.form == "Before all headings.\n\n## Topic\n{{ topic }}"
    assert read.text == WHOLE and read.body == WHOLE.split("---\n", 2)[2]
    assert read.sha256 == sha256(WHOLE.encode()).hexdigest()
    assert read.pointer == "vault:work/x"


def test_without_headings_the_whole_body_is_the_form():
    read = template("Keep {{ topic }} in view.")

    assert read.form == read.body == read.text == "Keep {{ topic }} in view."
    assert (read.chat_instructions, read.context_instructions, read.contract) == ("", "", None)


def test_what_is_not_said_is_left_to_the_settings():
    read = template("{{ topic }}")

    assert (read.passthrough_runs, read.token_threshold, read.model, read.refresh) == (None, None, None, "when-needed")


@pytest.mark.parametrize(
    ("written", "runs"), [("all", "all"), ("ALL", "all"), ("-1", "all"), ("0", 0), ("7", 7), ("'7'", 7), ("", None)]
)
def test_runs_are_a_number_or_all(written: str, runs: object):
    read = template(f"---\npassthrough_runs: {written}\n---\n{{{{ topic }}}}")

    assert (read.passthrough_runs, read.notes) == (runs, ())


@pytest.mark.parametrize(
    ("line", "field", "note"),
    [
        (
            "passthrough_runs: many",
            "passthrough_runs",
            "`passthrough_runs` is 'many', and the setting is used instead;",
        ),
        ("passthrough_runs: true", "passthrough_runs", "`passthrough_runs` is True"),
        ("passthrough_runs: -2", "passthrough_runs", "`passthrough_runs` is -2"),
        ("token_threshold: [1]", "token_threshold", "`token_threshold` is a list"),
        ("token_threshold: 0x" + "f" * 5000, "token_threshold", "`token_threshold` is too large"),
        ("model: 3", "model", "`model` is 3, and the model of the chat is used instead"),
    ],
)
def test_a_bad_value_is_noted_and_the_default_used(line: str, field: str, note: str):
    read = template(f"---\n{line}\n---\n{{{{ topic }}}}")

    assert getattr(read, field) is None
    assert read.notes[0].startswith(note)


def test_a_bad_refresh_is_noted():
    read = template("---\nrefresh: daily\n---\n{{ topic }}")

    assert read.refresh == "when-needed"
    assert read.notes == ("`refresh` is 'daily', and when-needed is used instead; give when-needed or every-turn",)


def test_dashes_are_taken_but_the_canonical_name_wins():
    assert template("---\ntoken-threshold: 9\n---\n{{ plan }}").token_threshold == 9
    both = template("---\ntoken-threshold: 9\ntoken_threshold: 8\n---\n{{ plan }}")
    assert both.token_threshold == 8
    assert both.notes == ("`token-threshold` is given beside `token_threshold`, which is used; remove one of them",)


def test_a_misspelled_field_is_noted_and_a_custom_one_is_not():
    read = template("---\ntoken_treshold: 9\naliases: [a]\nweek_start_day: monday\n2: x\n---\n{{ topic }}")

    assert read.notes == ("`token_treshold` is no field of a template and is ignored; `token_threshold` may be meant",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("---\ndescription: a: b\n---\n", "/v/work/x.md, line 2: the front matter cannot be read: mapping values"),
        ("---\nmodel: a\nx: [1\n---\n", "line 3"),
        ("---\nmodel: &a x\ndescription: *a\n---\n", "line 3: .*references such as `\\*name` are not read"),
        ("---\njust words\n---\n", "line 2: the front matter has no fields; write `description: …`"),
        ("---\nx: !!bool perhaps\n---\n", "a value in it cannot be read"),
        ("---\nx: !!python/object:os.system 1\n---\n", "could not determine a constructor"),
        ("---\nx: " + "[" * 5000 + "\n---\n", "nested too deeply|expected"),
        ("---\nx: " + "a" * 30_000 + "\n---\n", "more than 20,000"),
    ],
)
def test_broken_front_matter_is_refused_with_file_line_and_remedy(text: str, problem: str):
    with pytest.raises(TemplateError, match=problem) as caught:
        template(text)

    assert (caught.value.phase, caught.value.pointer) == ("template_load", "vault:work/x")
    assert isinstance(caught.value, ConfigError) and ";" in str(caught.value)


def test_a_rule_at_the_top_is_no_front_matter():
    read = template("---\n# A title\n{{ topic }}")

    assert read.form == "---\n# A title\n{{ topic }}"
    assert "line 1 is `---`" in read.notes[0]


def test_files_of_other_systems_are_read_alike():
    """A byte order mark and carriage returns make no difference but to the hash."""
    other = template(b"\xef\xbb\xbf" + WHOLE.replace("\n", "\r\n").encode())

    assert (other.form, other.contract, other.description) == (
        template(WHOLE).form,
        template(WHOLE).contract,
        "What we plan",
    )
    assert other.sha256 != template(WHOLE).sha256


def test_what_is_no_text_or_far_too_long_is_refused():
    with pytest.raises(TemplateError, match="line 2: this is not UTF-8; store it as UTF-8"):
        template(b"a\n\xff")
    with pytest.raises(TemplateError, match=r"more than 100,000 bytes; shorten the template"):
        template("x" * (MOST_BYTES + 1))


def test_a_contract_may_be_json_a_schema_or_unlabelled():
    assert template('```json\n{"a": [], "b": {}, "c": 1, "d": true, "e": null}\n```').contract == {
        "a": "list",
        "b": "mapping",
        "c": "number",
        "d": "yes or no",
        "e": "anything",
    }
    assert template("~~~\na: string, one sentence\nb: what it is\nc: str[]\n~~~\n").contract == {
        "a": "text",
        "b": "anything",
        "c": "list",
    }
    schema = '```json\n{"type": "object", "properties": {"a": {"type": "array"}, "b": {}}}\n```'
    assert template(schema).contract == {"a": "list", "b": "anything"}


def test_a_contract_that_cannot_be_read_is_noted():
    read = template("{{ topic }}\n```json\n{a: 1}\n```\n```yaml\n- a\n```\n")

    assert read.contract is None
    assert "the contract cannot be read as json" in read.notes[0]
    assert "the yaml block has no keys" in read.notes[1]


def test_a_block_with_placeholders_or_of_another_language_is_part_of_the_form():
    text = "```yaml\ntopic: {{ topic }}\n```\n```python\nx = 1\n```\n```\njust words\n```"

    assert (template(text).form, template(text).contract, template(text).notes) == (text, None, ())


def test_a_condition_before_a_heading_belongs_to_what_the_heading_stands_over():
    read = template("## Chat Instructions\nBe brief.\n\n{% if plan %}\n\n## Plan\n{{ plan }}\n{% endif %}\n")

    assert read.chat_instructions == "Be brief."
    assert read.form == "{% if plan %}\n\n## Plan\n{{ plan }}\n{% endif %}"
    around = template("{% if a %}\n## Chat Instructions\nx\n{% endif %}\n## Plan\n{{ plan }}")
    assert (around.chat_instructions, around.form) == ("x", "{% if a %}\n{% endif %}\n## Plan\n{{ plan }}")


def test_a_heading_in_a_block_is_no_heading():
    read = template("## Topic\n````text\n```\n## Chat Instructions\n````\n{{ topic }}\n### Chat Instructions\nx")

    assert read.chat_instructions == "" and read.form.endswith("### Chat Instructions\nx")


def test_what_stays_empty_or_cannot_be_filled_in_is_noted_with_the_line_of_the_file():
    assert "`constrants` is no placeholder" in template("{{ constrants }}{% set a = 1 %}{{ a }}").notes[0]
    broken = template("---\nmodel: a\n---\n## Chat Instructions\nx\n## Topic\n{{ topic | nope }}")
    assert broken.notes[0].startswith("line 7: the form cannot be filled in: there is no filter `nope`")
    assert "there is nothing to fill in" in template("## Chat Instructions\nx").notes[0]
    assert "there is nothing to fill in" in template("").notes[0]
    assert template("\n".join(f"{{{{ {name} }}}}" for name in PLACEHOLDERS)).notes == ()


def test_other_scripts_are_read_as_they_are():
    read = template("---\ndescription: 长谈\n---\n## 主题\n{{ topic }}\n\n```yaml\n主题: text\n```")

    assert (read.description, read.form, read.contract) == ("长谈", "## 主题\n{{ topic }}", {"主题": "text"})


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path):
    with pytest.raises(TemplateError, match=r"template 'x' cannot be read: .*; make it readable or choose another"):
        read_template(tmp_path, name="x", source="system")


YAML = [
    "model: ",
    "refresh: ",
    "all",
    "&a ",
    "*a",
    "!!int ",
    "!!timestamp ",
    "? ",
    "- ",
    "[",
    "{",
    "'",
    '"\\ud800"',
    "0x",
]
FORM = ["{{ topic }}", "{% if a %}", "{% endif %}", "## Chat Instructions\n", "```yaml\n", "```\n"]
PIECES = st.sampled_from([*YAML, *FORM, "\n", "---\n", "...\n", "\0"])


@settings(deadline=None)
@given(st.one_of(st.binary(max_size=200), st.lists(PIECES | st.text(max_size=5), max_size=25).map("".join)))
@example("---\nx: !!int ''\n---\n")
@example("---\nx: !!timestamp x\n---\n")
@example("---\ndescription: 0x" + "f" * 5000 + "\n---\n")
@example('---\ndescription: "\\ud800"\n---\n')
@example("---\n<<: 1\n---\n")
@example("---\n? [a]\n: b\n---\n")
@example("---\nx: 2001-99-99\n---\n")
def test_any_content_is_a_template_or_a_template_error(content: str | bytes):
    """Nothing that somebody stores as a template ends in another error, and what is read can be stored."""
    try:
        read = template(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    except TemplateError as error:
        assert error.pointer == "vault:work/x"
    else:
        f"{read}".encode()
        assert len(read.form_lines) == (read.form.count("\n") + 1 if read.form else 0)
        lines = read.text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
        assert [lines[number - 1] for number in read.form_lines] == (read.form.split("\n") if read.form else [])


@pytest.mark.parametrize("heading", ["Context Instructions", "Chat Instructions"])
def test_a_placeholder_in_instructions_is_noted_with_its_line(heading: str):
    """A model gets them as they are written, which nobody means who writes a placeholder."""
    read = template(f"---\nmodel: x\n---\n## {heading}\nIt is about {{{{ topic }}}}.\n\n## Form\n{{{{ ledger }}}}\n")

    (note,) = read.notes
    assert note.startswith(f"line 5: `{{{{ topic }}}}` stands in the {heading.lower()}, which a model gets as they are")
    assert note.endswith("move it below a heading of its own, where it is filled in")


@pytest.mark.parametrize("said", ["Write `{{ topic }}` nowhere.", "Use {{ mustache }}.", "About the topic."])
def test_what_is_no_placeholder_in_instructions_is_not_noted(said: str):
    """Quoted ones are spoken of, and other names are other programs'."""
    assert template(f"## Context Instructions\n{said}\n\n## Form\n{{{{ ledger }}}}\n").notes == ()


def test_a_form_below_the_contract_needs_no_heading():
    """It has placeholders, so it is no instruction."""
    text = "## Context Instructions\nWrite little.\n\n~~~yaml\ntopic: text\n~~~\n\nTopic: {{ topic }}\n{{ ledger }}\n"
    read = template(text)

    assert read.context_instructions == "Write little."
    assert (read.form, read.form_lines) == ("Topic: {{ topic }}\n{{ ledger }}", (8, 9))
    assert (read.contract, read.notes) == ({"topic": "text"}, ())


def test_instructions_below_the_contract_stay_instructions():
    """Without a placeholder there is nothing to fill in."""
    text = "## Context Instructions\nWrite little.\n~~~yaml\ntopic: text\n~~~\nNo names.\n\n## Form\n{{ ledger }}\n"
    assert template(text).context_instructions == "Write little.\nNo names."
