"""Mending: whatever the log has, the request has whole pairs, unique ids and nothing empty."""

from inline_snapshot import snapshot
from tests.dialogue import call, calls, exchange, result, says, session_of, user

from foveate.compile.mending import NO_RESULT
from foveate.log.messages import Message, Text, Thinking, ToolCall


def sent(*messages) -> list[dict]:
    return session_of(messages).compile().to("openai")


def fates(*messages) -> dict[str, str]:
    return {record.id: record.fate for record in session_of(messages).compile().explain().fates}


def test_a_sound_log_passes_unchanged() -> None:
    """What is well formed goes out as it came in."""
    log = [
        user("hi"),
        calls(call("a", "Read", file_path="x"), call("b", "Read", file_path="y")),
        result("a", "1"),
        result("b", "2"),
        says("ok"),
    ]

    assert sent(*log) == log
    assert set(fates(*log).values()) == {"verbatim"}


def test_a_call_never_answered_gets_a_stand_in() -> None:
    """Providers refuse a call without a result."""
    assert sent(user("go"), calls(call("a", "Bash", command="make")), user("and?")) == snapshot(
        [
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "make"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "[no result was recorded for this call]"},
            {"role": "user", "content": "and?"},
        ]
    )


def test_a_result_without_its_call_becomes_a_note() -> None:
    """Its words stay, its place stays, and explain says so."""
    log = [user("go"), result("ghost", "who asked?"), says("me")]

    assert sent(*log) == [user("go"), user("[tool result without its call, ghost]\n>who asked?"), says("me")]
    assert fates(*log)["m2"] == "repaired"


def test_results_out_of_order_stand_with_their_batch() -> None:
    """In any order within the batch, and behind their call if something came between."""
    batch = calls(call("a", "Read", file_path="x"), call("b", "Read", file_path="y"))

    assert sent(user("go"), batch, result("b", "2"), result("a", "1")) == [
        user("go"),
        batch,
        result("b", "2"),
        result("a", "1"),
    ]
    assert sent(user("go"), batch, result("a", "1"), user("hurry"), result("b", "2")) == [
        user("go"), batch, result("a", "1"), result("b", "2"), user("hurry"),
    ]  # fmt: skip


def test_an_id_used_again_in_a_later_message_is_renamed_with_its_result() -> None:
    """Each result stays with its own call."""
    messages = sent(
        user("go"),
        *exchange("a", "Read", "first", file_path="x"),
        *exchange("a", "Read", "second", file_path="y"),
        *exchange("a", "Read", "third", file_path="z"),
    )

    assert [
        (m["tool_calls"][0]["id"], r["tool_call_id"], r["content"])
        for m, r in zip(messages[1::2], messages[2::2], strict=True)
    ] == [
        ("a", "a", "first"),
        ("a_2", "a_2", "second"),
        ("a_3", "a_3", "third"),
    ]


def test_a_fresh_id_never_meets_one_in_use() -> None:
    """Not even if the log has the name we would have chosen."""
    messages = sent(
        user("go"),
        *exchange("a", "Read", "1", file_path="x"),
        *exchange("a_2", "Read", "2", file_path="y"),
        *exchange("a", "Read", "3", file_path="z"),
    )
    ids = [one["id"] for message in messages for one in message.get("tool_calls", ())]

    assert len(set(ids)) == 3


def test_an_id_used_twice_in_one_message_keeps_both_results() -> None:
    """The first result answers the first call, the second the second."""
    messages = sent(
        user("go"),
        calls(call("a", "Read", file_path="x"), call("a", "Read", file_path="y")),
        result("a", "content of x"),
        result("a", "content of y"),
    )
    x, y = (one["id"] for one in messages[1]["tool_calls"])

    assert messages[2:] == [result(x, "content of x"), result(y, "content of y")]


def test_an_id_used_twice_in_one_message_is_still_a_valid_request() -> None:
    """Ids are unique and every call has one result, and no word is lost."""
    messages = sent(
        user("go"),
        calls(call("a", "Read", file_path="x"), call("a", "Read", file_path="y")),
        result("a", "content of x"),
        result("a", "content of y"),
    )
    ids = [one["id"] for one in messages[1]["tool_calls"]]

    assert len(set(ids)) == 2
    assert sorted(m["tool_call_id"] for m in messages if m["role"] == "tool") == sorted(ids)
    assert "content of x" in str(messages)
    assert "content of y" in str(messages)


def test_empty_messages_are_left_out_and_said() -> None:
    """Providers refuse them; the log keeps them."""
    log = [user("go"), says(""), {"role": "assistant", "content": None}, user("  \n"), user([]), says("done")]
    session = session_of(log)

    assert session.compile().to("openai") == [user("go"), says("done")]
    assert len(session.messages) == 6
    assert session.compile().why("m2") == snapshot("m2 is dropped by repair: empty content (4 → 0 tokens)")


def test_reasoning_alone_is_joined_to_what_it_led_to() -> None:
    """A message of nothing but thinking stands with what the assistant said next; the log stays as it was."""
    first, second = Thinking(text="hm", signature="sig"), Thinking(text="so", signature="gis")
    spoken = (second, Text(text="hi"), ToolCall(id="a", name="f"))
    session = session_of(
        [
            user("go"),
            Message(id="", role="assistant", parts=(first,)),
            Message(id="", role="assistant", parts=spoken),
            result("a", "ok"),
        ]
    )
    view = session.compile()

    assert view.messages[1].parts == (first, *spoken)
    assert session.messages[1].parts == (first,)
    assert view.explain().counts() == {"verbatim": 2, "repaired": 1, "dropped": 1}
    assert "joined to m3" in view.why("m2")


def test_reasoning_that_led_to_nothing_is_left_out() -> None:
    """Providers refuse a message of thinking alone, at the end and before what another says."""
    thought = Message(id="", role="assistant", parts=(Thinking(text="hm", signature="sig"),))
    session = session_of([user("go"), thought])
    assert [message.role for message in session.preview().messages] == ["user"]
    session.append(user("and?"))

    assert [message.text for message in session.compile().messages] == ["go", "and?"]
    assert session.compile().tokens == session_of([user("go"), user("and?")]).compile().tokens


def test_reasoning_joins_also_after_its_prefix_was_sent() -> None:
    """A request between the reasoning and the words has neither; the next one has the words."""
    thought = Thinking(text="hm", signature="sig")
    session = session_of([user("go"), Message(id="", role="assistant", parts=(thought,))])
    session.preview()
    session.append(Message(id="", role="assistant", parts=(Text(text="hi"),)))

    assert session.compile().messages[1].parts == (thought, Text(text="hi"))


def test_an_empty_result_still_answers_its_call() -> None:
    """A command without output is no defect."""
    assert sent(user("go"), *exchange("a", "Bash", "", command="true"))[-1] == result("a", "")


def test_a_result_after_the_call_was_sent_leaves_the_prefix_alone() -> None:
    """What the provider has cached stays byte-identical; the late result is a note behind it."""
    session = session_of([user("go"), calls(call("slow", "Bash", command="make"))])
    first = session.compile().to("openai")
    session.extend([user("still there?"), result("slow", "built")])
    second = session.compile().to("openai")

    assert second[: len(first)] == first
    assert first[-1] == result("slow", NO_RESULT)
    assert second[len(first) :] == [user("still there?"), user("[late tool result, slow]\n>built")]


def test_a_second_result_of_one_call_is_kept_as_a_note() -> None:
    """A call has one result; nothing is lost."""
    messages = sent(user("go"), *exchange("a", "Read", "first", file_path="x"), result("a", "second"))

    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "user"]
    assert messages[-1]["content"].endswith("second")


def test_broken_arguments_go_out_as_they_are() -> None:
    """They are the model's own words."""
    broken = calls({"id": "a", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "ls'}})

    assert sent(user("go"), broken, result("a", "Error: bad JSON")) == [
        user("go"),
        broken,
        result("a", "Error: bad JSON"),
    ]


def test_without_a_budget_a_request_is_mended_and_complete() -> None:
    """Errors, denials and retries stay where they happened, before any budget."""
    session = session_of(
        [
            user("go"),
            *exchange("1", "Edit", "Error: no match", file_path="a.py"),
            *exchange("2", "Edit", "Rejected by user", file_path="a.py"),
            *exchange("3", "Edit", "done", file_path="a.py"),
            result("ghost", "boo"),
        ]
    )
    view = session.preview().items

    assert [item.message.text for item in view if item.message.role == "tool"] == [
        "Error: no match",
        "Rejected by user",
        "done",
    ]
    assert [item.fate for item in view] == ["verbatim"] * 7 + ["repaired"]
