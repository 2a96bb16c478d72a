"""Named values: what stands behind a name such as `password`, `API_KEY` or `--token`, in any notation.

A name is found by its word; how far is read from there is bounded, so that a hostile text costs a fixed number of steps
per character. Code assigns to such names all day (`token = next(tokens)`), so that a value is taken for a secret only
if it is written out: quoted, given to a variable of the environment, or too random for an identifier.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from foveate.privacy.tokens import Span

# What every name of a secret has in it.
_WORDS: Final = re.compile(r"pass|pwd|secret|token|credential|key|jwt|auth")
_SECRET_NAME: Final = re.compile(
    r"(?:pass(?:word|wd|phrase|wort)?|pwd|secret|token|credentials?|jwt|api[_-]?key|auth"
    r"|(?:access|private|signing|encryption|account|auth|client|license|master|deploy|session|shared[_-]?access|ssh"
    r"|storage|service|webhook|admin|root|consumer|app|application|sas|hmac|rsa|subscription|secret)[_-]?key(?:[_-]data)?)"
    r"(?:[_-]?(?:base|prod|production|dev|development|test|testing|live|staging|main|old|new|value|hash|v?\d{1,3}))?"
)
# Names of numbers of tokens, and of what is no secret of a session.
_HARMLESS_NAME: Final = re.compile(
    r"(?:max|min|num|total|input|output|prompt|completion|cached?|per|used|count|next|page|sync|pad|eos|bos|unk|mask|sep"
    r"|cls|special|by|no|idempotency|continuation|next_page|end|start|stop)[_-]?token"
)
_NAME_CHARS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_LONGEST_NAME: Final = 60
# What may stand between a name and its value.
_DIVIDER: Final = re.compile(
    r"""(?x)
    (?: \\{0,3} ["'`] )? \]?                                  # "name": …, env["NAME"] = …
    [ \t]{0,20}
    (?: (?: : [ ]? (?:str|string|String) )? [ ]{0,4} = (?!=)  # name: str = …
      | := | => | -> | ={2,3} | != | : )
    [ \t]{0,20}
    """
)
_QUOTED: Final = re.compile(r"""[rbfuL]{0,2}\\{0,3}["'`]([^"'`\s\\]{4,512})\\{0,3}["'`]""")
_BARE: Final = re.compile(r"""[^\s"'`,;&<>(){}\[\]|\\]{4,512}+(?![(\[{])""")
_OPTION: Final = re.compile(r"""(?:=|[ \t]{1,4})["']?([^\s"'`<>|;&\[\\]{4,512})""")
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_EXPRESSION: Final = re.compile(
    r"(?:[A-Za-z_]\w*+\.)+[A-Za-z_]\w*+|[A-Za-z_]\w*+(?:->|::).*|\.{0,2}/.*|[a-z]{2,12}://[^@]*|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)++"
)
_FORM_WORDS: Final = frozenset(
    """
    a access admin an and api app application auth authorization bad basic bearer boolean change changeme client
    config confirm confirmation correct credential credentials csrf current database db default dummy empty
    encrypted enter env environ environment example expected expired fake false field forgot forgotten from get hash
    hashed header here hidden id in input insert invalid is it jwt key label masked me missing mock my name new nil
    none not null number object of off ok old on optional or os param parameter pass passphrase passwd password
    placeholder private process public pwd random real redacted refresh replace required reset sample secret secrets
    secure self session set settings some str string strong super test text the this to todo token tokens true type
    undefined update use user username valid value variable with wrong xxx xxxx yes your
    """.split()  # noqa: SIM905  a list of one word per line reads worse
)


def named_spans(text: str) -> Iterator[Span]:
    """The values in a text that stand behind the name of a secret."""
    behind = 0
    for word in _WORDS.finditer(lower(text)):
        if word.start() >= behind:
            # A name may have several of the words, and is looked at once.
            begin, behind = _name_around(text, *word.span())
            span = _value_behind(text, begin, behind)
            if span is not None:
                yield span


def secret_in_field(name: str, value: str) -> Span | None:
    """The whole value of a field, if its name says that it is a secret and it is written out."""
    if _is_secret(name[-_LONGEST_NAME:], value, is_quoted=True):
        return Span(0, len(value), _kind(name))
    return None


def is_random(value: str) -> bool:
    """Whether a value is too random for a word or a name: letters and digits that alternate, hardly one twice."""
    if len(value) < 16 or not _is_mixed(value):
        return False
    changes = sum(a.isdigit() != b.isdigit() or (a.islower() and b.isupper()) for a, b in pairwise(value))
    return changes * 6 >= len(value) and _entropy(value) >= 3.0


def is_placeholder(value: str) -> bool:
    """Whether a value stands for one that is given elsewhere: `$TOKEN`, `<your key>`, `changeme`, `****`."""
    if value[0] in "$<%{@([*#" or any(sign in value for sign in ("${", "{{", "...", "…", "***", "xxxx", "XXXX")):
        return True
    words = _WORD.findall(value)
    return all((len(word) <= 2 and word.isdigit()) or word.lower() in _FORM_WORDS for word in words)


def lower(text: str) -> str:
    """A text in lower case with each character in its place; some letters become two when they are lowered."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join([char.lower() if char.isascii() else char for char in text])


def _value_behind(text: str, begin: int, close: int) -> Span | None:
    """The secret value behind a name."""
    name = text[begin:close]
    is_environment = name.isupper() and text.startswith("=", close)
    if name.startswith("--"):
        given = _OPTION.match(text, close)
        found = given.span(1) if given is not None else None
        is_environment = "pass" in name
    else:
        divider = _DIVIDER.match(text, close)
        if divider is None:
            return None
        quoted = _QUOTED.match(text, divider.end())
        bare = _BARE.match(text, divider.end()) if quoted is None else None
        if bare is not None:
            value = bare[0].rstrip(".:?!")
            is_environment = is_environment and divider[0] == "="
            is_secret = len(value) >= 4 and _is_secret(name, value, is_quoted=False, is_environment=is_environment)
            return Span(bare.start(), bare.start() + len(value), _kind(name)) if is_secret else None
        found = quoted.span(1) if quoted is not None else None
    if found is None:
        return None
    value = text[found[0] : found[1]]
    if not _is_secret(name, value, is_quoted=True, is_environment=is_environment):
        return None
    return Span(*found, _kind(name))


def _name_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the name begins and ends that has a word at a place."""
    begin, close = start, end
    while begin > max(0, start - _LONGEST_NAME) and text[begin - 1] in _NAME_CHARS:
        begin -= 1
    while close < min(len(text), end + _LONGEST_NAME) and text[close] in _NAME_CHARS:
        close += 1
    if begin and text[begin] in "nrt" and text[begin - 1] == "\\":
        # In the source of a string, a name behind an escaped line break.
        begin += 1
    return begin, close


def _is_secret(name: str, value: str, *, is_quoted: bool, is_environment: bool = False) -> bool:
    """Whether a value behind a name is a secret that is written out."""
    if not 4 <= len(value) <= 512 or is_placeholder(value[:200]):
        return False
    lowered = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
    if not _names_a_secret(lowered) or (lowered == "pass" and not is_quoted):
        # Any other key, such as `datadog_key`, must speak for itself.
        return lowered.endswith("key") and len(value) >= 20 and is_random(value)
    is_expression = _EXPRESSION.fullmatch(value) is not None
    if is_random(value) and (is_quoted or is_environment or not is_expression):
        return True
    if is_expression or len(value) < 6:
        return False
    if is_environment:
        return True
    if is_quoted:
        return _is_mixed(value) or ("pass" in lowered and re.search(r"[!@#$%^&*+=~?]", value) is not None)
    if len(value) < 8 or not _is_mixed(value):
        return False
    # A password that somebody chose, and not a name in a program.
    return re.fullmatch(r"[A-Za-z_][\w-]*", value) is None or ("pass" in lowered and sum(map(str.isdigit, value)) >= 3)


def _names_a_secret(lowered: str) -> bool:
    """Whether a name ends with a word for secrets."""
    if _HARMLESS_NAME.search(lowered) is not None:
        return False
    parts = lowered.replace("-", "_").split("_")
    return any(
        _SECRET_NAME.fullmatch("_".join(parts[first:])) for first in range(max(0, len(parts) - 6), len(parts))
    ) or (re.search(r"(?:password|passwd|passphrase|secret|apikey|token)\d{0,3}$", parts[-1]) is not None)


def _kind(name: str) -> str:
    lowered = name.lower()
    kinds = {"pass": "password", "pwd": "password", "token": "token", "key": "key"}
    return next((kind for word, kind in kinds.items() if word in lowered), "secret")


def _is_mixed(value: str) -> bool:
    """Whether a value has digits beside letters, as few words have."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _entropy(text: str) -> float:
    """Bits per character of a text, by how often each stands in it."""
    size = len(text)
    return -sum(count / size * math.log2(count / size) for count in Counter(text).values())
