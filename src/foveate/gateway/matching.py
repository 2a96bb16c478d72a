"""Matching: items told apart by what they say, however a client writes them this time.

Clients move cache marks from item to item, and write a text as a text or as the one block of it. Neither makes another
item. Keys are keyed hashes, so that a log that has them gives away nothing of what was redacted in it.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from foveate.gateway.bodies import decode
from foveate.gateway.privacy import redact_item
from foveate.private_files import create_private_file, make_private_folder
from foveate.threads.matching import canonical

_MOST_KNOWN: Final = 50_000
_BYTES: Final = 12
# Messages of OpenAI Responses have ids and times, which Codex makes anew when it has compacted. Calls are not among
# them: theirs are what pairs them with their results.
_NUMBERED: Final = frozenset({"message", "additional_tools"})
_NUMBERS: Final = frozenset({"id", "status", "internal_chat_message_metadata_passthrough"})


class _Keys(NamedTuple):
    came: str
    stored: str


class ItemKeys:
    """Makes the keys of items; what was keyed before is not parsed again. Any thread may ask."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._known: OrderedDict[bytes, _Keys] = OrderedDict()

    def of(self, raw: bytes) -> str:
        """The key of an item that came as these bytes."""
        return self._keys(raw).came

    def stored(self, raw: bytes) -> str:
        """The key of what the log has of an item that came as these bytes."""
        return self._keys(raw).stored

    def _keys(self, raw: bytes) -> _Keys:
        digest = hashlib.blake2b(raw, digest_size=16).digest()
        keys = self._known.get(digest)
        if keys is None:
            item = decode(raw)
            came, redacted = self.of_item(item), redact_item(item)
            stored = self.of_item(redacted.value) if redacted.spans else came
            keys = self._known[digest] = _Keys(came, stored)
            while len(self._known) > _MOST_KNOWN:
                with suppress(KeyError):  # Another thread was first.
                    self._known.popitem(last=False)
        return keys

    def of_item(self, item: Any) -> str:
        """The key of an item, whatever bytes it comes as."""
        if isinstance(item, dict) and item.get("type") in _NUMBERED:
            item = {name: value for name, value in item.items() if name not in _NUMBERS}
        return self.hashed(canonical(item))

    def all(self, items: Sequence[bytes]) -> tuple[str, ...]:
        """The keys of items, in their order."""
        return tuple(map(self.of, items))

    def hashed(self, value: bytes) -> str:
        """The keyed hash of some bytes."""
        return hashlib.blake2b(value, digest_size=_BYTES, key=self._secret).hexdigest()


def secret_in(folder: Path) -> bytes:
    """The secret that keys are made with, kept beside the store; made if there is none yet."""
    path = folder / "gateway.key"
    make_private_folder(folder)
    try:
        with create_private_file(path) as file:
            file.write(secrets.token_hex(32).encode())
    except FileExistsError:
        pass  # Made before, or by another gateway at this moment.
    return bytes.fromhex(path.read_text(encoding="ascii").strip())
