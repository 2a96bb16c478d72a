"""Dump a session, load it elsewhere: the next request is the same, byte for byte.

uv run python examples/replay.py
"""

import tempfile
from pathlib import Path

import foveate
from foveate.sample import coding_session, tools

messages = coding_session(turns=2)
live = foveate.Session(budget=8_000, tools=tools())
for message in messages:
    if message["role"] == "assistant":
        live.compile()  # as the agent's loop did, before each answer
    live.append(message)

with tempfile.TemporaryDirectory() as directory:
    file = Path(directory) / "session.jsonl"
    file.write_bytes(live.dump())
    print(f"{len(live.events)} events, {file.stat().st_size} bytes")
    rebuilt = foveate.Session.from_events(foveate.load_events(file.read_bytes()), budget=8_000)

one, other = live.compile(), rebuilt.compile()
print("live:   ", one.payload_sha256)
print("rebuilt:", other.payload_sha256)
if one.payload != other.payload:
    raise SystemExit("the rebuilt session differs")
print(f"the same {len(one.payload)} bytes")
