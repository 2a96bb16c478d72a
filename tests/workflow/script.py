"""The script of a small project's team: every answer is computed from the sections and results it was sent."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.scripted_model import Payload, ScriptError, call

ISSUE = """# Grow the calculator

The module calc.py can only add. It needs:

- double(x): return x * 2
- square(x): return x * x
- half(x): return x / 2

Secret of the issue: MARKER-ISSUE
"""
PROMPTS = {
    "architect": "You are a software architect",
    "developer": "You are a senior developer",
    "reviewer": "You are a code reviewer",
}
DEVELOPERS_WORDS = "MARKER-THOUGHT"


def project(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    (folder / "check.py").write_text("import calc\nprint('ok', sorted(name for name in dir(calc) if name[0] != '_'))\n")
    return folder


def agent_of(payload: Payload) -> str:
    system = payload["messages"][0]
    if system["role"] not in ("system", "developer"):
        raise ScriptError(f"no system prompt reached the model: {system}")
    for name, beginning in PROMPTS.items():
        if said(system).startswith(beginning):
            return name
    raise ScriptError(f"the system prompt is nobody's: {said(system)[:80]}")


def said(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def sections(payload: Payload) -> dict[str, str]:
    """The sections of a request by their headings."""
    first = next((said(one) for one in payload["messages"] if one["role"] == "user"), "")
    found = re.split(r"^## (.+)\n", first, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def results(payload: Payload) -> list[str]:
    return [said(one) for one in payload["messages"] if one["role"] == "tool"]


def needed(payload: Payload, *names: str, never: tuple[str, ...] = ()) -> dict[str, str]:
    found = sections(payload)
    for name in names:
        if not found.get(name, "").strip():
            raise ScriptError(f"{agent_of(payload)} got no section {name!r}, only {sorted(found)}")
    for name in never:
        if name in found:
            raise ScriptError(f"{agent_of(payload)} got the section {name!r}")
    return found


def reply(payload: Payload) -> dict[str, Any]:
    return {"architect": _architect, "developer": _developer, "reviewer": _reviewer}[agent_of(payload)](payload)


def _architect(payload: Payload) -> dict[str, Any]:
    issue = needed(payload, "Issue")["Issue"]
    seen = [one for one in results(payload) if not one.startswith("error")]
    if not seen:
        return call("list_files")
    if "calc.py" not in seen[0]:
        raise ScriptError(f"the files are not listed: {seen[0]!r}")
    wanted = re.findall(r"- (\w+)\(x\): (return .+)", issue)
    tasks = [
        {
            "id": f"T{number}",
            "description": f"Add {name} to calc.py",
            "dependencies": [f"T{number - 1}"] if number > 1 else [],
            "files": [{"operation": "modify", "path": "calc.py"}],
            "steps": [
                {
                    "description": "append the function",
                    "code": f"def {name}(x):\n    {body}",
                    "command": "python3 check.py",
                    "expected_output": "ok",
                }
            ],
            "acceptance_criteria": [f"calc.{name} exists", "nothing says BUG"],
        }
        for number, (name, body) in enumerate(wanted, 1)
    ]
    return call("finish", tasks=tasks, original_issue="calculator")


def _developer(payload: Payload) -> dict[str, Any]:
    found = needed(payload, "Task", "Files", "Steps", never=("Issue", "Diff"))
    if "MARKER-ISSUE" in json.dumps(payload):
        raise ScriptError("the developer sees the issue")
    code = re.search(r"```\n(.*?)\n```", found["Steps"], re.DOTALL)
    if code is None:
        raise ScriptError(f"no code in the steps: {found['Steps']}")
    seen = results(payload)
    if not seen:
        return call("read_file", path="calc.py")
    if len(seen) == 1:
        name = code.group(1).split("(")[0].removeprefix("def ")
        # What the file is now decides what is written, not what it was in the plan.
        clean = seen[0].replace("  # BUG", "").rstrip()
        # The first attempt at `square` is wrong, and only the review says so.
        mark = "  # BUG" if name == "square" and "Review" not in found else ""
        body = code.group(1) if f"def {name}" not in clean else ""
        if "Review" in found and "BUG" not in found["Review"]:
            raise ScriptError(f"the review does not say what is wrong: {found['Review']}")
        fixed = clean + ("\n\n\n" + body.replace("(x):", f"(x):{mark}") if body else "")
        return call("write_file", path="calc.py", content=fixed + "\n")
    if len(seen) == 2:
        return call("run_command", command="python3 check.py")
    if "ok" not in seen[2]:
        raise ScriptError(f"the command did not run: {seen[2]}")
    return call("finish", summary=f"did it ({DEVELOPERS_WORDS})")


def _reviewer(payload: Payload) -> dict[str, Any]:
    found = needed(payload, "Task", "Criteria", "Diff", never=("Issue", "Steps"))
    everything = json.dumps(payload)
    if DEVELOPERS_WORDS in everything or "MARKER-ISSUE" in everything:
        raise ScriptError("the reviewer sees what is not for it")
    name = re.search(r"calc\.(\w+) exists", found["Criteria"])
    if name is None:
        raise ScriptError(f"the criteria are not filled: {found['Criteria']}")
    if "BUG" in found["Diff"].replace("nothing says BUG", ""):
        return call("finish", approved=False, comments=["calc.py says BUG"], severity="high")
    if f"+def {name.group(1)}" not in found["Diff"]:
        return call("finish", approved=False, comments=[f"{name.group(1)} is missing"], severity="high")
    return call("finish", approved=True)
