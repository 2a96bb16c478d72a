"""Names and ids as a provider allows them, each from the one that was recorded."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from itertools import count

_ODD = re.compile(r"[^a-zA-Z0-9_-]")


def fitting(names: Iterable[str], allowed: re.Pattern[str], *, longest: int) -> dict[str, str]:
    """For each name the one to send: itself if it is allowed, else one made from it that no other name has.

    >>> fitting(["a", "b.c"], re.compile("[a-z_0-9]{1,64}"), longest=64)["a"]
    'a'
    """
    known = dict.fromkeys(names)
    sent = {name: name for name in known if allowed.fullmatch(name)}
    taken = set(sent)
    for name in known:
        if name not in sent:
            sent[name] = next(made for number in count() if (made := _made(name, number, longest)) not in taken)
            taken.add(sent[name])
    return sent


def _made(name: str, number: int, longest: int) -> str:
    # The sign of a name depends on nothing else, so that the same name is sent the same way in every request.
    sign = hashlib.sha256(f"{number}:{name}".encode()).hexdigest()[:12]
    readable = _ODD.sub("_", name[: longest - 13]).lstrip("-0123456789") or "x"
    return f"{readable}_{sign}"
