"""What a gateway adds to a request: `python -m bench.gateway_overhead`.

The same requests go to a provider that answers at once: straight, through a forwarder that does nothing else, and
through a gateway in each mode. A request has a history of some size and goes on from the one before it, as an agent's
does.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from bench.gateway_trial import gateway_at

SIZES: Final = (50, 500, 2_000)
_HEAD: Final = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_USAGE: Final = {"input_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 1}
_EVENTS: Final = tuple(
    f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode()
    for one in ({"type": "message_start", "message": {"usage": _USAGE}}, {"type": "message_stop"})
)


@contextmanager
def instant_provider() -> Iterator[str]:
    """A provider that answers every request at once with two events; as plain as can be, so as not to be measured."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)

    def serve(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, connection.makefile("rb") as stream:
            while stream.readline():
                length = 0
                while (line := stream.readline().strip()) != b"":
                    name, _, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                stream.read(length)
                chunks = b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in _EVENTS)
                connection.sendall(_HEAD + chunks + b"0\r\n\r\n")

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


def history(kilobytes: int) -> list[dict[str, Any]]:
    """A conversation of so many thousand bytes, in steps of some 6 kB."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Build it all."}]
    for number in range(kilobytes // 6):
        text = "\n".join(
            f"unit {number} of the build log, line {line} of {number * 7919 % 1000}" for line in range(120)
        )
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "bash", "input": {"command": f"make {number}"}}
        result = {"tool_use_id": f"toolu_{number}", "type": "tool_result", "content": text}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return messages


def requests(kilobytes: int, count: int) -> list[bytes]:
    """Requests that each append a step, the last with the whole history."""
    messages = history(kilobytes)
    tools = [{"name": "bash", "description": "Runs.", "input_schema": {"type": "object", "properties": {}}}]
    first = max(1, len(messages) - 2 * (count - 1))
    return [
        json.dumps(
            {"model": "claude-sonnet-4-5", "messages": messages[:end], "tools": tools, "stream": True},
            separators=(",", ":"),
        ).encode()
        for end in range(first, len(messages) + 1, 2)
    ]


def measured(address: str, bodies: Sequence[bytes], session: str) -> list[float]:
    """Milliseconds to the first byte of each answer."""
    taken: list[float] = []
    headers = {"x-claude-code-session-id": session, "user-agent": "claude-cli/2", "content-type": "application/json"}
    with httpx.Client(timeout=60, trust_env=False) as client:
        for body in bodies:
            begin = time.perf_counter()
            with client.stream("POST", f"{address}/v1/messages", content=body, headers=headers) as answer:
                chunks = answer.iter_raw()
                next(chunks)
                taken.append((time.perf_counter() - begin) * 1_000)
                # Read to its end, so that the connection can be used again.
                assert b"".join(chunks) is not None
    # The first opens the session and the connection.
    return taken[1:]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.gateway_overhead", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES), metavar="KB")
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--sessions", type=int, default=50)
    options = parser.parse_args(arguments)
    print(f"{'kB':>6} {'through':<18}{'p50 ms':>9}{'p95 ms':>9}{'added p50':>11}{'added p95':>11}")
    with instant_provider() as provider, tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            bodies = requests(size, options.requests)
            straight = measured(provider, bodies, "straight")
            ways: dict[str, dict[str, Any]] = {
                "off": {"mode": "off"},
                "shadow": {"mode": "shadow", "budget": 40_000},
                "compile, whole": {"mode": "compile", "budget": 4_000_000},
                "compile, 40,000": {"mode": "compile", "budget": 40_000},
            }
            _row(size, "(straight)", straight, straight)
            for name, way in ways.items():
                store = Path(folder, f"{size}-{name.replace(' ', '')}.db")
                with gateway_at(provider, store, **way) as (_, address):
                    _row(size, name, measured(address, bodies, f"s{size}"), straight)
        _many(provider, Path(folder), options.sessions)
    return 0


def _row(size: int, name: str, taken: Sequence[float], straight: Sequence[float]) -> None:
    (p50, p95), (base50, base95) = _quantiles(taken), _quantiles(straight)
    print(f"{size:>6} {name:<18}{p50:>9.1f}{p95:>9.1f}{p50 - base50:>11.1f}{p95 - base95:>11.1f}", flush=True)


def _quantiles(taken: Sequence[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(taken, n=20)
    return statistics.median(taken), cuts[-1]


def _many(provider: str, folder: Path, sessions: int) -> None:
    """Sessions at once in one process: how long their requests take, and what each keeps in memory."""
    bodies = requests(100, 8)
    with gateway_at(provider, folder / "many.db", mode="compile", budget=20_000) as (gateway, address):
        measured(address, bodies, "warm")
        before = _resident()
        taken: list[float] = []

        def one(number: int) -> None:
            taken.extend(measured(address, bodies, f"many-{number}"))

        work: Callable[[int], None] = one
        threads = [threading.Thread(target=work, args=(number,)) for number in range(sessions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()
        after = _resident()
        p50, p95 = _quantiles(taken)
        each = (after - before) / 1_000_000 / sessions
        print(
            f"{sessions} sessions of 100 kB at once, clients in the same process: p50 {p50:.0f} ms, p95 {p95:.0f} ms, "
            f"{each:.1f} MB each, {gateway.seen['fell back']} fell back"
        )


def _resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    sys.exit(main())
