"""The formats by name, and messages of any of them told apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, Final

from foveate.errors import ConfigError, MessageError
from foveate.log.messages import Message
from foveate.wire import openai_chat, openai_rules
from foveate.wire.format import Bridge, Format

_BRIDGES: Final = "foveate.bridges"

OPENAI: Final = Format(
    name="openai",
    recognises=openai_chat.recognises,
    decode=openai_chat.decode_all,
    encode=openai_chat.encode_all,
    lower=openai_chat.lower,
    problems=openai_rules.problems,
)

FORMATS: Final[Mapping[str, Format]] = MappingProxyType({format.name: format for format in (OPENAI,)})


def format_named(name: str) -> Format:
    """A format by its name."""
    if name not in FORMATS:
        raise ConfigError(f"unknown `format` {name!r}; known are {', '.join(FORMATS)}")
    return FORMATS[name]


def decode_any(raws: Sequence[object]) -> list[Message]:
    """The messages of raw ones in any format, also mixed; a malformed one is refused with a `MessageError`."""
    messages: list[Message] = []
    for format, start, run in _runs(raws):
        if format is None:
            messages += [raw for raw in run if isinstance(raw, Message)]
        else:
            messages += format.decode(run, partial(_place, start))
    return messages


def to_objects(format: Format, data: Any) -> Any:
    """Plain data as the framework's own objects, for formats that have such."""
    return data if format.bridge is None else _bridge(format.bridge).to_objects(data)


def _place(start: int, index: int) -> str:
    return f"message {start + index}"


def _runs(raws: Sequence[object]) -> Iterator[tuple[Format | None, int, list[Any]]]:
    """Stretches of one format each: formats may spread one message over several raw ones."""
    run: list[Any] = []
    current: Format | None = None
    start = 0
    for index, raw in enumerate(raws):
        format, plain = _plain(raw, current, index)
        if run and format is not current:
            yield current, start, run
            run, start = [], index
        current = format
        run.append(plain)
    if run:
        yield current, start, run


def _plain(raw: object, current: Format | None, index: int) -> tuple[Format | None, Any]:
    """The format of a raw message, and the message as plain data."""
    if isinstance(raw, Message):
        return None, raw
    if not isinstance(raw, Mapping):
        return _unwrapped(raw, index)
    # What several formats could have said is taken for more of what stands before it.
    if current is not None and current.recognises(raw):
        return current, raw
    for format in FORMATS.values():
        if format.recognises(raw):
            return format, raw
    return OPENAI, raw


def _unwrapped(raw: object, index: int) -> tuple[Format, Any]:
    package = type(raw).__module__.partition(".")[0]
    for format in FORMATS.values():
        if format.bridge is not None and package.replace("_", "-").startswith(format.bridge):
            bridge = _bridge(format.bridge)
            if bridge.recognises(raw):
                return format, bridge.to_data([raw])[0]
    raise MessageError(f"message {index}: expected a mapping with `role`, got {type(raw).__name__}")


@cache
def _bridge(name: str) -> Bridge:
    found: tuple[EntryPoint, ...] = tuple(entry_points(group=_BRIDGES, name=name))
    if not found:
        raise ConfigError(f"no bridge to {name!r} is installed; `pip install 'foveate[{name}]'` brings it")
    try:
        bridge: Bridge = found[0].load()
    except ImportError as error:
        raise ConfigError(
            f"{error.name or name!r} is not installed; `pip install 'foveate[{name}]'` brings it"
        ) from error
    return bridge
