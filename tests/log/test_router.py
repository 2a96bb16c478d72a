"""Routing: where a step's output goes, with which meta, and what was odd about it."""

import pytest
from tests.dialogue import call, calls, exchange, result, says, session_of, user

from foveate import TOOLS, ConfigError, DefaultRouter, ToolSemantics
from foveate.log.context import AgentContext
from foveate.log.events import DiagnosticRecorded, ExecutionEnded, ExecutionStarted, MessageAppended
from foveate.log.messages import DeclaredTool, Message
from foveate.log.router import AgentStep
from foveate.log.semantics import recorded_semantics


def diagnostics(session) -> list[tuple[str, str | None]]:
    return [(e.body.code, e.body.subject) for e in session.events if isinstance(e.body, DiagnosticRecorded)]


def test_messages_are_named_in_order() -> None:
    """Ids are m1, m2, … and come back from extend."""
    session = session_of([])

    assert session.extend([user("a"), says("b")]) == ["m1", "m2"]
    assert session.append(user("c")) == "m3"


def test_a_user_message_starts_a_turn() -> None:
    """A turn is one user message and everything until the next."""
    session = session_of([user("a"), says("b"), user("c"), *exchange("t", "Read", "x", file_path="f")])

    assert [(m.meta.turn, m.meta.execution_id) for m in session.messages] == [
        (1, "x1"), (1, "x1"), (2, "x2"), (2, "x2"), (2, "x2"),
    ]  # fmt: skip
    kinds = [
        type(e.body) for e in session.events if isinstance(e.body, ExecutionStarted | ExecutionEnded | MessageAppended)
    ]
    assert kinds[:2] == [ExecutionStarted, MessageAppended]
    assert kinds[3:6] == [ExecutionEnded, ExecutionStarted, MessageAppended]


def test_next_execution_marks_a_boundary_without_a_user() -> None:
    """What follows belongs to the new turn, and the user message after it starts no further one."""
    session = session_of([user("a"), says("b")])
    session.next_execution(time=4.0)
    session.append(user("c"))

    assert [m.meta.execution_id for m in session.messages] == ["x1", "x1", "x2"]
    assert session.context.turn == 2


def test_a_step_is_a_response_with_its_results() -> None:
    """Results carry the step of the response that asked for them."""
    session = session_of([user("a"), *exchange("1", "Read", "x", file_path="f"), says("done")])

    assert [m.meta.step_id for m in session.messages] == ["s0", "s1", "s1", "s2"]


def test_results_carry_tool_outcome_and_resources() -> None:
    """Views, supersession and the ledger stand on this meta."""
    session = session_of(
        [
            user("go"),
            calls(call("r", "Read", file_path="a.py"), call("w", "Write", file_path="b.py", content="x")),
            result("r", "print(1)"),
            result("w", "Error: disk full"),
        ]
    )
    read, written = session.messages[2].meta, session.messages[3].meta

    assert (read.tool_name, read.outcome, read.reads, read.writes, read.origin) == (
        "Read",
        "ok",
        ("a.py",),
        (),
        "tool_result",
    )
    assert (written.tool_name, written.outcome, written.writes, written.origin) == (
        "Write",
        "error",
        ("b.py",),
        "error",
    )
    assert session.messages[1].meta.origin == "tool_call"


def test_defects_of_real_logs_are_accepted_and_said() -> None:
    """A result without its call, reused ids and empty content each leave one diagnostic and stay in the log."""
    session = session_of(
        [
            user("go"),
            result("ghost", "who asked?"),
            calls(call("a", "Read", file_path="x"), call("a", "Read", file_path="y")),
            result("a", "1"),
            calls(call("a", "Read", file_path="z")),
            result("a", "2"),
            says(""),
            user("   "),
        ]
    )

    assert diagnostics(session) == [
        ("orphan_tool_return", "m2"),
        ("duplicate_tool_call_id", "m3"),
        ("duplicate_tool_call_id", "m5"),
        ("empty_content", "m7"),
        ("empty_content", "m8"),
    ]
    assert len(session.messages) == 8


def test_a_call_that_is_still_running_is_normal() -> None:
    """No diagnostic for a call that may yet be answered."""
    assert diagnostics(session_of([user("go"), calls(call("a", "Bash", command="make"))])) == []


def test_a_router_changes_nothing_but_the_context() -> None:
    """Routing the same step twice from one context gives the same events twice."""
    router = DefaultRouter()
    step = AgentStep(messages=(Message(id="", role="user"),), time=1.0)
    start = AgentContext()

    assert router.route(start, step).events == router.route(start, step).events
    assert start.events == ()


def test_custom_tool_semantics_are_used_for_resources() -> None:
    """A user declares what their own tool reads."""
    router = DefaultRouter(tools={"fetch_page": ToolSemantics(access="read", resource=("url",), ranged=("page",))})
    session = session_of(
        [
            user("go"),
            *exchange("1", "fetch_page", "<html>", url="https://a.example"),
            *exchange("2", "fetch_page", "<html>", url="https://a.example", page=2),
            *exchange("3", "Read", "x", file_path="a.py"),
        ],
        router=router,
    )

    whole, part, undeclared = (session.messages[i].meta for i in (2, 4, 6))
    assert (whole.reads, whole.partial) == (("https://a.example",), False)
    assert (part.reads, part.partial) == (("https://a.example",), True)
    assert undeclared.reads == ()


def test_is_error_counts_for_a_result_without_its_call_too() -> None:
    """What the wire says about an outcome wins over what the text looks like."""
    session = session_of([user("go"), {**result("ghost", "it went badly"), "is_error": True}])

    assert session.messages[1].meta.outcome == "error"


def test_an_outcome_given_by_the_caller_is_kept() -> None:
    """is_error false on a text that looks like an error is no error."""
    session = session_of(
        [user("go"), calls(call("a", "grep", pattern="x")), {**result("a", "Error: seen in log"), "is_error": False}]
    )

    assert session.messages[2].meta.outcome == "ok"


def test_what_a_tool_was_declared_as_is_recorded_only_where_it_is_no_common_knowledge() -> None:
    """Logs of the built-in tools stay as they were."""
    router = DefaultRouter(tools={**TOOLS, "fetch_page": ToolSemantics(access="read", resource=("url",))})
    log = [
        user("go"),
        *exchange("1", "fetch_page", "<html>", url="https://a.example"),
        *exchange("2", "Read", "x", file_path="a.py"),
    ]

    fetch = {"fetch_page": DeclaredTool(access="read", resource=("url",))}
    assert [one.meta.declared for one in session_of(log, router=router).messages] == [{}, fetch, fetch, {}, {}]
    undeclared = session_of(log, router=DefaultRouter(tools={})).messages[3].meta
    assert undeclared.declared == {"Read": DeclaredTool()}
    assert recorded_semantics("Read", undeclared) is None


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"access": "reads"}, "`access` of a tool is one of read, write"),
        ({"access": "read", "resource": "path"}, r"\('path',\)"),
    ],
)
def test_a_declaration_that_means_nothing_is_refused(options: dict, problem: str) -> None:
    """Not ignored at every call."""
    with pytest.raises(ConfigError, match=problem):
        ToolSemantics(**options)
