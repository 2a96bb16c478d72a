"""Whether a provider would accept a request: rules of the OpenAI chat format."""

from collections import Counter
from collections.abc import Sequence

from bench.messages import Message, calls_of, content_of

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


def problems(request: Sequence[Message]) -> list[str]:
    """Everything a provider would refuse, in the order it stands; empty for a valid request."""
    found: list[str] = []
    open_calls: Counter[str] = Counter()
    for index, message in enumerate(request):
        role = message.get("role")
        if role == "tool":
            found += _answer_problems(index, message, open_calls)
            continue
        found += [f"before {index}: call {name!r} unanswered" for name in +open_calls]
        open_calls = Counter(item["id"] for item in calls_of(message))
        if role not in _ROLES:
            found.append(f"{index}: unknown role {role!r}")
        if role != "assistant" and open_calls:
            found.append(f"{index}: {role} message with tool calls")
        if not open_calls and not content_of(message).strip():
            found.append(f"{index}: {role} message without content")
        found += [f"{index}: id {name!r} repeated" for name, n in open_calls.items() if n > 1]
    found += [f"at the end: call {name!r} unanswered" for name in +open_calls]
    return found if request else ["no messages"]


def _answer_problems(index: int, message: Message, open_calls: Counter[str]) -> list[str]:
    call_id = message.get("tool_call_id", "")
    if call_id not in open_calls:
        return [f"{index}: result {call_id!r} without its call"]
    open_calls[call_id] -= 1
    return [f"{index}: second result for {call_id!r}"] if open_calls[call_id] < 0 else []
