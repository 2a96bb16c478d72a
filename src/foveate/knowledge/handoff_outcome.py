"""What free text says of its outcome: only who says to be done is taken to be done."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from foveate.knowledge.models import Result

_DONE: Final = re.compile(
    r"\b(?:done|finished|completed?|implemented|fixed|resolved|shipped|ready"
    r"|(?:it|this|that|all|everything|now) (?:now )?works"
    r"|tests? (?:now )?(?:pass|passes|are green|is green)|(?:all|everything) is (?:fine|well|good))\b",
    re.IGNORECASE,
)
# What stands before "done" and takes it back: "not yet done", "when it is finished", "half completed", "how it works".
_TAKEN_BACK: Final = re.compile(
    r"\b(?:not|never|nothing|none|nobody|no|without|only|hardly|barely|almost|nearly|half|partly|partially|mostly"
    r"|will|would|should|must|can|could|cannot|may|might|needs?|to be|if|once|when|until|unless|before|how|how far)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_UNFINISHED: Final = re.compile(
    r"\b(?:unfinished|incomplete|half|halfway|partly|partially|mostly|almost|nearly|wip|work in progress|ran out of"
    r"|nothing works|(?:is|are) (?:still )?(?:red|broken|failing|missing)|still (?:fails?|open|to do|to be done)"
    r"|remains? (?:open|to be)|(?:did|could|was|were|is|are|have|has)(?: not|n['’]t) (?:yet )?"
    r"(?:finish|finished|done|complete|completed|ready|able|implemented|fixed|resolved|started)"
    r"|could not|couldn['’]t|cannot|unable to|not (?:yet )?(?:done|finished|complete|completed|ready))\b",
    re.IGNORECASE,
)
_FAILED: Final = re.compile(
    r"\b(?:failed|gave up|giving up|without success|(?:did|does|do)(?: not|n['’]t) work)\b", re.IGNORECASE
)
_BLOCKED: Final = re.compile(
    r"\b(?:blocked (?:by|on|until|because)|(?:is|am|are|was) (?:still )?blocked|waiting (?:for|on)|stuck (?:on|at))\b",
    re.IGNORECASE,
)


def outcome_said(sentences: Sequence[str]) -> Result:
    """The outcome that sentences tell of; `partial` unless they say more, and where they say two things at once."""
    done = any(_says(_DONE, one) for one in sentences)
    if done or not any(_says(cue, one) for cue in (_BLOCKED, _FAILED) for one in sentences):
        mixed = any(cue.search(one) for cue in (_UNFINISHED, _BLOCKED, _FAILED) for one in sentences)
        return "completed" if done and not mixed else "partial"
    return "blocked" if any(_says(_BLOCKED, one) for one in sentences) else "failed"


def _says(cue: re.Pattern[str], sentence: str) -> bool:
    """Whether a sentence says it of what was done, and neither asks for it nor takes it back."""
    if sentence.rstrip().endswith(("?", "？")):
        return False
    return any(not _TAKEN_BACK.search(sentence, 0, found.start()) for found in cue.finditer(sentence))
