"""Handoffs: what is accepted, what is refused and how it is said, what is saved of free text."""

from __future__ import annotations

import json
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.knowledge.handoff import HandoffError, parse_handoff, read_handoff
from foveate.knowledge.handoff_text import FIELDS, told_in, written
from foveate.knowledge.salvage import salvaged_handoff

WHOLE = """
outcome: partial
files_created:
  - {path: src/money.py, purpose: amounts, lines: 1-40}
files_modified:
  - {path: src/api.py, lines: 10-12, change_type: refactor, description: uses amounts}
patterns_discovered:
  - {pattern: Amounts are integers of cents, location: "src/money.py:12", applies_to: [api, money-handling]}
gotchas:
  - {issue: The database rounds, discovered_in: tests, mitigation: cast first, severity: high}
dependencies_for_next:
  - {file: src/money.py, reason: has the helpers}
open_questions:
  - {question: "Which currency?", context: orders, recommendation: ask, blocking: true}
suggested_next_steps:
  - {step: Migrate the table, priority: high, depends_on: [T2]}
blockers:
  - {blocker: No access, impact: cannot test, suggested_resolution: ask for it, blocking_tasks: [T9]}
"""


def test_the_whole_schema_is_read_bare_fenced_below_a_heading_and_as_json() -> None:
    import json

    import yaml

    bare = parse_handoff(WHOLE)
    assert bare.files_modified[0].change_type == "refactor"
    assert bare.open_questions[0].blocking and bare.gotchas[0].severity == "high"
    fenced = f"# Task\n\n```yaml\nnot: this\n```\n\n## Handoff\n\n```yaml{WHOLE}```\nmore words"
    assert parse_handoff(fenced) == bare
    assert parse_handoff(json.dumps(yaml.safe_load(WHOLE))) == bare


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("outcome: partial\nsuggested_next_steps: [{step: x}]", "`outcome` partial needs `blockers`"),
        ("outcome: partial\nblockers: [{blocker: x}]", "`outcome` partial needs `suggested_next_steps`"),
        ("outcome: failed\nblockers: [{blocker: x}]", "failed needs `blockers` with a `suggested_resolution`"),
        ("outcome: blocked\nblockers: [{blocker: x}]", "blocked needs `blockers` with `blocking_tasks`"),
        ("outcome: done", "`outcome` is 'done'; known are blocked, completed, failed, partial"),
        ("files_created: []", "`outcome` is missing; known are blocked, completed, failed, partial"),
        (
            "outcome: completed\nfiles_created: [{path: /etc/x}]",
            "`files_created[0].path` is '/etc/x'; give a path relative",
        ),
        ("outcome: completed\nfiles_created: [{path: ../x}]", "relative to the project"),
        ("outcome: completed\nfiles_created: [{path: 'C:\\x'}]", "relative to the project"),
        ("outcome: completed\nfiles_created: [{path: '\\\\server\\x'}]", "relative to the project"),
        ("outcome: completed\nfiles_created: [{path: 'file:///etc/x'}]", "relative to the project"),
        ("outcome: completed\nfiles_created: [{path: $HOME/x}]", "relative to the project"),
        ("outcome: completed\nfiles_created: [{path: '%APPDATA%\\x'}]", "relative to the project"),
        ('outcome: completed\nfiles_created: [{path: "a\\nb"}]', "give the path in one line"),
        (
            "outcome: completed\ngotchas: [{issue: x, discovered_in: /srv/x.py}]",
            "`gotchas[0].discovered_in` is '/srv/x.py'; give a path relative",
        ),
        ("outcome: failed\noutcome: completed", "`outcome` is there twice; say it once"),
        ('{"outcome": "failed", "outcome": "completed"}', "`outcome` is there twice; say it once"),
        ("outcome: completed\nsalvaged: true", "`salvaged` is no field"),
        (
            "outcome: completed\nfiles_modified: [{path: x, lines: '9-3'}]",
            "`files_modified[0].lines` is '9-3'; give a range such as 10-42",
        ),
        ("outcome: completed\nfiles_modified: [{path: x, lines: some}]", "is 'some'"),
        (
            "outcome: completed\nfiles_modified: [{path: x, change_type: move}]",
            "known are add, delete, modify, refactor",
        ),
        (
            "outcome: completed\ngotchas: [{issue: x, severity: huge}]",
            "`gotchas[0].severity` is 'huge'; known are high, low, medium",
        ),
        (
            "outcome: completed\npatterns_discovered: [{pattern: x, applies_to: [Not A Tag]}]",
            "'Not A Tag'; tags are lowercase",
        ),
        (
            "outcome: completed\npatterns_discovered: [{pattern: x, location: /home/me/x.py}]",
            "`patterns_discovered[0].location` is '/home/me/x.py'; give a path relative",
        ),
        (
            "outcome: completed\ndependencies_for_next: [{file: ~/x}]",
            "`dependencies_for_next[0].file` is '~/x'; give a path relative",
        ),
        ("outcome: completed\ngotchas: [{issue: ' '}]", "`gotchas[0].issue` is blank; say what it is"),
        ("outcome: completed\nopen_questions: [{question: ' '}]", "`open_questions[0].question` is blank"),
        (f"outcome: completed\ngotchas: [{{issue: x, id: {'i' * 201}}}]", "`gotchas[0].id` has more than 200"),
        (f"outcome: completed\nfiles_created: [{{path: {'p' * 481}}}]", "`files_created[0].path` has 481 characters"),
        (f"outcome: completed\nfiles_modified: [{{path: x, lines: '{'9' * 5_000}'}}]", "give a range such as 10-42"),
        ("outcome: blocked\nblockers: [{blocker: x, blocking_tasks: [' ']}]", "blocked needs `blockers` with"),
        ("outcome: completed\nsurprise: 1", "`surprise` is no field; known are outcome, files_created, "),
        ("- a\n- b", "the text has no handoff"),
        ("```yaml\n- a\n```", "it is a list of 1; give fields: outcome, "),
        ("```yaml\noutcome: completed\n", "the fence of the handoff is not closed"),
        ("outcome: 2025-13-45", "month must be in 1..12"),
        ("", "the text has no handoff"),
        ("outcome: [", "the handoff cannot be read"),
        ("just words", "the text has no handoff: fields in YAML or JSON"),
        ("Note: it works", "`foveate handoff ingest --lenient` takes in what its words say"),
    ],
)
def test_a_broken_rule_is_named_with_its_field(text: str, problem: str) -> None:
    with pytest.raises(HandoffError) as caught:
        parse_handoff(text)
    assert problem in str(caught.value)


def test_who_changed_files_names_files() -> None:
    """Which ones were changed only the caller knows; any file that is named will do."""
    with pytest.raises(
        HandoffError, match=r"`files_created` and `files_modified` are empty, .* 'src/a\.py'; name them"
    ):
        parse_handoff("outcome: completed", changed=["src/a.py"])
    assert parse_handoff("outcome: completed\nfiles_modified: [{path: src/b.py}]", changed=["src/a.py"]).files_modified
    assert parse_handoff("outcome: completed").outcome == "completed"


def test_tags_may_be_of_any_script() -> None:
    assert parse_handoff("outcome: completed\npatterns_discovered: [{pattern: x, applies_to: [数据库, rate-limit]}]")


def test_one_broken_rule_does_not_cost_the_rest() -> None:
    """What is right is kept item by item and field by field, and all that was wrong is named."""
    text = """
outcome: done
patterns_discovered:
  - {pattern: Amounts are cents, location: src/money.py, applies_to: [Not A Tag]}
  - {pattern: ' '}
gotchas: [The database rounds, {issue: It leaks, severity: huge, mitigation: close it}]
files_created: [{path: /etc/passwd}, {path: src/money.py, lines: some}]
blockers: none
"""
    found = read_handoff(text)
    handoff = found.handoff
    assert handoff.salvaged and handoff.outcome == "partial" and found.problems
    assert [(one.pattern, one.location, one.applies_to) for one in handoff.patterns_discovered] == [
        ("Amounts are cents", "src/money.py", ())
    ]
    assert [(one.issue, one.severity, one.mitigation) for one in handoff.gotchas] == [
        ("The database rounds", "medium", ""),
        ("It leaks", "medium", "close it"),
    ]
    assert [(one.path, one.lines) for one in handoff.files_created] == [("src/money.py", "all")]
    assert handoff.blockers == ()


def test_a_sentence_that_begins_like_a_handoff_is_free_text() -> None:
    found = read_handoff("outcome: it works. Watch out for the cache.").handoff
    assert found.salvaged and [one.issue for one in found.gotchas] == ["Watch out for the cache."]


def test_files_outside_the_project_are_not_salvaged() -> None:
    found = salvaged_handoff("See /etc/passwd, ../other/secret.txt and src/money.py.")
    assert [one.file for one in found.dependencies_for_next] == ["src/money.py"]


def test_a_handoff_that_cannot_be_read_keeps_its_outcome_and_what_can_be_read() -> None:
    """Item by item, field by field; what it says of its outcome counts, and its words beside."""
    text = """Watch out for the cache.

```yaml
outcome: blocked
gotchas:
  - {issue: The lock: is held, severity: high}
  - issue: 连接会泄漏
    mitigation: close it
blockers:
  - blocker: No access: to the database
    impact: "cannot test
    blocking_tasks: [T9, T8]
```
"""
    found = read_handoff(text)
    handoff = found.handoff
    assert handoff.salvaged and handoff.outcome == "blocked" and "cannot be read" in found.problems[0]
    assert [(one.issue, one.severity, one.mitigation) for one in handoff.gotchas] == [
        ("The lock: is held", "high", ""),
        ("连接会泄漏", "medium", "close it"),
        ("Watch out for the cache.", "medium", ""),
    ]
    assert [(one.blocker, one.blocking_tasks) for one in handoff.blockers] == [
        ("No access: to the database", ("T9", "T8"))
    ]


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ('{"outcome": "failed", "blockers": [{"blocker": "no ac', "failed"),
        ("```yaml\noutcome: Blocked\nblockers: [{blocker: x", "blocked"),
        ("```yaml\noutcome: stuck\n```", "partial"),
        ("```yaml\noutcome: [\n```\nAll is fine.", "partial"),
        ("```yaml\ngotchas: [{issue: a: b}]\n```", "partial"),
        ("```yaml\noutcome: completed\ngotchas: [{issue: a: b}]\n```", "completed"),
        ("```yaml\nother: [\n```\nAll is fine.", "completed"),
    ],
)
def test_a_broken_handoff_is_never_taken_for_completed_unless_it_says_so(text: str, outcome: str) -> None:
    assert read_handoff(text).handoff.outcome == outcome


def test_what_is_cut_off_keeps_what_was_there() -> None:
    found = read_handoff('{"outcome": "failed", "gotchas": [{"issue": "a, b"}], "blockers": [{"blocker": "no acc')
    assert [one.blocker for one in found.handoff.blockers] == ["no acc"]
    assert [one.issue for one in found.handoff.gotchas] == ["a, b"]


def test_faults_of_form_are_all_named_at_once() -> None:
    with pytest.raises(HandoffError) as caught:
        parse_handoff("outcome: done\ngotchas: [{severity: huge}, rounds]\nblockers: none\nid: 2025-01-31")
    assert list(caught.value.problems) == [
        "`outcome` is 'done'; known are blocked, completed, failed, partial",
        "`gotchas[0].issue` is missing; give a text",
        "`gotchas[0].severity` is 'huge'; known are high, low, medium",
        "`gotchas[1]` is 'rounds'; give fields: issue, mitigation, severity, discovered_in, id",
        "`blockers` is 'none'; give a list",
        f"`id` is no field; known are {', '.join(FIELDS)}",
    ]


@pytest.mark.parametrize(
    ("text", "name", "summary"),
    [
        ("做完了。注意缓存。", "做完了。", "做完了。注意缓存。"),
        ("- Made it.\n- Then more.\n\n```yaml\noutcome: completed\n```", "Made it.", "- Made it. - Then more."),
        ("# Done\n\n```python\nx = 1\n```\n\n## Handoff\nsee below", "Done", "Done"),
        ("Done.\noutcome: completed\ngotchas: []", "Done.", "Done."),
        ("outcome: completed", "", ""),
        ('{"outcome": "completed"}', "", ""),
        ("", "", ""),
    ],
)
def test_a_name_and_a_summary_come_from_the_words_beside_a_handoff(text: str, name: str, summary: str) -> None:
    assert told_in(text) == (name, summary)


def test_a_handoff_that_is_written_is_read_as_it_was() -> None:
    handoff = parse_handoff(WHOLE)
    assert parse_handoff(f"Some words.\n\n{written(handoff)}") == handoff
    assert told_in(f"Some words.\n\n{written(handoff)}").summary == "Some words."


def test_all_broken_rules_are_named_at_once() -> None:
    with pytest.raises(HandoffError) as caught:
        parse_handoff("outcome: partial\nfiles_created: [{path: /x, lines: z}]")
    assert len(caught.value.problems) == 4


def test_fields_that_are_left_empty_are_as_if_not_there() -> None:
    assert parse_handoff("outcome: completed\nblockers:\ngotchas:\n").blockers == ()


def test_free_text_is_salvaged_by_its_cues_and_marked() -> None:
    text = """Done mostly.
- Watch out for the cache in src/cache.py, it is stale.
- Always use the money helper.
- Next: write the migration.
- Is it unclear which currency is meant?
"""
    found = read_handoff(text)
    handoff = found.handoff
    assert handoff.salvaged and found.problems
    assert [one.issue for one in handoff.gotchas] == ["Watch out for the cache in src/cache.py, it is stale."]
    assert [one.pattern for one in handoff.patterns_discovered] == ["Always use the money helper."]
    assert [one.step for one in handoff.suggested_next_steps] == ["Next: write the migration."]
    assert [one.question for one in handoff.open_questions] == ["Is it unclear which currency is meant?"]
    assert [one.file for one in handoff.dependencies_for_next] == ["src/cache.py"]
    assert handoff.outcome == "partial"


def test_a_handoff_that_is_right_needs_no_salvage() -> None:
    found = read_handoff("outcome: completed")
    assert not found.handoff.salvaged and found.problems == ()


def test_faults_of_form_do_not_hide_the_rules_that_are_broken_beside_them() -> None:
    """Whoever mends a handoff is told everything the first time: form, paths, ranges, tags and conditions."""
    with pytest.raises(HandoffError) as caught:
        parse_handoff(
            "outcome: partial\nfiles_modified: [{path: /srv/a.py, change_type: move, lines: 9-3}]\n"
            "patterns_discovered: [{pattern: x, applies_to: [A B]}, 7]\nblockers: [{blocker: ' '}]"
        )
    assert list(caught.value.problems) == [
        "`files_modified[0].change_type` is 'move'; known are add, delete, modify, refactor",
        "`patterns_discovered[1]` is 7; give fields: pattern, location, applies_to, id",
        "`outcome` partial needs `suggested_next_steps`",
        "`files_modified[0].path` is '/srv/a.py'; give a path relative to the project",
        "`files_modified[0].lines` is '9-3'; give a range such as 10-42, or all",
        "`patterns_discovered[0].applies_to` has 'A B'; tags are lowercase with hyphens",
        "`blockers[0].blocker` is blank; say what it is, or leave the item out",
    ]


def test_names_that_frameworks_give_files_are_paths() -> None:
    given = "outcome: completed\nfiles_created: [{path: routes/$id.tsx}, {path: $lib/x.ts}, {path: 'src/a b.py'}]"
    assert len(parse_handoff(given).files_created) == 3


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("The endpoint is done.", "completed"),
        ("Added paging. All tests pass.", "completed"),
        ("It works now. Next: write the migration.", "completed"),
        ("Fixed the rounding of refunds; the cache is not touched.", "completed"),
        ("We did not finish. Nothing works yet.", "partial"),
        ("Done mostly.", "partial"),
        ("The parser is done, the printer isn't finished.", "partial"),
        ("It will be done by the next one.", "partial"),
        ("Is it done?", "partial"),
        ("I looked at the code.", "partial"),
        ("Done with the API; it could not be tested.", "partial"),
        ("The API is done. The page is blocked by T4.", "partial"),
        ("only half done; tests are red and blocked by the missing key", "partial"),
        ("I am waiting for access to the database.", "blocked"),
        ("It failed: could not connect", "failed"),
        ("I gave up after three tries.", "failed"),
    ],
)
def test_free_text_is_completed_only_if_it_says_so(text: str, outcome: str) -> None:
    """A task that is taken for completed is what others build upon; in doubt it is not."""
    assert read_handoff(text).handoff.outcome == outcome


def test_a_text_without_a_word_is_refused() -> None:
    with pytest.raises(HandoffError, match="the text is empty; say what was done"):
        read_handoff(" \n")


def test_of_two_outcomes_none_is_believed() -> None:
    assert read_handoff("outcome: failed\noutcome: completed").handoff.outcome == "partial"


def test_what_is_salvaged_says_what_its_outcome_lacks_and_not_how_to_be_salvaged() -> None:
    found = read_handoff("We did not finish.")
    assert found.problems == (
        "the text has no handoff: fields in YAML or JSON, `outcome` among them, alone or in a fence ```yaml",
        "taken for partial, though `outcome` partial needs `blockers`: what kept it from being completed",
        "taken for partial, though `outcome` partial needs `suggested_next_steps`",
    )


def test_what_is_salvaged_is_said_once() -> None:
    """A warning is neither the reason to read a file nor a part of the summary."""
    text = "Paging is done. Watch out for the cache in src/cache.py. The query is in src/orders.py."
    handoff = read_handoff(text).handoff
    assert [one.issue for one in handoff.gotchas] == ["Watch out for the cache in src/cache.py."]
    assert [(one.file, one.reason) for one in handoff.dependencies_for_next] == [
        ("src/cache.py", ""),
        ("src/orders.py", "The query is in src/orders.py."),
    ]
    assert told_in(text, handoff) == ("Paging is done.", "Paging is done. The query is in src/orders.py.")


def test_names_of_libraries_and_attributes_are_no_files() -> None:
    found = salvaged_handoff("Node.js reads user.name and config.domains from settings.toml, see orders.py.")
    assert [one.file for one in found.dependencies_for_next] == ["settings.toml", "orders.py"]


@given(st.text().filter(str.strip))
def test_whatever_an_agent_writes_something_comes_of_it(text: str) -> None:
    assert read_handoff(text).handoff.outcome in ("completed", "partial", "failed", "blocked")


def test_what_salvage_leaves_out_is_said() -> None:
    """A handoff with more broken items than are read says so in its open questions."""
    items = ",".join(f'{{"issue": "gotcha {number}"}}' for number in range(600))
    handoff = salvaged_handoff(f'{{"outcome": "partial", "gotchas": [{items}], "broken": }}')

    assert len(handoff.gotchas) == 500
    assert [one.question for one in handoff.open_questions] == [
        "Left out of this salvaged handoff: `gotchas` after the first 500. What did the original say?"
    ]
    files = salvaged_handoff(" ".join(f"see src/file{number}.py." for number in range(300)))
    assert len(files.dependencies_for_next) == 200
    assert "files after the first 200" in files.open_questions[-1].question


@pytest.mark.parametrize(
    "unit", ["outcome: completed\n", "gotchas:\n- issue: x\n", "- a: b\n", "outcome: {a: b\n", "outcome: &a [*a]\n"]
)
def test_a_long_handoff_takes_no_time(unit: str) -> None:
    """PyYAML would take seconds; what is longer than anybody writes is read by its parts."""
    start = process_time()
    assert salvaged_handoff(unit * (400_000 // len(unit))).salvaged
    assert process_time() - start < 3


def test_a_handoff_that_is_too_long_is_salvaged_and_says_so() -> None:
    """Nothing is lost of the first items; JSON, which is read at once, may be long."""
    items = "".join(f"- issue: Cache {number} is shared by all\n" for number in range(900))
    read = read_handoff(f"outcome: completed\ngotchas:\n{items}")
    assert "characters of YAML, more than 20,000; shorten it" in read.problems[0]
    assert read.handoff.outcome == "completed"
    assert len(read.handoff.gotchas) == 500
    whole = json.dumps({"outcome": "completed", "gotchas": [{"issue": f"Cache {number}"} for number in range(9_000)]})
    start = process_time()
    assert len(read_handoff(whole).handoff.gotchas) == 9_000
    assert process_time() - start < 3


def test_a_handoff_that_refers_to_itself_is_refused() -> None:
    """A few lines of references stand for more than any memory holds."""
    with pytest.raises(HandoffError, match=r"references such as `\*name` are not read"):
        parse_handoff("outcome: completed\ngotchas: &a\n- issue: x\nblockers: *a\n")


def test_what_is_cut_of_long_words_is_said() -> None:
    """Whoever reads the salvaged handoff asks for the rest."""
    salvaged = salvaged_handoff("It works now. " * 20_000)
    assert "all after 150,000 characters" in salvaged.open_questions[-1].question
