"""Secrets are found in the forms and notations that agents meet, in linear time, and rarely where there are none."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from foveate.log.messages import MessageMeta, Thinking, ToolCall, ToolResult, text_message
from foveate.privacy import Redactor, find_secrets, redact
from foveate.privacy.redaction import mark
from tests.privacy.planted import KINDS, planted

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
HOSTILE = (
    "key",
    "passwordkey_",
    "token=",
    "secret: ",
    "eyJ",
    "eyJabcdefghij.",
    "sk-",
    "sk-ant-",
    "AKIA",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "://a:",
    "://",
    "bearer ",
    "cookie:a=",
    "password is ",
    "mysql -p ",
    "login a password ",
    "token" + " " * 29,
    "token='",
    'key":"',
    "a1B2" * 100 + " token ",
    "token = " + "a1B2" * 127,
    "SG." + "a" * 32 + ".",
    "xoxb-",
    "8Q~",
    ".atlasv1.",
    "Private-Lines: 1\n",
    "\\",
    "İkey=",
)


def test_of_many_planted_secrets_nearly_none_is_missed() -> None:
    """2,500 made-up secrets of 25 kinds: those that are left are letters alone, which no rule tells from a word."""
    missed = [one for one in planted(2_500) if one.secret in redact(one.text).text]
    assert len(KINDS) == 25
    assert Counter(one.kind for one in missed) == snapshot(Counter({"option of a command": 3}))
    assert all(one.secret.isalpha() for one in missed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"export GITHUB_TOKEN={KEY}", "export GITHUB_TOKEN=[redacted: github-token]"),
        ("postgresql://app:s3cr3t-pw@db/main", "postgresql://app:[redacted: password]@db/main"),
        ("Authorization: Bearer abcdefghij0123456789", "Authorization: Bearer [redacted: bearer-token]"),
        ('{"password": "hunter22"}', '{"password": "[redacted: password]"}'),
        ("the password is hunter2", "the password is [redacted: password]"),
        ("-----BEGIN PRIVATE KEY-----\n" + "A1b2" * 16 + "\n-----END PRIVATE KEY-----",
         "-----BEGIN PRIVATE KEY-----[redacted: private-key]-----END PRIVATE KEY-----"),
    ],
)  # fmt: skip
def test_a_secret_is_shown_as_what_it_was(text: str, expected: str) -> None:
    """The mark names the kind, and what stands around a secret stays."""
    assert redact(text).text == expected


@pytest.mark.parametrize(
    "code",
    [
        "token = next(tokens)",
        "password = request.form['password']",
        "api_key=os.environ['OPENAI_API_KEY']",
        "def login(username: str, password: str) -> Token:",
        "max_tokens: 8192, total_tokens=123456",
        'token: "string"',
        "API_KEY=$OPENAI_API_KEY",
        "API_KEY=<your-api-key>",
        "password: ${{ secrets.DB_PASSWORD }}",
        "https://user:$PASSWORD@example.org",
        '<input type="password" name="password2" placeholder="Password">',
        'SECRET_NAME = "app-secret-name"',
        "cache_key = f'user:{user_id}:v2'",
        "primary_key=True, sort_key=item.created_at",
        "--- PASS: TestTruncateAtUUID/truncate_at_u1 (0.00s)",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ".sk-folding-cube-container-large { color: red }",
        "passwords must have 8 characters",
        "id_token = jwt.encode(claims, key, algorithm='HS256')",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ],
)
def test_code_about_secrets_is_none(code: str) -> None:
    """Names of secrets stand in code all day; what is assigned to them there is left alone."""
    assert redact(code).text == code


def test_few_things_in_this_repository_are_taken_for_secrets() -> None:
    """The sources of the library hold no secret; what is taken for one there is told in one line."""
    folder = Path(__file__).parents[2] / "src" / "foveate"
    texts = {path: path.read_text() for path in folder.rglob("*.py") if path.parent.name != "privacy"}
    found = [text[one.start : one.end] for text in texts.values() for one in find_secrets(text)]
    assert sum(map(len, texts.values())) > 1_000_000
    assert found == snapshot(["anthropic:claude-sonnet-4-5", "openai:gpt-5.1", "google:gemini-2.5-flash"])


@given(st.text() | st.lists(st.sampled_from([*HOSTILE, KEY, "=", "'", "\n", "x9"]), max_size=30).map("".join))
def test_marks_are_not_redacted_again(text: str) -> None:
    """Redacting what was redacted changes nothing, and the spans are those of the text as it was."""
    found = redact(text)
    assert redact(found.text).text == found.text
    assert all(0 <= one.start < one.end <= len(text) for one in found.spans)


@pytest.mark.parametrize("hostile", HOSTILE, ids=repr)
def test_a_hostile_text_costs_no_more_than_a_long_one(hostile: str) -> None:
    """What is made to mislead takes a second or two; a rule that looked at each pair of places would take many minutes."""
    text = (hostile * (500_000 // len(hostile) + 1))[:500_000]
    began = time.process_time()
    find_secrets(text)
    assert time.process_time() - began < 60


def test_messages_are_redacted_in_all_their_parts() -> None:
    """Words, arguments by their names, outputs, names of files, and fields that only a provider understands."""
    arguments = json.dumps({"path": f"/tmp/{KEY}.txt", "password": "correct-horse-9", f"{KEY}": 1, "lines": [1, 2]})
    said = text_message("m1", "assistant", f"writing {KEY}", MessageMeta(reads=(f"/tmp/{KEY}.txt",)))
    call = ToolCall(id="c1", name="write", arguments=arguments)
    message = msgspec.structs.replace(said, parts=(*said.parts, call), extra={"note": KEY})
    redactor = Redactor()
    redacted = redactor.message(message)
    text = msgspec.json.encode(redacted).decode()
    assert KEY not in text and "correct-horse-9" not in text
    assert json.loads(redacted.calls[0].arguments)["password"] == mark("password")
    assert redactor.counts["github-token"] >= 4 and redactor.counts["password"] == 1


def test_a_message_without_secrets_stays_the_same_object() -> None:
    """What has no secret is not written anew: its bytes stay those that came in."""
    message = text_message("m1", "tool", "3 passed", MessageMeta())
    result = msgspec.structs.replace(message, parts=(ToolResult(call_id="c1", text="3 passed in 0.1s"),))
    assert Redactor().message(message) is message
    assert Redactor().message(result) is result


def test_reasoning_with_a_secret_is_left_out_whole() -> None:
    """A signature binds reasoning to its text, so that it cannot be changed in part."""
    message = text_message("m1", "assistant", "done", MessageMeta())
    thought = Thinking(text=f"the key is {KEY}", signature="abc")
    redacted = Redactor().message(msgspec.structs.replace(message, parts=(thought, *message.parts)))
    assert [type(part) for part in redacted.parts] == [type(message.parts[0])]


def test_values_of_fields_are_known_by_their_names() -> None:
    """JSON has the name of a secret in one place and its value in another; media and signatures are not read."""
    item = {
        "type": "tool_use",
        "input": {"env": {"DB_PASSWORD": "Tr0ub4dor", "DEBUG": "1"}},
        "signature": KEY,
        "source": {"type": "base64", "media_type": "image/png", "data": KEY},
    }
    redactor = Redactor()
    assert redactor.value(item) == {**item, "input": {"env": {"DB_PASSWORD": "[redacted: password]", "DEBUG": "1"}}}
    assert redactor.counts == {"password": 1}
