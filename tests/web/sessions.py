"""Sessions for the tests of the web app: the sample in a store, and logs that mean harm."""

from __future__ import annotations

import json
from pathlib import Path

from foveate.sample import coding_session, tools
from foveate.session import Session
from foveate.store import SessionInfo, Store
from foveate.store.arrivals import import_lines

HOSTILE = '<script>window.stolen = 1</script><img src=x onerror="window.stolen = 2">{{ stolen }} ${stolen} `'


def sample_in(store: Store, name: str = "sample", *, turns: int = 6, budget: int = 8_000) -> SessionInfo:
    """The sample as an agent with a small window would have recorded it, with pauses in which its cache goes cold."""
    session = Session(budget=budget, model="claude-sonnet-4-5", tools=tools(), session_id=name)
    moment = 1_760_000_000.0
    for index, message in enumerate(coding_session(turns)):
        moment += 600 if index and message["role"] == "user" else 9
        if index and message["role"] == "assistant":
            session.compile(now=moment)
        session.extend([message], time=moment)
    import_lines(store, session.dump().splitlines())
    return store.session(name)


def hostile_log(folder: Path) -> Path:
    """A log in OpenAI's format in which every text is an attempt to be run."""
    messages = [
        {"role": "user", "content": HOSTILE},
        {
            "role": "assistant",
            "content": HOSTILE,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "bash", "arguments": json.dumps({"command": HOSTILE})},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": HOSTILE * 50},
        {"role": "assistant", "content": HOSTILE},
        {"role": "user", "content": f"{HOSTILE} 你好"},
    ]
    path = folder / "hostile <b>log<img src=x onerror=window.stolen=3>.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    return path
