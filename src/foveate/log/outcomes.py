"""How a tool execution ended, read from its output where the wire does not say."""

from __future__ import annotations

import re
from typing import Any

from foveate.log.messages import Outcome

# Where a tool only returns content (a file, a listing), words such as "Error" inside it mean nothing: only the start
# counts.
_HEAD = 300
_TAIL = 1_000

_DENIED = re.compile(
    r"doesn't want to (?:proceed|take this action)|\b(?:denied|rejected|declined) by (?:the )?user\b|"
    r"user (?:denied|rejected|declined)|permission to use \S+ (?:with|has been) |\bnot permitted by policy\b",
    re.IGNORECASE,
)
_DENIED_WORDS = ("denied", "reject", "declined", "doesn't want", "permission", "not permitted")
_INTERRUPTED_WORDS = ("interrupted", "aborted")
_INTERRUPTED = re.compile(r"\[?request interrupted|\binterrupted by (?:the )?user\b|^aborted\b", re.IGNORECASE)
_ERROR_HEAD = re.compile(
    r"^[\s\[({<!✗❌]{0,3}(?:<?tool_use_error>|(?:fatal|internal|unknown)? ?error(?:\s*[:\])>]|\s*$)|"
    r"exception\s*(?::|$)|traceback \(most recent|failed\s*(?::|to\b|$)|(?-i:\w*(?:Error|Exception))\s*(?:[:(]|$)|"
    r"bash: .*(?:not found|no such file)|(?:exit|return) ?code:? [1-9])",
    re.IGNORECASE | re.MULTILINE,
)
_EXIT = re.compile(r"(?:exit(?:ed)?(?: with)?(?: code| status)?|exit_?code|return_?code)\W{0,4}(-?\d+)", re.IGNORECASE)
_EXIT_TAIL = re.compile(r"Traceback \(most recent call last\)|command not found$", re.MULTILINE)


def outcome_of(text: str, *, shell: bool = False, extra: dict[str, Any] | None = None) -> Outcome:
    """The outcome of a tool result: what the wire says, else what its text shows."""
    if extra and isinstance(extra.get("is_error"), bool):
        flagged: Outcome = "error" if extra["is_error"] else "ok"
        if flagged == "ok":
            return flagged
    else:
        flagged = "ok"
    head = text[:_HEAD].lstrip()
    lowered = head.lower()
    # Looking for a plain word is ten times faster than for a pattern, and nearly every output has none of them.
    if any(word in lowered for word in _DENIED_WORDS) and _DENIED.search(head):
        return "denied"
    if any(word in lowered for word in _INTERRUPTED_WORDS) and _INTERRUPTED.search(head):
        return "interrupted"
    if flagged == "error" or _ERROR_HEAD.match(head):
        return "error"
    return _shell_outcome(text, head) if shell else "ok"


def _shell_outcome(text: str, head: str) -> Outcome:
    tail = text[-_TAIL:]
    codes = _EXIT.findall(head) or _EXIT.findall(tail[-200:])
    if codes:
        return "ok" if int(codes[-1]) == 0 else "error"
    return "error" if _EXIT_TAIL.search(tail) else "ok"
