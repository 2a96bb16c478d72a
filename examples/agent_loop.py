"""A toy agent: real tools on a temporary directory, and a scripted stand-in for the model.

uv run python examples/agent_loop.py

It shows the four places where a loop touches Foveate: append what happens, compile before each call, report what the
provider counted, answer the recall tool.
"""

import itertools
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import foveate

FILES = 24
BUDGET = 3_000
NUMBERS = itertools.count(1)


def list_dir(root: Path, path: str) -> str:
    return "\n".join(sorted(entry.name for entry in (root / path).iterdir()))


def read_file(root: Path, path: str) -> str:
    file = root / path
    return file.read_text(encoding="utf-8") if file.exists() else f"Error: no such file: {path}"


def write_file(root: Path, path: str, content: str) -> str:
    (root / path).write_text(content, encoding="utf-8")
    return f"Wrote {path} ({len(content)} characters)."


TOOLS = {"list_dir": list_dir, "read_file": read_file, "write_file": write_file}


def definition(name: str, *arguments: str) -> dict[str, Any]:
    properties = {argument: {"type": "string"} for argument in arguments}
    parameters = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def scripted_model() -> Iterator[dict[str, Any]]:
    """What a model would answer, call by call; a real loop sends the request to a provider here."""
    yield action("list_dir", path=".")
    yield action("read_file", path="service_99.py")  # fails: there is none
    for number in range(FILES):
        yield action("read_file", path=f"service_{number:02d}.py")
    # Long gone from the request by now; the reference is the id of the message that held it.
    yield action("recall", reference="m7", query="TIMEOUT")
    yield action("write_file", path="report.md", content="service_00.py has TIMEOUT = 30\n")
    yield {"role": "assistant", "content": "service_00.py times out after 30 s; see report.md."}


def action(name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{next(NUMBERS)}", "type": "function", "function": function}],
    }


def run_tool(session: foveate.Session, root: Path, name: str, arguments: str) -> str:
    if name == "recall":
        return session.answer_recall(arguments)
    return TOOLS[name](root, **json.loads(arguments))


def main() -> None:
    definitions = [
        definition("list_dir", "path"),
        definition("read_file", "path"),
        definition("write_file", "path", "content"),
        foveate.RECALL_TOOL,
    ]
    session = foveate.Session(budget=BUDGET, system="You are a careful reader of code.", tools=definitions)
    session.append({"role": "user", "content": "Which timeout does each service use? Write report.md."})
    model = scripted_model()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for number in range(FILES):
            body = "\n".join(f"def step_{number}_{line}(order): return order + {line}" for line in range(30))
            (root / f"service_{number:02d}.py").write_text(f"TIMEOUT = {30 + number}\n{body}\n", encoding="utf-8")
        while True:
            view = session.compile()
            request = view.to("openai")  # goes to the provider, with the tool definitions
            why = f"  reduced ({view.decision.trigger}): {view.decision.reason}" if view.decision else ""
            size = f"{len(request):2} messages, {view.tokens} tokens, {view.predicted_cached} cached"
            print(f"call {view.number:2}: {size}{why}")
            response = next(model)
            # A provider reports this with its answer; here it is a little more than we counted.
            session.report_usage(input_tokens=view.tokens + 20, cached_tokens=view.predicted_cached)
            session.append(response)
            if not response.get("tool_calls"):
                break
            for call in response["tool_calls"]:
                function = call["function"]
                output = run_tool(session, root, function["name"], function["arguments"])
                session.append({"role": "tool", "tool_call_id": call["id"], "content": output})
                if function["name"] == "recall":
                    print("recalled:", output.splitlines()[0])
    print()
    print("For people:")
    for message in session.conversation:
        print(f"  {message.role}: {message.text}")


if __name__ == "__main__":
    main()
