"""Artifacts: large texts, stored once, compressed, under a handle made from their content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

import zstandard
from sqlalchemy import Connection, delete, exists, select

from foveate.errors import ConfigError, StoreError, UnknownReferenceError
from foveate.store.describe import described
from foveate.store.engine import insert_ignoring, storable
from foveate.store.schema import artifact_uses, artifacts

SCHEME: Final = "artifact://"
_SHOWN: Final = 16
# Below this compressing costs more than it saves.
_WORTH: Final = 200


class Piece(NamedTuple):
    """A text that is to be kept as an artifact, with what is known of where it came from."""

    text: str
    sha256: str
    ref: str
    tool: str | None = None
    resource: str | None = None
    # What the tool does, by its declaration.
    access: str | None = None


def piece_of(
    text: str, ref: str, tool: str | None = None, resource: str | None = None, access: str | None = None
) -> Piece:
    """A text under the name of its content."""
    return Piece(text, hashlib.sha256(text.encode()).hexdigest(), ref, tool, resource, access)


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A large text of a session: what it is, and any part of it on request; it never changes."""

    sha256: str
    kind: str
    description: str
    size: int
    lines: int
    _load: Callable[[], bytes] = field(repr=False)

    @property
    def handle(self) -> str:
        """How the artifact is referred to."""
        return handle_of(self.kind, self.sha256)

    def text(self, lines: tuple[int, int] | None = None) -> str:
        """The whole text, or the lines from a first to a last one; the first is 1."""
        whole = self._load().decode()
        if lines is None:
            return whole
        first, last = lines
        if first < 1 or last < first or first > self.lines:
            raise ConfigError(
                f"`lines` {first}-{last} is no range of {self.handle}, which has {self.lines} lines; "
                f"give a first and a last line from 1 to {self.lines}"
            )
        return "\n".join(whole.split("\n")[first - 1 : last])

    def bytes(self, first: int = 0, last: int | None = None) -> bytes:
        """The bytes from offset `first` to before `last`."""
        if first < 0 or (last is not None and last < first):
            raise ConfigError(f"bytes {first} to {last} are no range of {self.handle}, which has {self.size} bytes")
        return self._load()[first:last]


def handle_of(kind: str, sha256: str) -> str:
    """The handle of an artifact."""
    return f"{SCHEME}{kind}/{sha256[:_SHOWN]}"


def is_handle_of(handle: str, sha256: str) -> bool:
    """Whether a handle is that of an artifact; its kind is only for people to read."""
    return handle.startswith(SCHEME) and handle.endswith(f"/{sha256[:_SHOWN]}")


def keep(connection: Connection, session: int, pieces: Iterable[Piece], now: datetime) -> None:
    """Store texts that are not stored yet, and note that a session uses them."""
    # In one order for everybody: two that wait for each other's rows would never end.
    wanted = {piece.sha256: piece for piece in sorted(pieces, key=lambda piece: piece.sha256)}
    if not wanted:
        return
    known = set(connection.scalars(select(artifacts.c.sha256).where(artifacts.c.sha256.in_(wanted))))
    compressor = zstandard.ZstdCompressor(level=3)
    new = [_row(piece, compressor, now) for sha256, piece in wanted.items() if sha256 not in known]
    if new:
        connection.execute(insert_ignoring(connection, artifacts), new)
    uses = [{"session": session, "sha256": sha256, "ref": storable(piece.ref)} for sha256, piece in wanted.items()]
    connection.execute(insert_ignoring(connection, artifact_uses), uses)


def texts(connection: Connection, hashes: Iterable[str]) -> dict[str, str]:
    """The texts of artifacts by their hash."""
    wanted = list(set(hashes))
    found: dict[str, str] = {}
    for start in range(0, len(wanted), 500):
        query = select(artifacts).where(artifacts.c.sha256.in_(wanted[start : start + 500]))
        found.update({row.sha256: _content(row).decode() for row in connection.execute(query)})
    return found


def drop_unused(connection: Connection) -> int:
    """Delete what no session uses any more; returns how many."""
    unused = ~exists().where(artifact_uses.c.sha256 == artifacts.c.sha256)
    return connection.execute(delete(artifacts).where(unused)).rowcount


def found(connection: Connection, handle: str, load: Callable[[str], bytes]) -> Artifact:
    """The artifact behind a handle, its kind being only for people to read."""
    digest = handle.removeprefix(SCHEME).rpartition("/")[2]
    query = select(*_FACTS).where(artifacts.c.sha256.startswith(digest, autoescape=True)).limit(2)
    rows = connection.execute(query).all() if len(digest) >= 6 else []
    if len(rows) != 1:
        problem = "no artifact has" if not rows else "several artifacts have"
        raise UnknownReferenceError(f"{problem} the handle {handle!r}; it looks like {SCHEME}log/0123456789abcdef")
    return _artifact(rows[0], load)


def used_by(connection: Connection, session: int, load: Callable[[str], bytes]) -> list[Artifact]:
    """The artifacts of a session."""
    join = artifacts.join(artifact_uses, artifact_uses.c.sha256 == artifacts.c.sha256)
    query = select(*_FACTS).select_from(join).where(artifact_uses.c.session == session).order_by(artifacts.c.created_at)
    return [_artifact(row, load) for row in connection.execute(query)]


def content(connection: Connection, sha256: str) -> bytes:
    """The bytes of an artifact, checked against its name."""
    row = connection.execute(select(artifacts).where(artifacts.c.sha256 == sha256)).one_or_none()
    if row is None:
        raise UnknownReferenceError(f"the artifact {sha256} is gone; its session was deleted")
    return _content(row)


_FACTS: Final = (artifacts.c.sha256, artifacts.c.kind, artifacts.c.description, artifacts.c.size, artifacts.c.lines)


def _artifact(row: Any, load: Callable[[str], bytes]) -> Artifact:
    return Artifact(
        sha256=row.sha256,
        kind=row.kind,
        description=row.description,
        size=row.size,
        lines=row.lines,
        _load=lambda: load(row.sha256),
    )


def _row(piece: Piece, compressor: zstandard.ZstdCompressor, now: datetime) -> dict[str, Any]:
    data = piece.text.encode()
    kind, description = described(piece.text, tool=piece.tool, resource=piece.resource, access=piece.access)
    packed = compressor.compress(data) if len(data) >= _WORTH else data
    encoding, stored = ("zstd", packed) if len(packed) < len(data) else ("plain", data)
    return {
        "sha256": piece.sha256,
        "kind": kind,
        "description": storable(description),
        "size": len(data),
        "lines": piece.text.count("\n") + (not piece.text.endswith("\n")),
        "encoding": encoding,
        "data": stored,
        "created_at": now,
    }


def _content(row: Any) -> bytes:
    try:
        data = _unpacked(row) if row.encoding == "zstd" else bytes(row.data)
    except (zstandard.ZstdError, TypeError, ValueError) as error:
        raise StoreError(f"the artifact {row.sha256} is damaged ({error}); `foveate db check` lists what is") from error
    if hashlib.sha256(data).hexdigest() != row.sha256:
        raise StoreError(f"the artifact {row.sha256} has other content than its name says; see `foveate db check`")
    return data


def _unpacked(row: Any) -> bytes:
    # A damaged header may claim any size, and that much memory would be reserved before anything is read.
    if zstandard.frame_content_size(row.data) != row.size:
        raise ValueError(f"its size is not the recorded {row.size!r} bytes")
    return zstandard.ZstdDecompressor().decompress(row.data)
