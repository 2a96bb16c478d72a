"""The transcript: the whole conversation as a page, and a file that follows a session."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from markdown_it import MarkdownIt
from tests.counting import counted_calls
from tests.dialogue import call, calls, exchange, lines, result, says, session_of, user, work
from tests.properties.play import Player, random_ops

from foveate import ConfigError, Session
from foveate.log.events import DiagnosticRecorded, Event, MessageAppended, Tagged
from foveate.log.messages import Media, Message, MessageMeta, Text, Thinking, ToolCall, ToolResult, text_message
from foveate.sample import coding_session
from foveate.session.transcript import Transcript, TranscriptFile, newest, transcript_text

MARKDOWN = MarkdownIt("commonmark").enable("table")


def page(*messages: object) -> str:
    return transcript_text(session_of(messages).events)


def headings(text: str) -> list[str]:
    """The headings of a page that are not in a quote."""
    tokens = MARKDOWN.parse(text)
    return [
        tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open" and not token.level
    ]


def tags(text: str) -> list[str]:
    """All that a browser would take for HTML."""
    found: list[str] = []
    for token in MARKDOWN.parse(text):
        inside = (token, *(token.children or ()))
        found += [one.content.strip() for one in inside if one.type in {"html_block", "html_inline"}]
    return found


# --- the page ---------------------------------------------------------------------------------------------------------


def test_a_small_dialogue() -> None:
    """Who spoke and when, what was said, and folded what was done in between."""
    session = Session(system="Be brief.", session_id="shop/42")
    session.append(user("Why does `test_ship` fail?\n\nPlease fix it."), time=1_741_683_607.5)
    session.append(calls(call("c1", "Read", file_path="src/ship.py"), text="Let me look."), time=1_741_683_610)
    session.append(result("c1", "import time\n\nsleep = time.sleep\n"), time=1_741_683_611)
    session.extend(exchange("c2", "Bash", "F\n=== 1 failed in 0.1s ===\n[exit code: 1]", command="pytest -q"))
    session.append(says("It sleeps. **Fixed.**"))
    session.compile()
    session.append(user("Thanks"))

    assert transcript_text(session.events) == snapshot("""\
# Session `shop/42`

Everything that was said, in order. What is quoted was said, word for word. A click unfolds what was done in between: a tool call (→), its result (←), thinking.

<details><summary>System prompt (1 line)</summary>

> Be brief.

</details>

## You · 2025-03-11 09:00:07 UTC

> Why does `test_ship` fail?
>
> Please fix it.

## Assistant · 2025-03-11 09:00:10 UTC

> Let me look.

<details><summary>→ Read src/ship.py</summary>

```
Read file_path: src/ship.py
```

</details>

<details><summary>← Read src/ship.py (ok, 3 lines)</summary>

```
import time

sleep = time.sleep
```

</details>

<details><summary>→ Bash pytest -q</summary>

```
Bash command: pytest -q
```

</details>

<details><summary>← Bash pytest -q (error, 3 lines): 1 failed in 0.1s</summary>

```
F
=== 1 failed in 0.1s ===
[exit code: 1]
```

</details>

> It sleeps. **Fixed.**

---

## You

> Thanks

""")


def test_what_is_not_conversation_shows_nothing() -> None:
    """Compiles, pins, tags, diagnostics and settled errors leave the page as it is."""
    session = session_of([*work(2), result("nowhere", "x"), user("now")], budget=2_000)
    before = transcript_text(session.events)
    session.compile()
    session.pin("m2")
    session.unpin("m2")
    session.resolve("m2")
    session.report_usage(900)
    session.record(Tagged(tags={"arm": "a"}), DiagnosticRecorded(code="x", phase="y", text="z"))
    session.reframe(tools=[])

    assert transcript_text(session.events) == before


def test_nothing_is_missing_after_reductions() -> None:
    """The page is made from the log, not from requests."""
    session = session_of([*work(8), user("now")], budget=2_000)
    session.compile()
    text = transcript_text(session.events)

    assert all(f"Request {turn}: look at module_{turn} please" in text for turn in range(8))
    assert all(line in text for line in lines(40, "file31").splitlines())


def test_an_empty_session_has_a_header() -> None:
    """And no events at all give nothing."""
    session = Session(session_id="a`b")

    assert transcript_text(session.events).startswith("# Session `` a`b ``\n\n")
    assert transcript_text([]) == ""


def test_a_turn_begins_with_a_rule() -> None:
    """Except the first one."""
    assert page(user("a"), says("b"), user("c")).count("\n---\n") == 1
    assert headings(page(user("a"), says("b"), user("c"), user("d"))) == [
        "Session `session`",
        "You",
        "Assistant",
        "You",
        "You",
    ]


def test_the_assistant_is_named_once_for_all_it_does_in_a_turn() -> None:
    """Its words and its tool traffic stand under one heading."""
    text = page(
        user("a"), *exchange("1", "Read", "x", file_path="a.py"), says("b"), *exchange("2", "Read", "y"), says("c")
    )

    assert headings(text) == ["Session `session`", "You", "Assistant"]


def test_times_that_cannot_be_shown_are_left_out() -> None:
    """Whatever a caller took for a time."""
    context = Session().context
    message = text_message("m1", "user", "a", MessageMeta())
    for moment in (float("nan"), float("inf"), 1e30, -1e30, 0.0):
        context = context.with_events([MessageAppended(message=message)], time=moment)

    assert re.findall("## You.*", transcript_text(context.events)) == ["## You"] * 4 + [
        "## You · 1970-01-01 00:00:00 UTC"
    ]


def test_a_system_prompt_is_folded_and_shown_again_only_when_it_changes() -> None:
    """Given as an option or as a message."""
    session = Session(system="Be brief.")
    session.append({"role": "system", "content": "Be kind."})
    session.reframe(tools=[{"type": "function", "function": {"name": "x"}}])
    session.reframe(system="Be long.")
    text = transcript_text(session.events)

    assert re.findall("<summary>(.*)</summary>", text) == [
        "System prompt (1 line)",
        "System message (1 line)",
        "System prompt (1 line)",
    ]
    assert "> Be brief." in text
    assert "> Be long." in text


@pytest.mark.parametrize(
    ("name", "arguments", "label"),
    [
        ("Read", {"file_path": "src/a.py", "limit": 9}, "Read src/a.py"),
        ("Bash", {"command": "cd x &&\n pytest", "timeout": 9}, "Bash cd x &amp;&amp; pytest"),
        ("shell", {"command": ["bash", "-lc", "ls"]}, "shell bash -lc ls"),
        ("Grep", {"pattern": "<b>", "path": "src"}, "Grep &lt;b&gt; in src"),
        ("Read", {"file_path": f"/home/a/{'x/' * 40}a.py"}, f"Read …{'/x' * 32}/a.py"),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: a.go\n"}, "apply_patch a.go"),
        ("book", {"seats": 2, "class": "economy"}, "book 2"),
        ("done", {}, "done"),
        ("odd", {"path": {"a": [1]}}, "odd {'a': [1]}"),
        ("Write", {"file_path": "x" * 500, "content": "y"}, f"Write {'x' * 93}…"),
    ],
)
def test_a_call_is_named_by_what_it_is_about(name: str, arguments: dict[str, object], label: str) -> None:
    """So that folded traffic reads like a list of what was done."""
    text = page(user("a"), calls(call("c", name, **arguments)), result("c", "done"))

    assert re.findall("<summary>(.*)</summary>", text) == [f"→ {label}", f"← {label} (ok, 1 line)"]


@pytest.mark.parametrize(
    "arguments", ["", "no JSON", "7", '"x"', "[1]", "null", '{"a": "\\ud800"}', "[" * 5_000, '{"path": 7']
)
def test_any_arguments_can_be_shown(arguments: str) -> None:
    """As they are, if they are no JSON."""
    message = Message(id="a", role="assistant", parts=(ToolCall(id="c", name="x", arguments=arguments),))

    assert "<summary>→ x" in page(user("a"), message)


def test_a_failure_is_seen_without_unfolding_it() -> None:
    """Its outcome and the line that says what went wrong."""
    text = page(user("a"), *exchange("c", "Bash", "trying\nls: cannot access 'x'\n[exit code: 2]", command="ls x"))

    assert "<summary>← Bash ls x (error, 3 lines): ls: cannot access 'x'</summary>" in text


def test_a_result_without_its_call_is_shown() -> None:
    """Real logs have them."""
    assert "<summary>← a call that is not in the log (ok, 1 line)</summary>" in page(user("a"), result("nowhere", "x"))


def test_a_very_long_output_is_cut_in_the_middle() -> None:
    """The note says which message of the log has it all."""
    output = "".join(f"line {number} of many\n" for number in range(2_000))
    text = page(user("a"), *exchange("c", "Bash", output, command="x"))
    note = re.search(r"\n\[… ([\d,]+) characters left out here; message m3 of the log has them …\]\n", text)

    assert note is not None
    assert len(text) < 11_000
    assert "line 0 of many\n" in text
    assert "line 1999 of many\n" in text
    shown = text[text.index("line 0") : text.index("1999 of many\n") + 13].replace(note.group(), "")
    assert len(shown) + int(note.group(1).replace(",", "")) in range(len(output) - 3, len(output) + 1)


def test_one_giant_line_is_cut_too() -> None:
    """Where it has to be."""
    assert len(page(user("a"), *exchange("c", "Bash", "x" * 500_000, command="x"))) < 11_000


def test_images_are_named_not_shown() -> None:
    """By address or file name; one that is given as its bytes by kind and size."""
    blocks = [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "https://x.org/a`b.png"}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'A' * 16_000}"}},
        {"type": "file", "file": {"filename": "plan.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
    ]
    text = page(user(blocks), *exchange("c", "Screenshot", ""), result("c", blocks[1:2]))

    assert "*image:* `` https://x.org/a`b.png ``\n" in text
    assert "*image:* `image/png, 12 KB`\n" in text
    assert "*file:* `plan.pdf`\n" in text
    assert len(text) < 1_500
    assert "<summary>← Screenshot (ok, empty)</summary>\n\n*image:*" in text


def test_thinking_is_folded() -> None:
    """Before the words it led to."""
    message = Message(
        id="a", role="assistant", parts=(Thinking(text="Hm.\nYes."), Thinking(text=" "), Text(text="Yes."))
    )

    assert "<details><summary>Thinking (2 lines)</summary>\n\n> Hm.\n> Yes.\n\n</details>\n\n> Yes.\n\n" in page(
        message
    )


def test_chinese_is_shown_as_it_is() -> None:
    """In text, calls and results."""
    text = page(
        user("库存不足时怎么办？"), *exchange("c", "Read", "第一行\n第二行", file_path="文档/仓库.md"), says("# 已修复")
    )

    assert "> 库存不足时怎么办？" in text
    assert "← Read 文档/仓库.md (ok, 2 lines)" in text
    assert "第一行\n第二行" in text
    assert headings(text) == ["Session `session`", "You", "Assistant"]


# --- nothing breaks the page ------------------------------------------------------------------------------------------

CODE = "Use `<details>` or:\n\n```html\n<details>\n</details>\n```\n\n~~~\n<b>\n~~~\n\nDone: ``a ` <i>``."


def test_code_stays_as_it_was_said() -> None:
    """Where it is code for certain, no sign is escaped."""
    quote = page(user(CODE)).split("## You\n\n")[1].strip()

    assert re.sub("^> ?", "", quote, flags=re.MULTILINE) == CODE


NASTY = [
    "```", "````", "~~~", "```python", "~~~ `", "  ```", "   ~~~", "- ```", "1. ```", "> ```", "    ```", "```a`b", "`", "``", "\\`", "\\",
    "</details>", "<details>", "<details open>", "<summary>", "<!--", "-->", "<script>", "</script>", "<style>", "<div", "<div>", "</div>",
    "<![CDATA[", "<?php", "<a href='`'>", "<https://x.org>", "<", "\\<b>", "\\\\<b>", "&lt;b&gt;", "`<b>`", "|`<b>|`|", "|-|-|", "|",
    "# You", "## You", "#", "---", "===", "***", "* * *", "> quoted", ">", "- item", "1. one", "[a]: <b> 'c", "[a]: /b", "[^1]: ```", "![", "](",
    "\n", "\n\n", "\r", "\r\n", "\t", "    ", "  ", "\u2028", "\x0b", "\x0c", "\x00", "\ud800", "文", "\U0001f389", "word", "---\n", "\n# You\n",
]  # fmt: skip
nasty = st.lists(st.sampled_from(NASTY) | st.text(max_size=6), max_size=14).map("".join)


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(nasty, nasty, nasty)
@example("```\ncode", "# You", "</details>")
@example("   ```\ncode\n```\n<div>", "- a\n  ```\n<div>", "````\n```\n")
@example("`a\nb` <b> `c`", "| a |\n|-|\n| `a | <b>` |", "`" * 9)
@example("a\r# You\r<!--", "\\\\<script>", "\r```\r")
@example("\n```\n\t```\n<b>", "\n```|a|\n|-|\n<b>", "")
@example("`\n\x0b\n` `<b>`", "\n```\n```\xa0\n```\n<b>", "")
@example("> ```\n<b>", "[^1]: ```\n<b>\n```\n<i>", "</details></summary><!--")
def test_no_text_breaks_the_page(first: str, second: str, output: str) -> None:
    """Headings, folds and quotes are those of the transcript, whatever anybody says."""
    message = Message(id="a", role="user", parts=(Text(text=f"x{first}"),))
    answer = Message(
        id="b",
        role="assistant",
        parts=(
            Thinking(text=f"x{second}"),
            Text(text=f"x{second}"),
            ToolCall(id="c", name=f"x{first}", arguments=output),
        ),
    )
    answered = Message(id="d", role="tool", parts=(ToolResult(call_id="c", text=f"x{output}"),))
    session = Session(system=f"x{second}")
    session.extend([message, answer, answered])
    text = transcript_text(session.events)

    assert headings(text) == ["Session `session`", "You", "Assistant"]
    found = tags(text)
    assert [tag for tag in found if not tag.startswith("<details><summary>")] == ["</details>"] * 4
    assert len(found) == 8
    top = [token.type for token in MARKDOWN.parse(text) if token.level == 0 and token.nesting == 1]
    assert [kind for kind in top if kind not in {"heading_open", "blockquote_open"}] == ["paragraph_open"]
    assert top.count("blockquote_open") == 4
    assert folds(MARKDOWN.render(text)) == 4


def folds(html: str) -> int:
    """How many folds a browser would show; each of them is closed."""

    class Folds(HTMLParser):
        depth = count = 0

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.depth += tag == "details"
            self.count += tag == "details"
            assert self.depth <= 1

        def handle_endtag(self, tag: str) -> None:
            self.depth -= tag == "details"

    parser = Folds()
    parser.feed(html)
    parser.close()
    assert parser.depth == 0
    return parser.count


@settings(max_examples=200, deadline=None)
@given(nasty)
def test_what_was_said_can_be_read_back(said: str) -> None:
    """A quote is the text itself, but for its line ends and the backslash before what looks like a tag."""
    said = f"x{said}".replace("\\<", "").replace("\x00", "").replace("\ud800", "")
    quote = page(user(said)).split("## You\n\n", 1)[1].removesuffix("\n\n")
    read = [line.removeprefix(">").removeprefix(" ").replace("\\<", "<") for line in quote.split("\n")]

    assert read == re.split(r"\r\n|\r|\n", said)


def test_a_session_of_an_agent_is_a_sound_page() -> None:
    """A made-up coding session of 429 messages."""
    messages = coding_session()
    text = page(*messages)

    assert headings(text).count("You") == sum(message["role"] == "user" for message in messages)
    assert folds(MARKDOWN.render(text)) == 1 + 2 * sum(message["role"] == "tool" for message in messages)


# --- append only ------------------------------------------------------------------------------------------------------


def played(seed: int, count: int = 40) -> Session:
    rng = random.Random(seed)
    player = Player(Session(budget=8_000, system="Be brief."))
    for op in random_ops(rng, count):
        player.apply(op)
    return player.session


@pytest.mark.parametrize("seed", range(5))
def test_a_page_only_grows(seed: int) -> None:
    """The text of the first events is the beginning of the text of all."""
    events = played(seed).events
    whole = transcript_text(events)

    assert all(whole.startswith(transcript_text(events[:length])) for length in range(len(events)))


@pytest.mark.parametrize("seed", range(5))
def test_written_live_or_rebuilt_it_is_the_same(seed: int, tmp_path: Path) -> None:
    """Byte for byte, at every step."""
    player = Player(Session(budget=8_000, system="Be brief."))
    path = tmp_path / "new" / "t.md"
    TranscriptFile(path).attach(player.session)
    for op in random_ops(random.Random(seed), 40):
        player.apply(op)
        assert path.read_bytes() == transcript_text(player.session.events).encode()
    assert path.read_text(encoding="utf-8") == transcript_text(Session.from_events(player.session.events).events)


# --- the file ---------------------------------------------------------------------------------------------------------


def test_a_file_is_continued_where_it_ends(tmp_path: Path) -> None:
    """Another process, another day: only what is missing is appended."""
    path = tmp_path / "t.md"
    first = session_of(work(2))
    TranscriptFile(path).attach(first)
    written = path.read_bytes()
    session = Session.from_events(first.events)
    session.extend(work(1))
    TranscriptFile(str(path)).attach(session)
    session.append(user("more"))

    assert path.read_bytes().startswith(written)
    assert path.read_text(encoding="utf-8") == transcript_text(session.events)


def test_a_file_that_ends_in_the_middle_is_continued(tmp_path: Path) -> None:
    """After a crash, even inside a character."""
    session = session_of([user("库存")])
    whole = transcript_text(session.events).encode()
    path = tmp_path / "t.md"
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        TranscriptFile(path).attach(session)
        assert path.read_bytes() == whole


@pytest.mark.parametrize("other", ["notes of mine\n", "# Session `other`\n", "longer"])
def test_another_file_is_refused_and_left_as_it_is(other: str, tmp_path: Path) -> None:
    """Nobody's notes are overwritten."""
    session = session_of([user("a")])
    path = tmp_path / "notes.md"
    path.write_text(transcript_text(session.events) + "mine" if other == "longer" else other, encoding="utf-8")
    before = path.read_bytes()

    with pytest.raises(ConfigError, match=re.escape(str(path))):
        TranscriptFile(path).attach(session)
    session.append(user("b"))
    assert path.read_bytes() == before
    assert diagnostics(session) == []


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """Before the session goes on without a transcript."""
    (tmp_path / "file").write_text("x", encoding="utf-8")

    with pytest.raises(ConfigError, match=r"cannot be written"):
        TranscriptFile(tmp_path / "file" / "t.md").attach(Session())
    with pytest.raises(ConfigError, match=r"cannot be written"):
        TranscriptFile(tmp_path).attach(Session())


def diagnostics(session: Session) -> list[str]:
    return [event.body.text for event in session.events if isinstance(event.body, DiagnosticRecorded)]


@pytest.mark.parametrize("restored", [True, False])
def test_a_folder_that_goes_away_costs_the_session_nothing(restored: bool, tmp_path: Path) -> None:
    """It is said once in the log; when the folder is back, the file is brought up to date."""
    folder, away = tmp_path / "folder", tmp_path / "away"
    session = session_of([user("a")])
    TranscriptFile(folder / "t.md").attach(session)
    folder.rename(away)
    folder.write_text("in the way", encoding="utf-8")
    session.extend([says("b"), user("c"), says("d")])

    assert [message.text for message in session.messages] == ["a", "b", "c", "d"]
    assert len(diagnostics(session)) == 1
    assert str(folder / "t.md") in diagnostics(session)[0]

    folder.unlink()
    if restored:
        away.rename(folder)
    session.append(user("e"))

    assert (folder / "t.md").read_text(encoding="utf-8") == transcript_text(session.events)
    assert len(diagnostics(session)) == 1


def test_what_fails_again_is_said_again(tmp_path: Path) -> None:
    """Once for each time the trouble begins."""
    path = tmp_path / "folder" / "t.md"
    session = Session()
    TranscriptFile(path).attach(session)
    for count in (1, 2):
        shutil.rmtree(path.parent)
        path.parent.write_text("in the way", encoding="utf-8")
        session.extend([user("a"), says("b")])
        assert len(diagnostics(session)) == count
        path.parent.unlink()
        session.append(user("c"))
        assert path.read_text(encoding="utf-8") == transcript_text(session.events)


def test_a_removed_file_is_written_again(tmp_path: Path) -> None:
    """All of it, with the next message."""
    path = tmp_path / "t.md"
    session = session_of(work(1))
    TranscriptFile(path).attach(session)
    path.unlink()
    session.append(user("b"))

    assert path.read_text(encoding="utf-8") == transcript_text(session.events)


def test_a_file_that_somebody_else_wrote_to_is_left_to_them(tmp_path: Path) -> None:
    """What they wrote is not overwritten; the transcript goes on beside it, whole, and the log says so once."""
    path = tmp_path / "t.md"
    session = session_of([user("a")])
    TranscriptFile(path).attach(session)
    path.write_text(path.read_text(encoding="utf-8") + "my notes", encoding="utf-8")
    before = path.read_bytes()
    session.extend([says("b"), user("c")])

    assert path.read_bytes() == before
    assert len(diagnostics(session)) == 1
    beside = tmp_path / "t-2.md"
    assert diagnostics(session) == [
        f"somebody else wrote in it, and it was left as it is; the transcript goes on in {str(beside)!r}"
    ]
    assert beside.read_text(encoding="utf-8") == transcript_text(session.events)
    assert newest(path, session.id) == beside


def test_a_note_in_a_transcript_does_not_end_it_for_those_who_open_the_session_later(tmp_path: Path) -> None:
    """They go on beside it, again and again; a file that is another session's is passed over, and nothing is lost."""
    path, other, third = (tmp_path / name for name in ("t.md", "t-2.md", "t-3.md"))
    options: dict[str, Any] = {"transcript": path, "budget": 4_000}
    with Session.open(tmp_path / "s.db", "t", **options) as session:
        session.append(user("a"))
    noted = path.read_text(encoding="utf-8") + "my notes"
    path.write_text(noted, encoding="utf-8")
    other.write_text("# Session `t-2`\n\nAnother one.", encoding="utf-8")
    for text in ("b", "c"):
        with Session.open(tmp_path / "s.db", "t", **options) as session:
            session.append(user(text))
            assert third.read_text(encoding="utf-8") == transcript_text(session.events)
    assert len(diagnostics(session)) == 1
    assert path.read_text(encoding="utf-8") == noted
    assert newest(path, "t") == third
    assert newest(path, "nobody") == path


def test_two_that_follow_one_session_write_one_file(tmp_path: Path) -> None:
    """As two processes do that share a session: every byte has one place."""
    path = tmp_path / "t.md"
    session = session_of([user("a")])
    for _ in range(2):
        TranscriptFile(path).attach(session)
    session.extend(work(2))

    assert path.read_text(encoding="utf-8") == transcript_text(session.events)
    assert diagnostics(session) == []


def test_a_closed_file_follows_no_more(tmp_path: Path) -> None:
    """It is up to date when it is closed, and stays as it is; closing twice is fine."""
    path = tmp_path / "t.md"
    session = session_of([user("a")])
    file = TranscriptFile(path)
    file.attach(session)
    path.unlink()
    file.close()
    file.close()
    before = path.read_text(encoding="utf-8")
    session.append(user("b"))

    assert before == transcript_text(session.events[:-3])
    assert path.read_text(encoding="utf-8") == before


def test_a_file_follows_one_session(tmp_path: Path) -> None:
    """Until it is closed; then it can be attached again, but not to what is another session."""
    file = TranscriptFile(tmp_path / "t.md")
    session = session_of([user("a")])
    file.attach(session)
    with pytest.raises(ConfigError, match="follows a session already"):
        file.attach(Session())
    file.close()
    session.append(user("b"))
    file.attach(session)
    file.close()

    with pytest.raises(ConfigError, match="is not the transcript of this session"):
        file.attach(session_of([user("a"), user("c")]))
    assert file.path.read_text(encoding="utf-8") == transcript_text(session.events)


def test_a_disk_that_is_full_leaves_a_beginning(tmp_path: Path) -> None:
    """Which is continued as soon as there is room."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "t.md"
    session = session_of([user("a")])
    TranscriptFile(path).attach(session)
    size = path.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, hard))
    try:
        session.extend([says("b" * 100), user("c")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.stat().st_size == size + 10
    assert len(diagnostics(session)) == 1
    session.append(says("d"))

    assert path.read_text(encoding="utf-8") == transcript_text(session.events)


# --- long sessions ----------------------------------------------------------------------------------------------------


def said(count: int) -> Iterator[Event]:
    """A long log, event by event."""
    for number in range(count):
        role = ("user", "assistant", "assistant", "tool")[number % 4]
        part = {
            0: Text(text=f"Request {number}: `look` at <module> {number}"),
            1: ToolCall(id=f"c{number}", name="Read", arguments='{"file_path": "src/a.py"}'),
            2: Text(text="It is fine.\n\n- really"),
            3: ToolResult(call_id=f"c{number - 2}", text=lines(20)),
        }[number % 4]
        message = Message(id=f"m{number + 1}", role=role, parts=(part,))  # type: ignore[arg-type]
        yield Event(session="long", seq=number, body=MessageAppended(message=message))


def test_ten_thousand_messages_take_time_in_proportion() -> None:
    """And the page keeps nothing of them but the names of the newest calls."""
    taken: list[int] = []
    for count in (2_500, 10_000):
        transcript = Transcript()
        with counted_calls() as calls:
            length = sum(len(transcript.chunk(event)) for event in said(count))
        taken.append(calls.count)
        assert length > count * 200
        assert len(transcript._calls) <= 1_000

    assert taken[1] < 5 * taken[0]


def test_a_long_session_is_followed_message_by_message(tmp_path: Path) -> None:
    """Each append writes its own chunk, however long the file is."""
    path = tmp_path / "t.md"
    session = Session()
    TranscriptFile(path).attach(session)
    taken: list[int] = []
    for _ in range(4):
        with counted_calls() as calls:
            for message in work(50, reads=4, size=4):
                session.append(message)
        taken.append(calls.count)

    assert taken[-1] < 2 * taken[0]
    assert path.read_text(encoding="utf-8") == transcript_text(session.events)


def test_media_of_a_kind_of_its_own() -> None:
    """A message made by hand may hold anything."""
    message = Message(id="a", role="user", parts=(Media(kind="audio", reference="x\n`y`", extra={"audio": 7}),))

    assert "*audio:* `` x `y` ``" in page(message)
