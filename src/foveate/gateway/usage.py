"""Usage, read on the side: what a provider reports in an answer that passes by, whatever the answer is packed in."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final

import msgspec
import zstandard

from foveate.gateway.bodies import decode

# A line that is longer is no report; an answer that is longer and no stream is not kept to be read.
_MOST: Final = 4_000_000
_WORDS: Final = (b'"usage"', b'"usageMetadata"')


class UsageReader:
    """Is given the bytes of an answer as they pass, and keeps what they say was used."""

    def __init__(self, content_type: str, encoding: str) -> None:
        self._is_stream = "event-stream" in content_type
        self._unpack = _unpacking(encoding)
        self._rest = b""
        self.usage: dict[str, Any] | None = None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the answer."""
        if self._unpack is None:
            return
        try:
            self._rest += self._unpack(chunk)
        except (zlib.error, zstandard.ZstdError):
            self._unpack = None
            return
        if self._is_stream and b"\n" in self._rest:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                if line.startswith(b"data:") and any(word in line for word in _WORDS):
                    self._take(line[5:])
        if len(self._rest) > _MOST:
            self._unpack, self._rest = None, b""

    def finish(self) -> dict[str, Any] | None:
        """What was used, by the whole answer; None if it did not say."""
        if self._rest:
            self._take(self._rest.removeprefix(b"data:") if self._is_stream else self._rest)
            self._rest = b""
        return self.usage

    def _take(self, text: bytes) -> None:
        try:
            value = decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        for one in value if isinstance(value, list) else [value]:
            found = _usage_in(one)
            if found is not None:
                # Anthropic says at the end again what it said at the beginning, and what came out.
                known = {name: count for name, count in found.items() if count is not None}
                self.usage = {**(self.usage or {}), **known}


def _usage_in(value: Any) -> dict[str, Any] | None:
    match value:
        case {"usage": dict() as usage} | {"usageMetadata": dict() as usage}:
            return usage
        case {"message": {"usage": dict() as usage}} | {"response": {"usage": dict() as usage}}:
            return usage
        case _:
            return None


def _unpacking(encoding: str) -> Callable[[bytes], bytes] | None:
    match encoding.strip().lower():
        case "" | "identity":
            return lambda chunk: chunk
        case "gzip" | "x-gzip":
            return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress
        case "deflate":
            return zlib.decompressobj().decompress
        case "zstd":
            return zstandard.ZstdDecompressor().decompressobj().decompress
        case _:
            return None
